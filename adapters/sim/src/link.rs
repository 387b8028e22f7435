//! The link: a drop-tail queue in front of a rate, then random loss and a delay.

use std::time::Duration;

use super::{Outcome, DATAGRAM};

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// Bytes of a full datagram's IP packet that are not of the stream: the headers, the short header
/// with a connection ID of 8 bytes, a STREAM frame's header, and the tag of the cipher.
const OVERHEAD: f64 = 28.0 + 11.0 + 7.0 + 16.0;

/// Bytes of the smallest queue: ten packets of 1500 bytes, as in `petra-lab`.
const MIN_QUEUE: f64 = 15_000.0;

/// A link from server to client. The way back has the same delay and no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bits per second of IP packets.
    pub rate: f64,
    /// Delay of one direction.
    pub delay: Duration,
    /// Bytes of the queue; `None` is one bandwidth-delay product, and at least 15 kB.
    pub queue: Option<u64>,
    /// Share of the packets that are lost at random.
    pub loss: f64,
    /// Queueing delay above which a packet is marked, if it may be.
    pub mark_above: Option<Duration>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Link {
    /// A link without loss and with a queue of one bandwidth-delay product.
    pub fn new(rate: f64, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            queue: None,
            loss: 0.0,
            mark_above: None,
            seed: 1,
        }
    }

    fn transmission(&self, bytes: f64) -> Duration {
        Duration::from_secs_f64(bytes * 8.0 / self.rate)
    }
}

/// The passage of one packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Queueing {
    pub(super) arrival: Duration,
    pub(super) marked: bool,
}

impl Queueing {
    /// On the way back.
    pub(super) fn unlimited(now: Duration, link: &Link) -> Self {
        Self {
            arrival: now + link.delay,
            marked: false,
        }
    }
}

/// The queue, and what it has counted.
pub(super) struct Bottleneck {
    link: Link,
    /// The time at which all accepted packets will have been transmitted.
    free: Duration,
    waits: Vec<Duration>,
    tail_drops: u64,
    losses: u64,
    marks: u64,
    random: u64,
}

impl Bottleneck {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link,
            free: Duration::ZERO,
            waits: Vec::new(),
            tail_drops: 0,
            losses: 0,
            marks: 0,
            random: link.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// A number from 0 to 1: xorshift64*.
    fn random(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let high = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        high as f64 / (1u64 << 53) as f64
    }

    /// Takes a datagram. `None`: it does not arrive.
    pub(super) fn pass(&mut self, now: Duration, bytes: usize, capable: bool) -> Option<Queueing> {
        let bytes = (bytes + HEADERS) as f64;
        let wait = self.free.saturating_sub(now);
        let round_trip = 2.0 * self.link.delay.as_secs_f64();
        let bdp = self.link.rate / 8.0 * round_trip;
        let least = bdp.max(MIN_QUEUE);
        let capacity = self.link.queue.map_or(least, |queue| queue as f64);
        if wait.as_secs_f64() * self.link.rate / 8.0 + bytes > capacity.max(bytes) {
            self.tail_drops += 1;
            return None;
        }
        self.waits.push(wait);
        self.free = self.free.max(now) + self.link.transmission(bytes);
        let marked = capable && self.link.mark_above.is_some_and(|limit| wait > limit);
        self.marks += u64::from(marked);
        if self.random() < self.link.loss {
            self.losses += 1;
            return None;
        }
        Some(Queueing {
            arrival: self.free + self.link.delay,
            marked,
        })
    }

    pub(super) fn outcome(mut self, goodput: f64, sent: u64) -> Outcome {
        self.waits.sort_unstable();
        let count = self.waits.len().max(1);
        // The nearest rank.
        let p95 = (95 * count).div_ceil(100) - 1;
        let packet = f64::from(DATAGRAM) + HEADERS as f64;
        let limit = self.link.rate * (1.0 - self.link.loss) * (1.0 - OVERHEAD / packet);
        Outcome {
            goodput,
            share: goodput / limit,
            queue_mean: self.waits.iter().sum::<Duration>() / count as u32,
            queue_p95: self.waits.get(p95).copied().unwrap_or_default(),
            sent,
            tail_drops: self.tail_drops,
            losses: self.losses,
            marks: self.marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// 1000 bytes of IP take 1 ms.
    fn link() -> Link {
        Link {
            queue: Some(3_000),
            ..Link::new(8e6, ms(10))
        }
    }

    #[test]
    fn packets_wait_for_those_before_and_a_full_queue_drops() {
        let mut bottleneck = Bottleneck::new(link());
        for wait in 0..3 {
            let passed = bottleneck.pass(ms(5), 972, false).unwrap();
            assert_eq!(passed.arrival, ms(5 + wait + 1 + 10));
        }
        assert_eq!(bottleneck.pass(ms(5), 972, false), None);
        assert!(bottleneck.pass(ms(6), 972, false).is_some());
        let outcome = bottleneck.outcome(0.0, 5);
        assert_eq!((outcome.tail_drops, outcome.losses), (1, 0));
        // 0, 1, 2 and 2 ms.
        assert_eq!(outcome.queue_mean, Duration::from_micros(1_250));
    }

    #[test]
    fn the_share_of_losses_is_as_asked() {
        let mut bottleneck = Bottleneck::new(Link {
            loss: 0.1,
            ..link()
        });
        let lost = (0..10_000u64).filter(|at| bottleneck.pass(ms(2 * at), 972, false).is_none());
        let lost = lost.count();
        assert!((900..1_100).contains(&lost), "{lost}");
    }

    #[test]
    fn only_capable_packets_that_wait_are_marked() {
        let mut bottleneck = Bottleneck::new(Link {
            mark_above: Some(ms(1)),
            ..link()
        });
        let marked: Vec<bool> = [true, true, false]
            .map(|capable| bottleneck.pass(ms(0), 972, capable).unwrap().marked)
            .into();
        assert_eq!(marked, [false, false, false]);
        let after = bottleneck.pass(ms(1), 972, true).unwrap();
        assert!(after.marked);
    }
}
