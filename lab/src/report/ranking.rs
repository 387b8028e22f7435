//! Verdict of a plan in sentences: in how many rows each controller is best.

use maud::{html, Markup};

use super::section::Section;
use super::swatch::controller;
use super::words;
use crate::plot::palette::Palette;
use crate::results::{metric as known, order, Order, Sense, Summary, Table};

/// Controllers that a sentence names.
const NAMED: usize = 3;

/// Number of rows in which each controller is the best of a metric.
pub(super) struct Ranking<'a> {
    pub(super) metric: &'a str,
    controllers: &'a [String],
    /// Rows in which two controllers at least were measured.
    rows: usize,
    /// Those of them in which some controller is not the best.
    separating: usize,
    /// By controller.
    wins: Vec<usize>,
}

impl<'a> Ranking<'a> {
    /// The rankings of a plan: one for each metric of which one direction is better.
    pub(super) fn all(section: &'a Section) -> Vec<Self> {
        let shown = section.metrics.iter();
        shown
            .filter_map(|it| Ranking::new(&it.metric, &it.table))
            .collect()
    }

    /// `None` if no row has two controllers, or neither direction is better.
    fn new(metric: &'a str, table: &'a Table) -> Option<Self> {
        let sense = known(metric)?.sense;
        let compared = |cells: &&[Option<Summary>]| cells.iter().flatten().count() > 1;
        let rows = table.lines.iter().map(|line| line.cells.as_slice());
        let rows: Vec<_> = rows.filter(compared).collect();
        if rows.is_empty() || sense == Sense::Neither {
            return None;
        }
        let mut wins = vec![0; table.controllers.len()];
        let mut separating = 0;
        for cells in &rows {
            let best = best(metric, cells);
            separating += usize::from(best.contains(&true));
            for (count, best) in wins.iter_mut().zip(best) {
                *count += usize::from(best);
            }
        }
        Some(Ranking {
            metric,
            controllers: &table.controllers,
            rows: rows.len(),
            separating,
            wins,
        })
    }

    /// The controllers with their wins, most wins first.
    fn winners(&self) -> Vec<(&'a str, usize)> {
        let names = self.controllers.iter().map(String::as_str);
        let winners = names.zip(self.wins.iter().copied());
        let mut winners: Vec<_> = winners.filter(|(_, wins)| *wins > 0).collect();
        winners.sort_by_key(|(_, wins)| std::cmp::Reverse(*wins));
        winners
    }

    /// `Goodput (more is better): petra is best in 11 of 12 rows, bbr2 in 3.`
    pub(super) fn sentence(&self, palette: &Palette) -> Markup {
        let title = known(self.metric).map_or(self.metric, |metric| metric.title);
        let winners = self.winners();
        let name = |name: &str| controller(name, palette.of(name));
        html! {
            (title) (words::better(self.metric)) ": "
            @match &winners[..] {
                [] => "no row separates the controllers.",
                [first, others @ ..] if self.rows == 1 => {
                    (name(first.0))
                    @for (other, _) in others { ", " (name(other)) }
                    @if others.is_empty() { " is best." } @else { " are best." }
                }
                [(first, wins), others @ ..] => {
                    strong { (name(first)) }
                    " is best in " (wins) " of " (words::count(self.rows, "row"))
                    @for (other, wins) in others.iter().take(NAMED - 1) {
                        ", " (name(other)) " in " (wins)
                    }
                    "."
                    @if self.separating < self.rows {
                        " Undecided: " (words::count(self.rows - self.separating, "row")) "."
                    }
                }
            }
        }
    }
}

/// The verdict of a plan: a sentence for each metric, what it rests on, and the wins of each
/// controller.
pub(super) fn verdict(section: &Section, palette: &Palette) -> Markup {
    let rankings = Ranking::all(section);
    let Some(first) = rankings.first() else {
        return html! {};
    };
    html! {
        h3 { "Verdict" }
        ul { @for ranking in &rankings { li { (ranking.sentence(palette)) } } }
        p.note {
            @if section.is_one_seed() {
                span.bad { "One seed decides nothing" }
                ": it has no interval, and a difference may be chance. No value is bold. Ten seeds ("
                code { "--seeds 10" } ") would decide."
            } @else {
                "Controllers are best together in a row that does not separate them: by Welch's \
                 test or in the digits shown."
            }
        }
        @if rankings.iter().any(|it| it.rows > 1) {
            div.scroll tabindex="0" role="region" aria-label="wins" {
                table {
                    thead {
                        tr {
                            th { "rows in which it is best" }
                            @for ranking in &rankings {
                                th.w { (words::heading(ranking.metric)) }
                            }
                        }
                    }
                    tbody {
                        @for (place, name) in first.controllers.iter().enumerate() {
                            tr {
                                th { (controller(name, palette.of(name))) }
                                @for ranking in &rankings {
                                    td { (ranking.wins[place]) " of " (ranking.rows) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The best cells of a row, and those that are not told from them: by Welch's test, or in the
/// digits that a table shows. There are none if neither direction is better or all are equal.
pub(super) fn best(metric: &str, cells: &[Option<Summary>]) -> Vec<bool> {
    let sense = known(metric).map_or(Sense::Neither, |metric| metric.sense);
    let digits = words::digits(metric);
    let means = || cells.iter().flatten();
    let best = match sense {
        Sense::More => means().max_by(|a, b| a.mean.total_cmp(&b.mean)),
        Sense::Less => means().min_by(|a, b| a.mean.total_cmp(&b.mean)),
        Sense::Neither => None,
    };
    let shown = |cell: &Summary| format!("{:.digits$}", cell.mean);
    let is_best = |cell: &Option<Summary>| match (cell, best) {
        (Some(cell), Some(best)) => {
            shown(cell) == shown(best)
                || cell.interval.is_some() && order(cell, best) == Order::Undecided
        }
        _ => false,
    };
    let marked: Vec<bool> = cells.iter().map(is_best).collect();
    let some_differ = marked
        .iter()
        .zip(cells)
        .any(|(best, cell)| !best && cell.is_some());
    marked.into_iter().map(|best| best && some_differ).collect()
}

/// The cells to emphasise: the best ones, if intervals tell them from the others.
pub(super) fn emphasised(metric: &str, cells: &[Option<Summary>]) -> Vec<bool> {
    let decided = cells.iter().flatten().all(|cell| cell.interval.is_some());
    let best = best(metric, cells).into_iter();
    best.map(|best| best && decided).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Line;

    fn cells(values: &[&[f64]]) -> Vec<Option<Summary>> {
        values.iter().map(|values| Summary::new(values)).collect()
    }

    fn table(lines: &[&[&[f64]]]) -> Table {
        let line = |values: &&[&[f64]]| Line {
            labels: Vec::new(),
            cells: cells(values),
            unmeasured: Vec::new(),
            references: Vec::new(),
        };
        Table {
            controllers: ["petra", "reno", "bbr2"].map(str::to_owned).into(),
            lines: lines.iter().map(line).collect(),
        }
    }

    fn sentence(metric: &str, lines: &[&[&[f64]]]) -> String {
        let table = table(lines);
        let ranking = Ranking::new(metric, &table).unwrap();
        let html = ranking.sentence(&Palette::default()).into_string();
        let texts = html.split('<').map(|part| part.rsplit('>').next().unwrap());
        texts.collect()
    }

    #[test]
    fn the_best_is_marked_with_what_cannot_be_told_from_it() {
        let cells = cells(&[&[9.0, 9.1, 9.2], &[9.1, 9.0, 9.3], &[2.0, 2.1, 2.2], &[]]);
        let marked = emphasised("goodput_mbps", &cells);
        assert_eq!(marked, [true, true, false, false]);
        let marked = emphasised("loss_percent", &cells);
        assert_eq!(marked, [false, false, true, false]);
        assert_eq!(emphasised("cwnd_mean_kb", &cells), [false; 4]);
        assert_eq!(emphasised("goodput_mbps", &cells[..2]), [false; 2]);
    }

    #[test]
    fn one_seed_has_a_best_value_and_no_emphasis() {
        let cells = cells(&[&[9.0], &[8.0], &[2.0]]);
        assert_eq!(best("goodput_mbps", &cells), [true, false, false]);
        assert_eq!(emphasised("goodput_mbps", &cells), [false; 3]);
    }

    #[test]
    fn what_a_table_shows_equal_is_equal() {
        let cells = cells(&[&[9.0001, 9.0001], &[9.0002, 9.0002], &[2.0, 2.0]]);
        assert_eq!(best("goodput_mbps", &cells), [true, true, false]);
    }

    #[test]
    fn the_sentence_counts_the_rows_of_each() {
        let lines: [&[&[f64]]; 4] = [
            &[&[9.0], &[8.0], &[7.0]],
            &[&[9.0], &[8.0], &[9.0]],
            // Nobody to compare with, and nothing to tell apart.
            &[&[], &[], &[7.0]],
            &[&[5.0], &[5.0], &[5.0]],
        ];
        assert_eq!(
            sentence("goodput_mbps", &lines),
            "Goodput (more is better): petra is best in 2 of 3 rows, bbr2 in 1. \
             Undecided: 1 row."
        );
        assert_eq!(
            sentence("loss_percent", &lines[..1]),
            "Packets declared lost (less is better): bbr2 is best."
        );
        assert_eq!(
            sentence("goodput_mbps", &lines[3..]),
            "Goodput (more is better): no row separates the controllers."
        );
        assert!(Ranking::new("cwnd_mean_kb", &table(&lines)).is_none());
        assert!(Ranking::new("goodput_mbps", &table(&lines[2..3])).is_none());
    }
}
