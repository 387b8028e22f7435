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
    /// Rate of packets sent, in Mbit/s, if more bytes were sent than received.
    pub(crate) sending: Points,
    /// Rate of packets received, in Mbit/s, otherwise.
    pub(crate) receiving: Points,
    /// The latest RTT above the minimum, in ms.
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

/// Maximum number of points of a rate.
const MAX_RATE_POINTS: u64 = 200;

/// Shortest interval of a rate, in hundredths of a second.
const MIN_RATE_INTERVAL: u64 = 10;

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
        let total = |direction: usize| -> f64 {
            let bytes = state.bytes.values().map(|it| it[direction] as f64);
            bytes.sum()
        };
        match total(0) >= total(1) {
            true => curves.sending = rates(&state.bytes, 0, curves.end),
            false => curves.receiving = rates(&state.bytes, 1, curves.end),
        }
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
            &mut self.sending,
            &mut self.receiving,
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
                let hundredths = (event.time / 10.0) as u64;
                let bytes = state.bytes.entry(hundredths).or_default();
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

/// Returns the mean rate of each interval of a direction, in Mbit/s. The last interval ends with
/// the trace, and has between half and one and a half of the others' length.
fn rates(bytes: &BTreeMap<u64, [u64; 2]>, direction: usize, end: f64) -> Points {
    if bytes.is_empty() || end <= 0.0 {
        return Points::new();
    }
    let every = ((end * 100.0) as u64 / MAX_RATE_POINTS + 1).max(MIN_RATE_INTERVAL);
    let seconds = every as f64 / 100.0;
    let count = ((end / seconds).round() as usize).max(1);
    let mut sums = vec![0.0; count];
    for (hundredths, bytes) in bytes {
        let interval = (hundredths / every) as usize;
        sums[interval.min(count - 1)] += bytes[direction] as f64;
    }
    let point = |(interval, sum): (usize, f64)| {
        let start = (interval as u64 * every) as f64 / 100.0;
        let length = match interval + 1 == count {
            true => end - start,
            false => seconds,
        };
        (start, sum * 8e-6 / length)
    };
    sums.into_iter().enumerate().map(point).collect()
}

/// Returns the points at which a curve decreases by more than a rounding error.
fn drops(window: &[(f64, f64)]) -> Vec<(f64, f64, String)> {
    window
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1 * 0.99)
        .map(|pair| (pair[1].0, pair[1].1, String::new()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Mbit/s, in 1250 bytes each 10 ms.
    fn steady(hundredths: u64) -> BTreeMap<u64, [u64; 2]> {
        (0..hundredths).map(|time| (time, [1250, 0])).collect()
    }

    #[test]
    fn a_steady_rate_is_a_straight_line_to_the_end() {
        for (hundredths, end) in [
            (3, 0.03),
            (99, 0.99),
            (2500, 25.0),
            (2503, 25.03),
            (9999, 99.99),
        ] {
            let rates = rates(&steady(hundredths), 0, end);
            assert!(rates.len() <= MAX_RATE_POINTS as usize, "{end}");
            for (time, rate) in &rates {
                assert!((rate - 1.0).abs() < 1e-9, "{rate} at {time} s of {end}");
            }
            let starts = rates.iter().map(|(time, _)| (time * 100.0).round() as u64);
            let starts: Vec<u64> = starts.collect();
            assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == starts[1]));
        }
    }

    #[test]
    fn a_rate_is_0_where_nothing_was_sent() {
        let mut bytes = steady(100);
        bytes.insert(250, [1250, 9]);
        let sent = rates(&bytes, 0, 4.0);
        let at = |time: f64| sent.iter().rfind(|point| point.0 <= time + 1e-9).unwrap().1;
        assert_eq!((at(1.5), at(3.5)), (0.0, 0.0));
        assert!((at(2.5) - 0.1).abs() < 1e-9);
        assert!(rates(&bytes, 0, 0.0).is_empty());
    }
}
