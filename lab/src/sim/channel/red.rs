//! Random early detection: Floyd and Jacobson 1993, as RFC 2309 recommended.

use rand_pcg::Pcg64;

use super::random::chance;
use super::Nanos;

/// The state of one queue's management. Lengths are in bytes.
#[derive(Debug)]
pub(super) struct Red {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) probability: f64,
    pub(super) weight: f64,
    /// Nanoseconds of one packet, in which an idle queue's average decays.
    pub(super) packet_time: Nanos,
    /// The average length.
    average: f64,
    /// Packets since the last drop, without the present one; -1 before the first.
    count: i64,
}

impl Red {
    pub(super) fn new(
        min: u64,
        max: u64,
        probability: f64,
        weight: f64,
        packet_time: Nanos,
    ) -> Self {
        Red {
            min: min as f64,
            max: max as f64,
            probability,
            weight,
            packet_time: packet_time.max(1),
            average: 0.0,
            count: -1,
        }
    }

    /// Returns true if RED drops a packet at a queue of `backlog` bytes, with a transmitter that
    /// has been idle for `idle`.
    pub(super) fn drops(&mut self, backlog: u64, idle: Nanos, random: &mut Pcg64) -> bool {
        if backlog > 0 {
            self.average += self.weight * (backlog as f64 - self.average);
        } else {
            // As if as many packets as fit into the time had found it empty, this one among them.
            let packets = (idle / self.packet_time + 1) as f64;
            self.average *= libm::pow(1.0 - self.weight, packets);
        }
        if self.average < self.min {
            self.count = -1;
            return false;
        }
        self.count += 1;
        let drop = self.average >= self.max || {
            let share = self.probability * (self.average - self.min) / (self.max - self.min);
            // Spread evenly: of 1 / share packets in a row one is dropped.
            let even = share / (1.0 - self.count as f64 * share);
            !(0.0..1.0).contains(&even) || chance(random, even)
        };
        if drop {
            self.count = -1;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;

    fn red() -> Red {
        Red::new(10_000, 30_000, 0.1, 0.002, 1_000)
    }

    #[test]
    fn the_average_follows_the_length_by_its_weight_and_decays_when_idle() {
        let mut red = red();
        let mut random = generator(1, 1);
        for n in 1..=1_000 {
            red.drops(9_000, 0, &mut random);
            let theory = 9_000.0 * (1.0 - 0.998f64.powi(n));
            assert!((red.average / theory - 1.0).abs() < 1e-9);
        }
        let before = red.average;
        red.drops(0, 499_000, &mut random);
        let theory = before * 0.998f64.powi(500);
        assert!((red.average / theory - 1.0).abs() < 1e-9, "{}", red.average);
    }

    #[test]
    fn drops_are_none_below_and_all_above_and_even_between() {
        let dropped = |length: u64| {
            let mut red = red();
            red.average = length as f64;
            let mut random = generator(2, 1);
            let drops: Vec<usize> = (0..100_000)
                .filter(|_| red.drops(length, 0, &mut random))
                .collect();
            drops
        };
        assert_eq!(dropped(9_999), [0; 0]);
        assert_eq!(dropped(30_000).len(), 100_000);
        // Half way the share is 5 %, and a uniform gap of 1 to 20 packets has
        // a mean of 10.5 (Floyd and Jacobson, Section 7, method 2).
        let half = dropped(20_000);
        let gaps: Vec<usize> = half.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        assert!((mean / 10.5 - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(gaps.iter().max(), Some(&20));
    }
}
