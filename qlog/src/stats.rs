//! Statistics of a trace.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Serialize;

use crate::losses::Losses;
use crate::{End, Error, Event, Fields, Kind, Packet, Trace};

/// A bound on the streams that are followed at a time. The lowest IDs, the
/// oldest streams, are forgotten first.
const MAX_STREAMS: usize = 1 << 14;

/// Packets with stream data from which on they have a rate: a request of two is none.
const MIN_RATED_PACKETS: u64 = 10;

/// Statistics of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// The title of the trace.
    pub title: Option<String>,
    /// `server` or `client`, whose trace it is.
    pub vantage_point: Option<String>,
    /// The congestion controller, where the description begins with it.
    pub controller: Option<String>,
    /// From the first event to the last, in seconds.
    pub seconds: f64,
    /// Number of events.
    pub events: u64,
    /// Packets sent.
    pub sent: Traffic,
    /// Packets received.
    pub received: Traffic,
    /// Packets that loss detection declared lost: as the connection counted
    /// them, or by the events of lost packets.
    pub packets_lost: u64,
    /// RTT samples, in milliseconds.
    pub rtt_ms: Option<Percentiles>,
    /// The congestion window, in bytes; every value counts for as long as it
    /// lasted.
    pub window_bytes: Option<Percentiles>,
    /// Bits per second of the largest stream that was sent, which is the body, from its
    /// first packet to its last.
    pub body_bps: Option<f64>,
    /// The median of the controller's estimate of the bandwidth over the second half of
    /// its time, in bits per second, where it has one.
    pub estimate_bps: Option<f64>,
    /// Number of reductions of the window, by reason; `unknown` for traces without reasons.
    pub reductions: BTreeMap<String, u64>,
    /// The missing end of the trace.
    #[serde(flatten)]
    pub end: End,
    /// The RTT samples themselves, sorted, in milliseconds.
    #[serde(skip)]
    pub rtt_samples: Vec<f64>,
}

/// Traffic in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// QUIC packets of all kinds.
    pub packets: u64,
    /// Their bytes, without the headers of UDP and IP.
    pub bytes: u64,
    /// Bytes of streams, each counted once.
    pub stream_bytes: u64,
    /// These from the first packet that has some to the last, in bits per
    /// second; `None` of fewer than ten packets.
    pub goodput_bps: Option<f64>,
}

/// A distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Percentiles {
    pub p5: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Percentiles {
    fn of_sorted(sorted: &[f64]) -> Option<Self> {
        let max = *sorted.last()?;
        Some(Percentiles::of(max, |share| quantile(sorted, share)))
    }

    /// Of values that count as much as their weight says.
    fn of_weighted(mut values: Vec<(f64, f64)>) -> Option<Self> {
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let max = values.last()?.0;
        let all: f64 = values.iter().map(|(_, weight)| weight).sum();
        Some(Percentiles::of(max, |share| {
            let mut below = 0.0;
            let found = values.iter().find(|(_, weight)| {
                below += weight;
                below >= share * all
            });
            found.map_or(max, |(value, _)| *value)
        }))
    }

    fn of(max: f64, quantile: impl Fn(f64) -> f64) -> Self {
        Percentiles {
            p5: quantile(0.05),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max,
        }
    }
}

/// The smallest of the sorted values that at least this share of them does not
/// exceed: the nearest rank.
///
/// # Panics
///
/// When there are no values.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> T {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

impl Stats {
    /// Reads a whole trace, raw or for qvis.
    ///
    /// # Errors
    ///
    /// When it is broken before its last record.
    pub fn read(input: impl Read) -> Result<Self, Error> {
        let mut trace = Trace::open(input)?;
        let mut reading = Reading::default();
        while let Some(event) = trace.next_event()? {
            reading.event(&event)?;
        }
        let mut stats = reading.finish();
        stats.title = trace.header().title().map(str::to_owned);
        stats.vantage_point = trace.header().vantage_point().map(str::to_owned);
        stats.controller = trace.header().controller().map(str::to_owned);
        stats.end = trace.end();
        Ok(stats)
    }
}

#[derive(Default)]
struct Reading {
    stats: Stats,
    losses: Losses,
    directions: [Streams; 2],
    start: Option<f64>,
    end: f64,
    /// The congestion window and since when.
    window: Option<(f64, f64)>,
    windows: Vec<(f64, f64)>,
    /// The estimate of the bandwidth in bits per second, and since when.
    estimates: Vec<(f64, f64)>,
    /// Number of reductions, as the controller reports it.
    reductions: Option<u64>,
    reason: Option<String>,
    /// Number of times that the window became smaller.
    shrunk: u64,
}

/// The stream data of one direction.
#[derive(Default)]
struct Streams {
    /// Highest offset of each stream.
    ends: BTreeMap<u64, Reach>,
    bytes: u64,
    /// Number of packets with stream data.
    packets: u64,
    first: Option<f64>,
    last: f64,
}

/// The highest offset of a stream, and the times of its first and last frames.
#[derive(Clone, Copy)]
struct Reach {
    end: u64,
    first: f64,
    last: f64,
}

/// The median over the second half of the time, of values that each last until the
/// next.
fn late_median(values: &[(f64, f64)]) -> Option<f64> {
    let ((_, first), (_, last)) = (values.first()?, values.last()?);
    let half = (first + last) / 2.0;
    let late = values.iter().filter(|(_, since)| *since >= half);
    let until = late.clone().skip(1).map(|(_, since)| *since);
    let spans = late.zip(until.chain([*last]));
    let weighted = spans.map(|((value, since), until)| (*value, until - since));
    Percentiles::of_weighted(weighted.collect()).map(|median| median.p50)
}

impl Reading {
    fn event(&mut self, event: &Event) -> Result<(), Error> {
        self.stats.events += 1;
        self.start.get_or_insert(event.time);
        self.end = self.end.max(event.time);
        match event.kind {
            Kind::Sent => self.packet(event, 0),
            Kind::Received => self.packet(event, 1),
            Kind::Lost => {
                self.losses.on_lost(&event.read()?);
                Ok(())
            }
            Kind::Metrics => self.metrics(event),
            Kind::Phase | Kind::Parameters | Kind::Other => Ok(()),
        }
    }

    fn packet(&mut self, event: &Event, direction: usize) -> Result<(), Error> {
        let packet: Packet = event.read()?;
        let traffic = match direction {
            0 => &mut self.stats.sent,
            _ => &mut self.stats.received,
        };
        traffic.packets += 1;
        let length = packet.raw.and_then(|raw| raw.length).unwrap_or_default();
        traffic.bytes = traffic.bytes.saturating_add(length);
        self.directions[direction].packet(&packet, event.time);
        Ok(())
    }

    fn metrics(&mut self, event: &Event) -> Result<(), Error> {
        let metrics: Fields = event.read()?;
        let rtt = metrics.number("latest_rtt").filter(|rtt| *rtt > 0.0);
        self.stats.rtt_samples.extend(rtt);
        if let Some(count) = metrics.newly_lost() {
            let counted = self.losses.counted.get_or_insert(0);
            *counted = counted.saturating_add(count);
        }
        if let Some(window) = metrics.window().and_then(|window| window.parse().ok()) {
            if let Some((before, since)) = self.window.replace((window, event.time)) {
                self.windows.push((before, event.time - since));
                self.shrunk += u64::from(window < before);
            }
        }
        if let Some(rate) = metrics.number("petra_bandwidth_estimate") {
            self.estimates.push((8.0 * rate, event.time));
        }
        if let Some(reason) = metrics.word("petra_reduction_reason") {
            self.reason = Some(reason.to_owned());
        }
        if let Some(reductions) = metrics.number("petra_reductions") {
            let before = self
                .reductions
                .replace(reductions as u64)
                .unwrap_or_default();
            let more = (reductions as u64).saturating_sub(before);
            if more > 0 {
                let reason = self.reason.clone().unwrap_or_else(|| "unknown".to_owned());
                let count = self.stats.reductions.entry(reason).or_default();
                *count = count.saturating_add(more);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Stats {
        let mut stats = self.stats;
        stats.seconds = self.start.map_or(0.0, |start| (self.end - start) / 1e3);
        for (traffic, streams) in [&mut stats.sent, &mut stats.received]
            .into_iter()
            .zip(&self.directions)
        {
            traffic.stream_bytes = streams.bytes;
            traffic.goodput_bps = streams.rate();
        }
        stats.packets_lost = self
            .losses
            .counted
            .unwrap_or(self.losses.logged + self.losses.inferred);
        stats.rtt_samples.sort_by(f64::total_cmp);
        stats.rtt_ms = Percentiles::of_sorted(&stats.rtt_samples);
        if let Some((window, since)) = self.window {
            self.windows.push((window, self.end - since));
        }
        stats.window_bytes = Percentiles::of_weighted(self.windows);
        stats.body_bps = self.directions[0].body();
        stats.estimate_bps = late_median(&self.estimates);
        if self.reductions.is_none() && self.shrunk > 0 {
            stats.reductions.insert("unknown".to_owned(), self.shrunk);
        }
        stats
    }
}

impl Streams {
    fn packet(&mut self, packet: &Packet, time: f64) {
        let frames = || packet.frames.iter().flatten();
        self.packets += u64::from(frames().any(|frame| frame.frame_type == "stream"));
        for frame in packet.frames.iter().flatten() {
            let ("stream", Some(stream), Some(length)) =
                (frame.frame_type, frame.stream_id, frame.data_length())
            else {
                continue;
            };
            let end = frame.offset.unwrap_or_default().saturating_add(length);
            let known = self.ends.entry(stream).or_insert(Reach {
                end: 0,
                first: time,
                last: time,
            });
            self.bytes = self.bytes.saturating_add(end.saturating_sub(known.end));
            known.end = end.max(known.end);
            known.last = time;
            if self.ends.len() > MAX_STREAMS {
                self.ends.pop_first();
            }
            self.first.get_or_insert(time);
            self.last = time;
        }
    }

    /// The rate of the stream that is the farthest.
    fn body(&self) -> Option<f64> {
        let Reach { end, first, last } = self.ends.values().max_by_key(|reach| reach.end)?;
        let seconds = (last - first) / 1e3;
        (seconds > 0.0).then(|| *end as f64 * 8.0 / seconds)
    }

    fn rate(&self) -> Option<f64> {
        if self.packets < MIN_RATED_PACKETS {
            return None;
        }
        let seconds = (self.last - self.first?) / 1e3;
        (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds)
    }
}
