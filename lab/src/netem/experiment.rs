//! All runs of a command: each in a sandbox of its own, some at a time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::bench::{blank, check, endless, sandboxed};
use super::command::Options;
use super::processor;
use super::progress::Progress;
use super::results::{Folder, RunSummary, Summary};
use super::run::Record;
use super::sandbox::Sandbox;
use super::{table, Job};
use crate::link::Link;

/// Usual overhead of a run besides its transfer.
const USUAL_OVERHEAD: Duration = Duration::from_secs(7);

/// Runs every controller over the link, keeps the results and shows them.
///
/// # Errors
///
/// What cannot be run; there are no results then.
pub fn execute(controllers: &[String], options: &Options) -> Result<()> {
    let link = options.link.link()?;
    check(&link)?;
    // Now, rather than within the last run.
    petra::register();
    for cc in controllers {
        super::check_controller(cc)?;
        quiche::congestion_control::check(cc).map_err(anyhow::Error::msg)?;
    }
    let mut job = job(options, link)?;
    let sandbox = Sandbox::find(options.backend)?;
    job.uml_clock = sandbox.clock()?;
    let with = |cc: &String| Job {
        congestion_control: cc.clone(),
        ..job.clone()
    };
    let jobs: Vec<Job> = controllers.iter().map(with).collect();
    let folder = Folder::create(options.out.as_deref())?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let workers = match options.parallel {
        Some(runs) => runs.into(),
        None => processor::runs_at_a_time(),
    };
    let workers = workers.min(jobs.len());
    eprintln!("{sandbox}; runs: {}, {workers} at a time", jobs.len());

    let rounds = jobs.len().div_ceil(workers) as u32;
    let crew = Crew {
        jobs: &jobs,
        sandbox: &sandbox,
        folder: folder.path(),
        stop: &stop,
        progress: Progress::new(rounds * (options.duration + USUAL_OVERHEAD)),
        next: AtomicUsize::new(0),
    };
    let begun = Instant::now();
    let runs = crew.work(workers)?;
    let summary = Summary::new(&sandbox, &job.link, runs, workers, begun.elapsed());
    let target = folder.complete(&summary)?;
    println!("{}", table::render(&summary));
    if let Some(doubt) = summary.doubt() {
        println!("Beware: {doubt}.");
    }
    println!("Results, with the qlogs of both ends: {}", target.display());
    Ok(())
}

/// Returns the parameters that all jobs share.
fn job(options: &Options, link: Link) -> Result<Job> {
    Ok(Job {
        bytes: options
            .size
            .unwrap_or_else(|| endless(&link, options.duration)),
        link,
        time_limit: options.duration,
        server_options: options.server_options.clone(),
        ..blank(options.programs.as_deref())?
    })
}

/// Those who do the jobs.
struct Crew<'a> {
    jobs: &'a [Job],
    sandbox: &'a Sandbox,
    folder: &'a Path,
    stop: &'a AtomicBool,
    progress: Progress,
    /// The first job that nobody has taken.
    next: AtomicUsize,
}

impl Crew<'_> {
    /// Does all jobs, or as many as there are before one fails.
    fn work(&self, workers: usize) -> Result<Vec<RunSummary>> {
        let runs = Mutex::new(Vec::new());
        let failure = Mutex::new(None);
        let worker = || loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.jobs.len() || self.stop.load(Ordering::Relaxed) {
                break;
            }
            match self.run(index) {
                Ok(run) => runs.lock().expect("no worker panics").push((index, run)),
                // The others end because of this one, which is the one to tell.
                Err(error) if !self.stop.swap(true, Ordering::Relaxed) => {
                    *failure.lock().expect("no worker panics") = Some(error);
                }
                Err(_) => break,
            }
        };
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(worker);
            }
        });
        if let Some(error) = failure.into_inner().expect("no worker panics") {
            return Err(error);
        }
        let mut runs = runs.into_inner().expect("no worker panics");
        ensure!(runs.len() == self.jobs.len(), "interrupted");
        runs.sort_by_key(|(index, _)| *index);
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    fn run(&self, index: usize) -> Result<RunSummary> {
        let job = &self.jobs[index];
        let cc = &job.congestion_control;
        let name = format!("{}-{}", index + 1, file_name(cc));
        self.recorded(job, &name)
            .and_then(|record| RunSummary::new(job, &self.folder.join(&name), record))
            .inspect(|run| self.progress.done(&name, &run.to_string()))
            .with_context(|| format!("the run of {cc} failed"))
    }

    fn recorded(&self, job: &Job, name: &str) -> Result<Record> {
        let folder = self.folder.join(name);
        sandboxed(self.sandbox, job, &folder, self.stop, |stage| {
            self.progress.stage(name, stage);
        })
    }
}

/// A controller and its options as a part of a file's name.
fn file_name(cc: &str) -> String {
    cc.replace(
        |c: char| !c.is_ascii_alphanumeric() && !"-_.=".contains(c),
        "_",
    )
}
