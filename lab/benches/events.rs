//! Cost of the controllers themselves, without a transport.
//!
//! A path of 50 Mbit/s and 90 ms acknowledges each datagram by itself, the most work that a
//! controller can have: one `on_sent`, one `on_ack`, and what a transport then asks for.
//!
//! ```text
//! cargo bench -p petra-lab --bench events                    nanoseconds, all controllers
//! cargo bench -p petra-lab --bench events -- petra 100000    datagrams of one, for callgrind
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use petra::controller::{Ack, Controller, Rtt, Sent, Settings};
use petra::registry::{factory, names};

const DATAGRAM: u64 = 1_200;
const RATE: u64 = 50_000_000 / 8;
const ROUND_TRIP: Duration = Duration::from_millis(90);
const RUNS: usize = 7;
const DATAGRAMS: u64 = 200_000;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    if let [name, datagrams] = &arguments[..] {
        let datagrams = datagrams.parse().expect("datagrams: not a number");
        return run(&mut *build(name), datagrams);
    }
    println!("{:<14} {:>11}", "controller", "ns/datagram");
    for name in names() {
        let time = |_| {
            let mut controller = build(name);
            let began = Instant::now();
            run(&mut *controller, DATAGRAMS);
            began.elapsed()
        };
        let best = (0..RUNS).map(time).min().unwrap_or_default();
        let each = best.as_secs_f64() * 1e9 / DATAGRAMS as f64;
        println!("{name:<14} {each:>11.0}");
    }
}

fn build(name: &str) -> Box<dyn Controller> {
    let factory = factory(name, "").unwrap_or_else(|error| panic!("{error}"));
    factory.build(Settings {
        max_datagram_size: DATAGRAM,
        initial_window: 10 * DATAGRAM,
    })
}

/// Sends and acknowledges a datagram at each of its transmission times.
fn run(controller: &mut dyn Controller, datagrams: u64) {
    let step = Duration::from_secs_f64(DATAGRAM as f64 / RATE as f64);
    let bytes_in_flight = (RATE as f64 * ROUND_TRIP.as_secs_f64()) as u64;
    // A little jitter, as any path has, and none that the path would have to explain.
    let mut noise: u64 = 1;
    for number in 0..datagrams {
        let now = 2 * ROUND_TRIP + step * number as u32;
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let latest = ROUND_TRIP + Duration::from_micros(noise >> 57);
        let sent = now - latest;
        controller.on_ack(&Ack {
            now,
            bytes: DATAGRAM,
            first_sent: sent,
            last_sent: sent,
            newest_sent: sent,
            bytes_in_flight: bytes_in_flight - DATAGRAM,
            rtt: Rtt {
                latest,
                smoothed: ROUND_TRIP,
                variation: ROUND_TRIP / 100,
                min: ROUND_TRIP,
            },
            app_limited: false,
        });
        controller.on_sent(&Sent {
            now,
            time_sent: now,
            bytes: DATAGRAM,
            bytes_in_flight,
        });
        black_box(controller.limits());
    }
}
