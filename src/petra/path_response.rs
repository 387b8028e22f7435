//! The search for a path that has become longer or shorter, and the response to it.

use super::super::controller::{Ack, Reduction};
use super::additive_increase::AdditiveIncrease;
use super::cubic_growth::CubicGrowth;
use super::delay_step::{DelayStep, Expected};
use super::loss_trial::LossTrial;
use super::path_change::{DelayedRound, LongerPath};
use super::policing::Policing;
use super::shorter_path::ShorterPath;
use super::slow_start::SlowStart;
use super::Petra;

/// Round trips of a shorter path in which heavy losses, or those of a queue, show in congestion
/// avoidance that the window is too large for it. The samples that fall in steps count as one fall.
/// Of 1, 4 and 8, the second (docs/attempts.md, "Shorter paths").
const SHORTER_PATH_LOSS_ROUND_TRIPS: u32 = 4;

impl Petra {
    /// Looks for a longer path at the end of a round trip. Slow start changes the window by too
    /// much for a comparison.
    pub(super) fn watch_path(&mut self, ack: &Ack, queued: bool) {
        let rate = self.delivery.estimate();
        let fresh = self.queue.take_round();
        let datagram = self.window.datagram();
        if let Some(former) = self.path_change.end_round(fresh, rate, datagram) {
            self.queue.return_to(former);
            self.loss_trial = LossTrial::default();
            self.delay_step = DelayStep::default();
        }
        if ack.app_limited || self.window.in_slow_start() {
            self.path_change.on_unlimited_round();
        } else if let (false, Some(rate)) = (queued, rate) {
            self.path_change.on_calm_round(rate);
        } else if let (Some(delay), Some(rate)) = (fresh, rate) {
            let round = DelayedRound {
                delay,
                base: self.queue.base_rtt(ack.rtt.min),
                rate,
                datagram,
            };
            if let Some(path) = self.path_change.on_delayed_round(round) {
                self.follow(path);
            }
        }
        self.path_change.on_window(self.window.bytes());
    }

    /// Looks for a longer path whose delay comes at once. Without an interval that has ended, the
    /// noise is not known, and an application that holds back needs no larger window.
    pub(super) fn watch_delay_step(&mut self, ack: &Ack) {
        let Some(rate) = self
            .delivery
            .estimate()
            .filter(|_| self.queue.knows_noise())
        else {
            return;
        };
        let found = self.delay_step.on_ack(ack, || Expected {
            base: self.queue.base_rtt(ack.rtt.min),
            noise: self.queue.noise(),
            rate,
            rounds: self.path_change.caution(),
        });
        if let Some(min_rtt) = found.filter(|_| !ack.app_limited) {
            let base = self.queue.base_rtt(ack.rtt.min);
            let path = self.path_change.conclude(min_rtt, base);
            self.queue.on_delay_step();
            self.follow(path);
        }
    }

    /// Adopts a longer path: slow start up to the window for its rate, if that is known.
    pub(super) fn follow(&mut self, path: LongerPath) {
        let former = self.queue.on_longer_path(path.min_rtt);
        self.delay_step = DelayStep::default();
        self.shorter_path = ShorterPath::default();
        self.path_change.begin_trial(path, former);
        self.competition.restart();
        self.policing = Policing::default();
        self.loss_trial = LossTrial::default();
        self.hidden_queue = false;
        self.cubic = CubicGrowth::default();
        self.increase = AdditiveIncrease::default();
        self.undo = None;
        let bytes = self.window.bytes();
        let ssthresh = path.rate.map(|rate| rate * path.min_rtt.as_secs_f64());
        if ssthresh.is_none_or(|ssthresh| ssthresh > bytes) {
            if self.window.in_slow_start() {
                self.slow_start.go_on(bytes);
            } else {
                self.slow_start = SlowStart::new(self.config.alpha.get(), bytes);
            }
            self.window.replace_ssthresh(ssthresh);
        }
    }

    /// Looks for a shorter path, for which a window that has grown is too large. Slow start goes on
    /// with the window for the rate that it had. In congestion avoidance, only losses show that the
    /// window is too large; they come within a few round trips.
    pub(super) fn watch_shorter_path(&mut self, ack: &Ack, round_ends: bool) {
        let min_rtt = self.min_rtt();
        self.shorter_path.on_ack(ack, min_rtt);
        if self.window.in_slow_start() && self.shorter_path.lasts(1) {
            if let Some(bytes) = self.window_of_shorter_path() {
                self.window.reduce_to(bytes, Reduction::ShorterPath);
                self.slow_start = SlowStart::new(self.config.alpha.get(), bytes);
            }
            self.adopt_shorter_path();
        } else if self.shorter_path.lasts(SHORTER_PATH_LOSS_ROUND_TRIPS) {
            // The window fits.
            self.shorter_path.adopt(min_rtt);
        }
        if round_ends {
            self.shorter_path.end_round(min_rtt);
        }
    }

    /// The window that keeps its rate, and at least the initial window, if the path is likely to be
    /// shorter and the window larger than that.
    pub(super) fn window_of_shorter_path(&self) -> Option<f64> {
        let (share, bytes) = (self.shorter_path.share()?, self.window.bytes());
        Some((share * bytes).max(self.window.initial())).filter(|shorter| *shorter < bytes)
    }

    /// Forgets what is of the former path. A reduction for the shorter one is not undone: packets
    /// that overtake those of the former path make them seem lost.
    pub(super) fn adopt_shorter_path(&mut self) {
        if let Some(share) = self.shorter_path.adopt(self.min_rtt()) {
            self.queue.on_shorter_path(share);
            self.loss_trial = LossTrial::default();
            self.delay_step = DelayStep::default();
        }
        self.undo = None;
    }
}
