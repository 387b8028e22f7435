//! Properties of every controller under arbitrary events.

mod every_sequence;
mod transport;

use std::collections::BTreeMap;
use std::time::Duration;

use petra::controller::{
    Ack, CongestionExperienced, Controller, Loss, Pto, Rtt, Sent, Settings, SpuriousLoss, Time,
};
use proptest::collection::vec;
use proptest::prelude::*;

use transport::{built, check, check_bounds, checked_step, estimate, Step, Transport};

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
        8 => (any::<u16>(), 1usize..40, prop::bool::weighted(0.1)).prop_map(
            |(from, count, app_limited)| Step::Ack { from, count, app_limited }
        ),
        2 => (any::<u16>(), 1usize..10).prop_map(|(from, count)| Step::Lose { from, count }),
        1 => Just(Step::Marks),
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

/// An event whose numbers keep no contract but that of time.
#[derive(Clone, Debug)]
struct Raw {
    kind: u8,
    wait: u64,
    ages: [u64; 3],
    rtts: [u64; 4],
    bytes: u64,
    bytes_in_flight: u64,
    flag: bool,
}

/// From 0 to below 2 to this power, every order of magnitude alike.
fn below(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits).prop_flat_map(|bits| (1u64 << bits >> 1)..(1u64 << bits))
}

fn raw() -> impl Strategy<Value = Raw> {
    // Nanoseconds: up to 70 years a step, and for what was measured.
    let ages = [below(61), below(61), below(61)];
    let rtts = [below(61), below(61), below(61), below(61)];
    (
        0u8..8,
        below(61),
        ages,
        rtts,
        below(63),
        below(63),
        any::<bool>(),
    )
        .prop_map(
            |(kind, wait, ages, rtts, bytes, bytes_in_flight, flag)| Raw {
                kind,
                wait,
                ages,
                rtts,
                bytes,
                bytes_in_flight,
                flag,
            },
        )
}

impl Raw {
    /// Reports the event. `now`: the time of the event before it.
    fn report(&self, controller: &mut dyn Controller, now: &mut Time, max_datagram_size: &mut u64) {
        *now += Duration::from_nanos(self.wait);
        let now = *now;
        let [last_sent, first_sent, newest] = self.ages.map(Duration::from_nanos);
        let last_sent = now.saturating_sub(last_sent);
        let first_sent = last_sent.saturating_sub(first_sent);
        let newest_sent = now.min(last_sent + newest);
        let [latest, smoothed, variation, min] = self.rtts.map(Duration::from_nanos);
        let rtt = Rtt {
            latest,
            smoothed,
            variation,
            min: min.min(latest),
        };
        let (bytes, bytes_in_flight) = (self.bytes, self.bytes_in_flight);
        let maybe = self.flag.then_some(rtt);
        match self.kind {
            0 => controller.on_sent(&Sent {
                now,
                time_sent: now,
                bytes,
                bytes_in_flight: bytes_in_flight.max(bytes),
            }),
            1 | 2 => controller.on_ack(&Ack {
                now,
                bytes,
                first_sent,
                last_sent,
                newest_sent,
                bytes_in_flight,
                rtt,
                app_limited: self.flag,
            }),
            3 => controller.on_loss(&Loss {
                now,
                bytes,
                last_sent,
                bytes_in_flight,
                rtt: maybe,
            }),
            4 => controller.on_pto(&Pto {
                now,
                count: bytes as u32,
                bytes_in_flight,
                rtt: maybe,
            }),
            5 => controller.on_congestion_experienced(&CongestionExperienced {
                now,
                last_sent,
                bytes_in_flight,
                rtt: maybe,
            }),
            6 => controller.on_spurious_loss(&SpuriousLoss {
                now,
                packets: bytes,
                whole_event: self.flag,
            }),
            _ if self.flag => controller.on_persistent_congestion(now),
            _ => {
                *max_datagram_size = 1_200 + bytes % 64_328;
                controller.on_max_datagram_size(*max_datagram_size);
            }
        }
    }
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
        check(&transport);
        for step in &steps {
            checked_step(&mut transport, step);
        }
    }

    /// Arithmetic that overflows panics in tests.
    #[test]
    fn no_numbers_overflow(
        (name, options) in controller(),
        settings in settings(),
        events in vec(raw(), 1..100),
    ) {
        let mut controller = built(name, &options, settings);
        let mut max_datagram_size = settings.max_datagram_size;
        let mut now = Time::ZERO;
        for event in &events {
            event.report(controller.as_mut(), &mut now, &mut max_datagram_size);
            check_bounds(controller.as_ref(), max_datagram_size);
            let rtt = Rtt {
                latest: now,
                smoothed: now,
                variation: now,
                min: now,
            };
            controller.packet_threshold(&rtt, now);
            controller.early_probes(&rtt, now, event.bytes);
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
    fn a_round_trip_has_one_reduction_for_losses_and_marks(
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
                Step::Marks if reduced => {
                    let last = transport.last_acked_sent;
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
