//! Features of a direction besides rate, delay and loss.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use crate::documented::documented;
use crate::units::{Rate, Share, Size, Text, Time};

documented! {
    /// A bottleneck that behaves like an LTE cell: every millisecond (TTI) a block
    /// whose size follows a rate that wanders, and blocks that fail go again 8 ms
    /// later while those behind them wait (HARQ, 3GPP TS 36.321 5.3.2 and 36.322).
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Lte {
        /// Mean rate of the blocks in bits per second; what fails counts.
        #[serde(with = "Text::<Rate>")]
        pub mean: u64,
        /// Standard deviation of the rate's natural logarithm, 0 to 3: the rate is
        /// log-normal.
        #[serde(default = "Lte::deviation")]
        pub deviation: f64,
        /// After this time the logarithm's correlation with itself has fallen to
        /// 1/e (a process of first order).
        #[serde(with = "Text::<Time>", default = "Lte::coherence")]
        pub coherence: Duration,
        /// Probability that a block fails, 0 to 0.9.
        #[serde(with = "Text::<Share>", default = "Lte::block_errors")]
        pub block_errors: f64,
    }
}

impl Lte {
    fn deviation() -> f64 {
        0.5
    }

    fn coherence() -> Duration {
        Duration::from_millis(100)
    }

    /// Block error rate that link adaptation in LTE aims at.
    fn block_errors() -> f64 {
        0.1
    }

    pub(super) fn check(&self) -> Result<()> {
        let Lte {
            deviation,
            block_errors,
            coherence,
            mean,
        } = *self;
        ensure!(
            mean > 0,
            "lte.mean: out of range (got 0); expected at least 1 bit/s"
        );
        ensure!(
            (0.0..=3.0).contains(&deviation),
            "lte.deviation: out of range (got {deviation}); expected 0 to 3"
        );
        ensure!(
            !coherence.is_zero(),
            "lte.coherence: out of range (got 0s); expected more"
        );
        ensure!(
            (0.0..=0.9).contains(&block_errors),
            "lte.block_errors: out of range (got {block_errors}); expected a probability from 0 to 0.9"
        );
        Ok(())
    }
}

documented! {
    /// Losses of two states (Gilbert 1960, Elliott 1963). It begins in the good one.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct GilbertElliott {
        /// Probability per packet to go from the good state to the bad one.
        #[serde(with = "Text::<Share>")]
        pub to_bad: f64,
        /// Probability per packet to go back, larger than 0.
        #[serde(with = "Text::<Share>")]
        pub to_good: f64,
        /// Probability of a loss in the good state.
        #[serde(with = "Text::<Share>", default)]
        pub loss_good: f64,
        /// Probability of a loss in the bad state.
        #[serde(with = "Text::<Share>", default = "GilbertElliott::loss_bad")]
        pub loss_bad: f64,
    }
}

impl GilbertElliott {
    fn loss_bad() -> f64 {
        1.0
    }

    /// The share of packets that are lost in the long run.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.to_bad / (self.to_bad + self.to_good);
        self.loss_good * (1.0 - bad) + self.loss_bad * bad
    }

    pub(super) fn check(&self) -> Result<()> {
        for (name, share) in [
            ("to_bad", self.to_bad),
            ("to_good", self.to_good),
            ("loss_good", self.loss_good),
            ("loss_bad", self.loss_bad),
        ] {
            ensure!(
                (0.0..=1.0).contains(&share),
                "burst.{name}: out of range (got {share}); expected a probability from 0 to 1"
            );
        }
        ensure!(
            self.to_good > 0.0,
            "burst.to_good: no way back to the good state (got 0); expected more"
        );
        Ok(())
    }
}

documented! {
    /// A token bucket: a packet passes at once where there are tokens for all its
    /// bytes, and is dropped otherwise (RFC 2697 with one rate and one bucket).
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Policer {
        /// Bits per second that flow into the bucket.
        #[serde(with = "Text::<Rate>")]
        pub rate: u64,
        /// Bytes that it holds, and has at the beginning.
        #[serde(with = "Text::<Size>")]
        pub burst: u64,
    }
}

impl Policer {
    /// The least bucket: a full-sized packet of Ethernet has to fit.
    const MIN_BURST: u64 = 1500;

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.rate > 0,
            "policer.rate: out of range (got 0); expected at least 1 bit/s"
        );
        ensure!(
            self.burst >= Self::MIN_BURST,
            "policer.burst: too small for a packet (got {}); expected at least {} bytes",
            self.burst,
            Self::MIN_BURST
        );
        Ok(())
    }
}

documented! {
    /// A burst of losses that comes by count.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct LossEvery {
        /// Packets from the end of a burst to the end of the next.
        pub packets: u32,
        /// Packets that are lost, the last of these; fewer than all.
        pub burst: u32,
    }
}

impl LossEvery {
    /// The share of packets that are lost.
    pub fn mean_loss(&self) -> f64 {
        f64::from(self.burst) / f64::from(self.packets)
    }

    pub(super) fn check(&self) -> Result<()> {
        let LossEvery { packets, burst } = *self;
        ensure!(
            0 < burst && burst < packets,
            "loss_every.burst: out of range (got {burst} of {packets} packets); expected at least 1, and not all"
        );
        Ok(())
    }
}

documented! {
    /// Packets are held ahead of the queue and enter it together.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Aggregate {
        /// Number of packets that are released together, at least 1.
        pub packets: u32,
        /// The first of them waits no longer than this.
        #[serde(with = "Text::<Time>")]
        pub at_most: Duration,
    }
}

documented! {
    /// The path moves from one cell to another and back, again and again.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Handover {
        /// Time between two handovers; the first comes after it.
        #[serde(with = "Text::<Time>")]
        pub every: Duration,
        /// For so long nothing is delivered; what would be comes at its end.
        #[serde(with = "Text::<Time>")]
        pub gap: Duration,
        /// Propagation delay after the first handover, the third and so on, in
        /// turn with the direction's own.
        #[serde(with = "Text::<Time>")]
        pub delay: Duration,
    }
}

impl Handover {
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.gap < self.every,
            "handover.gap: too long (got {:?}); expected less than {:?}, the time between two",
            self.gap,
            self.every
        );
        Ok(())
    }
}
