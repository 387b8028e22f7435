//! The response to losses: of a queue, of a link and of a policer.

use super::*;

#[test]
fn without_a_queue_the_link_lost_it() {
    let mut petra = steady(petra());
    assert_eq!(
        petra.loss_response(&loss(2_000)),
        Decision::Keep(Why::NoQueue)
    );
    petra.on_loss(&loss(2_000));
    assert_eq!(petra.window(), 20_000);
    assert_eq!(petra.phase(), Phase::CongestionAvoidance);
    let metrics = petra.metrics();
    assert_eq!(metrics.loss_response, Some("no_queue"));
    assert_eq!(metrics.queue_response, Some("no_queue"));
    assert_eq!(metrics.base_rtt, Some(MIN_RTT));
}

#[test]
fn under_a_queue_it_is_congestion() {
    let mut petra = queued(petra());
    // 1200 bytes a millisecond: 108 000 in 90 ms, and a datagram.
    let target = reduction(petra.loss_response(&loss(2_000)));
    assert_near(target, 109_200.0);
    petra.on_loss(&loss(2_000));
    assert_eq!(petra.window(), target as u64);
    assert_eq!(petra.ssthresh(), Some(target as u64));
    assert_eq!(petra.metrics().last_reduction, Some(Reduction::Loss));
    assert_eq!(petra.phase(), Phase::Recovery);
}

#[test]
fn a_short_queue_is_drained_but_explains_no_loss() {
    let mut petra = queued(petra());
    for now in 2_000..2_300 {
        petra.on_ack(&measured(now, 95));
    }
    assert!(petra.queue_persists());
    assert_eq!(
        petra.loss_response(&loss(2_300)),
        Decision::Keep(Why::NoQueue)
    );
}

#[test]
fn it_leaves_seven_tenths_at_least() {
    let mut petra = queued(petra());
    petra.window.set(200_000.0);
    assert_near(reduction(petra.loss_response(&loss(2_000))), 140_000.0);
}

#[test]
fn it_never_raises_the_window() {
    let mut petra = queued(petra());
    petra.window.set(50_000.0);
    assert_eq!(reduction(petra.loss_response(&loss(2_000))), 50_000.0);
}

#[test]
fn a_recovery_period_answers_all_that_left_before_it() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    let further = Loss {
        now: ms(2_080),
        last_sent: ms(2_000),
        ..loss(2_080)
    };
    assert_eq!(
        petra.loss_response(&further),
        Decision::Keep(Why::SentBeforeRecovery)
    );
}

#[test]
fn heavy_losses_are_congestion_even_without_a_queue() {
    let mut petra = steady(petra());
    petra.on_loss(&Loss {
        bytes: 14 * DATAGRAM,
        ..loss(2_000)
    });
    // To the BDP of 12 000, but not below 0.7 x 20 000.
    assert_eq!(petra.window(), 14_000);
}

#[test]
fn in_slow_start_a_fifth_of_a_window_lost_is_no_congestion() {
    let lose = |lost| {
        let mut petra = steady(petra());
        petra.window.replace_ssthresh(None);
        petra.on_loss(&Loss {
            bytes: lost * DATAGRAM,
            ..loss(2_000)
        });
        petra.window()
    };
    // Of 64 datagrams, a tenth and four standard deviations are 16: a quarter. A fifth and a
    // third of what was sent is lost here.
    assert_eq!((lose(16), lose(32)), (20_000, 14_000));
}

#[test]
fn in_slow_start_the_losses_of_a_long_time_do_not_count() {
    let mut petra = steady(petra());
    petra.window.replace_ssthresh(None);
    petra.loss_history.on_ack(400 * DATAGRAM, &petra.window);
    petra.loss_history.on_loss(120 * DATAGRAM, &petra.window);
    assert!(petra.loss_history.is_heavy(DATAGRAM as f64));
    assert_eq!(
        petra.loss_response(&loss(2_000)),
        Decision::Keep(Why::NoQueue)
    );
    petra.window.set_ssthresh(10_000.0);
    assert!(matches!(
        petra.loss_response(&loss(2_000)),
        Decision::Reduce(_)
    ));
}

#[test]
fn heavy_losses_without_a_queue_leave_six_datagrams() {
    let mut petra = steady(petra());
    let heavy = |now| Loss {
        bytes: 10 * DATAGRAM,
        ..loss(now)
    };
    // The BDP is 10 datagrams here. Most of what is sent now is lost.
    for round in 0..30 {
        let now = 2_000 + 200 * round;
        petra.on_loss(&heavy(now));
        petra.on_ack(&measured(now, 90));
    }
    assert_eq!(petra.window(), 6 * DATAGRAM);
}

/// After some hundred datagrams, of which this many were lost. Two take some 18 ms, so that 12
/// are no queue by themselves.
fn after_losses(latest: u64, lost: u64) -> Petra {
    let mut petra = steady(petra());
    flow(&mut petra, 2_000, 2_700, latest);
    petra.window.set(14_000.0);
    petra.loss_history.on_loss(lost * DATAGRAM, &petra.window);
    assert!(!petra.queue_explains_loss());
    petra
}

#[test]
fn losses_over_a_short_queue_show_that_the_base_rtt_hides_one() {
    let few = after_losses(102, 3);
    assert_eq!(
        few.loss_response(&loss(2_700)),
        Decision::Keep(Why::NoQueue)
    );
    let elsewhere = after_losses(94, 10);
    let kept = elsewhere.loss_response(&loss(2_700));
    assert_eq!(kept, Decision::Keep(Why::NoQueue));
    let hidden = after_losses(102, 10);
    assert_near(
        reduction(hidden.loss_response(&loss(2_700))),
        0.85 * 14_000.0,
    );
}

#[test]
fn a_hidden_queue_leaves_70_to_85_percent_and_six_datagrams() {
    let mut petra = after_losses(102, 10);
    let bdp = petra.bdp().unwrap();
    assert_near(bdp, 14_087.0);
    let expected = [
        (22_000.0, 15_400.0),
        (17_000.0, bdp),
        (8_000.0, 7_200.0),
        (7_000.0, 7_000.0),
    ];
    for (window, reduced) in expected {
        petra.window.set(window);
        assert_near(reduction(petra.loss_response(&loss(2_700))), reduced);
    }
}

#[test]
fn a_hidden_queue_is_tested_for_competition_until_a_round_trip_is_without_it() {
    let mut petra = after_losses(102, 10);
    petra.on_loss(&loss(2_700));
    assert!(petra.hidden_queue && petra.competition.is_testing());
    // Half as much is delivered, over the same queue.
    let found = (2_700..3_400).step_by(18).find(|now| {
        petra.on_ack(&measured(*now, 102));
        petra.competition.is_detected()
    });
    let now = found.expect("competition is found");
    flow(&mut petra, now, now + 400, 90);
    assert!(!petra.hidden_queue && !petra.competition.is_detected());
}

/// One of eight datagrams is lost, a window of them and more.
fn policed() -> Petra {
    let mut petra = steady(petra());
    petra.window.set(14_000.0);
    flow(&mut petra, 2_000, 2_700, 90);
    petra.window.set(14_000.0);
    for _ in 0..2 {
        petra.loss_rate.on_loss(10 * DATAGRAM, &petra.window);
        petra.loss_history.on_loss(10 * DATAGRAM, &petra.window);
        petra.policing.on_heavy_losses();
    }
    petra
}

#[test]
fn losses_that_last_at_the_bdp_test_for_a_policer() {
    let mut petra = policed();
    let bytes = petra.window.bytes();
    let decision = petra.loss_response(&loss(2_700));
    let Decision::TestPolicer { target, restore } = decision else {
        panic!("{decision:?}");
    };
    assert_near(restore, bytes);
    assert_near(target, 0.7 * (1.0 - petra.loss_history.share()) * bytes);
    petra.on_loss(&loss(2_700));
    assert!(petra.policing.is_dipping());
    assert_eq!(petra.metrics().loss_response, Some("test_policer"));
    // It does not grow until the effect is known.
    let window = petra.window();
    petra.on_ack(&measured(2_800, 90));
    assert_eq!(petra.window(), window);
    // What was undone tests nothing.
    petra.on_spurious_loss(&spurious(2_900, true));
    assert!(!petra.policing.is_dipping());
    assert_eq!(petra.window(), bytes as u64);
}

/// Of a loss, in this window, after this many datagrams acknowledged and lost.
fn after_heavy_losses(window: f64, acked: u64, lost: u64) -> Decision {
    let mut petra = policed();
    petra.window.set_ssthresh(window);
    petra.window.set(window);
    petra.loss_history = LossRate::of_long_time();
    petra.loss_history.on_ack(acked * DATAGRAM, &petra.window);
    petra.loss_history.on_loss(lost * DATAGRAM, &petra.window);
    petra.loss_response(&loss(2_700))
}

/// The BDP is 14 087 bytes.
#[test]
fn a_dip_is_seven_tenths_of_what_is_delivered_or_four_datagrams() {
    let expected = [
        ((16_000.0, 100, 10), (9_861.0, 14_087.0)),
        ((14_000.0, 60, 40), (5_880.0, 14_000.0)),
        ((7_200.0, 30, 70), (4_800.0, 7_200.0)),
    ];
    for ((window, acked, lost), (smaller, before)) in expected {
        let decision = after_heavy_losses(window, acked, lost);
        let Decision::TestPolicer { target, restore } = decision else {
            panic!("{decision:?} in a window of {window}");
        };
        assert_near(target, smaller);
        assert_near(restore, before);
    }
}

#[test]
fn a_policer_is_tested_for_near_the_bdp() {
    let expected = [((22_000.0, 90, 10), 15_400.0), ((5_000.0, 90, 10), 5_000.0)];
    for ((window, acked, lost), reduced) in expected {
        assert_near(reduction(after_heavy_losses(window, acked, lost)), reduced);
    }
}

#[test]
fn a_loss_above_the_safe_window_is_the_policers() {
    let petra = behind_a_policer(19_000.0);
    assert_near(reduction(petra.loss_response(&loss(2_000))), 17_000.0);
    assert!(petra.grows_as_cubic());
}

/// It begins with the reduction to seven tenths, and ends with that of the loss.
#[test]
fn a_policer_is_tested_again_at_a_loss() {
    let mut petra = behind_a_policer(19_000.0);
    petra.policing.on_reduction(19_000.0, 19_000.0, true);
    let (target, restore) = (14_000.0, 17_000.0);
    let decision = petra.loss_response(&loss(2_000));
    assert_eq!(decision, Decision::TestPolicer { target, restore });
    petra.on_loss(&loss(2_000));
    assert!(petra.policing.is_dipping() && !petra.policing.may_dip());
    // A loss in the dip is counted, and not reduced for.
    let kept = petra.loss_response(&loss(2_100));
    assert_eq!(kept, Decision::Keep(Why::NoQueue));
}

#[test]
fn behind_a_policer_four_datagrams_remain() {
    let mut petra = behind_a_policer(4_000.0);
    for (window, expected) in [(5_000.0, 4_800.0), (4_500.0, 4_500.0)] {
        petra.window.set(window);
        assert_near(reduction(petra.loss_response(&loss(2_000))), expected);
    }
}

#[test]
fn a_loss_below_the_safe_window_is_congestion_only_among_others() {
    let mut petra = behind_a_policer(20_000.0);
    let kept = petra.loss_response(&loss(2_000));
    assert_eq!(kept, Decision::Keep(Why::NoQueue));
    petra.loss_rate.on_loss(3 * DATAGRAM, &petra.window);
    assert_near(reduction(petra.loss_response(&loss(2_000))), 17_000.0);
    // More than a tenth, which is not the policer's: as without one.
    petra.loss_rate.on_loss(14 * DATAGRAM, &petra.window);
    assert_near(reduction(petra.loss_response(&loss(2_000))), 14_000.0);
    petra.on_loss(&loss(2_000));
    assert!(petra.policing.is_detected() && petra.policing.may_dip());
}

#[test]
fn a_heavy_loss_above_the_safe_window_reduces_to_seven_tenths() {
    let mut petra = behind_a_policer(10_000.0);
    petra.loss_rate.on_loss(16 * DATAGRAM, &petra.window);
    assert_near(reduction(petra.loss_response(&loss(2_000))), 14_000.0);
    petra.on_loss(&loss(2_000));
    assert!(petra.policing.is_detected());
}

/// The test would begin once two such losses had come.
#[test]
fn losses_that_a_queue_explains_test_for_no_policer() {
    let tests = |mut petra: Petra| {
        for now in [2_700, 2_900] {
            petra.loss_rate.on_loss(13 * DATAGRAM, &petra.window);
            petra.on_loss(&loss(now));
        }
        petra.policing.may_dip()
    };
    let mut alone = steady(petra());
    flow(&mut alone, 2_000, 2_700, 90);
    assert!(tests(alone));
    assert!(!tests(queued(petra())));
    assert!(!tests(after_losses(102, 10)));
}

#[test]
fn a_response_that_reduces_nothing_does_not_end_a_test_for_a_policer() {
    let mut petra = policed();
    petra.on_loss(&loss(2_700));
    petra.window.set(5_000.0);
    petra.loss_rate.on_loss(13 * DATAGRAM, &petra.window);
    petra.on_loss(&loss(2_900));
    assert_eq!(petra.window(), 5_000);
    assert!(petra.policing.is_dipping());
}

/// Congestion Experienced reduces to 0.7 to 0.85, which a test that fails must not undo.
#[test]
fn another_reduction_ends_a_test_for_a_policer() {
    let mut petra = policed();
    petra.on_loss(&loss(2_700));
    assert!(petra.policing.is_dipping());
    petra.on_congestion_experienced(&CongestionExperienced {
        now: ms(2_900),
        last_sent: ms(2_800),
        bytes_in_flight: 5 * DATAGRAM,
        rtt: None,
    });
    assert!(!petra.policing.is_dipping());
}

#[test]
fn an_application_that_holds_back_ends_a_test_for_a_policer_and_restores_later() {
    let mut petra = policed();
    let before = petra.window.bytes();
    petra.on_loss(&loss(2_700));
    let tested = petra.window();
    petra.on_ack(&Ack {
        app_limited: true,
        ..measured(2_900, 90)
    });
    // RFC 9002, Section 7.8: a window that is not used does not grow.
    assert_eq!(petra.window(), tested);
    petra.on_ack(&measured(3_100, 90));
    assert!(!petra.policing.is_dipping());
    // To the window of before, and with it the growth of an ACK.
    let growth = petra.window() as f64 - before;
    assert!((0.0..=0.1 * DATAGRAM as f64).contains(&growth), "{growth}");
}

#[test]
fn losses_far_below_the_safe_window_are_no_policers() {
    let mut petra = behind_a_policer(57_000.0);
    petra.loss_rate.on_loss(3 * DATAGRAM, &petra.window);
    petra.on_loss(&loss(2_000));
    // Three datagrams of 66, and the one of the loss: 0.85 x 20 000.
    assert_eq!(petra.window(), 17_000);
    assert!(petra.policing.is_detected());
    petra.on_loss(&loss(2_200));
    assert_eq!(petra.window(), 14_450);
    assert!(petra.policing.is_detected());
    petra.on_loss(&loss(2_400));
    assert!(!petra.policing.is_detected());
}

#[test]
fn where_more_is_lost_than_acknowledged_the_rate_is_that_of_the_last_samples() {
    let mut petra = steady(petra());
    let before = petra.delivery.estimate().unwrap();
    // One datagram in 90 ms, a tenth of the rate.
    let slow = |petra: &mut Petra, from: u64| {
        for n in 0..6 {
            petra.on_ack(&measured(from + 90 * n, 90));
        }
    };
    let mut calm = petra.clone();
    slow(&mut calm, 2_090);
    assert_near(calm.delivery.estimate().unwrap(), before);
    petra.on_loss(&Loss {
        bytes: 128 * DATAGRAM,
        ..loss(2_000)
    });
    slow(&mut petra, 2_090);
    assert_near(petra.delivery.estimate().unwrap(), before / 10.0);
}

#[test]
fn before_any_estimate_few_losses_are_kept_and_many_halve() {
    let mut petra = petra();
    let first = Loss {
        rtt: None,
        ..loss(100)
    };
    assert_eq!(petra.loss_response(&first), Decision::Keep(Why::Unmeasured));
    petra.on_loss(&Loss {
        bytes: 3 * DATAGRAM,
        ..first
    });
    assert_eq!(petra.window(), INITIAL / 2);
}

#[test]
fn off_every_loss_reduces_to_the_estimate() {
    let petra = steady(without(|on| on.best_recovery = false));
    assert_near(reduction(petra.loss_response(&loss(2_000))), 13_200.0);
}

#[test]
fn off_a_loss_before_any_estimate_halves() {
    let petra = without(|on| on.best_recovery = false);
    assert_eq!(reduction(petra.loss_response(&loss(100))), 6_000.0);
}
