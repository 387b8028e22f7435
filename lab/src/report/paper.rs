//! `petra-lab frontier`.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{ensure, Result};
use clap::Args;

use super::command::write_plots;
use super::frontier;
use super::section::{Draft, Names};
use crate::plot::palette::Palette;
use crate::plot::{Figure, Style};
use crate::results::{parse_metric, ResultSet};
use crate::shell;

/// Draw goodput against queueing delay, as SVG, PDF and PNG.
///
/// One point a controller, with the 95 % intervals of both over the seeds. Controllers that
/// differ in their options alone, such as oracles with several allowed queues, are a line.
#[derive(Args, Clone, Debug)]
pub struct Frontier {
    /// The folder of the results, or one plan's NAME.json.
    #[arg(default_value = "results/plans")]
    results: PathBuf,
    /// The upright axis.
    #[arg(long, default_value = "goodput_mbps", value_name = "METRIC", value_parser = parse_metric)]
    metric: String,
    /// The lower axis.
    #[arg(long, default_value = "queue_p95_ms", value_name = "METRIC", value_parser = parse_metric)]
    against: String,
    /// The folder of the figures.
    #[arg(long, short, default_value = "results/figures", value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    style: Style,
}

impl Frontier {
    /// Writes the figures and says where they are.
    ///
    /// # Errors
    ///
    /// Results that cannot be read, or nothing to draw.
    pub fn execute(&self) -> Result<()> {
        let set = ResultSet::read(&self.results)?;
        let controllers = set.plans.iter().flat_map(|it| &it.manifest.controllers);
        let palette = Palette::new(controllers);
        let names = Names::default();
        let folder = match self.results.is_dir() {
            true => self.results.as_path(),
            false => self.results.parent().unwrap_or(Path::new("")),
        };
        let own = shell::command(env::args().skip(1));
        let figures = set.plans.iter().flat_map(|results| {
            let draft = Draft {
                manifest: &results.manifest,
                palette: &palette,
                names: &names,
                command: format!("{} && {own}", results.manifest.made_in(folder)),
            };
            frontier::of(&draft, results, &self.metric, &self.against)
        });
        let figures: Vec<Figure> = figures.collect();
        ensure!(
            !figures.is_empty(),
            "{}: no link has two controllers with both metrics; expected results of a sweep over \
             controllers",
            self.results.display()
        );
        write_plots(&figures.iter().collect::<Vec<_>>(), &self.style, &self.out)?;
        for figure in &figures {
            let file = self.out.join(format!("{}.svg", figure.name));
            writeln!(io::stdout(), "{}", file.display())?;
        }
        Ok(())
    }
}
