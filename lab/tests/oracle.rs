//! The causal oracle: the limit on links whose rate varies.

use std::time::Duration;

use petra_lab::link::{Direction, Link, Lte, Queue};
use petra_lab::scenario::{CrossTraffic, Flow, Scenario};
use petra_lab::sim::{run, FlowReport};

/// A flow alone on `link`.
fn alone(link: &Link, cc: &str, seconds: u64) -> FlowReport {
    let scenario = Scenario {
        duration: Duration::from_secs(seconds),
        ..Scenario::new(link.clone(), vec![Flow::new(cc)])
    };
    run(&scenario).unwrap().flows.remove(0)
}

/// Goodput in Mbit/s and the 95th percentile of the queueing delay in ms.
fn point(link: &Link, cc: &str) -> (f64, f64) {
    let flow = alone(link, cc, 10);
    (flow.goodput / 1e6, flow.queue.unwrap().p95)
}

fn link(direction: Direction) -> Link {
    Link::symmetric(Direction {
        delay: Duration::from_millis(15),
        queue: Queue::Bytes(250_000),
        ..direction
    })
}

fn cell(deviation: f64, coherence: u64) -> Link {
    link(Direction {
        lte: Some(Lte {
            mean: 20_000_000,
            deviation,
            coherence: Duration::from_millis(coherence),
            block_errors: 0.1,
        }),
        ..Direction::default()
    })
}

fn steady() -> Link {
    link(Direction {
        rate: Some(20_000_000),
        ..Direction::default()
    })
}

#[test]
fn on_a_steady_link_it_has_the_limit_with_the_queue_that_it_is_allowed() {
    let far = Link::symmetric(Direction {
        rate: Some(5_000_000),
        delay: Duration::from_millis(150),
        ..Direction::default()
    });
    for (link, shares) in [(steady(), 0.98), (far, 0.95)] {
        for (cc, allowed) in [("oracle:queue=5ms", 5.0), ("oracle:queue=30ms", 30.0)] {
            let flow = alone(&link, cc, 20);
            let (share, queue) = (flow.share.unwrap(), flow.queue.unwrap());
            assert!(share >= shares, "{cc}: {share}");
            // A datagram takes 0.55 ms, or 2.2.
            assert!((queue.p50 - allowed).abs() < 2.5, "{cc}: {queue:?}");
            assert_eq!(flow.tail_drops, 0, "{cc}");
        }
    }
}

/// For each of the others there is an allowed queue that has more goodput at less delay.
fn is_above_every_controller(link: &Link) {
    let allowed = ["1ms", "2ms", "5ms", "10ms", "20ms", "40ms"];
    let frontier = allowed.map(|queue| point(link, &format!("oracle:queue={queue}")));
    // More of a queue is more goodput: a choice between the two.
    assert!(frontier.is_sorted_by(|a, b| a.1 < b.1), "{frontier:?}");
    assert!(frontier[0].0 < frontier[5].0, "{frontier:?}");
    for cc in ["petra", "petra-thesis", "westwood", "cubic", "reno", "bbr2"] {
        let (goodput, delay) = point(link, cc);
        let above = |it: &(f64, f64)| it.0 > goodput && it.1 < delay;
        assert!(
            frontier.iter().any(above),
            "{cc} has {goodput} at {delay}: {frontier:?}"
        );
    }
}

#[test]
fn on_a_cell_that_fades_slowly_it_is_above_every_controller() {
    is_above_every_controller(&cell(0.5, 200));
}

#[test]
fn on_a_cell_that_fades_fast_it_is_above_every_controller() {
    is_above_every_controller(&cell(0.7, 50));
}

#[test]
fn it_has_a_path_of_several_links_and_ends_of_its_own_delay() {
    let wide = Link::symmetric(Direction {
        rate: Some(100_000_000),
        delay: Duration::from_millis(10),
        ..Direction::default()
    });
    let far = Flow {
        delay: Duration::from_millis(20),
        ..Flow::new("oracle:queue=10ms")
    };
    let scenario = Scenario {
        path: vec![wide, steady()],
        duration: Duration::from_secs(20),
        ..Scenario::new(steady(), vec![far])
    };
    let flow = run(&scenario).unwrap().flows.remove(0);
    assert!(flow.share.unwrap() >= 0.97, "{:?}", flow.share);
    assert!((flow.queue.unwrap().p50 - 10.0).abs() < 2.0);
}

#[test]
fn a_shared_path_and_unknown_options_are_refused() {
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = Scenario::new(steady(), vec![Flow::new("oracle")]);
        change(&mut scenario);
        format!("{:#}", run(&scenario).unwrap_err())
    };
    let error = refused(&|it| it.flows.push(Flow::new("reno")));
    assert!(error.contains("expected one flow alone"), "{error}");
    let error = refused(&|it| it.cross.push(CrossTraffic::new(1_000_000)));
    assert!(error.contains("expected one flow alone"), "{error}");
    let error = refused(&|it| it.flows[0].cc = "oracle:span=1ms".to_owned());
    assert!(error.contains("expected queue"), "{error}");
    // Beside it, not on its link.
    let mut scenario = Scenario {
        path: vec![steady(), steady()],
        duration: Duration::from_secs(2),
        ..Scenario::new(steady(), vec![Flow::new("oracle"), Flow::new("reno")])
    };
    scenario.flows[0].hops = Some((0, 0));
    scenario.flows[1].hops = Some((1, 1));
    assert!(run(&scenario).is_ok());
}
