//! Plans as a whole, from their text to their runs.

use std::fs;
use std::time::Duration;

use super::{Only, Plan, Point};
use crate::link::Queue;
use crate::results::Versions;

const BASE: &str = r#"
title = "base"
description = "Of the base."
seeds = [7, 9]
duration = "5s"

[[link]]
rate = "10mbit"
delay = "45ms"

[[link]]
rate = "2mbit"
delay = "1ms"
up = { slot = "20ms" }

[[flow]]
cc = "petra"
"#;

/// The plan of this text, which may extend `base.toml`.
fn plan(text: &str) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("base.toml"), BASE).unwrap();
    fs::write(folder.path().join("trace"), "1\n").unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, text).unwrap();
    Plan::read(&path).map_err(|error| format!("{error:#}"))
}

fn extended(text: &str) -> Plan {
    plan(&format!("extends = \"base.toml\"\n{text}")).unwrap()
}

/// A setting of each point.
fn settings<'a>(plan: &'a Plan, name: &str) -> Vec<&'a str> {
    let setting = |point: &'a Point| {
        let found = point.settings.iter().find(|(other, _)| other == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    plan.points.iter().map(setting).collect()
}

#[test]
fn a_plan_says_over_its_base_what_it_says() {
    let plan = extended("title = \"own\"\ndescription = \"Of the plan.\"\nduration = \"9s\"");
    assert_eq!(plan.name, "plan");
    assert_eq!(plan.title, "own");
    assert_eq!(plan.description, "Of the plan.\n\nOf the base.");
    assert_eq!(plan.seeds, [7, 9]);
    let scenario = &plan.points[0].scenario;
    assert_eq!(scenario.duration, Duration::from_secs(9));
    assert_eq!(scenario.path[1].up.slot, Duration::from_millis(20));
    assert_eq!(scenario.path[1].up.rate, Some(2_000_000));
}

#[test]
fn former_keys_of_a_link_are_its_present_ones() {
    let plan = extended(
        "[[case]]\nname = \"it\"\nset = { \"link.up.grid\" = \"5ms\", \"link.0.decimate\" = 3 }",
    );
    let path = &plan.points[0].scenario.path;
    assert_eq!(path[1].up.slot, Duration::from_millis(5));
    assert_eq!((path[0].down.ack_filter, path[1].down.ack_filter), (3, 1));
    let base = BASE.replace("slot", "grid");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("former.toml");
    fs::write(&file, &base).unwrap();
    let former = Plan::read(&file).unwrap();
    assert_eq!(former.points[0].scenario, extended("").points[0].scenario);
}

#[test]
fn an_unknown_key_of_a_link_is_answered_with_present_keys() {
    for text in [
        "link = { speed = \"1mbit\" }",
        "link = { up = { speed = \"1mbit\" } }",
        "[sweep]\n\"link.speed\" = [\"1mbit\"]",
    ] {
        let error = plan(&format!("extends = \"base.toml\"\n{text}")).unwrap_err();
        let (_, keys) = error.split_once("unknown field `speed`").expect(&error);
        for key in ["slot", "ack_filter", "mean_burst_length"] {
            assert!(keys.contains(&format!("`{key}`")), "{error}");
        }
        for former in ["grid", "decimate", "loss_run"] {
            assert!(!keys.contains(former), "{error}");
        }
    }
}

#[test]
fn a_fault_in_the_base_is_told_with_the_base() {
    let error = plan("extends = \"base.toml\"\n[controllers]\nx = \"y\"").unwrap_err();
    assert!(error.contains("plan.toml:3:5: controllers.x"), "{error}");
    let error = plan("extends = \"base.toml\"\n[sweep]\n\"link.rate\" = [{ times = \"a\" }]");
    assert!(error.unwrap_err().contains("plan.toml:3:26"));
    let error = plan("extends = \"none.toml\"").unwrap_err();
    assert!(error.contains("no such plan"), "{error}");
    let error = plan("extends = \"plan.toml\"").unwrap_err();
    assert!(error.contains("without a cycle"), "{error}");
}

#[test]
fn cases_come_first_and_the_last_axis_moves_first() {
    let plan = extended(
        r#"
        [sweep]
        "flow.cc" = ["petra", "reno"]
        [sweep.reading]
        name = ["printed", "scaled"]
        "link.rate" = [{ times = 1 }, { times = 3.375 }]
        "link.0.queue" = ["10kB", "20kB"]
        [[case]]
        name = "slow"
        set = { "link.1.rate" = "1mbit" }
        ours = 5
        [[case]]
        name = "lossy"
        set = { "link.1.loss" = "1%" }
        theirs = { petra = 1.5 }
        "#,
    );
    assert_eq!(plan.points.len(), 8);
    let readings = settings(&plan, "reading");
    assert_eq!(readings[..4], ["printed", "scaled", "printed", "scaled"]);
    let controllers = settings(&plan, "flow.cc");
    assert_eq!(controllers[..4], ["petra", "petra", "reno", "reno"]);
    let rates = settings(&plan, "link.1.rate");
    assert_eq!(rates[..2], ["1mbit", "3.375mbit"]);
    assert_eq!(rates[4..6], ["2mbit", "6.75mbit"]);
    assert_eq!(settings(&plan, "link.rate")[1], "33.75mbit and 3.375mbit");
    assert_eq!(settings(&plan, "link.1.loss")[3..5], ["", "1%"]);

    let scaled = &plan.points[1].scenario;
    assert_eq!(scaled.path[0].down.rate, Some(33_750_000));
    assert_eq!(scaled.path[1].up.rate, Some(3_375_000));
    assert_eq!(scaled.path[0].down.queue, Queue::Bytes(20_000));
    assert_eq!(scaled.path[1].down.queue, Queue::Bdp(1.0));

    let references = &plan.points[4].references;
    let expected = [("ours".into(), None), ("theirs.petra".into(), Some(1.5))];
    assert_eq!(references[..], expected);
    let axes: Vec<bool> = plan.axes.iter().map(|axis| axis.controllers).collect();
    assert_eq!(axes, [true, false]);
}

#[test]
fn reference_columns_grow_with_the_reading() {
    let plan = extended(
        r#"
        [sweep.reading]
        name = ["printed", "scaled"]
        "link.rate" = [{ times = 1 }, { times = 3.375 }]
        references = [1, 3.375]
        [[case]]
        name = "row 1"
        printed = { petra = 17.1 }
        "#,
    );
    let printed = |point: &Point| point.references[0].1;
    assert_eq!(printed(&plan.points[0]), Some(17.1));
    assert_eq!(printed(&plan.points[1]), Some(57.7125));
}

#[test]
fn known_deviations_name_what_the_plan_has() {
    let deviation = |text: &str| {
        let cases = "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n[[known_deviation]]\n";
        self::plan(&format!("extends = \"base.toml\"\n{cases}{text}"))
    };
    let right = "of = { controller = \"petra\", case = [\"a\", \"b\"] }\nbecause = \"so\"";
    let known = deviation(right).unwrap().known_deviations;
    let cases = "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n[[exception]]\n";
    let former = self::plan(&format!("extends = \"base.toml\"\n{cases}{right}"));
    assert_eq!(former.unwrap().known_deviations, known);
    assert_eq!(known[0].labels[0].1, ["a", "b"]);
    assert_eq!((&known[0].because[..], known[0].than.len()), ("so", 0));
    for (text, says) in [
        ("because = \"so\"", "no `of`"),
        ("of = { case = \"a\" }", "no `because`"),
        ("of = { case = \"c\" }\nbecause = \"so\"", "one of a, b"),
        (
            "of = { row = \"a\" }\nbecause = \"so\"",
            "`row` selects nothing",
        ),
        ("than = \"cubic\"\nbecause = \"so\"", "one of petra"),
        ("since = 1", "of, than, because"),
    ] {
        let error = deviation(text).unwrap_err();
        assert!(
            error.contains(says) && error.contains("known_deviation.0"),
            "{error}"
        );
    }
}

#[test]
fn flows_have_names_options_and_a_count() {
    let plan = extended(
        r#"
        [controllers]
        mine = "petra-thesis:alpha=0.8"
        [[flow]]
        cc = "mine"
        count = 2
        options = { faster_start = "off" }
        [[flow]]
        cc = "petra"
        options = { alpha = 0.5 }
        [sweep]
        "flow.1.options.alpha" = [0.5, 0.7]
        "#,
    );
    let point = &plan.points[1];
    assert_eq!(point.controllers, ["mine", "mine", "petra"]);
    let flows = point.scenario.flows.iter();
    let controllers: Vec<&str> = flows.map(|flow| flow.cc.as_str()).collect();
    let mine = "petra-thesis:alpha=0.8,faster_start=off";
    assert_eq!(controllers, [mine, mine, "petra:alpha=0.7"]);
    assert_eq!(plan.controllers, ["mine", "petra"]);
}

#[test]
fn seeds_are_counted_on() {
    let plan = extended("seeds = { from = 3, to = 5 }");
    assert_eq!(plan.seeds, [3, 4, 5]);
    assert_eq!(plan.clone().with_seeds(2).unwrap().seeds, [3, 4]);
    assert_eq!(plan.clone().with_seeds(5).unwrap().seeds, [3, 4, 5, 6, 7]);
    let last = Plan {
        seeds: vec![i64::MAX as u64],
        ..plan
    };
    assert!(last.with_seeds(2).is_err());
    assert!(self::plan("seeds = [1, 1]").is_err());
}

#[test]
fn a_key_is_of_the_run_and_of_nothing_else() {
    let versions = Versions::current();
    let key = |plan: &Plan| {
        let run = plan.run(&plan.points[0], 7, &versions).unwrap();
        run.key
    };
    let one = extended("title = \"one\"");
    let other = extended("[controllers]\nmine = \"petra\"\n[[flow]]\ncc = \"mine\"");
    assert_eq!(key(&one), key(&other));
    assert_ne!(one.hash().unwrap(), other.hash().unwrap());
    let another = extended("duration = \"6s\"");
    assert_ne!(key(&one), key(&another));
    let newer = Versions {
        sources: "0".into(),
        ..Versions::current()
    };
    assert_ne!(one.run(&one.points[0], 7, &newer).unwrap().key, key(&one));
    assert_ne!(
        one.run(&one.points[0], 8, &versions).unwrap().key,
        key(&one)
    );
}

#[test]
fn a_case_may_continue_a_list() {
    let step = |number: usize, at: &str| {
        let item = format!("link.0.steps.{number}");
        format!("\"{item}.at\" = \"{at}\", \"{item}.rate\" = \"1mbit\"")
    };
    let case = |set: String| {
        let text = "extends = \"base.toml\"\n[[case]]\nname = \"steps\"\nset";
        plan(&format!("{text} = {{ {set} }}"))
    };
    let two = case(format!("{}, {}", step(0, "1s"), step(1, "2s"))).unwrap();
    let steps = &two.points[0].scenario.path[0].down.steps;
    assert_eq!(steps.len(), 2);
    let error = case(format!("{}, {}", step(0, "1s"), step(2, "2s"))).unwrap_err();
    assert!(error.contains("got 2); expected less than 2"), "{error}");
    let error = case("\"link.2.rate\" = \"1mbit\"".to_owned()).unwrap_err();
    assert!(error.contains("got 2); expected less than 2"), "{error}");
}

#[test]
fn rfc_cubic_is_known_unless_the_plan_has_another() {
    let flow = |plan: &str| extended(plan).points[0].scenario.flows[0].clone();
    let sweep = "[sweep]\n\"flow.cc\" = [\"rfc-cubic\"]\n";
    let known = flow(sweep);
    assert_eq!(known.cc, "cubic");
    assert!(known.cubic_spurious_undo && known.silly_window_avoidance == Some(true));
    let another = flow(&format!("[controllers]\nrfc-cubic = \"reno\"\n{sweep}"));
    assert_eq!(another.cc, "reno");
    assert!(!another.cubic_spurious_undo);
    let own = "own = { cc = \"rfc-cubic\", silly_window_avoidance = false }";
    let sweep = "[sweep]\n\"flow.cc\" = [\"own\"]\n";
    let own = flow(&format!("[controllers]\n{own}\n{sweep}"));
    assert_eq!(own.cc, "cubic");
    assert!(own.cubic_spurious_undo && own.silly_window_avoidance == Some(false));
}

#[test]
fn a_controller_may_have_fields_of_a_flow() {
    let plan = extended(
        r#"
        [controllers]
        other = { cc = "cubic", silly_window_avoidance = true, cubic_spurious_undo = true }
        quick = "petra:faster_start=on"
        [sweep]
        "flow.cc" = ["other", "cubic", "quick"]
        [[expect]]
        metric = "goodput_mbps"
        of = { controller = "other" }
        at_least = { controller = "cubic" }
        "#,
    );
    assert_eq!(plan.controllers, ["other", "cubic", "quick"]);
    let flow = |point: usize| &plan.points[point].scenario.flows[0];
    let fields = |point| {
        let flow = flow(point);
        (
            flow.cc.as_str(),
            flow.silly_window_avoidance,
            flow.cubic_spurious_undo,
        )
    };
    assert_eq!(fields(0), ("cubic", Some(true), true));
    assert_eq!(fields(1), ("cubic", None, false));
    assert_eq!(fields(2), ("petra:faster_start=on", None, false));
    for (controllers, says) in [
        (
            "it = { silly_window_avoidance = true }",
            "controllers.it: a controller without `cc`",
        ),
        (
            "it = { cc = \"cubic\", start = \"1s\" }",
            "controller: no such key (got start); expected cc, silly_window_avoidance",
        ),
        ("it = { cc = \"vegas\" }", "`vegas`"),
    ] {
        let text = format!("extends = \"base.toml\"\n[controllers]\n{controllers}\n");
        let error = self::plan(&text).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_sweep_may_set_quiches_default_and_takes_no_name_of_the_tables() {
    let plan = extended("[sweep]\n\"flow.silly_window_avoidance\" = [true, false, \"none\"]\n");
    let flows = plan.points.iter().map(|point| &point.scenario.flows[0]);
    let set: Vec<_> = flows.map(|flow| flow.silly_window_avoidance).collect();
    assert_eq!(set, [Some(true), Some(false), None]);
    for (name, says) in [("controller", "[controllers]"), ("case", "[[case]]")] {
        let sweep = format!(
            "extends = \"base.toml\"\n[sweep.{name}]\nname = [\"a\"]\n\"flow.cc\" = [\"reno\"]\n"
        );
        let error = self::plan(&sweep).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_trace_is_beside_the_file_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    fs::create_dir(&base).unwrap();
    fs::write(base.join("cell.down"), "1\n").unwrap();
    fs::write(folder.path().join("own.up"), "2\n").unwrap();
    let text = "[link]\ntrace = \"cell.down\"\n[[flow]]\ncc = \"reno\"\n";
    fs::write(base.join("base.toml"), text).unwrap();
    let path = folder.path().join("plan.toml");
    let text = "extends = \"base/base.toml\"\n[sweep]\n\"link.up.trace\" = [\"own.up\"]\n";
    fs::write(&path, text).unwrap();
    let plan = Plan::read(&path).unwrap();
    let link = &plan.points[0].scenario.path[0];
    assert_eq!(link.down.trace, Some(base.join("cell.down")));
    assert_eq!(link.up.trace, Some(folder.path().join("own.up")));
    // Results call it as the plan does.
    assert_eq!(plan.points[0].settings[0].1, "own.up");
}

#[test]
fn a_plan_may_have_a_flow_under_test() {
    let duel = |subject: &str| {
        let text = format!(
            "extends = \"base.toml\"\n{subject}\n[[flow]]\ncc = \"petra\"\n[[flow]]\ncc = \"reno\"\n\
             [sweep]\n\"flow.0.cc\" = [\"petra\", \"westwood\"]\n\"flow.1.cc\" = [\"reno\", \"cubic\"]\n"
        );
        self::plan(&text)
    };
    let columns = |plan: &Plan| {
        plan.axes
            .iter()
            .map(|axis| axis.controllers)
            .collect::<Vec<_>>()
    };
    let with = duel("subject = 0").unwrap();
    assert_eq!(with.subject, Some(0));
    assert_eq!(with.controllers, ["petra", "westwood"]);
    assert_eq!(columns(&with), [true, false]);
    let without = duel("").unwrap();
    assert_eq!(without.controllers, ["petra", "reno", "cubic", "westwood"]);
    assert_eq!(columns(&without), [false, false]);
    let error = duel("subject = 2").unwrap_err();
    assert!(
        error.contains("subject: `2`") && error.contains("from 0 to 1"),
        "{error}"
    );
}

/// Two axes and two cases.
const PARTS: &str = r#"
    [sweep]
    "flow.cc" = ["petra", "reno", "cubic"]
    "link.0.loss" = ["0%", "1%"]
    [[case]]
    name = "clean"
    [[case]]
    name = "slow"
    set = { "link.0.rate" = "1mbit" }
    [[expect]]
    metric = "goodput_mbps"
    of = { controller = "petra" }
    at_least = { controller = "reno" }
"#;

/// The part with these values.
fn part(values: &[&str]) -> Result<Plan, String> {
    let parts: Vec<Only> = values.iter().map(|it| it.parse().unwrap()).collect();
    extended(PARTS)
        .only(&parts)
        .map_err(|error| format!("{error:#}"))
}

#[test]
fn a_part_has_the_points_with_its_values() {
    let whole = part(&[]).unwrap();
    assert_eq!((whole.points.len(), whole.expectations.len()), (12, 1));
    let one = part(&["flow.cc=petra"]).unwrap();
    assert_eq!(settings(&one, "flow.cc"), ["petra"; 4]);
    assert_eq!(settings(&one, "link.0.loss"), ["0%", "1%", "0%", "1%"]);
    assert_eq!(one.controllers, ["petra"]);
    assert_eq!(one.axes[0].values, ["petra"]);
    // There is no `reno` to compare with.
    assert!(one.expectations.is_empty());
    // The runs are those of the whole plan.
    let versions = Versions::current();
    let key = |plan: &Plan, point: usize| plan.run(&plan.points[point], 7, &versions).unwrap().key;
    assert_eq!(key(&one, 2), key(&whole, 6));
    let two = part(&["flow.cc=petra", "case=slow", "flow.cc=cubic"]).unwrap();
    assert_eq!(
        settings(&two, "flow.cc"),
        ["petra", "petra", "cubic", "cubic"]
    );
    assert_eq!(
        (two.cases, two.controllers),
        (vec!["slow".into()], vec!["petra".into(), "cubic".into()])
    );
}

#[test]
fn a_part_shows_the_controllers_of_its_subject() {
    let plan = extended(
        r#"
        subject = 0
        [[flow]]
        cc = "petra"
        [[flow]]
        cc = "reno"
        [sweep]
        "flow.0.cc" = ["petra", "reno", "cubic"]
        "flow.1.cc" = ["reno", "cubic"]
        "#,
    );
    let part = plan.only(&["flow.0.cc=petra".parse().unwrap()]).unwrap();
    assert_eq!(part.controllers, ["petra"]);
    assert_eq!(part.points.len(), 2);
}

#[test]
fn many_values_are_cut_in_a_message() {
    let plan = extended(
        r#"
        [sweep]
        "link.0.delay" = ["1ms", "2ms", "3ms", "4ms", "5ms", "6ms", "7ms", "8ms", "9ms"]
        "#,
    );
    let fault = plan
        .only(&["link.0.delay=10ms".parse().unwrap()])
        .unwrap_err();
    assert!(
        fault.to_string().ends_with("7ms, 8ms, and 1 more"),
        "{fault}"
    );
}

#[test]
fn a_part_that_no_point_has_is_an_error() {
    let fault = part(&["cc=petra"]).unwrap_err();
    let expected = "--only: no such sweep (got \"cc\"); expected flow.cc, link.0.loss, case";
    assert_eq!(fault, expected);
    let fault = part(&["flow.cc=bbr2"]).unwrap_err();
    let expected = "--only: flow.cc has no such value (got \"bbr2\"); expected petra, reno, cubic";
    assert_eq!(fault, expected);
    assert!(part(&["case=fast"])
        .unwrap_err()
        .ends_with("expected clean, slow"));
    let fault = extended("")
        .only(&["case=slow".parse().unwrap()])
        .unwrap_err();
    assert!(fault
        .to_string()
        .ends_with("expected a plan with cases or a sweep"));
    for text in ["", "petra", "=petra", "flow.cc="] {
        assert!(text.parse::<Only>().is_err(), "{text}");
    }
}
