//! Tables for papers: LaTeX and CSV, a file each for each metric.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::section::{Names, Section, Shown};
use super::words;
use crate::results::{write_whole, Summary};

/// Writes the tables of all metrics, and returns their number.
///
/// # Errors
///
/// A folder or a file that cannot be written.
pub(super) fn write(sections: &[Section], folder: &Path) -> Result<usize> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let names = Names::default();
    let mut count = 0;
    for section in sections {
        for shown in &section.metrics {
            let slug = words::slug(&format!("{} {}", section.manifest.plan, shown.metric));
            let name = names.take(slug);
            let file = |kind: &str| folder.join(format!("{name}.{kind}"));
            let latex = latex(section, shown);
            write_whole(&file("tex"), |out| Ok(out.write_all(latex.as_bytes())?))?;
            write_whole(&file("csv"), |out| csv(shown, out))?;
            count += 1;
        }
    }
    Ok(count)
}

/// A table that needs no package: a `tabular` with its caption, after the command as a comment.
fn latex(section: &Section, shown: &Shown) -> String {
    let table = &shown.table;
    let labels = table.lines.first().map_or(0, |line| line.labels.len());
    let digits = words::digits(&shown.metric);
    let row = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let axes = table
        .lines
        .first()
        .into_iter()
        .flat_map(|line| &line.labels);
    let heads = axes.map(|(axis, _)| words::setting(axis).to_owned());
    let heads = heads.chain(table.controllers.iter().cloned());
    let mut body = row(heads.map(|head| escaped(&head)).collect());
    body += "\\hline\n";
    for line in &table.lines {
        let labels = line.labels.iter().map(|(_, label)| escaped(label));
        let cells = line.cells.iter().map(|cell| value(cell.as_ref(), digits));
        body += &row(labels.chain(cells).collect());
    }
    let seeds = words::count(section.manifest.seeds.len(), "seed");
    let caption = format!(
        "{}. {}: mean and 95 % interval (Student's t) over {seeds}, {}.",
        section.manifest.title,
        words::heading(&shown.metric),
        section.manifest.backend
    );
    format!(
        "% {}\n\\begin{{table}}\n\\centering\n\\begin{{tabular}}{{{}{}}}\n\\hline\n{body}\\hline\n\
         \\end{{tabular}}\n\\caption{{{}}}\n\\end{{table}}\n",
        section.made.replace('\n', " "),
        "l".repeat(labels),
        "r".repeat(table.controllers.len()),
        escaped(&caption)
    )
}

fn value(cell: Option<&Summary>, digits: usize) -> String {
    match cell {
        None => "--".to_owned(),
        Some(summary) => {
            let mean = format!("{:.digits$}", summary.mean);
            match summary.spread(digits) {
                Some(half) => format!("${mean} \\pm {half:.digits$}$"),
                None => format!("${mean}$"),
            }
        }
    }
}

/// Text as LaTeX has it, on one line: an empty line would end the paragraph, and a caption has one.
fn escaped(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let mut out = String::new();
    for letter in line.join(" ").chars() {
        match letter {
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            // The font of OT1, which is the default, has other signs in their places.
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '|' => out += "\\textbar{}",
            // After `\\`, even on the line before, they would be its arguments.
            '*' | '[' => out.extend(['{', letter, '}']),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            letter => out.push(letter),
        }
    }
    out
}

/// A line for each cell: labels, controller, mean, half of the interval, and count.
fn csv(shown: &Shown, out: &mut dyn std::io::Write) -> Result<()> {
    let mut out = ::csv::Writer::from_writer(out);
    let table = &shown.table;
    let first = table.lines.first();
    let axes = first.into_iter().flat_map(|line| &line.labels);
    let heads = axes.map(|(axis, _)| axis.as_str());
    let rest = ["controller", "metric", "mean", "interval", "runs"];
    out.write_record(heads.chain(rest))?;
    for line in &table.lines {
        for (controller, cell) in table.controllers.iter().zip(&line.cells) {
            let labels = line.labels.iter().map(|(_, label)| label.clone());
            let number = |value: Option<f64>| value.map_or_else(String::new, |it| it.to_string());
            let rest = [
                controller.clone(),
                shown.metric.clone(),
                number(cell.map(|it| it.mean)),
                number(cell.and_then(|it| it.interval)),
                cell.map_or_else(String::new, |it| it.count.to_string()),
            ];
            out.write_record(labels.chain(rest))?;
        }
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text_in_latex() {
        assert_eq!(escaped("0.5 % of a_b {x}"), "0.5 \\% of a\\_b \\{x\\}");
        assert_eq!(escaped("a\\b~c"), "a\\textbackslash{}b\\textasciitilde{}c");
        assert_eq!(escaped("*a [b] <|"), "{*}a {[}b] \\textless{}\\textbar{}");
        assert_eq!(escaped("a title\n\nof two\tlines"), "a title of two lines");
    }

    #[test]
    fn a_value_has_its_interval_and_a_missing_one_is_a_dash() {
        let summary = Summary::new(&[1.0, 2.0, 3.0]);
        assert_eq!(value(summary.as_ref(), 1), "$2.0 \\pm 2.5$");
        assert_eq!(value(None, 1), "--");
    }
}
