use super::super::events::{ack, loss, ms, pto, rtt, settings, DATAGRAM, INITIAL};
use super::*;

/// The mechanisms that are named, over a base.
fn thesis(base: Base, on: impl Fn(&mut Mechanisms)) -> PetraThesis {
    let mut mechanisms = Mechanisms::NONE;
    on(&mut mechanisms);
    PetraThesisConfig {
        mechanisms,
        base,
        ..PetraThesisConfig::default()
    }
    .controller(settings())
}

fn initial_ssthresh(base: Base) -> PetraThesis {
    thesis(base, |on| on.initial_ssthresh = true)
}

/// 1000 bytes every 10 ms: 100 000 bytes a second, 9000 bytes in 90 ms.
fn estimate_9000(controller: &mut PetraThesis) {
    for now in [100, 110, 120] {
        controller.on_ack(&Ack {
            app_limited: true,
            ..ack(now, 1_000)
        });
    }
}

mod section_4_1_1 {
    use super::*;

    #[test]
    fn every_ack_sets_ssthresh() {
        let mut controller = initial_ssthresh(Base::NewReno);
        controller.on_ack(&ack(100, 1_000));
        assert_eq!(controller.ssthresh(), None);
        controller.on_ack(&ack(110, 1_000));
        // 1000 / 0.01 = 100 000; x 0.09
        assert_eq!(controller.ssthresh(), Some(9_000));
        controller.on_ack(&ack(120, 2_000));
        // 0.1 x 200 000 + 0.9 x 100 000 = 110 000; x 0.09
        assert_eq!(controller.ssthresh(), Some(9_900));
    }

    #[test]
    fn frames_of_one_instant_are_one_sample() {
        let mut controller = initial_ssthresh(Base::NewReno);
        for now in [100, 100, 110, 110, 110] {
            controller.on_ack(&ack(now, 1_000));
        }
        // 3000 / 0.01 x 0.09
        assert_eq!(controller.ssthresh(), Some(27_000));
    }

    #[test]
    fn ssthresh_is_two_datagrams_at_least() {
        let mut controller = initial_ssthresh(Base::NewReno);
        controller.on_ack(&ack(100, 1));
        controller.on_ack(&ack(1_100, 1));
        assert_eq!(controller.ssthresh(), Some(2 * DATAGRAM));
    }

    #[test]
    fn a_loss_event_restarts_the_estimate_and_uses_the_old_one() {
        let mut controller = initial_ssthresh(Base::NewReno);
        estimate_9000(&mut controller);
        controller.on_loss(&loss(130));
        assert_eq!(controller.ssthresh(), Some(9_000));
        assert_eq!(controller.window(), 9_000);
        assert_eq!(controller.metrics().bandwidth_estimate, None);
        // The ACK that revealed the loss is the first of the new estimate:
        // 4000 / 0.01, not 0.1 x 400 000 + 0.9 x 100 000.
        controller.on_ack(&ack(130, 4_000));
        assert_eq!(controller.metrics().bandwidth_estimate, Some(400_000));
    }

    #[test]
    fn a_timeout_restarts_the_estimate() {
        let mut controller = initial_ssthresh(Base::NewReno);
        estimate_9000(&mut controller);
        controller.on_pto(&pto(400));
        assert_eq!(controller.metrics().bandwidth_estimate, None);
    }

    #[test]
    fn a_loss_before_any_estimate_halves() {
        let mut controller = initial_ssthresh(Base::Westwood);
        controller.on_loss(&loss(100));
        assert_eq!(controller.window(), INITIAL / 2);
        assert_eq!(controller.ssthresh(), Some(INITIAL / 2));
    }

    #[test]
    fn a_loss_right_after_a_restart_keeps_the_last_ssthresh() {
        let mut controller = initial_ssthresh(Base::NewReno);
        estimate_9000(&mut controller);
        controller.on_loss(&loss(130));
        controller.on_loss(&Loss {
            last_sent: ms(131),
            ..loss(230)
        });
        assert_eq!(controller.ssthresh(), Some(9_000));
        assert_eq!(controller.window(), 9_000);
    }

    #[test]
    fn off_it_leaves_ssthresh_to_the_base() {
        let mut controller = thesis(Base::NewReno, |_| ());
        estimate_9000(&mut controller);
        assert_eq!(controller.ssthresh(), None);
        controller.on_loss(&loss(130));
        // RFC 9002, Section 7.3.2
        assert_eq!(controller.ssthresh(), Some(INITIAL / 2));
    }
}

mod section_4_1_2_1 {
    use super::*;

    /// With mechanism 1, so that there is an ssthresh, of 9000 bytes.
    fn faster_start() -> PetraThesis {
        let mut controller = thesis(Base::Westwood, |on| {
            on.initial_ssthresh = true;
            on.faster_start = true;
        });
        estimate_9000(&mut controller);
        controller
    }

    /// An ACK that leaves the estimate at 9000 bytes.
    fn leaving(bytes_in_flight: u64) -> Ack {
        Ack {
            bytes_in_flight,
            ..ack(130, 1_000)
        }
    }

    #[test]
    fn from_ssthresh_on_it_grows_linearly() {
        let mut controller = faster_start();
        controller.on_ack(&leaving(9_000));
        // 12 000 + 1200 x 1200 / 12 000
        assert_eq!(controller.window(), 12_120);
    }

    #[test]
    fn with_room_it_grows_by_the_quotient() {
        let mut controller = faster_start();
        controller.on_ack(&leaving(2_900));
        // 9000 div 2900 = 3: three datagrams
        assert_eq!(controller.window(), INITIAL + 3 * DATAGRAM);
    }

    #[test]
    fn otherwise_it_grows_by_a_datagram_an_ack() {
        let mut controller = faster_start();
        // 9000 div 3001 = 2, and 2 > 2 does not hold.
        controller.on_ack(&leaving(3_001));
        assert_eq!(controller.window(), INITIAL + DATAGRAM);
    }

    #[test]
    fn nothing_in_flight_counts_as_a_datagram() {
        let mut controller = faster_start();
        controller.on_ack(&leaving(0));
        // 9000 div 1200 = 7
        assert_eq!(controller.window(), INITIAL + 7 * DATAGRAM);
    }

    #[test]
    fn without_an_estimate_it_grows_by_a_datagram_an_ack() {
        let mut controller = thesis(Base::NewReno, |on| on.faster_start = true);
        controller.on_ack(&ack(100, 6_000));
        assert_eq!(controller.window(), INITIAL + DATAGRAM);
    }

    #[test]
    fn an_application_that_holds_back_is_no_reason_to_grow() {
        let mut controller = faster_start();
        controller.on_ack(&Ack {
            app_limited: true,
            ..leaving(0)
        });
        assert_eq!(controller.window(), INITIAL);
    }

    #[test]
    fn nothing_grows_during_recovery() {
        let mut controller = faster_start();
        controller.on_loss(&loss(130));
        let reduced = controller.window();
        controller.on_ack(&leaving(0));
        assert_eq!(controller.phase(), Phase::Recovery);
        assert_eq!(controller.window(), reduced);
    }

    #[test]
    fn off_it_grows_as_rfc_9002_does() {
        let mut controller = thesis(Base::Westwood, |_| ());
        controller.on_ack(&ack(100, 6_000));
        assert_eq!(controller.window(), INITIAL + 6_000);
    }
}

mod section_4_2_2 {
    use super::*;

    fn faster_retransmission() -> PetraThesis {
        let mut controller = thesis(Base::Westwood, |on| on.faster_retransmission = true);
        estimate_9000(&mut controller);
        controller
    }

    #[test]
    fn with_more_than_ssthresh_in_flight_the_window_is_reset() {
        let mut controller = faster_retransmission();
        controller.on_loss(&Loss {
            bytes_in_flight: 9_001,
            ..loss(130)
        });
        assert_eq!(controller.window(), 9_000);
        assert_eq!(controller.metrics().last_reduction, Some(Reduction::Loss));
    }

    #[test]
    fn with_less_it_stays_and_recovery_begins_all_the_same() {
        let mut controller = faster_retransmission();
        controller.on_loss(&Loss {
            bytes_in_flight: 9_000,
            ..loss(130)
        });
        assert_eq!(controller.window(), INITIAL);
        assert_eq!(controller.phase(), Phase::Recovery);
        assert_eq!(controller.metrics().reductions, 0);
    }

    #[test]
    fn in_recovery_nothing_more_happens() {
        let mut controller = faster_retransmission();
        controller.on_loss(&Loss {
            bytes_in_flight: 9_000,
            ..loss(130)
        });
        controller.on_loss(&Loss {
            bytes_in_flight: 12_000,
            ..loss(131)
        });
        assert_eq!(controller.window(), INITIAL);
    }

    #[test]
    fn a_round_trip_of_a_third_of_the_timeout_lowers_the_threshold() {
        let controller = faster_retransmission();
        let threshold = |last_rtt, pto| controller.packet_threshold(&rtt(last_rtt, 90), ms(pto));
        // Floor 1 s: 334 x 3 = 1002 ms is above it, 333 x 3 = 999 ms is not.
        assert_eq!(threshold(334, 100), Some(1));
        assert_eq!(threshold(333, 100), None);
        // PTO 1.5 s: 500 x 3 = 1500 ms is not above it.
        assert_eq!(threshold(500, 1_500), None);
        assert_eq!(threshold(501, 1_500), Some(1));
    }

    #[test]
    fn off_it_leaves_the_threshold_alone_and_the_loss_to_the_base() {
        let mut controller = thesis(Base::Westwood, |_| ());
        estimate_9000(&mut controller);
        assert_eq!(controller.packet_threshold(&rtt(900, 90), ms(100)), None);
        controller.on_loss(&Loss {
            bytes_in_flight: 0,
            ..loss(130)
        });
        // TCPW looks at the window: 12 000 > 9000.
        assert_eq!(controller.window(), 9_000);
    }
}

mod section_4_2_3 {
    use super::*;

    fn best_recovery() -> PetraThesis {
        let mut controller = thesis(Base::Westwood, |on| on.best_recovery = true);
        estimate_9000(&mut controller);
        controller
    }

    fn with(bytes_in_flight: u64, last_rtt: u64) -> Loss {
        Loss {
            bytes_in_flight,
            rtt: Some(rtt(last_rtt, 100)),
            ..loss(130)
        }
    }

    #[test]
    fn a_long_round_trip_confirms_congestion() {
        let mut controller = best_recovery();
        // DiffRtt = 100 - 100 = 0, and 9001 > 9000.
        controller.on_loss(&with(9_001, 100));
        assert_eq!(controller.window(), 9_000);
    }

    #[test]
    fn a_short_one_does_not() {
        let mut controller = best_recovery();
        controller.on_loss(&with(12_000, 99));
        assert_eq!(controller.window(), INITIAL);
        assert_eq!(controller.ssthresh(), Some(9_000));
    }

    #[test]
    fn nor_does_little_in_flight() {
        let mut controller = best_recovery();
        controller.on_loss(&with(9_000, 150));
        assert_eq!(controller.window(), INITIAL);
    }

    #[test]
    fn a_further_loss_looks_again_and_there_is_one_reduction_a_period() {
        let mut controller = best_recovery();
        controller.on_loss(&with(12_000, 99));
        controller.on_loss(&with(11_000, 101));
        assert_eq!(controller.window(), 9_000);
        assert_eq!(controller.metrics().reductions, 1);
        // 4.1.1 may lower ssthresh meanwhile; the period has had its reduction.
        controller.window.set_ssthresh(5_000.0);
        controller.on_loss(&with(10_000, 120));
        assert_eq!(controller.window(), 9_000);
    }

    #[test]
    fn the_next_period_may_reduce_again() {
        let mut controller = best_recovery();
        controller.on_loss(&with(12_000, 100));
        controller.window.set(12_000.0);
        controller.on_loss(&Loss {
            now: ms(300),
            last_sent: ms(200),
            ..with(12_000, 100)
        });
        assert_eq!(controller.metrics().reductions, 2);
    }
}

mod section_4_3 {
    use super::*;

    fn timeout_reaction() -> PetraThesis {
        let mut controller = thesis(Base::Westwood, |on| on.timeout_reaction = true);
        estimate_9000(&mut controller);
        controller
    }

    fn with(bytes_in_flight: u64, last_rtt: u64) -> Pto {
        Pto {
            bytes_in_flight,
            rtt: Some(rtt(last_rtt, 100)),
            ..pto(400)
        }
    }

    #[test]
    fn off_the_window_goes_to_the_minimum_and_ssthresh_to_the_estimate() {
        let mut controller = thesis(Base::Westwood, |_| ());
        estimate_9000(&mut controller);
        controller.on_pto(&with(0, 99));
        assert_eq!(controller.window(), 2 * DATAGRAM);
        assert_eq!(controller.ssthresh(), Some(9_000));
        assert_eq!(controller.metrics().last_reduction, Some(Reduction::Pto));
    }

    #[test]
    fn over_newreno_ssthresh_is_half() {
        let mut controller = thesis(Base::NewReno, |_| ());
        controller.on_pto(&with(0, 99));
        assert_eq!(controller.window(), 2 * DATAGRAM);
        assert_eq!(controller.ssthresh(), Some(INITIAL / 2));
    }

    #[test]
    fn repeated_expiries_leave_ssthresh() {
        let mut controller = thesis(Base::NewReno, |_| ());
        for count in 1..=5 {
            controller.on_pto(&Pto {
                count,
                ..with(0, 99)
            });
        }
        assert_eq!(controller.ssthresh(), Some(INITIAL / 2));
    }

    #[test]
    fn short_rtt_and_little_in_flight_grow() {
        let mut controller = timeout_reaction();
        controller.on_pto(&with(4_499, 99));
        // 12 000 + 1200 x 1200 / 12 000
        assert_eq!(controller.window(), 12_120);
        assert_eq!(controller.metrics().reductions, 0);
    }

    #[test]
    fn short_rtt_alone_resets_to_ssthresh() {
        let mut controller = timeout_reaction();
        controller.on_pto(&with(4_500, 99));
        assert_eq!(controller.window(), 9_000);
        assert_eq!(controller.metrics().last_reduction, Some(Reduction::Pto));
    }

    #[test]
    fn resetting_to_ssthresh_may_raise_the_window() {
        let mut controller = timeout_reaction();
        controller.window.set(5_000.0);
        controller.on_pto(&with(4_500, 99));
        assert_eq!(controller.window(), 9_000);
        assert_eq!(controller.metrics().reductions, 0);
    }

    #[test]
    fn a_long_rtt_is_congestion() {
        let mut controller = timeout_reaction();
        controller.on_pto(&with(0, 100));
        assert_eq!(controller.window(), 2 * DATAGRAM);
        assert_eq!(controller.ssthresh(), Some(9_000));
    }

    #[test]
    fn without_a_sample_nothing_shows_that_there_is_none() {
        let mut controller = thesis(Base::Westwood, |on| on.timeout_reaction = true);
        controller.on_pto(&Pto {
            rtt: None,
            ..pto(999)
        });
        assert_eq!(controller.window(), 2 * DATAGRAM);
    }

    #[test]
    fn losses_from_before_a_timeout_that_reduced_do_not_reduce_again() {
        let mut controller = timeout_reaction();
        controller.on_pto(&with(4_500, 99));
        controller.on_loss(&Loss {
            now: ms(500),
            ..loss(400)
        });
        assert_eq!(controller.metrics().reductions, 1);
    }
}

/// A window that is the minimum already: further losses of what was sent are answered.
#[test]
fn a_timeout_at_the_minimum_begins_a_recovery_period() {
    let mut controller = thesis(Base::NewReno, |_| ());
    controller.window.set(0.0);
    controller.on_pto(&pto(100));
    assert_eq!(controller.phase(), Phase::Recovery);
}

#[test]
fn a_window_is_paced_over_a_round_trip() {
    let mut controller = thesis(Base::NewReno, |_| ());
    assert_eq!(controller.pacing_rate(), None);
    controller.on_ack(&ack(100, DATAGRAM));
    // 2 x 13 200 / 0.09, in slow start
    assert_eq!(controller.pacing_rate(), Some(293_333));
}

#[test]
fn persistent_congestion_leaves_the_minimum_window() {
    let mut controller = thesis(Base::Westwood, |on| *on = Mechanisms::ALL);
    estimate_9000(&mut controller);
    controller.on_loss(&loss(130));
    controller.on_persistent_congestion(ms(130));
    assert_eq!(controller.window(), 2 * DATAGRAM);
    assert_eq!(controller.phase(), Phase::SlowStart);
    let metrics = controller.metrics();
    assert_eq!(
        metrics.last_reduction,
        Some(Reduction::PersistentCongestion)
    );
    assert_eq!(metrics.bandwidth_estimate, None);
}

#[test]
fn only_westwoods_own_estimate_outlives_a_loss() {
    let mut tcpw = thesis(Base::Westwood, |on| on.faster_start = true);
    let mut newreno = thesis(Base::NewReno, |on| on.faster_start = true);
    for controller in [&mut tcpw, &mut newreno] {
        estimate_9000(controller);
        controller.on_loss(&loss(130));
    }
    assert_eq!(tcpw.metrics().bandwidth_estimate, Some(100_000));
    assert_eq!(newreno.metrics().bandwidth_estimate, None);
}
