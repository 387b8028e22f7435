//! Properties of every controller under arbitrary events.
//!
//! A small transport turns arbitrary steps into events that keep the contract of the interface:
//! time never decreases, only packets in flight are acknowledged or lost, and the RTT estimator
//! follows RFC 9002, Section 5 (<https://www.rfc-editor.org/rfc/rfc9002#section-5>). Beyond that it
//! is adversarial: ACKs arrive in any order, at any rate, and at one instant.

use std::collections::BTreeMap;
use std::time::Duration;

use petra::controller::{
    Ack, Controller, Loss, Metrics, Pto, Rtt, Sent, Settings, SpuriousLoss, Time,
    MINIMUM_WINDOW_DATAGRAMS,
};
use petra::registry::factory;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
enum Step {
    Wait(Duration),
    Send {
        bytes: u64,
        times: usize,
    },
    Ack {
        from: Index,
        count: usize,
        app_limited: bool,
    },
    Lose {
        from: Index,
        count: usize,
    },
    Pto,
    PersistentCongestion,
    Spurious {
        whole_event: bool,
    },
    Mtu(u64),
}

/// From a nanosecond to some 10 s, every order of magnitude alike.
fn wait() -> impl Strategy<Value = Step> {
    (0u32..34).prop_flat_map(|bits| {
        (1u64 << bits..2u64 << bits).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos)))
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => wait(),
        6 => (1u64..65_528, 1usize..40).prop_map(|(bytes, times)| Step::Send { bytes, times }),
        8 => (any::<Index>(), 1usize..40, prop::bool::weighted(0.1)).prop_map(
            |(from, count, app_limited)| Step::Ack { from, count, app_limited }
        ),
        2 => (any::<Index>(), 1usize..10).prop_map(|(from, count)| Step::Lose { from, count }),
        1 => Just(Step::Pto),
        1 => Just(Step::PersistentCongestion),
        1 => any::<bool>().prop_map(|whole_event| Step::Spurious { whole_event }),
        1 => (1_200u64..65_528).prop_map(Step::Mtu),
    ]
}

/// A controller, with every switch and number it has at random.
fn controller() -> impl Strategy<Value = (&'static str, String)> {
    let switches = |names: &'static [&'static str]| {
        vec(any::<bool>(), names.len()).prop_map(move |on| {
            let pairs = names.iter().zip(on);
            let options = pairs.map(|(name, on)| format!("{name}={on}"));
            options.collect::<Vec<_>>().join(",")
        })
    };
    const MECHANISMS: &[&str] = &[
        "initial_ssthresh",
        "faster_start",
        "faster_retransmission",
        "best_recovery",
        "timeout_reaction",
    ];
    const PETRA: &[&str] = &[
        "initial_ssthresh",
        "faster_start",
        "faster_retransmission",
        "best_recovery",
        "timeout_reaction",
        "drain",
        "probe",
        "ack_allowance",
        "undo",
    ];
    prop_oneof![
        (0.01f64..60.0).prop_map(|tau| ("westwood", format!("tau={tau}"))),
        // Its tau decides what `most_acked` is.
        any::<bool>().prop_map(|on| ("westwood-nr", format!("null_samples={on}"))),
        (1.0f64..10.0, 0.1f64..100.0, 0.1f64..0.99).prop_map(|(start, add, keep)| {
            let options = format!("slow_start={start},additive_increase={add},beta={keep}");
            ("newreno-34", options)
        }),
        (0.01f64..0.99, 0.01f64..60.0).prop_map(|(alpha, floor)| {
            let options = format!("alpha={alpha},timeout_floor={floor}");
            ("highbrow", options)
        }),
        (switches(MECHANISMS), 0.0f64..0.999, any::<bool>()).prop_map(
            |(switches, alpha, westwood)| {
                let base = if westwood { "westwood" } else { "newreno" };
                let options = format!("{switches},alpha={alpha},base={base}");
                ("petra-thesis", options)
            }
        ),
        (switches(PETRA), 0.0f64..0.999, 1.0f64..4.0).prop_map(|(switches, alpha, gain)| {
            (
                "petra",
                format!("{switches},alpha={alpha},pacing_gain={gain}"),
            )
        }),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    (1_200u64..65_528, 1u64..100).prop_map(|(max_datagram_size, datagrams)| Settings {
        max_datagram_size,
        initial_window: datagrams * max_datagram_size,
    })
}

/// Controllers under test and the events that they have seen.
struct Transport {
    controllers: Vec<Box<dyn Controller>>,
    settings: Settings,
    now: Time,
    next: u64,
    in_flight: BTreeMap<u64, (Time, u64)>,
    rtt: Option<Rtt>,
    ptos: u32,
    most_in_flight: u64,
    /// Bytes acknowledged and sent, by instant.
    acked: BTreeMap<Time, u64>,
    sent: BTreeMap<Time, u64>,
}

impl Transport {
    fn new(controllers: Vec<Box<dyn Controller>>, settings: Settings) -> Self {
        Self {
            controllers,
            settings,
            now: Time::ZERO,
            next: 0,
            in_flight: BTreeMap::new(),
            rtt: None,
            ptos: 0,
            most_in_flight: settings.initial_window,
            acked: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    fn bytes_in_flight(&self) -> u64 {
        self.in_flight.values().map(|(_, bytes)| bytes).sum()
    }

    fn tell(&mut self, event: impl Fn(&mut dyn Controller)) {
        for controller in &mut self.controllers {
            event(controller.as_mut());
        }
    }

    fn send(&mut self, bytes: u64) {
        self.in_flight.insert(self.next, (self.now, bytes));
        self.next += 1;
        *self.sent.entry(self.now).or_default() += bytes;
        let sent = Sent {
            now: self.now,
            time_sent: self.now,
            bytes,
            bytes_in_flight: self.bytes_in_flight(),
        };
        self.most_in_flight = self.most_in_flight.max(sent.bytes_in_flight);
        self.tell(|controller| controller.on_sent(&sent));
    }

    /// Takes packets out of flight: when the first and the last of them left, and
    /// their bytes.
    fn take(&mut self, from: &Index, count: usize) -> Option<(Time, Time, u64)> {
        let numbers: Vec<u64> = self.in_flight.keys().copied().collect();
        let from = (!numbers.is_empty()).then(|| from.index(numbers.len()))?;
        let taken = numbers[from..].iter().take(count);
        let taken: Vec<(Time, u64)> = taken.filter_map(|n| self.in_flight.remove(n)).collect();
        let bytes = taken.iter().map(|(_, bytes)| bytes).sum();
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

    fn step(&mut self, step: &Step) {
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
            } => self.ack(from, *count, *app_limited),
            Step::Lose { from, count } => {
                if let Some((_, last_sent, bytes)) = self.take(from, *count) {
                    let loss = Loss {
                        now: self.now,
                        bytes,
                        last_sent,
                        bytes_in_flight: self.bytes_in_flight(),
                        rtt: self.rtt,
                    };
                    self.tell(|controller| controller.on_loss(&loss));
                }
            }
            Step::Pto => {
                self.ptos += 1;
                let pto = Pto {
                    now: self.now,
                    count: self.ptos,
                    bytes_in_flight: self.bytes_in_flight(),
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

    fn ack(&mut self, from: &Index, count: usize, app_limited: bool) {
        let Some((first_sent, last_sent, bytes)) = self.take(from, count) else {
            return;
        };
        self.ptos = 0;
        *self.acked.entry(self.now).or_default() += bytes;
        let ack = Ack {
            now: self.now,
            bytes,
            first_sent,
            last_sent,
            newest_sent: last_sent,
            bytes_in_flight: self.bytes_in_flight(),
            rtt: self.measure(self.now - last_sent),
            app_limited,
        };
        self.tell(|controller| controller.on_ack(&ack));
    }

    /// The best rate between any two neighbouring instants with ACKs. A sample that
    /// follows a null sample begins between two of them: what came at its first ACK
    /// then counts over 10 ms, the least that westwood-nr's samples span.
    fn most_acked(&self, name: &str) -> f64 {
        let instants: Vec<_> = self.acked.iter().collect();
        let rates = instants
            .windows(2)
            .map(|pair| *pair[1].1 as f64 / (*pair[1].0 - *pair[0].0).as_secs_f64());
        let at_once = match name {
            "westwood-nr" => self.acked.values().max().map_or(0.0, |bytes| *bytes as f64),
            _ => 0.0,
        };
        rates.fold(0.0, f64::max) + at_once / 0.01
    }

    /// The best rate at which packets left, between any two instants; what left at
    /// one instant counts over half a minimum RTT, the least that a sample spans.
    fn most_sent(&self) -> f64 {
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

fn estimate(metrics: &Metrics) -> f64 {
    metrics.bandwidth_estimate.unwrap_or(0) as f64
}

/// Checks the properties that hold at any time.
fn check(transport: &Transport) -> Result<(), TestCaseError> {
    let minimum = MINIMUM_WINDOW_DATAGRAMS * transport.settings.max_datagram_size;
    for controller in &transport.controllers {
        prop_assert!(controller.window() >= minimum);
        prop_assert!(controller.pacing_rate() != Some(0));
        prop_assert!(controller.pacing_rate() != Some(u64::MAX));
        prop_assert!(controller.ssthresh().is_none_or(|bytes| bytes >= minimum));
    }
    Ok(())
}

fn built(name: &str, options: &str, settings: Settings) -> Box<dyn Controller> {
    factory(name, options)
        .expect("valid options")
        .build(settings)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_hold_whatever_happens(
        (name, options) in controller(),
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let mut transport = Transport::new(vec![built(name, &options, settings)], settings);
        check(&transport)?;
        for step in &steps {
            let before = transport.controllers[0].window();
            transport.step(step);
            check(&transport)?;
            let after = transport.controllers[0].window();
            match step {
                Step::Lose { .. } => prop_assert!(after <= before),
                Step::Ack { app_limited: true, .. } => prop_assert!(after <= before),
                Step::PersistentCongestion => {
                    prop_assert_eq!(after, 2 * transport.settings.max_datagram_size);
                }
                _ => (),
            }
        }
    }

    #[test]
    fn no_estimate_exceeds_what_was_acknowledged(
        (name, options) in controller(),
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let mut transport = Transport::new(vec![built(name, &options, settings)], settings);
        for step in &steps {
            transport.step(step);
            let most = transport.most_acked(name);
            let estimate = estimate(&transport.controllers[0].metrics());
            prop_assert!(estimate <= most * (1.0 + 1e-9), "{} > {}", estimate, most);
        }
    }

    #[test]
    fn petra_estimates_no_more_than_was_sent_and_keeps_to_what_was_in_flight(
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let mut transport = Transport::new(vec![built("petra", "", settings)], settings);
        for step in &steps {
            transport.step(step);
            let controller = &transport.controllers[0];
            let (estimate, most) = (estimate(&controller.metrics()), transport.most_sent());
            prop_assert!(estimate <= most * (1.0 + 1e-9), "{} > {}", estimate, most);
            prop_assert!(controller.window() <= 2 * transport.most_in_flight.max(
                transport.settings.max_datagram_size
            ));
        }
    }

    #[test]
    fn a_round_trip_has_one_reduction_for_losses(
        (name, options) in controller(),
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let mut transport = Transport::new(vec![built(name, &options, settings)], settings);
        let mut answered: Option<Time> = None;
        for step in &steps {
            let sent: BTreeMap<u64, (Time, u64)> = transport.in_flight.clone();
            let before = transport.controllers[0].metrics().reductions;
            transport.step(step);
            let reduced = transport.controllers[0].metrics().reductions > before;
            match step {
                Step::Lose { .. } if reduced => {
                    let lost = sent.keys().filter(|n| !transport.in_flight.contains_key(n));
                    let last = lost.map(|n| sent[n].0).max();
                    prop_assert!(last > answered, "{:?} is answered since {:?}", last, answered);
                    answered = Some(transport.now);
                }
                Step::PersistentCongestion => answered = None,
                _ => (),
            }
        }
    }

    #[test]
    fn the_thesis_without_its_mechanisms_is_westwood(
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let bare = "base=westwood,initial_ssthresh=off,faster_start=off,\
                    faster_retransmission=off,best_recovery=off,timeout_reaction=off";
        let controllers = vec![
            built("westwood", "", settings),
            built("petra-thesis", bare, settings),
        ];
        let mut transport = Transport::new(controllers, settings);
        for step in &steps {
            transport.step(step);
            let [westwood, thesis] = &transport.controllers[..] else { unreachable!() };
            prop_assert_eq!(westwood.window(), thesis.window());
            prop_assert_eq!(westwood.ssthresh(), thesis.ssthresh());
            prop_assert_eq!(westwood.pacing_rate(), thesis.pacing_rate());
            prop_assert_eq!(westwood.metrics(), thesis.metrics());
        }
    }

    #[test]
    fn westwood_nr_without_null_samples_is_westwood(
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let controllers = vec![
            built("westwood", "", settings),
            built("westwood-nr", "null_samples=off", settings),
        ];
        let mut transport = Transport::new(controllers, settings);
        for step in &steps {
            transport.step(step);
            let [westwood, silent] = &transport.controllers[..] else { unreachable!() };
            prop_assert_eq!(westwood.window(), silent.window());
            prop_assert_eq!(westwood.ssthresh(), silent.ssthresh());
            prop_assert_eq!(westwood.metrics(), silent.metrics());
        }
    }

    #[test]
    fn all_over_newreno_are_newreno_without_what_is_theirs(
        settings in settings(),
        steps in vec(step(), 1..200),
    ) {
        let bare = "base=newreno,initial_ssthresh=off,faster_start=off,\
                    faster_retransmission=off,best_recovery=off,timeout_reaction=off";
        let controllers = vec![
            built("petra-thesis", bare, settings),
            built("newreno-34", "slow_start=2,additive_increase=1,beta=0.5", settings),
            built("highbrow", "", settings),
        ];
        let mut transport = Transport::new(controllers, settings);
        for step in &steps {
            transport.step(step);
            for controller in &transport.controllers[1..] {
                let newreno = &transport.controllers[0];
                prop_assert_eq!(newreno.window(), controller.window());
                prop_assert_eq!(newreno.ssthresh(), controller.ssthresh());
                prop_assert_eq!(newreno.pacing_rate(), controller.pacing_rate());
                prop_assert_eq!(newreno.metrics().reductions, controller.metrics().reductions);
            }
        }
    }

    #[test]
    fn early_probes_come_between_half_and_three_halves_of_an_rtt(
        (name, options) in controller(),
        settings in settings(),
        steps in vec(step(), 1..100),
        pto in any::<Duration>(),
        outstanding in 0u64..10_000,
    ) {
        let mut transport = Transport::new(vec![built(name, &options, settings)], settings);
        for step in &steps {
            transport.step(step);
            let controller = &transport.controllers[0];
            let Some(rtt) = transport.rtt else { continue };
            let Some(probes) = controller.early_probes(&rtt, pto, outstanding) else { continue };
            prop_assert_eq!(name, "highbrow");
            prop_assert!((1..=outstanding).contains(&probes.packets));
            // Nanoseconds of rounding.
            let nano = Duration::from_nanos(1);
            prop_assert!(probes.after + nano >= rtt.smoothed / 2);
            prop_assert!(probes.after <= rtt.smoothed * 3 / 2 + nano);
        }
    }

    #[test]
    fn the_packet_threshold_is_three_at_most(
        (name, options) in controller(),
        settings in settings(),
        rtt in any::<Duration>(),
        pto in any::<Duration>(),
    ) {
        let controller = built(name, &options, settings);
        let rtt = Rtt { latest: rtt, smoothed: rtt, variation: rtt / 2, min: rtt };
        let threshold = controller.packet_threshold(&rtt, pto);
        prop_assert!(threshold.is_none_or(|packets| (1..=3).contains(&packets)));
    }
}
