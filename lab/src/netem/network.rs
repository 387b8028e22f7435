//! The network of a run: four namespaces, three wires, up to four qdiscs.
//!
//! Nothing is removed here. The namespaces belong to a sandbox, and go with it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use anyhow::{bail, Context, Result};
use nix::mount::{mount, MsFlags};
use nix::sched::{setns, CloneFlags};
use serde_json::Value;

use crate::link::Link;

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

/// The network, once it is there.
#[derive(Debug)]
pub(super) struct Network {
    /// Commands that built the network, so that they can be repeated by hand.
    pub(super) commands: Vec<String>,
}

impl Network {
    /// Builds the network. Needs namespaces for mounts and the network that are
    /// this process's own, and root's rights in them.
    pub(super) fn build(link: &Link) -> Result<Self> {
        let mut network = Network {
            commands: Vec::new(),
        };
        // `ip netns` keeps names in /run/netns; here they are nobody else's.
        mount(
            Some("tmpfs"),
            "/run",
            Some("tmpfs"),
            MsFlags::empty(),
            None::<&str>,
        )
        .context("cannot mount a file system on /run")?;
        for namespace in ["client", "near", "far", "server"] {
            network.run(&format!("ip netns add {namespace}"))?;
        }
        for (wire, ends) in WIRES.iter().enumerate() {
            network.wire(wire, ends)?;
        }
        for (namespace, to, via) in ROUTES {
            network.run_in(namespace, &format!("ip route add {to} via {via}"))?;
        }
        for router in ["near", "far"] {
            let forward = "/proc/sys/net/ipv4/ip_forward";
            within(router, || fs::write(forward, "1"))?
                .with_context(|| format!("cannot write {forward}"))?;
            let command = format!("sh -c 'echo 1 >{forward}'");
            network.commands.push(in_namespace(router, &command));
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
                network.run_in(namespace, &command)?;
            }
        }
        Ok(network)
    }

    /// One wire. Both its ends have one hardware address and do without ARP,
    /// whose packets would be delayed and lost like any other; and what a
    /// program sends in one piece (GSO) leaves as the packets that it is.
    fn wire(&mut self, number: usize, ends: &[(&str, &str, &str); 2]) -> Result<()> {
        let [one, other] = ends.map(|(namespace, interface, _)| {
            format!("name {interface} netns {namespace} address 02:00:00:00:00:0{number} gso_max_segs 1")
        });
        self.run(&format!("ip link add {one} type veth peer {other}"))?;
        for (namespace, interface, address) in ends {
            self.run_in(
                namespace,
                &format!("ip address add {address}/24 dev {interface}"),
            )?;
            self.run_in(namespace, &format!("ip link set {interface} arp off up"))?;
        }
        Ok(())
    }

    fn run_in(&mut self, namespace: &str, command: &str) -> Result<Output> {
        self.run(&in_namespace(namespace, command))
    }

    fn run(&mut self, command: &str) -> Result<Output> {
        self.commands.push(command.to_owned());
        output(command)
    }
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

/// `command` in one of the namespaces. Not `ip netns exec`, which mounts a new
/// /sys and may not in every sandbox.
pub(super) fn in_namespace(namespace: &str, command: &str) -> String {
    format!("nsenter --net=/run/netns/{namespace} {command}")
}

/// Does `work` on a thread that is in `namespace`; a socket stays in the
/// namespace that it was opened in.
pub(super) fn within<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> Result<T> {
    let path = Path::new("/run/netns").join(namespace);
    let enter = move || -> Result<T> {
        let file = File::open(&path)?;
        setns(file, CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    };
    thread::scope(|scope| scope.spawn(enter).join().expect("the work does not panic"))
        .with_context(|| format!("cannot enter the network namespace `{namespace}`"))
}

/// Runs a command to its end. Its words have no spaces.
fn output(command: &str) -> Result<Output> {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a command has a first word");
    let output = Command::new(program)
        .args(words)
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        bail!(
            "`{command}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(output)
}
