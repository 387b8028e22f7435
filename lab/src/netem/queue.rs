//! The queue ahead of the data's bottleneck, looked at during the transfer.
//!
//! Round-trip times tell of the queue and of everything else that takes time,
//! busy processors above all. The bottleneck itself tells of the queue alone.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use petra_qlog::stats::quantile;
use serde::{Deserialize, Serialize};

use super::network::Place;
use crate::testbed::in_namespace;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(20);

/// Queueing delay that a packet would have seen, over the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub(super) struct Waiting {
    pub mean_ms: f64,
    pub p95_ms: f64,
    pub samples: usize,
}

/// Backlog over the transfer.
pub(super) struct Backlog {
    pub(super) waiting: Waiting,
    /// Milliseconds at seconds since the first look.
    pub(super) over_time: Vec<(f64, f64)>,
}

/// Looks at a qdisc until it is told to stop. One tc does it for the whole
/// time, for starting one takes longer than some transfers in user-mode Linux.
pub(super) struct Meter {
    tc: Child,
    started: Instant,
    asking: JoinHandle<()>,
    stop: mpsc::Sender<()>,
    reading: JoinHandle<std::io::Result<Vec<u8>>>,
}

/// The part of `tc -s -j qdisc show` that counts here.
#[derive(Deserialize)]
struct Qdisc {
    kind: String,
    backlog: u64,
    qlen: u64,
}

impl Meter {
    pub(super) fn start(Place(namespace, interface): Place) -> Result<Self> {
        let command = in_namespace(namespace, "tc -s -j -batch -");
        let mut words = command.split_whitespace();
        let mut tc = Command::new(words.next().expect("a command has a first word"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run `{command}`"))?;
        let questions = tc.stdin.take().expect("the input is piped");
        let mut answers = tc.stdout.take().expect("the output is piped");
        let (stop, stopped) = mpsc::channel();
        Ok(Meter {
            tc,
            started: Instant::now(),
            asking: thread::spawn(move || ask(questions, interface, &stopped)),
            stop,
            reading: thread::spawn(move || {
                let mut text = Vec::new();
                answers.read_to_end(&mut text).map(|_| text)
            }),
        })
    }

    /// Ends it. `rate` is the bottleneck's, in bits per second.
    pub(super) fn stop(mut self, rate: u64) -> Result<Backlog> {
        let seconds = self.started.elapsed().as_secs_f64();
        drop(self.stop);
        self.asking.join().expect("asking does not panic");
        let text = self.reading.join().expect("reading does not panic")?;
        self.tc.wait()?;
        let waits = waits(&text, rate)?;
        // The looks are at equal distances, but for what else keeps tc.
        let each = seconds / waits.len() as f64;
        let times = (0..).map(|look| f64::from(look) * each);
        Ok(Backlog {
            over_time: times.zip(waits.iter().copied()).collect(),
            waiting: Waiting::of(waits),
        })
    }
}

fn ask(mut tc: ChildStdin, interface: &str, stopped: &mpsc::Receiver<()>) {
    // A tc that has ended is found by what it has not said.
    while writeln!(tc, "qdisc show dev {interface}").is_ok()
        && stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout)
    {}
}

/// Milliseconds of waiting at each look, of which there is at least one.
fn waits(text: &[u8], rate: u64) -> Result<Vec<f64>> {
    let mut waits = Vec::new();
    for qdiscs in serde_json::Deserializer::from_slice(text).into_iter::<Vec<Qdisc>>() {
        let qdiscs = qdiscs.context("`tc -s -j -batch -` does not print JSON")?;
        if let Some(qdisc) = qdiscs.iter().find(|qdisc| qdisc.kind == "netem") {
            // netem holds the packet in transmission too, which does not wait.
            let waiting = qdisc.qlen.saturating_sub(1) as f64 / qdisc.qlen.max(1) as f64;
            waits.push(waiting * qdisc.backlog as f64 * 8e3 / rate as f64);
        }
    }
    ensure!(!waits.is_empty(), "tc told nothing about the queue");
    Ok(waits)
}

impl Waiting {
    fn of(mut waits: Vec<f64>) -> Self {
        waits.sort_by(f64::total_cmp);
        Waiting {
            mean_ms: waits.iter().sum::<f64>() / waits.len() as f64,
            p95_ms: quantile(&waits, 0.95),
            samples: waits.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_the_backlog_without_the_packet_in_transmission() {
        // At 8 Mbit/s 1000 bytes take 1 ms.
        let text = r#"[{"kind":"netem","handle":"1:","backlog":0,"qlen":0}]
            [{"kind":"netem","backlog":1000,"qlen":1}]
            [{"kind":"noqueue","backlog":0,"qlen":0},{"kind":"netem","backlog":4000,"qlen":4}]"#;
        let expected = Waiting {
            mean_ms: 1.0,
            p95_ms: 3.0,
            samples: 3,
        };
        let waits = waits(text.as_bytes(), 8_000_000).unwrap();
        assert_eq!(Waiting::of(waits), expected);
    }

    #[test]
    fn silence_and_nonsense_are_errors() {
        assert!(waits(b"", 1).is_err());
        assert!(waits(b"[]", 1).is_err());
        assert!(waits(b"Cannot find device", 1).is_err());
    }
}
