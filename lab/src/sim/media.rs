//! Video frames: a source at the server, a player at the client.
//!
//! On the stream each frame is its number, its length (of 4 bytes each) and
//! zeros. Both ends count the captures from the flow's start, so that the
//! player knows how old a frame is when its last byte arrives.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use petra_http3::Connection;
use quiche::h3;
use rand_pcg::Pcg64;

use super::channel::{deviation, Nanos};
use crate::link::Distribution;
use crate::scenario::Media;

/// Bytes of a frame's number and length.
const HEAD: usize = 8;

/// The share of window over smoothed RTT that an encoder follows.
const MARGIN: f64 = 0.85;

/// Captures frames and writes them to its stream.
pub(super) struct Source {
    media: Media,
    /// Capture time of the flow's first frame.
    epoch: Instant,
    random: Pcg64,
    stream: u64,
    begun: bool,
    /// The next frame's number.
    next: u64,
    /// Captured frames that have not been written yet.
    frames: VecDeque<Vec<u8>>,
    /// Bytes of the first that are written.
    written: usize,
}

impl Source {
    /// A source that is asked for at this moment: the frames before are gone.
    pub(super) fn new(media: Media, epoch: Instant, random: Pcg64, stream: u64) -> Self {
        let age = Instant::now() - epoch;
        Source {
            media,
            epoch,
            random,
            stream,
            begun: false,
            next: captured(&media, age),
            frames: VecDeque::new(),
            written: 0,
        }
    }

    /// The capture time of the next frame.
    pub(super) fn timer(&self) -> Instant {
        self.epoch + self.media.capture(self.next)
    }

    pub(super) fn work(
        &mut self,
        conn: &mut Connection,
        http: &mut h3::Connection,
    ) -> h3::Result<()> {
        while self.timer() <= Instant::now() {
            let rate = self.rate(conn);
            let frame = self.frame(rate);
            self.frames.push_back(frame);
            self.next += 1;
        }
        match self.write(conn, http) {
            Err(h3::Error::Done | h3::Error::StreamBlocked) => Ok(()),
            other => other,
        }
    }

    fn write(&mut self, conn: &mut Connection, http: &mut h3::Connection) -> h3::Result<()> {
        if !self.begun {
            let head = [h3::Header::new(b":status", b"200")];
            http.send_response(conn, self.stream, &head, false)?;
            self.begun = true;
        }
        while let Some(frame) = self.frames.front() {
            self.written += http.send_body(conn, self.stream, &frame[self.written..], false)?;
            if self.written == frame.len() {
                self.frames.pop_front();
                self.written = 0;
            }
        }
        Ok(())
    }

    /// The encoder's rate at this moment, in bits per second.
    fn rate(&self, conn: &Connection) -> f64 {
        let most = self.media.rate as f64;
        let path = conn.path_stats().next();
        match (self.media.least_rate, path) {
            (Some(least), Some(path)) => {
                let allowed = path.cwnd as f64 * 8.0 / path.rtt.as_secs_f64().max(1e-6);
                (MARGIN * allowed).clamp(least as f64, most)
            }
            _ => most,
        }
    }

    /// The next frame of an encoder of this rate.
    fn frame(&mut self, rate: f64) -> Vec<u8> {
        let bytes = size(&self.media, self.next, rate, &mut self.random);
        let mut frame = vec![0; bytes.max(HEAD)];
        let length = frame.len() as u32;
        frame[..4].copy_from_slice(&(self.next as u32).to_be_bytes());
        frame[4..HEAD].copy_from_slice(&length.to_be_bytes());
        frame
    }
}

/// Number of captured frames if the first has this `age`, except one captured right now.
fn captured(media: &Media, age: Duration) -> u64 {
    let frames = age.as_nanos() * u128::from(media.fps);
    frames.div_ceil(1_000_000_000) as u64
}

/// The bytes of the frame `index` at `rate` bits per second.
fn size(media: &Media, index: u64, rate: f64, random: &mut Pcg64) -> usize {
    let group = media.group() as f64;
    // A group has its mean rate, of which a key frame takes more.
    let plain = rate / 8.0 / f64::from(media.fps) * group / (group - 1.0 + media.key_size);
    let mean = match index % media.group() {
        0 => plain * media.key_size,
        _ => plain,
    };
    // The mean of a log-normal variable is not the logarithm's.
    let spread = media.deviation;
    let draw = deviation(Distribution::Normal, random);
    (mean * libm::exp(spread * draw - spread * spread / 2.0)).round() as usize
}

/// Reads frames and notes how old they are.
pub(super) struct Player {
    media: Media,
    epoch: Instant,
    head: Vec<u8>,
    /// Bytes of the frame that are still to come, after its head.
    left: usize,
    /// Of each frame that is whole its number, and its time from the capture.
    pub(super) frames: Vec<(u64, Duration)>,
}

impl Player {
    pub(super) fn new(media: Media, epoch: Instant) -> Self {
        Player {
            media,
            epoch,
            head: Vec::new(),
            left: 0,
            frames: Vec::new(),
        }
    }

    /// Takes what has arrived.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.head.len() < HEAD {
                let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
                self.head.extend_from_slice(head);
                bytes = rest;
                if self.head.len() == HEAD {
                    self.left = self.number(4) as usize - HEAD;
                }
            }
            if self.head.len() == HEAD {
                let taken = bytes.len().min(self.left);
                bytes = &bytes[taken..];
                self.left -= taken;
                if self.left == 0 {
                    let index = u64::from(self.number(0));
                    let age = Instant::now() - (self.epoch + self.media.capture(index));
                    self.frames.push((index, age));
                    self.head.clear();
                }
            }
        }
    }

    fn number(&self, at: usize) -> u32 {
        let bytes = self.head[at..at + 4].try_into().expect("4 bytes");
        u32::from_be_bytes(bytes)
    }

    /// The share of the frames that did not arrive in time, of those whose
    /// time was up when the flow was `active` for so long; `None` where there
    /// were none.
    pub(super) fn late(&self, active: Nanos) -> Option<f64> {
        let first = self.frames.first().map_or(0, |(index, _)| *index);
        let age = Duration::from_nanos(active).checked_sub(self.media.deadline)?;
        let due = captured(&self.media, age);
        let expected = due.checked_sub(first).filter(|expected| *expected > 0)?;
        let in_time = |(index, age): &&(u64, Duration)| *index < due && *age <= self.media.deadline;
        let in_time = self.frames.iter().filter(in_time).count();
        Some(1.0 - in_time as f64 / expected as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;

    fn media() -> Media {
        serde_json::from_str(r#"{"rate": "4mbit", "fps": 25}"#).unwrap()
    }

    #[test]
    fn frames_have_their_rate_and_key_frames_their_size() {
        let media = media();
        assert_eq!(media.group(), 50);
        let mut random = generator(1, 1);
        let sizes: Vec<f64> = (0..100_000)
            .map(|index| size(&media, index, 4e6, &mut random) as f64)
            .collect();
        let mean = |sizes: Vec<f64>| sizes.iter().sum::<f64>() / sizes.len() as f64;
        let keys = mean(sizes.iter().step_by(50).copied().collect());
        let all = mean(sizes);
        // 20 kB a frame in the mean, of which 49 + 5 parts are 50.
        assert!((all / 20_000.0 - 1.0).abs() < 0.01, "{all}");
        let ratio = keys / (20_000.0 * 50.0 / 54.0);
        assert!((ratio - 5.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn a_player_puts_frames_together_from_any_pieces() {
        let epoch = Instant::now();
        let mut source = Source::new(media(), epoch, generator(1, 1), 0);
        let first = source.next;
        let mut stream = Vec::new();
        for _ in 0..10 {
            let frame = source.frame(4e6);
            source.next += 1;
            stream.extend(frame);
        }
        for piece in [1, 7, 1000, stream.len()] {
            // All of the frames are captured in the past.
            let mut player = Player::new(media(), epoch - Duration::from_secs(10));
            stream.chunks(piece).for_each(|chunk| player.take(chunk));
            let numbers: Vec<u64> = player.frames.iter().map(|(index, _)| *index).collect();
            assert_eq!(numbers, (first..first + 10).collect::<Vec<_>>());
            assert!(player.frames.iter().all(|(_, age)| age.as_secs() >= 9));
        }
    }

    #[test]
    fn a_frame_that_is_old_or_missing_is_late() {
        let mut player = Player::new(media(), Instant::now());
        let frame = |index, ms| (index, Duration::from_millis(ms));
        // Due at 1.2 s are those captured before 1 s: numbers 0 to 24.
        player.frames = (5..20).map(|index| frame(index, 150)).collect();
        player.frames[0].1 = Duration::from_millis(201);
        let late = player.late(1_200_000_000).unwrap();
        assert!((late - 6.0 / 20.0).abs() < 1e-9, "{late}");
        assert_eq!(player.late(100_000_000), None);
        player.frames.clear();
        assert_eq!(player.late(1_200_000_000), Some(1.0));
    }
}
