//! A small transport that turns steps into events which keep the contract of the interface: time
//! never decreases, only packets in flight are acknowledged or lost, and the RTT estimator follows
//! RFC 9002, Section 5 (<https://www.rfc-editor.org/rfc/rfc9002#section-5>). Beyond that it is
//! adversarial: ACKs arrive in any order, at any rate, and at one instant.

use std::collections::BTreeMap;
use std::time::Duration;

use petra::controller::{
    Ack, CongestionExperienced, Controller, Loss, Metrics, Pto, Rtt, Sent, Settings, SpuriousLoss,
    Time, MINIMUM_WINDOW_DATAGRAMS,
};
use petra::registry::factory;

/// Something that happens to a sender.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Wait(Duration),
    Send {
        bytes: u64,
        times: usize,
    },
    Ack {
        from: u16,
        count: usize,
        app_limited: bool,
    },
    Lose {
        from: u16,
        count: usize,
    },
    /// Marks of Congestion Experienced on what was acknowledged last.
    Marks,
    Pto,
    PersistentCongestion,
    Spurious {
        whole_event: bool,
    },
    Mtu(u64),
}

/// Controllers under test and the events that they have seen.
pub(crate) struct Transport {
    pub(crate) controllers: Vec<Box<dyn Controller>>,
    pub(crate) settings: Settings,
    pub(crate) now: Time,
    next: u64,
    pub(crate) in_flight: BTreeMap<u64, (Time, u64)>,
    bytes_in_flight: u64,
    pub(crate) last_acked_sent: Option<Time>,
    pub(crate) rtt: Option<Rtt>,
    ptos: u32,
    pub(crate) most_in_flight: u64,
    acked: Acked,
    /// Bytes sent, by instant.
    sent: BTreeMap<Time, u64>,
}

impl Transport {
    pub(crate) fn new(controllers: Vec<Box<dyn Controller>>, settings: Settings) -> Self {
        Self {
            controllers,
            settings,
            now: Time::ZERO,
            next: 0,
            in_flight: BTreeMap::new(),
            bytes_in_flight: 0,
            last_acked_sent: None,
            rtt: None,
            ptos: 0,
            most_in_flight: settings.initial_window,
            acked: Acked::default(),
            sent: BTreeMap::new(),
        }
    }

    /// The same state, from which other events can follow.
    pub(crate) fn fork(&self) -> Self {
        let clones = self.controllers.iter().map(|it| it.try_clone());
        Self {
            controllers: clones.map(|it| it.expect("a clone")).collect(),
            settings: self.settings,
            now: self.now,
            next: self.next,
            in_flight: self.in_flight.clone(),
            bytes_in_flight: self.bytes_in_flight,
            last_acked_sent: self.last_acked_sent,
            rtt: self.rtt,
            ptos: self.ptos,
            most_in_flight: self.most_in_flight,
            acked: self.acked.clone(),
            sent: self.sent.clone(),
        }
    }

    fn tell(&mut self, event: impl Fn(&mut dyn Controller)) {
        for controller in &mut self.controllers {
            event(controller.as_mut());
        }
    }

    fn send(&mut self, bytes: u64) {
        self.in_flight.insert(self.next, (self.now, bytes));
        self.bytes_in_flight += bytes;
        self.next += 1;
        *self.sent.entry(self.now).or_default() += bytes;
        let sent = Sent {
            now: self.now,
            time_sent: self.now,
            bytes,
            bytes_in_flight: self.bytes_in_flight,
        };
        self.most_in_flight = self.most_in_flight.max(sent.bytes_in_flight);
        self.tell(|controller| controller.on_sent(&sent));
    }

    /// Takes packets out of flight: when the first and the last of them left, and
    /// their bytes.
    fn take(&mut self, from: u16, count: usize) -> Option<(Time, Time, u64)> {
        let numbers: Vec<u64> = self.in_flight.keys().copied().collect();
        // The same share of whatever is in flight.
        let from = (usize::from(from) * numbers.len()) >> 16;
        let taken = numbers[from..].iter().take(count);
        let taken: Vec<(Time, u64)> = taken.filter_map(|n| self.in_flight.remove(n)).collect();
        let bytes = taken.iter().map(|(_, bytes)| bytes).sum();
        self.bytes_in_flight -= bytes;
        Some((taken.first()?.0, taken.last()?.0, bytes))
    }

    /// RFC 9002, Section 5.3.
    fn measure(&mut self, latest: Duration) -> Rtt {
        let rtt = match self.rtt {
            None => Rtt {
                latest,
                smoothed: latest,
                variation: latest / 2,
                min: latest,
            },
            Some(rtt) => Rtt {
                latest,
                smoothed: (rtt.smoothed * 7 + latest) / 8,
                variation: (rtt.variation * 3 + rtt.smoothed.abs_diff(latest)) / 4,
                min: rtt.min.min(latest),
            },
        };
        self.rtt = Some(rtt);
        rtt
    }

    pub(crate) fn step(&mut self, step: &Step) {
        match step {
            Step::Wait(time) => self.now += *time,
            Step::Send { bytes, times } => {
                let bytes = (*bytes).min(self.settings.max_datagram_size);
                for _ in 0..*times {
                    self.send(bytes);
                }
            }
            Step::Ack {
                from,
                count,
                app_limited,
            } => self.ack(*from, *count, *app_limited),
            Step::Lose { from, count } => {
                if let Some((_, last_sent, bytes)) = self.take(*from, *count) {
                    let loss = Loss {
                        now: self.now,
                        bytes,
                        last_sent,
                        bytes_in_flight: self.bytes_in_flight,
                        rtt: self.rtt,
                    };
                    self.tell(|controller| controller.on_loss(&loss));
                }
            }
            Step::Marks => {
                if let Some(last_sent) = self.last_acked_sent {
                    let marks = CongestionExperienced {
                        now: self.now,
                        last_sent,
                        bytes_in_flight: self.bytes_in_flight,
                        rtt: self.rtt,
                    };
                    self.tell(|controller| controller.on_congestion_experienced(&marks));
                }
            }
            Step::Pto => {
                self.ptos += 1;
                let pto = Pto {
                    now: self.now,
                    count: self.ptos,
                    bytes_in_flight: self.bytes_in_flight,
                    rtt: self.rtt,
                };
                self.tell(|controller| controller.on_pto(&pto));
            }
            Step::PersistentCongestion => {
                let now = self.now;
                self.tell(|controller| controller.on_persistent_congestion(now));
            }
            Step::Spurious { whole_event } => {
                let spurious = SpuriousLoss {
                    now: self.now,
                    packets: 1,
                    whole_event: *whole_event,
                };
                self.tell(|controller| controller.on_spurious_loss(&spurious));
            }
            Step::Mtu(bytes) => {
                self.settings.max_datagram_size = *bytes;
                self.most_in_flight = self.most_in_flight.max(100 * bytes);
                self.tell(|controller| controller.on_max_datagram_size(*bytes));
            }
        }
    }

    fn ack(&mut self, from: u16, count: usize, app_limited: bool) {
        let Some((first_sent, last_sent, bytes)) = self.take(from, count) else {
            return;
        };
        self.ptos = 0;
        self.last_acked_sent = Some(last_sent);
        self.acked.add(self.now, bytes);
        let ack = Ack {
            now: self.now,
            bytes,
            first_sent,
            last_sent,
            newest_sent: last_sent,
            bytes_in_flight: self.bytes_in_flight,
            rtt: self.measure(self.now - last_sent),
            app_limited,
        };
        self.tell(|controller| controller.on_ack(&ack));
    }

    /// The best rate of acknowledgment, for the controller of this name.
    pub(crate) fn most_acked(&self, name: &str) -> f64 {
        self.acked.most(name)
    }

    /// The best rate at which packets left, between any two instants; what left at
    /// one instant counts over half a minimum RTT, the least that a sample spans.
    pub(crate) fn most_sent(&self) -> f64 {
        let instants: Vec<_> = self.sent.iter().collect();
        let least = self.rtt.map_or(0.0, |rtt| rtt.min.as_secs_f64() / 2.0);
        let mut most = 0.0f64;
        for (index, (from, _)) in instants.iter().enumerate() {
            let mut bytes = 0;
            for (to, more) in &instants[index..] {
                bytes += **more;
                let time = (**to - **from).as_secs_f64();
                let time = if time > 0.0 { time } else { least };
                most = most.max(bytes as f64 / time);
            }
        }
        most
    }
}

/// The rates of acknowledgment, of which the best counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acked {
    /// The last instant with ACKs, what they acknowledged, and the time since the one before.
    last: Option<(Time, u64, Option<Duration>)>,
    best: f64,
    most_at_once: u64,
}

impl Acked {
    /// Adds an ACK. Time never decreases.
    pub(crate) fn add(&mut self, now: Time, bytes: u64) {
        let (bytes, gap) = match self.last {
            Some((at, before, gap)) if at == now => (before + bytes, gap),
            Some((at, ..)) => (bytes, Some(now - at)),
            None => (bytes, None),
        };
        self.last = Some((now, bytes, gap));
        let rate = gap.map_or(0.0, |gap| bytes as f64 / gap.as_secs_f64());
        self.best = self.best.max(rate);
        self.most_at_once = self.most_at_once.max(bytes);
    }

    /// The best rate between any two neighbouring instants with ACKs. A sample that
    /// follows a null sample begins between two of them: what came at its first ACK
    /// then counts over 10 ms, the least that westwood-nr's samples span.
    pub(crate) fn most(&self, name: &str) -> f64 {
        let at_once = match name {
            "westwood-nr" => self.most_at_once as f64,
            _ => 0.0,
        };
        self.best + at_once / 0.01
    }
}

/// The estimate of the bandwidth; 0 before there is one.
pub(crate) fn estimate(metrics: &Metrics) -> f64 {
    metrics.bandwidth_estimate.unwrap_or(0) as f64
}

/// Checks that an estimate is not above the best rate at which ACKs came.
pub(crate) fn check_estimate(name: &str, metrics: &Metrics, most: f64) {
    let estimate = estimate(metrics);
    assert!(
        estimate <= most * (1.0 + 1e-9),
        "{name}: {estimate} > {most}"
    );
}

/// The largest window: up to it, `f64` counts single bytes.
const MAX_WINDOW: u64 = 1 << 52;

/// Checks the properties that hold at any time. A rate of `u64::MAX` was infinite.
pub(crate) fn check(transport: &Transport) {
    for controller in &transport.controllers {
        check_bounds(controller.as_ref(), transport.settings.max_datagram_size);
        let metrics = controller.metrics();
        for rate in [
            controller.pacing_rate(),
            metrics.bandwidth_sample,
            metrics.bandwidth_estimate,
        ] {
            assert!(rate != Some(u64::MAX));
        }
    }
}

/// Takes a step, and checks the properties after it: no loss, mark or app-limited ACK raises a
/// window, and persistent congestion leaves two datagrams.
pub(crate) fn checked_step(transport: &mut Transport, step: &Step) {
    let windows = |transport: &Transport| -> Vec<u64> {
        let windows = transport.controllers.iter().map(|it| it.window());
        windows.collect()
    };
    let before = windows(transport);
    transport.step(step);
    check(transport);
    for (before, after) in before.into_iter().zip(windows(transport)) {
        match step {
            Step::Lose { .. } | Step::Marks => assert!(after <= before),
            Step::Ack {
                app_limited: true, ..
            } => assert!(after <= before),
            Step::PersistentCongestion => {
                assert_eq!(after, 2 * transport.settings.max_datagram_size);
            }
            _ => (),
        }
    }
}

/// Checks what holds whatever the numbers of an event are.
pub(crate) fn check_bounds(controller: &dyn Controller, max_datagram_size: u64) {
    let window = MINIMUM_WINDOW_DATAGRAMS * max_datagram_size..=MAX_WINDOW;
    assert!(window.contains(&controller.window()));
    assert!(controller
        .ssthresh()
        .is_none_or(|bytes| window.contains(&bytes)));
    assert!(controller.pacing_rate() != Some(0));
}

/// A controller of the registry.
pub(crate) fn built(name: &str, options: &str, settings: Settings) -> Box<dyn Controller> {
    factory(name, options)
        .expect("valid options")
        .build(settings)
}
