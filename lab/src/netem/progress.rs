//! Progress of the runs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// The time left and what is being done, on the standard error if that is a
/// terminal; the end of each run is told in any case.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Present stage of each active run.
    stages: Mutex<BTreeMap<String, String>>,
}

impl Progress {
    pub(super) fn new(expected: Duration) -> Self {
        let left = move |state: &ProgressState, out: &mut dyn Write| {
            let left = expected.saturating_sub(state.elapsed()).as_secs();
            // A writer in memory does not fail.
            let _ = match left {
                0 => write!(out, "nearly done"),
                left => write!(out, "about {left} s left"),
            };
        };
        let style = ProgressStyle::with_template("{spinner} {left}  {msg}")
            .expect("the template is right")
            .with_key("left", left);
        let bar = ProgressBar::new_spinner().with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress {
            bar,
            stages: Mutex::default(),
        }
    }

    /// A run has reached a stage.
    pub(super) fn stage(&self, run: &str, stage: &str) {
        let mut stages = self.stages.lock().expect("no user panics");
        stages.insert(run.to_owned(), stage.to_owned());
        self.show(&stages);
    }

    /// A run is over.
    pub(super) fn done(&self, run: &str, result: &str) {
        let mut stages = self.stages.lock().expect("no user panics");
        stages.remove(run);
        self.bar.suspend(|| eprintln!("{run}: {result}"));
        self.show(&stages);
    }

    fn show(&self, stages: &BTreeMap<String, String>) {
        let texts: Vec<String> = stages
            .iter()
            .map(|(run, stage)| format!("{run}: {stage}"))
            .collect();
        self.bar.set_message(texts.join(", "));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
