//! Raw traces made into ones that qvis opens.
//!
//! What it takes, and why, is in `docs/qlog.md`. Records stay as they are but
//! for what has to change, so that nothing that qvis does not know is lost.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use serde::Deserialize;

use crate::losses::{Losses, Lost};
use crate::slim::Slim;
use crate::{Error, Event, Fields, Header, Kind, Packet, Space, Trace};

pub use crate::slim::{fit, Fit};

/// What stands for "no value" where quiche writes a number of 64 bits.
pub(crate) const NO_VALUE: &str = "18446744073709551615";

pub(crate) const RTT_FIELDS: [&str; 4] = ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"];

/// Where a trace's events of lost packets are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It has none.
    None,
    /// The connection logged them.
    Logged,
    /// They are inferred, and each has `"petra_inferred":true`.
    Inferred,
    /// Some are logged and some inferred.
    Both,
}

impl Source {
    /// As the header has it in `petra_packet_lost`.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::None => "none",
            Source::Logged => "logged",
            Source::Inferred => "inferred",
            Source::Both => "logged and inferred",
        }
    }
}

/// What the header says until the trace has been seen to its end. It is filled
/// up with blanks to leave room for what will stand there.
const NOT_YET: &str = "\"unknown\"            ";

/// What has become of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Events that were read.
    pub events: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Lost packets that the trace itself has events of.
    pub logged: u64,
    /// Lost packets that were inferred.
    pub inferred: u64,
    /// Lost packets as the connection counted them; `None` when the trace does
    /// not have the number.
    pub counted: Option<u64>,
    /// The number of a last record that was not whole and is left out.
    pub truncated: Option<u64>,
    /// The end of the compressed input is missing.
    pub cut: bool,
}

impl Summary {
    /// Where the events of lost packets are from.
    pub fn losses(&self) -> Source {
        match (self.logged, self.inferred) {
            (0, 0) => Source::None,
            (_, 0) => Source::Logged,
            (0, _) => Source::Inferred,
            _ => Source::Both,
        }
    }
}

/// How much of a trace is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Everything.
    All,
    /// What qvis draws in its congestion graph: packets with their
    /// acknowledgments and limits, lost packets, and of the metrics the latest
    /// values every 5 ms and every congestion window.
    Drawn,
}

/// Rewrites a trace as a whole.
///
/// # Errors
///
/// When the trace is broken before its last record, or the output cannot be
/// written. What was written by then is no whole trace.
pub fn rewrite(
    input: impl Read,
    output: impl Write + Seek,
    detail: &Detail,
) -> Result<Summary, Error> {
    let mut trace = Trace::open(input)?;
    let mut copy = Copy::new(output, trace.header(), detail)?;
    while let Some(event) = trace.next_event()? {
        copy.write(&event)?;
    }
    let summary = copy.finish()?;
    Ok(Summary {
        truncated: trace.truncated(),
        cut: trace.cut(),
        ..summary
    })
}

/// A trace for qvis that is being written.
pub struct Copy<W: Write + Seek> {
    output: BufWriter<W>,
    rewriter: Rewriter,
    /// What one event becomes.
    text: Vec<u8>,
    written: u64,
    /// Where the header says what the losses are from.
    verdict: u64,
    events: u64,
}

impl<W: Write + Seek> Copy<W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// When the output cannot be written.
    pub fn new(output: W, header: &Header, detail: &Detail) -> Result<Self, Error> {
        let slim = match detail {
            Detail::All => None,
            Detail::Drawn => Some(Slim::default()),
        };
        Self::with(output, header, Rewriter::new(slim))
    }

    pub(crate) fn with(output: W, header: &Header, rewriter: Rewriter) -> Result<Self, Error> {
        let mut copy = Copy {
            output: BufWriter::with_capacity(1 << 16, output),
            rewriter,
            text: Vec::new(),
            written: 0,
            verdict: 0,
            events: 0,
        };
        let header = header.for_qvis(NOT_YET);
        write_record(&mut copy.text, format_args!("{header}"));
        copy.verdict = (copy.text.len() - NOT_YET.len() - "}\n".len()) as u64;
        copy.pass_on()?;
        Ok(copy)
    }

    /// Writes what becomes of an event.
    ///
    /// # Errors
    ///
    /// When the event is not what its name says, and when the output cannot be
    /// written.
    pub fn write(&mut self, event: &Event) -> Result<(), Error> {
        self.events += 1;
        self.rewriter.event(event, &mut self.text)?;
        self.pass_on()
    }

    /// Bytes written up to now.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Completes the output.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn finish(self) -> Result<Summary, Error> {
        Ok(self.finish_slim()?.0)
    }

    /// Completes the output; says also which packets were lost.
    pub(crate) fn finish_slim(mut self) -> Result<(Summary, HashSet<(Space, u64)>), Error> {
        let lost = self.rewriter.finish(&mut self.text);
        self.pass_on()?;
        let losses = &self.rewriter.losses;
        let summary = Summary {
            events: self.events,
            bytes: self.written,
            logged: losses.logged,
            inferred: losses.inferred,
            counted: losses.counted,
            truncated: None,
            cut: false,
        };
        let source = format!("\"{}\"", summary.losses().as_str());
        let width = NOT_YET.len();
        self.output
            .seek(SeekFrom::Start(self.verdict))
            .and_then(|_| write!(self.output, "{source:width$}"))
            .and_then(|()| self.output.flush())
            .map_err(Error::Write)?;
        Ok((summary, lost))
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        self.output.write_all(&self.text).map_err(Error::Write)?;
        self.written += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }
}

pub(crate) fn write_record(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    // To a Vec it cannot fail.
    let _ = out.write_fmt(format_args!("\u{1e}{text}\n"));
}

/// Turns events into what qvis reads.
pub(crate) struct Rewriter {
    losses: Losses,
    lost: Vec<Lost>,
    edits: Edits,
    /// The latest time, and as text.
    time: f64,
    time_text: String,
    sampled: bool,
    slim: Option<Slim>,
}

impl Rewriter {
    pub(crate) fn new(slim: Option<Slim>) -> Self {
        Rewriter {
            losses: Losses::default(),
            lost: Vec::new(),
            edits: Edits::default(),
            time: f64::NEG_INFINITY,
            time_text: "0".to_owned(),
            sampled: false,
            slim,
        }
    }

    fn event(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Error> {
        self.edits.clear();
        // quiche takes the times of some events before those of others that it
        // writes first; qvis wants them in order.
        if event.time >= self.time {
            self.time = event.time;
            self.time_text.clear();
            self.time_text.push_str(event.time_text);
        } else {
            self.edits.replace(
                event.position(event.time_text),
                event.time_text.len(),
                &self.time_text,
            );
        }
        if let Some(slim) = &mut self.slim {
            slim.go_on(self.time, &self.time_text, out);
        }
        let name = Name::of(event.name);
        self.edits
            .replace(event.position(event.name), name.length, name.instead);
        match event.kind {
            Kind::Sent | Kind::Received => self.packet(event, out)?,
            Kind::Lost => {
                let packet: Packet = event.read()?;
                self.losses.on_lost(&packet);
                if let (Some(slim), Some(number)) = (&mut self.slim, packet.header.packet_number) {
                    slim.lost(packet.header.packet_type, number);
                }
                self.edits.apply(event.text, out);
            }
            Kind::Metrics => self.metrics(event, out)?,
            Kind::Parameters => {
                let parameters: Parameters = event.read()?;
                if let (Some(initiator), None) = (parameters.initiator, parameters.owner) {
                    let end = event.position(initiator) + initiator.len() + 1;
                    self.edits
                        .insert(end, format_args!(",\"owner\":\"{initiator}\""));
                }
                self.edits.apply(event.text, out);
            }
            Kind::Phase => self.edits.apply(event.text, out),
            Kind::Other if self.slim.is_some() => {}
            Kind::Other => self.edits.apply(event.text, out),
        }
        Ok(())
    }

    fn packet(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Error> {
        let packet: Packet = event.read()?;
        if event.kind == Kind::Sent {
            self.losses.on_sent(&packet, event.time);
        } else {
            self.losses.on_received(&packet);
        }
        if let Some(slim) = &mut self.slim {
            slim.packet(&packet, event, out);
            return Ok(());
        }
        for frame in packet.frames.iter().flatten() {
            if let ("stream", None, Some(length)) =
                (frame.frame_type, frame.length, frame.data_length())
            {
                let end = event.position(frame.frame_type) + frame.frame_type.len() + 1;
                self.edits.insert(end, format_args!(",\"length\":{length}"));
            }
        }
        self.edits.apply(event.text, out);
        Ok(())
    }

    fn metrics(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut metrics: Fields = event.read()?;
        self.losses.on_metrics(&metrics, self.time, &mut self.lost);
        for lost in self.lost.drain(..) {
            if let Some(slim) = &mut self.slim {
                slim.lost(lost.packet_type, lost.number);
            }
            write_record(
                out,
                format_args!(
                    "{{\"time\":{},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":\
                     {{\"packet_type\":\"{}\",\"packet_number\":{}}},\"petra_inferred\":true}}}}",
                    self.time_text, lost.packet_type, lost.number
                ),
            );
        }
        self.sampled |= metrics.number("latest_rtt").is_some_and(|rtt| rtt > 0.0);
        let before = metrics.0.len();
        metrics.0.retain(|(name, value)| {
            *value != NO_VALUE && (self.sampled || !RTT_FIELDS.contains(name))
        });
        if let Some(slim) = &mut self.slim {
            slim.metrics(&metrics, out);
        } else if metrics.0.len() == before {
            self.edits.apply(event.text, out);
        } else {
            write_record(
                out,
                format_args!(
                    "{{\"time\":{},\"name\":\"recovery:metrics_updated\",\"data\":{}}}",
                    self.time_text, metrics
                ),
            );
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> HashSet<(Space, u64)> {
        let slim = self.slim.as_mut();
        slim.map(|slim| slim.finish(out)).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Parameters<'a> {
    initiator: Option<&'a str>,
    owner: Option<&'a str>,
}

/// The beginning of an event's name, and what stands there for qvis.
struct Name {
    length: usize,
    instead: &'static str,
}

impl Name {
    /// qlog 0.3 has more categories than 0.4.
    fn of(name: &str) -> Self {
        let (length, instead) = match name.split_once(':') {
            Some(("http3", _)) => (5, "http"),
            Some(("quic", event)) => match event {
                "recovery_metrics_updated" => (name.len(), "recovery:metrics_updated"),
                "recovery_parameters_set" => (name.len(), "recovery:parameters_set"),
                "packet_lost"
                | "congestion_state_updated"
                | "timer_updated"
                | "marked_for_retransmit" => (4, "recovery"),
                "server_listening"
                | "connection_started"
                | "connection_closed"
                | "connection_id_updated"
                | "connection_state_updated"
                | "spin_bit_updated"
                | "mtu_updated"
                | "path_assigned" => (4, "connectivity"),
                "key_updated" | "key_discarded" => (4, "security"),
                _ => (4, "transport"),
            },
            _ => (0, ""),
        };
        Name { length, instead }
    }
}

/// Changes of a text, by the place in it.
#[derive(Default)]
struct Edits {
    /// Where, how much goes, and where in `text` is what comes.
    edits: Vec<(usize, usize, Range<usize>)>,
    text: String,
}

impl Edits {
    fn clear(&mut self) {
        self.edits.clear();
        self.text.clear();
    }

    fn replace(&mut self, at: usize, length: usize, instead: &str) {
        let start = self.text.len();
        self.text.push_str(instead);
        self.edits.push((at, length, start..self.text.len()));
    }

    fn insert(&mut self, at: usize, what: std::fmt::Arguments) {
        let start = self.text.len();
        // To a String it cannot fail.
        let _ = self.text.write_fmt(what);
        self.edits.push((at, 0, start..self.text.len()));
    }

    /// Writes the record that the text becomes.
    fn apply(&mut self, text: &str, out: &mut Vec<u8>) {
        self.edits.sort_unstable_by_key(|(at, ..)| *at);
        out.push(0x1e);
        let text = text.as_bytes();
        let mut done = 0;
        for (at, length, instead) in &self.edits {
            out.extend_from_slice(&text[done..*at]);
            out.extend_from_slice(self.text[instead.clone()].as_bytes());
            done = at + length;
        }
        out.extend_from_slice(&text[done..]);
        out.push(b'\n');
    }
}
