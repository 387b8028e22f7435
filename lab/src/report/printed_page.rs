//! Printed and measured values on the page.

use maud::{html, Markup};

use super::page::Frame;
use super::printed::{titled, Comparison, Reading};
use super::printed_tables::{counts, exceptions, orders, side_by_side, Exceptions, Overview};
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
                    @match exceptions(rows, printed) {
                        Some(exceptions) => (self.exceptions(&exceptions)),
                        None => p.note { "No order is reversed in any row." },
                    }
                }
            }
        }
    }

    fn exceptions(&self, exceptions: &Exceptions) -> Markup {
        html! {
            details open[exceptions.count <= 12] {
                summary { (words::count(exceptions.count, "exception")) }
                (exceptions.grid.html(&self.palette))
                ol { @for cause in &exceptions.causes { li { (words::prose(cause)) } } }
            }
        }
    }
}
