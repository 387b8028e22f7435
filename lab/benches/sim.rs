//! Speed of the simulator: `cargo bench -p petra-lab --bench sim`.
//!
//! It measures the CPU time of one thread, including both endpoints' cryptography, HTTP/3, the
//! links and the report. Arguments are controllers; the default is a small selection.

use std::time::Duration;

use petra_lab::link::{Direction, Link};
use petra_lab::scenario::{Flow, Scenario};
use petra_lab::sim::{run, Report};

/// Runs of a measurement, of which it takes the best: other work of the machine makes a run slower,
/// never faster.
const RUNS: usize = 5;

/// Seconds of the slow flow: one or more of CPU time, of which what interrupts is a small
/// part.
const SLOW: u64 = 1000;

fn main() {
    // Cargo adds `--bench`.
    let arguments = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"));
    let mut controllers: Vec<String> = arguments.collect();
    if controllers.is_empty() {
        controllers = ["petra", "cubic", "bbr2"].map(str::to_owned).into();
    }
    println!(
        "{:<14} {:>16} {:>16} {:>21} {:>21}",
        "controller", "2 Mbit/s", "50 Mbit/s", "10 s of 50 Mbit/s", "100 s of 50 Mbit/s"
    );
    println!(
        "{:<14} {:>16} {:>16} {:>21} {:>21}",
        "", "virtual s/CPU s", "payload MB/CPU s", "us/datagram", "us/datagram"
    );
    for cc in &controllers {
        let slow = Measurement::take(cc, 2_000_000, SLOW);
        let short = Measurement::take(cc, 50_000_000, 10);
        let long = Measurement::take(cc, 50_000_000, 100);
        println!(
            "{cc:<14} {:>16.0} {:>16.0} {:>21.3} {:>21.3}",
            SLOW as f64 / slow.cpu,
            long.payload / 1e6 / long.cpu,
            short.cpu * 1e6 / short.datagrams,
            long.cpu * 1e6 / long.datagrams
        );
    }
}

struct Measurement {
    /// CPU seconds.
    cpu: f64,
    /// Bytes of the body.
    payload: f64,
    datagrams: f64,
}

impl Measurement {
    /// One flow over a link of 45 ms each way with a queue of one BDP and no
    /// loss.
    fn take(cc: &str, rate: u64, seconds: u64) -> Self {
        let link = Link::symmetric(Direction {
            rate: Some(rate),
            delay: Duration::from_millis(45),
            ..Direction::default()
        });
        let scenario = Scenario {
            duration: Duration::from_secs(seconds),
            ..Scenario::new(link, vec![Flow::new(cc)])
        };
        let runs = (0..RUNS).map(|_| Self::time(&scenario));
        runs.min_by(|one, other| one.cpu.total_cmp(&other.cpu))
            .expect("there are runs")
    }

    fn time(scenario: &Scenario) -> Self {
        let start = cpu_time();
        let report: Report = run(scenario).expect("the scenario runs");
        let cpu = cpu_time() - start;
        let flow = &report.flows[0];
        assert_eq!(flow.failure, None);
        Measurement {
            cpu,
            payload: flow.body_bytes as f64,
            datagrams: flow.datagrams as f64,
        }
    }
}

/// CPU seconds of this thread, which are never virtual.
fn cpu_time() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    let time = time.expect("a thread has a clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
