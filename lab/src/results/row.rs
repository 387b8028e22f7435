//! One flow of one run, and the columns that it has in a file.

/// One flow of one run, with all that it takes to repeat it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The plan's name: its file's, without `.toml`.
    pub plan: String,
    /// Hash of the plan's points and seeds.
    pub plan_hash: String,
    /// Key of the run: the same key has the same figures.
    pub key: String,
    /// Backend of the run: `sim` or `netem`.
    pub backend: String,
    /// Of petra, quiche and the laboratory, with a hash of their sources.
    pub versions: String,
    /// The run's place among the plan's points, from 0. Runs of one point
    /// differ in nothing but their seed.
    pub point: u64,
    /// The name of the case, where the plan has cases.
    pub case: Option<String>,
    /// Seed of the run's random numbers.
    pub seed: u64,
    /// The flow's place in the scenario, from 0.
    pub flow: u64,
    /// The controller as the plan calls it.
    pub controller: String,
    /// The controller as quiche was asked for it, options included.
    pub cc: String,
    /// Reason for which the flow ended early, if it did.
    pub failure: Option<String>,
    /// Every field that the plan's sweeps and cases set, as the plan writes
    /// it, and the axes that have names: `("link.rate", "2mbit")`.
    pub settings: Vec<(String, String)>,
    /// Values by the names of [`METRICS`](super::METRICS); `None` for a metric that the backend
    /// does not support or that had nothing to measure.
    pub metrics: Vec<(String, Option<f64>)>,
    /// The case's reference columns: `("printed.petra", Some(17.1))`.
    pub references: Vec<(String, Option<f64>)>,
}

/// A value in a file of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A text; `""` for none.
    Text(&'a str),
    /// A whole number.
    Integer(u64),
    /// A number, or none.
    Number(Option<f64>),
}

/// Prefix of a setting in a column's name.
pub(super) const SETTING: &str = "set.";

/// Prefix of a reference in a column's name.
pub(super) const REFERENCE: &str = "ref.";

/// A column that every file of rows has: its head, and a row's cell.
type Fixed = (&'static str, fn(&Row) -> Cell<'_>);

/// The columns that every file of rows has, before the others.
pub(super) const FIXED: [Fixed; 12] = [
    ("plan", |row| Cell::Text(&row.plan)),
    ("plan_hash", |row| Cell::Text(&row.plan_hash)),
    ("key", |row| Cell::Text(&row.key)),
    ("backend", |row| Cell::Text(&row.backend)),
    ("versions", |row| Cell::Text(&row.versions)),
    ("point", |row| Cell::Integer(row.point)),
    ("case", |row| Cell::Text(row.case.as_deref().unwrap_or(""))),
    ("seed", |row| Cell::Integer(row.seed)),
    ("flow", |row| Cell::Integer(row.flow)),
    ("controller", |row| Cell::Text(&row.controller)),
    ("cc", |row| Cell::Text(&row.cc)),
    ("failure", |row| {
        Cell::Text(row.failure.as_deref().unwrap_or(""))
    }),
];

impl Row {
    /// Returns the value of the metric with this name.
    pub fn metric(&self, name: &str) -> Option<f64> {
        find(&self.metrics, name).copied().flatten()
    }

    /// Returns the setting of a field or a named axis.
    pub fn setting(&self, name: &str) -> Option<&str> {
        find(&self.settings, name).map(String::as_str)
    }

    /// The value of a reference column.
    pub fn reference(&self, name: &str) -> Option<f64> {
        find(&self.references, name).copied().flatten()
    }

    /// The heads of the row's columns. All rows of a plan have the same.
    pub fn heads(&self) -> Vec<String> {
        let fixed = FIXED.iter().map(|(head, _)| (*head).to_owned());
        let settings = self
            .settings
            .iter()
            .map(|(name, _)| format!("{SETTING}{name}"));
        let metrics = self.metrics.iter().map(|(name, _)| name.clone());
        let references = self
            .references
            .iter()
            .map(|(name, _)| format!("{REFERENCE}{name}"));
        fixed
            .chain(settings)
            .chain(metrics)
            .chain(references)
            .collect()
    }

    /// The row's cells, in the order of [`heads`](Self::heads).
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let fixed = FIXED.iter().map(|(_, cell)| cell(self));
        let settings = self.settings.iter().map(|(_, value)| Cell::Text(value));
        let metrics = self.metrics.iter().map(|(_, value)| Cell::Number(*value));
        let references = self
            .references
            .iter()
            .map(|(_, value)| Cell::Number(*value));
        fixed
            .chain(settings)
            .chain(metrics)
            .chain(references)
            .collect()
    }
}

fn find<'a, T>(pairs: &'a [(String, T)], name: &str) -> Option<&'a T> {
    pairs
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row with something in every column, or with nothing where it may.
    pub(in crate::results) fn row(full: bool) -> Row {
        let number = |value: f64| full.then_some(value);
        let text = |text: &str| full.then(|| text.to_owned());
        Row {
            plan: "table-4.2".into(),
            plan_hash: "1234".into(),
            key: "abcd".into(),
            backend: "sim".into(),
            versions: "petra 0.1.0, quiche 0.30.0".into(),
            point: 3,
            case: text("row 1"),
            seed: 7,
            flow: 0,
            controller: "one mechanism".into(),
            cc: "petra-thesis:faster_start=off,alpha=0.8".into(),
            failure: text("it said \"no\", twice"),
            settings: vec![("link.rate".into(), "2mbit".into())],
            metrics: vec![
                ("goodput_mbps".into(), number(1.0 / 3.0)),
                ("completion_s".into(), number(1e-12)),
            ],
            references: vec![("printed.petra".into(), number(17.1))],
        }
    }

    #[test]
    fn every_head_has_its_cell() {
        let row = row(true);
        let (heads, cells) = (row.heads(), row.cells());
        assert_eq!(heads.len(), cells.len());
        let cell = |head: &str| cells[heads.iter().position(|it| it == head).unwrap()];
        assert_eq!(cell("seed"), Cell::Integer(7));
        assert_eq!(cell("set.link.rate"), Cell::Text("2mbit"));
        assert_eq!(cell("goodput_mbps"), Cell::Number(Some(1.0 / 3.0)));
        assert_eq!(cell("ref.printed.petra"), Cell::Number(Some(17.1)));
        assert_eq!(row.metric("goodput_mbps"), Some(1.0 / 3.0));
        assert_eq!(row.setting("link.rate"), Some("2mbit"));
        assert_eq!(row.reference("printed.petra"), Some(17.1));
        assert_eq!(row.reference("printed.reno"), None);
    }
}
