//! Events that a controller gets from a real connection, and the effect of its results.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::pair::{config, pass, tls, Pair};
use petra::controller::{Ack, Controller, Loss, Metrics, Phase, Pto, Sent, Settings, Time};
use petra::registry::Factory;
use quiche::congestion_control::{register, CongestionControlOps};

/// After this a loop that waits for an event has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// An event, as it came.
#[derive(Clone, Copy, Debug)]
enum Event {
    Sent(Sent),
    Ack(Ack),
    Loss(Loss),
    Pto(Pto),
}

impl Event {
    fn at(&self) -> Time {
        match self {
            Event::Sent(sent) => sent.now,
            Event::Ack(ack) => ack.now,
            Event::Loss(loss) => loss.now,
            Event::Pto(pto) => pto.now,
        }
    }
}

type Events = Arc<Mutex<Vec<Event>>>;

/// Makes controllers that write down what they are told, and have a window that
/// nothing changes.
#[derive(Debug, Default)]
struct Recorder {
    events: Events,
    datagrams: u64,
}

impl Factory for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Recording {
            events: self.events.clone(),
            window: self.datagrams * settings.max_datagram_size,
        })
    }
}

struct Recording {
    events: Events,
    window: u64,
}

impl Recording {
    fn record(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl Controller for Recording {
    fn on_sent(&mut self, sent: &Sent) {
        self.record(Event::Sent(*sent));
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.record(Event::Ack(*ack));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.record(Event::Loss(*loss));
    }

    fn on_pto(&mut self, pto: &Pto) {
        self.record(Event::Pto(*pto));
    }

    fn on_persistent_congestion(&mut self, _now: Time) {}

    fn on_max_datagram_size(&mut self, _bytes: u64) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> Option<u64> {
        Some(self.window / 2)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(123_456_789)
    }

    fn phase(&self) -> Phase {
        Phase::CongestionAvoidance
    }

    fn metrics(&self) -> Metrics {
        Metrics::default()
    }
}

static RECORDER: CongestionControlOps =
    petra::table(|_, _| Ok(petra::options(Arc::new(Recorder::default()))));

/// A pair whose server has a window of so many datagrams, and what it is told.
fn pair(datagrams: u64) -> (Pair, Events) {
    register("recorder", &RECORDER).unwrap();
    let recorder = Recorder {
        datagrams,
        ..Recorder::default()
    };
    let events = recorder.events.clone();
    let mut server = config(tls());
    petra::select(&mut server, recorder).unwrap();
    (Pair::new(server), events)
}

fn of<T>(events: &Events, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
    events.lock().unwrap().iter().filter_map(pick).collect()
}

fn sent(events: &Events) -> Vec<Sent> {
    of(events, |event| match event {
        Event::Sent(sent) => Some(*sent),
        _ => None,
    })
}

fn acks(events: &Events) -> Vec<Ack> {
    of(events, |event| match event {
        Event::Ack(ack) => Some(*ack),
        _ => None,
    })
}

fn losses(events: &Events) -> Vec<Loss> {
    of(events, |event| match event {
        Event::Loss(loss) => Some(*loss),
        _ => None,
    })
}

fn pto_counts(events: &Events) -> Vec<u32> {
    of(events, |event| match event {
        Event::Pto(pto) => Some(pto.count),
        _ => None,
    })
}

#[test]
fn every_byte_is_told_once_and_time_runs_forward() {
    let (mut pair, events) = pair(40);
    pair.transfer(200_000);
    pair.exchange();

    let bytes: u64 = sent(&events).iter().map(|sent| sent.bytes).sum();
    let acked: u64 = acks(&events).iter().map(|ack| ack.bytes).sum();
    let lost: u64 = losses(&events).iter().map(|loss| loss.bytes).sum();
    let in_flight = pair.server.path_stats().next().unwrap().bytes_in_flight as u64;
    assert!(bytes > 200_000);
    // Packets of the handshake's spaces are told as sent, and dropped with their keys.
    let rest = bytes - acked - lost - in_flight;
    assert!(
        rest < 6_000,
        "{rest} bytes are neither acknowledged nor lost"
    );

    let times = of(&events, |event| Some(event.at()));
    assert!(times.is_sorted());
    for ack in acks(&events) {
        assert!(ack.first_sent <= ack.last_sent && ack.last_sent <= ack.newest_sent);
        assert!(ack.newest_sent <= ack.now);
        assert!(ack.bytes > 0);
        assert!(ack.rtt.min <= ack.rtt.latest);
    }
}

#[test]
fn the_controllers_answers_are_the_paths() {
    let (mut pair, _) = pair(40);
    pair.transfer(20_000);
    let path = pair.server.path_stats().next().unwrap();
    assert_eq!(path.cwnd, 40 * path.pmtu);
    assert_eq!(path.ssthresh, Some(20 * path.pmtu));
    assert_eq!(path.pacing_rate, Some(123_456_789));
}

#[test]
fn no_window_is_below_the_minimum() {
    let (mut pair, _) = pair(0);
    pair.ask();
    let path = pair.server.path_stats().next().unwrap();
    assert_eq!(path.cwnd, 2 * path.pmtu);
}

#[test]
fn a_loss_comes_with_its_bytes_and_when_the_last_of_them_left() {
    let (mut pair, events) = pair(40);
    pair.ask();
    pair.server.stream_send(0, &[1; 30_000], true).unwrap();
    let mut datagrams = 0;
    let mut dropped = 0;
    let began = Instant::now();
    while datagrams < 20 {
        assert!(began.elapsed() < PATIENCE);
        pass(&mut pair.server, &mut pair.client, |size| {
            datagrams += 1;
            let arrives = !matches!(datagrams, 4 | 5);
            dropped += if arrives { 0 } else { size as u64 };
            arrives
        });
        pass(&mut pair.client, &mut pair.server, |_| true);
        pair.wait();
    }

    let losses = losses(&events);
    assert_eq!(losses.iter().map(|loss| loss.bytes).sum::<u64>(), dropped);
    let last = losses.last().unwrap();
    let sent = sent(&events);
    assert!(sent.iter().any(|sent| sent.now == last.last_sent));
    assert!(last.last_sent < last.now);
    assert!(last.rtt.is_some());
}

#[test]
fn each_pto_is_told_with_its_count() {
    let (mut pair, events) = pair(40);
    pair.ask();
    pair.server.stream_send(0, b"an answer", true).unwrap();
    let began = Instant::now();
    while pto_counts(&events).len() < 2 {
        assert!(began.elapsed() < PATIENCE);
        pass(&mut pair.server, &mut pair.client, |_| false);
        pair.wait();
    }
    assert_eq!(pto_counts(&events), [1, 2]);
}

/// quiche marks packets of a flight that then filled the window, too.
#[test]
fn a_full_window_is_no_limit_of_the_application() {
    let (mut pair, events) = pair(10);
    pair.transfer(200_000);
    let acks = acks(&events);
    let full: Vec<_> = acks.iter().filter(|ack| ack.bytes > 10_000).collect();
    assert!(full.len() > 10);
    assert!(full.iter().all(|ack| !ack.app_limited), "{full:#?}");
    assert!(acks.first().unwrap().app_limited);
}

#[test]
fn options_of_another_controller_are_refused() {
    petra::register();
    let mut server = config(tls());
    assert_eq!(
        server.set_cc_algorithm_name_with_options("petra", 5_u8),
        Err(quiche::Error::CongestionControl)
    );
}
