//! Rows of two sets that belong together.

use crate::results::{
    difference, metric, ratio, Estimate, Manifest, ResultSet, Results, Sense, Summary, Table,
};

/// Two sets of results.
pub(super) struct Comparison {
    pub(super) plans: Vec<Plan>,
    /// The plans that only A has, and those that only B has.
    pub(super) only: [Vec<String>; 2],
}

/// A plan that both sets have.
pub(super) struct Plan {
    pub(super) name: String,
    /// Inputs of A and B that differ.
    pub(super) unlike: Vec<(&'static str, [String; 2])>,
    pub(super) metrics: Vec<Metric>,
    /// Rows and controllers that only A has, and those that only B has.
    pub(super) only: [Vec<String>; 2],
}

/// All pairs of a metric.
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) pairs: Vec<Pair>,
}

/// The same row and controller in both.
pub(super) struct Pair {
    pub(super) line: String,
    pub(super) controller: String,
    pub(super) a: Summary,
    pub(super) b: Summary,
    /// B less A.
    pub(super) difference: Estimate,
    /// B over A.
    pub(super) ratio: Option<Estimate>,
}

/// Result of the comparison of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The same digits.
    Same,
    /// Nothing that chance does not explain.
    Alike,
    /// A single value on one side: no interval, no decision.
    Unknown,
    /// B is larger.
    More,
    /// B is smaller.
    Less,
}

impl Finding {
    pub(super) fn differs(self) -> bool {
        matches!(self, Finding::More | Finding::Less)
    }
}

impl Plan {
    /// Returns true if there are rows to compare.
    pub(super) fn has_rows(&self) -> bool {
        self.metrics.iter().any(|metric| !metric.pairs.is_empty())
    }
}

impl Pair {
    pub(super) fn finding(&self) -> Finding {
        if self.a == self.b {
            return Finding::Same;
        }
        match (self.difference.interval, self.difference.value > 0.0) {
            (None, _) => Finding::Unknown,
            _ if !self.difference.excludes(0.0) => Finding::Alike,
            (_, true) => Finding::More,
            (_, false) => Finding::Less,
        }
    }

    /// Returns true if B is better; `None` for a metric without a better direction, or without a
    /// difference.
    pub(super) fn better(&self, metric_name: &str) -> Option<bool> {
        let more = match self.finding() {
            Finding::More => true,
            Finding::Less => false,
            _ => return None,
        };
        match metric(metric_name)?.sense {
            Sense::More => Some(more),
            Sense::Less => Some(!more),
            Sense::Neither => None,
        }
    }
}

impl Comparison {
    /// Compares plans of the same name; of one plan each, these. `metrics`
    /// are the names of what is compared, or, if none, what A's plans show.
    pub(super) fn new(a: &ResultSet, b: &ResultSet, metrics: &[String]) -> Self {
        let mut only = [Vec::new(), Vec::new()];
        let mut plans = Vec::new();
        if let ([a], [b]) = (&a.plans[..], &b.plans[..]) {
            plans.push(Plan::new(a, b, metrics));
            return Comparison { plans, only };
        }
        let name = |results: &Results| results.manifest.plan.clone();
        let find = |set: &'_ ResultSet, wanted: &Results| {
            set.plans.iter().position(|it| name(it) == name(wanted))
        };
        for plan in &a.plans {
            match find(b, plan) {
                Some(place) => plans.push(Plan::new(plan, &b.plans[place], metrics)),
                None => only[0].push(name(plan)),
            }
        }
        only[1].extend(b.plans.iter().filter(|it| find(a, it).is_none()).map(name));
        Comparison { plans, only }
    }
}

impl Plan {
    fn new(a: &Results, b: &Results, metrics: &[String]) -> Self {
        let metrics = match metrics {
            [] => &a.manifest.metrics,
            metrics => metrics,
        };
        let mut only = [Vec::new(), Vec::new()];
        let metrics = metrics.iter().map(|name| Metric {
            name: name.clone(),
            pairs: pairs(&Table::new(a, name), &Table::new(b, name), &mut only),
        });
        let metrics: Vec<Metric> = metrics.collect();
        let names = [&a.manifest.plan, &b.manifest.plan];
        Plan {
            name: match names {
                [a, b] if a == b => a.clone(),
                [a, b] => format!("{a}, {b}"),
            },
            unlike: unlike(&a.manifest, &b.manifest),
            metrics,
            only,
        }
    }
}

/// Returns the inputs that differ and may explain different results.
fn unlike(a: &Manifest, b: &Manifest) -> Vec<(&'static str, [String; 2])> {
    let seeds = |manifest: &Manifest| format!("{:?}", manifest.seeds);
    let both = [
        ("plan hash", [a, b].map(|it| it.plan_hash.clone())),
        ("plan", [own_lines(a, b), own_lines(b, a)]),
        ("backend", [a, b].map(|it| it.backend.clone())),
        ("versions", [a, b].map(|it| it.versions.to_string())),
        ("seeds", [a, b].map(seeds)),
    ];
    both.into_iter().filter(|(_, [a, b])| a != b).collect()
}

/// The lines of a plan that another has not.
fn own_lines(plan: &Manifest, other: &Manifest) -> String {
    /// More than these are another plan.
    const MAX_LINES: usize = 8;
    let lines = |plan: &Manifest| -> Vec<String> {
        let lines = plan.files.iter().flat_map(|file| file.text.lines());
        let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.filter(|line| !line.is_empty()).collect()
    };
    let others = lines(other);
    let mut own = lines(plan);
    own.retain(|line| !line.starts_with('#') && !others.contains(line));
    match own.len() {
        0 => "nothing else".to_owned(),
        1..=MAX_LINES => own.join("; "),
        count => format!(
            "{}; and {} lines more",
            own[..MAX_LINES].join("; "),
            count - MAX_LINES
        ),
    }
}

/// Pairs cells; those that only one table has are added to `only`, once.
fn pairs(a: &Table, b: &Table, only: &mut [Vec<String>; 2]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (line, controller, summary) in cells(a) {
        match find(b, &line.labels, controller) {
            Some(other) => pairs.push(Pair {
                line: line.name(),
                controller: controller.to_owned(),
                a: summary,
                b: other,
                difference: difference(&other, &summary),
                ratio: ratio(&other, &summary),
            }),
            None => note(&mut only[0], &line.name(), controller),
        }
    }
    for (line, controller, _) in cells(b) {
        if find(a, &line.labels, controller).is_none() {
            note(&mut only[1], &line.name(), controller);
        }
    }
    pairs
}

fn cells(table: &Table) -> impl Iterator<Item = (&crate::results::Line, &str, Summary)> {
    table.lines.iter().flat_map(move |line| {
        let cells = table.controllers.iter().zip(&line.cells);
        cells.filter_map(move |(name, cell)| Some((line, name.as_str(), (*cell)?)))
    })
}

fn find(table: &Table, labels: &[(String, String)], controller: &str) -> Option<Summary> {
    let column = table
        .controllers
        .iter()
        .position(|name| name == controller)?;
    let line = table.lines.iter().find(|line| line.labels == labels)?;
    line.cells[column]
}

fn note(only: &mut Vec<String>, line: &str, controller: &str) {
    let name = match line {
        "" => controller.to_owned(),
        line => format!("{line}: {controller}"),
    };
    if !only.contains(&name) {
        only.push(name);
    }
}
