//! By how much expectations fail.

use crate::plan::{Expectation, Relation};
use crate::results::{Comparison, Results};

/// Results of a plan's expectations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Score {
    /// From -1 to 1, above 0 where one fails: the median over the seeds of the part
    /// that is missing of what was expected, of the expectation that fails most.
    pub(super) value: f64,
    /// Do they fail by the means over the seeds, as results have them?
    pub(super) fails: bool,
    /// The expectation that fails most, in words.
    pub(super) words: String,
}

impl Score {
    /// `None` where there is nothing to compare.
    pub(super) fn new(results: &Results, expectations: &[Expectation]) -> Option<Self> {
        let seeds = results.manifest.seeds.iter();
        let each = seeds.filter_map(|seed| {
            let rows = results.rows.iter().filter(|row| row.seed == *seed);
            let one = Results {
                manifest: results.manifest.clone(),
                rows: rows.cloned().collect(),
            };
            worst(&one, expectations).map(|(value, _)| value)
        });
        let value = median(each.collect())?;
        let (_, words) = worst(results, expectations)?;
        let mut verdicts = expectations.iter().map(|it| it.judge(results));
        Some(Score {
            value,
            fails: verdicts.any(|verdict| !verdict.holds),
            words,
        })
    }
}

/// The largest shortfall of all comparisons, and which it is of.
fn worst(results: &Results, expectations: &[Expectation]) -> Option<(f64, String)> {
    let mut found: Option<(f64, String)> = None;
    for expectation in expectations {
        let verdict = expectation.judge(results);
        for comparison in &verdict.comparisons {
            let Some(value) = shortfall(comparison, expectation.relation) else {
                continue;
            };
            if found.as_ref().is_none_or(|(most, _)| value > *most) {
                let number = |value: Option<f64>| value.map_or("-".into(), |it| format!("{it:.3}"));
                let words = format!(
                    "{}: {} to {}",
                    verdict.expected,
                    number(comparison.value),
                    number(comparison.reference)
                );
                found = Some((value, words));
            }
        }
    }
    found
}

/// The part that is missing of what is expected, less than 0 where there is more; 1
/// where nothing was measured, such as the completion of what did not end. `None`
/// where it is compared with nothing, or where a reason is known.
fn shortfall(comparison: &Comparison, relation: Relation) -> Option<f64> {
    if comparison.because.is_some() {
        return None;
    }
    let reference = comparison.reference?;
    let Some(value) = comparison.value else {
        return Some(1.0);
    };
    let tolerance = comparison.tolerance;
    let part = |missing: f64, of: f64| match of.abs().max(value.abs()) {
        0.0 => 0.0,
        most => missing / most,
    };
    Some(match relation {
        Relation::AtLeast => part(reference - tolerance - value, reference - tolerance),
        Relation::AtMost => part(value - reference - tolerance, reference + tolerance),
        Relation::About => part((value - reference).abs() - tolerance, reference),
    })
}

/// Of an even number the smaller of both in the middle, so that it is one of them.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some(values[middle])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(value: Option<f64>, reference: Option<f64>) -> Comparison {
        Comparison {
            row: String::new(),
            value,
            reference,
            tolerance: 2.0,
            holds: false,
            because: None,
        }
    }

    #[test]
    fn a_shortfall_is_the_part_that_is_missing() {
        let of = |value, relation| shortfall(&comparison(Some(value), Some(10.0)), relation);
        for (value, least, most) in [
            (0.0, 1.0, -1.0),
            (6.0, 0.25, -0.5),
            (8.0, 0.0, -1.0 / 3.0),
            (12.0, -1.0 / 3.0, 0.0),
            (24.0, -2.0 / 3.0, 0.5),
        ] {
            let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
            assert!(near(of(value, Relation::AtLeast), least), "{value}");
            assert!(near(of(value, Relation::AtMost), most), "{value}");
        }
        assert_eq!(of(11.0, Relation::About), Some(-1.0 / 11.0));
    }

    #[test]
    fn what_was_not_measured_is_the_worst_and_what_is_excused_is_nothing() {
        let unmeasured = comparison(None, Some(1.0));
        assert_eq!(shortfall(&unmeasured, Relation::AtMost), Some(1.0));
        let alone = comparison(Some(1.0), None);
        assert_eq!(shortfall(&alone, Relation::AtMost), None);
        let excused = Comparison {
            because: Some("It is known.".to_owned()),
            ..comparison(Some(0.0), Some(10.0))
        };
        assert_eq!(shortfall(&excused, Relation::AtLeast), None);
    }

    #[test]
    fn one_seed_of_three_decides_nothing() {
        assert_eq!(median(vec![0.9, -0.1, -0.2]), Some(-0.1));
        assert_eq!(median(vec![0.9, 0.8]), Some(0.8));
        assert_eq!(median(Vec::new()), None);
    }
}
