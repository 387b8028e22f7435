use super::*;

/// The ACK of a datagram on a path of 18 ms.
fn on_short_path(now: u64) -> Ack {
    let rtt = Rtt {
        min: ms(18),
        ..rtt(18, 18)
    };
    Ack {
        rtt,
        ..measured(now, 18)
    }
}

/// On a path of 90 ms, with a window of 100 000 bytes.
fn with_large_window() -> Petra {
    let mut petra = petra();
    flow(&mut petra, 1_000, 1_100, 90);
    petra.window.set(100_000.0);
    petra.max_in_flight = 100_000;
    petra
}

#[test]
fn slow_start_goes_on_with_the_window_of_a_shorter_path() {
    let mut petra = with_large_window();
    for now in 2_000..2_018 {
        petra.on_ack(&on_short_path(now));
    }
    // Four samples may be a burst, and let the window grow.
    let before = petra.window.bytes();
    assert_eq!(before, 100_000.0 + 3.0 * DATAGRAM as f64);
    petra.on_ack(&on_short_path(2_018));
    // 18 of 90 ms, and the growth of this ACK.
    assert_near(petra.window.bytes(), before / 5.0 + DATAGRAM as f64);
    let reason = petra.metrics().last_reduction;
    assert_eq!(reason, Some(Reduction::ShorterPath));
    petra.on_ack(&on_short_path(2_019));
    assert_near(petra.window.bytes(), before / 5.0 + 2.0 * DATAGRAM as f64);
    assert!(petra.window.in_slow_start());
}

#[test]
fn an_initial_window_remains_on_a_shorter_path() {
    let mut petra = with_large_window();
    petra.window.set(20_000.0);
    for now in 2_000..2_018 {
        petra.on_ack(&on_short_path(now));
    }
    assert!(petra.window.bytes() > 20_000.0);
    petra.on_ack(&on_short_path(2_018));
    assert_eq!(petra.window.bytes(), (INITIAL + DATAGRAM) as f64);
}

/// In congestion avoidance, on a path that has become shorter 10 ms ago.
fn on_shorter_path() -> Petra {
    let mut petra = with_large_window();
    petra.window.set_ssthresh(100_000.0);
    for now in 2_000..2_010 {
        petra.on_ack(&on_short_path(now));
    }
    petra
}

fn with_heavy_losses(mut petra: Petra) -> Petra {
    for _ in 0..40 {
        petra.loss_rate.on_loss(DATAGRAM, &petra.window);
    }
    petra
}

#[test]
fn only_heavy_losses_show_that_a_window_is_too_large_for_a_shorter_path() {
    let petra = on_shorter_path();
    assert!(petra.window.bytes() >= 100_000.0);
    let random = petra.loss_response(&loss(2_100));
    assert_eq!(random, Decision::Keep(Why::NoQueue));
    let mut petra = with_heavy_losses(petra);
    let before = petra.window.bytes();
    petra.on_loss(&loss(2_100));
    assert_eq!(petra.metrics().loss_response, Some("shorten"));
    assert_near(petra.window.bytes(), before / 5.0);
    // The next event finds the window of the shorter path.
    assert_eq!(petra.window_of_shorter_path(), None);
    petra.on_spurious_loss(&spurious(2_110, true));
    assert_near(petra.window.bytes(), before / 5.0);
}

#[test]
fn a_slightly_shorter_path_leaves_no_more_than_another() {
    let mut petra = with_large_window();
    petra.window.set_ssthresh(100_000.0);
    for now in (2_000..2_100).step_by(5) {
        let mut ack = measured(now, 66);
        ack.rtt.min = ms(66);
        petra.on_ack(&ack);
    }
    let most = 0.7 * petra.window.bytes();
    let petra = with_heavy_losses(petra);
    assert!(petra.window_of_shorter_path().is_some_and(|it| it > most));
    assert_near(reduction(petra.loss_response(&loss(2_200))), most);
}

#[test]
fn a_window_without_heavy_losses_for_four_round_trips_fits_a_shorter_path() {
    let mut petra = on_shorter_path();
    for now in 2_010..2_072 {
        petra.on_ack(&on_short_path(now));
    }
    assert!(petra.window_of_shorter_path().is_some());
    petra.on_ack(&on_short_path(2_072));
    assert_eq!(petra.window_of_shorter_path(), None);
    assert!(petra.window.bytes() >= 100_000.0);
}

#[test]
fn a_longer_path_and_persistent_congestion_end_the_comparison() {
    let longer = LongerPath {
        min_rtt: ms(90),
        additional: ms(72),
        rate: None,
    };
    let ends: [fn(&mut Petra, LongerPath); 2] = [
        |petra, path| petra.follow(path),
        |petra, _| petra.on_persistent_congestion(ms(2_010)),
    ];
    for end in ends {
        let mut petra = on_shorter_path();
        assert!(petra.shorter_path.share().is_some());
        end(&mut petra, longer);
        assert!(petra.shorter_path.share().is_none());
    }
}
