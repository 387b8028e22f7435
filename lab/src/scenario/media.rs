//! A source of video frames.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use crate::documented::documented;
use crate::units::{Maybe, Rate, Text, Time};

documented! {
    /// Frames of a live video that the server sends as they are captured, over one
    /// stream. Their sizes are log-normal; every group of them begins with a key
    /// frame, which is larger.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Media {
        /// Mean bits per second of the frames.
        #[serde(with = "Text::<Rate>")]
        pub rate: u64,
        /// Frames per second.
        #[serde(default = "Media::fps")]
        pub fps: u32,
        /// Time between two key frames.
        #[serde(with = "Text::<Time>", default = "Media::key_every")]
        pub key_every: Duration,
        /// How many times as large as the others key frames are.
        #[serde(default = "Media::key_size")]
        pub key_size: f64,
        /// Standard deviation of the natural logarithm of a frame's size.
        #[serde(default = "Media::deviation")]
        pub deviation: f64,
        /// A frame that arrives so long after its capture is late.
        #[serde(with = "Text::<Time>", default = "Media::deadline")]
        pub deadline: Duration,
        /// The least rate of an encoder that follows the congestion window, window
        /// over smoothed RTT less a margin of 15 %; without it, it does not.
        #[serde(
            with = "Maybe::<Rate>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub least_rate: Option<u64>,
    }
}

impl Media {
    fn fps() -> u32 {
        30
    }

    fn key_every() -> Duration {
        Duration::from_secs(2)
    }

    fn key_size() -> f64 {
        5.0
    }

    fn deviation() -> f64 {
        0.2
    }

    fn deadline() -> Duration {
        Duration::from_millis(200)
    }

    /// Frames from one key frame to the next, at least 1.
    pub(crate) fn group(&self) -> u64 {
        let frames = self.key_every.as_secs_f64() * f64::from(self.fps);
        (frames.round() as u64).max(1)
    }

    /// Time from the first capture to that of the frame `index`.
    pub(crate) fn capture(&self, index: u64) -> Duration {
        Duration::from_nanos(index * 1_000_000_000 / u64::from(self.fps))
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            (1..=1000).contains(&self.fps),
            "{} frames per second; expected 1 to 1000",
            self.fps
        );
        ensure!(
            (1.0..=100.0).contains(&self.key_size),
            "key frames {} times as large; expected 1 to 100",
            self.key_size
        );
        ensure!(
            (0.0..=2.0).contains(&self.deviation),
            "a deviation of {} of the frames' sizes; expected 0 to 2",
            self.deviation
        );
        let least = self.least_rate.unwrap_or(self.rate);
        ensure!(
            0 < least && least <= self.rate,
            "an encoder of {least} to {} bit/s; expected at least 1, and the least rate first",
            self.rate
        );
        Ok(())
    }
}
