use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn sample(bytes: u64, elapsed: u64) -> Sample {
    Sample {
        bytes,
        elapsed: ms(elapsed),
    }
}

fn close(left: Option<f64>, right: f64) {
    let left = left.expect("an estimate");
    assert!((left - right).abs() < 1e-6 * right, "{left} is not {right}");
}

#[test]
fn a_sample_is_bytes_over_time() {
    // 2400 bytes / 0.002 s
    assert_eq!(sample(2_400, 2).rate(), 1_200_000.0);
}

#[test]
fn smoothing_follows_equation_4_4() {
    let first = Smoothing::new(0.9).next(sample(1_000, 10));
    // The first sample is the estimate: 1000 / 0.01.
    close(first.rate(), 100_000.0);
    let second = first.next(sample(2_000, 10));
    // 0.1 x 200 000 + 0.9 x 100 000
    close(second.rate(), 110_000.0);
    let third = second.next(sample(1_000, 20));
    // 0.1 x 50 000 + 0.9 x 110 000
    close(third.rate(), 104_000.0);
    assert_eq!(third.restarted().rate(), None);
}

#[test]
fn low_pass_weighs_by_the_gap() {
    let first = LowPass::new(ms(500)).next(sample(1_000, 10));
    close(first.rate(), 100_000.0);
    // a = (1000 - 250) / (1000 + 250) = 0.6; b = 50 000 / 0.25 = 200 000;
    // 0.6 x 100 000 + 0.4 x (200 000 + 100 000) / 2 = 60 000 + 60 000
    let second = first.next(sample(50_000, 250));
    close(second.rate(), 120_000.0);
    // a = (1000 - 600) / (1000 + 600) = 0.25; b = 60 000 / 0.6 = 100 000;
    // 0.25 x 120 000 + 0.75 x (100 000 + 200 000) / 2 = 30 000 + 112 500
    close(second.next(sample(60_000, 600)).rate(), 142_500.0);
    assert_eq!(second.restarted().rate(), None);
}

#[test]
fn low_pass_does_not_ring_after_a_silence() {
    let first = LowPass::new(ms(500)).next(sample(100_000, 100));
    // b = 3000 / 3 = 1000, a held at 0: (1000 + 1 000 000) / 2. With
    // a = (1 - 3) / (1 + 3) = -0.5 the estimate would be 250 750, and below
    // zero after the next such gap.
    let second = first.next(sample(3_000, 3_000));
    close(second.rate(), 500_500.0);
    close(second.next(sample(3_000, 3_000)).rate(), 1_000.0);
}

#[test]
fn the_first_ack_only_starts_the_clock() {
    let mut estimator = AckRate::new(Smoothing::new(0.9));
    estimator.on_ack(ms(100), 12_000);
    assert_eq!(estimator.rate(), None);
    estimator.on_ack(ms(110), 1_000);
    close(estimator.rate(), 100_000.0);
}

#[test]
fn frames_of_one_instant_are_one_sample() {
    let mut apart = AckRate::new(Smoothing::new(0.9));
    let mut together = apart;
    for at in [0, 10, 20] {
        together.on_ack(ms(at), 3_000);
        for _ in 0..3 {
            apart.on_ack(ms(at), 1_000);
        }
    }
    close(together.rate(), 300_000.0);
    assert_eq!(apart.rate(), together.rate());
    assert_eq!(apart.sample(), Some(300_000.0));
}

#[test]
fn time_that_stands_still_gives_no_infinite_rate() {
    let mut estimator = AckRate::new(LowPass::new(ms(500)));
    for _ in 0..100 {
        estimator.on_ack(ms(7), u64::MAX);
    }
    assert_eq!(estimator.rate(), None);
    estimator.on_ack(ms(8), u64::MAX);
    estimator.on_ack(ms(8), u64::MAX);
    assert!(estimator.rate().is_some_and(f64::is_finite));
}

#[test]
fn a_restart_forgets_but_for_its_own_instant() {
    let mut estimator = AckRate::new(Smoothing::new(0.9));
    estimator.on_ack(ms(0), 1_000);
    estimator.on_ack(ms(10), 1_000);
    estimator.restart(ms(20));
    assert_eq!(estimator.rate(), None);
    // The clock ran on: 4000 bytes since the ACK at 10 ms.
    estimator.on_ack(ms(20), 4_000);
    close(estimator.rate(), 400_000.0);
    estimator.restart(ms(20));
    close(estimator.rate(), 400_000.0);
}

#[test]
fn the_window_is_rate_times_min_rtt() {
    let mut estimator = AckRate::new(Smoothing::new(0.9));
    assert_eq!(estimator.window(ms(90)), None);
    estimator.on_ack(ms(0), 0);
    estimator.on_ack(ms(1), 1_250);
    // Equation 4.5 at 10 Mbit/s and 90 ms: 1 250 000 x 0.09.
    close(estimator.window(ms(90)), 112_500.0);
}

#[test]
fn a_sample_may_have_to_span_some_time() {
    let mut estimator = AckRate::new(LowPass::new(ms(500))).with_min_interval(ms(10));
    // Aggregates of ten ACKs 0.1 ms apart, every 20 ms: 10 kB in 20 ms.
    for bunch in 0..100 {
        for ack in 0..10 {
            let now = ms(20 * bunch) + ms(1) * ack / 10;
            estimator.on_ack(now, 1_000);
        }
    }
    let rate = estimator.rate().unwrap();
    assert!((450_000.0..550_000.0).contains(&rate), "{rate}");
}

#[test]
fn within_a_bunch_there_is_no_new_sample() {
    let mut estimator = AckRate::new(Smoothing::new(0.9)).with_min_interval(GRANULARITY);
    estimator.on_ack(ms(0), 1_000);
    estimator.on_ack(ms(10), 1_000);
    // 9 kB in 0.9 ms are no 10 MB/s.
    for ack in 1..10 {
        estimator.on_ack(ms(10) + ms(1) * ack / 10, 1_000);
        close(estimator.rate(), 100_000.0);
    }
    // They belong to the 10 ms that end with the next aggregate.
    estimator.on_ack(ms(20), 1_000);
    close(estimator.sample(), 1_000_000.0);
}

#[test]
fn a_silence_is_null_samples_where_they_are_wanted() {
    let low_pass = AckRate::new(LowPass::new(ms(500))).with_min_interval(ms(10));
    for (mut estimator, rate) in [
        (low_pass, 100_000.0),
        (low_pass.with_null_samples(ms(250)), 48_000.0),
    ] {
        estimator.on_ack(ms(0), 1_000);
        estimator.on_ack(ms(10), 1_000);
        estimator.on_silence(ms(260));
        close(estimator.rate(), 100_000.0);
        // Twice in one go, and asked again.
        estimator.on_silence(ms(511));
        close(estimator.rate(), rate);
        estimator.on_silence(ms(600));
        close(estimator.rate(), rate);
    }
}

#[test]
fn null_samples_keep_the_bytes_that_came() {
    let mut estimator = AckRate::new(LowPass::new(ms(500)))
        .with_min_interval(ms(10))
        .with_null_samples(ms(250));
    estimator.on_ack(ms(0), 1_000);
    estimator.on_ack(ms(10), 1_000);
    // 5 ms are too short for a sample: it lasts until the null sample ends.
    estimator.on_ack(ms(15), 2_550);
    estimator.on_silence(ms(300));
    close(estimator.sample(), 10_000.0);
}

#[test]
fn a_silence_before_any_estimate_is_none() {
    let mut estimator = AckRate::new(LowPass::new(ms(500))).with_null_samples(ms(250));
    estimator.on_silence(ms(1_000));
    estimator.on_ack(ms(1_000), 1_000);
    estimator.on_silence(ms(3_000));
    assert_eq!(estimator.rate(), None);
    estimator.on_ack(ms(3_000), 1_000);
    close(estimator.rate(), 500.0);
}

#[test]
fn a_silence_of_years_is_told_at_once() {
    let mut estimator = AckRate::new(LowPass::new(ms(20))).with_null_samples(ms(10));
    estimator.on_ack(ms(0), 1_000);
    estimator.on_ack(ms(10), 1_000);
    estimator.on_silence(Duration::MAX);
    assert!(estimator.rate().unwrap() < 1e-6);
}
