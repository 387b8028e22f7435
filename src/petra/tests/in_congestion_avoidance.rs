//! Drains, growth and competition in congestion avoidance.

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
    let rate = petra.delivery.estimate();
    for _ in 0..rounds {
        petra.increase.end_round(false, false, rate);
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

/// Before, a datagram was acknowledged each 9 ms.
#[test]
fn growth_is_a_quarter_of_the_window_at_most_where_the_rate_has_more_than_doubled() {
    for (datagrams, share) in [(2, 8.0), (3, 4.0)] {
        let mut petra = quiet(7, true);
        petra.window.set(1_000.0 * DATAGRAM as f64);
        for now in (2_008..3_200).step_by(9) {
            petra.on_ack(&Ack {
                bytes: datagrams * DATAGRAM,
                ..measured(now, 90)
            });
        }
        let window = petra.window.bytes() / DATAGRAM as f64;
        let increase = petra.linear_increase(&measured(3_200, 90));
        assert_near(increase, window / share);
        petra.act(Decision::Reduce(12_000.0), ms(3_200), Reduction::Loss);
        assert_eq!(petra.linear_increase(&measured(3_200, 90)), 1.0);
    }
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
