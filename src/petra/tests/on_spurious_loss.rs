//! Reductions that prove to be needless.

use super::*;

#[test]
fn when_all_were_the_reduction_is_undone() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    petra.on_spurious_loss(&spurious(2_050, false));
    assert!(petra.window() < 130_000);
    petra.on_spurious_loss(&spurious(2_050, true));
    assert_eq!(petra.window(), 130_000);
    assert_eq!(petra.ssthresh(), Some(120_000));
}

/// RFC 9002, Section 7.3.2: a packet sent when the event was detected belongs to it.
#[test]
fn further_losses_of_the_event_leave_it_to_be_undone() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    petra.on_loss(&Loss {
        last_sent: ms(2_000),
        ..loss(2_080)
    });
    petra.on_spurious_loss(&spurious(2_050, true));
    assert_eq!(petra.window(), 130_000);
}

/// The transport tells of the last event only.
#[test]
fn an_event_that_did_not_reduce_has_nothing_to_undo() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    let reduced = petra.window();
    for now in 2_000..2_400 {
        petra.on_ack(&Ack {
            app_limited: true,
            ..measured(now, 90)
        });
    }
    petra.on_loss(&loss(2_400));
    petra.on_spurious_loss(&spurious(2_050, true));
    assert_eq!(petra.window(), reduced);
}

#[test]
fn a_drain_is_no_loss_to_undo() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    petra.act(Decision::Reduce(100_000.0), ms(2_200), Reduction::Queue);
    petra.on_spurious_loss(&spurious(2_050, true));
    assert_eq!(petra.window(), 100_000);
}

#[test]
fn off_nothing_is_undone() {
    let mut petra = queued(with(|config| config.undo = false));
    petra.on_loss(&loss(2_000));
    let reduced = petra.window();
    petra.on_spurious_loss(&spurious(2_050, true));
    assert_eq!(petra.window(), reduced);
}
