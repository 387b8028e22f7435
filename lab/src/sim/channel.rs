//! One direction of a link, as a function of when what enters it.
//!
//! ```text
//!        drop-tail queue      rate        loss     delay, jitter     grid
//!  enter ──────────────── transmission ── x? ───── delay line ────── arrive
//! ```
//!
//! A queue in front of a constant rate is known by the time when its last
//! packet will have left, so nothing is stored per packet and nothing moves
//! until a packet enters.

use std::time::Duration;

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use crate::link::Direction;

/// Nanoseconds since the simulation began.
pub type Nanos = u64;

/// What becomes of a packet that enters a [`Channel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The queue had no room.
    Overflowed,
    /// It went over the bottleneck and was lost behind it.
    Lost {
        /// Time in the queue, without its own transmission.
        queued: Nanos,
    },
    /// It arrives.
    Arrives {
        /// When.
        at: Nanos,
        /// Time in the queue, without its own transmission.
        queued: Nanos,
    },
}

/// One direction of a link in operation.
#[derive(Debug)]
pub struct Channel {
    /// Bits per second; `None` transmits in no time.
    rate: Option<u64>,
    /// How much transmission time fits into the queue.
    room: Nanos,
    delay: Nanos,
    jitter: Nanos,
    grid: Nanos,
    reorder: f64,
    errors: Errors,
    random: Pcg64,
    /// When the last packet that was accepted has left the transmitter.
    free_at: Nanos,
    /// The latest arrival so far: the delay line keeps order.
    last_arrival: Nanos,
}

impl Channel {
    /// A channel at rest. `round_trip` is the sum of both directions'
    /// propagation delays, which a queue in BDPs refers to.
    pub fn new(direction: &Direction, round_trip: Duration, random: Pcg64) -> Self {
        let room = direction.rate.map_or(0, |rate| {
            transmission(direction.queue.bytes(rate, round_trip), rate)
        });
        Channel {
            rate: direction.rate,
            room,
            delay: direction.delay.as_nanos() as Nanos,
            jitter: direction.jitter.as_nanos() as Nanos,
            grid: direction.grid.as_nanos() as Nanos,
            reorder: direction.reorder,
            errors: Errors::new(direction),
            random,
            free_at: 0,
            last_arrival: 0,
        }
    }

    /// How long a packet that enters at `now` waits until its transmission.
    pub fn queueing_delay(&self, now: Nanos) -> Nanos {
        self.free_at.saturating_sub(now)
    }

    /// A packet of `bytes`, IP header included, enters at `now`. Packets enter
    /// in the order of time.
    pub fn enter(&mut self, now: Nanos, bytes: usize) -> Fate {
        let queued = self.queueing_delay(now);
        let duration = self.rate.map_or(0, |rate| transmission(bytes as u64, rate));
        // What waits, this packet included, has to fit; what is already being
        // transmitted counts with the part that is left.
        if queued > 0 && queued + duration > self.room {
            return Fate::Overflowed;
        }
        self.free_at = now + queued + duration;
        if self.errors.strike(&mut self.random) {
            return Fate::Lost { queued };
        }
        Fate::Arrives {
            at: self.arrival(self.free_at),
            queued,
        }
    }

    /// When a packet that left the transmitter at `sent` is at the other end.
    fn arrival(&mut self, sent: Nanos) -> Nanos {
        if self.reorder > 0.0 && chance(&mut self.random, self.reorder) {
            return sent;
        }
        let mut at = sent + self.delay;
        if self.jitter > 0 {
            let offset = self.jitter as f64 * normal(&mut self.random);
            at = at.saturating_add_signed(offset as i64).max(sent);
        }
        if self.grid > 0 {
            at = at.next_multiple_of(self.grid);
        }
        self.last_arrival = self.last_arrival.max(at);
        self.last_arrival
    }
}

/// Nanoseconds that `bytes` take at `rate` bits per second.
fn transmission(bytes: u64, rate: u64) -> Nanos {
    (u128::from(bytes) * 8_000_000_000 / u128::from(rate)) as Nanos
}

/// Packet errors: independent, or in runs after Gilbert (1960), where every
/// packet is lost in the bad state and none in the good one.
#[derive(Debug)]
struct Errors {
    bad: bool,
    /// Probability that a packet finds the bad state after a good one.
    enter: f64,
    /// Probability that it stays bad.
    stay: f64,
}

impl Errors {
    fn new(direction: &Direction) -> Self {
        let loss = direction.loss;
        let (enter, stay) = match direction.loss_run {
            None => (loss, loss),
            // Of the stationary share `loss` and the mean run 1 / (1 - stay)
            // follows how often a run begins. Above `run / (1 + run)` of loss
            // good packets would have to be rarer than single ones.
            Some(run) => (loss / (run * (1.0 - loss)), 1.0 - 1.0 / run),
        };
        Errors {
            bad: false,
            enter,
            stay,
        }
    }

    fn strike(&mut self, random: &mut Pcg64) -> bool {
        let probability = if self.bad { self.stay } else { self.enter };
        self.bad = probability > 0.0 && chance(random, probability);
        self.bad
    }
}

/// Uniform in 0 (included) to 1 (excluded), in the 53 bits that an `f64` has.
fn uniform(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn chance(random: &mut Pcg64, probability: f64) -> bool {
    uniform(random) < probability
}

/// Close to the standard normal distribution: the sum of twelve uniform
/// variables, less 6. It needs no logarithm, whose last digits differ between
/// machines, and never leaves -6 to 6.
fn normal(random: &mut Pcg64) -> f64 {
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;
    use crate::link::Queue;

    const MS: Nanos = 1_000_000;

    /// 8 Mbit/s: a packet of 1000 bytes takes 1 ms.
    fn direction() -> Direction {
        Direction {
            rate: Some(8_000_000),
            delay: Duration::from_millis(10),
            queue: Queue::Bytes(5_000),
            ..Direction::default()
        }
    }

    fn channel(direction: &Direction) -> Channel {
        Channel::new(direction, 2 * direction.delay, generator(1, 1))
    }

    /// Arrival times of `count` packets of 1000 bytes, one every `every`.
    fn arrivals(direction: &Direction, count: u64, every: Nanos) -> Vec<Option<Nanos>> {
        let mut channel = channel(direction);
        (0..count)
            .map(|i| match channel.enter(i * every, 1000) {
                Fate::Arrives { at, .. } => Some(at),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn packets_leave_at_the_rate_and_arrive_after_the_delay() {
        let mut channel = channel(&direction());
        for i in 0..4 {
            let fate = Fate::Arrives {
                at: (11 + i) * MS,
                queued: i * MS,
            };
            assert_eq!(channel.enter(0, 1000), fate);
        }
        assert_eq!(channel.queueing_delay(2 * MS), 2 * MS);
        assert_eq!(channel.queueing_delay(5 * MS), 0);
    }

    #[test]
    fn the_queue_takes_what_fits_and_not_a_byte_more() {
        let mut channel = channel(&direction());
        for _ in 0..5 {
            assert_ne!(channel.enter(0, 1000), Fate::Overflowed);
        }
        assert_eq!(channel.enter(0, 1), Fate::Overflowed);
        assert_eq!(channel.enter(MS, 1001), Fate::Overflowed);
        assert_ne!(channel.enter(MS, 1000), Fate::Overflowed);
    }

    #[test]
    fn an_idle_link_takes_any_packet() {
        let small = Direction {
            queue: Queue::Bytes(1),
            ..direction()
        };
        let mut channel = channel(&small);
        assert_ne!(channel.enter(0, 1000), Fate::Overflowed);
        assert_eq!(channel.enter(0, 1000), Fate::Overflowed);
        assert_ne!(channel.enter(MS, 1000), Fate::Overflowed);
    }

    #[test]
    fn a_queue_in_bdps_has_a_least_size() {
        let round_trip = Duration::from_millis(90);
        assert_eq!(Queue::Bdp(1.0).bytes(10_000_000, round_trip), 112_500);
        assert_eq!(Queue::Bdp(2.0).bytes(10_000_000, round_trip), 225_000);
        assert_eq!(Queue::Bdp(1.0).bytes(1_000, round_trip), Queue::LEAST);
    }

    #[test]
    fn loss_has_its_share_and_its_run_length() {
        for (loss_run, mean_run) in [(None, 1.0 / 0.95), (Some(5.0), 5.0)] {
            let lossy = Direction {
                rate: None,
                loss: 0.05,
                loss_run,
                ..direction()
            };
            let arrivals = arrivals(&lossy, 400_000, 1);
            let lost = arrivals.iter().filter(|at| at.is_none()).count() as f64;
            let runs = arrivals
                .windows(2)
                .filter(|pair| pair[0].is_some() && pair[1].is_none())
                .count() as f64;
            // Five standard deviations of the share: 0.0017 for single losses,
            // about three times as much for runs of five.
            assert!((lost / 400_000.0 - 0.05).abs() < 0.0052, "{lost}");
            assert!((lost / runs / mean_run - 1.0).abs() < 0.1, "{lost} {runs}");
        }
    }

    #[test]
    fn a_lost_packet_has_used_the_bottleneck() {
        let lossy = Direction {
            loss: 1.0,
            ..direction()
        };
        let mut channel = channel(&lossy);
        assert_eq!(channel.enter(0, 1000), Fate::Lost { queued: 0 });
        assert_eq!(channel.enter(0, 1000), Fate::Lost { queued: MS });
    }

    #[test]
    fn jitter_has_its_deviation_and_keeps_the_order() {
        let shaky = Direction {
            rate: None,
            jitter: Duration::from_millis(1),
            ..direction()
        };
        // Far enough apart that the order never holds a packet back.
        let offsets: Vec<f64> = arrivals(&shaky, 20_000, 100 * MS)
            .iter()
            .zip(0u64..)
            .map(|(at, i)| (at.unwrap() as f64 - (i * 100 * MS + 10 * MS) as f64) / MS as f64)
            .collect();
        let mean = offsets.iter().sum::<f64>() / offsets.len() as f64;
        let variance = offsets.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.04, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        assert!(arrivals(&shaky, 1_000, MS / 10).is_sorted());
    }

    #[test]
    fn reordered_packets_skip_the_delay() {
        let unordered = Direction {
            rate: None,
            reorder: 0.25,
            ..direction()
        };
        let arrivals = arrivals(&unordered, 10_000, MS);
        let early = arrivals
            .iter()
            .zip(0u64..)
            .filter(|(at, i)| at.unwrap() == i * MS)
            .count();
        assert!((2_250..2_750).contains(&early), "{early}");
    }

    #[test]
    fn a_grid_holds_packets_to_its_next_line() {
        let gridded = Direction {
            grid: Duration::from_millis(20),
            ..direction()
        };
        let arrivals = arrivals(&gridded, 12, MS);
        assert_eq!(arrivals[..10], [Some(20 * MS); 10]);
        assert_eq!(arrivals[10..], [Some(40 * MS); 2]);
    }
}
