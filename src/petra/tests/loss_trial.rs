//! Losses in jitter that a large window fills.

use super::*;

const WINDOW: f64 = 400.0 * DATAGRAM as f64;

/// The ACK of 20 datagrams, of which a window of 400 fills 120 ms.
fn acks(now: u64, latest: u64) -> Ack {
    Ack {
        bytes: 20 * DATAGRAM,
        rtt: rtt(latest, 90),
        ..measured(now, latest)
    }
}

/// In a large window of congestion avoidance, after jitter of 36 ms in slow start.
fn in_jitter() -> Petra {
    let mut petra = petra();
    petra.config.drain = false;
    for (index, now) in (1_000..2_000).step_by(5).enumerate() {
        petra.on_ack(&acks(now, 90 + 4 * (index as u64 % 10)));
    }
    petra.window.set(WINDOW);
    petra.window.set_ssthresh(WINDOW);
    petra
}

/// All packets wait for 31 to 35 ms, and one of 400 is lost. Returns the responses to the losses.
fn responses(petra: &mut Petra, from: u64, to: u64) -> Vec<Decision> {
    let mut responses = Vec::new();
    for (index, now) in (from..to).step_by(5).enumerate() {
        petra.on_ack(&acks(now, 121 + index as u64 % 5));
        if index % 20 == 19 {
            petra.on_loss(&loss(now));
            responses.extend(petra.loss_decision);
            petra.window.set(WINDOW);
        }
    }
    responses
}

fn is_reduction(decision: &Decision) -> bool {
    matches!(decision, Decision::Reduce(_))
}

/// The same as [`in_jitter`], with a trial that lasts.
fn in_trial() -> Petra {
    let mut petra = in_jitter();
    responses(&mut petra, 2_000, 8_000);
    assert!(petra.loss_trial.is_on());
    petra
}

#[test]
fn a_window_does_not_respond_to_what_a_link_goes_on_to_lose() {
    let responses = responses(&mut in_jitter(), 2_000, 12_000);
    // The noise of slow start has faded.
    assert!(responses[20..37].iter().all(is_reduction));
    let kept = Decision::Keep(Why::NoQueue);
    assert_eq!(responses[40..], [kept; 60]);
}

#[test]
fn losses_that_become_more_frequent_are_congestion_again() {
    let mut petra = in_trial();
    for now in (8_000..8_200).step_by(10) {
        petra.on_ack(&acks(now, 121));
        petra.on_loss(&loss(now));
    }
    assert!(!petra.loss_trial.is_on());
    let responses = responses(&mut petra, 8_200, 9_000);
    assert!(responses.iter().all(is_reduction));
}

/// The packets that are lost together count as one loss.
#[test]
fn a_queue_beyond_the_jitter_is_congestion_in_a_trial() {
    let mut petra = in_trial();
    for now in (8_000..8_600).step_by(5) {
        petra.on_ack(&acks(now, 121 + (now - 8_000) / 4));
    }
    petra.on_loss(&Loss {
        bytes: 20 * DATAGRAM,
        ..loss(8_600)
    });
    assert!(petra.loss_trial.is_on());
    assert!(is_reduction(&petra.loss_decision.unwrap()));
}

#[test]
fn smaller_windows_have_no_trials() {
    let mut petra = in_trial();
    for now in (8_000..8_300).step_by(5) {
        petra.window.set(255.0 * DATAGRAM as f64);
        petra.on_ack(&acks(now, 121));
    }
    assert!(!petra.loss_trial.is_on());
}

#[test]
fn slow_start_and_another_path_end_a_trial() {
    let mut petra = in_trial();
    petra.on_persistent_congestion(ms(8_000));
    assert!(!petra.loss_trial.is_on());

    let mut petra = in_trial();
    petra.config.mechanisms.initial_ssthresh = false;
    petra.window.replace_ssthresh(None);
    for now in (8_000..8_200).step_by(5) {
        petra.on_ack(&acks(now, 121));
    }
    assert!(petra.window.in_slow_start());
    assert!(!petra.loss_trial.is_on());

    let mut petra = in_trial();
    let before = petra.loss_trial;
    petra.follow(LongerPath {
        min_rtt: ms(200),
        additional: ms(110),
        rate: Some(4_800_000.0),
    });
    assert!(!petra.loss_trial.is_on());
    // It did not become longer after all.
    petra.window.set_ssthresh(WINDOW);
    petra.loss_trial = before;
    for now in (8_000..8_400).step_by(5) {
        petra.on_ack(&acks(now, 121));
    }
    assert!(!petra.loss_trial.is_on());

    let mut petra = in_trial();
    for now in (8_000..8_100).step_by(2) {
        let rtt = rtt(18, 18);
        petra.on_ack(&Ack {
            rtt,
            ..acks(now, 18)
        });
    }
    assert!(petra.loss_trial.is_on());
    petra.on_loss(&Loss {
        bytes: 400 * DATAGRAM,
        ..loss(8_200)
    });
    assert!(matches!(petra.loss_decision, Some(Decision::Shorten(_))));
    assert!(!petra.loss_trial.is_on());
}
