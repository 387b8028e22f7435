//! Active queue management, as one text: `codel:target=5ms,interval=100ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use super::Queue;
use crate::units::{
    format_duration, format_queue, format_share, parse_duration, parse_queue, parse_share,
    parse_size, Options,
};

/// Queue discipline: the packets that a queue drops and, in FQ-CoDel, their order. The direction's
/// [`Queue`] limits all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Aqm {
    /// Drops packets that arrive at a full queue.
    #[default]
    DropTail,
    /// Drops packets while the sojourn time stays above a target (RFC 8289,
    /// <https://www.rfc-editor.org/rfc/rfc8289>).
    CoDel(CoDel),
    /// CoDel on a queue per flow, which take turns: RFC 8290.
    FqCoDel(FqCoDel),
    /// At random, by the queue's average length: Floyd and Jacobson 1993,
    /// RFC 2309.
    Red(Red),
}

/// CoDel's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDel {
    /// The accepted sojourn time.
    pub target: Duration,
    /// For so long a longer wait is a burst's.
    pub interval: Duration,
}

/// FQ-CoDel's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCoDel {
    /// Of each queue.
    pub codel: CoDel,
    /// Number of queues that flows are hashed to.
    pub flows: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: u32,
}

/// RED's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Up to this average nothing is dropped.
    pub min: Queue,
    /// From this average on everything is dropped.
    pub max: Queue,
    /// Probability of a drop just below `max`.
    pub probability: f64,
    /// Of the present length in the average.
    pub weight: f64,
}

const NAMES: &str = "drop-tail, codel[:target=5ms,interval=100ms], \
     fq_codel[:target=5ms,interval=100ms,flows=1024,quantum=1514B] or \
     red[:min=0.25bdp,max=0.75bdp,probability=10%,weight=0.2%]";

impl Aqm {
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Aqm::DropTail => Ok(()),
            Aqm::CoDel(codel) | Aqm::FqCoDel(FqCoDel { codel, .. }) => {
                ensure!(
                    !codel.target.is_zero() && codel.target < codel.interval,
                    "target: out of range (got {:?}); expected more than 0, and less than the interval of \
                     {:?}",
                    codel.target,
                    codel.interval
                );
                Ok(())
            }
            Aqm::Red(red) => {
                ensure!(
                    0.0 < red.weight && red.weight <= 1.0,
                    "red.weight: out of range (got {}); expected more than 0, and at most 1",
                    red.weight
                );
                let in_order = match (red.min, red.max) {
                    (Queue::Bytes(min), Queue::Bytes(max)) => min < max,
                    (Queue::Bdp(min), Queue::Bdp(max)) => min < max,
                    (Queue::Time(min), Queue::Time(max)) => min < max,
                    _ => false,
                };
                ensure!(
                    in_order,
                    "red: not in order (got min={}, max={}); expected a smaller min, both in bytes, bdp \
                     or both times",
                    format_queue(red.min),
                    format_queue(red.max)
                );
                Ok(())
            }
        }
    }
}

impl Default for CoDel {
    /// RFC 8289, Section 4.4.
    fn default() -> Self {
        CoDel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
        }
    }
}

impl CoDel {
    fn take(options: &mut Options) -> Result<Self, String> {
        let default = CoDel::default();
        Ok(CoDel {
            target: options
                .take("target", parse_duration)?
                .unwrap_or(default.target),
            interval: options
                .take("interval", parse_duration)?
                .unwrap_or(default.interval),
        })
    }
}

impl fmt::Display for CoDel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, interval) = (format_duration(self.target), format_duration(self.interval));
        write!(f, "target={target},interval={interval}")
    }
}

impl FromStr for Aqm {
    type Err = String;

    /// A name, and options where they differ from what the RFCs advise.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut options = Options::new(name, rest)?;
        let aqm = match name {
            "drop-tail" => Aqm::DropTail,
            "codel" => Aqm::CoDel(CoDel::take(&mut options)?),
            "fq_codel" => Aqm::FqCoDel(FqCoDel {
                codel: CoDel::take(&mut options)?,
                flows: options.take("flows", count)?.unwrap_or(1024),
                quantum: options.take("quantum", quantum)?.unwrap_or(1514),
            }),
            "red" => Aqm::Red(Red {
                min: options
                    .take("min", parse_queue)?
                    .unwrap_or(Queue::Bdp(0.25)),
                max: options
                    .take("max", parse_queue)?
                    .unwrap_or(Queue::Bdp(0.75)),
                probability: options.take("probability", parse_share)?.unwrap_or(0.1),
                weight: options.take("weight", parse_share)?.unwrap_or(0.002),
            }),
            _ => return Err(format!("aqm: unknown (got {name}); expected {NAMES}")),
        };
        options.end()?;
        Ok(aqm)
    }
}

fn count(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count) if (1..=65_536).contains(&count) => Ok(count),
        _ => Err(format!(
            "queues: out of range (got {text}); expected 1 to 65536"
        )),
    }
}

fn quantum(text: &str) -> Result<u32, String> {
    match parse_size(text).map(u32::try_from)? {
        Ok(bytes) if bytes >= 64 => Ok(bytes),
        _ => Err(format!(
            "quantum: out of range (got {text}); expected 64B to 4GB"
        )),
    }
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aqm::DropTail => f.write_str("drop-tail"),
            Aqm::CoDel(codel) => write!(f, "codel:{codel}"),
            Aqm::FqCoDel(FqCoDel {
                codel,
                flows,
                quantum,
            }) => write!(f, "fq_codel:{codel},flows={flows},quantum={quantum}B"),
            Aqm::Red(red) => write!(
                f,
                "red:min={},max={},probability={},weight={}",
                format_queue(red.min),
                format_queue(red.max),
                format_share(red.probability),
                format_share(red.weight)
            ),
        }
    }
}

impl TryFrom<String> for Aqm {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Aqm> for String {
    fn from(aqm: Aqm) -> String {
        aqm.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_with_its_defaults_and_written_in_full() {
        for (text, full) in [
            ("drop-tail", "drop-tail"),
            ("codel", "codel:target=5ms,interval=100ms"),
            ("codel:target=15ms", "codel:target=15ms,interval=100ms"),
            (
                "fq_codel:quantum=300B",
                "fq_codel:target=5ms,interval=100ms,flows=1024,quantum=300B",
            ),
            (
                "red:min=5kB,max=15kB",
                "red:min=5kB,max=15kB,probability=10%,weight=0.2%",
            ),
        ] {
            let aqm: Aqm = text.parse().unwrap();
            assert_eq!(aqm.to_string(), full);
            assert_eq!(full.parse(), Ok(aqm));
            assert!(aqm.check().is_ok());
        }
    }

    #[test]
    fn what_there_is_not_is_refused_with_what_there_is() {
        for (text, says) in [
            ("pie", "fq_codel"),
            ("codel:goal=5ms", "target, interval"),
            ("codel:target=5", "45ms"),
            ("drop-tail:target=5ms", "no options"),
            ("fq_codel:flows=0", "1 to 65536"),
        ] {
            let error = text.parse::<Aqm>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        for (text, says) in [
            ("codel:target=1s", "less than the interval"),
            ("red:min=15kB,max=5kB", "smaller"),
            ("red:min=15kB,max=1bdp", "both"),
            ("red:weight=0", "at most 1"),
        ] {
            let error = text.parse::<Aqm>().unwrap().check().unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
