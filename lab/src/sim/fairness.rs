//! Fairness of flows: Jain's index, and the time of convergence to equal shares.

use super::metrics::FlowReport;

/// Seconds over which goodputs are taken.
const WINDOW: f64 = 2.0;

/// A goodput this close to the fair share is fair.
const TOLERANCE: f64 = 0.2;

/// Jain's index: 1 is equal shares, 1 / n is all for one of n. `None` for one
/// alone, or when all are nothing.
pub(super) fn jain(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput.powi(2)).sum();
    let shared = goodputs.len() > 1 && squares > 0.0;
    shared.then(|| sum.powi(2) / (squares * goodputs.len() as f64))
}

/// Seconds from the last flow's start to the first time from which on, and until
/// the first flow ends, every flow's goodput over any 2 s is within 20 % of
/// their mean. `None` when it never gets there, or for one flow alone.
pub(super) fn convergence(flows: &[FlowReport]) -> Option<f64> {
    if flows.len() < 2 {
        return None;
    }
    let begin = flows.iter().map(|flow| flow.start).fold(0.0, f64::max);
    // All flows are sampled at the same times; the last to start has the fewest.
    let times = |flow: &FlowReport| -> Vec<(f64, u64)> {
        let common = flow.samples.iter().filter(|sample| sample.time >= begin);
        common
            .map(|sample| (sample.time, sample.body_bytes))
            .collect()
    };
    let series: Vec<_> = flows.iter().map(times).collect();
    let common = series.iter().map(Vec::len).min()?;
    let mut converged = None;
    let mut from = 0;
    for to in 0..common {
        while from + 1 < to && series[0][to].0 - series[0][from + 1].0 >= WINDOW {
            from += 1;
        }
        if series[0][to].0 - series[0][from].0 < WINDOW {
            continue;
        }
        let bytes = |flow: &Vec<(f64, u64)>| (flow[to].1 - flow[from].1) as f64;
        let fair = series.iter().map(bytes).sum::<f64>() / series.len() as f64;
        let equal = |bytes: f64| (bytes - fair).abs() <= TOLERANCE * fair;
        if fair > 0.0 && series.iter().map(bytes).all(equal) {
            converged.get_or_insert(series[0][from].0 - begin);
        } else {
            converged = None;
        }
    }
    converged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::metrics::Sample;

    /// A flow whose body grows by `rate(time)` bytes per 0.1 s.
    fn flow(start: f64, rate: impl Fn(f64) -> u64) -> FlowReport {
        let mut body_bytes = 0;
        let ticks = (0..300).map(|tick| f64::from(tick) / 10.0);
        let samples = ticks.filter(|time| *time >= start).map(|time| {
            body_bytes += rate(time);
            Sample {
                time,
                body_bytes,
                ..Sample::default()
            }
        });
        FlowReport {
            start,
            samples: samples.collect(),
            ..FlowReport::default()
        }
    }

    #[test]
    fn jains_index_is_1_for_equal_shares_and_1_of_n_for_one() {
        assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[5.0]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn convergence_is_from_when_on_shares_stay_fair() {
        let fair = flow(0.0, |_| 1000);
        let late = flow(5.0, |time| if time < 10.0 { 100 } else { 1000 });
        // At 10 s the goodput over 2 s begins to be fair, 10 % of the time
        // may be unfair.
        let after = convergence(&[fair.clone(), late]).unwrap();
        assert!((4.0..=5.0).contains(&after), "{after}");
        let at_once = flow(5.0, |_| 900);
        assert_eq!(convergence(&[fair.clone(), at_once]), Some(0.0));
        let not_to_the_end = flow(5.0, |time| if time < 29.0 { 1000 } else { 0 });
        assert_eq!(convergence(&[fair.clone(), not_to_the_end]), None);
        assert_eq!(convergence(&[fair]), None);
    }
}
