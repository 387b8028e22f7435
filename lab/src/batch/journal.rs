//! Finished runs, a line each.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail, ensure, Context, Result};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::backend::Outcome;

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The run's key.
    pub key: String,
    /// True if this entry replaces an earlier run, because artifacts of that run were missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Measurements of the run.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Beginning of each line.
const HEAD: &[u8] = b"{\"key\":\"";

/// A file that finished runs are appended to, and those that it has.
pub struct Journal {
    path: PathBuf,
    /// Locked: a second program at the same runs would do them twice.
    file: Flock<File>,
    finished: BTreeMap<String, Outcome>,
}

impl Journal {
    /// Opens the journal at `path`, or begins one. A last line that is cut off
    /// is taken away: its run was not written down. Of a file that is no
    /// journal nothing is taken.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, that is in use, or that is no journal.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().context("a journal is in a folder")?;
        ensure!(
            folder.is_dir() || !folder.exists(),
            "{}: a file; expected a folder, which is made if it is missing",
            folder.display()
        );
        let open = || {
            fs::create_dir_all(folder)?;
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).read(true).write(true);
            options.open(path)
        };
        let file = open().with_context(|| format!("cannot write {}", path.display()))?;
        let mut file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| {
            anyhow!(
                "{}: in use by another petra-lab; expected one at a time",
                path.display()
            )
        })?;
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let (whole, cut) = text.split_at(whole);
        let finished = parse(path, whole)?;
        ensure!(
            cut.starts_with(HEAD) || HEAD.starts_with(cut),
            "{}: last line: not a run (got {:?}); expected a journal",
            path.display(),
            String::from_utf8_lossy(&cut[..cut.len().min(40)])
        );
        file.set_len(whole.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Journal {
            path: path.to_owned(),
            file,
            finished,
        })
    }

    /// Keeps a finished run, in place of what it had of it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn add(&mut self, key: String, outcome: Outcome) -> Result<()> {
        let again = self.finished.contains_key(&key);
        let entry = Entry {
            key,
            again,
            outcome,
        };
        if again && self.has(&entry)? {
            return Ok(());
        }
        self.file
            .write_all(&line(&entry)?)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.finished.insert(entry.key, entry.outcome);
        Ok(())
    }

    /// Returns true if the journal has the run with the same figures, regardless of artifacts.
    fn has(&self, entry: &Entry) -> Result<bool> {
        let before = serde_json::to_vec(&self.finished[&entry.key])?;
        Ok(before == serde_json::to_vec(&entry.outcome)?)
    }

    /// The measurements of each finished run, by key.
    pub fn finished(&self) -> &BTreeMap<String, Outcome> {
        &self.finished
    }
}

/// Reads the journal at `path`, whose every line has to be whole.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Outcome>> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &[u8]) -> Result<BTreeMap<String, Outcome>> {
    let mut finished = BTreeMap::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.is_empty() {
            continue;
        }
        let place = || format!("{}, line {number}", path.display());
        let entry: Entry = serde_json::from_slice(line).with_context(|| {
            format!(
                "{}: invalid run; expected the JSON of a finished run",
                place()
            )
        })?;
        let Entry {
            key,
            again,
            outcome,
        } = entry;
        if !again && finished.contains_key(&key) {
            bail!(
                "{}: repeated run (got {key}); expected each run once",
                place()
            );
        }
        finished.insert(key, outcome);
    }
    Ok(finished)
}

/// An entry as its line.
pub(super) fn line(entry: &Entry) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::FlowOutcome;

    fn entry(key: &str, goodput: f64) -> Entry {
        let flow = FlowOutcome {
            figures: [("goodput_mbps".to_owned(), goodput)].into(),
            failure: None,
            series: Vec::new(),
        };
        Entry {
            key: key.to_owned(),
            again: false,
            outcome: Outcome {
                flows: vec![flow],
                record: None,
            },
        }
    }

    fn add(journal: &mut Journal, Entry { key, outcome, .. }: Entry) {
        journal.add(key, outcome).unwrap();
    }

    #[test]
    fn finished_runs_are_there_again_and_a_cut_off_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/journal.jsonl");
        let one = entry("one", 0.1 + 0.2);
        let mut journal = Journal::open(&path).unwrap();
        add(&mut journal, one.clone());
        add(&mut journal, entry("two", 2.0));
        drop(journal);

        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(journal.finished().len(), 1);
        // To the last bit.
        assert_eq!(journal.finished()["one"], one.outcome);
        add(&mut journal, entry("two", 2.0));
        drop(journal);
        assert_eq!(fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_run_made_again_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        add(&mut journal, entry("one", 1.0));
        let text = fs::read(&path).unwrap();
        // The same is there already.
        add(&mut journal, entry("one", 1.0));
        assert_eq!(fs::read(&path).unwrap(), text);
        // netem never measures the same twice.
        add(&mut journal, entry("one", 2.0));
        drop(journal);
        let later = entry("one", 2.0).outcome;
        assert_eq!(Journal::open(&path).unwrap().finished()["one"], later);
        assert_eq!(read(&path).unwrap()["one"], later);
    }

    #[test]
    fn what_is_no_journal_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        fs::write(&path, "{\"key\":\"one\",\"flows\":[]}\nhello\n").unwrap();
        let error = Journal::open(&path).err().expect("an error");
        assert!(format!("{error:#}").contains("line 2"), "{error:#}");
        fs::write(&path, "dear diary").unwrap();
        let error = Journal::open(&path).err().expect("an error");
        assert!(error.to_string().contains("not a run"), "{error:#}");
        assert_eq!(fs::read(&path).unwrap(), b"dear diary");
    }

    #[test]
    fn a_run_that_is_there_twice_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let one = line(&entry("one", 1.0)).unwrap();
        let again = line(&entry("one", 999.0)).unwrap();
        fs::write(&path, [one, again].concat()).unwrap();
        let error = read(&path).expect_err("it is there twice");
        assert!(error
            .to_string()
            .ends_with("line 2: repeated run (got one); expected each run once"));
    }

    #[test]
    fn a_journal_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let _journal = Journal::open(&path).unwrap();
        let error = Journal::open(&path).err().expect("an error");
        assert!(error.to_string().contains("another petra-lab"), "{error:#}");
    }
}
