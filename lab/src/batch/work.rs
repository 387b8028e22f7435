//! Executes the runs of a set.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use rayon::prelude::*;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use super::artifacts::Artifacts;
use super::journal::Journal;
use super::run_set::Item;
use crate::backend::{Backend, Outcome};
use crate::netem::Means;
use crate::note::note;
use crate::scenario::Scenario;

/// Parameters of the workers.
pub(super) struct Executor {
    /// Runs at the same time; `None` is as many as are good for the backend.
    pub(super) jobs: Option<usize>,
    /// The programs and the sandbox of runs over netem.
    pub(super) means: Means,
    /// Destination of the runs' artifacts.
    pub(super) artifacts: Artifacts,
    /// The advice after an interruption.
    pub(super) rest: &'static str,
}

impl Executor {
    /// Makes all runs that the journal does not have, plan by plan. `whole` gets the number of
    /// each plan once, when its runs are all there.
    ///
    /// # Errors
    ///
    /// Why a run could not be made, or that the work was interrupted; the
    /// journal has what was finished.
    pub(super) fn work(
        &self,
        items: &BTreeMap<String, Item>,
        journal: &mut Journal,
        whole: &Whole,
    ) -> Result<()> {
        let missing = |(key, item): &(&String, &Item)| {
            !journal.finished().contains_key(*key) || !self.artifacts.has(key, item.wanted)
        };
        let mut todo: Vec<(&String, &Item)> = items.iter().filter(missing).collect();
        todo.sort_by_key(|(_, item)| item.plans.first());
        let done = items.len() - todo.len();
        if done > 0 {
            note!("{done} of {} runs are there already", items.len());
        }
        let ledger = Mutex::new(Ledger::new(items, &todo, journal, whole)?);
        if todo.is_empty() {
            return Ok(());
        }
        let stop = interrupted()?;
        let progress = Progress::new(todo.len(), "runs");
        for backend in [Backend::Sim, Backend::Netem] {
            let own = todo.iter().filter(|(_, item)| item.backend == backend);
            let own: Vec<(&String, &Item)> = own.copied().collect();
            if !own.is_empty() {
                self.work_with(backend, &own, &ledger, &stop, &progress)?;
            }
        }
        let left = progress.left();
        ensure!(
            left == 0,
            "interrupted with {left} of {} runs left; {}",
            items.len(),
            self.rest
        );
        Ok(())
    }

    fn work_with(
        &self,
        backend: Backend,
        todo: &[(&String, &Item)],
        ledger: &Mutex<Ledger>,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<()> {
        let runner = backend.runner(Some(&self.means))?;
        let workers = self.jobs.unwrap_or_else(|| runner.workers());
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()?;
        // One at a time, in order: so the most of the time all workers work.
        let one = |(key, item): &(&String, &Item)| -> Result<()> {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            match self.artifacts.run(runner.as_ref(), key, item, stop) {
                Ok(outcome) => {
                    let record = outcome.record.as_ref();
                    if let Some(doubt) = record.and_then(|record| record.doubt.as_ref()) {
                        progress.say(&format!("Beware: {doubt}."));
                    }
                    let mut ledger = ledger.lock().expect("no worker panics");
                    ledger.add(key, item, outcome)?;
                    progress.done();
                    Ok(())
                }
                // It failed because it was stopped, which is told at the end.
                Err(_) if stop.load(Ordering::Relaxed) => Ok(()),
                Err(error) => {
                    Err(error).with_context(|| format!("the run {}", words(&item.scenario)))
                }
            }
        };
        pool.install(|| todo.iter().par_bridge().try_for_each(one))
    }
}

/// Receives the number of a plan whose runs are all there, and the finished runs.
pub(super) type Whole<'a> =
    dyn Fn(usize, &BTreeMap<String, Outcome>) -> Result<()> + Send + Sync + 'a;

/// The journal, and the runs that each plan still lacks.
struct Ledger<'a> {
    journal: &'a mut Journal,
    /// By the numbers of the plans.
    lacking: BTreeMap<usize, usize>,
    whole: &'a Whole<'a>,
}

impl<'a> Ledger<'a> {
    /// Before the runs `todo` of all `items`.
    fn new(
        items: &BTreeMap<String, Item>,
        todo: &[(&String, &Item)],
        journal: &'a mut Journal,
        whole: &'a Whole<'a>,
    ) -> Result<Self> {
        let plans = items.values().flat_map(|item| &item.plans);
        let mut lacking: BTreeMap<usize, usize> = plans.map(|plan| (*plan, 0)).collect();
        for plan in todo.iter().flat_map(|(_, item)| &item.plans) {
            *lacking.entry(*plan).or_default() += 1;
        }
        for (plan, _) in lacking.iter().filter(|(_, lacking)| **lacking == 0) {
            whole(*plan, journal.finished())?;
        }
        Ok(Ledger {
            journal,
            lacking,
            whole,
        })
    }

    /// Adds a finished run.
    fn add(&mut self, key: &str, item: &Item, outcome: Outcome) -> Result<()> {
        self.journal.add(key.to_owned(), outcome)?;
        for plan in &item.plans {
            let lacking = self.lacking.entry(*plan).or_default();
            *lacking -= 1;
            if *lacking == 0 {
                (self.whole)(*plan, self.journal.finished())?;
            }
        }
        Ok(())
    }
}

/// Returns a flag that is set once the first Ctrl-C or other terminating signal has got its
/// message. The second ends the program at once.
pub(crate) fn interrupted() -> Result<Arc<AtomicBool>> {
    const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
    let signalled = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        // As shells report a process that a signal ended.
        flag::register_conditional_shutdown(signal, 128 + signal, signalled.clone())?;
        flag::register(signal, signalled.clone())?;
    }
    let mut signals = Signals::new(ENDING)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    thread::spawn(move || {
        // On a line of its own, behind the ^C of a terminal.
        if let Some(signal) = signals.forever().next() {
            let (name, second) = match signal {
                SIGTERM => ("SIGTERM: ", "signal"),
                SIGHUP => ("SIGHUP: ", "signal"),
                _ => ("", "Ctrl-C"),
            };
            note!("\n{name}finishing the present runs; a second {second} ends them at once");
            // After the message: the program may be over before this thread runs again.
            stopping.store(true, Ordering::Relaxed);
        }
    });
    Ok(stop)
}

/// A run by what it has: controllers and seed.
fn words(scenario: &Scenario) -> String {
    let controllers: Vec<&str> = scenario.flows.iter().map(|flow| flow.cc.as_str()).collect();
    format!(
        "of {} with seed {}",
        controllers.join(" and "),
        scenario.seed
    )
}

/// Progress on the standard error: a bar with the remaining time on a terminal, else a line for
/// each tenth and each half a minute.
pub(crate) struct Progress {
    bar: ProgressBar,
    length: u64,
    /// The plural of one of them.
    things: &'static str,
    /// Time of the last line.
    said: Arc<Mutex<Instant>>,
    /// Ends the thread that breaks the silence.
    _alive: Sender<()>,
}

/// The longest time without a line.
const SILENCE: Duration = Duration::from_secs(30);

impl Progress {
    pub(crate) fn new(length: usize, things: &'static str) -> Self {
        Self::with_silence(length, things, SILENCE)
    }

    fn with_silence(length: usize, things: &'static str, silence: Duration) -> Self {
        let template =
            format!("{{bar:30}} {{pos}} of {{len}} {things} in {{elapsed}}, {{left}} left");
        let style = ProgressStyle::with_template(&template)
            .expect("the template is right")
            .with_key("left", |state: &ProgressState, out: &mut dyn fmt::Write| {
                let left = left(state.elapsed(), state.pos(), state.len().unwrap_or(0));
                // A writer in memory does not fail.
                let _ = write!(out, "{left}");
            });
        let bar = ProgressBar::new(length as u64).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(500));
        let said = Arc::new(Mutex::new(Instant::now()));
        let (alive, ended) = channel();
        let (own, last) = (bar.clone(), Arc::clone(&said));
        thread::spawn(move || {
            // A single run may take minutes.
            while ended.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                let mut said = last.lock().unwrap_or_else(PoisonError::into_inner);
                if own.is_hidden() && said.elapsed() >= silence {
                    *said = Instant::now();
                    say_line(&own, things);
                }
            }
        });
        Progress {
            bar,
            length: length as u64,
            things,
            said,
            _alive: alive,
        }
    }

    /// Says something between.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| note!("{line}"));
    }

    pub(crate) fn done(&self) {
        self.bar.inc(1);
        let tenths = |done: u64| done * 10 / self.length.max(1);
        let done = self.bar.position();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bar.is_hidden() && tenths(done) > tenths(done - 1) {
            *said = Instant::now();
            say_line(&self.bar, self.things);
        }
    }

    fn left(&self) -> u64 {
        self.length - self.bar.position()
    }
}

/// A line of progress where there is no terminal for a bar.
fn say_line(bar: &ProgressBar, things: &str) {
    let (done, length, elapsed) = (bar.position(), bar.length().unwrap_or(0), bar.elapsed());
    let since = humantime::format_duration(Duration::from_secs(elapsed.as_secs()));
    let left = left(elapsed, done, length);
    note!("{done} of {length} {things} in {since}, {left} left");
}

/// Estimates the remaining time from that of the finished runs. Runs of a plan are in the order of
/// their keys, so that its rest resembles them; another plan may not.
fn left(elapsed: Duration, done: u64, length: u64) -> String {
    if done == 0 {
        return "unknown time".to_owned();
    }
    let each = elapsed.as_secs_f64() / done as f64;
    let seconds = (each * length.saturating_sub(done) as f64).ceil();
    humantime::format_duration(Duration::from_secs(seconds as u64)).to_string()
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
