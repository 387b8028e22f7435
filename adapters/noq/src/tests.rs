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
        cc.on_packet_sent(sent, DATAGRAM as u16, packet);
    }
    for _ in 0..datagrams {
        cc.add_ack(sent, DATAGRAM, ms(50));
    }
    cc.on_end_acks(sent + ms(50), 0, app_limited, Some(datagrams));
}

#[test]
fn the_initial_window_is_that_of_noqs_controllers() {
    for mtu in [1_200, 1_252, 1_452, 1_472, 9_000, u16::MAX] {
        let (start, name) = (Instant::now(), "petra");
        let cc = Arc::new(controller(name).unwrap()).build(start, mtu);
        let mtu = u64::from(mtu);
        assert_eq!(cc.initial_window(), (10 * mtu).min(14_720.max(2 * mtu)));
        assert_eq!(cc.window(), cc.initial_window());
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
    // 2 x 24000 bytes per 50 ms, and two datagrams, which are more than 1 ms of that rate.
    assert_eq!(cc.metrics().pacing_rate, Some(960_000));
    assert_eq!(cc.metrics().send_quantum, Some(2 * DATAGRAM));
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
    cc.on_congestion_event(start + ms(10), before, true, false, DATAGRAM, 7);
    assert_eq!(cc.path().window(), 10 * DATAGRAM);
}

#[test]
fn a_loss_a_mark_and_persistent_congestion_reduce() {
    for (lost, persistent, least) in [(DATAGRAM, false, 3), (0, false, 3), (DATAGRAM, true, 2)] {
        let (start, mut cc) = made("newreno-34");
        round(&mut cc, start, 10, false);
        let before = cc.path().window();
        cc.on_packet_sent(start + ms(60), DATAGRAM as u16, 11);
        cc.on_congestion_event(
            start + ms(120),
            start + ms(60),
            persistent,
            lost == 0,
            lost,
            11,
        );
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
        assert!(copy.window() > copy.initial_window(), "{name}");
    }
}

#[test]
fn a_larger_mtu_scales_an_initial_window_and_the_minimum() {
    let (start, mut cc) = made("petra");
    cc.on_mtu_update(1_452);
    assert_eq!(cc.path().window(), 14_520);
    cc.on_packet_sent(start, 1_452, 0);
    cc.on_congestion_event(start + ms(900), start, true, false, 1_452, 0);
    assert_eq!(cc.path().window(), 2 * 1_452);
}

#[test]
fn the_names_are_those_that_need_no_early_probes() {
    let all: Vec<_> = petra::registry::names().collect();
    let ours = controllers();
    assert!(!ours.contains(&"highbrow"));
    assert_eq!(ours.len() + 1, all.len());
    assert!(configured(petra::HighbrowConfig::default()).is_err());
}

#[test]
fn a_spurious_congestion_event_restores_the_window_of_petra() {
    let (start, mut cc) = made("petra");
    round(&mut cc, start, 10, false);
    for pn in 0..9 {
        cc.on_packet_sent(start + ms(60), DATAGRAM as u16, pn);
    }
    let before = cc.path().window();
    // Too many losses for any cause but congestion.
    for pn in 0..9 {
        cc.on_packet_lost(DATAGRAM as u16, pn, start + ms(120));
    }
    cc.on_congestion_event(
        start + ms(120),
        start + ms(60),
        false,
        false,
        9 * DATAGRAM,
        8,
    );
    assert!(cc.path().window() < before);
    cc.on_spurious_congestion_event();
    assert_eq!(cc.path().window(), before);
}

#[test]
fn a_blocked_window_is_not_app_limited() {
    let (start, mut cc) = made("petra");
    cc.on_packet_sent(start, DATAGRAM as u16, 0);
    cc.on_cwnd_limited();
    cc.add_ack(start, DATAGRAM, ms(50));
    cc.on_end_acks(start + ms(50), 0, true, Some(0));
    assert!(cc.path().window() > cc.path().initial_window());
}

/// Bursts of 1 ms at the pacing rate, up to 64 KiB.
#[test]
fn the_send_quantum_follows_the_rate() {
    let (start, mut cc) = made("westwood");
    let mut largest = 0;
    for at in 0..14 {
        let window = cc.path().window() / DATAGRAM;
        round(&mut cc, start + ms(100 * at), window, false);
        let metrics = cc.metrics();
        let burst = metrics.pacing_rate.unwrap() / 1_000;
        assert_eq!(
            metrics.send_quantum,
            Some(burst.clamp(2 * DATAGRAM, 65_536))
        );
        largest = metrics.send_quantum.unwrap();
    }
    assert_eq!(largest, 65_536);
}
