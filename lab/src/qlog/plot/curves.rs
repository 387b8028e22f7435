//! Curves of a trace.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{ensure, Result};
use petra_qlog::{End, Event, Fields, Kind, Packet, Trace};

/// A value over time: seconds, and the value in the unit of its panel.
pub(crate) type Points = Vec<(f64, f64)>;

/// Congestion-control data of a trace over time. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curves {
    /// Name in the legend.
    pub(crate) name: String,
    /// The time of the last event.
    pub(crate) end: f64,
    /// In kB.
    pub(crate) window: Points,
    /// In kB.
    pub(crate) ssthresh: Points,
    /// In kB.
    pub(crate) in_flight: Points,
    /// In Mbit/s.
    pub(crate) pacing: Points,
    /// In Mbit/s.
    pub(crate) sample: Points,
    /// In Mbit/s.
    pub(crate) estimate: Points,
    /// Bytes of packets of the direction with more of them, in Mbit/s.
    pub(crate) throughput: Points,
    /// The latest RTT over the least, in ms.
    pub(crate) queueing: Points,
    /// In ms.
    pub(crate) smoothed: Points,
    /// Start and name of each phase.
    pub(crate) phases: Vec<(f64, String)>,
    /// Time of each reduction of the window, the window after it in kB, and the reason.
    pub(crate) reductions: Vec<(f64, f64, String)>,
    /// Times at which packets were declared lost.
    pub(crate) losses: Vec<f64>,
}

/// State between events.
#[derive(Default)]
struct State {
    window: f64,
    min_rtt: Option<f64>,
    reductions: Option<f64>,
    reason: String,
    /// Bytes of packets sent and received by their time, in hundredths of a second.
    bytes: BTreeMap<u64, [u64; 2]>,
}

/// Most points of the throughput.
const THROUGHPUT_POINTS: f64 = 200.0;

/// Shortest interval of the throughput, in seconds.
const THROUGHPUT_EVERY: f64 = 0.1;

impl Curves {
    /// Reads a trace, raw or for qvis, as far as it goes. Without a controller in its header it is
    /// called `name`.
    ///
    /// # Errors
    ///
    /// When it is broken before its last record, or has no congestion window.
    pub(crate) fn read(name: &str, input: impl Read) -> Result<(Self, End)> {
        let mut trace = Trace::open(input)?;
        let mut curves = Curves {
            name: trace.header().controller().unwrap_or(name).to_owned(),
            ..Curves::default()
        };
        let mut state = State::default();
        while let Some(event) = trace.next_event()? {
            curves.event(&event, &mut state)?;
        }
        ensure!(
            !curves.window.is_empty(),
            "it has no congestion window to draw"
        );
        // Controllers that say nothing of reductions have them all the same.
        if state.reductions.is_none() {
            curves.reductions = drops(&curves.window);
        }
        curves.throughput = throughput(&state.bytes, curves.end);
        Ok((curves, trace.end()))
    }

    /// The part of the trace between two times. A value from before holds at its beginning.
    pub(crate) fn between(mut self, from: f64, to: f64) -> Self {
        let to = to.min(self.end);
        let clip = |points: &mut Points| {
            let before = points.iter().rev().find(|(time, _)| *time < from).copied();
            points.retain(|(time, _)| (from..=to).contains(time));
            if let Some((_, value)) = before {
                points.insert(0, (from, value));
            }
        };
        for points in [
            &mut self.window,
            &mut self.ssthresh,
            &mut self.in_flight,
            &mut self.pacing,
            &mut self.sample,
            &mut self.estimate,
            &mut self.throughput,
            &mut self.queueing,
            &mut self.smoothed,
        ] {
            clip(points);
        }
        let phase = self.phases.iter().rposition(|(time, _)| *time < from);
        self.phases.drain(..phase.unwrap_or(0));
        self.phases.retain(|(time, _)| *time <= to);
        if let Some((time, _)) = self.phases.first_mut() {
            *time = time.max(from);
        }
        self.reductions
            .retain(|(time, ..)| (from..=to).contains(time));
        self.losses.retain(|time| (from..=to).contains(time));
        self.end = to;
        self
    }

    fn event(&mut self, event: &Event, state: &mut State) -> Result<()> {
        let time = event.time / 1e3;
        self.end = self.end.max(time);
        match event.kind {
            Kind::Metrics => self.metrics(&event.read()?, time, state),
            Kind::Sent | Kind::Received => {
                let packet: Packet = event.read()?;
                let length = packet.raw.and_then(|raw| raw.length).unwrap_or_default();
                let bytes = state.bytes.entry((time * 100.0) as u64).or_default();
                let direction = &mut bytes[usize::from(event.kind == Kind::Received)];
                *direction = direction.saturating_add(length);
            }
            Kind::Phase => {
                let phase: Fields = event.read()?;
                if let Some(new) = phase.word("new") {
                    self.phases.push((time, new.to_owned()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn metrics(&mut self, metrics: &Fields, time: f64, state: &mut State) {
        let number = |name| metrics.number(name);
        let kilobytes = |name| number(name).map(|bytes| (time, bytes / 1e3));
        // All of quiche's rates are in bytes per second.
        let megabits = |name| number(name).map(|rate| (time, rate * 8e-6));
        let window = metrics
            .window()
            .and_then(|window| window.parse::<f64>().ok());
        self.window.extend(window.map(|bytes| (time, bytes / 1e3)));
        self.ssthresh.extend(kilobytes("ssthresh"));
        self.in_flight.extend(kilobytes("bytes_in_flight"));
        self.pacing.extend(megabits("pacing_rate"));
        self.sample.extend(megabits("petra_bandwidth_sample"));
        self.estimate.extend(megabits("petra_bandwidth_estimate"));
        if let Some(rtt) = number("min_rtt").filter(|rtt| *rtt > 0.0) {
            state.min_rtt = Some(rtt);
        }
        if let Some(rtt) = number("latest_rtt").filter(|rtt| *rtt > 0.0) {
            // The first sample may come without a minimum of its own.
            let min = *state.min_rtt.get_or_insert(rtt);
            self.queueing.push((time, (rtt - min).max(0.0)));
            self.smoothed
                .extend(number("smoothed_rtt").map(|rtt| (time, rtt)));
        }
        if metrics.newly_lost().is_some_and(|count| count > 0) {
            self.losses.push(time);
        }
        if let Some((_, window)) = self.window.last() {
            state.window = *window;
        }
        if let Some(reason) = metrics.word("petra_reduction_reason") {
            state.reason = reason.to_owned();
        }
        if let Some(reductions) = number("petra_reductions") {
            if reductions > state.reductions.unwrap_or_default() {
                self.reductions
                    .push((time, state.window, state.reason.clone()));
            }
            state.reductions = Some(reductions);
        }
    }
}

/// Returns the mean rate of intervals, of the direction with more bytes.
fn throughput(bytes: &BTreeMap<u64, [u64; 2]>, end: f64) -> Points {
    let total = |direction: usize| -> f64 { bytes.values().map(|it| it[direction] as f64).sum() };
    let direction = usize::from(total(1) > total(0));
    let every = (end / THROUGHPUT_POINTS).max(THROUGHPUT_EVERY);
    let mut rates: Points = Vec::new();
    for (hundredths, bytes) in bytes {
        let start = ((*hundredths as f64 / 100.0) / every).floor() * every;
        let rate = bytes[direction] as f64 * 8e-6 / every;
        match rates.last_mut() {
            Some((last, sum)) if start < *last + every / 2.0 => *sum += rate,
            last => {
                // Nothing was sent in between.
                let before = last.map_or(0.0, |(last, _)| *last + every);
                if start > before + every / 2.0 {
                    rates.push((before, 0.0));
                }
                rates.push((start, rate));
            }
        }
    }
    rates
}

/// Returns the points at which a curve decreases by more than a rounding error.
fn drops(window: &[(f64, f64)]) -> Vec<(f64, f64, String)> {
    window
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1 * 0.99)
        .map(|pair| (pair[1].0, pair[1].1, String::new()))
        .collect()
}
