//! Flows over time, read back.

use std::path::Path;

use anyhow::{ensure, Context, Result};

use crate::plot::downsample;

/// Number of parts of a flow's time, each with a few points.
const PARTS: usize = 150;

/// A flow over time. All columns have the same length; a `None` is where there
/// was no such thing at the moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    /// In seconds.
    pub(super) time: Vec<f64>,
    columns: Vec<(String, Vec<Option<f64>>)>,
}

impl Series {
    /// A part of the time.
    pub(super) fn between(&self, (from, to): (f64, f64)) -> Series {
        let inside: Vec<bool> = self
            .time
            .iter()
            .map(|it| (from..=to).contains(it))
            .collect();
        fn part<T: Copy>(values: &[T], inside: &[bool]) -> Vec<T> {
            let values = values.iter().zip(inside);
            values.filter(|(_, it)| **it).map(|(it, _)| *it).collect()
        }
        let columns = self.columns.iter();
        Series {
            time: part(&self.time, &inside),
            columns: columns
                .map(|(name, values)| (name.clone(), part(values, &inside)))
                .collect(),
        }
    }

    /// The points of a column, each times `factor`, downsample out.
    pub(super) fn points(&self, column: &str, factor: f64) -> Vec<(f64, f64)> {
        let points = self.column(column);
        let points = points.map(|(time, value)| (time, value * factor));
        downsample(points.collect(), PARTS)
    }

    /// Returns the values of a column.
    pub(super) fn values(&self, column: &str) -> Vec<f64> {
        self.column(column).map(|(_, value)| value).collect()
    }

    /// Returns the growth per second of a column that counts, in each of `parts` equal parts of the
    /// time, times `factor`.
    pub(super) fn growth(&self, column: &str, parts: usize, factor: f64) -> Vec<(f64, f64)> {
        let points: Vec<(f64, f64)> = self.column(column).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Vec::new();
        };
        // A little early is in time: samples' times are rounded.
        let long = (last.0 - first.0) / parts as f64 * 0.999;
        let mut growth = Vec::new();
        let mut before = *first;
        for (time, count) in points.into_iter().skip(1) {
            let passed = time - before.0;
            if passed > 0.0 && passed >= long {
                let rate = (count - before.1) / passed * factor;
                growth.push((before.0 + passed / 2.0, rate));
                before = (time, count);
            }
        }
        growth
    }

    /// The times at which there was something in a column, and what.
    fn column(&self, name: &str) -> impl Iterator<Item = (f64, f64)> + '_ {
        let values = self.columns.iter().find(|(head, _)| head == name);
        let values = values.map_or(&[][..], |(_, values)| values);
        let points = self.time.iter().zip(values);
        points.filter_map(|(time, value)| Some((*time, (*value)?)))
    }
}

/// The flows of a run, in their order.
///
/// # Errors
///
/// A file that is not there or not of this kind, with its place.
pub(super) fn read(path: &Path) -> Result<Vec<Series>> {
    let file = path.display();
    let mut reader =
        csv::Reader::from_path(path).with_context(|| format!("cannot read the series {file}"))?;
    let heads = reader.headers().with_context(|| file.to_string())?.clone();
    let place = |name: &str| heads.iter().position(|head| head == name);
    let (flow, time) = place("flow")
        .zip(place("seconds"))
        .with_context(|| format!("{file}: no columns `flow` and `seconds`; expected a series"))?;
    let mut flows: Vec<Series> = Vec::new();
    for record in reader.records() {
        let record = record.with_context(|| file.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let number = |cell: usize| {
            record[cell].parse::<f64>().with_context(|| {
                let (text, head) = (&record[cell], &heads[cell]);
                format!("{file}, line {line}: `{head}` is `{text}`, no number")
            })
        };
        let index = number(flow)? as usize;
        ensure!(
            index <= flows.len(),
            "{file}, line {line}: flow {index} is out of order"
        );
        if index == flows.len() {
            flows.push(Series::default());
        }
        let series = &mut flows[index];
        series.time.push(number(time)?);
        let mut columns = (0..heads.len()).filter(|cell| *cell != flow && *cell != time);
        if series.columns.is_empty() {
            let names = columns
                .clone()
                .map(|cell| (heads[cell].to_owned(), Vec::new()));
            series.columns = names.collect();
        }
        for (_, values) in &mut series.columns {
            let cell = columns.next().context("a column for each head")?;
            // Controllers' names are no numbers, and are in the rows.
            let value = record[cell].parse().ok();
            values.push(value);
        }
    }
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn written(text: &str) -> Result<Vec<Series>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn flows_come_back_with_their_columns() {
        let text = "flow,cc,seconds,cwnd_bytes,body_bytes\n0,a,1,1000,0\n0,a,2,,500\n\
                    0,a,3,3000,1500\n1,b,1,7,0\n";
        let flows = written(text).unwrap();
        assert_eq!(flows.len(), 2);
        assert_eq!(
            flows[0].points("cwnd_bytes", 1e-3),
            [(1.0, 1.0), (3.0, 3.0)]
        );
        assert_eq!(
            flows[0].growth("body_bytes", 2, 8.0),
            [(1.5, 4000.0), (2.5, 8000.0)]
        );
        let part = flows[0].between((1.5, 3.0));
        assert_eq!(
            part.points("body_bytes", 1.0),
            [(2.0, 500.0), (3.0, 1500.0)]
        );
        assert_eq!(flows[0].points("rtt_ms", 1.0), []);
        assert_eq!(flows[1].values("cwnd_bytes"), [7.0]);
    }

    #[test]
    fn what_is_no_series_is_refused_with_its_place() {
        let error = |text: &str| format!("{:#}", written(text).unwrap_err());
        assert!(error("a,b\n1,2\n").contains("no columns `flow` and `seconds`"));
        assert!(error("flow,seconds\n0,soon\n").contains("line 2: `seconds` is `soon`"));
        assert!(error("flow,seconds\n3,1\n").contains("out of order"));
        assert!(error("flow,seconds\n0\n").contains("run.csv"));
    }
}
