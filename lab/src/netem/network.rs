//! The network of a run: four namespaces, three wires, up to four qdiscs.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::link::Link;
use crate::testbed::{in_namespace, output, within, Testbed};

use super::tc;

/// The address of the client.
pub(super) const CLIENT: &str = "10.0.1.1";
/// The address of the server.
pub(super) const SERVER: &str = "10.0.3.1";

/// Both ends of each wire: namespace, interface (named after what it leads
/// to), address.
const WIRES: [[(&str, &str, &str); 2]; 3] = [
    [("client", "near", CLIENT), ("near", "client", "10.0.1.2")],
    [("near", "far", "10.0.2.1"), ("far", "near", "10.0.2.2")],
    [("far", "server", "10.0.3.2"), ("server", "far", SERVER)],
];

/// Routes to addresses that no wire leads to directly.
const ROUTES: [(&str, &str, &str); 4] = [
    ("client", "default", "10.0.1.2"),
    ("near", "10.0.3.0/24", "10.0.2.2"),
    ("far", "10.0.1.0/24", "10.0.2.1"),
    ("server", "default", "10.0.3.2"),
];

/// A qdisc of the path, by the namespace and the interface that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(pub(super) &'static str, pub(super) &'static str);

/// The data's rate and queue.
pub(super) const DOWN_BOTTLENECK: Place = Place("far", "near");
/// The data's loss and delay.
pub(super) const DOWN_DELAY_LINE: Place = Place("near", "client");
/// The ACKs' rate and queue.
pub(super) const UP_BOTTLENECK: Place = Place("near", "far");
/// The ACKs' loss and delay.
pub(super) const UP_DELAY_LINE: Place = Place("far", "server");

/// Builds the network. Needs a sandbox.
pub(super) fn build(link: &Link) -> Result<Testbed> {
    let mut testbed = Testbed::new(&["client", "near", "far", "server"])?;
    for (number, ends) in WIRES.iter().enumerate() {
        wire(&mut testbed, number, ends)?;
    }
    for (namespace, to, via) in ROUTES {
        testbed.run_in(namespace, &format!("ip route add {to} via {via}"))?;
    }
    for router in ["near", "far"] {
        let forward = "/proc/sys/net/ipv4/ip_forward";
        within(router, || fs::write(forward, "1"))?
            .with_context(|| format!("cannot write {forward}"))?;
        let command = format!("sh -c 'echo 1 >{forward}'");
        testbed.commands.push(in_namespace(router, &command));
    }
    let round_trip = link.round_trip();
    let qdiscs = [
        (DOWN_BOTTLENECK, tc::bottleneck(&link.down, round_trip)),
        (DOWN_DELAY_LINE, tc::delay_line(&link.down)),
        (UP_BOTTLENECK, tc::bottleneck(&link.up, round_trip)),
        (UP_DELAY_LINE, tc::delay_line(&link.up)),
    ];
    for (Place(namespace, interface), arguments) in qdiscs {
        if let Some(arguments) = arguments {
            let netem = arguments.join(" ");
            let command = format!("tc qdisc add dev {interface} root netem {netem}");
            testbed.run_in(namespace, &command)?;
        }
    }
    Ok(testbed)
}

/// Lays a wire. Both its ends have one hardware address and do without ARP,
/// whose packets would be delayed and lost like any other; and what a
/// program sends in one piece (GSO) leaves as the packets that it is.
fn wire(testbed: &mut Testbed, number: usize, ends: &[(&str, &str, &str); 2]) -> Result<()> {
    let [one, other] = ends.map(|(namespace, interface, _)| {
        format!(
            "name {interface} netns {namespace} address 02:00:00:00:00:0{number} gso_max_segs 1"
        )
    });
    testbed.run(&format!("ip link add {one} type veth peer {other}"))?;
    for (namespace, interface, address) in ends {
        testbed.run_in(
            namespace,
            &format!("ip address add {address}/24 dev {interface}"),
        )?;
        testbed.run_in(namespace, &format!("ip link set {interface} arp off up"))?;
    }
    Ok(())
}

/// Returns the counters of a qdisc, as `tc -s -j` prints them; `None` for a place without netem.
pub(super) fn statistics(place: Place) -> Result<Option<Value>> {
    let Place(namespace, interface) = place;
    let command = format!("tc -s -j qdisc show dev {interface}");
    let output = output(&in_namespace(namespace, &command))?;
    let qdiscs: Vec<Value> = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`{command}` does not print JSON"))?;
    Ok(qdiscs.into_iter().find(|qdisc| qdisc["kind"] == "netem"))
}
