//! The numbers of a report as Markdown, for a page that has words around them.

mod effects;
mod metrics;
mod printed;

use std::fs;
use std::path::Path;

use anyhow::{ensure, Context, Result};

use super::printed_tables::Overview;
use super::section::{shown, Section};
use super::words;
use crate::results::{write_whole, Results};

/// Marks before and after the numbers in a page.
const BEGIN: &str = "<!-- numbers -->";
const END: &str = "<!-- end of numbers -->";

/// Puts the numbers into the page at `path`, between its marks. A page that is not there is begun,
/// with words about how to read it.
///
/// # Errors
///
/// A page without marks, or one that cannot be read or written.
pub(super) fn write(path: &Path, sections: &[Section], plans: &[Results]) -> Result<()> {
    let page = match path.exists() {
        true => {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        false => format!("{}{BEGIN}\n{END}\n", legend(sections)),
    };
    let marks = page.find(BEGIN).zip(page.find(END));
    let marks = marks.filter(|(begin, end)| begin < end);
    ensure!(
        marks.is_some(),
        "{} has no place for the numbers: a line `{BEGIN}` and after it a line `{END}`",
        path.display()
    );
    let (begin, end) = marks.unwrap_or_default();
    let (before, after) = (&page[..begin + BEGIN.len()], &page[end..]);
    let page = format!("{before}\n\n{}{after}", numbers(sections, plans));
    write_whole(path, |file| Ok(file.write_all(page.as_bytes())?))
}

/// The meaning of numbers, columns and metrics. A page that exists has words of its own.
fn legend(sections: &[Section]) -> String {
    let mut text = "How to read the tables: a column is a congestion controller, and options follow a \
                    colon. Numbers are means over the seeds, with 95 % intervals (Student's t). A dash \
                    is a value that was not measured.\n\n"
        .to_owned();
    for metric in shown(sections) {
        text += &format!("- {}: {}\n", words::title(metric.name), metric.meaning());
    }
    text + "\n"
}

fn numbers(sections: &[Section], plans: &[Results]) -> String {
    let overviews = Overview::all(sections);
    let mut text: String = overviews.iter().map(printed::overview).collect();
    for (section, results) in sections.iter().zip(plans) {
        let manifest = &section.manifest;
        let seeds = words::count(manifest.seeds.len(), "seed");
        text += &format!(
            "## {}\n\n    {}\n\n{seeds}, {}, plan {}.\n\n",
            manifest.title, section.made, manifest.backend, manifest.plan_hash
        );
        text += &match &section.comparison {
            Some(comparison) => printed::tables(section, comparison),
            None => effects::tables(results).unwrap_or_else(|| metrics::tables(section)),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_between_the_marks_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        let page = format!("# Words\n{BEGIN}\nold\n{END}\nMore.\n");
        fs::write(&path, page).unwrap();
        write(&path, &[], &[]).unwrap();
        let expected = format!("# Words\n{BEGIN}\n\n{END}\nMore.\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        let begun = folder.path().join("begun.md");
        write(&begun, &[], &[]).unwrap();
        let page = fs::read_to_string(&begun).unwrap();
        assert!(page.starts_with("How to read"), "{page}");
        assert!(page.ends_with(&format!("{BEGIN}\n\n{END}\n")), "{page}");
        fs::write(&path, "# Words").unwrap();
        let error = write(&path, &[], &[]).unwrap_err().to_string();
        assert!(error.contains(BEGIN), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "# Words");
    }
}
