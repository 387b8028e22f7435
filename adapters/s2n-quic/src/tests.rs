use super::*;

const DATAGRAM: u64 = 1_200;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A time of a clock that no test reads.
fn at(at: u64) -> Timestamp {
    // SAFETY: any duration is a time; the tests are the source of all times here.
    unsafe { Timestamp::from_duration(ms(1_000 + at)) }
}

fn made(text: &str) -> PetraController {
    PetraController::new(controller(text).unwrap().0, DATAGRAM)
}

fn rtt(latest: u64) -> Rtt {
    Rtt {
        latest: ms(latest),
        smoothed: ms(50),
        variation: ms(5),
        min: ms(50),
    }
}

/// An ACK frame at 50 ms that gives an RTT sample, as s2n-quic reports it.
fn acknowledge(cc: &mut PetraController, bytes: u64, newest: PacketInfo) {
    cc.add_rtt(at(0), rtt(50));
    cc.add_ack(at(50), bytes, newest);
}

/// Sends packets at one instant, and returns the state of the last.
fn send(cc: &mut PetraController, now: u64, packets: u64) -> PacketInfo {
    let mut last = None;
    for _ in 0..packets {
        last = Some(cc.add_sent(at(now), DATAGRAM, Some(false)));
    }
    last.unwrap()
}

#[test]
fn bytes_in_flight_are_those_neither_acknowledged_lost_nor_discarded() {
    let mut cc = made("petra");
    let last = send(&mut cc, 0, 9);
    assert_eq!(cc.bytes_in_flight(), 9 * 1_200);
    assert!(!cc.is_congestion_limited());
    let full = send(&mut cc, 0, 1);
    assert!(cc.is_congestion_limited());
    acknowledge(&mut cc, 4 * DATAGRAM, last);
    cc.add_loss(at(60), DATAGRAM, full, false);
    cc.path.discarded(2 * DATAGRAM);
    assert_eq!(cc.bytes_in_flight(), 3 * 1_200);
    assert_eq!(cc.add_sent(at(70), 0, Some(false)).end, 10 * DATAGRAM);
    assert_eq!(cc.bytes_in_flight(), 3 * 1_200);
}

#[test]
fn an_ack_grows_the_window_unless_the_application_limited_it() {
    for (app_limited, window) in [(Some(false), 11), (Some(true), 10), (None, 10)] {
        let mut cc = made("westwood");
        let packet = cc.add_sent(at(0), DATAGRAM, app_limited);
        acknowledge(&mut cc, DATAGRAM, packet);
        assert_eq!(cc.congestion_window(), window * 1_200, "{app_limited:?}");
        assert_eq!(cc.path().rtt(), Some(rtt(50)));
    }
}

/// s2n-quic reports the newest packet of a frame; the first follows from the bytes.
#[test]
fn the_first_packet_of_a_frame_is_found_by_its_bytes() {
    let mut cc = made("petra");
    let packets: Vec<_> = (0..6).map(|now| send(&mut cc, 10 * now, 1)).collect();
    assert_eq!(cc.first_sent(packets[1], 2 * DATAGRAM), ms(0));
    assert_eq!(cc.first_sent(packets[3], DATAGRAM), ms(30));
    // Reordered: known no more, and never later than the packet itself.
    assert_eq!(cc.first_sent(packets[2], DATAGRAM), ms(20));
    assert_eq!(cc.first_sent(packets[5], 2 * DATAGRAM), ms(40));
}

#[test]
fn a_reduction_permits_one_packet_beyond_the_window() {
    let mut cc = made("newreno-34");
    let packet = send(&mut cc, 0, 10);
    assert!(!cc.requires_fast_retransmission());
    cc.add_loss(at(60), DATAGRAM, packet, false);
    assert!(cc.requires_fast_retransmission() && cc.is_congestion_limited());
    send(&mut cc, 61, 1);
    assert!(!cc.requires_fast_retransmission());
}

#[test]
fn persistent_congestion_leaves_two_datagrams() {
    for name in controllers() {
        let mut cc = made(name);
        let packet = send(&mut cc, 0, 10);
        cc.add_rtt(at(0), rtt(50));
        cc.add_loss(at(900), DATAGRAM, packet, true);
        let first = cc.path.ssthresh();
        let reductions = cc.path.metrics().reductions;
        cc.add_loss(at(900), DATAGRAM, packet, true);
        assert_eq!(cc.congestion_window(), 2 * 1_200, "{name}");
        assert_eq!(cc.path.ssthresh(), first, "{name}");
        assert_eq!(cc.path.metrics().reductions, reductions, "{name}");
        assert_eq!(cc.path.bytes_in_flight(), 8 * 1_200, "{name}");
    }
}

#[test]
fn departures_follow_the_rate_and_make_up_for_a_late_timer() {
    let mut cc = made("westwood");
    let packet = send(&mut cc, 0, 1);
    assert_eq!(cc.earliest_departure_time(), None);
    acknowledge(&mut cc, DATAGRAM, packet);
    // 2 x 13200 bytes per 50 ms: a packet takes 2.27 ms.
    let rate = cc.path().pacing_rate().unwrap();
    assert_eq!(rate, 528_000);
    send(&mut cc, 60, 1);
    let due = cc.earliest_departure_time().unwrap();
    let packet = due.saturating_duration_since(at(60));
    assert!((ms(2)..ms(3)).contains(&packet), "{packet:?}");
    // 1 ms late: the one after is due as if it had not been.
    let mut late = cc.clone();
    late.add_sent(due + ms(1), DATAGRAM, Some(false));
    let next = late.earliest_departure_time().unwrap();
    assert_eq!(next.saturating_duration_since(due), packet);
    // A pause earns no burst.
    send(&mut cc, 500, 1);
    assert!(cc.earliest_departure_time().unwrap() > at(501));
}

#[test]
fn a_copy_continues() {
    for name in controllers() {
        let mut cc = made(name);
        let packet = send(&mut cc, 0, 10);
        acknowledge(&mut cc, 10 * DATAGRAM, packet);
        let copy = cc.clone();
        assert!(copy.congestion_window() > 10 * 1_200, "{name}");
        assert_eq!(copy.congestion_window(), cc.congestion_window());
    }
}

#[test]
fn a_window_beyond_four_gigabytes_saturates() {
    assert_eq!(saturating(u64::MAX), u32::MAX);
    assert_eq!(saturating(7), 7);
}
