//! The properties of every controller after every sequence of a few events.
//!
//! Other properties are tested with long sequences of arbitrary events. This is a bounded proof:
//! bolero tries each sequence of [`LENGTH`] events, from each state in which a connection spends
//! its time.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bolero::{check, TypeGenerator};
use petra::controller::{Controller, Phase, Settings};
use petra::registry::names;

use super::transport::{built, check_estimate, checked_step, Step, Transport};

/// Events of a sequence.
#[cfg(debug_assertions)]
const LENGTH: usize = 4;
#[cfg(not(debug_assertions))]
const LENGTH: usize = 6;

const RTT: Duration = Duration::from_millis(40);

/// The events of a sequence. Each stands for a case that the controllers distinguish.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Event {
    /// Less than the granularity of a clock.
    Instant,
    RoundTrip,
    /// Longer than a PTO.
    Silence,
    /// Ten datagrams leave.
    Send,
    AckOldest,
    AckAll,
    AckAllWhenAppLimited,
    LoseOldest,
    LoseAll,
    CongestionExperienced,
    Pto,
    PersistentCongestion,
    SpuriousLosses,
    SmallerDatagrams,
}

const EVENTS: usize = 14;

impl Event {
    fn step(self) -> Step {
        let ack = |count, app_limited| Step::Ack {
            from: 0,
            count,
            app_limited,
        };
        match self {
            Self::Instant => Step::Wait(Duration::from_nanos(1)),
            Self::RoundTrip => Step::Wait(RTT),
            Self::Silence => Step::Wait(100 * RTT),
            Self::Send => Step::Send {
                bytes: 1_400,
                times: 10,
            },
            Self::AckOldest => ack(1, false),
            Self::AckAll => ack(usize::MAX, false),
            Self::AckAllWhenAppLimited => ack(usize::MAX, true),
            Self::LoseOldest => Step::Lose { from: 0, count: 1 },
            Self::LoseAll => Step::Lose {
                from: 0,
                count: usize::MAX,
            },
            Self::CongestionExperienced => Step::Marks,
            Self::Pto => Step::Pto,
            Self::PersistentCongestion => Step::PersistentCongestion,
            Self::SpuriousLosses => Step::Spurious { whole_event: true },
            Self::SmallerDatagrams => Step::Mtu(1_200),
        }
    }
}

fn petra(transport: &Transport) -> &dyn Controller {
    let index = names().position(|name| name == "petra");
    transport.controllers[index.expect("petra")].as_ref()
}

fn started() -> Transport {
    let settings = Settings {
        max_datagram_size: 1_400,
        initial_window: 14_000,
    };
    let controllers = names().map(|name| built(name, "", settings));
    Transport::new(controllers.collect(), settings)
}

/// Adds round trips of 40 ms and `queue` more, with one ACK for two datagrams.
fn run(transport: &mut Transport, round_trips: usize, queue: Duration) {
    for _ in 0..round_trips {
        transport.step(&Event::Send.step());
        transport.step(&Step::Wait(RTT + queue));
        for _ in 0..5 {
            transport.step(&Step::Wait(RTT / 10));
            transport.step(&Step::Ack {
                from: 0,
                count: 2,
                app_limited: false,
            });
        }
    }
}

/// Checks that the pacing rate of `petra` sends the window in two round trips, or in 200 ms.
fn check_pacing(transport: &Transport) {
    let petra = petra(transport);
    if let (Some(rate), Some(rtt)) = (petra.pacing_rate(), transport.rtt) {
        let base = petra.metrics().base_rtt.unwrap_or_default();
        let longest = rtt.smoothed.max(base).max(Duration::from_millis(100));
        let least = petra.window() as f64 / (2 * longest).as_secs_f64();
        assert!(rate as f64 >= 0.99 * least, "{rate}, at least {least}");
    }
}

/// Checks that no estimate is above the best rate at which ACKs came.
fn check_estimates(transport: &Transport) {
    for (name, controller) in names().zip(&transport.controllers) {
        check_estimate(name, &controller.metrics(), transport.most_acked(name));
    }
}

/// Tries each sequence of events from this state.
fn every_sequence(state: &Transport) {
    let sequences = Cell::new(0usize);
    let counter = AssertUnwindSafe((state, &sequences));
    check!()
        .exhaustive()
        .with_type::<[Event; LENGTH]>()
        .cloned()
        .for_each(move |events| {
            let (state, sequences) = *counter;
            let mut transport = state.fork();
            for event in events {
                checked_step(&mut transport, &event.step());
                check_pacing(&transport);
                check_estimates(&transport);
            }
            sequences.set(sequences.get() + 1);
        });
    assert_eq!(sequences.get(), EVENTS.pow(LENGTH as u32));
}

#[test]
fn from_the_handshake() {
    every_sequence(&started());
}

#[test]
fn from_slow_start() {
    let mut transport = started();
    run(&mut transport, 3, Duration::ZERO);
    every_sequence(&transport);
}

#[test]
fn from_congestion_avoidance() {
    let mut transport = started();
    run(&mut transport, 3, Duration::ZERO);
    checked_step(&mut transport, &Event::CongestionExperienced.step());
    transport.step(&Event::Send.step());
    let phases = transport.controllers.iter().map(|it| it.phase());
    assert!(phases.into_iter().all(|phase| phase != Phase::SlowStart));
    every_sequence(&transport);
}

#[test]
fn from_a_standing_queue() {
    let mut transport = started();
    run(&mut transport, 10, Duration::ZERO);
    checked_step(&mut transport, &Event::CongestionExperienced.step());
    run(&mut transport, 4, RTT);
    transport.step(&Event::Send.step());
    let response = petra(&transport).metrics().queue_response;
    assert_ne!(response, Some("no_queue"));
    every_sequence(&transport);
}
