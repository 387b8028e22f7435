//! Rows as comma-separated values (RFC 4180), and back.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{bail, ensure, Context, Result};

use super::row::{Cell, Row, FIXED, REFERENCE, SETTING};

/// Writes a head and the rows. The same rows give the same bytes: a number is
/// the shortest text that reads as that number.
///
/// # Errors
///
/// What cannot be written.
pub fn write_csv(rows: &[Row], out: &mut (dyn Write + Send)) -> Result<()> {
    let mut writer = ::csv::Writer::from_writer(out);
    if let Some(first) = rows.first() {
        writer.write_record(first.heads())?;
    }
    for row in rows {
        writer.write_record(row.cells().into_iter().map(text))?;
    }
    Ok(writer.flush()?)
}

fn text(cell: Cell) -> String {
    match cell {
        Cell::Text(text) => text.to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Number(number) => number.map_or_else(String::new, |number| number.to_string()),
    }
}

/// Reads what [`write_csv`] has written.
///
/// # Errors
///
/// A file that cannot be read, that is cut off or lacks a column, or a cell
/// that is not a number where one belongs; with file and line.
pub fn read_csv(path: &Path) -> Result<Vec<Row>> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    // Half of a last number is a number.
    ensure!(
        text.is_empty() || text.ends_with(b"\n"),
        "{}: the last line is cut off",
        path.display()
    );
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let heads = Heads::new(reader.headers()?).with_context(|| path.display().to_string())?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.with_context(|| path.display().to_string())?;
        let line = record.position().map_or(0, ::csv::Position::line);
        let row = heads.row(&record);
        rows.push(row.with_context(|| format!("{}, line {line}", path.display()))?);
    }
    Ok(rows)
}

/// Index of each column.
struct Heads {
    fixed: HashMap<&'static str, usize>,
    settings: Vec<(String, usize)>,
    metrics: Vec<(String, usize)>,
    references: Vec<(String, usize)>,
}

impl Heads {
    fn new(heads: &::csv::StringRecord) -> Result<Self> {
        let (mut fixed, mut settings) = (HashMap::new(), Vec::new());
        let (mut metrics, mut references) = (Vec::new(), Vec::new());
        for (place, head) in heads.iter().enumerate() {
            if let Some((name, _)) = FIXED.iter().find(|(name, _)| *name == head) {
                fixed.insert(*name, place);
            } else if let Some(name) = head.strip_prefix(SETTING) {
                settings.push((name.to_owned(), place));
            } else if let Some(name) = head.strip_prefix(REFERENCE) {
                references.push((name.to_owned(), place));
            } else {
                metrics.push((head.to_owned(), place));
            }
        }
        if let Some((name, _)) = FIXED.iter().find(|(name, _)| !fixed.contains_key(name)) {
            bail!("column `{name}`: missing; expected a file of results");
        }
        Ok(Heads {
            fixed,
            settings,
            metrics,
            references,
        })
    }

    fn row(&self, record: &::csv::StringRecord) -> Result<Row> {
        // The reader sees to it that all records are as long as the head.
        let fixed = |name: &str| &record[self.fixed[name]];
        let text = |name: &str| fixed(name).to_owned();
        let maybe = |name: &str| Some(text(name)).filter(|text| !text.is_empty());
        let whole = |name: &str| {
            let text = fixed(name);
            text.parse()
                .with_context(|| format!("`{name}` is `{text}`, no whole number"))
        };
        let numbers = |columns: &[(String, usize)]| {
            let cell = |(name, place): &(String, usize)| {
                Ok((name.clone(), number(name, &record[*place])?))
            };
            columns.iter().map(cell).collect::<Result<Vec<_>>>()
        };
        Ok(Row {
            plan: text("plan"),
            plan_hash: text("plan_hash"),
            key: text("key"),
            backend: text("backend"),
            versions: text("versions"),
            point: whole("point")?,
            case: maybe("case"),
            seed: whole("seed")?,
            flow: whole("flow")?,
            controller: text("controller"),
            cc: text("cc"),
            failure: maybe("failure"),
            settings: self
                .settings
                .iter()
                .map(|(name, place)| (name.clone(), record[*place].to_owned()))
                .collect(),
            metrics: numbers(&self.metrics)?,
            references: numbers(&self.references)?,
        })
    }
}

fn number(name: &str, text: &str) -> Result<Option<f64>> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse();
    Ok(Some(number.with_context(|| {
        format!("`{name}` is `{text}`, no number")
    })?))
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::row;
    use super::*;

    fn written(rows: &[Row]) -> String {
        let mut out = Vec::new();
        write_csv(rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn read(text: &str) -> Result<Vec<Row>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        fs::write(&path, text).unwrap();
        read_csv(&path)
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = [row(true), row(false)];
        assert_eq!(read(&written(&rows)).unwrap(), rows);
    }

    #[test]
    fn what_is_no_file_of_rows_is_refused_with_its_place() {
        let error = read("a,b\n1,2\n").unwrap_err();
        assert!(
            format!("{error:#}").contains("column `plan`: missing"),
            "{error:#}"
        );
        let broken = written(&[row(true), row(true)]).replacen(",17.1", ",many", 2);
        let error = read(&broken).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("line 2") && text.contains("`many`"), "{text}");
        let short = written(&[row(true)]).replace(",17.1", "");
        assert!(read(&short).is_err());
        let whole = written(&[row(true)]);
        let error = read(&whole[..whole.len() - 1]).unwrap_err();
        assert!(error.to_string().contains("cut off"), "{error:#}");
    }
}
