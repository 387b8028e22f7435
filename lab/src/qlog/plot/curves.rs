//! Curves of a trace.

use std::io::Read;

use anyhow::{ensure, Result};
use petra_qlog::{End, Event, Fields, Kind, Trace};

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
}

impl Curves {
    /// Reads a trace, raw or for qvis, as far as it goes.
    ///
    /// # Errors
    ///
    /// When it is broken before its last record, or has no congestion window.
    pub(crate) fn read(name: &str, input: impl Read) -> Result<(Self, End)> {
        let mut trace = Trace::open(input)?;
        let mut curves = Curves {
            name: name.to_owned(),
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
        Ok((curves, trace.end()))
    }

    fn event(&mut self, event: &Event, state: &mut State) -> Result<()> {
        let time = event.time / 1e3;
        self.end = self.end.max(time);
        match event.kind {
            Kind::Metrics => self.metrics(&event.read()?, time, state),
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

/// Returns the points at which a curve decreases by more than a rounding error.
fn drops(window: &[(f64, f64)]) -> Vec<(f64, f64, String)> {
    window
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1 * 0.99)
        .map(|pair| (pair[1].0, pair[1].1, String::new()))
        .collect()
}
