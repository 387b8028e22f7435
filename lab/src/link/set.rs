//! Any key of a direction from a text, as the command line has it.

use std::str::FromStr;

use super::Direction;
use crate::units::{parse_duration, parse_number, parse_queue, parse_rate, parse_share};

/// A key of a direction and the text of its value: `delay=30ms`.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    key: String,
    value: String,
}

impl FromStr for Setting {
    type Err = String;

    /// Of the form `key=value`, and understood.
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not of the form key=value"))?;
        let setting = Setting {
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
        };
        setting.apply(&mut Direction::default())?;
        Ok(setting)
    }
}

impl Setting {
    /// Returns true if the key sets the capacity of the bottleneck.
    pub(super) fn is_capacity(&self) -> bool {
        ["rate", "trace", "lte"].contains(&self.key.as_str())
    }

    /// Gives `direction` the value; of steps and outages, one more.
    pub(super) fn apply(&self, direction: &mut Direction) -> Result<(), String> {
        let Setting { key, value } = self;
        set(direction, key, value).map_err(|error| format!("{key}: {error}"))
    }
}

fn set(direction: &mut Direction, key: &str, value: &str) -> Result<(), String> {
    match key {
        "rate" => direction.rate = maybe(value, parse_rate)?,
        "steps" => direction.steps.push(value.parse()?),
        "outages" => direction.outages.push(value.parse()?),
        "repeat" => direction.repeat = maybe(value, parse_duration)?,
        "trace" => direction.trace = Some(value.into()),
        "lte" => direction.lte = Some(value.parse()?),
        "policer" => direction.policer = Some(value.parse()?),
        "queue" => direction.queue = parse_queue(value)?,
        "aqm" => direction.aqm = value.parse()?,
        "delay" => direction.delay = parse_duration(value)?,
        "jitter" => direction.jitter = parse_duration(value)?,
        "jitter_distribution" => direction.jitter_distribution = value.parse()?,
        "jitter_hold" => direction.jitter_hold = parse_duration(value)?,
        "jitter_reorders" => direction.jitter_reorders = plain(value, "true or false")?,
        "loss" => direction.loss = parse_share(value)?,
        "loss_run" => direction.loss_run = Some(parse_number(value)?),
        "burst" => direction.burst = Some(value.parse()?),
        "loss_every" => direction.loss_every = Some(value.parse()?),
        "reorder" => direction.reorder = parse_share(value)?,
        "grid" => direction.grid = parse_duration(value)?,
        "aggregate" => direction.aggregate = Some(value.parse()?),
        "decimate" => direction.decimate = plain(value, "a whole number, such as 2")?,
        "handover" => direction.handover = Some(value.parse()?),
        _ => {
            return Err("a direction of a link has no such key; a plan's [link] lists them".into())
        }
    }
    Ok(())
}

fn maybe<T>(
    value: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    match value {
        "none" => Ok(None),
        value => parse(value).map(Some),
    }
}

fn plain<T: FromStr>(value: &str, expected: &str) -> Result<T, String> {
    let misunderstood = |_| format!("`{value}` is not understood; expected {expected}");
    value.parse().map_err(misunderstood)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::link::{Distribution, Queue};

    #[test]
    fn every_key_of_a_plan_can_be_set() {
        let error = serde_json::from_str::<Direction>(r#"{"nothing": 1}"#).unwrap_err();
        let error = error.to_string();
        let (_, known) = error.split_once("expected one of ").unwrap();
        let (known, _) = known.split_once(" at ").unwrap();
        let keys: Vec<&str> = known.split(", ").map(|key| key.trim_matches('`')).collect();
        assert!(keys.len() > 20, "{keys:?}");
        for key in keys {
            if let Err(error) = format!("{key}=?").parse::<Setting>() {
                assert!(!error.contains("no such key"), "{error}");
            }
        }
        let error = "speed=1mbit".parse::<Setting>().unwrap_err();
        assert!(
            error.contains("speed: ") && error.contains("no such key"),
            "{error}"
        );
    }

    #[test]
    fn what_is_set_is_what_a_plan_would_have() {
        let mut direction = Direction::default();
        for text in [
            "rate=2mbit",
            "steps=20s=1mbit",
            "steps=at=25s,delay=30ms",
            "outages=10s+500ms",
            "repeat=30s",
            "queue=80ms",
            "aqm=codel:target=5ms,interval=100ms",
            "jitter=3ms",
            "jitter_distribution=pareto",
            "jitter_reorders=true",
            "aggregate=packets=4,at_most=2ms",
            "decimate=2",
        ] {
            let setting: Setting = text.parse().unwrap();
            setting.apply(&mut direction).unwrap();
        }
        direction.check().unwrap();
        assert_eq!(direction.rate, Some(2_000_000));
        assert_eq!(direction.steps[1].delay, Some(Duration::from_millis(30)));
        assert_eq!(direction.queue, Queue::Time(Duration::from_millis(80)));
        assert_eq!(direction.jitter_distribution, Distribution::Pareto);
        assert_eq!(
            (direction.aggregate.unwrap().packets, direction.decimate),
            (4, 2)
        );
        for (text, says) in [
            ("delay", "key=value"),
            ("delay=30", "45ms"),
            ("decimate=two", "whole number"),
            ("steps=0s=0mbit", "outage"),
        ] {
            let error = text.parse::<Setting>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
