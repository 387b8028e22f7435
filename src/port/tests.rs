use std::sync::{Arc, Mutex};

use super::super::controller::{Capability, Pto};
use super::super::events::{ms, settings, DATAGRAM, INITIAL};
use super::super::registry;
use super::*;

/// Everything that a controller was told.
#[derive(Debug, Default)]
struct Told {
    sent: Vec<Sent>,
    acks: Vec<Ack>,
    losses: Vec<Loss>,
    marks: Vec<CongestionExperienced>,
    spurious: Vec<SpuriousLoss>,
    persistent: Vec<Time>,
}

#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Told>>);

impl Factory for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn build(&self, _settings: Settings) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, sent: &Sent) {
        self.0.lock().unwrap().sent.push(*sent);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.0.lock().unwrap().acks.push(*ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.0.lock().unwrap().losses.push(*loss);
    }
    fn on_pto(&mut self, _pto: &Pto) {
        unreachable!("no stack of the port has PTO events")
    }
    fn on_congestion_experienced(&mut self, marks: &CongestionExperienced) {
        self.0.lock().unwrap().marks.push(*marks);
    }
    fn on_persistent_congestion(&mut self, now: Time) {
        self.0.lock().unwrap().persistent.push(now);
    }
    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.0.lock().unwrap().spurious.push(*spurious);
    }
    fn on_max_datagram_size(&mut self, _bytes: u64) {}
    fn window(&self) -> u64 {
        INITIAL
    }
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    fn phase(&self) -> Phase {
        Phase::SlowStart
    }
    fn metrics(&self) -> Metrics {
        Metrics::default()
    }
}

fn recorded() -> (Path, Arc<Mutex<Told>>) {
    let recorder = Recorder::default();
    let told = recorder.0.clone();
    (Path::new(Arc::new(recorder), settings()), told)
}

fn end(largest: u64) -> AckEnd {
    AckEnd {
        largest_acked: Some(largest),
        ..AckEnd::default()
    }
}

#[test]
fn an_ack_frame_of_many_packets_is_one_event() {
    let (mut path, told) = recorded();
    for at in [0, 10, 20] {
        path.sent(ms(at), DATAGRAM);
    }
    path.acked(ms(20), DATAGRAM);
    path.acked(ms(10), DATAGRAM);
    path.end_acks(ms(70), end(2));
    let told = told.lock().unwrap();
    let [ack] = told.acks[..] else {
        panic!("{:?}", told.acks)
    };
    assert_eq!((ack.now, ack.bytes), (ms(70), 2 * DATAGRAM));
    assert_eq!((ack.first_sent, ack.last_sent), (ms(10), ms(20)));
    assert_eq!(ack.bytes_in_flight, DATAGRAM);
    assert_eq!(ack.rtt, RttEstimator::first(ms(50)));
}

#[test]
fn a_frame_without_packets_in_flight_is_no_event() {
    let (mut path, told) = recorded();
    path.sent(ms(0), 0);
    path.end_acks(ms(50), end(0));
    path.acked(ms(0), 0);
    path.end_acks(ms(60), end(1));
    assert!(told.lock().unwrap().acks.is_empty());
    assert!(told.lock().unwrap().sent.is_empty());
    assert_eq!(path.rtt(), None);
}

#[test]
fn only_the_newest_packet_gives_a_sample() {
    let (mut path, _) = recorded();
    path.acked(ms(20), DATAGRAM);
    path.end_acks(ms(70), end(3));
    // Reordered: sent before.
    path.acked(ms(10), DATAGRAM);
    path.end_acks(ms(90), end(3));
    assert_eq!(path.rtt(), Some(RttEstimator::first(ms(50))));
    // Sent together with the newest: a sample only with a larger number.
    path.acked(ms(20), DATAGRAM);
    path.end_acks(ms(100), end(3));
    assert_eq!(path.rtt(), Some(RttEstimator::first(ms(50))));
    path.acked(ms(20), DATAGRAM);
    path.end_acks(ms(100), end(4));
    assert_eq!(path.rtt().unwrap().latest, ms(80));
}

#[test]
fn an_estimator_that_is_set_takes_no_sample_from_a_frame() {
    let (mut path, told) = recorded();
    path.sent(ms(0), 2 * DATAGRAM);
    let rtt = RttEstimator::first(ms(40));
    path.set_rtt(rtt);
    path.acked(ms(0), DATAGRAM);
    path.end_acks(
        ms(70),
        AckEnd {
            rtt: StackRtt::Set,
            ..end(1)
        },
    );
    assert_eq!(told.lock().unwrap().acks[0].rtt, rtt);
    assert_eq!(path.rtt(), Some(rtt));
}

#[test]
fn smoothed_and_variation_are_those_of_the_rfc() {
    let mut rtt = RttEstimator::default();
    rtt.update(ms(80));
    rtt.update(ms(160));
    let after = rtt.get().unwrap();
    // 7/8 x 80 + 160/8, and 3/4 x 40 + 80/4
    assert_eq!((after.smoothed, after.variation), (ms(90), ms(50)));
    assert_eq!((after.latest, after.min), (ms(160), ms(80)));
    rtt.update(ms(70));
    assert_eq!(rtt.get().unwrap().min, ms(70));
}

#[test]
fn the_stacks_smoothed_rtt_takes_the_place_of_the_paths_own() {
    let (mut path, _) = recorded();
    let ack = |path: &mut Path, sent, now, smoothed| {
        path.acked(ms(sent), DATAGRAM);
        path.end_acks(
            ms(now),
            AckEnd {
                rtt: StackRtt::SmoothedBefore(ms(smoothed)),
                ..AckEnd::default()
            },
        );
    };
    // The stack's initial RTT, which is no sample.
    ack(&mut path, 0, 80, 333);
    assert_eq!(path.rtt(), Some(RttEstimator::first(ms(80))));
    // The peer had delayed that ACK by 16 ms, which the stack knows.
    ack(&mut path, 10, 82, 64);
    assert_eq!(path.rtt().unwrap().smoothed, ms(65));
}

#[test]
fn the_stacks_count_of_bytes_in_flight_replaces_the_paths() {
    let (mut path, told) = recorded();
    path.sent(ms(0), 5 * DATAGRAM);
    path.acked(ms(0), DATAGRAM);
    path.end_acks(
        ms(50),
        AckEnd {
            bytes_in_flight: Some(3 * DATAGRAM),
            ..AckEnd::default()
        },
    );
    path.lost(ms(50), ms(0), DATAGRAM, 1);
    path.sent(ms(60), DATAGRAM);
    let told = told.lock().unwrap();
    assert_eq!(told.acks[0].bytes_in_flight, 3 * DATAGRAM);
    assert_eq!(told.losses[0].bytes_in_flight, 2 * DATAGRAM);
    assert_eq!(told.sent[1].bytes_in_flight, 3 * DATAGRAM);
}

#[test]
fn an_idle_application_limits_what_was_sent_before_unless_it_filled_the_window() {
    let limited = |bytes, idle, sent, now| {
        let (mut path, told) = recorded();
        path.sent(ms(sent), bytes);
        path.acked(ms(sent), DATAGRAM);
        path.end_acks(
            ms(now),
            AckEnd {
                app_limited: idle,
                ..AckEnd::default()
            },
        );
        let limited = told.lock().unwrap().acks[0].app_limited;
        limited
    };
    assert!(!limited(DATAGRAM, false, 0, 50));
    assert!(limited(DATAGRAM, true, 0, 50));
    // The window is full when less than a datagram fits.
    assert!(limited(INITIAL - DATAGRAM, true, 0, 50));
    assert!(!limited(INITIAL - DATAGRAM + 1, true, 0, 50));
}

/// The stack reports the state at the ACK, and not that at which the packet was sent.
#[test]
fn packets_of_an_idle_application_stay_limited_after_it_has_resumed() {
    let (mut path, told) = recorded();
    path.sent(ms(0), DATAGRAM);
    path.sent(ms(10), DATAGRAM);
    let ack = |path: &mut Path, sent, now, app_limited| {
        path.acked(ms(sent), DATAGRAM);
        path.end_acks(
            ms(now),
            AckEnd {
                app_limited,
                ..AckEnd::default()
            },
        );
    };
    ack(&mut path, 0, 50, true);
    path.sent(ms(60), DATAGRAM);
    ack(&mut path, 10, 62, false);
    ack(&mut path, 60, 110, false);
    let limited: Vec<_> = (told.lock().unwrap().acks.iter())
        .map(|ack| ack.app_limited)
        .collect();
    assert_eq!(limited, [true, true, false]);
}

#[test]
fn persistent_congestion_comes_after_the_loss_and_restarts_the_minimum() {
    let (mut path, told) = recorded();
    path.acked(ms(0), DATAGRAM);
    path.end_acks(ms(50), end(1));
    path.acked(ms(10), DATAGRAM);
    path.end_acks(ms(80), end(2));
    path.sent(ms(400), DATAGRAM);
    path.lost(ms(500), ms(400), DATAGRAM, 1);
    path.persistent_congestion(ms(500));
    assert_eq!(path.rtt().unwrap().min, ms(70));
    let told = told.lock().unwrap();
    assert_eq!(told.losses[0].rtt.unwrap().min, ms(50));
    assert_eq!(told.persistent, [ms(500)]);
}

#[test]
fn bytes_beyond_those_in_flight_are_losses_of_another_path() {
    let (mut path, told) = recorded();
    path.sent(ms(0), 2 * DATAGRAM);
    path.lost(ms(50), ms(0), 9 * DATAGRAM, 9);
    let told = told.lock().unwrap();
    let loss = told.losses[0];
    assert_eq!((loss.bytes, loss.bytes_in_flight), (2 * DATAGRAM, 0));
}

#[test]
fn a_spurious_event_has_the_packets_of_the_last_loss_event() {
    let (mut path, told) = recorded();
    path.sent(ms(50), 3 * DATAGRAM);
    path.spurious_loss_event();
    path.lost(ms(100), ms(50), DATAGRAM, 4);
    // Sent before that loss was detected: the same event.
    path.lost(ms(110), ms(90), DATAGRAM, 2);
    path.spurious_loss_event();
    path.spurious_loss_event();
    path.lost(ms(200), ms(150), DATAGRAM, 1);
    path.spurious_loss_event();
    let told = told.lock().unwrap();
    let packets: Vec<_> = told.spurious.iter().map(|event| event.packets).collect();
    assert_eq!(packets, [6, 1]);
}

#[test]
fn time_never_decreases() {
    let (mut path, told) = recorded();
    path.sent(ms(100), DATAGRAM);
    path.acked(ms(100), DATAGRAM);
    path.end_acks(ms(50), end(1));
    path.congestion_experienced(ms(40), ms(100));
    let told = told.lock().unwrap();
    assert_eq!(told.acks[0].now, ms(100));
    assert_eq!(told.acks[0].rtt.latest, Duration::ZERO);
    assert_eq!(told.marks[0].now, ms(100));
}

#[test]
fn a_copy_continues_and_one_that_cannot_be_made_starts_anew() {
    for name in registry::names() {
        let mut path = Path::new(registry::factory(name, "").unwrap(), settings());
        path.sent(ms(0), INITIAL);
        path.acked(ms(0), DATAGRAM);
        path.end_acks(ms(50), end(1));
        path.sent(ms(60), DATAGRAM);
        let mut copy = path.clone();
        assert_eq!(copy.window(), path.window(), "{name}");
        assert!(path.window() > INITIAL, "{name}");
        // The copies are independent.
        copy.lost(ms(100), ms(60), DATAGRAM, 1);
        copy.persistent_congestion(ms(100));
        assert!(copy.window() < path.window(), "{name}");
    }
    let (path, _) = recorded();
    assert_eq!(path.clone().window(), INITIAL);
}

#[test]
fn losses_that_are_all_of_another_path_are_none_of_this_one() {
    let (mut path, told) = recorded();
    path.lost(ms(100), ms(60), DATAGRAM, 1);
    assert!(told.lock().unwrap().losses.is_empty());
    path.sent(ms(110), DATAGRAM);
    path.lost(ms(200), ms(110), 3 * DATAGRAM, 3);
    assert_eq!(told.lock().unwrap().losses[0].bytes, DATAGRAM);
}

const NOTHING: Stack = Stack {
    name: "nothing",
    capabilities: &[],
};

#[test]
fn a_controller_that_cannot_do_without_a_capability_is_refused() {
    let error = select("highbrow:alpha=0.3", &NOTHING).unwrap_err();
    let others: Vec<_> = registry::names()
        .filter(|name| *name != "highbrow")
        .collect();
    let expected = format!(
        "highbrow: early probes: not supported (got stack nothing); expected {}",
        others.join(", ")
    );
    assert_eq!(error.to_string(), expected);
    let probing = Stack {
        capabilities: &[Capability::EarlyProbes],
        ..NOTHING
    };
    assert!(select("highbrow:alpha=0.3", &probing).is_ok());
}

#[test]
fn options_follow_a_colon_and_errors_are_those_of_the_registry() {
    assert_eq!(select("petra", &NOTHING).unwrap().name(), "petra");
    let chosen = select("petra:alpha=0.8,faster_start=off", &NOTHING).unwrap();
    assert!(format!("{chosen:?}").contains("0.8"), "{chosen:?}");
    for (text, problem) in [
        ("nonesuch", "controller: unknown name (got \"nonesuch\")"),
        ("petra:alpha=7", "petra: alpha: invalid value (got \"7\")"),
        ("petra:", ""),
    ] {
        match select(text, &NOTHING) {
            Ok(_) => assert!(problem.is_empty(), "{text}"),
            Err(error) => assert!(error.to_string().starts_with(problem), "{text}: {error}"),
        }
    }
}

/// The marks reduce the window of `petra` without a queue, and of all others.
#[test]
fn congestion_experienced_reduces_once_per_round_trip() {
    for name in NOTHING.controllers() {
        let mut path = Path::new(registry::factory(name, "").unwrap(), settings());
        for at in 0..20 {
            path.sent(ms(10 * at), INITIAL);
            path.acked(ms(10 * at), INITIAL);
            path.end_acks(ms(10 * at + 100), end(at));
        }
        path.sent(ms(400), DATAGRAM);
        let before = path.window();
        path.congestion_experienced(ms(450), ms(400));
        let after = path.window();
        if name != "petra-thesis" {
            assert!(after < before, "{name}: {before} to {after}");
        }
        path.congestion_experienced(ms(460), ms(410));
        assert_eq!(path.window(), after, "{name}");
    }
}

fn path(name: &str) -> Path {
    Path::new(registry::factory(name, "").unwrap(), settings())
}

#[test]
fn a_path_has_the_numbers_of_its_controller_and_of_the_bytes_in_flight() {
    let mut path = path("newreno-34");
    assert_eq!(
        (path.initial_window(), path.max_datagram_size()),
        (INITIAL, DATAGRAM)
    );
    assert_eq!(
        (path.ssthresh(), path.pacing_rate(), path.send_quantum()),
        (None, None, None)
    );
    for _ in 0..4 {
        path.sent(ms(0), DATAGRAM);
    }
    path.lost(ms(100), ms(0), DATAGRAM, 1);
    path.discarded(DATAGRAM);
    assert_eq!(path.bytes_in_flight(), 2 * DATAGRAM);
    // 0.75 x 12 000
    assert_eq!((path.window(), path.ssthresh()), (9_000, Some(9_000)));
    assert_eq!(path.metrics().reductions, 1);
    path.set_max_datagram_size(5_000);
    assert_eq!((path.window(), path.max_datagram_size()), (10_000, 5_000));
    let text = format!("{path:?}");
    assert!(
        text.contains("controller: \"newreno-34\", window: 10000"),
        "{text}"
    );
}

#[test]
fn a_burst_is_a_millisecond_of_the_rate_and_two_datagrams_at_least() {
    for (round_trip, rate, burst) in [(1, 28_800_000, 28_800), (100, 288_000, 2_400)] {
        let mut path = path("newreno-34");
        path.sent(ms(0), DATAGRAM);
        path.acked(ms(0), DATAGRAM);
        path.end_acks(ms(round_trip), end(0));
        // 2 x (12 000 + 2 x 1200) per round trip
        assert_eq!(path.pacing_rate(), Some(rate));
        assert_eq!(path.send_quantum(), Some(burst));
    }
}

/// Another frame with the largest number of the last one (RFC 9002, Section 5.1).
#[test]
fn the_same_largest_packet_gives_no_second_sample() {
    let (mut path, _) = recorded();
    for now in [70, 90] {
        path.acked(ms(20), DATAGRAM);
        path.end_acks(ms(now), end(3));
    }
    assert_eq!(path.rtt().unwrap().latest, ms(50));
}

/// The packet is sent at 10 ms, and the application is idle then.
#[test]
fn a_full_window_limits_what_was_sent_before_it() {
    for (full, app_limited) in [
        (None, true),
        (Some(0), true),
        (Some(10), false),
        (Some(20), false),
    ] {
        let (mut path, told) = recorded();
        path.sent(ms(0), DATAGRAM);
        if full == Some(0) {
            path.window_blocked();
        }
        path.sent(ms(10), DATAGRAM);
        path.application_idle(ms(10));
        match full {
            Some(10) => path.window_blocked(),
            Some(20) => {
                path.sent(ms(20), DATAGRAM);
                path.window_blocked();
            }
            _ => (),
        }
        path.acked(ms(10), DATAGRAM);
        path.end_acks(ms(70), end(1));
        assert_eq!(
            told.lock().unwrap().acks[0].app_limited,
            app_limited,
            "{full:?}"
        );
    }
}

#[test]
fn a_loss_without_bytes_is_one_of_this_path() {
    let (mut path, told) = recorded();
    path.lost(ms(50), ms(0), 0, 1);
    assert_eq!(told.lock().unwrap().losses.len(), 1);
}

/// RFC 9002, Section 7.3.2: packets sent until the event was detected belong to it.
#[test]
fn a_loss_event_has_what_was_sent_before_it_was_detected() {
    for (last_sent, packets) in [(100, 2), (101, 1)] {
        let (mut path, told) = recorded();
        path.sent(ms(0), DATAGRAM);
        path.lost(ms(100), ms(0), DATAGRAM, 1);
        path.sent(ms(101), DATAGRAM);
        path.lost(ms(200), ms(last_sent), DATAGRAM, 1);
        path.spurious_loss_event();
        assert_eq!(told.lock().unwrap().spurious[0].packets, packets);
    }
}

#[test]
fn a_refused_option_is_the_source_of_the_error() {
    let error = SelectError::from(registry::factory("bbr", "").unwrap_err());
    assert!(std::error::Error::source(&error).is_some());
}
