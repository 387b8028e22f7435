//! A metric's means as bars.

use std::collections::BTreeMap;

use super::section::Draft;
use super::words;
use crate::plot::{Chart, Figure, Form, Group, Mark, Rows, Scale, Series};
use crate::results::{Line, Summary, Table};

/// More than this is a table's, not a picture's.
const CONTROLLERS: usize = 12;
const GROUPS: usize = 30;
const FIGURES: usize = 8;

/// Bars of one figure, which fits on a page with its legend and its caption.
const BARS: usize = 48;

/// Maximum number of lines that are one figure, whatever they differ in.
const TOGETHER: usize = 8;

/// The bars of a metric: a figure for each place on the axes, or a single one
/// when there are few. Where there would be too many, one with what each
/// direction does by itself.
pub(super) fn figures(draft: &Draft, metric: &str, table: &Table) -> Vec<Figure> {
    let measured = |line: &&Line| line.cells.iter().any(Option::is_some);
    let lines: Vec<&Line> = table.lines.iter().filter(measured).collect();
    let parts = parts(&lines);
    let groups = parts.values().map(|(_, lines)| lines.len()).max();
    if table.controllers.len() > CONTROLLERS || lines.is_empty() {
        return Vec::new();
    }
    if groups.unwrap_or(0) > GROUPS || parts.len() > FIGURES {
        return effects(draft, metric, table);
    }
    let figures = parts.values().flat_map(|(name, lines)| {
        let title = match name.as_str() {
            "" => words::title(metric),
            name => format!("{}: {name}", words::title(metric)),
        };
        let rows = match &lines[..] {
            [(_, line)] if parts.len() == 1 => single(draft, metric, table, line),
            lines => many(draft, metric, table, lines),
        };
        paged(draft, &[metric, name], &title, &draft.sample(), rows)
    });
    figures.collect()
}

/// A chart as figures that fit on a page.
fn paged(draft: &Draft, parts: &[&str], title: &str, caption: &str, rows: Rows) -> Vec<Figure> {
    let pages = pages(rows);
    let many = pages.len();
    let figure = |(page, rows): (usize, Rows)| {
        let title = match many {
            1 => title.to_owned(),
            _ => format!("{title} ({} of {many})", page + 1),
        };
        draft.figure(parts, title, caption.to_owned(), Chart::Rows(rows))
    };
    pages.into_iter().enumerate().map(figure).collect()
}

/// The groups in parts of about the same length, with the axis of all of them.
fn pages(rows: Rows) -> Vec<Rows> {
    let most = (BARS / rows.series.len()).max(1);
    let pages = rows.groups.len().div_ceil(most).max(1);
    if pages == 1 {
        return vec![rows];
    }
    let groups = rows.groups.chunks(rows.groups.len().div_ceil(pages));
    let page = |groups: &[Group]| Rows {
        groups: groups.to_vec(),
        whole: Some(rows.groups.clone()),
        ..rows.clone()
    };
    groups.map(page).collect()
}

/// A group of bars for each place of each direction: the means over all lines
/// that have it, whatever else they have.
fn effects(draft: &Draft, metric: &str, table: &Table) -> Vec<Figure> {
    let mut groups: Vec<(&(String, String), Vec<&Line>)> = Vec::new();
    let directions = table.lines.first().map_or(0, |line| line.labels.len());
    for direction in 0..directions {
        for line in &table.lines {
            let label = &line.labels[direction];
            match groups.iter_mut().find(|(it, _)| *it == label) {
                Some((_, lines)) => lines.push(line),
                None => groups.push((label, vec![line])),
            }
        }
    }
    let mean = |lines: &[&Line], column: usize| {
        let cells = lines.iter().filter_map(|line| line.cells[column]);
        let means: Vec<f64> = cells.map(|cell| cell.mean).collect();
        let value = means.iter().sum::<f64>() / means.len() as f64;
        (!means.is_empty()).then_some(Mark {
            value,
            interval: None,
        })
    };
    let columns = 0..table.controllers.len();
    let groups = groups.iter().map(|((axis, label), lines)| Group {
        label: match axis.as_str() {
            "case" => label.clone(),
            axis => format!("{} {label}", words::setting(axis)),
        },
        ink: None,
        marks: columns.clone().map(|it| mean(lines, it)).collect(),
    });
    let groups: Vec<Group> = groups.collect();
    if groups.is_empty() || groups.len() > GROUPS {
        return Vec::new();
    }
    let rows = Rows {
        scale: scale(metric),
        base: 0.0,
        series: series(draft, table),
        groups,
        whole: None,
    };
    let backend = &draft.manifest.backend;
    let title = format!("{}: each setting by itself", words::title(metric));
    let caption = format!("Each bar is the mean over all rows with this setting, {backend}.");
    paged(draft, &[metric, "by each"], &title, &caption, rows)
}

fn series(draft: &Draft, table: &Table) -> Vec<Series> {
    let series = table.controllers.iter().map(|name| {
        let look = draft.palette.look(name);
        Series {
            name: name.clone(),
            ink: look.ink,
            form: Form::Bar(Some(look.shape)),
        }
    });
    series.collect()
}

/// Lines by what becomes a figure each; in a figure they are told apart by the
/// rest of their labels.
type Parts<'a> = BTreeMap<usize, (String, Vec<(String, &'a Line)>)>;

fn parts<'a>(lines: &[&'a Line]) -> Parts<'a> {
    // The direction with the most places stays together.
    let directions = lines.first().map_or(0, |line| line.labels.len());
    let places = |direction: usize| {
        let mut labels: Vec<&str> = Vec::new();
        for line in lines {
            let label = line.labels[direction].1.as_str();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels.len()
    };
    let longest = (0..directions)
        .rev()
        .max_by_key(|direction| places(*direction));
    let mut parts = Parts::new();
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        let (apart, within) = match longest {
            Some(longest) if lines.len() > TOGETHER => {
                let others = (0..directions).filter(|direction| *direction != longest);
                let others: Vec<String> = others.map(|it| label(line, it)).collect();
                (others.join(", "), label(line, longest))
            }
            _ => (String::new(), line.name()),
        };
        let place = names.iter().position(|name| *name == apart);
        let place = place.unwrap_or_else(|| {
            names.push(apart.clone());
            names.len() - 1
        });
        let part = parts.entry(place).or_insert_with(|| (apart, Vec::new()));
        part.1.push((within, *line));
    }
    parts
}

fn label(line: &Line, direction: usize) -> String {
    let (axis, label) = &line.labels[direction];
    match axis.as_str() {
        "case" => label.clone(),
        axis => format!("{} {label}", words::setting(axis)),
    }
}

fn scale(metric: &str) -> Scale {
    Scale {
        label: words::title(metric),
        log: false,
    }
}

/// A bar for each controller, with its name next to it.
fn single(draft: &Draft, metric: &str, table: &Table, line: &Line) -> Rows {
    let groups = table.controllers.iter().zip(&line.cells);
    let groups = groups.map(|(name, cell)| Group {
        label: name.clone(),
        ink: Some(draft.palette.of(name)),
        marks: vec![cell.map(|cell| mark(metric, cell))],
    });
    Rows {
        scale: scale(metric),
        base: 0.0,
        series: vec![Series {
            name: words::title(metric),
            ink: crate::plot::palette::MUTED,
            form: Form::Bar(None),
        }],
        groups: groups.collect(),
        whole: None,
    }
}

/// A group of bars for each line.
fn many(draft: &Draft, metric: &str, table: &Table, lines: &[(String, &Line)]) -> Rows {
    let groups = lines.iter().map(|(label, line)| Group {
        label: label.clone(),
        ink: None,
        marks: (line.cells.iter())
            .map(|cell| cell.map(|cell| mark(metric, cell)))
            .collect(),
    });
    Rows {
        scale: scale(metric),
        base: 0.0,
        series: series(draft, table),
        groups: groups.collect(),
        whole: None,
    }
}

fn mark(metric: &str, summary: Summary) -> Mark {
    Mark {
        value: summary.mean,
        interval: words::interval(metric, &summary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::palette::MUTED;

    fn rows(series: usize, groups: usize) -> Rows {
        let series = (0..series).map(|_| Series {
            name: String::new(),
            ink: MUTED,
            form: Form::Bar(None),
        });
        let groups = (0..groups).map(|number| Group {
            label: number.to_string(),
            ink: None,
            marks: Vec::new(),
        });
        Rows {
            scale: scale("goodput_mbps"),
            base: 0.0,
            series: series.collect(),
            groups: groups.collect(),
            whole: None,
        }
    }

    #[test]
    fn a_long_chart_has_parts_that_fit_on_a_page() {
        let lengths = |series, groups| {
            let pages = pages(rows(series, groups));
            let length = |page: &Rows| page.groups.len();
            pages.iter().map(length).collect::<Vec<_>>()
        };
        assert_eq!(lengths(9, 12), [4, 4, 4]);
        assert_eq!(lengths(9, 11), [4, 4, 3]);
        assert_eq!(lengths(9, 5), [5]);
        assert_eq!(lengths(100, 2), [1, 1]);
        let [first, _] = &pages(rows(12, 7))[..] else {
            panic!("two parts");
        };
        assert_eq!(first.whole.as_ref().map(Vec::len), Some(7));
        assert!(pages(rows(9, 5))[0].whole.is_none());
    }
}
