//! Flows over time, a file for each run.

use std::io::Write;

use anyhow::Result;

use crate::backend::FlowOutcome;
use crate::scenario::Scenario;
use crate::sim::Sample;

/// A column: its head, and a sample's cell.
type Column = (&'static str, fn(&Sample) -> Option<f64>);

/// State of a flow at one time. A column is empty for a value that does not exist, such as ssthresh
/// before the first loss or the pacing rate of an unpaced sender.
const COLUMNS: [Column; 10] = [
    ("seconds", |it| Some(it.time)),
    ("cwnd_bytes", |it| Some(it.cwnd as f64)),
    ("ssthresh_bytes", |it| Some(it.ssthresh? as f64)),
    ("in_flight_bytes", |it| Some(it.in_flight as f64)),
    ("pacing_bps", |it| Some(it.pacing_rate? as f64)),
    ("estimate_bps", |it| Some(it.estimate? as f64)),
    ("capacity_bps", |it| it.capacity),
    ("rtt_ms", |it| it.rtt),
    ("queue_ms", |it| Some(it.queue)),
    ("body_bytes", |it| Some(it.body_bytes as f64)),
];

/// Writes a line for each sample of each flow.
pub(super) fn write(
    scenario: &Scenario,
    flows: &[FlowOutcome],
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(
        ["flow", "cc"]
            .into_iter()
            .chain(COLUMNS.map(|(head, _)| head)),
    )?;
    for (index, (flow, outcome)) in scenario.flows.iter().zip(flows).enumerate() {
        let names = [index.to_string(), flow.cc.clone()];
        for sample in &outcome.series {
            let cells = COLUMNS
                .iter()
                .map(|(_, cell)| cell(sample).map_or_else(String::new, |value| value.to_string()));
            writer.write_record(names.iter().cloned().chain(cells))?;
        }
    }
    Ok(writer.flush()?)
}
