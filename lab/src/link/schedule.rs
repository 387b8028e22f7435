//! Changes over time: steps and outages, once or periodically.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use super::{Direction, Queue};
use crate::documented::documented;
use crate::units::{format_duration, parse_rate, Form, Maybe, Rate, Room, Share, Text, Time};

documented! {
    /// From a time on the direction has other values; what a step does not name
    /// stays as it is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Step {
        /// Since the beginning, of the run or of the period.
        #[serde(with = "Text::<Time>")]
        pub at: Duration,
        /// Bits per second.
        #[serde(
            with = "Maybe::<StepRate>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub rate: Option<u64>,
        /// One-way propagation delay.
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub delay: Option<Duration>,
        /// Standard deviation of the delay.
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub jitter: Option<Duration>,
        /// Probability that a packet is lost, 0 to 1.
        #[serde(
            with = "Maybe::<Share>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub loss: Option<f64>,
        /// The most that waits for the bottleneck.
        #[serde(
            with = "Maybe::<Room>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub queue: Option<Queue>,
    }
}

/// A rate, and for one of 0 the key that is meant.
enum StepRate {}

impl Form for StepRate {
    type Value = u64;
    const WHAT: &'static str = Rate::WHAT;
    fn parse(text: &str) -> Result<u64, String> {
        step_rate(text)
    }
    fn format(rate: &u64) -> String {
        Rate::format(rate)
    }
}

fn step_rate(text: &str) -> Result<u64, String> {
    parse_rate(text).map_err(|error| {
        let unit = |c: char| c.is_ascii_alphabetic() || c.is_whitespace();
        match text.trim_end_matches(unit).trim_start().parse() {
            Ok(0.0) => format!("{error}; a time without any rate is an outage"),
            _ => error,
        }
    })
}

documented! {
    /// The bottleneck carries nothing for a time; packets wait.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Outage {
        /// Since the beginning, of the run or of the period.
        #[serde(with = "Text::<Time>")]
        pub at: Duration,
        /// For how long.
        #[serde(with = "Text::<Time>")]
        pub lasts: Duration,
    }
}

impl Direction {
    /// The direction from each of these times on: the beginning, and each step.
    /// None of them has a schedule itself.
    pub(crate) fn stages(&self) -> Vec<(Duration, Direction)> {
        let mut stage = Direction {
            steps: Vec::new(),
            outages: Vec::new(),
            repeat: None,
            ..self.clone()
        };
        let mut stages = vec![(Duration::ZERO, stage.clone())];
        for step in &self.steps {
            stage.rate = step.rate.or(stage.rate);
            stage.delay = step.delay.unwrap_or(stage.delay);
            stage.jitter = step.jitter.unwrap_or(stage.jitter);
            stage.loss = step.loss.unwrap_or(stage.loss);
            stage.queue = step.queue.unwrap_or(stage.queue);
            stages.push((step.at, stage.clone()));
        }
        stages
    }

    /// Returns an error unless each step and outage begins before the end of the run.
    ///
    /// # Errors
    ///
    /// The first that does not.
    pub(crate) fn check_end(&self, end: Duration) -> Result<()> {
        let steps = self.steps.iter().map(|step| ("step", step.at));
        let outages = self.outages.iter().map(|outage| ("outage", outage.at));
        for (what, at) in steps.chain(outages) {
            ensure!(
                at < end,
                "{what}: begins when the run is over (got {}); expected a time before {}",
                format_duration(at),
                format_duration(end)
            );
        }
        Ok(())
    }

    pub(super) fn check_schedule(&self) -> Result<()> {
        ensure!(
            self.rate.is_some() || self.steps.iter().all(|step| step.rate.is_none()),
            "steps: no rate to begin with (got steps of the rate); expected a rate"
        );
        ensure!(
            self.steps.iter().all(|step| step.rate != Some(0)),
            "steps.rate: out of range (got 0); expected at least 1 bit/s, or outages for a time \
             without any"
        );
        let changes = |step: &Step| {
            *step
                != Step {
                    at: step.at,
                    ..Step::default()
                }
        };
        ensure!(
            self.steps.iter().all(changes),
            "steps: nothing changes (got a time alone); expected rate, delay, jitter, loss or queue"
        );
        ensure!(
            self.steps.windows(2).all(|pair| pair[0].at < pair[1].at),
            "steps: not in the order of time (got a later one first); expected the first first"
        );
        ensure!(
            self.outages
                .windows(2)
                .all(|pair| pair[0].at + pair[0].lasts < pair[1].at),
            "outages that are not in the order of time, or that touch each other"
        );
        self.check_repeat()
    }

    fn check_repeat(&self) -> Result<()> {
        let Some(period) = self.repeat else {
            return Ok(());
        };
        ensure!(
            !period.is_zero(),
            "a repeat of 0; it is a time larger than 0"
        );
        ensure!(
            !self.steps.is_empty() || !self.outages.is_empty(),
            "repeat: nothing to repeat (got no step and no outage); expected steps or outages"
        );
        ensure!(
            self.steps.iter().all(|step| step.at < period),
            "a step that is not before the repeat of {period:?}"
        );
        let ends = |outage: &Outage| outage.at + outage.lasts;
        ensure!(
            self.outages.iter().all(|outage| ends(outage) <= period),
            "an outage that ends after the repeat of {period:?}"
        );
        if let (Some(first), Some(last)) = (self.outages.first(), self.outages.last()) {
            ensure!(
                ends(last) < first.at + period,
                "outages that touch each other when the schedule starts over after {period:?}"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_whatever_it_names() {
        let farther = Step {
            at: Duration::from_secs(20),
            delay: Some(Duration::from_millis(30)),
            jitter: Some(Duration::from_millis(5)),
            loss: Some(0.01),
            queue: Some(Queue::Time(Duration::from_millis(80))),
            ..Step::default()
        };
        let json = r#"{"at":"20s","delay":"30ms","jitter":"5ms","loss":"1%","queue":"80ms"}"#;
        assert_eq!(serde_json::to_string(&farther).unwrap(), json);
        assert_eq!(serde_json::from_str::<Step>(json).unwrap(), farther);
        for json in [r#"{"at":"20s","speed":"1mbit"}"#, r#"{"delay":"5ms"}"#] {
            assert!(serde_json::from_str::<Step>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_step_to_no_rate_is_refused_with_what_is_meant() {
        for text in ["0mbit", "0.0 kbit", "0bit"] {
            let json = format!(r#"{{"at": "20s", "rate": "{text}"}}"#);
            let error = serde_json::from_str::<Step>(&json).unwrap_err();
            assert!(error.to_string().contains("outage"), "{text}: {error}");
        }
        let json = r#"{"at": "20s", "rate": "ten"}"#;
        let error = serde_json::from_str::<Step>(json).unwrap_err();
        assert!(!error.to_string().contains("outage"), "{error}");
    }

    #[test]
    fn each_stage_has_what_the_steps_before_it_have_set() {
        let step = |at, rate, delay: Option<u64>| Step {
            at: Duration::from_secs(at),
            rate,
            delay: delay.map(Duration::from_millis),
            ..Step::default()
        };
        let direction = Direction {
            rate: Some(1),
            delay: Duration::from_millis(10),
            loss: 0.5,
            steps: vec![step(1, Some(2), None), step(2, None, Some(20))],
            ..Direction::default()
        };
        let stages = direction.stages().into_iter();
        let seen: Vec<_> = stages
            .map(|(at, it)| (at.as_secs(), it.rate, it.delay.as_millis(), it.loss))
            .collect();
        let expected = [
            (0, Some(1), 10, 0.5),
            (1, Some(2), 10, 0.5),
            (2, Some(2), 20, 0.5),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_schedule_that_cannot_be_is_refused_with_what_can() {
        let at = Duration::from_secs;
        let direction = || Direction {
            rate: Some(1_000_000),
            steps: vec![Step {
                at: at(2),
                loss: Some(0.1),
                ..Step::default()
            }],
            outages: vec![Outage {
                at: at(1),
                lasts: at(1),
            }],
            repeat: Some(at(3)),
            ..Direction::default()
        };
        assert!(direction().check().is_ok());
        type Change = fn(&mut Direction);
        let changes: [(Change, &str); 8] = [
            (
                |it| it.repeat = Some(Duration::from_secs(2)),
                "not before the repeat",
            ),
            (
                |it| it.outages[0].lasts = Duration::from_secs(3),
                "ends after",
            ),
            (
                |it| {
                    it.outages[0].at = Duration::ZERO;
                    it.outages[0].lasts = Duration::from_secs(3);
                },
                "starts over",
            ),
            (|it| it.repeat = Some(Duration::ZERO), "a repeat of 0"),
            (|it| it.steps[0].loss = None, "nothing changes"),
            (
                |it| it.steps[0].loss = Some(2.0),
                "loss: out of range (got 2)",
            ),
            (|it| it.steps[0].rate = Some(0), "outages"),
            (
                |it| {
                    it.steps.clear();
                    it.outages.clear();
                },
                "to repeat",
            ),
        ];
        for (change, says) in changes {
            let mut changed = direction();
            change(&mut changed);
            let error = changed.check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
