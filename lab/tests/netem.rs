//! The real link as a whole: sandbox, network, calibration, transfer, results.
//!
//! These tests need netem in the kernel or in user-mode Linux, and the example
//! pair built in the same profile: `scripts/test` sees to both.

mod timekeeping;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use petra_lab::results::ResultSet;
use serde_json::Value;
use timekeeping::{kept_time, record, say_skipped};

/// A link that a debug build on a busy machine can fill: 2 Mbit/s, 20 ms each
/// way, and no losses but those of its queue.
const LINK: [&str; 6] = ["--rate", "2mbit", "--delay", "20ms", "--loss", "0%"];

fn petra_lab(out: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_petra-lab"));
    command.args(["netem", "--out"]).arg(out);
    command.args(LINK).args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Names of what is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The processes whose command line has `marker`.
fn processes_with(marker: &str) -> Vec<String> {
    let folders = Path::new("/proc").read_dir().expect("/proc");
    folders
        .filter_map(|folder| std::fs::read(folder.ok()?.path().join("cmdline")).ok())
        .map(|words| text(&words).replace('\0', " "))
        .filter(|words| words.contains(marker))
        .collect()
}

/// Asserts that a rate is above `least`, unless the machine did not keep time. Says so then.
fn assert_rate(run: &Value, rate: f64, least: f64) {
    if rate <= least {
        assert!(!kept_time(run), "{rate}, expected above {least}: {run}");
        say_skipped("the rate");
    }
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value}: not a number"))
}

#[test]
#[ignore = "takes netem and the built example pair: run with --ignored"]
fn a_download_over_netem_leaves_whole_results() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let transfer = ["--cc", "reno", "--size", "500kB", "--duration", "20s"];
    let Output {
        status,
        stdout,
        stderr,
    } = petra_lab(&out, &transfer).output().unwrap();
    assert!(status.success(), "{}", text(&stderr));
    let table = text(&stdout);
    assert!(
        table.contains("\n reno ") && table.contains("down: rate 2mbit"),
        "{table}"
    );

    let set = ResultSet::read(&out).unwrap();
    let row = &set.plans[0].rows[0];
    assert_eq!(row.metric("received_mb"), Some(0.5));
    assert!(row.metric("completion_s").is_some());
    let run = &record(&out, &row.key).unwrap();
    assert!(run["sandbox"].as_str().unwrap().contains("netem"));
    assert_eq!(run["link"]["rate"], "2mbit");
    assert_eq!(
        (&run["bytes"], &run["complete"]),
        (&500_000.into(), &true.into())
    );
    // The link is what was asked for: 40 ms and never faster, 2 Mbit/s and
    // never more.
    let calibration = &run["calibration"];
    assert!(
        number(&calibration["rtt_ms"]["min"]) >= 40.0,
        "{calibration}"
    );
    let rate = number(&calibration["down_rate_bps"]);
    assert!(rate < 2_040_000.0, "{calibration}");
    assert_rate(run, rate, 1_000_000.0);
    let share = number(&run["share_of_limit"]);
    assert!(share > 0.0 && share <= 1.02, "{run}");
    // The body, and what is around it.
    assert!(number(&run["bytes_sent"]) > 500_000.0, "{run}");
    assert!(number(&run["packets_sent"]) >= 370.0, "{run}");
    assert!(number(&run["rtt_ms"]["p5"]) >= 40.0, "{run}");
    // Nothing is lost but in the queue, and loss detection may err by what
    // came late.
    let dropped = &run["qdiscs"]["down_delay_line"]["dropped"];
    assert_eq!(*dropped, 0, "{run}");
    let commands = run["commands"].to_string();
    assert!(commands.contains("netem rate 2000000bit -14"), "{commands}");

    // What is there is not made again.
    let again = petra_lab(&out, &transfer).output().unwrap();
    assert_eq!(text(&again.stdout), table);
    let said = text(&again.stderr);
    assert!(said.contains("1 of 1 runs are there already"), "{said}");
}

#[test]
#[ignore = "takes netem and the built example pair: run with --ignored"]
fn an_interrupted_run_leaves_no_process_and_no_results() {
    let folder = tempfile::tempdir().unwrap();
    // The sandbox's folder is in there.
    let marker = folder.path().to_str().unwrap();
    let mut lab: Child = petra_lab(&folder.path().join("results"), &["--cc", "reno"])
        .env("TMPDIR", folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The sandbox has the folder in its command line.
    let start = Instant::now();
    while processes_with(marker).len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "no sandbox");
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_secs(3));
    let signal = nix::sys::signal::Signal::SIGINT;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(lab.id() as i32), signal).unwrap();
    assert!(!lab.wait().unwrap().success());
    let left = || processes_with(marker);
    let asked = Instant::now();
    while !left().is_empty() && asked.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(left(), [""; 0]);
    assert_eq!(names(&folder.path().join("results")), ["journal.jsonl"]);
}

#[test]
fn what_cannot_be_run_is_told_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    for (arguments, message) in [
        (&["--cc", "nothere"][..], "nothere"),
        (
            &["--cc", "reno", "--reorder", "1%", "--delay", "0ms"],
            "expected a delay",
        ),
        (
            &["--cc", "reno", "--loss-run", "0.5"],
            "expected at least 1 packet",
        ),
        (
            &["--cc", "reno", "--cc", "cubic", "--share"],
            "flows: too many (got 2 flows); expected one",
        ),
        (
            &["--cc", "reno", "--step", "5s=1mbit"],
            "steps: netem here does not make it",
        ),
        (
            &["--cc", "reno", "--up", "aqm=codel"],
            "aqm: netem here does not make it",
        ),
        (
            &["--cc", "reno", "--programs", "/nonexistent"],
            "/nonexistent/http3-server",
        ),
        (&["--cc", "reno", "--rate", "fast"], "`fast`"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_petra-lab"));
        let output = command
            .args(["netem", "--out"])
            .arg(&out)
            .args(arguments)
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(message), "{error}");
        let results = out.join("netem.csv");
        assert!(!results.exists());
    }
}

#[test]
#[ignore = "takes netem and the built example pair: run with --ignored"]
fn a_plan_runs_on_netem_and_its_results_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let toml = "duration = \"3s\"\nbackend = \"netem\"\nseries = true\nqlog = true\n[link]\nrate = \"2mbit\"\n\
                delay = \"20ms\"\n[flow]\ncc = \"reno\"\n";
    std::fs::write(&plan, toml).unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_petra-lab"));
    command.arg("run").arg(&plan).arg("-o").arg(&out);
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(status.success(), "{}", text(&stderr));
    let set = ResultSet::read(&out).unwrap();
    let row = &set.plans[0].rows[0];
    assert_eq!(row.backend, "netem");
    let goodput = row.metric("goodput_mbps").unwrap();
    assert!(goodput < 2.0, "{goodput}");
    assert_rate(&record(&out, &row.key).unwrap(), goodput, 0.5);

    // Kept as the simulator keeps it.
    let qlogs = names(&out.join("qlog").join(&row.key));
    let expected = ["client", "server"].map(|end| {
        let name = format!("{end}-0-reno-seed1");
        [format!("{name}.qvis.sqlog"), format!("{name}.sqlog")]
    });
    assert_eq!(qlogs, expected.concat());
    let series = out.join("series").join(format!("{}.csv", row.key));
    let series = std::fs::read_to_string(series).unwrap();
    let last: Vec<&str> = series.lines().last().unwrap().split(',').collect();
    let [seconds, cwnd, body] = [2, 3, 11].map(|cell| last[cell].parse::<f64>().unwrap());
    assert!(seconds > 1.0 && cwnd > 2000.0, "{last:?}");
    // All but what its last moments brought.
    let bytes = row.metric("received_mb").unwrap() * 1e6;
    assert!(
        body > 0.5 * bytes && body < 1.1 * bytes,
        "{body} of {bytes}"
    );
}
