//! Growth of the CPU time per datagram with the bytes in flight: `cargo bench -p petra-lab --bench
//! in_flight`.
//!
//! It measures one thread, including everything, from 10 Mbit/s to 10 Gbit/s, without and with
//! loss. Ratios are relative to the first line: a cost that does not depend on the bytes in flight
//! keeps them at one. Arguments are controllers; the default is `petra`.

use std::time::Duration;

use petra_lab::link::{Direction, Link};
use petra_lab::scenario::{Flow, Scenario};
use petra_lab::sim::run;

/// Runs of a measurement, in turns, of which it takes the best: other work of the machine makes a
/// run slower, never faster.
const RUNS: usize = 3;

/// Mbit/s, and the seconds of a run. Slow runs are long, so that a handshake costs little of them.
const RATES: [(u64, u64); 4] = [(10, 60), (100, 20), (1000, 6), (10_000, 2)];

const LOSSES: [f64; 3] = [0.0, 0.005, 0.02];

fn main() {
    // Cargo adds `--bench`.
    let arguments = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"));
    let mut controllers: Vec<String> = arguments.collect();
    if controllers.is_empty() {
        controllers.push("petra".to_owned());
    }
    println!(
        "{:<14} {:>6} {:>7} {:>8} {:>9} {:>15} {:>6}",
        "controller", "Mbit/s", "loss %", "CPU s", "datagrams", "CPU us/datagram", "ratio"
    );
    for cc in &controllers {
        let cases: Vec<(u64, u64, f64)> = LOSSES
            .iter()
            .flat_map(|loss| RATES.map(|(rate, seconds)| (rate, seconds, *loss)))
            .collect();
        let mut best = vec![Measurement::WORST; cases.len()];
        for _ in 0..RUNS {
            for (best, (rate, seconds, loss)) in best.iter_mut().zip(&cases) {
                let taken = Measurement::take(cc, *rate, *seconds, *loss);
                if taken.cpu < best.cpu {
                    *best = taken;
                }
            }
        }
        for ((rate, _, loss), taken) in cases.iter().zip(&best) {
            println!(
                "{cc:<14} {rate:>6} {:>7} {:>8.2} {:>9} {:>15.2} {:>6.2}",
                loss * 100.0,
                taken.cpu,
                taken.datagrams,
                taken.cost() * 1e6,
                taken.cost() / best[0].cost()
            );
        }
    }
}

#[derive(Clone)]
struct Measurement {
    /// CPU seconds.
    cpu: f64,
    /// Of the server.
    datagrams: usize,
}

impl Measurement {
    const WORST: Self = Self {
        cpu: f64::INFINITY,
        datagrams: 1,
    };

    /// One flow over a link of 45 ms each way with a queue of one BDP.
    fn take(cc: &str, rate: u64, seconds: u64, loss: f64) -> Self {
        let link = Link::symmetric(Direction {
            rate: Some(rate * 1_000_000),
            delay: Duration::from_millis(45),
            loss,
            ..Direction::default()
        });
        let scenario = Scenario {
            duration: Duration::from_secs(seconds),
            ..Scenario::new(link, vec![Flow::new(cc)])
        };
        let start = cpu_time();
        let report = run(&scenario).expect("the scenario runs");
        let cpu = cpu_time() - start;
        let flow = &report.flows[0];
        assert_eq!(flow.failure, None);
        Self {
            cpu,
            datagrams: flow.packets_sent,
        }
    }

    /// CPU seconds per datagram.
    fn cost(&self) -> f64 {
        self.cpu / self.datagrams as f64
    }
}

/// CPU seconds of this thread, which are never virtual.
fn cpu_time() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    let time = time.expect("a thread has a clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
