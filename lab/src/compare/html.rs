//! A comparison as an HTML file.

use maud::{html, Markup};

use super::pairs::{Comparison, Metric, Pair, Plan};
use super::text::{cells, count, flag, shown, HEADS};
use crate::report::{document, words};

pub(super) fn page(comparison: &Comparison, title: &str, all: bool) -> String {
    let main = html! {
        h1 { "Two sets of results" }
        p { (title) }
        p.muted {
            "Means over seeds with their 95 % intervals. Marked is where the difference exceeds its interval \
             (Welch)" @if !all { "; only these are listed" } "."
        }
        @for plan in &comparison.plans { (section(plan, all)) }
        (only(&comparison.only))
    };
    document(title, &main)
}

fn section(plan: &Plan, all: bool) -> Markup {
    html! {
        section {
            h2 { (plan.name) }
            @for (what, [a, b]) in &plan.unlike {
                p.note { (what) " of A: " (a) br; (what) " of B: " (b) }
            }
            @for metric in &plan.metrics {
                h3 { (words::title(&metric.name)) }
                p { (count(metric)) }
                (table(metric, &shown(metric, all).collect::<Vec<_>>()))
            }
            (only(&plan.only))
        }
    }
}

fn table(metric: &Metric, pairs: &[&Pair]) -> Markup {
    html! {
        @if !pairs.is_empty() {
            div.scroll tabindex="0" role="group" aria-label=(words::title(&metric.name)) {
                table {
                    thead { tr { @for (column, head) in HEADS.iter().enumerate() { th.l[column < 2] { (head) } } th.l { "difference" } } }
                    tbody {
                        @for pair in pairs {
                            @let [line, controller, numbers @ ..] = cells(metric, pair);
                            tr {
                                th { @if line.is_empty() { "mean" } @else { (line) } }
                                td.l { (controller) }
                                @for number in numbers { td { (number) } }
                                @let class = match pair.better(&metric.name) {
                                    Some(true) => "l good",
                                    Some(false) => "l bad",
                                    None => "l",
                                };
                                td class=(class) { (flag(metric, pair)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn only(only: &[Vec<String>; 2]) -> Markup {
    html! {
        @for (name, only) in ["A", "B"].iter().zip(only) {
            @if !only.is_empty() {
                h3 { "Only in " (name) }
                ul { @for row in only { li { (row) } } }
            }
        }
    }
}
