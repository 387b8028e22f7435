//! Wrong command lines: each is refused before anything runs, with its subject and what is
//! accepted, and leaves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_petra-lab");

/// A plan without errors.
const PLAN: &str = "\
title = \"A plan\"
duration = \"1s\"
metrics = [\"goodput_mbps\"]
[link]
rate = \"1mbit\"
[flow]
cc = \"petra\"
";

/// The words of a command, its subject, and what is accepted.
const WRONG: [(&str, &str, &str); 88] = [
    ("simulate", "'simulate'", "'sim'"),
    (
        "sim",
        "--cc <NAME[:OPTIONS][@START]>",
        "Usage: petra-lab sim --cc",
    ),
    ("sim --cc reno --what", "'--what'", "Usage: petra-lab sim"),
    (
        "sim --cc vegas",
        "`vegas`",
        "expected reno, cubic, bbr2 or a registered one (highbrow,",
    ),
    ("sim --cc bbr", "got bbr", "expected bbr2"),
    (
        "sim --cc bbr2_gcongestion",
        "got bbr2_gcongestion",
        "expected bbr2",
    ),
    ("sim --cc petra:nope=1", "nope", "expected initial_ssthresh"),
    ("sim --cc petra:alpha=2", "alpha", "expected a number"),
    (
        "sim --cc oracle:depth=1ms",
        "oracle: no such option (got depth)",
        "expected queue",
    ),
    ("sim --cc @1s", "'--cc", "expected a controller"),
    (
        "sim --cc petra@soon",
        "'--cc",
        "expected a duration, such as 45ms",
    ),
    (
        "sim --cc petra@1s",
        "--cc petra: a start of its own (got @1s)",
        "expected --share",
    ),
    (
        "sim --cc reno --cc petra@1s",
        "--cc petra",
        "expected --share",
    ),
    (
        "sim --cc reno@2min --share",
        "start: too late (got 120s)",
        "expected before the end of the run at 60s",
    ),
    (
        "sim --cc reno --cc reno",
        "--cc: duplicate controller (got reno)",
        "expected it once, with --seeds N",
    ),
    (
        "sim --cc reno --rate 10",
        "'--rate",
        "expected a rate, such as 10mbit",
    ),
    (
        "sim --cc reno --rate -5mbit",
        "`-5mbit` is negative",
        "expected a rate, such as 10mbit",
    ),
    (
        "sim --cc reno --rate 0bit",
        "`0bit` is out of range",
        "expected a rate between 1bit",
    ),
    (
        "sim --cc reno --delay 30",
        "'--delay",
        "expected a duration, such as 45ms",
    ),
    (
        "sim --cc reno --delay 1000000h",
        "`1000000h` is too long",
        "up to a year",
    ),
    (
        "sim --cc reno --loss 5",
        "`5` has no unit",
        "expected 5% or another share from 0 to 100%",
    ),
    (
        "sim --cc reno --loss 1",
        "`1` has no unit",
        "expected 1% or another share",
    ),
    (
        "sim --cc reno --loss 500",
        "`500` is out of range",
        "expected a share from 0 to 100%",
    ),
    (
        "sim --cc reno --loss 150%",
        "`150%` is out of range",
        "expected a share from 0 to 100%",
    ),
    (
        "sim --cc reno --loss 1% --loss-run 0.5",
        "mean_burst_length",
        "at least 1",
    ),
    (
        "sim --cc reno --queue 0bdp",
        "`0bdp` is empty",
        "expected a queue, such as 1bdp",
    ),
    (
        "sim --cc reno --queue 0",
        "'--queue",
        "expected a queue, such as 1bdp",
    ),
    (
        "sim --cc reno --queue -1bdp",
        "`-1bdp` is negative",
        "expected a queue, such as 1bdp",
    ),
    (
        "sim --cc reno --lte deviation=1",
        "missing field `mean` (got deviation=1)",
        "expected KEY=VALUE,... of mean (rate), deviation",
    ),
    (
        "sim --cc reno --lte men=3mbit",
        "unknown field `men`",
        "expected one of `mean`, `deviation`",
    ),
    ("sim --cc reno --lte 3mbit", "'--lte", "expected KEY=VALUE"),
    (
        "sim --cc reno --lte mean=3mbit,mean=4mbit",
        "duplicate key (got mean)",
        "expected each key once",
    ),
    (
        "sim --cc reno --trace nofile",
        "trace: cannot read it (got nofile)",
        "expected a file of times in milliseconds",
    ),
    (
        "sim --cc reno --trace text",
        "line 1: invalid time (got hello)",
        "expected whole milliseconds",
    ),
    (
        "sim --cc reno --up trace=a --up rate=1mbit",
        "rate, trace",
        "expected one",
    ),
    (
        "sim --cc reno --up delay",
        "`delay`",
        "expected KEY=VALUE, such as delay=30ms",
    ),
    (
        "sim --cc reno --up speed=1mbit",
        "no such key (got speed)",
        "expected one of rate,",
    ),
    (
        "sim --cc reno --up outages=2min+1s",
        "the way back",
        "expected a time before 60s",
    ),
    (
        "sim --cc reno --step 20s",
        "`20s`",
        "expected a step, such as 20s=2mbit",
    ),
    (
        "sim --cc reno --step 60s=1mbit",
        "60s",
        "expected a time before 60s",
    ),
    ("sim --cc reno --step 5s=0mbit", "step", "outage"),
    (
        "sim --cc reno --outage 10s",
        "`10s`",
        "expected an outage, such as 10s+500ms",
    ),
    ("sim --cc reno --repeat 5s", "repeat", "expected"),
    ("sim --cc reno --aqm red2", "red2", "expected"),
    (
        "sim --cc reno --jitter-distribution flat",
        "flat",
        "expected",
    ),
    (
        "sim --cc reno --ack-filter two",
        "'--ack-filter",
        "expected u32",
    ),
    (
        "sim --cc reno --policer rate=1mbit,burst=100B",
        "policer.burst",
        "expected at least 1500 bytes",
    ),
    (
        "sim --cc reno --datagram 1000",
        "datagram",
        "expected 1200 to 65507",
    ),
    (
        "sim --cc reno --datagram -1",
        "'--datagram",
        "expected a whole number from 0 to 65527",
    ),
    (
        "sim --cc reno --seed -1",
        "'--seed",
        "expected a whole number from 0 to",
    ),
    (
        "sim --cc reno --seeds 0",
        "'--seeds",
        "expected a whole number from 1 to 1000000",
    ),
    (
        "sim --cc reno --jobs 0",
        "'--jobs",
        "expected a whole number of at least 1",
    ),
    (
        "sim --cc reno --ack-every many",
        "'--ack-every",
        "expected a whole number from 1 to 100",
    ),
    (
        "sim --cc reno --size -5MB",
        "`-5MB` is negative",
        "expected a size, such as 64kB",
    ),
    (
        "sim --cc reno --duration 0s",
        "duration: out of range",
        "expected",
    ),
    (
        "sim --cc reno --sample 5s --duration 1s",
        "--sample: longer than the run (got 5s)",
        "expected at most its duration, 1s",
    ),
    ("sim --cc reno --metrics goodput", "goodput", "goodput_mbps"),
    (
        "sim --cc reno --no-pacing --hold",
        "'--no-pacing'",
        "'--hold'",
    ),
    (
        "sim --cc reno --qlog",
        "--out <FOLDER>",
        "Usage: petra-lab sim",
    ),
    ("sim --cc reno -o text", "text", "expected a folder"),
    (
        "netem --cc oracle",
        "oracle: no real link",
        "expected a controller of quiche",
    ),
    (
        "netem --cc reno --sandbox docker",
        "'--sandbox",
        "[possible values: auto, kernel, uml]",
    ),
    (
        "demo --backend real",
        "'--backend",
        "[possible values: sim, netem]",
    ),
    (
        "draw plan.toml --cases 1000001",
        "'--cases",
        "expected a whole number from 1 to 1000000",
    ),
    ("check", "<PLAN.toml>", "Usage: petra-lab check"),
    ("check nowhere.toml", "nowhere.toml", "expected a plan"),
    ("check text", "text:1", "expected"),
    (
        "check plan.toml --seeds 2000000",
        "seeds: too many (got 2000000)",
        "expected 1000000 at most",
    ),
    (
        "run plan.toml copy/plan.toml -o out",
        "one name (got plan twice)",
        "expected names of their own",
    ),
    (
        "run plan.toml --shard 4/3 -o out",
        "'--shard",
        "expected 1 to 3",
    ),
    ("run plan.toml -o text", "text", "expected a folder"),
    ("merge plan.toml -o out", "out", "expected"),
    (
        "hunt plan.toml -o out",
        "a plan without a space",
        "expected [space]",
    ),
    (
        "hunt plan.toml --seed x -o out",
        "'--seed",
        "expected a whole number from 0 to",
    ),
    (
        "tune plan.toml --vary petra -o out",
        "vary: `petra` has no options",
        "expected a controller and ranges",
    ),
    (
        "tune plan.toml --vary petra:alpha=0.5..0.9 --metric speed -o out",
        "'--metric",
        "expected one of goodput_mbps,",
    ),
    (
        "report nowhere",
        "nowhere",
        "expected the folder of results",
    ),
    ("report empty", "empty: no results", "expected a NAME.json"),
    (
        "frontier empty --against nothing",
        "'nothing' for '--against",
        "expected one of goodput_mbps,",
    ),
    (
        "compare empty empty --metric speed",
        "'speed' for '--metric",
        "expected one of goodput_mbps,",
    ),
    (
        "compare empty empty -o none/x.html",
        "none/x.html: no such folder (got none)",
        "expected a file in a folder",
    ),
    (
        "qlog check nowhere.sqlog",
        "nowhere.sqlog",
        "expected valid ones",
    ),
    (
        "qlog stats empty",
        "empty: no traces",
        "expected files that end in .sqlog",
    ),
    (
        "qlog csv text -o none/x.csv",
        "none/x.csv: no such folder (got none)",
        "expected a file in a folder",
    ),
    (
        "qlog plot text -o none/x.svg",
        "none/x.svg: no such folder (got none)",
        "expected a file in a folder",
    ),
    (
        "qlog plot text -o x.gif",
        "x.gif: unknown format (got gif)",
        "expected one of .html, .svg, .pdf, .png",
    ),
    (
        "qlog compare text text --min-bytes big",
        "'--min-bytes",
        "expected a size, such as 64kB",
    ),
    (
        "qlog qvis text --slim small",
        "'--slim",
        "expected a size, such as 64kB",
    ),
];

/// Everything below a folder.
fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(below(&path));
        }
        paths.insert(path);
    }
    paths
}

#[test]
fn each_is_refused_with_its_subject_and_what_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["empty", "copy"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    fs::write(folder.join("text"), "hello\n").unwrap();
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    fs::write(folder.join("copy/plan.toml"), PLAN).unwrap();
    let before = below(folder);
    let mut faults = Vec::new();
    for (words, subject, accepted) in WRONG {
        let output = Command::new(PROGRAM)
            .args(words.split(' '))
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let mut check = |holds: bool, fault: &str| {
            if !holds {
                faults.push(format!("petra-lab {words}: {fault}\n{error}"));
            }
        };
        // Neither 0, nor 1 of expectations, nor 101 of a panic, nor a signal.
        check(output.status.code() == Some(2), &output.status.to_string());
        check(output.stdout.is_empty(), "it has an output");
        check(error.contains(subject), subject);
        check(error.contains(accepted), accepted);
        let own = error.contains("petra-lab: ") && error.contains("expected ");
        let of_clap = error.starts_with("error: ") && error.contains("'--help'");
        check(own || of_clap, "neither of the house's form nor of clap's");
        let after = below(folder);
        let left: Vec<_> = after.symmetric_difference(&before).collect();
        check(left.is_empty(), &format!("it left {left:?}"));
        left.iter().for_each(|path| drop(fs::remove_dir_all(path)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_error_without_a_reader_ends_the_program_as_with_one() {
    for words in [
        "report nowhere",
        "sim --cc reno --cc reno",
        "sim --cc reno --duration 200ms",
    ] {
        let mut lab = Command::new(PROGRAM)
            .args(words.split(' '))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(lab.stderr.take());
        let expected = if words.ends_with("200ms") { 0 } else { 2 };
        assert_eq!(lab.wait().unwrap().code(), Some(expected), "{words}");
    }
}

#[test]
fn a_command_does_not_replace_the_results_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| {
        let output = Command::new(PROGRAM)
            .args(words.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), error)
    };
    let petra = "sim --cc petra --duration 300ms -o out";
    assert_eq!(run(petra).0, Some(0));
    let csv = || fs::read_to_string(folder.path().join("out/sim.csv")).unwrap();
    let first = csv();
    for other in [
        "sim --cc reno --duration 300ms -o out",
        "sim --cc petra --duration 400ms -o out",
        "sim --cc petra --duration 300ms --seed 2 -o out",
    ] {
        let (status, error) = run(other);
        assert_eq!(status, Some(2), "{other}: {error}");
        let says = "out: has the results of another command, or of other inputs \
                    (got petra-lab sim --cc petra --duration 300ms)";
        assert!(error.contains(says), "{error}");
        assert!(
            error.contains("expected another folder with --out"),
            "{error}"
        );
        assert_eq!(csv(), first);
    }
    // What adds to them is welcome.
    let more = run("sim --cc petra --duration 300ms --seeds 2 --series -o out");
    assert_eq!(more.0, Some(0), "{}", more.1);
    assert_eq!(csv().lines().count(), first.lines().count() + 1);
    assert_eq!(run(petra).0, Some(2), "a seed would be lost");
}
