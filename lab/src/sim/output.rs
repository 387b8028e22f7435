//! Results as a table, as JSON and as a series over time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::iter;
use std::path::Path;

use anyhow::Result;
use comfy_table::{presets, CellAlignment, Table};
use serde::Serialize;

use super::{FlowReport, Report, Sample};
use crate::scenario::Scenario;

/// A column: its head, how many digits it has after the point, what it makes
/// of the runs' numbers, and a run's number, where it has one. What is not a number is not known.
type Column = (
    &'static str,
    usize,
    fn(&[f64]) -> f64,
    fn(&FlowReport) -> Option<f64>,
);

const COLUMNS: &[Column] = &[
    ("Mbit/s", 3, mean, |run| Some(run.goodput / 1e6)),
    ("sd", 3, deviation, |run| Some(run.goodput / 1e6)),
    ("of limit", 3, mean, |run| run.share),
    ("lost %", 2, mean, |run| {
        Some(100.0 * run.packets_lost as f64 / run.packets_sent as f64)
    }),
    ("queue ms", 1, mean, |run| Some(run.queue?.mean)),
    ("p95", 1, mean, |run| Some(run.queue?.p95)),
    ("rtt ms", 1, mean, |run| run.mean_rtt),
    ("min", 1, mean, |run| run.min_rtt),
    ("cwnd kB", 1, mean, |run| Some(run.mean_cwnd? / 1e3)),
    ("runts %", 1, mean, |run| Some(100.0 * run.runts)),
    ("done s", 3, mean, |run| run.completion),
    ("ptos", 1, mean, |run| Some(run.ptos as f64)),
];

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of the sample; not a number of one value.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

fn cell((_, digits, make, value): &Column, runs: &[&FlowReport]) -> String {
    let values: Vec<f64> = runs
        .iter()
        .map(|run| value(run).unwrap_or(f64::NAN))
        .collect();
    match make(&values) {
        number if number.is_nan() => "-".to_owned(),
        number => format!("{number:.digits$}"),
    }
}

/// Prints one line per flow, with means over the seeds, and how fairly flows
/// shared a link.
pub(super) fn print_table(reports: &[Report]) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let heads = COLUMNS.iter().map(|(head, ..)| *head);
    table.set_header(iter::once("controller").chain(heads));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for runs in by_flow(reports) {
        let cells = COLUMNS.iter().map(|column| cell(column, &runs));
        table.add_row(iter::once(runs[0].cc.clone()).chain(cells));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", table.trim_fmt())?;
    let indices: Option<Vec<f64>> = reports.iter().map(|report| report.fairness).collect();
    if let Some(indices) = indices {
        let index = indices.iter().sum::<f64>() / indices.len() as f64;
        writeln!(out, "Jain's index {index:.3}")?;
    }
    Ok(())
}

/// The runs of each flow: of each place in the first seed's reports, those of
/// all seeds.
fn by_flow(reports: &[Report]) -> Vec<Vec<&FlowReport>> {
    let first = reports.first().map_or(0, |report| report.seed);
    let links = reports.iter().filter(|report| report.seed == first).count();
    let mut flows = Vec::new();
    for link in 0..links {
        let seeds: Vec<&Report> = reports.iter().skip(link).step_by(links).collect();
        for flow in 0..seeds[0].flows.len() {
            flows.push(seeds.iter().map(|report| &report.flows[flow]).collect());
        }
    }
    flows
}

/// A run with what was asked.
#[derive(Serialize)]
struct Run<'a> {
    scenario: &'a Scenario,
    report: &'a Report,
}

/// Prints every run with its scenario.
pub(super) fn print_json(scenarios: &[Scenario], reports: &[Report]) -> Result<()> {
    let runs: Vec<Run> = scenarios
        .iter()
        .zip(reports)
        .map(|(scenario, report)| Run { scenario, report })
        .collect();
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &runs)?;
    writeln!(out)?;
    Ok(())
}

/// Writes the samples of all flows as CSV.
pub(super) fn write_series(path: &Path, reports: &[Report]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(
        file,
        "seed,flow,controller,seconds,cwnd_bytes,ssthresh_bytes,in_flight_bytes,pacing_bps,\
         estimate_bps,rtt_ms,body_bytes,queue_ms,capacity_bps"
    )?;
    for report in reports {
        for (index, flow) in report.flows.iter().enumerate() {
            let (seed, cc) = (report.seed, &flow.cc);
            for sample in &flow.samples {
                let Sample {
                    time,
                    cwnd,
                    in_flight,
                    body_bytes,
                    queue,
                    ..
                } = sample;
                let ssthresh = or_empty(sample.ssthresh);
                let (pacing, estimate) = (or_empty(sample.pacing_rate), or_empty(sample.estimate));
                let rtt = or_empty(sample.rtt.map(|rtt| format!("{rtt:.3}")));
                let capacity = or_empty(sample.capacity.map(f64::round));
                writeln!(
                    file,
                    "{seed},{index},\"{cc}\",{time:.6},{cwnd},{ssthresh},{in_flight},{pacing},\
                     {estimate},{rtt},{body_bytes},{queue:.3},{capacity}"
                )?;
            }
        }
    }
    file.flush()
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.as_ref().map(T::to_string).unwrap_or_default()
}
