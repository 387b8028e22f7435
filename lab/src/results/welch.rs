//! Two samples of unequal variance: how far their means are apart, and how
//! sure that is.
//!
//! B. L. Welch, "The generalization of 'Student's' problem when several
//! different population variances are involved", Biometrika 34 (1947).

use super::statistics::{student, Summary};

/// A value, and the 95 % confidence interval around it where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// From and to; `None` where one of the samples is a single value.
    pub interval: Option<(f64, f64)>,
}

/// Order of two means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It is.
    Above,
    /// They cannot be told apart: 0 is within the interval of the difference,
    /// or there is no interval.
    Undecided,
    /// It is below.
    Below,
}

impl Estimate {
    /// Returns true if `value` is outside of the interval.
    pub fn excludes(&self, value: f64) -> bool {
        self.interval
            .is_some_and(|(low, high)| value < low || value > high)
    }
}

/// Returns the difference between the mean of `a` and that of `b`.
pub fn difference(a: &Summary, b: &Summary) -> Estimate {
    let value = a.mean - b.mean;
    let half = half_width(error(a), error(b));
    Estimate {
        value,
        interval: half.map(|half| (value - half, value + half)),
    }
}

/// Returns the ratio of the mean of `a` to that of `b`; `None` if one of them is not positive, or
/// if the mean of `b` may be 0.
///
/// The interval is Fieller's (E. C. Fieller, "Some problems in interval estimation", J. R. Stat.
/// Soc. B 16, 1954, <https://doi.org/10.1111/j.2517-6161.1954.tb00159.x>), with the degrees of
/// freedom of the difference. It includes 1 exactly if the interval of the difference includes 0.
pub fn ratio(a: &Summary, b: &Summary) -> Option<Estimate> {
    if a.mean <= 0.0 || b.mean <= 0.0 {
        return None;
    }
    let value = a.mean / b.mean;
    let interval = || {
        let ((a_error, _), (b_error, _)) = (error(a)?, error(b)?);
        let half = half_width(error(a), error(b))?;
        let t = match a_error.hypot(b_error) {
            0.0 => 0.0,
            error => half / error,
        };
        let (a_error, b_error) = (t * a_error / b.mean, t * b_error / b.mean);
        let rest = 1.0 - b_error * b_error;
        let width = (a_error.powi(2) * rest + (value * b_error).powi(2)).sqrt();
        (rest > 0.0).then(|| (((value - width) / rest).max(0.0), (value + width) / rest))
    };
    Some(Estimate {
        value,
        interval: interval(),
    })
}

/// Returns the order of the means of `a` and `b`.
pub fn order(a: &Summary, b: &Summary) -> Order {
    let difference = difference(a, b);
    match difference.excludes(0.0) {
        false => Order::Undecided,
        true if difference.value > 0.0 => Order::Above,
        true => Order::Below,
    }
}

/// The standard error of the mean, and the degrees of freedom it is known with.
fn error(summary: &Summary) -> Option<(f64, f64)> {
    let count = summary.count as f64;
    Some((summary.deviation? / count.sqrt(), count - 1.0))
}

/// Half of the interval of a difference of two that have these errors.
fn half_width(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<f64> {
    let ((a, a_freedom), (b, b_freedom)) = (a?, b?);
    let variance = a * a + b * b;
    if variance == 0.0 {
        return Some(0.0);
    }
    // Welch and Satterthwaite's degrees of freedom.
    let freedom = variance.powi(2) / (a.powi(4) / a_freedom + b.powi(4) / b_freedom);
    Some(student(freedom) * variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Summary {
        Summary::new(values).unwrap()
    }

    #[test]
    fn the_interval_is_that_of_a_worked_example() {
        // Means 20.82 and 22.99 of 15 and 15 with s = 2.80 and 2.14 (the
        // example of unequal variances that many textbooks have): t = -2.38
        // with 26.2 degrees of freedom, for which t of 95 % is 2.055.
        let of = |mean, deviation| Summary {
            count: 15,
            mean,
            deviation: Some(deviation),
            interval: None,
        };
        let estimate = difference(&of(20.82, 2.80), &of(22.99, 2.14));
        let (low, high) = estimate.interval.unwrap();
        let error = (2.80f64.powi(2) / 15.0 + 2.14f64.powi(2) / 15.0).sqrt();
        assert!((estimate.value + 2.17).abs() < 1e-9);
        assert!(((high - low) / 2.0 / error - 2.055).abs() < 2e-3);
        assert_eq!(order(&of(20.82, 2.80), &of(22.99, 2.14)), Order::Below);
    }

    #[test]
    fn a_ratio_has_its_interval_around_it() {
        let (a, b) = (summary(&[2.0, 2.1, 1.9]), summary(&[1.0, 1.1, 0.9]));
        let both = ratio(&a, &b).unwrap();
        let (low, high) = both.interval.unwrap();
        assert_eq!(both.value, 2.0);
        assert!(low > 1.6 && low < 1.8 && high > 2.3 && high < 2.7);
        assert_eq!(order(&a, &b), Order::Above);
        assert_eq!(ratio(&a, &summary(&[0.0, 0.0])), None);
        // What is divided by may be 0.
        let wide = ratio(&a, &summary(&[1.0, 9.0, 0.1])).unwrap();
        assert_eq!(wide.interval, None);
        assert_eq!(ratio(&b, &b).unwrap().value, 1.0);
    }

    #[test]
    fn a_ratio_excludes_1_exactly_where_the_difference_excludes_0() {
        let b = summary(&[1.0, 1.1, 0.85, 0.95]);
        for step in 0..60 {
            let shift = f64::from(step) * 0.02;
            let a = summary(&[shift + 0.4, shift + 0.5, shift + 0.45]);
            let by_ratio = ratio(&a, &b).unwrap().excludes(1.0);
            assert_eq!(by_ratio, difference(&a, &b).excludes(0.0), "{shift}");
        }
    }

    #[test]
    fn one_value_decides_nothing_and_equal_values_are_equal() {
        let (one, three) = (summary(&[5.0]), summary(&[1.0, 1.0, 1.0]));
        assert_eq!(difference(&one, &three).interval, None);
        assert_eq!(order(&one, &three), Order::Undecided);
        assert_eq!(difference(&three, &three).interval, Some((0.0, 0.0)));
        assert_eq!(order(&three, &three), Order::Undecided);
        assert_eq!(order(&summary(&[2.0, 2.0]), &three), Order::Above);
    }
}
