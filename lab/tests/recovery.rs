//! Recovery and spurious losses of whole connections in virtual time, against what the
//! simulator knows of the link.

use std::time::Duration;

use petra_lab::link::{goodput_limit, Direction, Link, Queue, Step};
use petra_lab::results::metric;
use petra_lab::scenario::{Flow, Scenario};
use petra_lab::sim::{run, FlowReport};

const CHANGE: f64 = 5.0;

/// 15 s of one flow over a link of 4 Mbit/s and 60 ms that `shape` changes.
fn flow(cc: &str, shape: impl Fn(&mut Direction)) -> FlowReport {
    let mut link = Link::symmetric(Direction {
        rate: Some(4_000_000),
        delay: Duration::from_millis(30),
        queue: Queue::Bdp(1.0),
        ..Direction::default()
    });
    shape(&mut link.down);
    let scenario = Scenario {
        duration: Duration::from_secs(15),
        ..Scenario::new(link, vec![Flow::new(cc)])
    };
    let report = run(&scenario).unwrap().flows.remove(0);
    assert_eq!(report.failure, None);
    report
}

fn step(change: Step) -> impl Fn(&mut Direction) {
    move |down| {
        down.steps = vec![Step {
            at: Duration::from_secs_f64(CHANGE),
            ..change
        }];
    }
}

/// All is lost for these seconds before the change.
fn outage(seconds: f64) -> impl Fn(&mut Direction) {
    let step = |at: f64, loss| Step {
        at: Duration::from_secs_f64(at),
        loss: Some(loss),
        ..Step::default()
    };
    move |down| down.steps = vec![step(CHANGE - seconds, 1.0), step(CHANGE, 0.0)]
}

/// The share of `rate` that the body had in the second from `from` on.
fn share(flow: &FlowReport, from: f64, rate: u64) -> f64 {
    let at = |time: f64| {
        let index = flow.samples.partition_point(|it| it.time < time - 1e-9);
        flow.samples[index].body_bytes as f64
    };
    (at(from + 1.0) - at(from)) * 8.0 / goodput_limit(rate, 0.0, 1350)
}

#[test]
fn the_limit_is_used_from_the_recovery_on_and_not_before() {
    let rate = 20_000_000;
    let faster = flow(
        "reno",
        step(Step {
            rate: Some(rate),
            ..Step::default()
        }),
    );
    let seconds = faster.recovery.unwrap();
    assert!(seconds > 1.0, "{seconds}");
    let after = share(&faster, CHANGE + seconds, rate);
    assert!((0.85..=1.0).contains(&after), "{after}");
    let before = share(&faster, CHANGE + seconds - 0.2, rate);
    assert!(before < 0.9, "{before}");
    // Where the rate falls, what waits uses it at once.
    let slower = flow(
        "reno",
        step(Step {
            rate: Some(1_000_000),
            ..Step::default()
        }),
    );
    assert_eq!(slower.recovery, Some(0.0));
}

#[test]
fn the_longer_an_outage_the_later_its_probes_and_the_recovery() {
    let short = flow("reno", outage(0.2)).recovery.unwrap();
    let long = flow("reno", outage(4.0)).recovery.unwrap();
    assert!(long > short, "{short} {long}");
    assert_eq!(flow("reno", |_| ()).recovery, Some(0.0));
}

#[test]
fn a_longer_round_trip_takes_a_window_that_loss_keeps_small() {
    let delay = Some(Duration::from_millis(150));
    let longer = step(Step {
        delay,
        ..Step::default()
    });
    let seconds = flow("reno", &longer).recovery.unwrap();
    assert!(seconds > 1.0, "{seconds}");
    // With these losses Reno's window is some ten datagrams, of the 110 that it takes.
    let lossy = flow("reno", |down| {
        longer(down);
        down.loss = 0.02;
    });
    assert_eq!(lossy.recovery, None);
}

#[test]
fn of_packets_that_are_late_each_loss_is_spurious_and_of_lost_ones_none() {
    let lost = |flow: &FlowReport| (flow.random_losses + flow.tail_drops + flow.aqm_drops) as usize;
    // The thresholds of `petra` follow the reordering that it observes.
    for (cc, least) in [("reno", 50), ("petra", 10), ("bbr2", 50)] {
        let late = flow(cc, |down| {
            down.reorder = 0.1;
            down.queue = Queue::Bdp(100.0);
        });
        assert_eq!(lost(&late), 0);
        assert!(late.packets_lost > least, "{cc}: {}", late.packets_lost);
        // The last may not have been acknowledged yet.
        let pending = late.packets_lost - late.packets_spurious;
        assert!(pending <= 10, "{cc}: {pending} of {}", late.packets_lost);
    }

    let lossy = flow("reno", |down| down.loss = 0.01);
    assert!(lost(&lossy) > 20, "{}", lost(&lossy));
    assert_eq!(lossy.packets_spurious, 0);

    // Of both, what was declared lost is what the link lost and what was spurious.
    let both = flow("reno", |down| {
        down.reorder = 0.02;
        down.loss = 0.005;
    });
    let truly = both.packets_lost - both.packets_spurious;
    assert!(truly.abs_diff(lost(&both)) <= 10, "{truly} {}", lost(&both));
    assert!(both.packets_spurious > 0);
}

#[test]
fn both_are_metrics() {
    for (name, unit) in [("recovery_s", "s"), ("spurious_percent", "%")] {
        assert_eq!(metric(name).unwrap().unit, unit);
    }
}
