//! Properties of every controller under arbitrary events.

mod transport;

use std::collections::BTreeMap;
use std::time::Duration;

use petra::controller::{Rtt, Settings, Time};
use proptest::collection::vec;
use proptest::prelude::*;

use transport::{built, check, estimate, Step, Transport};

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
            let before = transport.controllers[0].window();
            transport.step(step);
            check(&transport);
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
