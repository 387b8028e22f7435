//! Events that a controller gets from a real connection, and the effect of its results.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::pair::{client, config, pass, tls, Pair};
use petra::controller::{
    Ack, Controller, EarlyProbes, Loss, Metrics, Phase, Pto, Rtt, Sent, Settings, SpuriousLoss,
    Time,
};
use petra::registry::Factory;
use quiche::congestion_control::{register, CongestionControlOps};
use quiche::StartupExitReason;

/// After this a loop that waits for an event has failed.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// `max_ack_delay` of a client that does not send the transport parameter.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// An event, as it came.
#[derive(Clone, Copy, Debug)]
enum Event {
    Sent(Sent),
    Ack(Ack),
    Loss(Loss),
    Pto(Pto),
    PersistentCongestion(Time),
    SpuriousLoss(SpuriousLoss),
}

impl Event {
    fn at(&self) -> Time {
        match self {
            Event::Sent(sent) => sent.now,
            Event::Ack(ack) => ack.now,
            Event::Loss(loss) => loss.now,
            Event::Pto(pto) => pto.now,
            Event::PersistentCongestion(now) => *now,
            Event::SpuriousLoss(spurious) => spurious.now,
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
    /// Time of early probes.
    probes_after: Option<Duration>,
    packet_threshold: Option<u64>,
    /// Share of the window that remains when the first ACK ends slow start. Without one, it has
    /// ended before.
    exits_to: Option<f64>,
}

impl Factory for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Recording {
            events: self.events.clone(),
            window: self.datagrams * settings.max_datagram_size,
            probes_after: self.probes_after,
            packet_threshold: self.packet_threshold,
            exits_to: self.exits_to,
            datagram: None,
        })
    }
}

struct Recording {
    events: Events,
    window: u64,
    probes_after: Option<Duration>,
    packet_threshold: Option<u64>,
    exits_to: Option<f64>,
    /// The maximum datagram size that it was told.
    datagram: Option<u64>,
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
        if let Some(share) = self.exits_to.take() {
            self.window = (share * self.window as f64) as u64;
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.record(Event::Loss(*loss));
    }

    fn on_pto(&mut self, pto: &Pto) {
        self.record(Event::Pto(*pto));
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.record(Event::PersistentCongestion(now));
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.record(Event::SpuriousLoss(*spurious));
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.datagram = Some(bytes);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> Option<u64> {
        self.exits_to.is_none().then_some(self.window / 2)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(123_456_789)
    }

    fn packet_threshold(&self, _rtt: &Rtt, _pto: Duration) -> Option<u64> {
        self.packet_threshold
    }

    fn early_probes(&self, _rtt: &Rtt, _pto: Duration, _outstanding: u64) -> Option<EarlyProbes> {
        self.probes_after
            .map(|after| EarlyProbes { after, packets: 1 })
    }

    fn phase(&self) -> Phase {
        Phase::Recovery
    }

    /// The estimate is the maximum datagram size, which a path's statistics show.
    fn metrics(&self) -> Metrics {
        Metrics {
            bandwidth_estimate: self.datagram,
            base_rtt: Some(Duration::from_millis(25)),
            ..Metrics::default()
        }
    }
}

static RECORDER: CongestionControlOps =
    petra::table(|_, _| Ok(petra::options(Arc::new(Recorder::default()))));

/// A pair whose server has a window of `datagrams` datagrams, and the events of its controller.
fn pair(datagrams: u64) -> (Pair, Events) {
    let recorder = Recorder {
        datagrams,
        ..Recorder::default()
    };
    pair_between(client(), recorder)
}

fn pair_between(client: quiche::Config, recorder: Recorder) -> (Pair, Events) {
    register("recorder", &RECORDER).unwrap();
    let events = recorder.events.clone();
    let mut server = config(tls());
    server.set_max_send_udp_payload_size(1_350);
    petra::select(&mut server, recorder).unwrap();
    (Pair::with_client(client, server), events)
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

fn ptos(events: &Events) -> Vec<Pto> {
    of(events, |event| match event {
        Event::Pto(pto) => Some(*pto),
        _ => None,
    })
}

fn pto_counts(events: &Events) -> Vec<u32> {
    ptos(events).iter().map(|pto| pto.count).collect()
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
    let of_several = |ack: &Ack| ack.bytes > 1_350 && ack.first_sent < ack.last_sent;
    assert!(acks(&events).iter().any(of_several));
}

/// The server has only acknowledged a PING when it sends data.
#[test]
fn packets_that_were_not_in_flight_have_no_part_in_an_ack() {
    let (mut pair, events) = pair(40);
    pair.ask();
    pair.exchange();
    pair.client.send_ack_eliciting().unwrap();
    pair.exchange();
    let told = acks(&events).len();
    std::thread::sleep(Duration::from_millis(2));
    pair.server.stream_send(0, b"an answer", false).unwrap();
    pair.exchange();
    pair.exchange();
    let acks = &acks(&events)[told..];
    let sent = sent(&events);
    assert!(!acks.is_empty());
    for ack in acks {
        assert!(sent.iter().any(|sent| sent.time_sent == ack.first_sent));
    }
}

#[test]
fn the_controllers_answers_are_the_paths() {
    // The server learns from the client's transport parameters that 1350 bytes are too many.
    let mut client = client();
    client.set_max_recv_udp_payload_size(1_250);
    let recorder = Recorder {
        datagrams: 40,
        ..Recorder::default()
    };
    let (mut pair, _) = pair_between(client, recorder);
    pair.transfer(20_000);
    let path = pair.server.path_stats().next().unwrap();
    assert_eq!(path.cwnd, 40 * 1_350);
    assert_eq!(path.ssthresh, Some(20 * 1_350));
    assert_eq!(path.pacing_rate, Some(123_456_789));
    assert_eq!(path.max_bandwidth, Some(1_250));
    let qlog = pair.into_qlog();
    assert!(qlog.contains("\"new\":\"recovery\""));
    assert!(qlog.contains("\"petra_base_rtt\":25.0"));
}

/// The reason for which an ACK ends slow start: a reduction, or none.
#[test]
fn the_exit_from_slow_start_has_its_reason() {
    for (share, reason) in [
        (0.5, StartupExitReason::PersistentQueue),
        (1.0, StartupExitReason::BandwidthPlateau),
    ] {
        let recorder = Recorder {
            datagrams: 40,
            exits_to: Some(share),
            ..Recorder::default()
        };
        let (mut pair, _) = pair_between(client(), recorder);
        pair.transfer(20_000);
        let path = pair.server.path_stats().next().unwrap();
        assert_eq!(path.startup_exit.unwrap().reason, reason);
    }
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
        assert!(began.elapsed() < MAX_WAIT);
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

/// Each PTO is twice as long as the one before (RFC 9002, Section 6.2.1).
#[test]
fn each_pto_is_told_with_its_count_and_doubles() {
    let (mut pair, events) = pair(40);
    pair.ask();
    pair.server.stream_send(0, b"an answer", true).unwrap();
    let began = Instant::now();
    while pto_counts(&events).len() < 3 {
        assert!(began.elapsed() < MAX_WAIT);
        pass(&mut pair.server, &mut pair.client, |_| false);
        pair.wait();
    }
    assert_eq!(pto_counts(&events), [1, 2, 3]);
    let ptos = ptos(&events);
    let rtt = ptos[0].rtt.unwrap();
    let period = rtt.smoothed + (4 * rtt.variation).max(Duration::from_millis(1)) + MAX_ACK_DELAY;
    // A busy machine is late, never early.
    assert!(ptos[1].now - ptos[0].now >= 2 * period);
    assert!(ptos[2].now - ptos[1].now >= 4 * period);
}

/// The window has room for two datagrams, which are lost.
#[test]
fn probes_may_exceed_the_window_and_are_in_flight() {
    let (mut pair, events) = pair(2);
    pair.ask();
    pair.server.stream_send(0, &[1; 20_000], true).unwrap();
    let began = Instant::now();
    while pto_counts(&events).is_empty() {
        assert!(began.elapsed() < MAX_WAIT);
        pass(&mut pair.server, &mut pair.client, |_| false);
        pair.wait();
    }
    let window = 2 * 1_350;
    let most = |events| sent(events).iter().map(|sent| sent.bytes_in_flight).max();
    assert!(most(&events) <= Some(window));
    pass(&mut pair.server, &mut pair.client, |_| false);
    assert!(most(&events) > Some(window));
    let in_flight = pair.server.path_stats().next().unwrap().bytes_in_flight;
    assert_eq!(most(&events), Some(in_flight as u64));
}

/// All packets of more than three PTOs are lost, and then one arrives (RFC 9002, Section 7.6).
#[test]
fn persistent_congestion_is_told() {
    let (mut pair, events) = pair(40);
    pair.ask();
    pair.server.stream_send(0, &[1; 5_000], false).unwrap();
    let began = Instant::now();
    while pto_counts(&events).len() < 4 {
        assert!(began.elapsed() < MAX_WAIT);
        pass(&mut pair.client, &mut pair.server, |_| true);
        pass(&mut pair.server, &mut pair.client, |_| false);
        pair.wait();
    }
    let told = || {
        of(&events, |it| {
            matches!(it, Event::PersistentCongestion(_)).then_some(())
        })
    };
    assert_eq!(told(), []);
    while told().is_empty() {
        assert!(began.elapsed() < MAX_WAIT);
        pair.exchange();
    }
}

/// A datagram that is late, and so counts as lost.
#[test]
fn a_spurious_loss_is_told() {
    let (mut pair, events) = pair(40);
    pair.ask();
    pair.server.stream_send(0, &[1; 20_000], true).unwrap();
    let mut late = pair.next_datagram();
    let began = Instant::now();
    while losses(&events).is_empty() {
        assert!(began.elapsed() < MAX_WAIT);
        pair.exchange();
    }
    let (datagram, info) = &mut late;
    pair.client.recv(datagram, *info).unwrap();
    let spurious = |event: &Event| match event {
        Event::SpuriousLoss(spurious) => Some(*spurious),
        _ => None,
    };
    while of(&events, spurious).is_empty() {
        assert!(began.elapsed() < MAX_WAIT);
        pair.exchange();
    }
    assert!(of(&events, spurious)[0].packets > 0);
}

/// The PTO would take longer than a second, which the client may take for its ACKs.
#[test]
fn early_probes_and_the_packet_threshold_are_the_controllers() {
    let hasty = Recorder {
        datagrams: 40,
        probes_after: Some(Duration::from_millis(5)),
        packet_threshold: Some(1),
        ..Recorder::default()
    };
    let mut client = client();
    client.set_max_ack_delay(5_000);
    let (mut pair, events) = pair_between(client, hasty);
    pair.ask();
    pair.exchange();
    pair.server.stream_send(0, b"an answer", false).unwrap();
    pair.next_datagram();
    let began = Instant::now();
    while !pair.client.stream_readable(0) {
        assert!(began.elapsed() < MAX_WAIT);
        pair.exchange();
    }
    assert!(pto_counts(&events).is_empty());

    // Of two datagrams that leave together the second arrives. The time threshold is at least 1 ms.
    let told = losses(&events).len();
    pair.server.stream_send(0, &[1; 2_000], false).unwrap();
    pair.next_datagram();
    let (mut datagram, info) = pair.next_datagram();
    pair.client.recv(&mut datagram, info).unwrap();
    pass(&mut pair.client, &mut pair.server, |_| true);
    let lost: u64 = losses(&events)[told..].iter().map(|loss| loss.bytes).sum();
    assert!(lost > 1_000, "{lost}");
}

#[test]
fn a_packet_is_lost_once_as_many_have_overtaken_it() {
    let recorder = Recorder {
        datagrams: 40,
        packet_threshold: Some(6),
        ..Recorder::default()
    };
    let (mut pair, events) = pair_between(client(), recorder);
    pair.ask();
    pair.exchange();
    // An RTT sample of 50 ms.
    pair.server.stream_send(0, b"late", false).unwrap();
    let (mut datagram, info) = pair.next_datagram();
    std::thread::sleep(Duration::from_millis(50));
    pair.client.recv(&mut datagram, info).unwrap();
    pass(&mut pair.client, &mut pair.server, |_| true);

    let told = losses(&events).len();
    let began = Instant::now();
    pair.server.stream_send(0, &[1; 10_000], false).unwrap();
    pair.next_datagram();
    for overtaken in 1..=6 {
        let (mut datagram, info) = pair.next_datagram();
        pair.client.recv(&mut datagram, info).unwrap();
        pass(&mut pair.client, &mut pair.server, |_| true);
        let lost = losses(&events).len() > told;
        let rtt = pair.server.path_stats().next().unwrap().rtt;
        if began.elapsed() > rtt {
            // On a busy machine, the time threshold may be first.
            return;
        }
        assert_eq!(lost, overtaken == 6, "{overtaken}");
    }
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

/// A window with room for one more datagram is not full. No PTO comes between: it would take
/// longer than a second.
#[test]
fn a_window_with_room_for_a_datagram_is_a_limit_of_the_application() {
    for (datagrams, limited) in [(9, true), (10, false)] {
        let mut client = client();
        client.set_max_ack_delay(5_000);
        let recorder = Recorder {
            datagrams: 10,
            ..Recorder::default()
        };
        let (mut pair, events) = pair_between(client, recorder);
        pair.ask();
        let in_flight = |pair: &Pair| pair.server.path_stats().next().unwrap().bytes_in_flight;
        let began = Instant::now();
        while in_flight(&pair) > 0 {
            assert!(began.elapsed() < MAX_WAIT);
            pair.exchange();
        }
        let told = acks(&events).len();
        pair.server.stream_send(0, &[1; 20_000], false).unwrap();
        let flight: Vec<_> = (0..datagrams).map(|_| pair.next_datagram()).collect();
        assert_eq!(in_flight(&pair), datagrams * 1_350);
        for (mut datagram, info) in flight {
            pair.client.recv(&mut datagram, info).unwrap();
        }
        pass(&mut pair.client, &mut pair.server, |_| true);
        let acks = &acks(&events)[told..];
        assert!(!acks.is_empty());
        assert!(
            acks.iter().all(|ack| ack.app_limited == limited),
            "{acks:#?}"
        );
    }
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
