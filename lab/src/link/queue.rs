//! Capacity of a bottleneck's queue.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::{Room, Text};

/// The size of a queue. What is left of the packet in transmission counts; an
/// idle bottleneck takes any packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// In bytes of IP packets.
    Bytes(u64),
    /// In bandwidth-delay products: rate (the first one, or the mean of what
    /// stands instead) times the sum of the path's delays in both directions.
    Bdp(f64),
    /// In time: as many bytes as the bottleneck carries in it at the rate of
    /// the moment (of a trace or a cell, at its mean; in an outage, at the rate
    /// without it).
    Time(Duration),
}

impl Queue {
    /// The least that a queue in BDPs holds: an initial window of RFC 9002, Section 7.2,
    /// ten datagrams. The BDP of a short path is less than one datagram, and
    /// no real queue is.
    pub const MIN_BYTES_OF_BDP: u64 = 10 * 1500;

    /// The size in bytes behind a bottleneck of `rate` bits per second on a
    /// path whose propagation delays sum up to `round_trip`.
    pub fn bytes(self, rate: u64, round_trip: Duration) -> u64 {
        match self {
            Queue::Bytes(bytes) => bytes,
            Queue::Bdp(multiple) => {
                ((multiple * bdp(rate, round_trip)).round() as u64).max(Self::MIN_BYTES_OF_BDP)
            }
            Queue::Time(time) => bdp(rate, time).round() as u64,
        }
    }

    /// The same for a threshold in a queue: a part of a BDP that is not less
    /// than the least queue, so that a part stays one.
    pub(crate) fn part(self, rate: u64, round_trip: Duration) -> u64 {
        match self {
            Queue::Bytes(bytes) => bytes,
            Queue::Bdp(multiple) => {
                let bdp = bdp(rate, round_trip).max(Self::MIN_BYTES_OF_BDP as f64);
                (multiple * bdp).round() as u64
            }
            Queue::Time(_) => self.bytes(rate, round_trip),
        }
    }
}

/// In bytes.
fn bdp(rate: u64, round_trip: Duration) -> f64 {
    rate as f64 / 8.0 * round_trip.as_secs_f64()
}

impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::<Room>::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::<Room>::deserialize(deserializer)
    }
}
