//! Effect of each switch of a plan.

use super::super::grid::Grid;
use super::super::words;
use crate::results::{effects, metric, switches, Effect, Effects, Results, Summary};

/// Number of a plan's metrics that are shown.
const METRICS: usize = 2;

/// The ways of asking what a switch is worth.
type Question = (&'static str, fn(&Effect) -> Option<Summary>);
const QUESTIONS: [Question; 3] = [
    ("beside all others (all on, less all but it)", |it| it.last),
    ("alone (it alone on, less all off)", |it| it.alone),
    ("mean over all settings of the others", |it| it.mean),
];

/// Tables of a plan with switches: for each metric and controller what each
/// switch changes. `None` of any other plan.
pub(super) fn tables(results: &Results) -> Option<String> {
    let switches = switches(&results.manifest);
    if switches.is_empty() {
        return None;
    }
    let mut text =
        "Bold is what exceeds its 95 % interval over the seeds, of which each is compared with \
                    itself.\n\n"
            .to_owned();
    for metric in results.manifest.metrics.iter().take(METRICS) {
        let effects = effects(results, metric);
        for controller in &results.manifest.controllers {
            let own = effects.iter().filter(|it| it.controller == *controller);
            let own: Vec<&Effects> = own.collect();
            for (question, change) in QUESTIONS {
                text += &format!("{}, `{controller}`: {question}\n\n", words::title(metric));
                text += &table(metric, &own, change);
            }
        }
    }
    Some(text)
}

fn table(name: &str, effects: &[&Effects], change: fn(&Effect) -> Option<Summary>) -> String {
    let Some(first) = effects.first() else {
        return String::new();
    };
    let digits = metric(name).map_or(3, |metric| metric.digits);
    let names = first.switches.iter().map(|it| words::setting(&it.switch));
    let heads = ["", "all off", "all on"].into_iter().chain(names);
    let mut grid = Grid::new(1, heads);
    for effect in effects {
        let mean = |summary: &Option<Summary>| {
            let mean = |it: &Summary| format!("{:.digits$}", it.mean);
            summary.as_ref().map_or_else(|| "–".to_owned(), mean)
        };
        let fixed = [effect.place.clone(), mean(&effect.none), mean(&effect.all)];
        let changes = effect.switches.iter().map(|it| changed(change(it), digits));
        grid.row(fixed.into_iter().chain(changes));
    }
    grid.markdown()
}

/// `**+0.012**`, `-0.001`, and nothing of what is nothing.
fn changed(change: Option<Summary>, digits: usize) -> String {
    let Some(Summary { mean, interval, .. }) = change else {
        return "–".to_owned();
    };
    let text = format!("{mean:+.digits$}");
    if text.chars().all(|c| "+-0.".contains(c)) {
        return "0".to_owned();
    }
    match interval {
        Some(interval) if mean.abs() > interval => format!("**{text}**"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sure_is_bold() {
        let of = |values: &[f64]| changed(Summary::new(values), 3);
        assert_eq!(of(&[0.012, 0.0121, 0.0119]), "**+0.012**");
        assert_eq!(of(&[0.012, -0.04, 0.01]), "-0.006");
        assert_eq!(of(&[0.5]), "+0.500");
        assert_eq!(of(&[0.0001, 0.0, 0.0]), "0");
        assert_eq!(of(&[]), "–");
    }
}
