//! The simulator and netem on the same plans: the same goodput and queue.
//!
//! Takes netem, in the kernel or in user-mode Linux, and the example pair built in
//! the same profile. What it measured is in docs/simulator.md.

mod timekeeping;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use petra_lab::results::{ResultSet, Summary, Table};
use petra_lab::units::parse_rate;
use timekeeping::{kept_time, record, say_skipped};

/// Maximum difference of goodputs, as a share of the simulator's. Runs with random losses differ
/// among themselves by some 3 %.
const GOODPUT: f64 = 0.06;

/// Maximum difference of mean queueing delays, in addition to a datagram's transmission time and a
/// share of the simulator's delay. A busy machine wakes late and sends in bursts.
const QUEUE_MS: f64 = 4.0;
const QUEUE_SHARE: f64 = 0.15;

/// A full-sized datagram with its headers, in bits.
const DATAGRAM: f64 = 8.0 * 1378.0;

/// Maximum number of attempts. Other load of the machine disturbs netem, and never the simulator. A
/// plan out of bounds is repeated.
const ATTEMPTS: usize = 5;

/// Number of attempts out of bounds with which a plan fails. Only those count in which the machine
/// kept time, as the record of the run says; with fewer, the plan was not run.
const FAILURES: usize = 3;

/// Means over the runs of a plan.
#[derive(Clone, Copy, Debug)]
struct Means {
    goodput_mbps: f64,
    queue_ms: f64,
    /// True if no run's record says that the machine was late.
    kept_time: bool,
}

/// The plans by name.
fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans/agreement");
    let entries = fs::read_dir(folder).expect("the plans are there");
    let mut plans: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    plans.sort();
    plans
}

/// Runs the plans.
fn run(plans: &[PathBuf], options: &[&str]) -> Vec<Means> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_petra-lab"));
    command.arg("run").args(plans).args(options);
    let output = command.arg("-o").arg(folder.path()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {error}");
    let set = ResultSet::read(folder.path()).unwrap();
    let mean = |results, metric| {
        let table = Table::new(results, metric);
        let Summary { mean, .. } = table.lines[0].cells[0].expect("it was measured");
        mean
    };
    // The simulator has no record, and no machine that could be late.
    let kept_time = |key| record(folder.path(), key).is_none_or(|it| kept_time(&it));
    let means = set.plans.iter().map(|it| Means {
        goodput_mbps: mean(it, "goodput_mbps"),
        queue_ms: mean(it, "queue_mean_ms"),
        kept_time: it.rows.iter().all(|row| kept_time(&row.key)),
    });
    means.collect()
}

/// Milliseconds that a datagram takes at the bottleneck of a plan.
fn datagram_ms(plan: &Path) -> f64 {
    let text = fs::read_to_string(plan).unwrap();
    let mut lines = text.lines();
    let rate = lines.find_map(|line| line.strip_prefix("rate = "));
    let rate = rate.expect("the plan has a rate").trim_matches('"');
    1e3 * DATAGRAM / parse_rate(rate).unwrap() as f64
}

/// Returns true if netem's figures are within the bounds around the simulator's.
fn agree(sim: Means, netem: Means, datagram_ms: f64) -> bool {
    let queue = datagram_ms + QUEUE_MS + QUEUE_SHARE * sim.queue_ms;
    (sim.goodput_mbps - netem.goodput_mbps).abs() <= GOODPUT * sim.goodput_mbps
        && (sim.queue_ms - netem.queue_ms).abs() <= queue
}

#[test]
#[ignore = "takes netem and the built example pair: run with --ignored"]
fn simulator_and_netem_agree_on_six_plans() {
    /// A plan that has not agreed yet.
    #[derive(Debug)]
    struct Apart {
        file: PathBuf,
        sim: Means,
        failures: usize,
    }
    let (plans, failures) = (plans(), 0);
    let sim = run(&plans, &["--backend", "sim", "--seeds", "3"]);
    let plans = plans.into_iter().zip(sim);
    let mut left: Vec<Apart> = plans
        .map(|(file, sim)| Apart {
            file,
            sim,
            failures,
        })
        .collect();
    assert_eq!(left.len(), 6);
    for attempt in 1..=ATTEMPTS {
        let files: Vec<PathBuf> = left.iter().map(|it| it.file.clone()).collect();
        let real = run(&files, &["--backend", "netem", "--seeds", "1"]);
        let mut real = real.into_iter();
        left.retain_mut(
            |Apart {
                 file,
                 sim,
                 failures,
             }| {
                let netem = real.next().expect("a result for each plan");
                println!(
                    "{}, attempt {attempt}: {:.3} and {:.3} Mbit/s, queues of {:.1} and {:.1} ms",
                    file.file_stem().unwrap().to_string_lossy(),
                    sim.goodput_mbps,
                    netem.goodput_mbps,
                    sim.queue_ms,
                    netem.queue_ms
                );
                let agrees = agree(*sim, netem, datagram_ms(file));
                *failures += usize::from(!agrees && netem.kept_time);
                !agrees
            },
        );
        let failed: Vec<&Apart> = left.iter().filter(|it| it.failures == FAILURES).collect();
        assert!(
            failed.is_empty(),
            "out of bounds {FAILURES} times: {failed:?}"
        );
        if left.is_empty() {
            return;
        }
    }
    for Apart { file, .. } in left {
        let name = file.file_stem().unwrap().to_string_lossy();
        say_skipped(&name);
    }
}

#[test]
fn bounds_are_of_both_goodput_and_queue() {
    let means = |goodput_mbps, queue_ms| Means {
        goodput_mbps,
        queue_ms,
        kept_time: true,
    };
    let sim = means(2.0, 30.0);
    assert!(agree(sim, means(1.9, 40.0), 5.0));
    assert!(!agree(sim, means(1.8, 30.0), 5.0));
    assert!(!agree(sim, means(2.0, 44.0), 5.0));
}
