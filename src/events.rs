//! Events for the tests of controllers, with defaults: datagrams of 1200 bytes, and a path
//! with a minimum RTT of 90 ms.

use std::time::Duration;

use super::controller::{Ack, Loss, Pto, Rtt, Sent, Settings, SpuriousLoss};

pub(crate) const DATAGRAM: u64 = 1_200;

/// The initial window: ten datagrams (RFC 9002, Section 7.2).
pub(crate) const INITIAL: u64 = 10 * DATAGRAM;

pub(crate) const MIN_RTT: Duration = ms(90);

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn settings() -> Settings {
    Settings {
        max_datagram_size: DATAGRAM,
        initial_window: INITIAL,
    }
}

/// An RTT estimator with this latest sample and smoothed RTT, in milliseconds.
pub(crate) fn rtt(latest: u64, smoothed: u64) -> Rtt {
    Rtt {
        latest: ms(latest),
        smoothed: ms(smoothed),
        variation: ms(5),
        min: MIN_RTT,
    }
}

/// A datagram that leaves at this millisecond.
pub(crate) fn sent(now: u64, bytes_in_flight: u64) -> Sent {
    Sent {
        now: ms(now),
        time_sent: ms(now),
        bytes: DATAGRAM,
        bytes_in_flight,
    }
}

/// An ACK at this millisecond, for packets sent 90 ms before.
pub(crate) fn ack(now: u64, bytes: u64) -> Ack {
    let sent = ms(now).saturating_sub(MIN_RTT);
    Ack {
        now: ms(now),
        bytes,
        first_sent: sent,
        last_sent: sent,
        newest_sent: sent,
        bytes_in_flight: INITIAL,
        rtt: rtt(90, 90),
        app_limited: false,
    }
}

/// The ACK, at this millisecond, of a datagram that left `latest` milliseconds before.
pub(crate) fn measured(now: u64, latest: u64) -> Ack {
    let sent = ms(now - latest);
    Ack {
        first_sent: sent,
        last_sent: sent,
        newest_sent: sent,
        rtt: rtt(latest, latest),
        ..ack(now, DATAGRAM)
    }
}

/// Reports, at this millisecond, that a lost datagram was only late.
pub(crate) fn spurious(now: u64, whole_event: bool) -> SpuriousLoss {
    SpuriousLoss {
        now: ms(now),
        packets: 1,
        whole_event,
    }
}

/// The loss, at this millisecond, of one datagram sent 90 ms before.
pub(crate) fn loss(now: u64) -> Loss {
    Loss {
        now: ms(now),
        bytes: DATAGRAM,
        last_sent: ms(now).saturating_sub(MIN_RTT),
        bytes_in_flight: INITIAL,
        rtt: Some(rtt(90, 90)),
    }
}

/// The first expiry of a PTO at this millisecond.
pub(crate) fn pto(now: u64) -> Pto {
    Pto {
        now: ms(now),
        count: 1,
        bytes_in_flight: INITIAL,
        rtt: Some(rtt(90, 90)),
    }
}
