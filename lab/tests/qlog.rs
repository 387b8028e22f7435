//! `petra-lab qlog` on the traces of a simulated transfer.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use petra_lab::link::{Direction, Link};
use petra_lab::scenario::{Flow, Scenario};
use petra_lab::sim::run;

fn petra_lab(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_petra-lab"));
    command.arg("qlog").args(arguments).current_dir(folder);
    command
}

/// Returns the output of the command.
fn says(arguments: &[&str], folder: &Path) -> String {
    let output = petra_lab(arguments, folder).output().unwrap();
    let Output { status, stdout, .. } = &output;
    assert!(status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(stdout.clone()).unwrap()
}

/// Returns the error of the command.
fn refuses(arguments: &[&str], folder: &Path) -> String {
    let output = petra_lab(arguments, folder).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    assert!(!error.contains("panicked"), "{error}");
    error
}

/// The raw traces of `petra` and `cubic` for 2 s on a lossy link, as `a.sqlog`
/// and `b.sqlog` in a new folder.
fn traces() -> tempfile::TempDir {
    static TRACES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let traces = TRACES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let down = Direction {
            rate: Some(10_000_000),
            loss: 0.01,
            ..Direction::default()
        };
        let flows = vec![Flow::new("petra"), Flow::new("cubic")];
        run(&Scenario {
            duration: std::time::Duration::from_secs(2),
            qlog: Some(folder.path().to_owned()),
            ..Scenario::new(
                Link {
                    up: down.clone(),
                    down,
                },
                flows,
            )
        })
        .unwrap();
        let files = ["server-0-petra-seed1.sqlog", "server-1-cubic-seed1.sqlog"];
        files
            .map(|name| fs::read(folder.path().join(name)).unwrap())
            .into()
    });
    let folder = tempfile::tempdir().unwrap();
    for (name, trace) in ["a.sqlog", "b.sqlog"].iter().zip(traces) {
        fs::write(folder.path().join(name), trace).unwrap();
    }
    folder
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into())
        .collect();
    names.sort();
    names
}

#[test]
fn traces_become_copies_that_the_check_finds_right() {
    let folder = traces();
    let folder = folder.path();
    let said = says(&["qvis", "a.sqlog", "b.sqlog"], folder);
    assert_eq!(said.matches("lost packets as logged").count(), 2, "{said}");
    let said = says(&["check", "a.qvis.sqlog", "b.qvis.sqlog"], folder);
    assert_eq!(said.matches("right, for qvis").count(), 2, "{said}");
    let said = says(&["check", "a.sqlog"], folder);
    assert!(said.contains("which qvis does not open"), "{said}");
    // What a shell makes of `*.sqlog`: copies have no copies.
    let all = ["qvis", "a.sqlog", "a.qvis.sqlog", "b.sqlog", "b.qvis.sqlog"];
    let said = says(&all, folder);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert_eq!(names(folder).len(), 4);

    let whole = fs::read(folder.join("a.sqlog")).unwrap();
    fs::write(folder.join("cut.sqlog"), &whole[..whole.len() / 2]).unwrap();
    let output = petra_lab(&["check", "cut.sqlog"], folder).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("cut.sqlog: cut off in record "), "{said}");
    assert_eq!(output.status.code(), Some(2));

    says(
        &["qvis", "a.sqlog", "-o", "slim.sqlog", "--slim", "100kB"],
        folder,
    );
    assert!(fs::metadata(folder.join("slim.sqlog")).unwrap().len() <= 100_000);
    assert!(says(&["check", "slim.sqlog"], folder).contains("right, for qvis"));
}

#[test]
fn compression_and_the_standard_input_make_no_difference() {
    let folder = traces();
    let folder = folder.path();
    says(&["qvis", "a.sqlog", "-o", "plain"], folder);
    let expected = fs::read(folder.join("plain")).unwrap();
    let raw = fs::read(folder.join("a.sqlog")).unwrap();

    let gzip = File::create(folder.join("c.sqlog.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
    gzip.write_all(&raw).unwrap();
    gzip.finish().unwrap();
    fs::write(
        folder.join("d.sqlog.zst"),
        zstd::encode_all(&raw[..], 1).unwrap(),
    )
    .unwrap();
    says(&["qvis", "c.sqlog.gz", "d.sqlog.zst"], folder);
    for copy in ["c.qvis.sqlog", "d.qvis.sqlog"] {
        assert!(fs::read(folder.join(copy)).unwrap() == expected, "{copy}");
    }

    let mut piped = petra_lab(&["qvis", "-", "-o", "piped"], folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&raw).unwrap();
    assert!(piped.wait().unwrap().success());
    assert!(fs::read(folder.join("piped")).unwrap() == expected);

    // What is missing of a compressed trace is said, and the rest is used.
    let packed = fs::read(folder.join("c.sqlog.gz")).unwrap();
    fs::write(folder.join("e.sqlog.gz"), &packed[..packed.len() / 2]).unwrap();
    let output = petra_lab(&["qvis", "e.sqlog.gz"], folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning"));
    assert!(says(&["check", "e.qvis.sqlog"], folder).contains("right"));
}

#[test]
fn pictures_of_one_trace_and_of_several_are_made() {
    let folder = traces();
    let folder = folder.path();
    says(&["qvis", "b.sqlog"], folder);
    for (traces, out, starts) in [
        (&["a.sqlog"][..], "a.svg", &b"<svg"[..]),
        (
            &["a.sqlog", "b.qvis.sqlog"],
            "both.html",
            b"<!DOCTYPE html>",
        ),
        (&["b.qvis.sqlog"], "b.png", b"\x89PNG"),
        (&["a.sqlog", "b.sqlog"], "both.pdf", b"%PDF-"),
    ] {
        says(&[&["plot"], traces, &["-o", out]].concat(), folder);
        assert!(fs::read(folder.join(out)).unwrap().starts_with(starts));
    }
    let svg = fs::read_to_string(folder.join("a.svg")).unwrap();
    for drawn in ["ssthresh", "bandwidth estimate", "slow_start", "reduction"] {
        assert!(svg.contains(drawn), "{drawn}");
    }
    let both = fs::read_to_string(folder.join("both.html")).unwrap();
    // In a figure, which the page's script works on.
    assert!(both.contains("<figure class=\"large\"><svg"));
    for drawn in [
        "congestion window, kB",
        "petra: bytes in flight",
        "cubic: bytes in flight",
    ] {
        assert!(both.contains(drawn), "{drawn}");
    }
}

#[test]
fn a_picture_has_the_controllers_the_labels_and_the_time_that_were_asked_for() {
    let folder = traces();
    let folder = folder.path();
    let drawn = |arguments: &[&str]| {
        let plot = [&["plot", "-o", "x.svg"], arguments].concat();
        says(&plot, folder);
        fs::read_to_string(folder.join("x.svg")).unwrap()
    };
    // From the headers, not from the names of the files.
    let both = drawn(&["a.sqlog", "b.sqlog"]);
    for text in [
        ">petra</text>",
        ">cubic</text>",
        "sending rate, Mbit/s",
        "petra, cubic",
    ] {
        assert!(both.contains(text), "{text}");
    }
    let twice = drawn(&["a.sqlog", "a.sqlog"]);
    for text in [">petra 1, a</text>", ">petra 2, a</text>"] {
        assert!(twice.contains(text), "{text}");
    }
    let named = drawn(&["a.sqlog", "b.sqlog", "--label", "new", "--label", "old"]);
    assert!(named.contains(">new</text>") && named.contains(">old</text>"));
    let narrow = drawn(&["a.sqlog", "--width", "400"]);
    assert!(narrow.contains("width=\"424\""));
    fs::write(folder.join("own.ttf"), dejavu::sans_mono::regular()).unwrap();
    let typed = drawn(&["a.sqlog", "--font", "own.ttf"]);
    assert!(typed.contains("font-family=\"'DejaVu Sans Mono', sans-serif\""));
    // Ticks of 0.1 s, and none before or after.
    let part = drawn(&["a.sqlog", "--from", "500ms", "--to", "1s"]);
    for (text, there) in [("0.5", true), ("0.9", true), ("0.4", false), ("1.5", false)] {
        assert_eq!(part.contains(&format!(">{text}</text>")), there, "{text}");
    }
    for (arguments, says) in [
        (
            &["--label", "one"][..],
            "--label: wrong number (got 1); expected one for each of 2",
        ),
        (
            &["--label", "one", "--label", "one"],
            "--label: duplicate (got one twice)",
        ),
        (
            &["--width", "10"],
            "expected a whole number from 240 to 4000",
        ),
        (&["--font", "none.ttf"], "cannot read it (No such file"),
        (
            &["--font", "a.sqlog"],
            "not a font; expected a TrueType or OpenType font",
        ),
        (&["--from", "1min"], "--from: too late (got 60 s)"),
        (&["--from", "-1s"], "`-1s` is negative"),
        (&["--from", "1s", "--to", "1s"], "--to: too early (got 1 s)"),
    ] {
        let plot = [&["plot", "a.sqlog", "b.sqlog", "-o", "y.svg"], arguments].concat();
        let error = refuses(&plot, folder);
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn a_trace_as_csv_has_each_change_of_the_window() {
    let folder = traces();
    let folder = folder.path();
    let text = says(&["csv", "a.sqlog", "b.sqlog"], folder);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    assert_eq!(&head[3], "congestion_window");
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for (name, controller) in [("a", "petra"), ("b", "cubic")] {
        let rows = rows
            .iter()
            .filter(|row| &row[0] == name && &row[1] == controller);
        let windows = rows.filter(|row| row[3].parse::<u64>().is_ok()).count();
        let raw = fs::read_to_string(folder.join(format!("{name}.sqlog"))).unwrap();
        assert_eq!(windows, raw.matches("\"congestion_window\":").count());
    }
    // Microseconds, and no RTT before the first sample.
    let at = |name| head.iter().position(|it| it == name).unwrap();
    let (latest, smoothed) = (at("latest_rtt"), at("smoothed_rtt"));
    let mut sampled = false;
    for row in rows.iter().filter(|row| &row[0] == "a") {
        let digits = row[2].split_once('.').map_or(0, |(_, digits)| digits.len());
        assert!(digits <= 6, "{}", &row[2]);
        sampled |= !row[latest].is_empty();
        assert!(sampled || row[smoothed].is_empty(), "{row:?}");
    }
    assert!(sampled);
    says(&["csv", "a.sqlog", "b.sqlog", "-o", "both.csv"], folder);
    assert_eq!(fs::read_to_string(folder.join("both.csv")).unwrap(), text);
}

#[test]
fn folders_of_traces_are_compared_with_intervals() {
    let folder = traces();
    let folder = folder.path();
    // Of each side the same connection three times, in folders of their own.
    for (side, trace) in [("A", "a.sqlog"), ("B", "b.sqlog")] {
        for number in 0..3 {
            let place = folder.join(format!("{side}/{number}"));
            fs::create_dir_all(&place).unwrap();
            fs::copy(folder.join(trace), place.join(trace)).unwrap();
            fs::write(place.join("c.qvis.sqlog"), "left out").unwrap();
        }
    }
    let stats = says(&["stats", "--json", "A"], folder);
    assert_eq!(stats.lines().count(), 3);
    let said = says(&["compare", "A", "B"], folder);
    for text in [
        "A: A, 3 connections with petra\n",
        "B: B, 3 connections with cubic\n",
        "goodput, Mbit/s",
        "differs",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let same = says(&["compare", "A", "A"], folder);
    assert!(
        same.contains("undecided") && !same.contains("differs"),
        "{same}"
    );
    let one = says(&["compare", "a.sqlog", "b.sqlog"], folder);
    assert!(
        one.contains("no interval") && one.contains("may be chance"),
        "{one}"
    );
    assert!(
        one.contains("A: a.sqlog, 1 connection with petra\n"),
        "{one}"
    );
    for option in ["--min-bytes", "--least"] {
        let error = refuses(&["compare", "A", "B", option, "1GB"], folder);
        assert!(error.contains("A: no connection that sent"), "{error}");
        let error = refuses(&["compare", "A", "B", option, "-5"], folder);
        assert!(error.contains("`-5` is negative"), "{error}");
    }
    fs::create_dir(folder.join("empty")).unwrap();
    let error = refuses(&["stats", "empty"], folder);
    assert!(error.contains("empty: no traces"), "{error}");
}

#[test]
fn a_bad_trace_among_others_is_counted_and_does_not_stop_them() {
    let folder = traces();
    let folder = folder.path();
    for side in ["A/0", "A/1", "A/2", "B/0", "B/1"] {
        fs::create_dir_all(folder.join(side)).unwrap();
        fs::copy(folder.join("a.sqlog"), folder.join(side).join("a.sqlog")).unwrap();
    }
    fs::write(folder.join("A/1/a.sqlog"), "").unwrap();
    for (command, lines) in [(&["check", "A"][..], 2), (&["stats", "--json", "A"], 2)] {
        let output = petra_lab(command, folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let (said, error) = (output.stdout, String::from_utf8(output.stderr).unwrap());
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.lines().count(), lines, "{said}");
        assert!(error.contains("A/1/a.sqlog: "), "{error}");
        assert!(error.contains("traces: invalid (got 1 of 3"), "{error}");
    }
    let output = petra_lab(&["compare", "A", "B"], folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("A: A, 2 connections with petra\n"), "{said}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("A: left out 1 invalid traces of 3"),
        "{error}"
    );
    // The CSV has the place of each trace below the folder.
    fs::remove_dir_all(folder.join("A/1")).unwrap();
    let below = says(&["csv", "A"], folder);
    assert!(below.contains("\n0/a,petra,") && below.contains("\n2/a,petra,"));
    let both = says(&["csv", "A", "B"], folder);
    assert!(both.contains("\nA/0/a,petra,") && both.contains("\nB/0/a,petra,"));
}

#[test]
fn a_trace_of_one_instant_is_drawn() {
    let folder = traces();
    let folder = folder.path();
    let raw = fs::read_to_string(folder.join("a.sqlog")).unwrap();
    let header = raw.lines().next().unwrap();
    let event = "{\"time\":0,\"name\":\"quic:recovery_metrics_updated\",\"data\":\
                 {\"congestion_window\":13500}}";
    fs::write(folder.join("c.sqlog"), format!("{header}\n\u{1e}{event}\n")).unwrap();
    says(&["plot", "c.sqlog", "-o", "c.svg"], folder);
    let error = refuses(&["plot", "c.sqlog", "-o", "d.svg", "--from", "0s"], folder);
    assert!(error.contains("--from: too late (got 0 s)"), "{error}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = traces();
    let folder = folder.path();
    for command in [
        &["check", "a.sqlog", "b.sqlog"][..],
        &["stats", "a.sqlog", "b.sqlog"],
        &["csv", "a.sqlog", "b.sqlog"],
    ] {
        let mut lab = petra_lab(command, folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(lab.stdout.take());
        let output = lab.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{command:?}: {output:?}");
    }
}

#[test]
fn figures_come_for_people_and_for_programs() {
    let folder = traces();
    let said = says(&["stats", "a.sqlog"], folder.path());
    assert!(
        said.contains("Mbit/s") && said.contains("reductions"),
        "{said}"
    );
    let json = says(&["stats", "--json", "a.sqlog", "b.sqlog"], folder.path());
    let stats: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(stats.len(), 2);
    assert!(stats[0]["sent"]["packets"].as_u64() > Some(500));
    assert!(stats[1]["packets_lost"].as_u64() > Some(0));
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let folder = traces();
    let folder = folder.path();
    let broken = fs::read_to_string(folder.join("a.sqlog")).unwrap();
    let mut records: Vec<_> = broken.split_inclusive('\n').map(str::to_owned).collect();
    records[49] = "\u{1e}{\"time\":1}\n".to_owned();
    fs::write(folder.join("broken.sqlog"), records.concat()).unwrap();
    fs::write(folder.join("text.sqlog"), "no qlog").unwrap();
    fs::write(folder.join("cut.sqlog"), &broken[..broken.len() / 2]).unwrap();
    fs::write(folder.join("d.qvis.sqlog"), &broken).unwrap();
    let before = names(folder);
    for (arguments, says) in [
        (
            &["check", "cut.sqlog", "a.sqlog"][..],
            "without their end (got 1 of 2)",
        ),
        (&["qvis", "d.qvis.sqlog"], "a copy for qvis already"),
        (
            &["qvis", "d.qvis.sqlog", "-o", "e.sqlog"],
            "a copy for qvis already; expected a raw trace, or --slim SIZE",
        ),
        (
            &["plot", "a.sqlog", "-o", "x.html", "--width", "300"],
            "--width: not for a page",
        ),
        (&["qvis", "broken.sqlog"], "record 50"),
        (&["qvis", "broken.sqlog", "--slim", "1MB"], "record 50"),
        (&["check", "broken.sqlog"], "record 50"),
        (&["stats", "broken.sqlog"], "record 50"),
        (&["plot", "broken.sqlog", "-o", "x.svg"], "record 50"),
        (
            &["plot", "a.sqlog", "-o", "x.gif"],
            ".html, .svg, .pdf, .png",
        ),
        (
            &["qvis", "a.sqlog", "./a.sqlog", "-o", "."],
            "another trace",
        ),
        (&["qvis", "text.sqlog"], "JSON-SEQ"),
        (&["qvis", "nowhere.sqlog"], "nowhere.sqlog"),
        (&["qvis", "a.sqlog", "-o", "a.sqlog"], "overwrite"),
        (&["qvis", "a.sqlog", "--slim", "1kB"], "too few"),
        (&["qvis", "a.sqlog", "--slim", "small"], "200MB"),
        (
            &["qvis", "a.sqlog", "--slim", "1MB", "--packets", "3"],
            "3 packets are too few",
        ),
        (&["qvis", "a.sqlog", "--packets", "3"], "--slim"),
        (&["qvis", "a.sqlog", "b.sqlog", "-o", "x"], "folder"),
        (&["qvis", "-"], "-o"),
    ] {
        let error = refuses(arguments, folder);
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    assert_eq!(names(folder), before);
}

/// A trace that does not come to its end, and a signal while it is waited for.
#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    let folder = traces();
    let folder = folder.path();
    let raw = fs::read(folder.join("a.sqlog")).unwrap();
    for (signal, slim) in [(Signal::SIGINT, false), (Signal::SIGTERM, true)] {
        let before = names(folder);
        let slim: &[&str] = if slim { &["--slim", "1MB"] } else { &[] };
        let mut lab = petra_lab(&[&["qvis", "-", "-o", "copy.sqlog"], slim].concat(), folder)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = lab.stdin.take().unwrap();
        pipe.write_all(&raw).unwrap();
        while names(folder) == before {
            std::thread::yield_now();
        }
        kill(Pid::from_raw(lab.id() as i32), signal).unwrap();
        assert_eq!(lab.wait().unwrap().signal(), Some(signal as i32));
        assert_eq!(names(folder), before);
    }
}
