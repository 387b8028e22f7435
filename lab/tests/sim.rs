//! The simulator as a whole: real quiche and HTTP/3 over a modelled link.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use petra_lab::link::{goodput_limit, Direction, Link, Queue};
use petra_lab::results::ResultSet;
use petra_lab::scenario::{Flow, Pacing, Scenario, Traffic};
use petra_lab::sim::{run, FlowReport, Report};
use sha2::{Digest, Sha256};

const RATE: u64 = 10_000_000;

/// 10 Mbit/s, 45 ms each way, a queue of one BDP: 90 ms.
fn link() -> Direction {
    Direction {
        rate: Some(RATE),
        delay: Duration::from_millis(45),
        ..Direction::default()
    }
}

fn lossy() -> Direction {
    Direction {
        loss: 0.005,
        ..link()
    }
}

/// 10 s of these controllers on one link.
fn scenario(down: Direction, controllers: &[&str]) -> Scenario {
    Scenario {
        duration: Duration::from_secs(10),
        ..Scenario::new(
            Link { down, up: link() },
            controllers.iter().map(|cc| Flow::new(cc)).collect(),
        )
    }
}

fn only_flow(scenario: &Scenario) -> FlowReport {
    let mut report = run(scenario).unwrap();
    assert_eq!(report.flows.len(), 1);
    report.flows.remove(0)
}

/// The report and the qlogs of one run, in the order of their names.
fn run_with_qlogs(seed: u64, folder: &Path) -> (Report, Vec<Vec<u8>>) {
    let report = run(&Scenario {
        seed,
        duration: Duration::from_secs(3),
        qlog: Some(folder.to_owned()),
        ..scenario(lossy(), &["bbr2", "cubic"])
    })
    .unwrap();
    (report, qlogs(folder))
}

/// Returns the contents of a folder's files, in the order of their names.
fn qlogs(folder: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<_> = [(7, "a"), (7, "b"), (8, "c")]
        .iter()
        .map(|(seed, name)| run_with_qlogs(*seed, &folder.path().join(name)))
        .collect();
    // Of both ends of two flows, the trace and the copy for qvis.
    assert_eq!(runs[0].1.len(), 8);
    assert!(runs[0].1.iter().all(|qlog| qlog.len() > 100_000));
    // Not assert_eq: it would print the qlogs.
    assert!(runs[0] == runs[1], "two runs of one seed differ");
    for (one, other) in runs[0].1.iter().zip(&runs[2].1) {
        assert!(one != other, "two seeds gave the same qlog");
    }
    assert_ne!(runs[0].0.flows, runs[2].0.flows);
}

/// SHA-256 of the qlogs of the run below. It changes with whatever changes the packets or
/// what is logged of them; not with the machine.
const QLOGS: &str = "0ac3d39eec9f8e57629590f11f0709b814f9135d489cc539c7a841402fb38fd8";

#[test]
fn the_bytes_are_those_of_every_machine() {
    // BoringSSL's mask of processor features: without AES (bit 57), without AVX (60, and
    // of the second word 5), without both.
    let masks = match cfg!(target_arch = "x86_64") {
        true => &[
            "",
            "~0x200000000000000",
            "~0x1000000000000000:~0x20",
            "~0x1200000000000000:~0x20",
        ][..],
        false => &[""],
    };
    for mask in masks {
        let folder = tempfile::tempdir().unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_petra-lab"))
            .args("sim --cc petra --cc cubic --lte mean=10mbit --duration 3s".split(' '))
            .args(["--qlog", "--out"])
            .arg(folder.path())
            .env("OPENSSL_ia32cap", mask)
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        let mut digest = Sha256::new();
        // Each run's are in a folder of its own.
        let mut files = Vec::new();
        for run in fs::read_dir(folder.path().join("qlog")).unwrap() {
            let entries = fs::read_dir(run.unwrap().path()).unwrap();
            files.extend(entries.map(|file| file.unwrap().path()));
        }
        files.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        for qlog in files {
            digest.update(fs::read(qlog).unwrap());
        }
        let digest = digest.finalize();
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, QLOGS, "with the mask {mask:?}");
    }
}

#[test]
fn a_run_on_another_thread_is_the_same_run() {
    let scenario = scenario(lossy(), &["cubic"]);
    let here = run(&scenario).unwrap();
    let there = std::thread::spawn(move || run(&scenario)).join().unwrap();
    assert_eq!(here, there.unwrap());
}

#[test]
fn without_losses_the_link_is_full_and_never_more_than_full() {
    for cc in ["reno", "cubic", "bbr2"] {
        let flow = only_flow(&Scenario {
            duration: Duration::from_secs(30),
            ..scenario(link(), &[cc])
        });
        let share = flow.share.unwrap();
        assert_eq!(share, flow.goodput / goodput_limit(RATE, 0.0, 1350));
        assert!((0.8..=1.0).contains(&share), "{cc}: {share}");
        assert_eq!(flow.random_losses, 0);
        assert_eq!(flow.failure, None);
        // The path's 90 ms and two transmissions of at least 0.1 ms.
        let min_rtt = flow.min_rtt.unwrap();
        assert!((90.0..92.0).contains(&min_rtt), "{cc}: {min_rtt}");
        let queue = flow.queue.unwrap();
        assert!(queue.max <= 90.0, "{cc}: {queue:?}");
        assert!(queue.mean <= queue.p95);
        let waited = flow.mean_rtt.unwrap() - 90.0;
        assert!((waited / queue.mean - 1.0).abs() < 0.2, "{cc}: {waited}");
    }
}

#[test]
fn a_download_of_a_size_completes_with_that_many_bytes() {
    const SIZE: u64 = 1_000_000;
    let flow = Flow {
        traffic: Traffic::Size(SIZE),
        ..Flow::new("cubic")
    };
    let report = only_flow(&Scenario {
        flows: vec![flow],
        ..scenario(lossy(), &[])
    });
    assert_eq!(report.body_bytes, SIZE);
    let took = report.completion.unwrap();
    // Two round trips before the first byte, and the link's rate.
    let least = 0.18 + SIZE as f64 * 8.0 / RATE as f64;
    assert!((least..5.0).contains(&took), "{took}");
    assert_eq!(report.goodput, SIZE as f64 * 8.0 / took);
}

/// Before its noise was an average `petra` took 26 s and more, where `reno` takes 4.
#[test]
fn petra_does_not_take_jitter_in_order_for_a_queue() {
    let way = Direction {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(15),
        queue: Queue::Bytes(100_000),
        ..link()
    };
    let link = Link {
        down: way.clone(),
        up: way,
    };
    let flow = Flow {
        traffic: Traffic::Size(4_000_000),
        ..Flow::new("petra")
    };
    for seed in 1..=3 {
        let report = only_flow(&Scenario {
            seed,
            duration: Duration::from_secs(30),
            ..Scenario::new(link.clone(), vec![flow.clone()])
        });
        let took = report.completion.unwrap_or(f64::INFINITY);
        assert!(took < 12.0, "seed {seed}: {took}");
    }
}

/// Before the test of whose queue it is outlived a round without one, it was a fifth.
#[test]
fn petra_keeps_a_quarter_beside_reno_and_leaves_one() {
    let way = Direction {
        rate: Some(12_000_000),
        delay: Duration::from_millis(14),
        ..Direction::default()
    };
    let flows = vec![Flow::new("petra"), Flow::new("reno")];
    let report = run(&Scenario {
        duration: Duration::from_secs(40),
        ..Scenario::new(Link::symmetric(way), flows)
    })
    .unwrap();
    let goodput = |flow: usize| report.flows[flow].goodput;
    let share = goodput(0) / (goodput(0) + goodput(1));
    assert!((0.25..=0.75).contains(&share), "{share}");
}

/// Before two drains were judged together, it was less than a quarter: next to a Reno that keeps a
/// long queue, the rate falls by less than the noise after one.
#[test]
fn petra_that_starts_beside_a_long_queue_gets_a_share() {
    let way = Direction {
        rate: Some(20_000_000),
        delay: Duration::from_millis(10),
        queue: Queue::Bdp(8.0),
        ..Direction::default()
    };
    for start in [2, 3] {
        let petra = format!("petra@{start}s").parse().unwrap();
        let report = run(&Scenario {
            duration: Duration::from_secs(30),
            ..Scenario::new(Link::symmetric(way.clone()), vec![petra, Flow::new("reno")])
        })
        .unwrap();
        let goodput = |flow: usize| report.flows[flow].goodput;
        let share = goodput(0) / (goodput(0) + goodput(1));
        assert!((0.3..=0.5).contains(&share), "from {start} s: {share}");
    }
}

#[test]
fn flows_share_the_link_from_their_start_on() {
    let late = "cubic@5s".parse().unwrap();
    let report = run(&Scenario {
        flows: vec![Flow::new("cubic"), late],
        ..scenario(link(), &[])
    })
    .unwrap();
    let [first, second] = &report.flows[..] else {
        panic!("two flows were asked for")
    };
    assert!(second.samples[0].time >= 5.0);
    assert!(second.goodput > RATE as f64 / 50.0, "{}", second.goodput);
    let bits = (first.body_bytes + second.body_bytes) as f64 * 8.0;
    assert!(bits < goodput_limit(RATE, 0.0, 1350) * 10.0);
}

#[test]
fn a_grid_on_the_way_back_is_in_the_round_trip() {
    let mut gridded = scenario(link(), &["cubic"]);
    gridded.path[0].up.slot = Duration::from_millis(20);
    // What a round trip takes that is no queue.
    let without_queue = |scenario: &Scenario| {
        let flow = only_flow(scenario);
        flow.mean_rtt.unwrap() - flow.queue.unwrap().mean
    };
    let behind = without_queue(&scenario(link(), &["cubic"]));
    assert!(behind < 95.0, "{behind}");
    // ACKs that would arrive between two lines wait 10 ms on average.
    let waited = without_queue(&gridded) - behind;
    assert!((5.0..15.0).contains(&waited), "{waited}");
}

#[test]
fn pacing_is_what_keeps_bbr2_from_bursts() {
    let queue = |pacing| {
        only_flow(&Scenario {
            pacing,
            ..scenario(lossy(), &["bbr2"])
        })
        .queue
        .unwrap()
        .mean
    };
    let (paced, unpaced) = (queue(Pacing::Release), queue(Pacing::Off));
    assert!(paced < unpaced, "{paced} {unpaced}");
}

#[test]
fn packets_that_are_held_measure_the_same_path() {
    let flow = |pacing| {
        only_flow(&Scenario {
            pacing,
            ..scenario(lossy(), &["petra"])
        })
    };
    let (waits, holds) = (flow(Pacing::Release), flow(Pacing::Hold));
    let rtt = |flow: &FlowReport| flow.mean_rtt.unwrap() - flow.queue.unwrap().mean;
    let difference = rtt(&waits) - rtt(&holds);
    assert!(difference.abs() < 1.0, "{difference}");
    assert!(holds.goodput > 0.95 * waits.goodput, "{}", holds.goodput);
}

#[test]
fn cubic_is_quiches_or_that_of_the_rfcs() {
    let mut scenario = scenario(lossy(), &["cubic"]);
    let stock = only_flow(&scenario);
    assert!(stock.runts > 0.5, "{}", stock.runts);
    scenario.flows[0].silly_window_avoidance = Some(true);
    let whole = only_flow(&scenario);
    assert!(whole.runts < 0.05, "{}", whole.runts);
    // Without its undo, every random loss is a reduction that stays.
    scenario.flows[0].cubic_spurious_undo = true;
    let strict = only_flow(&scenario);
    assert!(strict.goodput < whole.goodput, "{}", strict.goodput);
}

#[test]
fn a_dead_link_is_a_failure_of_the_flow() {
    let flow = only_flow(&Scenario {
        duration: Duration::from_secs(60),
        ..scenario(
            Direction {
                loss: 1.0,
                ..link()
            },
            &["reno"],
        )
    });
    assert_eq!(flow.body_bytes, 0);
    assert_eq!(flow.failure.as_deref(), Some("idle timeout"));
}

fn petra_lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_petra-lab"))
        .arg("sim")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_way_back_has_any_key_that_is_asked_for() {
    let output = petra_lab(&[
        "--cc=reno",
        "--duration=2s",
        "--json",
        "--step=at=1s,delay=30ms",
        "--repeat=2s",
        "--queue=80ms",
        "--up=steps=1s=1mbit",
        "--up=outages=500ms+50ms",
        "--up=mean_burst_length=2",
        "--up=loss=1%",
        // As it was called before.
        "--up-grid=5ms",
        "--ack-decimate=2",
    ]);
    assert!(output.status.success());
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let link = &runs[0]["scenario"]["path"][0];
    assert_eq!(link["steps"][0]["delay"], "30ms");
    assert_eq!(link["repeat"], "2s");
    let up = &link["up"];
    assert_eq!(up["steps"][0]["rate"], "1mbit");
    assert_eq!(up["outages"][0]["lasts"], "50ms");
    assert_eq!(
        (&up["rate"], &up["queue"]),
        (&"10mbit".into(), &"80ms".into())
    );
    assert_eq!(
        (&up["loss"], &up["mean_burst_length"]),
        (&"1%".into(), &2.0.into())
    );
    assert_eq!((&up["slot"], &up["ack_filter"]), (&"5ms".into(), &2.into()));
}

#[test]
fn a_qlog_that_does_not_fit_on_the_disk_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let name = "server-0-reno-seed1.sqlog";
    std::os::unix::fs::symlink("/dev/full", folder.path().join(name)).unwrap();
    let outcome = run(&Scenario {
        qlog: Some(folder.path().to_owned()),
        duration: Duration::from_secs(1),
        ..scenario(link(), &["reno"])
    });
    let error = format!("{:#}", outcome.unwrap_err());
    assert!(
        error.contains(name) && error.contains("incomplete"),
        "{error}"
    );
}

/// Copies for qvis lack their end then, which qvis cannot tell.
#[test]
fn a_run_that_is_killed_leaves_no_qlogs_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_petra-lab"))
        .args("sim --cc reno --duration 1h --qlog --out".split(' '))
        .arg(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let qlog = folder.path().join("qlog");
    let copies = || {
        let runs = fs::read_dir(&qlog).into_iter().flatten();
        let files = runs.flat_map(|run| fs::read_dir(run.unwrap().path()).unwrap());
        files.count()
    };
    let deadline = Instant::now() + Duration::from_secs(120);
    while copies() == 0 {
        assert_eq!(
            child.try_wait().unwrap(),
            None,
            "the run ended before its first qlog"
        );
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("no qlog within two minutes");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // The second ends it; of two that wait for a busy processor one is lost.
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "signals do not end it");
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for run in fs::read_dir(&qlog).unwrap() {
        let name = run.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with('.'), "{name}");
    }
}

#[test]
fn a_flow_that_ends_early_is_told_beside_the_figures() {
    let output = petra_lab(&["--cc", "reno", "--loss", "100%"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(table.contains("reno with seed 1: idle timeout"), "{table}");
}

#[test]
fn a_flow_that_receives_nothing_is_told_beside_the_figures() {
    let output = petra_lab(&["--cc", "reno", "--loss", "100%", "--duration", "2s"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(
        table.contains(
            "flows that received nothing: 1\n  reno with seed 1\n\
             the run may be shorter than the round trips before the first data\n"
        ),
        "{table}"
    );
}

#[test]
fn the_help_names_the_controllers_and_their_options() {
    let help = |word| String::from_utf8(petra_lab(&[word]).stdout).unwrap();
    for word in ["-h", "--help"] {
        let help = help(word);
        // Names have hyphens in them: `petra` is not part of `petra-lab`.
        let words = help.split(|c: char| !c.is_alphanumeric() && c != '-');
        let words: Vec<&str> = words.collect();
        for name in petra::registry::names().chain(["reno", "cubic", "bbr2", "oracle"]) {
            assert!(words.contains(&name), "{word}: {name}");
        }
    }
    let help = help("--help");
    assert!(help.contains("    faster_start "), "{help}");
    assert!(help.contains("docs/options.md"), "{help}");
    assert!(help.contains("[default: 1bdp]"), "{help}");
}

#[test]
fn the_command_is_a_plan_with_its_table_its_results_and_its_series() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let shared = "--cc reno --cc bbr2 --duration 2s --seeds 2 --step 1s=5mbit";
    let shared: Vec<&str> = shared.split(' ').collect();
    let kept = [&shared[..], &["--series", "--out", out.to_str().unwrap()]].concat();
    let output = petra_lab(&kept);
    assert!(output.status.success());
    let table = String::from_utf8(output.stdout).unwrap();
    for says in [
        "down: rate 10mbit",
        "loss 0.5%",
        "up: rate 10mbit, queue 1bdp, delay 45ms (2 seeds, sim)",
        "\n reno ",
        "\n bbr2 ",
        "sim.csv",
    ] {
        assert!(table.contains(says), "{says}: {table}");
    }
    let results = ResultSet::read(&out).unwrap();
    let [plan] = &results.plans[..] else {
        panic!("one plan");
    };
    assert_eq!(
        plan.manifest.command,
        format!("petra-lab sim {} --series", shared.join(" "))
    );
    assert_eq!(plan.rows.len(), 4);
    // A head, and 100 samples.
    for row in &plan.rows {
        let series = fs::read_to_string(out.join(format!("series/{}.csv", row.key)));
        assert_eq!(series.unwrap().lines().count(), 101);
    }
    // The link is shown before the runs, with the settings that have their defaults.
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("4 runs by sim, each alone for 2s; down: rate 10mbit"),
        "{said}"
    );
    assert!(
        said.contains("\nby default: rate 10mbit, delay 45ms, loss 0.5%, queue 1bdp\n"),
        "{said}"
    );
    // Made once, and shown again.
    let again = petra_lab(&kept);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), table);
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains("4 of 4 runs are there already"), "{said}");

    let output = petra_lab(&[&shared[..], &["--json"]].concat());
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 4);
    assert_eq!(runs[3]["scenario"]["seed"], 2);
    assert_eq!(runs[3]["scenario"]["flows"][0]["cc"], "bbr2");
    let goodput = plan.rows[3].metric("goodput_mbps").unwrap();
    assert_eq!(runs[3]["flows"][0]["figures"]["goodput_mbps"], goodput);
    assert_eq!(runs[3]["key"], plan.rows[3].key);
}

#[test]
fn the_plan_of_a_command_has_the_same_results_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let share = "--cc petra --cc petra --cc reno@1s --share --duration 2s --up slot=5ms";
    let share: Vec<&str> = share.split(' ').collect();
    let plan = petra_lab(&[&share[..], &["--plan"]].concat());
    let file = folder.path().join("sim.toml");
    fs::write(&file, plan.stdout).unwrap();
    let of = |command: &str, arguments: &[&str], out: &str| {
        let out = folder.path().join(out);
        let output = Command::new(env!("CARGO_BIN_EXE_petra-lab"))
            .arg(command)
            .args(arguments)
            .arg("--out")
            .arg(&out)
            .output()
            .unwrap();
        assert!(output.status.success());
        fs::read(out.join("sim.csv")).unwrap()
    };
    let typed = of("sim", &share, "typed");
    assert_eq!(of("run", &[file.to_str().unwrap()], "file"), typed);
    let typed = String::from_utf8(typed).unwrap();
    for flow in ["petra,petra,", "petra 2,petra,", "reno@1s,reno,"] {
        assert!(typed.contains(flow), "{flow}: {typed}");
    }
}
