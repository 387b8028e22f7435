use super::*;

const DATAGRAM: u64 = 1_200;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn made(text: &str) -> (Instant, PetraController) {
    let start = Instant::now();
    let factory = Arc::new(controller(text).unwrap());
    let made = factory.build(start, DATAGRAM as u16).into_any();
    (start, *made.downcast().unwrap())
}

/// A round trip of this many datagrams, 50 ms after they were sent.
fn round(cc: &mut PetraController, sent: Instant, datagrams: u64, app_limited: bool) {
    for packet in 0..datagrams {
        cc.on_sent(sent, DATAGRAM, packet);
    }
    for _ in 0..datagrams {
        cc.add_ack(sent, DATAGRAM, ms(50));
    }
    cc.on_end_acks(sent + ms(50), 0, app_limited, Some(datagrams));
}

#[test]
fn the_initial_window_is_that_of_quinns_controllers() {
    for mtu in [1_200, 1_252, 1_452, 1_472, 9_000, u16::MAX] {
        let (start, name) = (Instant::now(), "petra");
        let cc = Arc::new(controller(name).unwrap()).build(start, mtu);
        let mtu = u64::from(mtu);
        assert_eq!(cc.initial_window(), (10 * mtu).min(14_720.max(2 * mtu)));
        assert_eq!(cc.window(), cc.initial_window() + 1);
    }
}

#[test]
fn slow_start_grows_by_the_acknowledged_bytes_of_a_frame() {
    let (start, mut cc) = made("westwood");
    round(&mut cc, start, 10, false);
    assert_eq!(cc.path().window(), 20 * DATAGRAM);
    let rtt = cc.path().rtt().unwrap();
    assert_eq!(
        (rtt.latest, rtt.smoothed, rtt.min),
        (ms(50), ms(50), ms(50))
    );
    assert_eq!(cc.metrics().congestion_window, 20 * DATAGRAM);
    assert_eq!(cc.metrics().pacing_rate, None);
}

#[test]
fn an_application_without_data_grows_no_window() {
    let (start, mut cc) = made("petra");
    round(&mut cc, start, 5, true);
    assert_eq!(cc.path().window(), 10 * DATAGRAM);
}

#[test]
fn packets_of_another_path_are_ignored() {
    let (start, mut cc) = made("petra");
    let before = start.checked_sub(ms(30)).unwrap();
    cc.add_ack(before, DATAGRAM, ms(40));
    cc.on_end_acks(start + ms(10), 0, false, Some(7));
    assert_eq!(cc.path().rtt(), None);
    cc.on_congestion_event(start + ms(10), before, true, DATAGRAM);
    assert_eq!(cc.path().window(), 10 * DATAGRAM);
}

#[test]
fn datagrams_beyond_the_window_are_acks_alone() {
    let (start, mut cc) = made("petra");
    for packet in 0..10 {
        cc.on_sent(start, DATAGRAM, packet);
    }
    cc.on_sent(start, 40, 10);
    assert_eq!(cc.path().bytes_in_flight(), 10 * DATAGRAM);
}

#[test]
fn a_loss_a_mark_and_persistent_congestion_reduce() {
    for (lost, persistent, least) in [(DATAGRAM, false, 3), (0, false, 3), (DATAGRAM, true, 2)] {
        let (start, mut cc) = made("newreno-34");
        round(&mut cc, start, 10, false);
        let before = cc.path().window();
        cc.on_sent(start + ms(60), DATAGRAM, 11);
        cc.on_congestion_event(start + ms(120), start + ms(60), persistent, lost);
        let after = cc.path().window();
        assert!(after < before, "{before} to {after}");
        assert_eq!(after == 2 * DATAGRAM, persistent, "{after}");
        assert!(after >= least * DATAGRAM);
    }
}

/// A NAT rebinding copies the controller.
#[test]
fn a_copy_continues_with_the_window() {
    for name in controllers() {
        let (start, mut cc) = made(name);
        round(&mut cc, start, 10, false);
        let copy = cc.clone_box();
        assert_eq!(copy.window(), Controller::window(&cc), "{name}");
        assert!(copy.window() > copy.initial_window() + 1, "{name}");
    }
}

#[test]
fn a_larger_mtu_scales_an_initial_window_and_the_minimum() {
    let (start, mut cc) = made("petra");
    cc.on_mtu_update(1_452);
    assert_eq!(cc.path().window(), 14_520);
    cc.on_sent(start, 1_452, 0);
    cc.on_congestion_event(start + ms(900), start, true, 1_452);
    assert_eq!(cc.path().window(), 2 * 1_452);
}

#[test]
fn the_names_are_those_that_need_no_capability() {
    let all: Vec<_> = petra::registry::names().collect();
    let ours = controllers();
    assert!(!ours.contains(&"highbrow"));
    assert_eq!(ours.len() + 1, all.len());
    assert!(configured(petra::HighbrowConfig::default()).is_err());
}
