use super::super::events::{
    loss, measured, ms, pto, rtt, sent, settings, spurious, DATAGRAM, INITIAL, MIN_RTT,
};
use super::congestion_response::{Decision, Why};
use super::path_change::LongerPath;
use super::standing_queue::QueueSign;
use super::*;

fn with(change: impl Fn(&mut PetraConfig)) -> Petra {
    let mut config = PetraConfig::default();
    change(&mut config);
    Petra::new(config, settings())
}

fn without(mechanism: impl Fn(&mut Mechanisms)) -> Petra {
    with(|config| mechanism(&mut config.mechanisms))
}

fn petra() -> Petra {
    with(|_| ())
}

/// A datagram every 9 ms: 133 333 bytes a second, 12 000 in 90 ms.
fn flow(petra: &mut Petra, from: u64, to: u64, latest: u64) {
    for now in (from..to).step_by(9) {
        petra.on_ack(&measured(now, latest));
    }
}

/// In congestion avoidance, with a window of 20 000 bytes.
fn steady(mut petra: Petra) -> Petra {
    flow(&mut petra, 1_000, 2_000, 90);
    petra.window.set(20_000.0);
    petra.window.set_ssthresh(13_200.0);
    petra.pace();
    petra
}

/// In congestion avoidance, with ACKs of three datagrams at a time, 27 ms apart: the same rate.
fn bunched() -> Petra {
    let mut petra = petra();
    for now in (1_000..3_000).step_by(27) {
        for _ in 0..3 {
            petra.on_ack(&measured(now, 90));
        }
    }
    petra.window.set(15_600.0);
    petra.window.set_ssthresh(15_600.0);
    petra
}

/// With a queue of 20 ms. At this rate two datagrams would wait for 18: so it is
/// tenfold.
fn queued(mut petra: Petra) -> Petra {
    petra.config.drain = false;
    for now in 1_000..2_000 {
        let latest = if now < 1_200 { 90 } else { 110 };
        petra.on_ack(&measured(now, latest));
    }
    petra.window.set(130_000.0);
    petra.window.set_ssthresh(120_000.0);
    assert!(petra.queue_explains_loss());
    petra
}

/// In a window of 20 000 bytes, with a safe one of `safe`.
fn behind_a_policer(safe: f64) -> Petra {
    let mut petra = steady(petra());
    for _ in 0..10 {
        (0..4).for_each(|_| petra.policing.on_loss(ms(1_900), &petra.window));
        petra.policing.end_round(DATAGRAM as f64, false);
    }
    for _ in 0..2 {
        petra.policing.begin_dip(ms(1_900), safe / 0.85);
        for _ in 0..5 {
            petra.policing.on_ack(100 * DATAGRAM, &petra.window);
            petra.policing.end_round(DATAGRAM as f64, false);
        }
    }
    assert_near(petra.policing.safe_window().unwrap(), safe);
    petra
}

fn assert_near(left: f64, right: f64) {
    assert!((left / right - 1.0).abs() < 1e-3, "{left} is not {right}");
}

fn reduction(decision: Decision) -> f64 {
    match decision {
        Decision::Reduce(target) | Decision::Shorten(target) => target,
        other => panic!("{other:?}"),
    }
}

mod delay_step;
mod loss_trial;
mod shorter_path;

mod target {
    use super::*;

    #[test]
    fn it_is_the_bdp_and_a_datagram() {
        let petra = steady(petra());
        assert_near(petra.ssthresh_target().unwrap(), 12_000.0 + 1_200.0);
    }

    #[test]
    fn it_allows_for_acks_in_bunches() {
        let mut bunched = bunched();
        assert_near(bunched.ssthresh_target().unwrap(), 12_000.0 + 3_600.0);
        bunched.config.ack_allowance = false;
        assert_near(bunched.ssthresh_target().unwrap(), 12_000.0 + 1_200.0);
    }

    #[test]
    fn acks_alone_add_what_the_path_delivers_in_100_ms_at_most() {
        let mut petra = steady(petra());
        petra.on_ack(&Ack {
            bytes: 1_000_000,
            ..measured(2_009, 90)
        });
        petra.on_ack(&measured(2_018, 90));
        assert_near(petra.ssthresh_target().unwrap(), 12_000.0 + 13_333.0);
    }

    #[test]
    fn there_is_none_before_an_estimate() {
        assert_eq!(petra().ssthresh_target(), None);
    }
}

mod pacing_rate {
    use super::*;

    fn of(petra: &Petra) -> f64 {
        let mut petra = petra.clone();
        petra.pace();
        petra.pacing_rate().unwrap() as f64
    }

    #[test]
    fn a_window_lasts_for_the_time_that_acks_are_held_too() {
        let mut petra = bunched();
        // 15 600 bytes take 117 ms at the rate of the path, not 90.
        assert_near(of(&petra), 1.1 * 15_600.0 / 0.117);
        petra.window.set(31_200.0);
        assert_near(of(&petra), 1.1 * 31_200.0 / 0.117);
    }

    #[test]
    fn a_small_window_does_not_slow_the_path_down() {
        let mut petra = bunched();
        petra.window.set(13_000.0);
        petra.window.set_ssthresh(13_000.0);
        assert_near(of(&petra), 1.1 * 133_333.0);
    }

    /// A datagram every 200 ms, which the target includes, would take as long.
    #[test]
    fn a_low_rate_is_spread_over_the_minimum_rtt_and_100_ms_at_most() {
        let mut petra = petra();
        for now in (1_000..5_000).step_by(200) {
            petra.on_ack(&measured(now, 90));
        }
        assert_near(petra.spread_for_aggregates().unwrap().seconds, 0.19);
    }

    #[test]
    fn without_aggregates_and_in_slow_start_it_is_a_window_a_round_trip() {
        let single = steady(petra());
        assert_near(of(&single), 1.1 * 20_000.0 / 0.09);
        let mut slow_start = bunched();
        slow_start.window.set_ssthresh(20_000.0);
        assert_near(of(&slow_start), 1.1 * 15_600.0 / 0.09);
    }
}

mod on_loss {
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
}

mod on_spurious_loss {
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
}

mod on_pto {
    use super::*;

    fn nth(count: u32) -> Pto {
        Pto {
            count,
            ..pto(2_200)
        }
    }

    #[test]
    fn the_first_is_a_probe() {
        let petra = queued(petra());
        assert_eq!(petra.pto_response(&nth(1)), Decision::Keep(Why::TailProbe));
    }

    #[test]
    fn the_second_is_congestion_where_a_queue_stood() {
        let mut petra = queued(petra());
        petra.on_pto(&nth(2));
        assert_near(petra.window.bytes(), 109_200.0);
        assert_eq!(petra.metrics().last_reduction, Some(Reduction::Pto));
    }

    #[test]
    fn what_a_drain_would_restore_is_forgotten() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        petra.on_ack(&measured(2_000, 110));
        petra.on_pto(&nth(2));
        let reduced = petra.window.bytes();
        // Under a queue that others make longer, delivery is half of what it was.
        for now in (2_201..2_600).step_by(2) {
            petra.on_ack(&measured(now, 110 + (now - 2_200) / 30));
        }
        assert!(petra.competition.is_detected());
        assert!(petra.window.bytes() < reduced + 10_000.0);
    }

    #[test]
    fn and_a_silent_link_where_none_did() {
        let petra = steady(petra());
        assert_eq!(petra.pto_response(&nth(2)), Decision::Keep(Why::NoQueue));
    }

    #[test]
    fn further_ones_are_answered() {
        let petra = queued(petra());
        assert_eq!(
            petra.pto_response(&nth(3)),
            Decision::Keep(Why::SentBeforeRecovery)
        );
    }

    #[test]
    fn before_any_round_trip_nothing_is_known() {
        let mut petra = petra();
        let blind = Pto {
            rtt: None,
            ..nth(2)
        };
        assert_eq!(petra.pto_response(&blind), Decision::Keep(Why::Unmeasured));
        petra.on_pto(&blind);
        assert_eq!(petra.window(), INITIAL);
    }

    #[test]
    fn off_it_is_what_rfc_9002_has() {
        let petra = queued(without(|on| on.timeout_reaction = false));
        assert_eq!(petra.pto_response(&nth(2)), Decision::Keep(Why::Off));
    }
}

mod in_slow_start {
    use super::*;

    #[test]
    fn it_ends_when_a_queue_builds() {
        let mut petra = petra();
        flow(&mut petra, 1_000, 1_153, 90);
        assert_eq!(petra.ssthresh(), None);
        flow(&mut petra, 1_153, 1_306, 110);
        assert_eq!(petra.ssthresh(), None);
        let mut now = 1_306;
        while petra.ssthresh().is_none() && !petra.slow_start.is_flat() {
            flow(&mut petra, now, now + 9, 110);
            now += 9;
            assert!(now < 3_000);
        }
        assert!(!petra.slow_start.is_flat());
        assert_near(petra.ssthresh().unwrap() as f64, 13_200.0);
        assert_eq!(petra.metrics().last_reduction, Some(Reduction::Queue));
    }

    #[test]
    fn it_ends_when_delivery_no_longer_grows() {
        let mut petra = petra();
        flow(&mut petra, 1_000, 1_306, 90);
        assert_eq!(petra.ssthresh(), None);
        flow(&mut petra, 1_306, 1_603, 90);
        assert_near(petra.ssthresh().unwrap() as f64, 13_200.0);
    }

    /// The RTT rises by a millisecond a packet within a flight of 25, as from jitter.
    #[test]
    fn the_gaps_of_a_flight_show_how_little_of_its_jitter_is_its_own() {
        let suspects = |gap: u64| {
            let mut petra = petra();
            flow(&mut petra, 820, 900, 90);
            for flight in (1_000..1_780).step_by(130) {
                for index in 0..25 {
                    petra.on_ack(&measured(flight + gap * index, 90 + index));
                }
            }
            let sign = |rtt: &u64| petra.queue.sign_of_building(MIN_RTT, ms(*rtt));
            (90..200).find(|rtt| sign(rtt) == QueueSign::Possible)
        };
        assert_eq!((suspects(3), suspects(1)), (Some(102), Some(105)));
    }

    /// A rise and a fall by 10 ms, which have a noise of 120 ms, while delivery grows.
    fn jittered() -> Petra {
        let mut petra = petra();
        for (from, every, rtt) in [(1_000, 24, 90), (1_216, 18, 100), (1_432, 12, 90)] {
            for now in (from..from + 216).step_by(every) {
                petra.on_ack(&measured(now, rtt));
            }
        }
        petra
    }

    #[test]
    fn it_lasts_while_jitter_hides_the_growth_of_delivery() {
        let mut petra = jittered();
        flow(&mut petra, 1_648, 3_000, 90);
        assert_eq!(petra.ssthresh(), None);
    }

    /// After a slow rise, each packet waits for more than the noise and half of the threshold, and
    /// for less than the noise and the whole.
    #[test]
    fn it_does_not_last_while_growth_is_conservative() {
        let mut petra = jittered();
        let mut now = 1_648;
        while petra.ssthresh().is_none() {
            let waits = ((now - 1_648) / 9).min(128);
            petra.on_ack(&measured(now, 90 + waits));
            assert_eq!(petra.min_rtt(), MIN_RTT);
            assert!(!petra.queue.is_building(MIN_RTT));
            now += 9;
            assert!(now < 6_000);
        }
    }

    #[test]
    fn a_random_loss_does_not_end_it() {
        let mut petra = petra();
        flow(&mut petra, 1_000, 1_153, 90);
        let before = petra.window();
        petra.on_loss(&loss(1_150));
        assert_eq!(petra.window(), before);
        assert_eq!(petra.ssthresh(), None);
    }

    #[test]
    fn off_it_does_not_end_by_itself() {
        let mut petra = without(|on| on.initial_ssthresh = false);
        flow(&mut petra, 1_000, 1_153, 90);
        flow(&mut petra, 1_153, 2_000, 110);
        assert_eq!(petra.ssthresh(), None);
    }

    #[test]
    fn a_packet_that_waited_is_no_reason_to_grow() {
        let mut petra = petra();
        flow(&mut petra, 1_000, 1_027, 90);
        let before = petra.window();
        // The threshold of 11.25 ms.
        petra.on_ack(&measured(1_036, 102));
        assert_eq!(petra.window(), before);
        assert_eq!(petra.ssthresh(), None);
        petra.on_ack(&measured(1_045, 95));
        assert!(petra.window() > before);
    }

    #[test]
    fn from_half_of_the_threshold_to_the_whole_growth_is_conservative() {
        // 90 ms / 16 and 90 ms / 8. With room, faster start grows by three.
        let growth = [
            (95, 3 * DATAGRAM),
            (96, DATAGRAM / 4),
            (101, DATAGRAM / 4),
            (102, 0),
        ];
        for (rtt, growth) in growth {
            let mut petra = petra();
            flow(&mut petra, 1_000, 1_027, 90);
            let before = petra.window();
            petra.max_in_flight = before;
            petra.on_ack(&Ack {
                bytes_in_flight: 1_200,
                ..measured(1_036, rtt)
            });
            assert_eq!(petra.window() - before, growth, "{rtt}");
        }
    }

    /// Packets that leave with ACKs in slots all wait for as long as the first of them.
    #[test]
    fn a_delay_that_is_the_paths_does_not_end_it() {
        let mut petra = petra();
        flow(&mut petra, 1_000, 1_090, 90);
        let mut now = 1_090;
        for _ in 0..20 {
            // The packets of the window of a round trip before.
            let sent = petra.window();
            petra.max_in_flight = sent;
            for _ in 0..11 {
                petra.on_ack(&Ack {
                    bytes: sent / 11,
                    ..measured(now, 98)
                });
                now += 9;
            }
            assert_eq!(petra.ssthresh(), None);
        }
        assert!(petra.window() > 20 * INITIAL);
    }

    /// A queue that falls with a pause of the application is no jitter of the path.
    #[test]
    fn a_pause_does_not_hide_a_later_queue() {
        let mut petra = without(|on| on.initial_ssthresh = false);
        flow(&mut petra, 1_000, 1_200, 90);
        flow(&mut petra, 1_200, 1_400, 96);
        for now in (1_400..1_600).step_by(9) {
            petra.on_ack(&Ack {
                app_limited: true,
                ..measured(now, 90)
            });
        }
        flow(&mut petra, 1_600, 2_000, 110);
        assert!(petra.window.in_slow_start() && petra.queue.is_building(MIN_RTT));
    }

    #[test]
    fn growth_is_by_the_bytes_acknowledged_and_faster_with_room() {
        let mut slow = without(|on| on.faster_start = false);
        let mut fast = petra();
        for petra in [&mut slow, &mut fast] {
            petra.on_ack(&Ack {
                bytes_in_flight: 2_400,
                ..measured(1_000, 90)
            });
            assert_eq!(petra.window(), INITIAL + DATAGRAM);
            petra.on_ack(&Ack {
                bytes_in_flight: 2_400,
                ..measured(1_009, 90)
            });
        }
        assert_eq!(slow.window(), INITIAL + 2 * DATAGRAM);
        // 12 000 / 2400 = 5, of which 3.
        assert_eq!(fast.window(), INITIAL + 4 * DATAGRAM);
    }

    #[test]
    fn the_window_is_at_most_twice_what_was_in_flight() {
        let mut petra = petra();
        petra.on_ack(&Ack {
            bytes: 1_000_000,
            ..measured(1_000, 90)
        });
        assert_eq!(petra.window(), 2 * INITIAL);
        petra.on_sent(&sent(1_001, 50_000));
        petra.on_ack(&Ack {
            bytes: 1_000_000,
            ..measured(1_002, 90)
        });
        assert_eq!(petra.window(), 100_000);
    }
}

mod in_congestion_avoidance {
    use super::*;

    /// ACKs of a datagram each, at these milliseconds, all delayed by the queue:
    /// when the window was drained.
    fn drains(petra: &mut Petra, at: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut drains = Vec::new();
        for now in at {
            petra.on_ack(&measured(now, 100));
            // A drain begins a recovery period.
            if petra.window.sent_before_recovery(ms(now)) {
                drains.push(now);
            }
        }
        drains
    }

    #[test]
    fn a_queue_is_drained_to_the_estimate_and_again_once_that_has_shown() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        assert_eq!(drains(&mut petra, 2_000..2_200), [2_000]);
        // 0.85 x 130 000, and 0.95 of that: the BDP and a datagram are 109 200.
        assert_near(petra.window.ssthresh().unwrap(), 110_500.0);
        assert_eq!(petra.metrics().last_reduction, Some(Reduction::Queue));
        // Three round trips of 100 ms end before the next, wherever they began.
        let drains = drains(&mut petra, 2_200..2_400);
        assert!((2_201..=2_302).contains(&drains[0]), "{drains:?}");
        assert_near(petra.window.ssthresh().unwrap(), 104_975.0);
    }

    #[test]
    fn a_queue_that_rivals_keep_full_is_left_to_them() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        // With the drain, delivery falls to half.
        let drains = drains(&mut petra, (2_000..2_400).step_by(2));
        assert_eq!(drains, [2_000]);
        let ack = measured(2_400, 100);
        assert_eq!(petra.queue_response(&ack), Decision::Keep(Why::Competition));
        assert!(petra.window.bytes() >= 130_000.0, "it is restored");
    }

    /// Returns what petra adds per round trip at this time, in datagrams.
    fn increase(petra: &Petra, now: u64) -> f64 {
        let window = petra.window.bytes() / DATAGRAM as f64;
        let ack = measured(now, 100);
        { petra.cubic }.datagrams(ack.now, &ack.rtt, window, 0.0)
    }

    /// Competing flows keep a queue full.
    fn competing() -> Petra {
        let mut petra = queued(petra());
        petra.config.drain = true;
        petra.max_in_flight = 130_000;
        drains(&mut petra, (2_000..2_400).step_by(2));
        assert!(petra.competition.is_detected());
        petra
    }

    #[test]
    fn under_competition_an_ack_adds_its_part_of_the_round_trips_increase() {
        let mut petra = competing();
        let (window, ack) = (petra.window.bytes(), measured(2_402, 110));
        let mut cubic = petra.cubic;
        let increase = cubic.datagrams(ack.now, &ack.rtt, window / DATAGRAM as f64, 1.0);
        petra.grow(&ack);
        assert_eq!(petra.cubic, cubic);
        let grown = (petra.window.bytes() - window) / DATAGRAM as f64;
        assert_near(grown, increase * ack.bytes as f64 / window);
    }

    #[test]
    fn under_competition_time_in_which_the_window_was_not_used_is_left_out() {
        let mut petra = competing();
        let mut cubic = petra.cubic;
        cubic.pass_over(ms(2_450));
        petra.on_ack(&Ack {
            app_limited: true,
            ..measured(2_450, 110)
        });
        assert_eq!(petra.cubic, cubic);
    }

    #[test]
    fn cubics_maximum_is_the_window_before_a_loss_while_losses_bound_it() {
        let mut competing = competing();
        let (mut cubic, before) = (competing.cubic, competing.window.bytes());
        competing.on_loss(&loss(2_402));
        let windows = [before, competing.window.bytes()];
        let [before, after] = windows.map(|bytes| bytes / DATAGRAM as f64);
        cubic.on_reduction(before, after);
        assert_eq!(competing.cubic, cubic);

        let mut alone = steady(petra());
        alone.loss_rate.on_loss(13 * DATAGRAM, &alone.window);
        alone.on_loss(&loss(2_000));
        assert_eq!(alone.cubic, CubicGrowth::default());
    }

    #[test]
    fn cubics_growth_is_forgotten_once_losses_bound_the_window_no_longer() {
        let mut petra = steady(petra());
        petra.cubic.on_reduction(100.0, 70.0);
        petra.end_round(&measured(2_000, 90));
        assert_eq!(petra.cubic, CubicGrowth::default());

        let mut alone = queued(with(|_| ()));
        alone.cubic.on_reduction(100.0, 70.0);
        alone.end_round(&measured(2_000, 110));
        assert_eq!(alone.cubic, CubicGrowth::default());

        let mut policed = behind_a_policer(19_000.0);
        policed.cubic.on_reduction(100.0, 70.0);
        assert!(policed.policing.is_detected());
        policed.end_round(&measured(2_000, 90));
        assert_ne!(policed.cubic, CubicGrowth::default());
    }

    /// The second may show that the competition found before goes on.
    #[test]
    fn cubics_growth_is_kept_between_two_drains_in_a_row() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        assert_eq!(drains(&mut petra, 2_000..2_200), [2_000]);
        petra.cubic.on_reduction(100.0, 70.0);
        assert_eq!(drains(&mut petra, 2_200..2_400).len(), 1);
        assert!(petra.competition.is_testing());
        assert_ne!(petra.cubic, CubicGrowth::default());
    }

    /// Six seconds without a loss have brought the curve of CUBIC to many datagrams a round trip.
    /// A loss begins another, and its undo returns to the first.
    #[test]
    fn under_competition_it_grows_as_cubic_since_the_last_loss() {
        let mut petra = competing();
        let before = petra.window.bytes();
        for now in (2_400..8_400).step_by(50) {
            petra
                .cubic
                .datagrams(ms(now), &measured(now, 100).rtt, 100.0, 0.0);
        }
        assert!(increase(&petra, 8_400) > 20.0);
        petra.on_loss(&loss(2_402));
        assert_near(petra.window.bytes(), 0.7 * before);
        assert_near(petra.ssthresh().unwrap() as f64, 0.7 * before);
        assert!(increase(&petra, 8_400) < 5.0);
        petra.on_spurious_loss(&spurious(2_410, true));
        assert!(increase(&petra, 8_400) > 20.0);
        petra.on_max_datagram_size(1_400);
        assert!(increase(&petra, 8_400) < 1.1);
    }

    #[test]
    fn nothing_grows_while_it_is_tested_whose_queue_it_is() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        petra.max_in_flight = 130_000;
        drains(&mut petra, 2_000..2_001);
        let drained = petra.window.bytes();
        let ack = measured(2_150, 100);
        assert!(petra.window.may_grow(&ack));
        assert_eq!(petra.queue_response(&ack), Decision::Keep(Why::TestPending));
        petra.on_ack(&ack);
        assert_eq!(petra.window.bytes(), drained);
    }

    #[test]
    fn a_drain_leaves_most_of_the_window() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        petra.window.set(1_000_000.0);
        let decision = petra.queue_response(&measured(2_000, 100));
        assert_eq!(reduction(decision), 850_000.0);
    }

    #[test]
    fn a_drain_takes_a_whole_datagram() {
        let mut petra = petra();
        petra.config.drain = false;
        for now in (1_000..4_000).step_by(30) {
            petra.on_ack(&measured(now, if now < 3_400 { 90 } else { 170 }));
        }
        petra.config.drain = true;
        // 3600 bytes in 90 ms, and a datagram: below 0.85 x 7200, which is 6120.
        petra.window.set_ssthresh(4_800.0);
        petra.window.set(7_200.0);
        let decision = petra.queue_response(&measured(4_000, 170));
        assert_eq!(reduction(decision), 6_000.0);
    }

    /// Else the test for competing flows would follow a drain that changed nothing.
    #[test]
    fn a_drain_takes_a_twentieth_of_a_window_at_the_bdp() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        petra.window.set(100_000.0);
        let decision = petra.queue_response(&measured(2_000, 100));
        assert_eq!(reduction(decision), 95_000.0);
    }

    /// ACKs of 40 datagrams at a time, 40 ms apart: the same rate. To a window that changed before,
    /// the delay of a longer path would belong.
    fn aggregates(petra: &mut Petra, latest: impl Fn(u64) -> u64) {
        petra.path_change = PathChange::default();
        for now in (2_000..4_000).step_by(40) {
            for _ in 0..40 {
                petra.on_ack(&measured(now, latest(now)));
            }
        }
    }

    #[test]
    fn acks_in_large_aggregates_do_not_slow_growth() {
        let mut petra = queued(petra());
        aggregates(&mut petra, |_| 100);
        assert!(petra.target().unwrap().is_of_aggregates());
        assert!(petra
            .queue
            .may_be_returning(MIN_RTT, petra.queue.recent_rtt()));
        assert!(petra.linear_increase(&measured(4_000, 100)) > 1.0);
    }

    #[test]
    fn acks_in_large_aggregates_are_drained_to_the_target_at_most() {
        let mut petra = queued(petra());
        aggregates(&mut petra, |now| 110 + now / 200 % 2 * 15);
        let target = petra.ssthresh_target().unwrap();
        assert!(target > 1.125 * petra.bdp().unwrap());
        petra.config.drain = true;
        petra.window.set(target + 1_200.0);
        let decision = petra.queue_response(&measured(4_400, 110));
        assert_eq!(reduction(decision), target);
        petra.window.set(target);
        let decision = petra.queue_response(&measured(4_400, 110));
        assert_eq!(decision, Decision::Keep(Why::AckAggregation));
    }

    #[test]
    fn a_short_queue_under_acks_in_large_aggregates_is_not_of_competing_flows() {
        // 1200 bytes a millisecond, 40 datagrams at a time. An eighth of 90 ms is 11.25 ms.
        for (latest, shared) in [(90, false), (95, false), (110, true)] {
            let mut petra = queued(petra());
            aggregates(&mut petra, |_| latest);
            assert!(petra.target().unwrap().is_of_aggregates());
            assert_eq!(petra.queue_persists(), latest > 90, "{latest}");
            assert_eq!(petra.queue_may_be_shared(), shared, "{latest}");
            // The increase doubles without one.
            assert_eq!(petra.increase.datagrams(100.0) == 1.0, shared, "{latest}");
            // Half as much is delivered, over the same queue.
            petra.competition.on_reduction(None);
            let detected = (4_000..5_000).step_by(40).any(|now| {
                (0..20).for_each(|_| petra.on_ack(&measured(now, latest)));
                petra.competition.is_detected()
            });
            assert_eq!(detected, shared, "{latest}");
        }
    }

    /// A route that is 60 ms longer, until the controller finds it, if it does.
    fn reroute(petra: &mut Petra, app_limited: bool) -> bool {
        // Half of the window of the new path, a datagram more each round trip.
        let mut now = 2_000;
        for datagrams in 8..16 {
            petra.window.set(1_200.0 * datagrams as f64);
            for _ in 0..datagrams {
                now += 150 / datagrams;
                petra.on_ack(&Ack {
                    app_limited,
                    ..measured(now, 150)
                });
                if petra.queue.base_rtt(MIN_RTT) == ms(150) {
                    return true;
                }
            }
        }
        false
    }

    #[test]
    fn a_window_that_is_not_used_tells_nothing_of_the_path() {
        assert!(!reroute(&mut steady(petra()), true));
    }

    #[test]
    fn a_longer_path_gets_the_window_of_the_same_rate_in_slow_start() {
        let mut petra = steady(petra());
        let before = petra.delivery.estimate().unwrap();
        assert!(reroute(&mut petra, false));
        assert_near(petra.window.ssthresh().unwrap(), before * 0.15);
        assert!(petra.window.in_slow_start());
        assert!(!petra.queue_persists() && !petra.competition.is_detected());
    }

    #[test]
    fn a_longer_path_whose_delay_moves_was_a_queue() {
        for (delay, losses, base) in [(155, 9, 150), (165, 0, 150), (165, 9, 90), (140, 0, 90)] {
            let mut petra = steady(petra());
            assert!(reroute(&mut petra, false));
            petra.path_change.on_loss(1_200 * losses);
            flow(&mut petra, 4_000, 6_000, delay);
            assert_eq!(petra.queue.base_rtt(MIN_RTT), ms(base), "{delay}");
        }
    }

    #[test]
    fn a_longer_path_that_the_window_fits_leaves_it_if_the_rate_is_known() {
        let mut petra = steady(petra());
        let path = |rate| LongerPath {
            min_rtt: ms(200),
            additional: ms(110),
            rate,
        };
        petra.follow(path(Some(100_000.0)));
        assert_eq!((petra.window(), petra.ssthresh()), (20_000, Some(13_200)));
        petra.follow(path(None));
        assert_eq!((petra.window(), petra.ssthresh()), (20_000, None));
        assert!(petra.window.in_slow_start());
    }

    #[test]
    fn competing_flows_make_a_loss_congestion() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        // With the drain, delivery falls to half.
        drains(&mut petra, (2_000..2_400).step_by(2));
        assert!(petra.competition.is_detected() && !petra.queue_explains_loss());
        petra.window.set(200_000.0);
        assert_eq!(reduction(petra.loss_response(&loss(2_800))), 140_000.0);
    }

    #[test]
    fn an_idle_application_fills_no_queue() {
        let mut petra = queued(petra());
        petra.config.drain = true;
        let idle = Ack {
            app_limited: true,
            ..measured(2_000, 100)
        };
        assert_eq!(petra.queue_response(&idle), Decision::Keep(Why::AppLimited));
    }

    /// A queue of this delay, and the response to it.
    fn response(queue: QueueTarget, latest: u64, window: f64) -> Decision {
        let mut petra = queued(with(|config| config.queue = queue));
        // Until the beginning of the queue is no longer jitter.
        for now in 2_000..8_000 {
            petra.on_ack(&measured(now, latest));
        }
        petra.window.set(window);
        petra.config.drain = true;
        petra.queue_response(&measured(8_000, latest))
    }

    #[test]
    fn a_full_queue_keeps_half_of_the_base_rtt() {
        // 45 ms are allowed above the base RTT of 90 ms and a threshold of 1.875 ms.
        let decision = response(QueueTarget::Full, 136, 180_000.0);
        assert_eq!(decision, Decision::Keep(Why::NoQueue));
        // 1200 bytes a millisecond: 90 and 45 ms, and a datagram.
        let decision = response(QueueTarget::Full, 138, 180_000.0);
        assert_near(reduction(decision), 163_200.0);
        // 90 ms and a datagram are below 0.85 of the window.
        let decision = response(QueueTarget::Balanced, 100, 180_000.0);
        assert_near(reduction(decision), 153_000.0);
    }

    #[test]
    fn a_short_queue_has_no_test_for_competing_flows() {
        let mut petra = queued(with(|config| config.queue = QueueTarget::Short));
        petra.config.drain = true;
        // With the drain, delivery falls to half.
        let drains = drains(&mut petra, (2_000..2_500).step_by(2));
        // One per round trip.
        assert_eq!(drains, [2_000, 2_102, 2_204, 2_306, 2_408]);
        assert!(!petra.competition.is_testing() && !petra.competition.is_detected());
    }

    #[test]
    fn off_nothing_is_drained() {
        let petra = queued(petra());
        let decision = petra.queue_response(&measured(2_000, 100));
        assert_eq!(decision, Decision::Keep(Why::Off));
    }

    #[test]
    fn without_a_queue_nothing_is_drained() {
        let petra = steady(petra());
        let decision = petra.queue_response(&measured(2_000, 90));
        assert_eq!(decision, Decision::Keep(Why::NoQueue));
    }

    /// In congestion avoidance, after this many round trips without a queue.
    fn quiet(rounds: u32, probe: bool) -> Petra {
        let mut petra = steady(with(|config| config.probe = probe));
        petra.increase = AdditiveIncrease::default();
        for _ in 0..rounds {
            petra.increase.end_round(false, false);
        }
        petra
    }

    #[test]
    fn growth_is_a_datagram_a_window_and_doubles_when_quiet() {
        for (probe, rounds, step) in [(true, 0, 1), (false, 20, 1), (true, 7, 2)] {
            let mut petra = quiet(rounds, probe);
            petra.window.set(20_000.0);
            petra.grow(&measured(2_000, 90));
            // 1200 x 1200 / 20 000
            assert_eq!(petra.window(), 20_000 + step * 72, "{probe} {rounds}");
        }
    }

    #[test]
    fn growth_is_an_eighth_of_the_window_per_round_trip_at_most() {
        let mut petra = quiet(20, true);
        // 16 datagrams: two of them for a window of ACKs.
        petra.window.set(19_200.0);
        petra.grow(&measured(2_000, 90));
        assert_eq!(petra.window(), 19_200 + 2 * 75);
    }

    #[test]
    fn growth_is_a_datagram_a_round_trip_where_a_queue_may_be_returning() {
        // Two datagrams take 18 ms.
        for (rounds, probe, latest, more) in [
            (9, true, 108, true),
            (9, true, 109, false),
            (0, true, 90, false),
            (9, false, 90, false),
        ] {
            let mut petra = quiet(rounds, probe);
            flow(&mut petra, 2_008, 2_040, latest);
            let datagrams = petra.linear_increase(&measured(2_040, latest));
            assert!(datagrams >= 1.0);
            assert_eq!(datagrams > 1.0, more, "{rounds} {latest}");
        }
    }

    #[test]
    fn a_queue_or_a_test_alone_does_not_stop_growth() {
        let grows = |mut petra: Petra, latest| {
            let before = petra.window.bytes();
            petra.on_ack(&measured(2_000, latest));
            petra.window.bytes() > before
        };
        let mut tested = steady(petra());
        tested.competition.on_reduction(None);
        assert!(!tested.queue_persists() && grows(tested, 90));
        let mut standing = queued(petra());
        standing.max_in_flight = 130_000;
        assert!(!standing.competition.is_testing() && grows(standing, 110));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut petra = steady(petra());
        let before = petra.window.bytes();
        petra.on_ack(&Ack {
            app_limited: true,
            ..measured(2_000, 90)
        });
        assert_eq!(petra.window.bytes(), before);
    }
}

#[test]
fn persistent_congestion_forgets_the_path() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    petra.cubic.on_reduction(100.0, 70.0);
    petra.on_persistent_congestion(ms(2_000));
    assert_eq!(petra.window(), 2 * DATAGRAM);
    assert_eq!(petra.cubic, CubicGrowth::default());
    assert_eq!(petra.phase(), Phase::SlowStart);
    assert_eq!(petra.metrics().bandwidth_estimate, None);
    assert!(!petra.queue_persists());
    petra.on_spurious_loss(&spurious(2_010, true));
    assert_eq!(petra.window(), 2 * DATAGRAM);
}

#[test]
fn the_packet_threshold_follows_section_4_2_2() {
    let petra = petra();
    assert_eq!(petra.packet_threshold(&rtt(334, 90), ms(100)), Some(1));
    assert_eq!(petra.packet_threshold(&rtt(333, 90), ms(100)), Some(3));
    let off = without(|on| on.faster_retransmission = false);
    assert_eq!(off.packet_threshold(&rtt(334, 90), ms(100)), Some(3));
}

#[test]
fn the_first_round_trip_is_not_paced_and_later_ones_are() {
    let mut petra = petra();
    assert_eq!(petra.pacing_rate(), None);
    petra.on_ack(&measured(1_000, 90));
    // 2 x 13 200 / 0.09
    assert_eq!(petra.pacing_rate(), Some(293_333));
    let petra = steady(petra);
    // 1.1 x 20 000 / 0.09
    assert_eq!(petra.pacing_rate(), Some(244_444));
}

mod ecn {
    use super::*;

    fn marks(now: u64, last_sent: u64) -> CongestionExperienced {
        CongestionExperienced {
            now: ms(now),
            last_sent: ms(last_sent),
            bytes_in_flight: INITIAL,
            rtt: Some(rtt(90, 90)),
        }
    }

    fn after(bytes: f64) -> f64 {
        let mut petra = steady(petra());
        petra.window.set(bytes);
        petra.on_congestion_experienced(&marks(2_000, 1_950));
        petra.window.bytes()
    }

    /// The target is 13 200 bytes.
    #[test]
    fn marks_reduce_to_the_target_by_15_to_30_percent() {
        assert_near(after(13_200.0), 0.85 * 13_200.0);
        assert_near(after(17_000.0), 13_200.0);
        assert_near(after(40_000.0), 0.7 * 40_000.0);
    }

    #[test]
    fn without_an_estimate_they_reduce_by_30_percent() {
        let mut petra = petra();
        petra.on_congestion_experienced(&marks(50, 40));
        assert_near(petra.window.bytes(), 0.7 * INITIAL as f64);
        assert_eq!(petra.metrics().last_reduction, Some(Reduction::Ecn));
        assert_eq!(petra.metrics().loss_response, Some("reduce"));
    }

    #[test]
    fn they_reduce_once_per_round_trip() {
        let mut petra = steady(petra());
        petra.on_congestion_experienced(&marks(2_000, 1_950));
        let once = petra.window.bytes();
        petra.on_congestion_experienced(&marks(2_010, 1_990));
        assert_eq!(petra.window.bytes(), once);
        petra.on_congestion_experienced(&marks(2_100, 2_010));
        assert!(petra.window.bytes() < once);
    }

    /// They are not losses: a late packet proves nothing about them.
    #[test]
    fn a_spurious_loss_does_not_undo_them() {
        let mut petra = steady(petra());
        petra.on_congestion_experienced(&marks(2_000, 1_950));
        let reduced = petra.window.bytes();
        petra.on_spurious_loss(&spurious(2_020, true));
        assert_eq!(petra.window.bytes(), reduced);
    }
}

mod gathered_acks {
    use super::*;

    /// After an ACK at 2 s, with another one a tenth of a millisecond later.
    fn gathering() -> Petra {
        let mut petra = steady(petra());
        petra.increase = AdditiveIncrease::default();
        petra.on_ack(&measured(2_000, 90));
        let now = ms(2_000) + Duration::from_micros(100);
        petra.on_ack(&Ack {
            now,
            ..measured(2_000, 90)
        });
        petra
    }

    fn at(now: u64) -> Sent {
        sent(now, INITIAL)
    }

    #[test]
    fn they_grow_the_window_with_a_packet_that_is_sent_a_millisecond_later() {
        let mut petra = gathering();
        let before = petra.window.bytes();
        petra.on_sent(&at(2_000));
        assert_eq!(petra.window.bytes(), before);
        petra.on_sent(&at(2_001));
        assert_near(petra.window.bytes() - before, 1_200.0 * 1_200.0 / before);
    }

    #[test]
    fn they_count_before_the_ack_of_a_later_time() {
        let mut petra = gathering();
        let grown = |bytes: f64| bytes + 1_200.0 * 1_200.0 / bytes;
        let expected = grown(grown(petra.window.bytes()));
        petra.on_ack(&measured(2_009, 90));
        assert_eq!(petra.window.bytes(), expected);
    }

    #[test]
    fn an_app_limited_ack_does_not_let_them_grow_the_window() {
        let mut petra = gathering();
        let before = petra.window.bytes();
        petra.on_ack(&Ack {
            app_limited: true,
            ..measured(2_009, 90)
        });
        assert_eq!(petra.window.bytes(), before);
    }

    #[test]
    fn those_before_a_reduction_do_not_grow_the_window() {
        let mut petra = gathering();
        petra.act(Decision::Reduce(15_000.0), ms(2_001), Reduction::Loss);
        petra.on_sent(&at(2_001));
        assert_eq!(petra.window.bytes(), 15_000.0);
    }

    #[test]
    fn persistent_congestion_forgets_them() {
        let mut petra = gathering();
        petra.on_persistent_congestion(ms(2_001));
        petra.on_sent(&at(2_001));
        assert_eq!(petra.window(), 2 * DATAGRAM);
        assert_eq!(petra.delivery.estimate(), None);
    }

    #[test]
    fn slow_start_takes_each_at_once() {
        let mut petra = petra();
        for number in 1..=3 {
            petra.on_ack(&measured(1_000, 90));
            assert_eq!(petra.window(), INITIAL + number * DATAGRAM);
        }
    }

    #[test]
    fn one_of_an_overtaken_packet_takes_them_at_once() {
        let mut petra = gathering();
        let before = petra.window.bytes();
        let at = |us| Duration::from_micros(us);
        let sent = at(1_909_950);
        petra.on_ack(&Ack {
            now: at(2_000_200),
            first_sent: sent,
            last_sent: sent,
            newest_sent: sent,
            ..measured(2_000, 90)
        });
        assert!(petra.window.bytes() > before);
        petra.on_sent(&super::sent(2_002, INITIAL));
        // The transport's minimum RTT may be that of a packet that overtook others.
        assert_eq!(petra.queue.base_rtt(ms(80)), MIN_RTT);
    }
}

/// The rate that is stored is that of the present window after every event.
#[test]
fn the_pacing_rate_follows_every_event() {
    let paced = |event: &dyn Fn(&mut Petra)| {
        let mut petra = queued(petra());
        event(&mut petra);
        let rate = petra.pacing_rate();
        petra.pace();
        assert_eq!(rate, petra.pacing_rate());
        rate.unwrap()
    };
    let rates = [
        paced(&|petra| petra.on_ack(&measured(2_010, 110))),
        paced(&|petra| petra.on_loss(&loss(2_000))),
        paced(&|petra| petra.on_persistent_congestion(ms(2_000))),
        paced(&|petra| petra.on_max_datagram_size(100_000)),
        paced(&|petra| {
            petra.on_congestion_experienced(&CongestionExperienced {
                now: ms(2_000),
                last_sent: ms(1_990),
                bytes_in_flight: INITIAL,
                rtt: Some(rtt(110, 110)),
            })
        }),
        paced(&|petra| {
            petra.on_pto(&Pto {
                count: 2,
                ..pto(2_000)
            })
        }),
        paced(&|petra| {
            petra.on_loss(&loss(2_000));
            petra.on_spurious_loss(&spurious(2_010, true));
        }),
    ];
    // That of the last one is as before its loss.
    let (undone, changed) = rates.split_last().unwrap();
    assert!(changed.iter().all(|rate| rate != undone), "{rates:?}");
}
