//! A bottleneck that behaves like an LTE cell.
//!
//! Every millisecond (TTI) one transport block leaves, whose size follows a
//! rate whose logarithm is a stationary process of first order. A block that
//! fails goes again in the TTI eight later, which then carries nothing new
//! (eight HARQ processes in turn), and what is behind it waits at the receiver
//! (RLC delivers in order).

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use super::capacity::{Outages, Sent};
use super::random::{chance, normal};
use super::{nanos, Nanos};
use crate::link::Lte;

/// A transmission time interval: 3GPP TS 36.321.
const TTI: Nanos = 1_000_000;

/// HARQ processes, and so TTIs from a block to its repetition.
const PROCESSES: u64 = 8;

/// The rate of one TTI after the other.
#[derive(Clone, Debug)]
struct Fading {
    mean: f64,
    deviation: f64,
    /// Share of the logarithm that remains from one TTI to the next.
    memory: f64,
    /// The logarithm less its mean, in standard deviations.
    state: f64,
    random: Pcg64,
}

impl Fading {
    fn new(lte: &Lte, mut random: Pcg64) -> Self {
        let state = normal(&mut random);
        Fading {
            mean: lte.mean as f64,
            deviation: lte.deviation,
            // Not the standard library's, whose digits differ between machines.
            memory: libm::exp(-(TTI as f64) / nanos(lte.coherence) as f64),
            state,
            random,
        }
    }

    /// Bits of the next TTI's block.
    fn block(&mut self) -> f64 {
        let deviation = self.deviation;
        // The mean of a log-normal variable is not the logarithm's.
        let gain = libm::exp(deviation * self.state - deviation * deviation / 2.0);
        let news = (1.0 - self.memory * self.memory).sqrt();
        self.state = self.memory * self.state + news * normal(&mut self.random);
        self.mean * gain * TTI as f64 / 1e9
    }
}

/// A cell in operation.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Cell {
    fading: Fading,
    outages: Outages,
    block_errors: f64,
    failures: Pcg64,
    /// The TTI that is being filled.
    tti: u64,
    /// Bits that its block still has room for.
    left: f64,
    /// Arrival time of the present block, if it has data.
    there: Option<Nanos>,
    /// Arrival time of the last block.
    last: Nanos,
    /// Of each process, the TTI of its last repetition.
    busy: [u64; PROCESSES as usize],
    /// Bits of all blocks up to and with this TTI's.
    offered: f64,
}

impl Cell {
    pub(super) fn new(lte: &Lte, outages: Outages, mut random: Pcg64) -> Self {
        let failures = Pcg64::new(random.next_u64().into(), 1);
        let mut cell = Cell {
            fading: Fading::new(lte, random),
            outages,
            block_errors: lte.block_errors,
            failures,
            tti: 0,
            left: 0.0,
            there: None,
            last: 0,
            busy: [0; PROCESSES as usize],
            offered: 0.0,
        };
        cell.fill();
        cell
    }

    /// Bits per second that get through in the long run.
    pub(super) fn mean(&self) -> u64 {
        let mean = self.fading.mean * (1.0 - self.block_errors);
        (mean as u64).max(1)
    }

    /// Gives this TTI its block.
    fn fill(&mut self) {
        let at = self.tti * TTI;
        let block = self.fading.block();
        self.there = None;
        self.left = 0.0;
        if self.outages.after(at) == at {
            self.left = block;
            self.offered += block;
        }
    }

    fn advance(&mut self) {
        self.tti += 1;
        self.fill();
        let process = (self.tti % PROCESSES) as usize;
        if self.busy[process] >= self.tti {
            self.left = 0.0;
        }
    }

    /// Sends the block of this TTI, as often as it takes.
    fn send(&mut self) -> Nanos {
        let mut tti = self.tti;
        while chance(&mut self.failures, self.block_errors) {
            tti += PROCESSES;
        }
        self.busy[(self.tti % PROCESSES) as usize] = tti;
        self.last = self.last.max((tti + 1) * TTI);
        self.last
    }

    /// `bytes` wait from `start` on.
    pub(super) fn transmit(&mut self, start: Nanos, bytes: u64) -> Sent {
        while self.tti * TTI < start {
            self.advance();
        }
        let mut needed = bytes as f64 * 8.0;
        loop {
            if self.left > 0.0 {
                let there = match self.there {
                    Some(there) => there,
                    None => self.send(),
                };
                self.there = Some(there);
                let taken = needed.min(self.left);
                needed -= taken;
                self.left -= taken;
                if needed <= 0.0 {
                    return Sent {
                        free: self.tti * TTI,
                        out: there,
                    };
                }
            }
            self.advance();
        }
    }

    /// Bits that get through until `at` on average over block errors.
    pub(super) fn offered(&mut self, at: Nanos) -> f64 {
        while (self.tti + 1) * TTI <= at {
            self.advance();
        }
        // Of this TTI's block the part that its time has passed of.
        let block = self.left * (1.0 - (at - self.tti * TTI) as f64 / TTI as f64);
        (self.offered - block) * (1.0 - self.block_errors)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::entropy::generator;

    const LTE: Lte = Lte {
        mean: 8_000_000,
        deviation: 0.0,
        coherence: Duration::from_millis(100),
        block_errors: 0.0,
    };

    fn cell(lte: Lte) -> Cell {
        Cell::new(&lte, Outages::default(), generator(1, 1))
    }

    #[test]
    fn a_steady_cell_is_a_rate_in_blocks() {
        // 1000 bytes per TTI.
        let mut cell = cell(LTE);
        let mut send = |start, bytes| {
            let Sent { free, out } = cell.transmit(start, bytes);
            (free / TTI, out / TTI)
        };
        assert_eq!(
            [send(0, 400), send(0, 600), send(0, 400)],
            [(0, 1), (0, 1), (1, 2)]
        );
        assert_eq!(send(TTI, 2600), (3, 4));
        // Between two TTIs it waits for the next.
        assert_eq!(send(9 * TTI + 1, 1000), (10, 11));
    }

    #[test]
    fn a_failed_block_comes_eight_later_and_holds_up_the_rest() {
        let lte = Lte {
            block_errors: 0.2,
            ..LTE
        };
        let mut cell = cell(lte);
        let sent: Vec<Sent> = (0..20_000).map(|_| cell.transmit(0, 1000)).collect();
        assert!(sent.windows(2).all(|pair| pair[0].out <= pair[1].out));
        // Each is in time, or late by rounds of eight as seen from some TTI.
        let late = |sent: &Sent| (sent.out - sent.free) / TTI - 1;
        assert!(sent.iter().any(|sent| late(sent) == 8));
        assert!(sent.iter().any(|sent| late(sent) == 16));
        // A block takes 1 / (1 - 0.2) TTIs.
        let ttis = sent.last().unwrap().free as f64 / TTI as f64;
        assert!((ttis / 25_000.0 - 1.0).abs() < 0.02, "{ttis}");
        let offered = cell.clone().offered(sent.last().unwrap().free);
        assert!((offered / (20_000.0 * 8e3) - 1.0).abs() < 0.02, "{offered}");
    }

    #[test]
    fn the_rate_has_its_mean_its_deviation_and_its_coherence() {
        let lte = Lte {
            deviation: 0.5,
            coherence: Duration::from_millis(20),
            ..LTE
        };
        let mut fading = Fading::new(&lte, generator(3, 1));
        const TTIS: usize = 400_000;
        let blocks: Vec<f64> = (0..TTIS).map(|_| fading.block()).collect();
        let mean = blocks.iter().sum::<f64>() / TTIS as f64;
        assert!((mean / 8e3 - 1.0).abs() < 0.02, "{mean}");
        let logs: Vec<f64> = blocks
            .iter()
            .map(|block| (block / 8e3).ln() + 0.125)
            .collect();
        let product = |lag: usize| {
            let pairs = logs.iter().zip(&logs[lag..]);
            pairs.map(|(one, other)| one * other).sum::<f64>() / (TTIS - lag) as f64
        };
        let variance = product(0);
        assert!((variance.sqrt() / 0.5 - 1.0).abs() < 0.03, "{variance}");
        let correlation = product(20) / variance;
        assert!(
            (correlation - (-1.0f64).exp()).abs() < 0.03,
            "{correlation}"
        );
    }
}
