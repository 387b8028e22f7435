//! From values to places, and the ticks between.

use super::Scale;

/// Preferred number of ticks.
const TICKS: f64 = 5.0;

/// Values and where they go.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// An axis that has room for all values and begins and ends at a tick,
    /// where it is linear.
    pub(super) fn new(scale: &Scale, values: impl Iterator<Item = f64>) -> Self {
        let usable = |value: &f64| value.is_finite() && (!scale.log || *value > 0.0);
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(usable) {
            from = from.min(value);
            to = to.max(value);
        }
        if from > to {
            (from, to) = (if scale.log { 0.1 } else { 0.0 }, 1.0);
        }
        if scale.log {
            // Room for a mark at either end, and for at least two ticks.
            let room = (to / from).max(4.0).powf(0.05);
            let middle = (from * to).sqrt();
            (from, to) = (from.min(middle / 2.0), to.max(middle * 2.0));
            return Axis {
                from: from / room,
                to: to * room,
                log: true,
            };
        }
        if from == to {
            to = from + from.abs().max(1.0);
        }
        let step = step(to - from);
        Axis {
            from: (from / step).floor() * step,
            to: (to / step).ceil() * step,
            log: false,
        }
    }

    /// Returns the position of a value: 0 at the beginning of the axis, 1 at its end. Values
    /// outside are moved to the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        share.clamp(0.0, 1.0)
    }

    /// Is the value beyond the end of the axis?
    pub(super) fn is_above(&self, value: f64) -> bool {
        value > self.to
    }

    /// Both ends, and `log` of a logarithmic axis, as the page's script reads them.
    pub(super) fn ends(&self) -> String {
        let kind = if self.log { " log" } else { "" };
        format!("{} {}{kind}", self.from, self.to)
    }

    /// The ticks with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if self.log {
            return self.decades();
        }
        let step = step(self.to - self.from);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.from / step).round() as i64;
        let last = (self.to / step).round() as i64;
        let tick = |number: i64| {
            let value = number as f64 * step;
            (value, format!("{value:.digits$}"))
        };
        (first..=last).map(tick).collect()
    }

    /// 1, 2 and 5 of each decade; of many decades, 1 alone.
    fn decades(&self) -> Vec<(f64, String)> {
        let steps: &[f64] = match (self.to / self.from).log10() {
            0.0..=2.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let decades = self.from.log10().floor() as i32..=self.to.log10().floor() as i32;
        let all = decades.flat_map(|decade| {
            let tick = move |step: &f64| {
                let value = step * 10f64.powi(decade);
                let digits = usize::try_from(-decade).unwrap_or(0);
                (value, format!("{value:.digits$}"))
            };
            steps.iter().map(tick)
        });
        all.filter(|(value, _)| (self.from..=self.to).contains(value))
            .collect()
    }
}

/// The distance of ticks: 1, 2 or 5 times a power of ten.
fn step(range: f64) -> f64 {
    let raw = range / TICKS;
    let power = 10f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = steps.iter().find(|step| *step * power >= raw * 0.999);
    fits.unwrap_or(&10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(log: bool, values: &[f64]) -> Axis {
        let scale = Scale {
            label: String::new(),
            log,
        };
        Axis::new(&scale, values.iter().copied())
    }

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_the_axis_ends_at_them() {
        let linear = axis(false, &[0.0, 9.3]);
        assert_eq!(labels(&linear), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(linear.place(5.0), 0.5);
        assert_eq!(linear.place(-3.0), 0.0);
        let small = axis(false, &[0.0, 0.013]);
        assert_eq!(labels(&small)[1], "0.005");
        let negative = axis(false, &[-1.0, 3.0]);
        assert_eq!(labels(&negative), ["-1", "0", "1", "2", "3"]);
    }

    #[test]
    fn equal_ratios_are_equal_distances() {
        let log = axis(true, &[0.5, 8.0, 0.0]);
        assert!((log.place(2.0) - 0.5).abs() < 1e-9);
        assert_eq!(labels(&log), ["0.5", "1", "2", "5"]);
    }

    #[test]
    fn no_value_and_one_value_still_make_an_axis() {
        assert!(labels(&axis(false, &[])).len() > 1);
        assert!(labels(&axis(false, &[3.0])).len() > 1);
        assert!(labels(&axis(false, &[0.0, f64::NAN])).len() > 1);
        assert!(labels(&axis(true, &[0.0])).len() > 1);
        assert!(labels(&axis(true, &[1.0])).len() > 1);
    }
}
