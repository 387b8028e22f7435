//! Printed and measured values on the page.

use maud::{html, Markup};

use super::page::Frame;
use super::printed::{titled, Comparison, Reading};
use super::printed_tables::{
    counts, known_deviations, orders, side_by_side, KnownDeviations, Overview,
};
use super::section::Section;
use super::words;

impl Frame {
    pub(super) fn comparison(&self, section: &Section, comparison: &Comparison) -> Markup {
        html! {
            @for reading in &comparison.readings {
                (self.reading(section, comparison, reading))
            }
        }
    }

    fn reading(&self, section: &Section, comparison: &Comparison, reading: &Reading) -> Markup {
        html! {
            h3 { (titled("Printed and measured", ": ", &reading.name)) }
            p.note { (words::title(&comparison.printed.metric)) }
            (side_by_side(section, comparison, reading).html(&self.palette))
            (self.figures(&reading.figures))
            @if let Some(orders) = orders(reading) {
                h4 { (titled("Whether the order holds", ": ", &reading.name)) }
                (orders.html(&self.palette))
                @if section.is_one_seed() { p.note { (words::prose(words::ONE_SEED)) } }
            }
        }
    }

    /// Over all plans with the same title: how often the orders hold, and where they do not.
    pub(super) fn overview(&self, overview: &Overview) -> Markup {
        let Overview { printed, readings } = overview;
        html! {
            section id=(words::slug(&printed.title)) {
                h2 { (printed.title) }
                p { (words::prose(&printed.note)) }
                @for (name, rows) in readings {
                    @let count = words::count(rows.len(), "row");
                    h3 { @if !name.is_empty() { (name) ", " } (count) }
                    (counts(rows).html(&self.palette))
                    @if rows.iter().all(|(section, _)| section.is_one_seed()) {
                        p.note { (words::prose(words::ONE_SEED)) }
                    }
                    @match known_deviations(rows, printed) {
                        Some(known_deviations) => (self.known_deviations(&known_deviations)),
                        None => p.note { "No order is reversed in any row." },
                    }
                }
            }
        }
    }

    fn known_deviations(&self, known_deviations: &KnownDeviations) -> Markup {
        html! {
            details open[known_deviations.count <= 12] {
                summary { (words::count(known_deviations.count, "known deviation")) }
                (known_deviations.grid.html(&self.palette))
                ol { @for cause in &known_deviations.causes { li { (words::prose(cause)) } } }
            }
        }
    }
}
