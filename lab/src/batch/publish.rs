//! Makes results of finished runs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{ensure, Context, Result};

use super::run_set::{Overrides, Planned, RunSet};
use crate::backend::{FlowOutcome, Outcome};
use crate::plan::{Plan, Point};
#[cfg(feature = "parquet")]
use crate::results::write_parquet;
use crate::results::{write_csv, write_whole, Manifest, Results, Row, METRICS};
use crate::shell;

/// Writes the results of each plan into `folder` and returns them.
///
/// # Errors
///
/// A run that is not there, or a file that cannot be written.
pub(super) fn publish(
    run_set: &RunSet,
    overrides: &Overrides,
    finished: &BTreeMap<String, Outcome>,
    folder: &Path,
) -> Result<Vec<Results>> {
    let plans = 0..run_set.plans.len();
    plans
        .map(|plan| publish_plan(run_set, plan, overrides, finished, folder))
        .collect()
}

/// Writes the results of the plan of this number into `folder` and returns them.
///
/// # Errors
///
/// As of [`publish`].
pub(super) fn publish_plan(
    run_set: &RunSet,
    plan: usize,
    overrides: &Overrides,
    finished: &BTreeMap<String, Outcome>,
    folder: &Path,
) -> Result<Results> {
    let results = results(run_set, &run_set.plans[plan], overrides, finished)?;
    write(&results, folder)?;
    Ok(results)
}

/// Checks that a command, whose results have the name of all of its kind, replaces none of
/// another one in `folder`: its points are the same, and it has at least their seeds.
///
/// # Errors
///
/// Results of another command, or a file that is none of results.
pub(super) fn replaces_none(run_set: &RunSet, folder: &Path) -> Result<()> {
    for Planned { plan, .. } in &run_set.plans {
        let file = folder.join(format!("{}.json", plan.name));
        if !file.exists() {
            continue;
        }
        let former = Manifest::read(&file).context(
            "former results: cannot be read; expected another folder with --out, or none of this \
             file",
        )?;
        let again = Plan {
            seeds: former.seeds.clone(),
            ..plan.clone()
        };
        let has_all = former.seeds.iter().all(|seed| plan.seeds.contains(seed));
        ensure!(
            has_all && again.hash()? == former.plan_hash && plan.backend.name() == former.backend,
            "{}: has the results of another command, or of other inputs (got {}); expected another \
             folder with --out, that command, also with more seeds, or none of {}",
            folder.display(),
            former.command,
            file.display()
        );
    }
    Ok(())
}

/// The results of the plan whose runs are all there.
///
/// # Errors
///
/// A run that is not there.
pub(crate) fn results(
    run_set: &RunSet,
    planned: &Planned,
    overrides: &Overrides,
    finished: &BTreeMap<String, Outcome>,
) -> Result<Results> {
    let plan = &planned.plan;
    let (plan_hash, backend) = (plan.hash()?, plan.backend.to_string());
    let versions = run_set.versions.to_string();
    let mut rows = Vec::new();
    for (number, point) in plan.points.iter().enumerate() {
        for seed in &plan.seeds {
            let run = plan.run(point, *seed, &run_set.versions)?;
            let outcome = finished.get(&run.key).context("a run is missing")?;
            for (flow, measured) in outcome.flows.iter().enumerate() {
                rows.push(Row {
                    plan: plan.name.clone(),
                    plan_hash: plan_hash.clone(),
                    key: run.key.clone(),
                    backend: backend.clone(),
                    versions: versions.clone(),
                    point: number as u64,
                    seed: *seed,
                    ..row(point, flow, measured)
                });
            }
        }
    }
    let manifest = Manifest {
        plan: plan.name.clone(),
        title: plan.title.clone(),
        description: plan.description.clone(),
        plan_hash,
        files: plan.files.clone(),
        backend,
        versions: run_set.versions.clone(),
        command: command(planned, overrides),
        seeds: plan.seeds.clone(),
        metrics: plan.metrics.clone(),
        axes: plan.axes.clone(),
        cases: plan.cases.clone(),
        controllers: plan.controllers.clone(),
        subject: plan.subject,
        rows: rows.len(),
        series: plan.series,
        frames: plan.frames.clone(),
        printed: plan.printed.clone(),
        verdicts: Vec::new(),
        known_deviations: plan.known_deviations.clone(),
    };
    let mut results = Results { manifest, rows };
    let verdicts = plan
        .expectations
        .iter()
        .map(|expected| expected.judge(&results));
    results.manifest.verdicts = verdicts.collect();
    Ok(results)
}

/// Returns a row with the columns of its flow; the others are the run's.
fn row(point: &Point, flow: usize, measured: &FlowOutcome) -> Row {
    let figure = |name: &str| (name.to_owned(), measured.figures.get(name).copied());
    Row {
        plan: String::new(),
        plan_hash: String::new(),
        key: String::new(),
        backend: String::new(),
        versions: String::new(),
        point: 0,
        case: point.case.clone(),
        seed: 0,
        flow: flow as u64,
        controller: point.controllers[flow].clone(),
        cc: point.scenario.flows[flow].cc.clone(),
        failure: measured.failure.clone(),
        settings: point.settings.clone(),
        metrics: METRICS.iter().map(|metric| figure(metric.name)).collect(),
        references: point.references.clone(),
    }
}

fn write(results: &Results, folder: &Path) -> Result<()> {
    let Results { manifest, rows } = results;
    let file = |kind: &str| folder.join(format!("{}.{kind}", manifest.plan));
    write_whole(&file("csv"), |out| write_csv(rows, out))?;
    // None is better than that of an earlier build's runs.
    #[cfg(not(feature = "parquet"))]
    let _ = std::fs::remove_file(file("parquet"));
    #[cfg(feature = "parquet")]
    write_whole(&file("parquet"), |out| write_parquet(rows, out))?;
    // The last one: with it the results are there.
    write_whole(&file("json"), |out| {
        serde_json::to_writer_pretty(&mut *out, manifest)?;
        Ok(out.write_all(b"\n")?)
    })
}

/// The command that makes a plan's results again.
fn command(planned: &Planned, overrides: &Overrides) -> String {
    if let Some(command) = &planned.typed {
        return command.clone();
    }
    let Plan { backend, seeds, .. } = &planned.plan;
    let mut words = vec![format!("petra-lab run {}", shell::path(&planned.file))];
    if overrides.backend.is_some() {
        words.push(format!("--backend {backend}"));
    }
    if overrides.seeds.is_some() {
        words.push(format!("--seeds {}", seeds.len()));
    }
    let only = overrides.only.iter();
    words.extend(only.map(|part| format!("--only {}", shell::quoted(&part.to_string()))));
    words.join(" ")
}
