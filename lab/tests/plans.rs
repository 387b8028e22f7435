//! Plans as a whole: `petra-lab check`, `run` and `merge`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use petra_lab::results::{ResultSet, Table};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_petra-lab");

/// Two controllers on three links, two seeds: 12 short runs.
const PLAN: &str = r#"
title = "Two controllers on three links"
seeds = 2
duration = "1s"
metrics = ["goodput_mbps", "queue_mean_ms"]

[link]
rate = "2mbit"
delay = "10ms"
queue = "1bdp"

[[flow]]
cc = "petra"

[sweep]
"flow.cc" = ["petra", "reno"]

[[case]]
name = "clean"

[[case]]
name = "lossy"
set = { "link.loss" = "1%" }
printed = { petra = 1.5, reno = 1.1 }

[[case]]
name = "fast"
set = { "link.rate" = "4mbit", "link.up.rate" = "1mbit" }
"#;

/// A folder with one plan.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(plan: &str) -> Self {
        let place = Place {
            folder: tempfile::tempdir().unwrap(),
        };
        place.add("plan.toml", plan);
        place
    }

    fn add(&self, name: &str, plan: &str) {
        fs::write(self.path(name), plan).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .current_dir(self.folder.path())
            .args(words.split(' '));
        command
    }

    fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Returns the output of a command that succeeds.
    fn ok(&self, words: &str) -> String {
        let output = self.output(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the message of a command that fails.
    fn fails(&self, words: &str) -> String {
        let output = self.output(words);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {errors}");
        errors
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn lines(&self, name: &str) -> usize {
        let text = fs::read(self.path(name)).unwrap_or_default();
        text.iter().filter(|byte| **byte == b'\n').count()
    }
}

/// Returns the message of `check` for `PLAN` with `from` replaced.
fn wrong(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "{from}");
    let place = Place::new(&PLAN.replacen(from, to, 1));
    place.fails("check plan.toml")
}

#[test]
fn a_bad_plan_gets_the_line_the_field_and_what_is_allowed() {
    let cases = [
        ("\"2mbit\"", "\"2mbps\"", "plan.toml:8:8: link.0.rate: `2mbps` is not understood; expected a rate, such as 10mbit"),
        ("\"2mbit\"", "2", "plan.toml:8:8: link.0.rate: `2` is not understood; expected a rate"),
        ("\"1bdp\"", "\"1bdp\"\naqm = \"codl\"", "plan.toml:11:7: link.0.aqm: aqm: unknown (got codl)"),
        ("\"1bdp\"", "\"1bdp\"\nsteps = [{ at = \"soon\", rate = \"1mbit\" }]", "plan.toml:11:17: link.0.steps.0.at: `soon` is not understood"),
        ("delay =", "dely =", "plan.toml:9:1: link.0: unknown field `dely`, expected one of `rate`"),
        ("seeds = 2", "seeds = 0", "plan.toml:3:9: seeds: `0` is not understood; expected how many seeds"),
        ("seeds = 2", "seeds = { from = 1, to = 1000001 }", "plan.toml:3:9: seeds: `{ from = 1, to = 1000001 }` is not understood; expected how many seeds"),
        ("seeds = 2", "seeds = \"2\"", "plan.toml:3:9: seeds: `\"2\"` is a text; seeds are numbers, without quotes"),
        ("seeds = 2", "sheds = 2", "plan.toml:3:1: plan: no such key (got sheds); expected extends, title"),
        ("\"goodput_mbps\"", "\"goodput\"", "plan.toml:5:12: metrics: `goodput` is not understood; expected one of goodput_mbps"),
        ("\"reno\"]", "\"rеno\"]", "plan.toml:16:23: flow.0.cc: congestion control algorithm: unknown"),
        ("\"reno\"]", "\"petra\"]", "plan.toml:16:23: sweep.flow.cc: duplicate value (got petra)"),
        ("\"flow.cc\" = [\"petra\", \"reno\"]", "\"link.rate\" = { from = \"1mbit\", to = \"2kbit\", steps = 3 }", "plan.toml:16:38: sweep.link.rate: from `1mbit` to `2kbit` is not understood; expected the same unit twice"),
        ("\"flow.cc\" = [\"petra\", \"reno\"]", "\"flow.1.cc\" = [\"petra\"]", "plan.toml:16:1: flow.1.cc: list: no such number (got 1); expected less than 1, from 0"),
        ("\"link.loss\" = \"1%\"", "\"link.loss\" = \"101%\"", "plan.toml:23:23: link.0.loss: `101%` is out of range; expected a share from 0 to 1"),
        ("\"link.loss\" = \"1%\"", "\"link.los\" = \"1%\"", "plan.toml:23:9: link.0: unknown field `los`"),
        ("\"link.loss\" = \"1%\"", "\"seeds\" = 3", "plan.toml:23:9: case.1: key: not of a run (got seeds); expected link, flow"),
        ("petra = 1.5", "petra = \"much\"", "plan.toml:24:21: case.1.printed.petra: `much` is not understood; expected a number"),
        ("name = \"lossy\"", "name = \"clean\"", "case.1: there is another case `clean`"),
        ("\"1s\"", "\"0s\"", "plan.toml:1:1: duration: out of range (got 0s); expected more"),
        ("cc = \"petra\"\n", "cc = \"petra\"\n[[flow]]\ncc = \"reno\"\nstart = \"2s\"\n", "plan.toml:14:1: flow.1: the flow of petra: start: too late (got 2s); expected before the end of the run at 1s"),
        ("\"link.loss\" = \"1%\"", "\"flow.stop\" = \"0s\"", "plan.toml:23:23: flow.0: the flow of petra: stop: too early (got 0ns); expected after the start at 0ns"),
        ("[link]", "[link", "plan.toml:7:"),
        ("rate = \"2mbit\"\n", "", "plan.toml:11:1: flow.0: the flow of petra: hops: no end of bandwidth (got no link with a rate)"),
        ("\"flow.cc\"", "\"link.loss\" = [\"0%\", \"2%\"]\n\"flow.cc\"", "case.1.set.link.loss: the sweep over link.loss sets it anew at each of its places"),
    ];
    for (from, to, says) in cases {
        let error = wrong(from, to);
        assert!(error.contains(says), "{says}\nis not in\n{error}");
    }
    // What is wrong before any sweep is where it is written.
    let error = wrong("\"1bdp\"", "\"1bdp\"\ntrace = \"cell.down\"");
    assert!(
        error.contains("plan.toml:7:1: link.0: the way of the data: bottleneck: several rates (got more than one of rate"),
        "{error}"
    );
    // The line itself, with the place under it.
    let error = wrong("\"2mbit\"", "\"2mbps\"");
    assert!(
        error.ends_with("  8 | rate = \"2mbps\"\n    |        ^^^^^^^\n"),
        "{error}"
    );
}

#[test]
fn a_trace_is_read_before_anything_runs() {
    let plan = PLAN.replacen("rate = \"2mbit\"", "trace = \"cell.down\"", 1);
    let place = Place::new(&plan.replacen("\"link.rate\" = \"4mbit\", ", "", 1));
    assert!(place
        .fails("check plan.toml")
        .contains("trace: cannot read it"));
    place.add("cell.down", "1\nfoo\n");
    let error = place.fails("check plan.toml");
    assert!(error.contains("line 2: invalid time (got foo)"), "{error}");
}

#[test]
fn of_each_bad_plan_it_is_told_what_is_wrong() {
    let place = Place::new(&PLAN.replacen("2mbit", "two", 1));
    place.add("good.toml", PLAN);
    place.add("other.toml", &PLAN.replacen("1bdp", "much", 1));
    let error = place.fails("check plan.toml good.toml other.toml");
    assert!(
        error.contains("plan.toml:8:8") && error.contains("other.toml:10:9"),
        "{error}"
    );
    assert!(!error.contains("good.toml"), "{error}");
    assert!(place
        .fails("check good.toml --seeds 200000")
        .contains("too many runs (got 6 points x 200000 seeds); expected 1000000 at most"));
    assert!(place
        .fails("check good.toml --seeds 2000000")
        .contains("seeds: too many (got 2000000); expected 1000000 at most"));
    place.add("own.toml", "extends = \"plan.toml\"");
    let error = place.fails("check plan.toml own.toml");
    assert_eq!(error.matches("plan.toml:8:8").count(), 1, "{error}");
}

#[test]
fn the_plan_of_the_documentation_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("docs/laboratory.md")).unwrap();
    let (_, plan) = text.split_once("```toml\n").unwrap();
    let (plan, _) = plan.split_once("```").unwrap();
    let said = Place::new(plan).ok("check plan.toml");
    assert!(said.contains("40 points x 10 seeds = 400 runs"), "{said}");
}

#[test]
fn an_expectation_is_checked_before_anything_runs() {
    let with = |expect: &str| Place::new(&format!("{PLAN}\n[[expect]]\n{expect}\n"));
    for (expect, says) in [
        (
            "metric = \"goodput_mbps\"\nat_least = { controller = \"cubic\" }",
            "expect.0.at_least.controller: `cubic` is not understood; expected one of petra, reno",
        ),
        (
            "metric = \"goodput_mbps\"\nof = { case = \"slow\" }\nat_least = 1",
            "expected one of clean, lossy, fast",
        ),
        (
            "metric = \"goodput_mbps\"",
            "an expectation without at_least, at_most or about",
        ),
        (
            "metric = \"speed\"\nat_least = 1",
            "expect.0.metric: `speed`",
        ),
        (
            "metric = \"goodput_mbps\"\nat_least = 1\ntolerance = \"some\"",
            "\"5%\", or \"interval\"",
        ),
        (
            "metric = \"goodput_mbps\"\nof = { controller = \"petra\" }\nat_least = { \"flow.cc\" = \"reno\" }",
            "`flow.cc` selects nothing; expected controller, case, or an axis",
        ),
        (
            "metric = \"goodput_mbps\"\nat_least = {}",
            "compares results with themselves",
        ),
        (
            "metric = \"goodput_mbps\"\nof = { controller = \"petra\", case = \"fast\" }\nat_least = { controller = \"petra\" }",
            "compares results with themselves",
        ),
        (
            "metric = \"goodput_mbps\"\nover = 1",
            "expectation: no such key (got over)",
        ),
    ] {
        let error = with(expect).fails("check plan.toml");
        assert!(error.contains(says), "{says}\nis not in\n{error}");
    }
}

#[test]
fn printed_columns_are_checked_if_a_case_has_numbers() {
    let printed = r#"
[printed]
title = "A table, again"
metric = "goodput_mbps"
columns = [
    { reference = "printed.petra", name = "Petra", controller = "petra" },
    { reference = "printed.reno", name = "Reno", controller = "reno" },
]
orders = [["petra", "reno"]]
circumstances = ["queue_mean_ms"]
"#;
    let plan = format!("{PLAN}{printed}");
    Place::new(&plan).ok("check plan.toml");
    for (from, to, says) in [
        ("title = \"A table, again\"\n", "", "printed: missing field `title`"),
        ("metric = \"goodput_mbps\"\n", "metric = \"speed\"\n", "printed.metric: `speed` is not understood"),
        ("circumstances = [\"queue", "circumstances = [\"line", "printed.circumstances.0: `line_mean_ms`"),
        ("\"printed.reno\"", "\"printed.cubic\"", "plan.toml:35:19: printed.columns.1.reference: `printed.cubic` is not understood; expected one of printed.petra, printed.reno"),
        ("controller = \"reno\"", "controller = \"cubic\"", "printed.columns.1.controller: `cubic` is not understood; expected one of petra, reno"),
        ("[[\"petra\", \"reno\"]]", "[[\"petra\"]]", "printed.orders.0: invalid length 1"),
        ("[[\"petra\", \"reno\"]]", "[[\"petra\", \"petra\"]]", "expected another controller than the first"),
        ("[[\"petra\", \"reno\"]]", "[[\"petra\", \"bbr2\"]]", "printed.orders.0.controller: `bbr2` is not understood"),
    ] {
        assert!(plan.contains(from), "{from}");
        let error = Place::new(&plan.replacen(from, to, 1)).fails("check plan.toml");
        assert!(error.contains(says), "{says}\nis not in\n{error}");
    }
    // A plan may inherit the table from one that it extends.
    let without = plan.replace("printed = { petra = 1.5, reno = 1.1 }\n", "");
    Place::new(&without).ok("check plan.toml");
    let own = "extends = \"plan.toml\"\nprinted = { columns = [] }\n";
    let place = Place::new(&plan);
    place.add("own.toml", own);
    place.ok("check own.toml");
}

#[test]
fn check_tells_how_many_runs_there_are_and_how_many_are_the_same() {
    let place = Place::new(PLAN);
    let other = PLAN.replace("[\"petra\", \"reno\"]", "[\"reno\", \"cubic\"]");
    place.add("other.toml", &other);
    let said = place.ok("check plan.toml");
    assert_eq!(
        said,
        "plan.toml: 6 points x 2 seeds = 12 runs by sim\n12 runs\n"
    );
    let said = place.ok("check plan.toml other.toml --seeds 3");
    assert!(
        said.ends_with("27 runs; 9 more are the same as one of these\n"),
        "{said}"
    );
}

#[test]
fn the_plans_of_this_repository_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let files = |folder: PathBuf| {
        let entries = folder.read_dir().unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
    };
    let mut plans: Vec<PathBuf> = files(folder.join("suites")).collect();
    assert!(plans.len() >= 6);
    plans.extend(files(folder.join("hunts")));
    plans.extend(files(folder));
    plans.sort();
    let output = Command::new(PROGRAM)
        .arg("check")
        .args(&plans)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let said = String::from_utf8(output.stdout).unwrap();
    // 66 rows, 7 controllers, 2 readings, 10 seeds.
    let rows = |table: &str, rows: usize| {
        let line = said.lines().find(|line| line.contains(table)).expect(table);
        assert!(
            line.contains(&format!("= {} runs", rows * 7 * 2 * 10)),
            "{line}"
        );
    };
    rows("table-4.2", 12);
    rows("table-4.3", 13);
    rows("table-4.4", 12);
    rows("table-4.5", 14);
    rows("table-4.6", 15);
}

/// The short form of what `scripts/harden` runs.
#[test]
fn petra_gets_over_each_fault_of_the_path() {
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/plans");
    let place = Place::new(&format!(
        "extends = \"{plans}/suites/faults.toml\"\ntitle = \"Faults\"\nseeds = 1\n[sweep]\n\
         \"flow.cc\" = [\"petra\", \"bbr2\"]\n"
    ));
    let said = place.ok("run plan.toml -o results");
    assert!(
        said.contains("recovery_s of petra is at most 10: holds"),
        "{said}"
    );
    assert_eq!(place.lines("results/plan.csv"), 1 + 2 * 18);
}

#[test]
fn the_same_seeds_give_the_same_bytes_whoever_runs_them() {
    let place = Place::new(PLAN);
    place.ok("run plan.toml -o a --jobs 1");
    let said = place.ok("run plan.toml -o b --jobs 3");
    for kind in ["csv", "parquet", "json"] {
        let (a, b) = (format!("a/plan.{kind}"), format!("b/plan.{kind}"));
        assert!(place.read(&a) == place.read(&b), "{kind}");
    }
    // Cases are lines, controllers columns, and what was printed is beside.
    let table = said.lines().skip_while(|line| !line.contains("case"));
    let table: Vec<&str> = table.take(4).collect();
    for (line, words) in table.iter().zip([
        ["case", "petra", "reno", "printed.petra"],
        ["clean", "1.", "1.", "1."],
        ["lossy", "±", "1.5", "1.1"],
        ["fast", "3.", "3.", "3."],
    ]) {
        assert!(words.iter().all(|word| line.contains(word)), "{said}");
    }
    let set = ResultSet::read(&place.path("a")).unwrap();
    let results = &set.plans[0];
    assert_eq!(results.rows.len(), 12);
    let row = &results.rows[4 + 2];
    assert_eq!(row.case.as_deref(), Some("lossy"));
    assert_eq!((row.controller.as_str(), row.seed), ("reno", 1));
    assert_eq!(row.setting("link.loss"), Some("1%"));
    assert_eq!(row.setting("link.rate"), Some("2mbit"));
    assert_eq!(row.reference("printed.reno"), Some(1.1));
    let table = Table::new(results, "goodput_mbps");
    assert_eq!(table.lines.len(), 3);
    let goodput = table.lines[0].cells[0].unwrap();
    assert!(goodput.count == 2 && goodput.mean > 1.0, "{goodput:?}");
}

/// Starts a run of the plan and waits until its journal has `lines` lines.
fn start(place: &Place, lines: usize) -> Child {
    let mut command = place.command("run plan.toml -o out --jobs 1");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    while place.lines("out/journal.jsonl") < lines {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_signal_is_named_and_what_received_nothing_has_its_case() {
    let place = Place::new(&PLAN.replace("seeds = 2", "seeds = 40"));
    let child = start(&place, 2);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "SIGTERM: finishing the present runs; a second signal ends them at once";
    assert!(said.contains(expected), "{said}");

    let place = Place::new(&PLAN.replace("\"1%\"", "\"100%\""));
    let table = place.ok("run plan.toml -o out");
    assert!(
        table.contains("flows that received nothing: 4\n"),
        "{table}"
    );
    for dead in [
        "petra with seed 1, case lossy\n",
        "reno with seed 2, case lossy\n",
    ] {
        assert!(table.contains(dead), "{table}");
    }
}

#[test]
fn what_is_interrupted_goes_on_where_it_was() {
    // Enough seeds that it cannot be over before it is interrupted.
    let place = Place::new(&PLAN.replace("seeds = 2", "seeds = 40"));
    let mut child = start(&place, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let done = place.lines("out/journal.jsonl");
    assert!((2..240).contains(&done), "{done}");
    // As when it was killed in the middle of a line.
    let mut text = place.read("out/journal.jsonl");
    text.extend(b"{\"key\":\"12");
    fs::write(place.path("out/journal.jsonl"), text).unwrap();

    let child = start(&place, done + 1);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(&format!("{done} of 240 runs are there already")),
        "{said}"
    );
    assert!(
        said.contains("finishing the present runs; a second Ctrl-C ends them at once"),
        "{said}"
    );
    assert!(said.contains("interrupted with"), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert!(!place.path("out/plan.csv").exists());
    let more = place.lines("out/journal.jsonl");

    let output = place.output("run plan.toml -o out");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains(&format!("{more} of 240 runs are there already")),
        "{said}"
    );
    assert_eq!(place.lines("out/journal.jsonl"), 240);
    place.ok("run plan.toml -o whole");
    assert!(place.read("out/plan.csv") == place.read("whole/plan.csv"));
}

#[test]
fn a_finished_plan_has_its_results_while_others_run() {
    let place = Place::new(PLAN);
    let long = PLAN
        .replace("seeds = 2", "seeds = { from = 101, to = 140 }")
        .replace("Two controllers", "Forty seeds");
    place.add("long.toml", &long);
    // Runs both until the results of the first one are there.
    let run = || {
        let mut command = place.command("run plan.toml long.toml -o out");
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        while !place.path("out/plan.json").exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before");
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    };
    run();
    let done = place.lines("out/journal.jsonl");
    assert!((12..252).contains(&done), "{done}");
    assert!(!place.path("out/long.json").exists());
    place.ok("report out");
    let page = String::from_utf8(place.read("out/report.html")).unwrap();
    assert!(page.contains("Two controllers on three links") && !page.contains("Forty seeds"));
    let set = ResultSet::read(&place.path("out")).unwrap();
    assert_eq!(set.plans[0].rows.len(), 12);

    // The journal has its runs: the results are there before the others go on.
    fs::remove_file(place.path("out/plan.json")).unwrap();
    run();
    assert!(place.lines("out/journal.jsonl") < 252);
    assert!(!place.path("out/long.json").exists());
}

#[test]
fn plans_share_the_runs_that_they_have_in_common() {
    let place = Place::new(PLAN);
    // Another title, other names and another order, and one more controller.
    let other = PLAN
        .replace("Two", "Three")
        .replace("[\"petra\", \"reno\"]", "[\"cubic\", \"r\", \"petra\"]")
        .replace("[sweep]", "[controllers]\nr = \"reno\"\n\n[sweep]");
    place.add("other.toml", &other);
    place.ok("run plan.toml other.toml -o out");
    assert_eq!(place.lines("out/journal.jsonl"), 18);
    let output = place.output("run other.toml -o out");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("18 of 18 runs are there already"), "{said}");
    let set = ResultSet::read(&place.path("out")).unwrap();
    let keys: Vec<BTreeSet<&str>> = set
        .plans
        .iter()
        .map(|results| results.rows.iter().map(|row| row.key.as_str()).collect())
        .collect();
    // By name: `other` before `plan`.
    assert_eq!((keys[0].len(), keys[1].len()), (18, 12));
    assert!(keys[1].is_subset(&keys[0]));
    assert_eq!(set.plans[0].manifest.controllers, ["cubic", "r", "petra"]);
}

#[test]
fn a_part_of_a_plan_is_run_and_later_the_rest() {
    let place = Place::new(PLAN);
    place.ok("run plan.toml -o results --only flow.cc=petra --only case=fast");
    assert_eq!(place.lines("results/plan.csv"), 1 + 2);
    assert_eq!(place.lines("results/journal.jsonl"), 2);
    let part = &ResultSet::read(&place.path("results")).unwrap().plans[0].manifest;
    assert_eq!(
        part.command,
        "petra-lab run plan.toml --only flow.cc=petra --only case=fast"
    );
    let part = place.read("results/plan.csv");
    let said = place.ok("check plan.toml --only flow.cc=petra");
    assert!(said.contains("3 points x 2 seeds = 6 runs"), "{said}");

    place.ok("run plan.toml -o results");
    assert_eq!(place.lines("results/journal.jsonl"), 12);
    // The keys of the part are among those of the whole.
    let key = |line: &str| line.split(',').nth(2).unwrap().to_owned();
    let keys = |csv: &[u8]| -> BTreeSet<String> {
        let text = String::from_utf8_lossy(csv).into_owned();
        text.lines().skip(1).map(key).collect()
    };
    let whole = keys(&place.read("results/plan.csv"));
    assert!(keys(&part).is_subset(&whole) && whole.len() == 12);

    let error = place.fails("run plan.toml -o results --only flow.cc=cubic");
    assert!(error.contains("expected petra, reno"), "{error}");
    let error = place.fails("run plan.toml -o results --only petra");
    assert!(error.contains("expected NAME=VALUE"), "{error}");
}

#[test]
fn results_have_the_plan_that_makes_them_again() {
    let place = Place::new(PLAN);
    place.add("own.toml", "extends = \"plan.toml\"\nseeds = 1\n");
    place.ok("run own.toml -o out");
    let set = ResultSet::read(&place.path("out")).unwrap();
    let files = &set.plans[0].manifest.files;
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["own.toml", "plan.toml"]);
    let elsewhere = Place::new("");
    for file in files {
        elsewhere.add(&file.name, &file.text);
    }
    elsewhere.ok("run own.toml -o out");
    assert_eq!(elsewhere.read("out/own.csv"), place.read("out/own.csv"));
}

/// The shell line of the documentation, for three shards.
const PARALLEL: &str =
    "parallel --will-cite petra-lab run plan.toml -o out --jobs 1 --shard {}/3 ::: 1 2 3";

#[test]
fn shards_run_by_gnu_parallel_and_merged_are_the_whole() {
    let place = Place::new(PLAN);
    let folder = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", PARALLEL])
        .current_dir(place.folder.path())
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "GNU parallel, which scripts/setup sees to: {errors}"
    );
    let sizes = [1, 2, 3].map(|index| place.lines(&format!("out/shard-{index}-of-3.jsonl")));
    assert_eq!(sizes, [4, 4, 4]);
    place.ok("merge plan.toml -o out");
    place.ok("run plan.toml -o whole");
    for kind in ["csv", "parquet", "json"] {
        let (merged, whole) = (format!("out/plan.{kind}"), format!("whole/plan.{kind}"));
        assert!(place.read(&merged) == place.read(&whole), "{kind}");
    }

    // A shard again is a shard that is there.
    let output = place.output("run plan.toml -o out --shard 2/3");
    assert!(String::from_utf8_lossy(&output.stderr).contains("4 of 4 runs are there"));
    assert!(output.status.success());

    let error = place.fails("merge plan.toml -o out --seeds 3");
    assert!(
        error.contains("no shard has the run") && error.contains("6 of 18"),
        "{error}"
    );
    let error = place.fails("merge plan.toml -o out --seeds 1");
    assert!(error.contains("which is not of these plans"), "{error}");

    let second = place.read("out/shard-2-of-3.jsonl");
    let third = place.read("out/shard-3-of-3.jsonl");
    fs::write(
        place.path("out/shard-3-of-3.jsonl"),
        [&third[..], &second[..]].concat(),
    )
    .unwrap();
    let error = place.fails("merge plan.toml -o out");
    let says = [
        "shard-3-of-3",
        "shard-2-of-3",
        "expected each run in one shard",
    ];
    assert!(says.iter().all(|it| error.contains(it)), "{error}");
    fs::write(place.path("out/shard-3-of-3.jsonl"), third).unwrap();

    fs::remove_file(place.path("out/shard-2-of-3.jsonl")).unwrap();
    let error = place.fails("merge plan.toml -o out");
    assert!(error.contains("shard 2 of 3 is missing"), "{error}");
    fs::write(place.path("out/shard-2-of-4.jsonl"), second).unwrap();
    let error = place.fails("merge plan.toml -o out");
    assert!(error.contains("the same set of shards"), "{error}");
}

/// A download that does not come to its end in some run has no time, and is not
/// the faster for it.
#[test]
fn what_not_every_run_has_measured_does_not_hold() {
    let place = Place::new(
        &PLAN
            .replacen("cc = \"petra\"", "cc = \"petra\"\nsize = \"300kB\"", 1)
            .replacen(
                "[[case]]",
                "[[expect]]\nmetric = \"completion_s\"\nat_most = 9\n[[case]]",
                1,
            ),
    );
    let output = place.output("run plan.toml -o out");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("completion_s of every controller is at most 9: DOES NOT HOLD"),
        "{said}"
    );
    assert!(
        said.contains("petra, clean: not measured in every run against 9.000"),
        "{said}"
    );
}

/// The runs of one plan are those of another that wants more of them: they are
/// made again, and the folder stays what it is.
#[test]
fn a_plan_that_wants_series_of_runs_that_are_there_gets_them() {
    let place = Place::new(PLAN);
    place.add("series.toml", "extends = \"plan.toml\"\nseries = true\n");
    place.ok("run plan.toml -o out");
    let lines = place.lines("out/journal.jsonl");
    place.ok("run series.toml -o out");
    assert!(place.path("out/series").read_dir().unwrap().count() >= lines);
    place.ok("run plan.toml -o out");
    assert_eq!(place.lines("out/journal.jsonl"), lines);
}

#[test]
fn tables_have_the_flow_under_test_alone() {
    let place = Place::new(
        r#"
seeds = 2
duration = "1s"
subject = 0
metrics = ["share_of_flows", "queue_max_ms"]
[link]
rate = "2mbit"
delay = "10ms"
[[flow]]
cc = "petra"
[[flow]]
cc = "reno"
[sweep]
"flow.1.cc" = ["reno", "bbr2"]
"flow.0.cc" = ["petra", "reno"]
[[expect]]
metric = "share_of_flows"
of = { controller = "reno", "flow.1.cc" = "reno" }
about = 0.5
tolerance = 0.3
"#,
    );
    let said = place.ok("run plan.toml -o out");
    assert!(said.contains(": holds"), "{said}");
    // No seed makes a difference that the figures show.
    assert!(!said.contains("± 0.000"), "{said}");
    let results = ResultSet::read(&place.path("out")).unwrap();
    let [results] = &results.plans[..] else {
        panic!("one plan was run")
    };
    assert_eq!(results.rows.len(), 4 * 2 * 2);
    let table = Table::new(results, "share_of_flows");
    assert_eq!(table.controllers, ["petra", "reno"]);
    assert_eq!(table.lines.len(), 2);
    for line in &table.lines {
        assert_eq!(line.labels.len(), 1);
        for (column, cell) in line.cells.iter().enumerate() {
            let own = results.rows.iter().filter(|row| {
                row.flow == 0
                    && row.controller == table.controllers[column]
                    && row.setting("flow.1.cc") == Some(&line.labels[0].1)
            });
            let shares: Vec<f64> = own.filter_map(|row| row.metric("share_of_flows")).collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert_eq!(shares.len(), 2);
            assert!((cell.unwrap().mean - mean).abs() < 1e-12);
        }
    }
}

#[test]
fn an_expectation_that_does_not_hold_is_told_when_the_results_are_there() {
    let expect = |at_least: &str| {
        format!("{PLAN}\n[[expect]]\nmetric = \"goodput_mbps\"\nof = {{ controller = \"petra\" }}\nat_least = {at_least}\n")
    };
    // More than the payload that 2 Mbit/s carry.
    let place = Place::new(&expect("1.9"));
    place.add("other.toml", &expect("0.1"));
    let output = place.output("run plan.toml -o out");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("DOES NOT HOLD") && said.contains("clean"),
        "{said}"
    );
    assert!(place.path("out/plan.csv").exists());
    let set = ResultSet::read(&place.path("out/plan.json")).unwrap();
    let verdict = &set.plans[0].manifest.verdicts[0];
    assert!(
        !verdict.holds && verdict.comparisons.len() == 3,
        "{verdict:?}"
    );
    // The runs are the same: nothing is run again.
    assert!(place.ok("run other.toml -o out").contains("holds"));
    assert_eq!(place.lines("out/journal.jsonl"), 12);

    // What is known not to hold is told, and is no failure.
    let deviation = |cases: &str| {
        format!("\n[[known_deviation]]\nof = {{ case = {cases} }}\nbecause = \"It is slow.\"\n")
    };
    let known = expect("1.9") + &deviation("[\"clean\", \"lossy\"]");
    place.add("known.toml", &known);
    let said = place.ok("run known.toml -o out");
    assert!(
        said.contains("holds, but for known deviations") && said.contains("It is slow."),
        "{said}"
    );
    place.add("half.toml", &(expect("1.9") + &deviation("\"clean\"")));
    let output = place.output("run half.toml -o out");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1 expectation does not hold"), "{said}");
}

#[test]
fn flows_over_time_are_kept_where_the_plan_wants_them() {
    let place = Place::new(&PLAN.replace("seeds = 2", "seeds = 1\nseries = true"));
    place.ok("run plan.toml -o out");
    let set = ResultSet::read(&place.path("out")).unwrap();
    for row in &set.plans[0].rows {
        let series = place.read(&format!("out/series/{}.csv", row.key));
        let text = String::from_utf8(series).unwrap();
        assert!(
            text.starts_with("flow,cc,seconds,cwnd_bytes,ssthresh_bytes,in_flight_bytes"),
            "{text}"
        );
        assert!(text.lines().count() > 40, "{text}");
    }
}

#[test]
fn qlogs_are_kept_where_the_plan_wants_them() {
    let place = Place::new(&PLAN.replace("seeds = 2", "seeds = 1"));
    place.ok("run plan.toml -o out");
    assert!(!place.path("out/qlog").exists());
    // They are made of runs that are finished, too.
    place.add(
        "logged.toml",
        &PLAN.replace("seeds = 2", "seeds = 1\nqlog = true"),
    );
    place.ok("run logged.toml -o out");
    let set = ResultSet::read(&place.path("out/logged.json")).unwrap();
    assert_eq!(set.plans[0].rows.len(), 6);
    for row in &set.plans[0].rows {
        for end in ["client", "server"] {
            let name = format!("out/qlog/{}/{end}-0-{}-seed1", row.key, row.cc);
            assert!(
                place.read(&format!("{name}.sqlog")).len() > 10_000,
                "{name}"
            );
            assert!(place.path(&format!("{name}.qvis.sqlog")).exists(), "{name}");
        }
    }
    place.ok("report out");
    let page = String::from_utf8(place.read("out/report.html")).unwrap();
    let key = &set.plans[0].rows[0].key;
    assert!(page.contains(&format!("href=\"qlog/{key}/\"")));
}

/// Of runs that are finished, too: they give the same figures again.
#[test]
fn qlogs_of_one_run_are_kept_on_request() {
    let place = Place::new(PLAN);
    place.ok("run plan.toml -o out");
    let results = place.read("out/plan.csv");
    let set = ResultSet::read(&place.path("out/plan.json")).unwrap();
    let keys: Vec<&str> = set.plans[0].rows.iter().map(|row| &row.key[..]).collect();
    let begin_so = |start: &str| keys.iter().filter(|key| key.starts_with(start)).count();
    let mut starts = (1..).map(|end| &keys[0][..end]);
    let enough = starts.find(|start| begin_so(start) == 1).unwrap();
    place.ok(&format!(
        "run plan.toml -o out --qlog {enough} --qlog {}",
        keys[1]
    ));
    let kept: BTreeSet<String> = fs::read_dir(place.path("out/qlog"))
        .unwrap()
        .map(|run| run.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(kept, [keys[0], keys[1]].map(String::from).into());
    assert_eq!(place.read("out/plan.csv"), results);
    assert_eq!(place.lines("out/journal.jsonl"), keys.len());

    place.ok("report out");
    let page = String::from_utf8(place.read("out/report.html")).unwrap();
    let linked = |key: &&&str| page.contains(&format!("href=\"qlog/{key}/\""));
    assert_eq!(
        keys.iter().filter(linked).collect::<Vec<_>>(),
        [&keys[0], &keys[1]]
    );

    let mut starts = keys.iter().map(|key| &key[..1]);
    let shared = starts.find(|start| begin_so(start) > 1);
    for start in ["z"].into_iter().chain(shared) {
        let count = begin_so(start);
        let error = format!("--qlog: {count} runs have such a key (got {start:?}); expected one");
        let told = place.fails(&format!("run plan.toml --qlog {start}"));
        assert!(told.contains(&error), "{told}");
    }
    assert!(place
        .fails("run plan.toml --qlog=")
        .contains("--qlog <KEY>"));
}

#[test]
fn netem_says_what_it_cannot_do() {
    let place = Place::new(&PLAN.replace("cc = \"petra\"", "cc = \"petra\"\ncount = 2"));
    assert!(place.ok("check plan.toml").contains("12 runs"));
    let error = place.fails("check plan.toml --backend netem");
    assert!(
        error.contains("flows: too many (got 2 flows); expected one") && error.contains("sim can"),
        "{error}"
    );
}
