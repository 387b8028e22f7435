//! Joins shards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};

use super::journal;
use super::run_set::RunSet;
use super::shard::Shard;
use crate::backend::Outcome;

/// The file of a shard's finished runs, when all of them are there.
pub(super) fn file(folder: &Path, shard: Shard) -> PathBuf {
    folder.join(format!("{shard}.jsonl"))
}

/// The journal of a shard at work.
pub(super) fn partial(folder: &Path, shard: Shard) -> PathBuf {
    folder.join(format!("{shard}.partial.jsonl"))
}

/// All runs of the set out of the shards in `folder`.
///
/// # Errors
///
/// A shard that is missing or from another set of shards, a run that two
/// shards have, that none has, or that is not of these plans.
pub(super) fn join(folder: &Path, run_set: &RunSet) -> Result<BTreeMap<String, Outcome>> {
    let of = count(folder)?;
    let mut joined = BTreeMap::<String, Outcome>::new();
    let mut from = BTreeMap::<String, Shard>::new();
    for index in 1..=of {
        let shard = Shard { index, of };
        let path = file(folder, shard);
        if !path.is_file() {
            let state = if partial(folder, shard).is_file() {
                "has not finished"
            } else {
                "is missing"
            };
            bail!("shard {index} of {of} {state}; `--shard {index}/{of}` makes it");
        }
        for (key, outcome) in journal::read(&path)? {
            ensure!(
                run_set.items.contains_key(&key),
                "{} has the run {key}, which is not of these plans: the shards were made from \
                 other plans, with other options or by another version",
                path.display()
            );
            if let Some(other) = from.insert(key.clone(), shard) {
                bail!("{shard}: repeated run (got {key}, as {other} has); expected each run in one shard");
            }
            joined.insert(key, outcome);
        }
    }
    let missing = run_set.items.keys().find(|key| !joined.contains_key(*key));
    if let Some(key) = missing {
        let count = run_set.items.len() - joined.len();
        bail!(
            "no shard has the run {key}; {count} of {} runs are missing: shards and merge take \
             the same plans, --only, --seeds and --backend",
            run_set.items.len()
        );
    }
    Ok(joined)
}

/// Of how many shards those in `folder` are.
fn count(folder: &Path) -> Result<usize> {
    let entries = fs::read_dir(folder).with_context(|| {
        format!(
            "{}: cannot be read; expected a folder of shards",
            folder.display()
        )
    })?;
    let mut found: Option<(usize, String)> = None;
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(Shard { index, of }) = shard(&name) else {
            continue;
        };
        let expected = Shard { index, of }.to_string();
        ensure!(
            (1..=of).contains(&index) && name.starts_with(&expected),
            "shard: not one of {of} (got {name}); expected shard-1-of-{of} to shard-{of}-of-{of}"
        );
        match &found {
            Some((other, first)) if *other != of => {
                bail!("{name}: not of the same set of shards as {first}; expected the shards of one set")
            }
            _ => found = Some((of, name)),
        }
    }
    let none = || {
        format!(
            "{}: missing shards; expected shard-1-of-N.jsonl",
            folder.display()
        )
    };
    Ok(found.with_context(none)?.0)
}

/// The shard that the file of this name has, if it is one's.
fn shard(name: &str) -> Option<Shard> {
    let (index, of) = name
        .strip_prefix("shard-")?
        .strip_suffix(".jsonl")?
        .split_once("-of-")?;
    Some(Shard {
        index: index.parse().ok()?,
        of: of.trim_end_matches(".partial").parse().ok()?,
    })
}
