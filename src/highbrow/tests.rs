use super::super::events::{ack, loss, ms, rtt, settings, INITIAL};
use super::super::options::parse;
use super::*;

fn highbrow() -> Box<dyn Controller> {
    HighbrowConfig::default().build(settings())
}

/// After ACKs with these RTTs in milliseconds.
fn after(round_trips: &[u64]) -> Box<dyn Controller> {
    let mut controller = highbrow();
    for (number, latest) in round_trips.iter().enumerate() {
        controller.on_ack(&Ack {
            rtt: rtt(*latest, 90),
            ..ack(100 + number as u64, 1_200)
        });
    }
    controller
}

/// T1 in milliseconds with this smoothed RTT and this PTO.
fn timer(options: &str, smoothed: u64, pto: u64) -> u128 {
    let mut controller = parse::<HighbrowConfig>(options).unwrap().build(settings());
    controller.on_ack(&ack(100, 1_200));
    let probes = controller.early_probes(&rtt(90, smoothed), ms(pto), 4);
    probes.unwrap().after.as_millis()
}

#[test]
fn the_timer_is_a_fifth_of_the_timeout_between_half_and_three_halves_of_an_rtt() {
    // 1/2 RTT > 0.2 x 1 s
    assert_eq!(timer("", 500, 700), 250);
    // 1/2 RTT <= 0.2 x 1 s < 3/2 RTT
    assert_eq!(timer("", 200, 300), 200);
    assert_eq!(timer("", 400, 900), 200);
    // 0.2 x 1 s > 3/2 RTT
    assert_eq!(timer("", 90, 130), 135);
    // 0.2 x 2 s
    assert_eq!(timer("", 500, 2_000), 400);
    // 0.5 x 0.3 s
    assert_eq!(timer("alpha=0.5,timeout_floor=0.01", 200, 300), 150);
}

#[test]
fn steady_round_trips_send_all_of_them_again() {
    let probes = after(&[90; 10]).early_probes(&rtt(90, 90), ms(130), 7);
    assert_eq!(probes.unwrap().packets, 7);
}

#[test]
fn the_relative_deviation_is_left_out() {
    // Mean 90, deviation 10: 100 - 11.1 = 88.9 % of 20, 5 and 4 packets.
    let controller = after(&[80, 100, 80, 100, 80, 100, 80, 100, 80, 100]);
    for (outstanding, packets) in [(20, 18), (5, 4), (4, 4)] {
        let probes = controller.early_probes(&rtt(90, 90), ms(130), outstanding);
        assert_eq!(probes.unwrap().packets, packets);
    }
}

#[test]
fn a_deviation_above_the_mean_sends_nothing() {
    // Mean 100, deviation 300.
    let controller = after(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000]);
    assert_eq!(controller.early_probes(&rtt(90, 90), ms(130), 20), None);
}

#[test]
fn only_the_last_ten_round_trips_count() {
    let controller = after(&[5_000, 1, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90]);
    let probes = controller.early_probes(&rtt(90, 90), ms(130), 20);
    assert_eq!(probes.unwrap().packets, 20);
}

#[test]
fn before_a_round_trip_and_with_nothing_outstanding_there_is_nothing_to_send() {
    assert_eq!(highbrow().early_probes(&rtt(90, 90), ms(130), 20), None);
    let controller = after(&[90]);
    assert_eq!(controller.early_probes(&rtt(90, 90), ms(130), 0), None);
}

#[test]
fn its_window_is_newreno_s() {
    let mut controller = after(&[90; 10]);
    assert_eq!(controller.window(), 2 * INITIAL);
    controller.on_loss(&loss(200));
    assert_eq!(controller.window(), INITIAL);
}
