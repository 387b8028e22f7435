//! `petra-lab draw`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{ensure, Error, Result};
use clap::Args;

use super::search::{KNOWN, STREAM};
use crate::entropy::generator;
use crate::note::note;
use crate::plan::{Space, Spot, MAX_RUNS};
use crate::results::write_whole;
use crate::units::{parse_whole, SEED_RANGE};

/// Draw scenarios of a plan's space at random, as the cases of an ordinary plan.
///
/// A hunt shows the worst case. This shows how often an expectation fails: `petra-lab run`
/// says in how many cases it does not hold, and has the figures of each.
#[derive(Args, Clone, Debug)]
pub struct Draw {
    /// A plan with a space, as docs/hunt.md has it.
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Scenarios to draw, all different; a plan has at most 1000000 runs.
    #[arg(long, default_value = "100", value_name = "N", value_parser = parse_whole(1..=MAX_RUNS))]
    cases: usize,
    /// Seed of all random choices.
    #[arg(long, default_value = "1", value_name = "N", allow_hyphen_values = true,
        value_parser = parse_whole(SEED_RANGE))]
    seed: u64,
    /// The plan to write [default: NAME-drawn.toml here].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Draw {
    /// Draws, and writes the plan.
    ///
    /// # Errors
    ///
    /// A fault of the plan, a space with too few scenarios, or a file that is the plan or cannot be
    /// written.
    pub fn execute(&self) -> Result<()> {
        let space = Space::read(&self.plan)?;
        let plan = space.check()?;
        let default = || format!("{}-drawn.toml", plan.name).into();
        let file = self.out.clone().unwrap_or_else(default);
        let same = |file: &Path| file.canonicalize().ok();
        ensure!(
            same(&file) != same(&self.plan),
            "--out: the plan itself (got {}); expected another file",
            file.display()
        );
        let (spots, refused) = self.spots(&space)?;
        let name = |(number, spot): (usize, Spot)| {
            let features = space.names(&spot).map(|name| name.replace('_', " "));
            let features = features.collect::<Vec<_>>().join(", ");
            let name = match features.is_empty() {
                true => format!("{number}"),
                false => format!("{number}: {features}"),
            };
            (name, spot)
        };
        let cases: Vec<(String, Spot)> = (1..).zip(spots).map(name).collect();
        let title = format!("{}: drawn at random", plan.title);
        let description = format!(
            "{}\n\nDrawn by `petra-lab draw {} --cases {} --seed {}`.",
            plan.description,
            self.plan.display(),
            self.cases,
            self.seed
        );
        let entries = [
            ("title", title.as_str()),
            ("description", description.trim()),
        ];
        let entries = entries.map(|(key, text)| (key.to_owned(), text.into()));
        let text = space.cases(&cases, entries.into_iter().collect())?;
        write_whole(&file, |out| Ok(out.write_all(text.as_bytes())?))?;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{} cases; petra-lab run {}",
            cases.len(),
            file.display()
        )?;
        if let Some(reason) = refused {
            note!("one that was drawn cannot be: {reason:#}");
        }
        Ok(())
    }

    /// Different scenarios that can be, and the error of one that cannot.
    fn spots(&self, space: &Space) -> Result<(Vec<Spot>, Option<Error>)> {
        let mut random = generator(self.seed, STREAM);
        let (mut spots, mut known) = (Vec::new(), BTreeSet::new());
        let (mut refused, mut misses) = (None, 0);
        while spots.len() < self.cases {
            ensure!(
                misses < KNOWN,
                "{}: too few different scenarios (got {}); expected {}, or fewer --cases",
                self.plan.display(),
                spots.len(),
                self.cases
            );
            misses += 1;
            let spot = space.draw(&mut random);
            if !known.insert(space.words(&spot)) {
                continue;
            }
            match space.plan(&spot) {
                Ok(_) => {
                    spots.push(spot);
                    misses = 0;
                }
                Err(error) => refused = Some(error),
            }
        }
        Ok((spots, refused))
    }
}
