//! `petra-lab report`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::iter;
use std::path::{absolute, Component, Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::page::{page, Frame};
use super::section::{Names, Section};
use super::{exports, markdown};
use crate::plot::palette::Palette;
use crate::plot::{self, Figure, Style};
use crate::results::{check_target, write_whole, ResultSet};
use crate::shell;

/// Make one HTML file of results: tables, plots and how expectations came out.
///
/// It needs nothing else to be read, neither a network nor the plots, which
/// are beside it as files too.
#[derive(Args, Clone, Debug)]
pub struct Report {
    /// The folder of the results, or one plan's NAME.json.
    #[arg(default_value = "results/plans")]
    results: PathBuf,
    /// The file to write [default: report.html in the folder of the results].
    #[arg(long, short, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// A page that gets the numbers as Markdown, between its lines `<!-- numbers
    /// -->` and `<!-- end of numbers -->`; one that is not there is begun.
    #[arg(long, value_name = "FILE.md")]
    markdown: Option<PathBuf>,
    /// A folder that gets the tables of all metrics, each as LaTeX and as CSV.
    #[arg(long, value_name = "FOLDER")]
    tables: Option<PathBuf>,
    /// The folder of the plots [default: beside the file, under its name with
    /// the ending .plots].
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    style: Style,
}

impl Report {
    /// Writes the report and says where it is.
    ///
    /// # Errors
    ///
    /// Results that are not there or cannot be read, or a file that cannot be
    /// written. The report is written last: when it is there, all of it is.
    pub fn execute(&self) -> Result<()> {
        let set = ResultSet::read(&self.results)?;
        let folder = match self.results.is_dir() {
            true => self.results.as_path(),
            false => self.results.parent().unwrap_or(Path::new("")),
        };
        let out = self
            .out
            .clone()
            .unwrap_or_else(|| folder.join("report.html"));
        check_target(&out)?;
        let plots = match &self.plots {
            Some(plots) => plots.clone(),
            None => out.with_extension("plots"),
        };
        let controllers = set.plans.iter().flat_map(|it| &it.manifest.controllers);
        let palette = Palette::new(controllers);
        let names = Names::default();
        let section = |results| Section::new(results, &palette, &names, folder);
        let sections = set.plans.iter().map(section);
        let sections: Vec<Section> = sections.collect::<Result<_>>()?;
        let figures: Vec<&Figure> = sections.iter().flat_map(Section::figures).collect();
        write_plots(&figures, &self.style, &plots)?;
        let frame = Frame {
            palette,
            plots: link(&out, &plots)?,
            results: link(&out, folder)?,
            command: shell::command(env::args().skip(1)),
            alone: sections.len() == 1,
        };
        let report = page(&sections, &frame);
        if let Some(page) = &self.markdown {
            markdown::write(page, &sections, &set.plans)?;
            writeln!(io::stdout(), "numbers: {}", page.display())?;
        }
        if let Some(folder) = &self.tables {
            let count = exports::write(&sections, folder)?;
            writeln!(io::stdout(), "{count} tables: {}", folder.display())?;
        }
        write_whole(&out, |file| Ok(file.write_all(report.as_bytes())?))?;
        writeln!(io::stdout(), "{} plots: {}", figures.len(), plots.display())?;
        writeln!(io::stdout(), "report: {}", out.display())?;
        Ok(())
    }
}

/// Writes each figure as a file of each kind.
pub(super) fn write_plots(figures: &[&Figure], style: &Style, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let progress = ProgressBar::new(figures.len() as u64);
    figures.par_iter().try_for_each(|figure| {
        for kind in plot::KINDS {
            let bytes = plot::file(figure, kind, style)?;
            let path = folder.join(format!("{}.{kind}", figure.name));
            write_whole(&path, |file| Ok(file.write_all(&bytes)?))?;
        }
        progress.inc(1);
        Ok::<_, anyhow::Error>(())
    })?;
    progress.finish_and_clear();
    Ok(())
}

/// Returns the relative path from the folder of the page at `out` to a folder.
///
/// # Errors
///
/// If the working directory is unknown.
fn link(out: &Path, folder: &Path) -> Result<String> {
    let base = normal(out.parent().unwrap_or(Path::new("")))?;
    let folder = normal(folder)?;
    let common = base.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = iter::repeat_n(OsStr::new(".."), base.iter().count() - common);
    let path: PathBuf = up.chain(folder.iter().skip(common)).collect();
    Ok(match path.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => path.to_string_lossy().into_owned(),
    })
}

/// Returns an absolute path without `..`, as a browser resolves links.
fn normal(path: &Path) -> Result<PathBuf> {
    let mut out = PathBuf::new();
    // `absolute` takes no empty path.
    for part in absolute(Path::new(".").join(path))?.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_page_to_the_folder() {
        let here = env::current_dir().unwrap();
        let elsewhere = here.join("results/a");
        for (out, folder, expected) in [
            ("results/report.html", "results", "."),
            (
                "results/report.html",
                "results/report.plots",
                "report.plots",
            ),
            ("report.html", "results/a", "results/a"),
            ("pages/b/report.html", "results/a", "../../results/a"),
            (
                "pages/report.html",
                elsewhere.to_str().unwrap(),
                "../results/a",
            ),
            ("pages/../report.html", "./results/a", "results/a"),
            ("/pages/report.html", "/results/a", "../results/a"),
        ] {
            let link = link(Path::new(out), Path::new(folder)).unwrap();
            assert_eq!(link, expected, "{out} {folder}");
        }
    }
}
