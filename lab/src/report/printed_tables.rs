//! The tables of printed and measured values, for a page and for Markdown.

use super::grid::{Cell, Grid, Head};
use super::printed::{Comparison, Reading, Row, Verdict};
use super::section::Section;
use super::words;
use crate::results::{Estimate, Order, Printed, Summary};

const NONE: &str = "–";

/// Row by row: the printed values, the measured ones, and the ratios of both.
pub(super) fn side_by_side(section: &Section, comparison: &Comparison, reading: &Reading) -> Grid {
    let (names, settings) = &section.settings;
    let shown = match section.settings_are_columns() {
        true => names.len(),
        false => 0,
    };
    let Printed {
        columns, metric, ..
    } = &comparison.printed;
    let printed = columns.iter().map(|it| format!("{} printed", it.name));
    let measured = columns.iter().map(|it| it.controller.clone());
    let ratios = columns[1..].iter().flat_map(|it| {
        let printed = format!("{}/{} printed", columns[0].name, it.name);
        [printed, "measured".to_owned()]
    });
    let heads = ["row".to_owned()]
        .into_iter()
        .chain(names[..shown].iter().cloned());
    let heads = heads.chain(printed).chain(measured).chain(ratios);
    let mut grid = Grid::new(1 + shown, heads);
    let digits = words::digits(metric);
    for row in &reading.rows {
        let mut cells: Vec<Cell> = vec![row.name.as_str().into()];
        cells.extend(
            settings[row.line][..shown]
                .iter()
                .map(|it| it.as_str().into()),
        );
        cells.extend(row.printed.iter().map(|it| number(*it, digits)));
        cells.extend(row.measured.iter().map(|it| mean(it, digits).into()));
        for (printed, measured) in row.ratios() {
            cells.extend([number(printed, 2), ratio(measured.as_ref()).into()]);
        }
        grid.row(cells);
    }
    grid
}

fn number(printed: Option<f64>, digits: usize) -> Cell {
    Cell::printed(printed.map_or_else(|| NONE.to_owned(), |it| format!("{it:.digits$}")))
}

fn mean(summary: &Option<Summary>, digits: usize) -> String {
    let mean = |it: &Summary| words::mean(it, digits);
    summary.as_ref().map_or_else(|| NONE.to_owned(), mean)
}

fn ratio(ratio: Option<&Estimate>) -> String {
    ratio.map_or_else(|| NONE.to_owned(), words::ratio)
}

/// Row by row: the ratio of each pair with its interval, and what follows of it. `None` if no
/// order is expected.
pub(super) fn orders(reading: &Reading) -> Option<Grid> {
    let pairs: Vec<_> = reading
        .rows
        .first()?
        .verdicts
        .iter()
        .map(|it| &it.pair)
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let heads = pairs
        .iter()
        .map(|(above, below)| Head::Pair(above.clone(), below.clone()));
    let mut grid = Grid::new(1, [Head::from("row")].into_iter().chain(heads));
    for row in &reading.rows {
        let decided = |pair: &&(String, String)| {
            let verdict = row.verdicts.iter().find(|it| it.pair == **pair);
            verdict.map_or(NONE.into(), |it| {
                Cell::ordered(ratio(it.ratio.as_ref()), it.order)
            })
        };
        let name = Cell::from(row.name.as_str());
        grid.row([name].into_iter().chain(pairs.iter().map(decided)));
    }
    Some(grid)
}

/// A row with the plan that it is in.
type Placed<'a> = (&'a Section, &'a Row);

/// A comparison of a row, with both.
type Judged<'a> = (&'a Section, &'a Row, &'a Verdict);

/// The plans of a report whose printed values have the same title.
pub(super) struct Overview<'a> {
    pub(super) printed: &'a Printed,
    /// The rows of all these plans, by their reading.
    pub(super) readings: Vec<(&'a str, Vec<Placed<'a>>)>,
}

impl<'a> Overview<'a> {
    /// The overviews of a report, without those that expect no order.
    pub(super) fn all(sections: &'a [Section]) -> Vec<Self> {
        let mut all: Vec<Overview> = Vec::new();
        for section in sections {
            let comparison = section.comparison.iter();
            for comparison in comparison.filter(|it| !it.printed.orders.is_empty()) {
                let printed = &comparison.printed;
                let place = all.iter().position(|it| it.printed.title == printed.title);
                let place = place.unwrap_or_else(|| {
                    let readings = Vec::new();
                    all.push(Overview { printed, readings });
                    all.len() - 1
                });
                for reading in &comparison.readings {
                    all[place].add(section, reading);
                }
            }
        }
        all
    }

    fn add(&mut self, section: &'a Section, reading: &'a Reading) {
        let rows = reading.rows.iter().map(|row| (section, row));
        let mut readings = self.readings.iter_mut();
        match readings.find(|(name, _)| *name == reading.name) {
            Some((_, all)) => all.extend(rows),
            None => self.readings.push((&reading.name, rows.collect())),
        }
    }
}

fn verdicts<'a>(rows: &'a [Placed]) -> impl Iterator<Item = Judged<'a>> {
    rows.iter()
        .flat_map(|(section, row)| row.verdicts.iter().map(|it| (*section, *row, it)))
}

/// Of each order, the number of rows in which it is printed, holds, is undecided and is reversed.
pub(super) fn counts(rows: &[Placed]) -> Grid {
    let mut pairs: Vec<&(String, String)> = Vec::new();
    for (_, _, verdict) in verdicts(rows) {
        if !pairs.contains(&&verdict.pair) {
            pairs.push(&verdict.pair);
        }
    }
    let heads = ["above", "printed so", "holds", "undecided", "reversed"];
    let mut grid = Grid::new(1, heads);
    for pair in pairs {
        let own = verdicts(rows).map(|it| it.2);
        let own: Vec<&Verdict> = own.filter(|it| it.pair == *pair).collect();
        let measured = |order| own.iter().filter(|it| it.order == order).count();
        let printed: Option<Vec<f64>> = own.iter().map(|it| it.printed).collect();
        let above = |ratios: Vec<f64>| ratios.into_iter().filter(|ratio| *ratio > 1.0).count();
        let printed = printed.map_or_else(|| NONE.to_owned(), |it| above(it).to_string());
        let measured = [Order::Above, Order::Undecided, Order::Below].map(measured);
        let fixed = [
            format!("{} over {}", pair.0, pair.1).into(),
            Cell::printed(printed),
        ];
        let measured = measured.map(|count| Cell::from(count.to_string()));
        grid.row(fixed.into_iter().chain(measured));
    }
    grid
}

/// The reversed orders of some rows.
pub(super) struct KnownDeviations<'a> {
    pub(super) count: usize,
    /// The metrics that may explain each, and the number of its cause.
    pub(super) grid: Grid,
    /// The causes, each once.
    pub(super) causes: Vec<&'a str>,
}

/// `None` if no order is reversed.
pub(super) fn known_deviations<'a>(
    rows: &'a [Placed],
    printed: &Printed,
) -> Option<KnownDeviations<'a>> {
    let reversed = verdicts(rows).filter(|(_, _, it)| it.order == Order::Below);
    let reversed: Vec<Judged> = reversed.collect();
    let mut causes = Vec::new();
    for because in reversed.iter().filter_map(|it| it.2.because.as_deref()) {
        if !causes.contains(&because) {
            causes.push(because);
        }
    }
    let heads = ["row", "reversed", "printed", "ratio"].map(str::to_owned);
    let metrics = printed.circumstances.iter().map(|name| words::title(name));
    let heads = heads.into_iter().chain(metrics);
    let mut grid = Grid::new(2, heads.chain(["cause".to_owned()]));
    for (section, row, verdict) in &reversed {
        let plan = &section.manifest.plan;
        let mut cells = vec![
            Cell::link(format!("{plan} {}", row.name), words::slug(plan)),
            format!("{} / {}", verdict.pair.0, verdict.pair.1).into(),
            number(verdict.printed, 2),
            ratio(verdict.ratio.as_ref()).into(),
        ];
        let circumstances = printed.circumstances.iter();
        cells.extend(circumstances.map(|name| against(name, verdict).into()));
        cells.push(cause(verdict, &causes).into());
        grid.row(cells);
    }
    (!reversed.is_empty()).then_some(KnownDeviations {
        count: reversed.len(),
        grid,
        causes,
    })
}

/// The number, from 1, of an order's cause among these.
fn cause(verdict: &Verdict, causes: &[&str]) -> String {
    let place = |because| causes.iter().position(|it| *it == because);
    let place = verdict.because.as_deref().and_then(place);
    place.map_or_else(|| "not known".to_owned(), |place| (place + 1).to_string())
}

/// `0.987 | 0.991`: a metric of the one and of the other.
fn against(name: &str, verdict: &Verdict) -> String {
    let digits = words::digits(name);
    let mut circumstances = verdict.circumstances.iter();
    let both = circumstances.find(|(it, _)| it == name);
    let both = both.map_or([None; 2], |(_, both)| *both);
    let text = |value: Option<f64>| value.map_or(NONE.to_owned(), |it| format!("{it:.digits$}"));
    both.map(text).join(" | ")
}
