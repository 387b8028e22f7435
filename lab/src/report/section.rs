//! What a report has of each plan.

use std::path::Path;

use anyhow::Result;

use super::palette::Palette;
use super::plot::Figure;
use super::{bars, distribution, scenes, thesis, words};
use crate::results::{labels, Manifest, Results, Table};

/// A plan's part of the report.
pub(super) struct Section {
    pub(super) manifest: Manifest,
    pub(super) metrics: Vec<Shown>,
    /// The names of what else was set, and for each line of a table what it
    /// was set to.
    pub(super) settings: (Vec<String>, Vec<Vec<String>>),
    pub(super) distributions: Vec<Figure>,
    pub(super) scenes: scenes::Scenes,
    pub(super) thesis: Option<thesis::Thesis>,
    /// How many flows ended before their time.
    pub(super) failures: usize,
}

/// A metric with its table and what there is to see of it.
pub(super) struct Shown {
    pub(super) metric: String,
    pub(super) table: Table,
    pub(super) figures: Vec<Figure>,
}

/// What all figures of a plan have in common.
pub(super) struct Draft<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) palette: &'a Palette,
    pub(super) command: String,
}

impl Draft<'_> {
    /// A figure of this plan; `words` become the name of its files.
    pub(super) fn figure(
        &self,
        words: &[&str],
        title: String,
        caption: String,
        chart: super::plot::Chart,
    ) -> Figure {
        let words: Vec<String> = words.iter().map(|word| words::slug(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        Figure {
            name: format!("{}-{}", words::slug(&self.manifest.plan), words.join("-")),
            title,
            caption,
            command: self.command.clone(),
            chart,
        }
    }

    /// What the means of this plan are of.
    pub(super) fn sample(&self) -> String {
        let seeds = self.manifest.seeds.len();
        let backend = &self.manifest.backend;
        match seeds {
            1 => format!("One seed, {backend}."),
            _ => format!("Means of {seeds} seeds with their 95 % intervals, {backend}."),
        }
    }
}

impl Section {
    /// Makes the section of a plan whose flows over time are in `series`.
    ///
    /// # Errors
    ///
    /// A series that should be there and cannot be read.
    pub(super) fn new(results: &Results, palette: &Palette, series: &Path) -> Result<Self> {
        let Results { manifest, rows } = results;
        let draft = Draft {
            manifest,
            palette,
            command: format!("{} && petra-lab report", manifest.command),
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
            distributions: distribution::figures(&draft, results),
            scenes: scenes::Scenes::new(&draft, results, series)?,
            thesis: thesis::Thesis::new(&draft, results),
            failures: rows.iter().filter(|row| row.failure.is_some()).count(),
            metrics,
            manifest: manifest.clone(),
        })
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = &Figure> {
        let metrics = self.metrics.iter().flat_map(|shown| &shown.figures);
        let thesis = self.thesis.iter().flat_map(|thesis| thesis.figures());
        metrics
            .chain(&self.distributions)
            .chain(thesis)
            .chain(self.scenes.figures())
    }
}

/// What cases have set, beside the axes: a line of a table says it.
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
