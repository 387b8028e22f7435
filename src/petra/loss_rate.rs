//! The loss rate, of a round trip or of a longer time.

use super::super::window::Window;

/// Loss rate above which losses are congestion even without a queue. BBRv2 uses 2 %, but
/// radio links lose that much, and this controller has other signs of a queue.
pub(super) const MIN_CONGESTION_LOSS_RATE: f64 = 0.1;

/// Loss rate above which losses behind a policer show other flows: the 2 % of BBRv2.
const MIN_NOTABLE_LOSS_RATE: f64 = 0.02;

/// Standard deviations by which heavy losses exceed those of a path that loses as much at random
/// ([`MIN_CONGESTION_LOSS_RATE`]), in a window and in a long time. Of 24 datagrams, 3 are often
/// lost where the path loses 5 %. The tables of docs/attempts.md ("Losses by chance") chose them.
const WINDOW_HEAVY_DEVIATIONS: f64 = 2.0;
const LONG_HEAVY_DEVIATIONS: f64 = 1.0;

/// The same in slow start, which asks at each ACK of a path that it does not know. Of 2, 3, 4, 6,
/// 7, 8 and 12: with more, a start in a full queue or behind a policer loses more
/// (docs/attempts.md, "Losses in slow start").
const SLOW_START_HEAVY_DEVIATIONS: f64 = 4.0;

/// Datagrams from which on the losses of a long time may be heavy. The loss rate of a window
/// describes fewer.
const MIN_LONG_HEAVY_DATAGRAMS: f64 = 256.0;

/// Lost datagrams that are too few to measure a loss rate.
const MAX_INSIGNIFICANT_DATAGRAMS: f64 = 2.0;

/// Fewest datagrams over which the loss rate is measured: enough for a single loss to have little
/// weight, and few enough to describe the present path.
const MIN_MEMORY_DATAGRAMS: f64 = 64.0;

/// Memory of the loss rate of a long time, in windows and in datagrams.
const LONG_MEMORY_WINDOWS: f64 = 8.0;
const LONG_MEMORY_DATAGRAMS: f64 = 512.0;

/// Counts bytes acknowledged and lost, with exponentially fading memory. It is a window long:
/// among many shorter stretches of a round trip, one has a high loss rate by chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossRate {
    /// The memory, in windows.
    windows: f64,
    /// The memory in datagrams, if the windows are less.
    datagrams: f64,
    /// The standard deviations of heavy losses, and the datagrams that it takes to know them.
    deviations: f64,
    least: f64,
    acked: f64,
    lost: f64,
}

impl Default for LossRate {
    fn default() -> Self {
        Self {
            windows: 1.0,
            datagrams: MIN_MEMORY_DATAGRAMS,
            deviations: WINDOW_HEAVY_DEVIATIONS,
            least: 0.0,
            acked: 0.0,
            lost: 0.0,
        }
    }
}

impl LossRate {
    /// The loss rate over a time in which losses that come in bursts are few or many.
    pub(super) fn of_long_time() -> Self {
        Self {
            windows: LONG_MEMORY_WINDOWS,
            datagrams: LONG_MEMORY_DATAGRAMS,
            deviations: LONG_HEAVY_DEVIATIONS,
            least: MIN_LONG_HEAVY_DATAGRAMS,
            ..Self::default()
        }
    }

    pub(super) fn on_ack(&mut self, bytes: u64, window: &Window) {
        self.acked += bytes as f64;
        self.fade(window);
    }

    pub(super) fn on_loss(&mut self, bytes: u64, window: &Window) {
        self.lost += bytes as f64;
        self.fade(window);
    }

    fn fade(&mut self, window: &Window) {
        let all = self.acked + self.lost;
        let most = (self.windows * window.bytes()).max(self.datagrams * window.datagram());
        if all > most {
            self.acked *= most / all;
            self.lost *= most / all;
        }
    }

    /// Reports congestion from the loss rate alone. A path may have hardly any buffer, or
    /// drop packets by a policy, and then no queue shows. The bound is that of a binomial
    /// distribution, so that few datagrams decide nothing by chance.
    pub(super) fn is_heavy(&self, datagram: f64) -> bool {
        self.exceeds_tenth(self.deviations, datagram)
    }

    /// Reports congestion from the loss rate alone in slow start.
    pub(super) fn is_heavy_in_slow_start(&self, datagram: f64) -> bool {
        self.exceeds_tenth(SLOW_START_HEAVY_DEVIATIONS, datagram)
    }

    /// Reports losses of more than a tenth by `deviations` standard deviations.
    fn exceeds_tenth(&self, deviations: f64, datagram: f64) -> bool {
        let all = (self.acked + self.lost) / datagram;
        let mean = MIN_CONGESTION_LOSS_RATE * all;
        let deviation = (mean * (1.0 - MIN_CONGESTION_LOSS_RATE)).sqrt();
        let least = (mean + deviations * deviation).max(MAX_INSIGNIFICANT_DATAGRAMS);
        all >= self.least && self.lost > least * datagram
    }

    /// The share of the bytes that was lost.
    pub(super) fn share(&self) -> f64 {
        let all = self.acked + self.lost;
        if all > 0.0 {
            self.lost / all
        } else {
            0.0
        }
    }

    /// Reports losses that are more than a few at random.
    pub(super) fn is_notable(&self, datagram: f64) -> bool {
        self.is_above(MIN_NOTABLE_LOSS_RATE, datagram)
    }

    /// Reports a loss rate above `rate`, measured over enough losses.
    pub(super) fn is_above(&self, rate: f64, datagram: f64) -> bool {
        self.lost > MAX_INSIGNIFICANT_DATAGRAMS * datagram && self.share() > rate
    }

    /// Reports that more is lost than acknowledged. A sender that met such losses only later has
    /// a delivery rate of before them, which the path no longer has.
    pub(super) fn limits_rate(&self, datagram: f64) -> bool {
        self.lost > MAX_INSIGNIFICANT_DATAGRAMS * datagram && self.lost > self.acked
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::controller::Settings;
    use super::super::super::events::settings;
    use super::*;

    const DATAGRAM: f64 = 1_200.0;

    fn window(datagrams: u64) -> Window {
        Window::new(Settings {
            initial_window: datagrams * 1_200,
            ..settings()
        })
    }

    fn after(acked: u64, lost: u64) -> LossRate {
        with(LossRate::default(), acked, lost)
    }

    fn with(mut rate: LossRate, acked: u64, lost: u64) -> LossRate {
        rate.on_ack(acked * 1_200, &window(10));
        rate.on_loss(lost * 1_200, &window(10));
        rate
    }

    #[test]
    fn two_deviations_above_a_tenth_are_heavy() {
        // Of 40, a tenth is 4, with a standard deviation of 1.9: together 7.8.
        assert!(!after(33, 7).is_heavy(DATAGRAM));
        assert!(after(32, 8).is_heavy(DATAGRAM));
        // Of 24, 2.4 and 1.5: 5.3.
        assert!(!after(19, 5).is_heavy(DATAGRAM));
        assert!(after(18, 6).is_heavy(DATAGRAM));
    }

    #[test]
    fn four_deviations_above_a_tenth_are_heavy_in_slow_start() {
        // Of 60, 6 and 2.3: 15.3.
        assert!(!after(45, 15).is_heavy_in_slow_start(DATAGRAM));
        assert!(after(44, 16).is_heavy_in_slow_start(DATAGRAM));
        // Of the ten of a first flight, 1 and 0.95: 4.8.
        assert!(!after(6, 4).is_heavy_in_slow_start(DATAGRAM));
        assert!(after(5, 5).is_heavy_in_slow_start(DATAGRAM));
    }

    #[test]
    fn a_deviation_above_a_tenth_is_heavy_in_a_long_time() {
        let after = |acked, lost| with(LossRate::of_long_time(), acked, lost);
        // Of 500, 50 and 6.7: 56.7.
        assert!(!after(444, 56).is_heavy(DATAGRAM));
        assert!(after(443, 57).is_heavy(DATAGRAM));
        // Fewer than 256 are too few.
        assert!(!after(155, 100).is_heavy(DATAGRAM));
        assert!(after(156, 100).is_heavy(DATAGRAM));
    }

    #[test]
    fn two_datagrams_are_too_few() {
        assert!(!after(0, 2).is_heavy(DATAGRAM));
        assert!(after(0, 3).is_heavy(DATAGRAM));
    }

    #[test]
    fn more_than_a_fiftieth_is_notable_and_any_rate_can_be_asked_for() {
        assert!(!after(0, 2).is_notable(DATAGRAM) && after(0, 3).is_notable(DATAGRAM));
        let rate = after(60, 4);
        assert_eq!(rate.share(), 1.0 / 16.0);
        assert!(rate.is_above(0.062, DATAGRAM) && !rate.is_above(1.0 / 16.0, DATAGRAM));
        assert_eq!(LossRate::default().share(), 0.0);
    }

    #[test]
    fn more_lost_than_acknowledged_limits_the_rate() {
        assert!(!after(0, 2).limits_rate(DATAGRAM));
        assert!(!after(32, 32).limits_rate(DATAGRAM));
        assert!(after(31, 32).limits_rate(DATAGRAM));
    }

    #[test]
    fn it_is_that_of_64_datagrams_or_of_a_larger_window() {
        let rate = after(60, 20);
        assert_eq!((rate.acked, rate.lost), (48.0 * DATAGRAM, 16.0 * DATAGRAM));

        let mut rate = LossRate::default();
        rate.on_ack(500 * 1_200, &window(500));
        rate.on_loss(500 * 1_200, &window(500));
        assert_eq!(
            (rate.acked, rate.lost),
            (250.0 * DATAGRAM, 250.0 * DATAGRAM)
        );
    }

    #[test]
    fn a_long_time_is_512_datagrams_or_eight_larger_windows() {
        let memory = |datagrams| {
            let mut rate = LossRate::of_long_time();
            rate.on_ack(5_000 * 1_200, &window(datagrams));
            rate.acked / DATAGRAM
        };
        assert_eq!((memory(10), memory(500)), (512.0, 4_000.0));
    }

    #[test]
    fn old_losses_fade() {
        let mut rate = after(30, 10);
        assert!(rate.is_heavy(DATAGRAM));
        for _ in 0..100 {
            rate.on_ack(1_200, &window(10));
        }
        assert!(!rate.is_heavy(DATAGRAM));
        rate.on_loss(u64::MAX, &window(10));
        assert!(rate.is_heavy(DATAGRAM));
    }
}
