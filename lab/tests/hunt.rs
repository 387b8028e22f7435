//! `petra-lab hunt` and `tune` from end to end, in virtual time.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Reno needs a path that loses little: of all that may happen here, that alone is a
/// fault.
const PLAN: &str = r#"
title = "A planted fault"
seeds = 3
duration = "4s"
metrics = ["share_of_limit"]

[link]
rate = "2mbit"
delay = "10ms"

[[flow]]
cc = "reno"

[space]
"link.rate" = { from = "1mbit", to = "4mbit", spacing = "log" }
"link.queue" = ["1bdp", "2bdp", "4bdp"]

[space.jitter]
"link.jitter" = { from = "0.1ms", to = "1ms" }

[space.loss]
"link.loss" = { from = "0.1%", to = "20%", spacing = "log" }

[space.outage]
"link.outages.0.at" = { from = "1s", to = "3s" }
"link.outages.0.lasts" = { from = "1ms", to = "20ms" }

[[expect]]
metric = "share_of_limit"
of = { controller = "reno" }
at_least = 0.5
"#;

fn petra_lab(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_petra-lab");
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Hunts for `plan` into `out` and returns the plan that was found.
fn hunt(folder: &Path, out: &str, tries: &str, more: &[&str]) -> String {
    let arguments = ["hunt", "plan.toml", "--tries", tries, "-o", out];
    let output = petra_lab(folder, &[&arguments, more].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    fs::read_to_string(folder.join(out).join("plan-found.toml")).unwrap()
}

#[test]
fn a_planted_fault_is_found_and_nothing_else_is_left_of_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    let found = hunt(folder.path(), "one", "40", &["--jobs", "1"]);
    let table: toml::Table = found.parse().unwrap();
    let link = table["link"].as_table().unwrap();
    assert!(link.contains_key("loss"), "{found}");
    assert!(!link.contains_key("jitter"), "{found}");
    assert!(!link.contains_key("outages"), "{found}");
    assert_eq!(link["queue"].as_str(), Some("1bdp"), "{found}");

    // All that was tried, the worst first.
    let tried = fs::read_to_string(folder.path().join("one/plan-tried.csv")).unwrap();
    let rows: Vec<Vec<&str>> = tried.lines().map(|row| row.split(',').collect()).collect();
    let heads = "score,fails,expectation,link.rate,link.queue,link.jitter,link.loss";
    assert!(tried.starts_with(heads), "{tried}");
    assert_eq!(rows.len(), 1 + 40);
    let score = |row: &Vec<&str>| row[0].parse::<f64>().unwrap();
    assert!(rows[1..].is_sorted_by(|a, b| score(a) >= score(b)));
    assert!(rows[1][1] == "true" && rows[40][1] == "false", "{tried}");
    assert!(rows[1][6].ends_with('%'), "the worst has losses: {tried}");
    assert!(rows[1..].iter().any(|row| row[6].is_empty()), "{tried}");

    // It is an ordinary plan, whose expectation fails with seeds of its own.
    assert!(!table.contains_key("space"));
    assert_eq!(table["seeds"].as_array().unwrap()[0].as_integer(), Some(4));
    let run = petra_lab(folder.path(), &["run", "one/plan-found.toml", "-o", "runs"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("DOES NOT HOLD"));

    // A crash in the middle, and other threads: the same in the end.
    let journal = folder.path().join("one/journal.jsonl");
    let lines = fs::read_to_string(&journal).unwrap();
    let half: String = lines
        .lines()
        .take(60)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::create_dir(folder.path().join("two")).unwrap();
    fs::write(
        folder.path().join("two/journal.jsonl"),
        half + "{\"key\":\"cut",
    )
    .unwrap();
    assert_eq!(hunt(folder.path(), "two", "40", &["--jobs", "4"]), found);
    // Every run is there once.
    let again = fs::read_to_string(folder.path().join("two/journal.jsonl")).unwrap();
    assert_eq!(again.lines().count(), lines.lines().count());
}

/// The runs of a journal, by their keys.
fn keys(folder: &Path, journal: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join(journal)).unwrap();
    let key = |line: &str| line.split('"').nth(3).unwrap().to_owned();
    text.lines().map(key).collect()
}

#[test]
fn islands_on_machines_of_their_own_find_what_one_machine_finds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    let found = hunt(folder, "whole", "30", &["--islands", "2"]);
    assert!(found.contains("--islands 2"), "{found}");
    let whole = keys(folder, "whole/journal.jsonl");

    let shard = |shard: &str| {
        let arguments = "hunt plan.toml --tries 30 -o parts --shard";
        let arguments: Vec<&str> = arguments.split(' ').chain([shard]).collect();
        let output = petra_lab(folder, &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let says = shard("1/2");
    assert!(says.contains("--islands 2"), "{says}");
    shard("2/2");
    // A machine that was lost in the middle goes on where it was.
    let second = fs::read_to_string(folder.join("parts/island-2.jsonl")).unwrap();
    let half = second.lines().count() / 2;
    let lines = second.lines().take(half).map(|line| format!("{line}\n"));
    let cut = lines.collect::<String>() + "{\"key\":\"cut";
    fs::write(folder.join("parts/island-2.jsonl"), cut).unwrap();
    shard("2/2");
    let again = fs::read_to_string(folder.join("parts/island-2.jsonl")).unwrap();
    assert_eq!(again.lines().count(), second.lines().count());

    assert_eq!(hunt(folder, "parts", "30", &["--islands", "2"]), found);
    // What was made on the islands was not made again.
    let rest = keys(folder, "parts/journal.jsonl");
    let islands = ["parts/island-1.jsonl", "parts/island-2.jsonl"];
    let [first, second] = islands.map(|it| keys(folder, it));
    assert!(!second.is_subset(&first), "an island has runs of its own");
    let islands = &first | &second;
    assert!(rest.is_disjoint(&islands));
    assert_eq!(&rest | &islands, whole);
}

#[test]
fn a_space_is_for_hunts_and_its_faults_are_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |command: &str, plan: &str| {
        fs::write(folder.path().join("plan.toml"), plan).unwrap();
        let output = petra_lab(folder.path(), &[command, "plan.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let (fixed, _) = PLAN.split_once("[space]").unwrap();
    let error = refused("hunt", fixed);
    assert!(error.contains("without a space"), "{error}");
    let error = refused("run", PLAN);
    assert!(
        error.contains("plan.toml:14:2") && error.contains("hunt"),
        "{error}"
    );
    assert!(!folder.path().join("results").exists());
    for (from, to, says) in [
        ("from = \"1mbit\"", "from = \"1ms\"", "the same unit twice"),
        (
            "[\"1bdp\", \"2bdp\", \"4bdp\"]",
            "[]",
            "expected a list of values, or a range",
        ),
        (
            "\"link.rate\" = {",
            "\"link.speed\" = {",
            "unknown field `speed`",
        ),
        (
            "\"link.outages.0.lasts\"",
            "\"link.outages.0.last\"",
            "unknown field `last`",
        ),
        ("\"2bdp\"", "\"2bpd\"", "plan.toml:16:25: link.0.queue"),
        ("to = \"20%\"", "to = \"20%%\"", "the same unit twice"),
        ("to = \"20%\"", "to = \"200%\"", "loss"),
        (
            "metric = \"share_of_limit\"",
            "metric = \"share\"",
            "expect.0.metric",
        ),
        ("controller = \"reno\"", "controller = \"rena\"", "rena"),
        ("[[expect]]", "[frames]", "frames"),
        ("[space]", "[space]\nfeatures = 0", "a whole number from 1"),
        ("[space]", "[space]\nfeatures = \"two\"", "a whole number from 1"),
        (
            "\"link.outages.0.at\"",
            "\"link.outages.1.at\"",
            "outages: no list yet (got item 1); expected item 0 before it",
        ),
        ("seeds = 3", "seeds = 0", "seeds"),
        (
            "seeds = 3",
            "seeds = 3\nbackend = \"netem\"",
            "plan.toml: backend: a search takes thousands of runs",
        ),
        (
            "[space.loss]",
            "[space.trace]\n\"link.rate\" = [\"none\"]\n\"link.trace\" = [\"none.down\"]\n[space.loss]",
            "trace: cannot read it",
        ),
    ] {
        let plan = PLAN.replace(from, to);
        assert_ne!(plan, PLAN);
        let error = refused("check", &plan);
        assert!(error.contains(says), "{error}");
        // The same before the first try.
        assert_eq!(refused("hunt", &plan), error);
    }
    let (aimless, _) = PLAN.split_once("[[expect]]").unwrap();
    assert!(refused("check", aimless).contains("without an objective"));
    assert!(refused("hunt", aimless).contains("without an objective"));
    assert!(!folder.path().join("results").exists());
}

#[test]
fn check_has_plans_with_a_space_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let check = |plan: &str, more: &[&str]| {
        fs::write(folder.path().join("plan.toml"), plan).unwrap();
        let output = petra_lab(folder.path(), &[&["check", "plan.toml"], more].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    };
    let line = "plan.toml: a space of 6 fields for `petra-lab hunt`; each scenario 1 points x 3 \
                seeds = 3 runs by sim\n";
    assert_eq!(check(PLAN, &[]), (Some(0), line.to_owned()));
    let (fixed, _) = PLAN.split_once("[space]").unwrap();
    fs::write(folder.path().join("fixed.toml"), fixed).unwrap();
    let (code, said) = check(PLAN, &["fixed.toml"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.starts_with(line) && said.ends_with("\n3 runs\n"),
        "{said}"
    );
    let (code, said) = check(PLAN, &["--backend", "netem"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("expected sim"), "{said}");

    // Values that do not fit each other are no fault, as long as others do.
    fs::write(folder.path().join("cell.down"), "1\n2\n").unwrap();
    let trace = "[space.trace]\n\"link.trace\" = [\"cell.down\"]\n[space.loss]";
    let (code, said) = check(&PLAN.replace("[space.loss]", trace), &[]);
    assert_eq!(code, Some(0), "{said}");
    // A table that another feature begins.
    let outage = "\"link.outages.0.lasts\"";
    let lasts = format!("[space.lasts]\n{outage}");
    let (code, said) = check(&PLAN.replace(outage, &lasts), &[]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn scenarios_that_are_drawn_are_the_cases_of_an_ordinary_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let draw = |plan: &str, more: &[&str]| {
        fs::write(folder.join("plan.toml"), plan).unwrap();
        let output = petra_lab(folder, &[&["draw", "plan.toml"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        fs::read_to_string(folder.join("plan-drawn.toml")).unwrap()
    };
    let count = ["--cases", "30"];
    let drawn = draw(PLAN, &count);
    assert_eq!(draw(PLAN, &count), drawn);
    assert_ne!(draw(PLAN, &["--cases", "30", "--seed", "2"]), drawn);

    let most = |plan: &str| {
        let table: toml::Table = plan.parse().unwrap();
        assert!(!table.contains_key("space"));
        let cases = table["case"].as_array().unwrap();
        let sets: BTreeSet<String> = cases.iter().map(|it| it["set"].to_string()).collect();
        assert_eq!((cases.len(), sets.len()), (30, 30), "all different");
        let features = |case: &toml::Value| match case["name"].as_str().unwrap().split_once(": ") {
            Some((_, features)) => features.split(", ").count(),
            None => 0,
        };
        let counts = cases.iter().map(features);
        assert!(counts.clone().any(|count| count == 0));
        counts.max().unwrap()
    };
    assert_eq!(most(&drawn), 3);
    for limit in [1, 2] {
        let limited = PLAN.replace("[space]", &format!("[space]\nfeatures = {limit}"));
        assert_eq!(most(&draw(&limited, &count)), limit);
    }

    // A trace stays where it is.
    fs::write(folder.join("cell.down"), "1\n2\n").unwrap();
    let trace = "[space.trace]\n\"link.rate\" = [\"none\"]\n\"link.trace\" = [\"cell.down\"]\n\
                 [space.loss]";
    let traced = draw(&PLAN.replace("[space.loss]", trace), &count);
    fs::create_dir(folder.join("other")).unwrap();
    fs::write(folder.join("other/moved.toml"), traced).unwrap();
    let check = petra_lab(folder, &["check", "other/moved.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    assert!(text(&check.stdout).ends_with("90 runs\n"));

    let run = petra_lab(
        folder,
        &["run", "other/moved.toml", "--seeds", "1", "-o", "runs"],
    );
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("DOES NOT HOLD in "));
}

#[test]
fn what_cannot_be_drawn_is_told_and_leaves_no_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let few = "[space]\n\"link.queue\" = [\"1bdp\", \"2bdp\"]\n[[expect]]";
    let (fixed, rest) = PLAN.split_once("[space]").unwrap();
    let (_, expect) = rest.split_once("[[expect]]").unwrap();
    let few = format!("{fixed}{few}{expect}");
    let case = "[[case]]\nname = \"one\"\nset = { \"link.rate\" = \"3mbit\" }\n[space]";
    for (plan, says) in [
        (
            few.as_str(),
            "too few different scenarios (got 2); expected 3",
        ),
        (&PLAN.replace("[space]", case), "a space with cases"),
        (fixed, "without a space"),
    ] {
        fs::write(folder.join("plan.toml"), plan).unwrap();
        let output = petra_lab(folder, &["draw", "plan.toml", "--cases", "3"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        let error = text(&output.stderr);
        assert!(error.contains(says), "{error}");
        assert!(!folder.join("plan-drawn.toml").exists());
    }
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    let output = petra_lab(folder, &["draw", "plan.toml", "-o", "./plan.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--out: the plan itself"));
    assert_eq!(fs::read_to_string(folder.join("plan.toml")).unwrap(), PLAN);
}

#[test]
fn where_nothing_fails_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let plan = PLAN.replace("at_least = 0.5", "at_least = 0.0");
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let output = petra_lab(
        folder.path(),
        &["hunt", "plan.toml", "--tries", "10", "-o", "out"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let says = text(&output.stdout);
    assert!(says.starts_with("10 scenarios tried"), "{says}");
    assert!(says.contains("the expectations hold"), "{says}");
    assert!(!folder.path().join("out/plan-found.toml").exists());
}

#[test]
fn options_are_tuned_the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (fixed, _) = PLAN.split_once("[space]").unwrap();
    let plan = fixed
        .replace("reno", "petra")
        .replace("delay = \"10ms\"", "delay = \"50ms\"");
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let tune = |jobs: &str, vary: &str| {
        let metrics = ["--metric", "goodput_mbps", "--metric", "queue_p95_ms"];
        let rest = [
            "tune",
            "plan.toml",
            "--vary",
            vary,
            "--tries",
            "15",
            "--jobs",
            jobs,
            "-o",
            jobs,
        ];
        petra_lab(folder.path(), &[&rest[..], &metrics].concat())
    };
    let vary = "petra:alpha=0.5..0.99,faster_start=on|off";
    let one = tune("1", vary);
    assert_eq!(one.status.code(), Some(0), "{}", text(&one.stderr));
    assert!(
        text(&one.stdout).contains("petra:alpha=0."),
        "{}",
        text(&one.stdout)
    );
    assert!(text(&one.stdout).starts_with("15 sets of options"));
    assert_eq!(text(&one.stdout), text(&tune("3", vary).stdout));

    // Islands, each on a machine of its own, and all on one.
    let islands = |out: &str, option: &str, value: &str| {
        let arguments = "tune plan.toml --tries 10 --vary";
        let arguments = arguments.split(' ').chain([vary, "-o", out, option, value]);
        let output = petra_lab(folder.path(), &arguments.collect::<Vec<&str>>());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let whole = islands("whole", "--islands", "2");
    assert_ne!(whole, islands("parts", "--shard", "1/2"));
    islands("parts", "--shard", "2/2");
    assert_eq!(whole, islands("parts", "--islands", "2"));
    assert!(keys(folder.path(), "parts/journal.jsonl").is_empty());

    for (vary, says) in [
        ("petra:beta=0.1..0.2", "beta"),
        ("reno:x=1..2", "none of `reno`"),
    ] {
        let error = tune("2", vary);
        assert_eq!(error.status.code(), Some(2));
        assert!(
            text(&error.stderr).contains(says),
            "{}",
            text(&error.stderr)
        );
    }
}
