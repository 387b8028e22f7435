//! The pacing rate.

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
