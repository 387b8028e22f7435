//! Distribution functions of what the rows hold.

use std::collections::BTreeMap;

use super::section::Draft;
use super::words;
use crate::plot::{Chart, Curve, Curves, Figure, Scale};
use crate::results::{metric, Results, Row};

/// Fewer values have no distribution to speak of.
const MIN_VALUES: usize = 5;

/// Most controllers whose colours are distinguishable.
const MAX_CONTROLLERS: usize = 12;

/// The distribution of a plan's first metric over all runs of a controller,
/// and that of its queueing delays as far as percentiles tell.
pub(super) fn figures(draft: &Draft, results: &Results) -> Vec<Figure> {
    if draft.manifest.controllers.len() > MAX_CONTROLLERS {
        return Vec::new();
    }
    let runs = runs(draft, results);
    // Flows over time tell more of their delays than percentiles do.
    let delays = delays(draft, results).filter(|_| !draft.manifest.series);
    runs.into_iter().chain(delays).collect()
}

/// The steps of the distribution function of some values.
pub(super) fn steps(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let step = |(below, value): (usize, f64)| {
        let share = |below: usize| below as f64 / count;
        [(value, share(below)), (value, share(below + 1))]
    };
    values.into_iter().enumerate().flat_map(step).collect()
}

/// Steps at the points of a distribution that is known at these alone.
fn held(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let before = std::iter::once(0.0).chain(points.iter().map(|(_, share)| *share));
    let steps = points.iter().zip(before);
    steps
        .flat_map(|((value, share), before)| [(*value, before), (*value, *share)])
        .collect()
}

/// A curve for each controller that `points` has some of.
pub(super) fn curves(draft: &Draft, mut points: impl FnMut(&str) -> Vec<(f64, f64)>) -> Vec<Curve> {
    let curve = |name: &String| {
        let look = draft.palette.look(name);
        Curve {
            name: name.clone(),
            ink: look.ink,
            dash: look.dash,
            beside: false,
            points: points(name),
        }
    };
    let curves = draft.manifest.controllers.iter().map(curve);
    curves.filter(|curve| curve.points.len() > 1).collect()
}

/// Scale of an upright axis with shares of values.
pub(super) fn share() -> Scale {
    Scale {
        label: "cumulative share".to_owned(),
        log: false,
    }
}

fn runs(draft: &Draft, results: &Results) -> Option<Figure> {
    // Where lines differ in what is possible, a share can be compared.
    let manifest = draft.manifest;
    let mixed = !manifest.cases.is_empty() || manifest.axes.iter().any(|axis| !axis.controllers);
    let name = if mixed {
        "share_of_limit"
    } else {
        manifest.metrics.first()?
    };
    let curves = curves(draft, |controller| {
        // A run's value is the mean of its flows'.
        let mut runs: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
        for row in of(results, controller) {
            if let Some(value) = row.metric(name) {
                runs.entry((row.point, row.seed)).or_default().push(value);
            }
        }
        let mean = |flows: &Vec<f64>| flows.iter().sum::<f64>() / flows.len() as f64;
        let values: Vec<f64> = runs.values().map(mean).collect();
        match values.len() {
            0..MIN_VALUES => Vec::new(),
            _ => steps(values),
        }
    });
    let over = if mixed { "all rows and seeds" } else { "seeds" };
    (!curves.is_empty()).then(|| {
        draft.figure(
            &["cdf", name],
            format!("{} over {over}", title(name)),
            format!(
                "How it is distributed over {over}, {}.",
                draft.manifest.backend
            ),
            Chart::Curves(Curves {
                x: Scale {
                    label: words::title(name),
                    log: false,
                },
                y: share(),
                curves,
                ..Curves::default()
            }),
        )
    })
}

fn delays(draft: &Draft, results: &Results) -> Option<Figure> {
    const PERCENTILES: [(&str, f64); 4] = [
        ("queue_p50_ms", 0.5),
        ("queue_p95_ms", 0.95),
        ("queue_p99_ms", 0.99),
        ("queue_max_ms", 1.0),
    ];
    let curves = curves(draft, |controller| {
        let point = |(name, share): &(&str, f64)| {
            let values = of(results, controller).filter_map(|row| row.metric(name));
            let values: Vec<f64> = values.collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (!values.is_empty()).then_some((mean, *share))
        };
        let points: Vec<(f64, f64)> = PERCENTILES.iter().filter_map(point).collect();
        held(&points)
    });
    (!curves.is_empty()).then(|| {
        draft.figure(
            &["queueing-delay"],
            "Queueing delay of packets".to_owned(),
            format!(
                "Median, 95th and 99th percentile and maximum, each the mean over all runs, {}. \
                 Between them nothing is known: each step is at its percentile.",
                draft.manifest.backend
            ),
            Chart::Curves(Curves {
                x: Scale {
                    label: "queueing delay, ms".to_owned(),
                    log: false,
                },
                y: share(),
                curves,
                ..Curves::default()
            }),
        )
    })
}

fn of<'a>(results: &'a Results, controller: &'a str) -> impl Iterator<Item = &'a Row> {
    let rows = results.shown();
    rows.filter(move |row| row.controller == controller)
}

fn title(name: &str) -> &str {
    metric(name).map_or(name, |metric| metric.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_steps_and_not_joined() {
        let known = held(&[(2.0, 0.5), (9.0, 1.0)]);
        assert_eq!(known, [(2.0, 0.0), (2.0, 0.5), (9.0, 0.5), (9.0, 1.0)]);
    }

    #[test]
    fn a_distribution_rises_by_the_same_step_at_each_value() {
        assert_eq!(
            steps(vec![3.0, 1.0]),
            [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)]
        );
        assert!(steps(Vec::new()).is_empty());
    }
}
