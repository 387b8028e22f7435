//! Controllers in quinn, noq and s2n-quic on simulated links.

use std::time::Duration;

use petra_stacks_sim::{transfer, Link, Outcome, Stack};

const STACKS: [Stack; 3] = [Stack::Quinn, Stack::Noq, Stack::S2nQuic];

/// The share of the limit that `petra` has at least. s2n-quic's receiver acknowledges every tenth
/// packet, and `docs/stacks.md` has the share there.
fn least(stack: Stack) -> f64 {
    match stack {
        Stack::Quinn | Stack::Noq => 0.96,
        Stack::S2nQuic => 0.85,
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 10 Mbit/s and an RTT of 90 ms.
fn link() -> Link {
    Link::new(10e6, ms(45))
}

fn run(stack: Stack, controller: &str, link: &Link) -> Outcome {
    transfer(stack, controller, link, Duration::from_secs(20)).unwrap()
}

/// In quiche it has 0.99 of the limit and 2 ms of queue, by `petra-lab sim --cc petra`.
#[test]
fn petra_fills_a_lossy_link_with_a_short_queue() {
    let lossy = Link {
        loss: 0.005,
        ..link()
    };
    for stack in STACKS {
        let petra = run(stack, "petra", &lossy);
        assert!(petra.share > least(stack), "{stack:?}: {petra:?}");
        assert!(petra.queue_mean < ms(7), "{stack:?}: {petra:?}");
        let cubic = run(stack, "cubic", &lossy);
        assert!(petra.goodput > 2.0 * cubic.goodput, "{stack:?}: {cubic:?}");
    }
}

#[test]
fn petra_drops_hardly_anything_on_a_clean_link() {
    for stack in STACKS {
        let petra = run(stack, "petra", &link());
        assert!(petra.share > least(stack), "{stack:?}: {petra:?}");
        let drops = petra.tail_drops as f64 / petra.sent as f64;
        assert!(drops < 0.005, "{stack:?}: {petra:?}");
        let cubic = run(stack, "cubic", &link());
        assert!(cubic.queue_mean > 5 * petra.queue_mean, "{cubic:?}");
    }
}

/// A burst of the stack's pacer, and not the controller, is the lower bound of the queue.
#[test]
fn marks_keep_the_queue_short() {
    let marking = Link {
        mark_above: Some(ms(5)),
        ..link()
    };
    for stack in STACKS {
        for controller in ["petra", "westwood"] {
            let marked = run(stack, controller, &marking);
            assert!(marked.marks > 0 && marked.tail_drops == 0, "{marked:?}");
            assert!(marked.share > 0.6, "{stack:?}, {controller}: {marked:?}");
            assert!(
                marked.queue_p95 < ms(10),
                "{stack:?}, {controller}: {marked:?}"
            );
        }
    }
}

/// Without the marks, `westwood` fills the queue: what the test above sees is the response.
#[test]
fn without_marks_the_queue_of_westwood_is_long() {
    for stack in STACKS {
        let outcome = run(stack, "westwood", &link());
        assert!(outcome.queue_p95 > ms(40), "{stack:?}: {outcome:?}");
    }
}

#[test]
fn every_controller_survives_heavy_loss_and_an_empty_queue() {
    for link in [
        Link {
            loss: 0.2,
            ..Link::new(2e6, ms(20))
        },
        Link {
            queue: Some(0),
            ..Link::new(2e6, ms(20))
        },
    ] {
        for (stack, controllers) in [
            (Stack::Quinn, petra_quinn::controllers()),
            (Stack::Noq, petra_noq::controllers()),
            (Stack::S2nQuic, petra_s2n_quic::controllers()),
        ] {
            for controller in controllers {
                let outcome = run(stack, controller, &link);
                assert!(
                    outcome.goodput > 10e3,
                    "{stack:?}, {controller}: {outcome:?}"
                );
                assert!(outcome.share <= 1.0, "{stack:?}, {controller}: {outcome:?}");
            }
        }
    }
}

#[test]
fn one_seed_gives_one_outcome() {
    let lossy = Link {
        loss: 0.01,
        ..link()
    };
    // s2n-quic has random numbers of its own.
    for stack in [Stack::Quinn, Stack::Noq] {
        let first = run(stack, "petra", &lossy);
        assert_eq!(first, run(stack, "petra", &lossy), "{stack:?}");
        let other = Link { seed: 2, ..lossy };
        assert_ne!(first, run(stack, "petra", &other), "{stack:?}");
    }
}

#[test]
fn an_unknown_controller_is_an_error() {
    let error = transfer(Stack::Quinn, "nonesuch", &link(), ms(1)).unwrap_err();
    assert!(error.to_string().starts_with("controller: unknown name"));
}
