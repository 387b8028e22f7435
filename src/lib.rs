//! PETRA and its relatives: congestion controllers for QUIC.
//!
//! PETRA was designed for TCP over radio links, which lose packets without congestion. It
//! estimates the bandwidth from the rate of acknowledgments and aims at a window of bandwidth
//! times minimum RTT. A loss or a timeout reduces the window only if bandwidth and RTT confirm
//! congestion. This crate implements PETRA for QUIC: as a plugin for
//! [quiche](https://docs.rs/quiche), and for the crates `petra-quinn`, `petra-noq` and
//! `petra-s2n-quic`.
//!
//! | name           | controller                                                            |
//! |----------------|-----------------------------------------------------------------------|
//! | `petra`        | PETRA made robust for QUIC, for deployment                            |
//! | `petra-thesis` | PETRA as its thesis defines it, to reproduce the thesis's tables      |
//! | `westwood`     | TCP Westwood, the base of PETRA                                       |
//! | `westwood-nr`  | TCP WestwoodNR: its estimate falls when no ACKs arrive                |
//! | `newreno-34`   | NewReno with triple slow start, additive increase 4 and beta 0.75     |
//! | `highbrow`     | Highbrow TCP: NewReno that retransmits before a timeout               |
//!
//! A controller is pure: it takes [events](controller) and returns a window and a pacing rate.
//! It has no clock and no socket, and does not depend on the stack.
//!
//! ```text
//!                       registry: name and options
//!                                  │ factory
//!                                  ▼
//!  quiche ──▶ adapter ──▶ controller::Controller ──▶ petra, petra_thesis,
//!                                   │                newreno: westwood, westwood_nr,
//!                                   │                         newreno_34, highbrow
//!                                   ▼
//!                       bandwidth, window, pacing
//! ```
//!
//! The feature `quiche` is the adapter to quiche, and needs a patched one. Without it there is no
//! dependency:
//!
//! ```
//! use std::time::Duration;
//!
//! use petra::controller::{Ack, Rtt, Settings};
//! use petra::registry::factory;
//!
//! let factory = factory("petra", "faster_start=off,pacing_gain=1.25").unwrap();
//! let mut controller = factory.build(Settings {
//!     max_datagram_size: 1_200,
//!     initial_window: 12_000,
//! });
//! let round_trip = Duration::from_millis(40);
//! controller.on_ack(&Ack {
//!     now: round_trip,
//!     bytes: 1_200,
//!     first_sent: Duration::ZERO,
//!     last_sent: Duration::ZERO,
//!     newest_sent: Duration::ZERO,
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
//! Each of the five mechanisms has a [switch](Mechanisms). `docs/pseudocode.md` maps them to
//! QUIC line by line.

#![forbid(unsafe_code)]

mod bandwidth;
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
pub mod port;
#[cfg(kani)]
mod proofs;
pub mod registry;
mod westwood;
mod westwood_nr;
mod window;

pub use highbrow::HighbrowConfig;
pub use mechanisms::Mechanisms;
pub use newreno_34::{Datagrams, Growth, NewReno34Config};
pub use options::{Alpha, Bounded, Gain, OptionError, OutOfRange, Part, Seconds};
pub use petra::{PetraConfig, QueueTarget};
pub use petra_thesis::{Base, PetraThesisConfig};
pub use westwood::WestwoodConfig;
pub use westwood_nr::WestwoodNrConfig;

#[cfg(feature = "quiche")]
mod quiche;
#[cfg(feature = "quiche")]
pub use quiche::{options, register, select, table};
