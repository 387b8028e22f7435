//! The section of a plan in a report.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::Path;

use anyhow::Result;

use super::{bars, distribution, frontier, printed, run_groups, words};
use crate::plot::palette::Palette;
use crate::plot::{Chart, Figure};
use crate::results::{labels, Manifest, Metric, Results, Row, Table, METRICS};
use crate::shell;

/// The most settings that are columns of tables.
const MAX_COLUMNS: usize = 4;

/// Characters of the longest value of a setting that is a column.
const MAX_COLUMN_VALUE_CHARS: usize = 16;

/// A plan's part of the report.
pub(super) struct Section {
    pub(super) manifest: Manifest,
    /// The command that makes the results again where they are.
    pub(super) made: String,
    pub(super) metrics: Vec<Shown>,
    /// The names of what else was set, and for each line of a table what it
    /// was set to.
    pub(super) settings: (Vec<String>, Vec<Vec<String>>),
    pub(super) frontiers: Vec<Figure>,
    pub(super) distributions: Vec<Figure>,
    pub(super) run_groups: run_groups::RunGroups,
    /// Printed values next to measured ones.
    pub(super) comparison: Option<printed::Comparison>,
    /// The runs whose qlogs are there.
    pub(super) traces: Vec<Traces>,
    /// Number of flows that ended early.
    pub(super) failures: usize,
}

/// The qlogs of a run.
pub(super) struct Traces {
    /// Description of the run.
    pub(super) run: String,
    /// The folder, from that of the results.
    pub(super) folder: String,
    /// The copies for qvis in the folder.
    pub(super) copies: Vec<String>,
}

/// A metric with its table and its figures.
pub(super) struct Shown {
    pub(super) metric: String,
    pub(super) table: Table,
    pub(super) figures: Vec<Figure>,
}

/// Data that all figures of a plan share.
pub(super) struct Draft<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) palette: &'a Palette,
    pub(super) command: String,
    pub(super) names: &'a Names,
}

/// The names of files that are taken.
#[derive(Default)]
pub(super) struct Names(RefCell<BTreeSet<String>>);

impl Names {
    /// The name, with a number when another file has it.
    pub(super) fn take(&self, name: String) -> String {
        let mut taken = self.0.borrow_mut();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let names = iter::once(name.clone()).chain(numbered);
        let free = names.into_iter().find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        free
    }
}

impl Draft<'_> {
    /// A figure of this plan; `parts` become the name of its files.
    pub(super) fn figure(
        &self,
        parts: &[&str],
        title: String,
        caption: String,
        chart: Chart,
    ) -> Figure {
        let words = iter::once(self.manifest.plan.as_str()).chain(parts.iter().copied());
        let words = words.map(words::slug);
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        Figure {
            name: self.names.take(words.join("-")),
            title,
            caption,
            command: self.command.clone(),
            chart,
        }
    }

    /// Describes the samples behind the means of this plan.
    pub(super) fn sample(&self) -> String {
        let seeds = self.manifest.seeds.len();
        let backend = &self.manifest.backend;
        match seeds {
            1 => format!("One seed, {backend}: a difference may be chance."),
            _ => format!("Means of {seeds} seeds with their 95 % intervals, {backend}."),
        }
    }
}

impl Section {
    /// Makes the section of a plan whose results are in `folder`.
    ///
    /// # Errors
    ///
    /// A series that should be there and cannot be read.
    pub(super) fn new(
        results: &Results,
        palette: &Palette,
        names: &Names,
        folder: &Path,
    ) -> Result<Self> {
        let Results { manifest, rows } = results;
        let made = manifest.made_in(folder);
        let draft = Draft {
            manifest,
            palette,
            names,
            command: format!("{made} && petra-lab report {}", shell::path(folder)),
        };
        let shown = |metric: &String| {
            let table = Table::new(results, metric);
            let figures = bars::figures(&draft, metric, &table);
            Shown {
                metric: metric.clone(),
                table,
                figures,
            }
        };
        let metrics: Vec<Shown> = manifest.metrics.iter().map(shown).collect();
        Ok(Section {
            settings: settings(results),
            frontiers: frontier::figures(&draft, results),
            distributions: distribution::figures(&draft, results),
            run_groups: run_groups::RunGroups::new(&draft, results, &folder.join("series"))?,
            comparison: printed::Comparison::new(&draft, results),
            traces: traces(results, folder),
            failures: rows.iter().filter(|row| row.failure.is_some()).count(),
            metrics,
            manifest: manifest.clone(),
            made,
        })
    }

    /// Is there no interval, with which anything could be decided?
    pub(super) fn is_one_seed(&self) -> bool {
        self.manifest.seeds.len() == 1
    }

    /// Do the seeds differ in any figure?
    pub(super) fn spreads(&self) -> bool {
        let mut metrics = self.metrics.iter();
        metrics.any(|shown| shown.table.spreads(words::digits(&shown.metric)))
    }

    /// Are the settings few and short enough to be columns of the tables?
    pub(super) fn settings_are_columns(&self) -> bool {
        let (names, lines) = &self.settings;
        let short = |value: &String| value.chars().count() <= MAX_COLUMN_VALUE_CHARS;
        names.len() <= MAX_COLUMNS && lines.iter().flatten().all(short)
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = &Figure> {
        let metrics = self.metrics.iter().flat_map(|shown| &shown.figures);
        let comparison = self.comparison.iter().flat_map(|it| it.figures());
        metrics
            .chain(&self.frontiers)
            .chain(&self.distributions)
            .chain(comparison)
            .chain(self.run_groups.figures())
    }
}

/// The runs whose qlogs were kept.
fn traces(results: &Results, folder: &Path) -> Vec<Traces> {
    let Results { manifest, rows } = results;
    let traces = |row: &Row| {
        let place = format!("qlog/{}", row.key);
        let copies = copies(&folder.join(&place));
        let labels = labels(manifest, row).into_iter().map(|(_, label)| label);
        let words = labels.chain([row.controller.clone(), format!("seed {}", row.seed)]);
        (!copies.is_empty()).then(|| Traces {
            run: words.collect::<Vec<_>>().join(", "),
            copies,
            folder: place,
        })
    };
    let runs = rows.iter().filter(|row| row.flow == 0);
    runs.filter_map(traces).collect()
}

/// The names of the copies for qvis in a folder; none where it cannot be read.
fn copies(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(petra_qlog::QVIS_SUFFIX))
        .collect();
    names.sort();
    names
}

/// Returns the settings of cases, apart from the axes, as a table.
fn settings(results: &Results) -> (Vec<String>, Vec<Vec<String>>) {
    let Results { manifest, rows } = results;
    let is_axis = |name: &String| {
        let mut axes = manifest.axes.iter();
        axes.any(|axis| axis.name == *name || axis.fields.contains(name))
    };
    let names: Vec<String> = rows.first().map_or(Vec::new(), |row| {
        let names = row.settings.iter().map(|(name, _)| name.clone());
        names.filter(|name| !is_axis(name)).collect()
    });
    let mut lines = Vec::new();
    let mut values = Vec::new();
    for row in rows {
        let labels = labels(manifest, row);
        if !lines.contains(&labels) {
            lines.push(labels);
            let value = |name: &String| row.setting(name).unwrap_or_default().to_owned();
            values.push(names.iter().map(value).collect());
        }
    }
    (names, values)
}

/// The metrics of all sections, each once, in their usual order.
pub(super) fn shown(sections: &[Section]) -> impl Iterator<Item = &'static Metric> + '_ {
    METRICS.iter().filter(|metric| {
        let mut shown = sections.iter().flat_map(|section| &section.metrics);
        shown.any(|it| it.metric == metric.name)
    })
}
