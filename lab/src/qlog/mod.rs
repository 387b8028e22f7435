//! `petra-lab qlog`: traces for qvis, checks, statistics, comparisons, figures and CSV.
//!
//! ```text
//!  file, .gz, .zst or standard input ──▶ input ──▶ petra_qlog ──▶ output
//!                                                      │
//!                                                      └────────▶ plot
//! ```

mod compare;
mod csv;
mod folder;
mod input;
mod output;
mod plot;
mod report;
mod signals;

use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use clap::{Args, Subcommand};
use petra_qlog::qvis::{self, Detail, Size, Summary};
use petra_qlog::stats::Stats;
use petra_qlog::QVIS_SUFFIX;

use crate::note::note;
use crate::plot::{Style, KINDS};
use crate::results::check_target;
use crate::units::{parse_duration, parse_size, parse_whole};
use input::Input;
use output::Output;

/// Work on the qlog of quiche: JSON-SEQ, plain or compressed with gzip or zstd;
/// `-` is the standard input.
#[derive(Args, Clone, Debug)]
pub struct Qlog {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Rewrite traces for qvis.
    Qvis(Qvis),
    /// Say whether traces are right, or which record is not.
    Check {
        #[command(flatten)]
        traces: Traces,
    },
    /// Print what traces come to.
    Stats {
        #[command(flatten)]
        traces: Traces,
        /// As JSON, one line a trace.
        #[arg(long)]
        json: bool,
    },
    /// Write what traces have over time as CSV, a line for each change.
    Csv {
        #[command(flatten)]
        traces: Traces,
        /// The file to write [default: the standard output].
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    Compare(compare::Compare),
    Plot(Plot),
}

/// Draw what qvis does not: rates, ssthresh, phases, reasons, queueing.
///
/// Several traces are drawn over each other, each with the name and the look of the
/// controller in its header.
#[derive(Args, Clone, Debug)]
struct Plot {
    #[command(flatten)]
    traces: Traces,
    /// The picture to make: .html, .svg, .pdf or .png.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// The name of a trace, in the order of the traces; once for each [default: its
    /// controller, else its file].
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,
    #[command(flatten)]
    style: Style,
    /// Begin the picture at this time [default: that of the first event].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    from: Option<Duration>,
    /// End it at this time [default: that of the last event].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    to: Option<Duration>,
}

impl Plot {
    fn execute(&self) -> Result<()> {
        let format = plot::Format::of(&self.out)?;
        check_target(&self.out)?;
        if let (Some(option), plot::Format::Html) = (self.style.option(), format) {
            bail!(
                "{option}: not for a page, which has the font and the width of its reader (got {}); \
                 expected a file that ends in .{}",
                self.out.display(),
                KINDS.join(", .")
            );
        }
        let (mut curves, mut files) = (Vec::new(), Vec::new());
        let from = self.from.map_or(0.0, |from| from.as_secs_f64());
        let to = self.to.map_or(f64::INFINITY, |to| to.as_secs_f64());
        ensure!(
            from < to,
            "--to: too early (got {to} s); expected a time after --from at {from} s"
        );
        self.traces.each(|path, input| {
            let (trace, end) = plot::Curves::read(&name(path), input)?;
            report::warn_of_end(path, end);
            ensure!(
                self.from.is_none() || from < trace.end,
                "--from: too late (got {from} s); expected a time before the last event at {:.3} s",
                trace.end
            );
            curves.push(trace.between(from, to));
            files.push(name(path));
            Ok(())
        })?;
        plot::distinct(&mut curves, &files, &self.label)?;
        plot::write(&curves, (format, &self.style), &self.out)
    }
}

#[derive(Args, Clone, Debug)]
struct Traces {
    /// The traces, or folders of them, whose copies for qvis are left out.
    #[arg(required = true, value_name = "TRACE")]
    paths: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
struct Qvis {
    #[command(flatten)]
    traces: Traces,
    /// The file to write; with several traces, the folder [default: beside each
    /// trace, with a name that ends in .qvis.sqlog].
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Keep only what qvis draws, in at most this size, such as 20MB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    slim: Option<u64>,
    /// Maximum number of packets. The sequence page of qvis shows some 6000 to 9000 within 10 s.
    #[arg(long, value_name = "N", requires = "slim", value_parser = parse_whole(1..=u64::MAX))]
    packets: Option<u64>,
}

impl Qlog {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// A trace that is invalid or cannot be read, with its path, or a file that cannot be written.
    /// `check` and `stats` report each such trace, and return their number after the last trace.
    pub fn execute(&self) -> Result<()> {
        match &self.command {
            Command::Qvis(qvis) => qvis.execute(),
            Command::Check { traces } => check(traces),
            Command::Stats { traces, json } => match stats(traces, *json) {
                Err(error) if is_broken_pipe(&error) => Ok(()),
                printed => printed,
            },
            Command::Csv { traces, out } => csv::write(traces, out.as_deref()),
            Command::Compare(compare) => compare.execute(),
            Command::Plot(plot) => plot.execute(),
        }
    }
}

fn check(traces: &Traces) -> Result<()> {
    let mut cut = 0;
    let Count { all, invalid } = traces.each_valid(
        |input| Ok(petra_qlog::check::check(input)?),
        |path, checked| {
            cut += usize::from(!checked.end.is_whole());
            let checked = report::Checked(&checked);
            say(format_args!("{}: {checked}", path.display()))
        },
    )?;
    let without_end = match cut {
        0 => String::new(),
        cut => format!(", and {cut} without their end"),
    };
    ensure!(
        invalid == 0,
        "traces: invalid (got {invalid} of {all}{without_end}); expected valid ones"
    );
    ensure!(
        cut == 0,
        "traces: without their end (got {cut} of {all}); expected whole ones"
    );
    Ok(())
}

fn stats(traces: &Traces, json: bool) -> Result<()> {
    let Count { all, invalid } = traces.each_valid(
        |input| Ok(Stats::read(input)?),
        |path, stats| {
            report::warn_of_end(path, stats.end);
            let line = match json {
                true => serde_json::to_string(&stats)?,
                false => format!("{}\n{}", path.display(), report::Figures(&stats)),
            };
            writeln!(io::stdout(), "{line}").context("cannot write to the standard output")
        },
    )?;
    ensure!(
        invalid == 0,
        "traces: invalid (got {invalid} of {all}); expected valid ones"
    );
    Ok(())
}

/// Numbers of traces.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    all: usize,
    /// Traces that could not be read to their end.
    invalid: usize,
}

impl Traces {
    /// Hands over the traces one after the other.
    fn each(&self, mut what: impl FnMut(&Path, Input) -> Result<()>) -> Result<()> {
        for path in &folder::files(&self.paths)? {
            Input::open(path)
                .and_then(|input| what(path, input))
                .with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Reads the traces one after the other, hands over what was read, and reports the invalid
    /// traces on the standard error.
    ///
    /// # Errors
    ///
    /// The first error of `what`.
    fn each_valid<T>(
        &self,
        read: impl Fn(Input) -> Result<T>,
        mut what: impl FnMut(&Path, T) -> Result<()>,
    ) -> Result<Count> {
        let mut count = Count::default();
        for path in &folder::files(&self.paths)? {
            count.all += 1;
            match Input::open(path).and_then(&read) {
                Ok(read) => what(path, read)?,
                Err(error) => {
                    count.invalid += 1;
                    note!("{}: {error:#}", path.display());
                }
            }
        }
        Ok(count)
    }
}

impl Qvis {
    fn execute(&self) -> Result<()> {
        let traces = self.raw()?;
        let several = traces.paths.len() > 1;
        if several {
            if let Some(folder) = &self.out {
                ensure!(
                    folder.is_dir(),
                    "--out: not a folder (got {}); expected one for several traces",
                    folder.display()
                );
            }
        }
        let targets = self.targets(&traces)?;
        let mut targets = targets.iter();
        traces.each(|path, input| {
            let target = targets.next().context("each trace has its copy")?;
            let (summary, width_ms) = self.rewrite(input, target)?;
            report::warn_of_end(path, summary.end);
            let written = report::Written {
                summary: &summary,
                width_ms,
            };
            say(format_args!("{}: {written}", target.display()))
        })
    }

    fn rewrite(&self, input: Input, target: &Path) -> Result<(Summary, f64)> {
        let mut output = Output::beside(target)?;
        let (summary, width_ms) = match self.slim {
            None => (qvis::rewrite(input, output.file(), &Detail::All)?, 0.0),
            Some(bytes) => {
                let packets = self.packets.unwrap_or(u64::MAX);
                let budget = Size { bytes, packets };
                let mut scratch = output.scratch()?;
                let fit = qvis::fit(input, budget, &mut scratch, output.file())?;
                (fit.summary, fit.width_ms)
            }
        };
        output.keep()?;
        Ok((summary, width_ms))
    }

    /// The traces, without those that are copies already where each gets a copy of its own.
    fn raw(&self) -> Result<Traces> {
        let is_named = self.out.as_ref().is_some_and(|out| !out.is_dir()) && self.slim.is_some();
        let (copies, raw): (Vec<_>, Vec<_>) = folder::files(&self.traces.paths)?
            .into_iter()
            .partition(|path| !is_named && folder::is_copy(path));
        ensure!(
            !raw.is_empty(),
            "{}: a copy for qvis already; expected a raw trace, or --slim SIZE and -o FILE for a \
             slim copy of it",
            copies[0].display()
        );
        for copy in &copies {
            note!("{}: left out, a copy for qvis already", copy.display());
        }
        Ok(Traces { paths: raw })
    }

    /// The copy of each trace: no two the same.
    fn targets(&self, traces: &Traces) -> Result<Vec<PathBuf>> {
        let mut targets: Vec<PathBuf> = Vec::new();
        for path in &traces.paths {
            let target = self.target(path)?;
            ensure!(
                target != *path,
                "{}: it would overwrite the trace itself",
                path.display()
            );
            ensure!(
                !targets.contains(&target),
                "{}: it would overwrite {}, the copy of another trace",
                path.display(),
                target.display()
            );
            targets.push(target);
        }
        Ok(targets)
    }

    fn target(&self, path: &Path) -> Result<PathBuf> {
        let Some(out) = &self.out else {
            if path == Path::new(input::STANDARD_INPUT) {
                bail!("-o: missing; expected the place of the result of the standard input");
            }
            return Ok(petra_qlog::beside(path));
        };
        if !out.is_dir() {
            return Ok(out.clone());
        }
        let beside = match path == Path::new(input::STANDARD_INPUT) {
            true => PathBuf::from(format!("stdin{QVIS_SUFFIX}")),
            false => petra_qlog::beside(path),
        };
        Ok(out.join(beside.file_name().context("the trace has no name")?))
    }
}

/// Writes a line to the standard output, which its reader may have closed, as `head` does.
fn say(line: fmt::Arguments) -> Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to the standard output"),
    }
}

/// Has the reader of the output closed it?
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        let csv = cause.downcast_ref::<::csv::Error>();
        let inner = csv.and_then(|error| match error.kind() {
            ::csv::ErrorKind::Io(io) => Some(io),
            _ => None,
        });
        let mut all = [io, inner].into_iter().flatten();
        all.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Returns the name of a trace in a figure.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    let stem = name.split(".sqlog").next().unwrap_or(&name);
    let stem = stem.strip_suffix(".qvis").unwrap_or(stem);
    stem.to_owned()
}
