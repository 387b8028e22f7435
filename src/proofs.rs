//! Arbitrary arguments for the proofs, which Kani checks: `cargo kani -p petra`.
//!
//! A proof takes a state that is arbitrary within its invariant, and one event with arbitrary
//! numbers. If the event keeps the invariant, then so does every sequence of events.
//! Kani also checks each operation for overflow, panics and a result that is not a number.
//!
//! Kani 0.65 does not saturate a number that exceeds the integer that it is converted to. Each such
//! result is bounded right after the conversion, and no proof depends on its value.

use std::time::Duration;

use super::controller::{Ack, CongestionExperienced, Loss, Pto, Rtt, Sent, Settings};

/// Longest duration: 34,000 years, more than any sequence of `tests/properties.rs` adds up.
const MAX_SECONDS: u64 = 1 << 40;

/// Most bytes of an event, as in `tests/properties.rs`.
const MAX_BYTES: u64 = 1 << 63;

/// Any duration up to `MAX_SECONDS`.
pub(crate) fn any_duration() -> Duration {
    let (seconds, nanos): (u64, u32) = (kani::any(), kani::any());
    kani::assume(seconds < MAX_SECONDS && nanos < 1_000_000_000);
    Duration::new(seconds, nanos)
}

/// Any number of bytes up to `MAX_BYTES`.
pub(crate) fn any_bytes() -> u64 {
    kani::any_where(|bytes| *bytes <= MAX_BYTES)
}

/// Any finite number from `min` to `max`.
pub(crate) fn any_between(min: f64, max: f64) -> f64 {
    kani::any_where(|number| (min..=max).contains(number))
}

/// Nothing, or this value.
pub(crate) fn maybe<T>(value: T) -> Option<T> {
    kani::any::<bool>().then_some(value)
}

/// Any settings with a datagram that UDP can carry.
pub(crate) fn any_settings() -> Settings {
    let datagram: u16 = kani::any_where(|bytes| *bytes > 0);
    Settings {
        max_datagram_size: datagram.into(),
        initial_window: kani::any(),
    }
}

/// Any RTT estimator, even one that no samples make.
pub(crate) fn any_rtt() -> Rtt {
    Rtt {
        latest: any_duration(),
        smoothed: any_duration(),
        variation: any_duration(),
        min: any_duration(),
    }
}

/// Any packet, even one that is sent before the last one.
pub(crate) fn any_sent() -> Sent {
    Sent {
        now: any_duration(),
        time_sent: any_duration(),
        bytes: any_bytes(),
        bytes_in_flight: any_bytes(),
    }
}

/// Any ACK, with times in any order.
pub(crate) fn any_ack() -> Ack {
    Ack {
        now: any_duration(),
        bytes: any_bytes(),
        first_sent: any_duration(),
        last_sent: any_duration(),
        newest_sent: any_duration(),
        bytes_in_flight: any_bytes(),
        rtt: any_rtt(),
        app_limited: kani::any(),
    }
}

/// Any loss, with times in any order.
pub(crate) fn any_loss() -> Loss {
    Loss {
        now: any_duration(),
        bytes: any_bytes(),
        last_sent: any_duration(),
        bytes_in_flight: any_bytes(),
        rtt: maybe(any_rtt()),
    }
}

/// Any expiry of a PTO.
pub(crate) fn any_pto() -> Pto {
    Pto {
        now: any_duration(),
        count: kani::any(),
        bytes_in_flight: any_bytes(),
        rtt: maybe(any_rtt()),
    }
}

/// Any marks, with times in any order.
pub(crate) fn any_marks() -> CongestionExperienced {
    CongestionExperienced {
        now: any_duration(),
        last_sent: any_duration(),
        bytes_in_flight: any_bytes(),
        rtt: maybe(any_rtt()),
    }
}
