//! Verdict of a plan in sentences: in how many rows each controller is best.

use std::cmp::Ordering;

use maud::{html, Markup};

use super::section::Section;
use super::swatch::controller;
use super::words;
use crate::plot::palette::Palette;
use crate::results::{metric as known, order, Order, Sense, Summary, Table};

/// Controllers that a sentence names.
const NAMED: usize = 3;

/// Fewer seeds have intervals so wide that most rows stay undecided.
const MIN_SEEDS: usize = 5;

/// Number of rows in which each controller is the best of a metric.
pub(super) struct Ranking<'a> {
    pub(super) metric: &'a str,
    controllers: &'a [String],
    oracles: &'a [bool],
    /// Rows in which two controllers at least were measured.
    rows: usize,
    /// Those of them in which some controller is not the best.
    separating: usize,
    /// By controller.
    wins: Vec<usize>,
    /// By controller, over the rows.
    medians: Vec<Option<f64>>,
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
        let compared = |cells: &Vec<Option<Summary>>| cells.iter().flatten().count() > 1;
        let rows = table.lines.iter();
        let rows = rows.map(|line| table.contestants(line));
        let rows: Vec<_> = rows.filter(compared).collect();
        if rows.is_empty() || sense == Sense::Neither {
            return None;
        }
        let median = |place: usize| {
            let cells = rows.iter().filter_map(|cells| cells[place]);
            median(cells.map(|cell| cell.mean).collect())
        };
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
            oracles: &table.oracles,
            rows: rows.len(),
            separating,
            wins,
            medians: (0..table.controllers.len()).map(median).collect(),
        })
    }

    /// The controllers that take part, with their places in the table.
    fn contestants(&self) -> impl Iterator<Item = (usize, &String)> {
        let controllers = self.controllers.iter().enumerate();
        controllers.filter(|(place, _)| !self.oracles[*place])
    }

    /// The controllers by their place in the table: most wins first, and then the best value.
    fn winners(&self) -> Vec<usize> {
        let places = 0..self.controllers.len();
        let mut winners: Vec<usize> = places.filter(|it| self.wins[*it] > 0).collect();
        winners.sort_by(|a, b| {
            let more = self.wins[*b].cmp(&self.wins[*a]);
            more.then_with(|| self.by_value(*a, *b))
        });
        winners
    }

    /// Orders two controllers by their values, the better one first and those without one last.
    fn by_value(&self, a: usize, b: usize) -> Ordering {
        let less = known(self.metric).is_some_and(|metric| metric.sense == Sense::Less);
        match (self.medians[a], self.medians[b]) {
            (Some(a), Some(b)) if less => a.total_cmp(&b),
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    /// The controller with the next value after the best, where there is a single row.
    fn next(&self) -> Option<usize> {
        let others = (0..self.controllers.len()).filter(|place| self.wins[*place] == 0);
        let measured = others.filter(|place| self.medians[*place].is_some());
        measured.min_by(|a, b| self.by_value(*a, *b))
    }

    /// The median over the rows, which is the value where there is one row.
    fn value(&self, place: usize, unit: &str) -> String {
        let digits = words::digits(self.metric);
        match self.medians[place] {
            Some(value) if unit.is_empty() => format!("{value:.digits$}"),
            Some(value) => format!("{value:.digits$} {unit}"),
            None => String::new(),
        }
    }

    /// `Goodput (more is better): petra is best in 11 of 12 rows (median 9.18 Mbit/s),
    /// bbr2 in 3 (8.76).`
    pub(super) fn sentence(&self, palette: &Palette) -> Markup {
        let (title, unit) =
            known(self.metric).map_or((self.metric, ""), |metric| (metric.title, metric.unit));
        let winners = self.winners();
        let most = winners.first().map_or(0, |place| self.wins[*place]);
        let leading = |place: &&usize| self.wins[**place] == most;
        let leaders = winners.iter().filter(leading).count();
        let name = |place: usize| {
            let name = &self.controllers[place];
            let shown = controller(name, palette.of(name));
            html! { @if self.wins[place] == most { strong { (shown) } } @else { (shown) } }
        };
        let all = self.contestants().count();
        html! {
            (title) (words::better(self.metric)) ": "
            @match &winners[..] {
                [] => "no row separates the controllers.",
                _ if self.rows > 1 && leaders > NAMED => {
                    (leaders) " of " (words::count(all, "controller"))
                    " share the lead, each best in " (most) " of "
                    (words::count(self.rows, "row"))
                    @if leaders <= all / 2 {
                        @for (number, place) in winners.iter().take(leaders).enumerate() {
                            (if number == 0 { ": " } else { ", " }) (name(*place))
                        }
                    }
                    "."
                }
                [first, others @ ..] if self.rows == 1 => {
                    (name(*first)) " is best (" (self.value(*first, unit)) ")"
                    @for (number, other) in others.iter().enumerate() {
                        (if number == 0 { "; not separated from it: " } else { ", " })
                        (name(*other)) " (" (self.value(*other, "")) ")"
                    }
                    @if let Some(next) = self.next() {
                        (if others.is_empty() { ", then " } else { "; then " })
                        (name(next)) " (" (self.value(next, "")) ")"
                    }
                    "."
                }
                [first, others @ ..] => {
                    (name(*first))
                    " is best in " (most) " of " (words::count(self.rows, "row"))
                    " (median " (self.value(*first, unit)) ")"
                    @for other in others.iter().take(NAMED - 1) {
                        ", " (name(*other)) " in " (self.wins[*other])
                        " (" (self.value(*other, "")) ")"
                    }
                    "."
                }
            }
            @if self.rows > 1 && (1..self.rows).contains(&self.separating) {
                " Undecided: " (words::count(self.rows - self.separating, "row")) "."
            }
        }
    }
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let above = *values.get(middle)?;
    Some(match values.len() % 2 {
        0 => (values[middle - 1] + above) / 2.0,
        _ => above,
    })
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
                @if section.manifest.seeds.len() < MIN_SEEDS {
                    " " (section.manifest.seeds.len()) " seeds separate little; ten ("
                    code { "--seeds 10" } ") separate more."
                }
            }
        }
        @if rankings.iter().any(|it| it.rows > 1) {
            div.scroll tabindex="0" role="group" aria-label="wins" {
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
                        @for (place, name) in first.contestants() {
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
            oracles: vec![false; 3],
            lines: lines.iter().map(line).collect(),
        }
    }

    fn sentence(metric: &str, lines: &[&[&[f64]]]) -> String {
        text(&table(lines), metric)
    }

    fn text(table: &Table, metric: &str) -> String {
        let ranking = Ranking::new(metric, table).unwrap();
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
    fn the_best_value_is_first_and_what_cannot_be_told_from_it_follows() {
        let rows: &[&[&[f64]]] = &[&[
            &[30.0, 34.0, 40.0],
            &[60.0, 61.0, 62.0],
            &[20.0, 26.0, 38.0],
        ]];
        let expected =
            "bbr2 is best (28.0 ms); not separated from it: petra (34.7); then reno (61.0).";
        let sentence = sentence("queue_mean_ms", rows);
        assert!(sentence.ends_with(expected), "{sentence}");
    }

    #[test]
    fn a_lead_of_many_has_a_sentence_of_its_own() {
        let values = |best: usize| {
            let value = |place| if place < best { 9.0 } else { 5.0 };
            (0..8).map(|place| vec![value(place)]).collect::<Vec<_>>()
        };
        let sentence = |best: usize| {
            let values = values(best);
            let row: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            let mut table = table(&[&row, &row]);
            table.controllers = (0..8).map(|place| format!("c{place}")).collect();
            table.oracles = vec![false; 8];
            text(&table, "goodput_mbps")
        };
        assert_eq!(
            sentence(4),
            "Goodput (more is better): 4 of 8 controllers share the lead, each best in 2 of 2 \
             rows: c0, c1, c2, c3."
        );
        assert!(sentence(5).ends_with("share the lead, each best in 2 of 2 rows."));
        assert!(sentence(3).ends_with(
            "c0 is best in 2 of 2 rows (median 9.000 Mbit/s), \
             c1 in 2 (9.000), c2 in 2 (9.000)."
        ));
    }

    #[test]
    fn an_oracle_takes_no_part() {
        let rows: &[&[&[f64]]] = &[&[&[9.0, 9.1], &[8.0, 8.1], &[9.8, 9.9]]];
        let mut table = table(&[rows[0], rows[0]]);
        table.oracles[2] = true;
        assert_eq!(
            text(&table, "goodput_mbps"),
            "Goodput (more is better): petra is best in 2 of 2 rows (median 9.050 Mbit/s)."
        );
        let ranking = Ranking::new("goodput_mbps", &table).unwrap();
        let names: Vec<_> = ranking.contestants().map(|(_, name)| name).collect();
        assert_eq!(names, ["petra", "reno"]);
        let cells = table.contestants(&table.lines[0]);
        assert_eq!(emphasised("goodput_mbps", &cells), [true, false, false]);
        // With an oracle alone nothing is compared.
        table.oracles[1] = true;
        assert!(Ranking::new("goodput_mbps", &table).is_none());
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
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
            "Goodput (more is better): petra is best in 2 of 3 rows (median 9.000 Mbit/s), \
             bbr2 in 1 (7.000). Undecided: 1 row."
        );
        assert_eq!(
            sentence("loss_percent", &lines[..1]),
            "Packets declared lost (less is better): bbr2 is best (7.00 %), then reno (8.00)."
        );
        assert_eq!(
            sentence("goodput_mbps", &lines[3..]),
            "Goodput (more is better): no row separates the controllers."
        );
        assert!(Ranking::new("cwnd_mean_kb", &table(&lines)).is_none());
        assert!(Ranking::new("goodput_mbps", &table(&lines[2..3])).is_none());
    }
}
