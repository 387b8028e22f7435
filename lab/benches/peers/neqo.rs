//! One download in neqo's simulator, for the script `run` of this folder.
//!
//! It is an example of neqo's crate `test-fixture`: copied to `test-fixture/examples` of a
//! checkout of neqo, `cargo build --release -p test-fixture --example neqo` builds it, with
//! NSS as neqo's README says.
//!
//!     neqo newreno|cubic BYTES
//!
//! Prints how long the download took, in virtual seconds.

use std::env;
use std::time::Duration;

use neqo_transport::{ConnectionParameters, State};
use test_fixture::boxed;
use test_fixture::sim::Simulator;
use test_fixture::sim::connection::{Node, ReachState, ReceiveData, SendData};
use test_fixture::sim::network::TailDrop;

/// 50 Mbit/s, in bytes a second.
const RATE: usize = 50_000_000 / 8;
/// Queue of 90 ms, in bytes.
const QUEUE: usize = RATE * 90 / 1000;
const DELAY: Duration = Duration::from_millis(45);

fn main() {
    let mut arguments = env::args().skip(1);
    let mut next = || arguments.next().expect("expected a controller and bytes");
    let controller = next().parse().expect("expected newreno or cubic");
    let bytes = next().parse().expect("expected a number of bytes");

    // The simulator has no place for ML-KEM's second datagram of a handshake.
    let parameters = || {
        ConnectionParameters::default()
            .pmtud(true)
            .mlkem(false)
            .congestion_control(controller)
    };
    let confirmed = || boxed![ReachState::new(State::Confirmed)];
    let link = || TailDrop::new(RATE, QUEUE, Default::default(), DELAY);

    let took = Simulator::new(
        "download",
        boxed![
            Node::new_client(parameters(), confirmed(), boxed![ReceiveData::new(bytes)]),
            link(),
            Node::new_server(parameters(), confirmed(), boxed![SendData::new(bytes)]),
            link(),
        ],
    )
    .setup()
    .run();
    println!("{}", took.as_secs_f64());
}
