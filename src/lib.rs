//! PETRA and its relatives: congestion controllers for QUIC.
//!
//! PETRA was made for TCP over radio links, where packets are lost without any
//! congestion: it takes the rate at which acknowledgments arrive for the
//! bandwidth, aims at that times the minimum RTT, and reduces its window only when
//! the round trips confirm that the path is congested. This crate has it for QUIC,
//! and a plugin that adds it to [quiche](https://docs.rs/quiche).
//!
//! | name           | what it is                                                        |
//! |----------------|-------------------------------------------------------------------|
//! | `petra`        | PETRA made robust for QUIC: the one to deploy                     |
//! | `petra-thesis` | PETRA as its thesis has it, to reproduce the thesis's tables with |
//! | `westwood`     | TCP Westwood, which PETRA builds on                               |
//! | `westwood-nr`  | TCP WestwoodNR: its estimate falls when no ACKs come              |
//! | `newreno-34`   | NewReno that triples, adds four and keeps three quarters          |
//! | `highbrow`     | Highbrow TCP: NewReno that sends again before a timeout           |
//!
//! A controller is pure: [events](controller) go in, a window and a pacing rate
//! come out. It knows no clock, no socket and no stack.
//!
//! ```text
//!                       catalogue: a name and options
//!                                  │ recipe
//!                                  ▼
//!  quiche ──▶ adapter ──▶ controller::Controller ──▶ petra, petra_thesis,
//!                                   │                newreno: westwood, westwood_nr,
//!                                   │                         newreno_34, highbrow
//!                                   ▼
//!                       bandwidth, window, pacing
//! ```
//!
//! Without the feature `quiche` there is no adapter and no dependency:
//!
//! ```
//! use std::time::Duration;
//!
//! use petra::catalogue::recipe;
//! use petra::controller::{Ack, Rtt, Settings};
//!
//! let recipe = recipe("petra", "faster_start=off,pacing_gain=1.25").unwrap();
//! let mut controller = recipe.build(Settings {
//!     max_datagram_size: 1_200,
//!     initial_window: 12_000,
//! });
//! let round_trip = Duration::from_millis(40);
//! controller.on_ack(&Ack {
//!     now: round_trip,
//!     bytes: 1_200,
//!     first_sent: Duration::ZERO,
//!     last_sent: Duration::ZERO,
//!     bytes_in_flight: 10_800,
//!     rtt: Rtt {
//!         latest: round_trip,
//!         smoothed: round_trip,
//!         variation: round_trip / 2,
//!         min: round_trip,
//!     },
//!     app_limited: false,
//! });
//! assert_eq!(controller.window(), 13_200);
//! ```
//!
//! The five mechanisms, each a [switch](Mechanisms) of its own, and how they map to
//! QUIC line by line, are in `docs/pseudocode.md`.

mod bandwidth;
pub mod catalogue;
pub mod controller;
#[cfg(test)]
mod events;
mod highbrow;
mod mechanisms;
mod newreno;
mod newreno_34;
mod options;
mod pacing;
mod petra;
mod petra_thesis;
mod westwood;
mod westwood_nr;
mod window;

pub use highbrow::HighbrowConfig;
pub use mechanisms::Mechanisms;
pub use newreno_34::{Datagrams, Growth, NewReno34Config};
pub use options::{Alpha, Bounded, Gain, OptionError, OutOfRange, Part, Seconds};
pub use petra::PetraConfig;
pub use petra_thesis::{Base, PetraThesisConfig};
pub use westwood::WestwoodConfig;
pub use westwood_nr::WestwoodNrConfig;

#[cfg(feature = "quiche")]
mod quiche;
#[cfg(feature = "quiche")]
pub use quiche::{options, register, select, table};
