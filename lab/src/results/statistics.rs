//! Means over seeds, and how sure they are.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A sample of a metric: its mean and the 95 % confidence interval of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; `None` of a single one.
    pub deviation: Option<f64>,
    /// Half the width of the interval: the mean is at `mean ± interval`
    /// (Student's t). `None` of a single value.
    pub interval: Option<f64>,
}

impl Summary {
    /// `None` of no value.
    pub fn new(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = mean(values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (count > 1).then(|| (squares / (n - 1.0)).sqrt());
        let interval = deviation.map(|deviation| student(n - 1.0) * deviation / n.sqrt());
        Some(Summary {
            count,
            mean,
            deviation,
            interval,
        })
    }

    /// The interval, if `digits` after the point show it: where nothing but
    /// connection IDs is random, seeds differ by less.
    pub fn spread(&self, digits: usize) -> Option<f64> {
        let least = 0.5 * 0.1_f64.powi(digits as i32);
        self.interval.filter(|interval| *interval >= least)
    }
}

/// The mean. Of equal values it is that value, not one beside it, from which an
/// interval of nothing would tell it.
pub(super) fn mean(values: &[f64]) -> f64 {
    let first = values[0];
    first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64
}

/// Student's t for a 95 % interval, both sides.
pub(super) fn student(freedom: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom).expect("at least one degree of freedom");
    t.inverse_cdf(0.975)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_textbooks() {
        // Student's t at 97.5 %: 12.706, 2.776, 2.262 for 1, 4, 9 degrees.
        for (freedom, t) in [(1.0, 12.706), (4.0, 2.776), (9.0, 2.262)] {
            assert!((student(freedom) - t).abs() < 1e-3, "{}", student(freedom));
        }
        let summary = Summary::new(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((summary.count, summary.mean), (5, 3.0));
        let deviation = 2.5f64.sqrt();
        assert_eq!(summary.deviation, Some(deviation));
        let interval = summary.interval.unwrap();
        assert!((interval - 2.776 * deviation / 5f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn one_value_has_no_interval_and_none_no_mean() {
        let equal = [36.143; 10];
        let (ten, eight) = (
            Summary::new(&equal).unwrap(),
            Summary::new(&equal[2..]).unwrap(),
        );
        assert_eq!((ten.mean, ten.interval), (36.143, Some(0.0)));
        assert_eq!(ten.spread(3), None);
        let near = Summary::new(&[1.0, 1.0001]).unwrap();
        assert_eq!((near.spread(2), near.spread(3)), (None, near.interval));
        assert_eq!(ten.mean, eight.mean);
        let single = Summary::new(&[7.0]).unwrap();
        assert_eq!((single.mean, single.interval), (7.0, None));
        assert_eq!(Summary::new(&[]), None);
    }
}
