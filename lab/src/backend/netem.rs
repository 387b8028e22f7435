//! Runs over `tc netem`, in real time.

use std::sync::atomic::AtomicBool;

use anyhow::{ensure, Context, Result};

use super::{FlowOutcome, Outcome, Record, Runner};
use crate::netem::{self, Bench, Means, Transfer};
use crate::scenario::{Flow, Pacing, Scenario, Traffic};
use crate::testbed::MAX_DATAGRAM_SIZE;

/// Netem, found and ready.
pub(super) struct Netem {
    bench: Bench,
}

impl Netem {
    pub(super) fn new(means: Means) -> Result<Self> {
        let bench = Bench::find(&means)?;
        Ok(Netem { bench })
    }
}

/// Checks that netem and the example pair support the scenario: one download over one link.
pub(super) fn accepts(scenario: &Scenario) -> Result<()> {
    let why = "the backend netem cannot do this; sim can";
    let can = || -> Result<()> {
        let links = scenario.path.len();
        ensure!(
            links == 1,
            "path: too long (got {links} links); expected one"
        );
        let flows = scenario.flows.len();
        ensure!(
            flows == 1,
            "flows: too many (got {flows} flows); expected one"
        );
        ensure!(
            scenario.cross.is_empty(),
            "cross: not here (got cross traffic); expected none"
        );
        let size = scenario.max_datagram_size;
        ensure!(
            size == MAX_DATAGRAM_SIZE,
            "max_datagram_size: not here (got {size}); expected {MAX_DATAGRAM_SIZE}"
        );
        ensure!(
            scenario.pacing == Pacing::default(),
            "pacing: not the example server's (got {:?}); expected {:?}",
            scenario.pacing,
            Pacing::default()
        );
        let flow = &scenario.flows[0];
        netem::check_controller(&flow.cc)?;
        let plain = Flow {
            traffic: flow.traffic,
            ..Flow::new(&flow.cc)
        };
        ensure!(
            *flow == plain && matches!(flow.traffic, Traffic::Bulk | Traffic::Size(_)),
            "flow: not here (got keys of the simulator); expected one download from the beginning on"
        );
        Ok(())
    };
    can().context(why)?;
    netem::check(&scenario.path[0])
}

impl Runner for Netem {
    fn run(&self, scenario: &Scenario, stop: &AtomicBool) -> Result<Outcome> {
        let [flow] = &scenario.flows[..] else {
            anyhow::bail!(
                "flows: too many (got {}); expected one with netem",
                scenario.flows.len()
            );
        };
        let bytes = match flow.traffic {
            Traffic::Size(bytes) => Some(bytes),
            _ => None,
        };
        let traces = scenario.qlog.as_ref().map(|folder| {
            ["server", "client"].map(|side| folder.join(scenario.trace_name(side, 0)))
        });
        let transfer = Transfer {
            link: &scenario.path[0],
            cc: &flow.cc,
            bytes,
            time_limit: scenario.duration,
            sample_every: scenario.sample_every,
            qlogs: traces.as_ref().map(|[one, other]| [one.as_path(), other]),
        };
        let measured = self.bench.measure(&transfer, stop)?;
        let [queue_mean, queue_p95] = halves(measured.queue_ms);
        let [rtt_p50, rtt_p95] = halves(measured.rtt_ms);
        let figures = [
            ("goodput_mbps", Some(measured.goodput_bps / 1e6)),
            ("received_mb", Some(measured.bytes as f64 / 1e6)),
            ("share_of_limit", measured.share_of_limit),
            ("completion_s", measured.completion_s),
            ("loss_percent", Some(100.0 * measured.loss)),
            ("queue_mean_ms", queue_mean),
            ("queue_p95_ms", queue_p95),
            ("rtt_p50_ms", rtt_p50),
            ("rtt_p95_ms", rtt_p95),
        ];
        let figure = |(name, value): (&str, Option<f64>)| Some((name.to_owned(), value?));
        Ok(Outcome {
            flows: vec![FlowOutcome {
                figures: figures.into_iter().filter_map(figure).collect(),
                failure: None,
                series: measured.series,
            }],
            record: Some(Record {
                facts: measured.facts,
                doubt: measured.doubt,
            }),
        })
    }

    fn workers(&self) -> usize {
        netem::runs_at_a_time()
    }
}

fn halves(pair: Option<(f64, f64)>) -> [Option<f64>; 2] {
    [pair.map(|(one, _)| one), pair.map(|(_, other)| other)]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::link::{Aqm, Direction, Link};
    use crate::scenario::CrossTraffic;

    #[test]
    fn what_netem_cannot_do_is_refused_with_its_reason() {
        let link = Link::symmetric(Direction {
            rate: Some(1_000_000),
            loss: 0.01,
            ..Direction::default()
        });
        let scenario = || Scenario::new(link.clone(), vec![Flow::new("petra")]);
        assert!(accepts(&scenario()).is_ok());
        type Change = fn(&mut Scenario);
        let changes: [(Change, &str); 10] = [
            (|it| it.flows[0].cc = "oracle".to_owned(), "no real link"),
            (|it| it.path.push(it.path[0].clone()), "2 links"),
            (|it| it.flows.push(Flow::new("reno")), "2 flows"),
            (|it| it.flows[0].start = Duration::from_secs(1), "beginning"),
            (|it| it.max_datagram_size = 1200, "1200"),
            (|it| it.pacing = Pacing::Off, "pacing"),
            (
                |it| it.cross.push(CrossTraffic::new(1)),
                "cross: not here (got cross traffic); expected none",
            ),
            (|it| it.flows[0].cubic_spurious_undo = true, "one download"),
            (
                |it| {
                    it.flows[0].traffic = Traffic::OnOff {
                        on: Duration::from_secs(1),
                        off: Duration::from_secs(1),
                    };
                },
                "one download",
            ),
            (
                |it| it.path[0].up.aqm = Aqm::CoDel(Default::default()),
                "aqm: netem here does not make it",
            ),
        ];
        for (change, says) in changes {
            let mut changed = scenario();
            change(&mut changed);
            let error = format!("{:#}", accepts(&changed).unwrap_err());
            assert!(error.contains(says) && error.contains("sim"), "{error}");
        }
    }
}
