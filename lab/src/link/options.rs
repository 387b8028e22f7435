//! A link on the command line: an option for each key that a plan's `[link]` has.

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::setting::{table_fields, Setting};
use super::{former_key, Direction, Link};
use crate::documented::{Documented, Field};

/// Defaults of the link of the command line.
const DEFAULTS: [(&str, &str); 4] = [
    ("rate", "10mbit"),
    ("delay", "45ms"),
    ("loss", "0.5%"),
    ("queue", "1bdp"),
];

/// Keys that stand instead of another one.
const INSTEAD: [(&str, &str); 3] = [("trace", "rate"), ("lte", "rate"), ("burst", "loss")];

/// The option of any key of the way back.
const UP: &str = "up";

/// A link on the command line. Down is the way of the data, up that of the ACKs.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    table: Map<String, Value>,
    /// The keys that have their default.
    defaulted: Vec<&'static str>,
}

impl LinkOptions {
    /// The link as a plan's `[link]`.
    pub fn table(&self) -> &Map<String, Value> {
        &self.table
    }

    /// The settings that have their default, such as `loss 0.5%`.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = String> + '_ {
        let keys = DEFAULTS
            .iter()
            .filter(|(key, _)| self.defaulted.contains(key));
        keys.map(|(key, text)| format!("{key} {text}"))
    }

    /// The link that was asked for.
    ///
    /// # Errors
    ///
    /// Options that contradict each other.
    pub fn link(&self) -> Result<Link> {
        let link = Link::deserialize(&Value::from(self.table.clone()))?;
        link.check()?;
        Ok(link)
    }
}

/// The name of a key's option; of a list, each mention adds one item.
pub(crate) fn option_name(field: &Field) -> String {
    let name = field.name.replace('_', "-");
    match field.is_list() {
        true => name.trim_end_matches('s').to_owned(),
        false => name,
    }
}

/// The option of the key's former name.
fn former_option(field: &Field) -> Option<String> {
    former_key(field.name).map(|key| key.replace('_', "-"))
}

/// The option of a key; `id` tells the way of the data from the way back.
fn option(field: &'static Field, id: String) -> Arg {
    let switch = field.values() == "`true`, `false`";
    let value_name = match field.name {
        "steps" => "TIME=RATE|KEY=VALUE,...",
        "outages" => "TIME+TIME",
        key if table_fields(key).is_some() => "KEY=VALUE,...",
        "aqm" => "NAME[:OPTIONS]",
        _ if switch => "BOOL",
        _ if field.values().contains('`') => "NAME",
        _ => field.values(),
    };
    let arg = Arg::new(id)
        .value_name(value_name.to_uppercase())
        .value_parser(|text: &str| Setting::of(field.name, text));
    // A negative number gets an answer of its own.
    match (field.is_list(), switch) {
        (true, _) => arg.action(ArgAction::Append).allow_hyphen_values(true),
        (_, true) => arg.num_args(0..=1).default_missing_value("true"),
        _ => arg.allow_hyphen_values(true),
    }
}

fn down(field: &'static Field) -> Arg {
    let arg = option(field, field.name.to_owned())
        .long(option_name(field))
        .aliases(former_option(field))
        .help(field.about().trim_end_matches('.').to_owned());
    match DEFAULTS.iter().find(|(key, _)| *key == field.name) {
        Some((_, text)) => arg.default_value(text),
        None => arg,
    }
}

fn up_id(field: &Field) -> String {
    format!("{UP}_{}", field.name)
}

/// Former options, replaced by `--up`.
fn up(field: &'static Field) -> Arg {
    let name = option_name(field);
    let former = former_option(field);
    let formers = former.map(|name| [format!("{UP}-{name}"), format!("ack-{name}")]);
    option(field, up_id(field))
        .long(format!("{UP}-{name}"))
        .alias(format!("ack-{name}"))
        .aliases(formers.into_iter().flatten())
        .hide(true)
}

impl Args for LinkOptions {
    fn augment_args(command: Command) -> Command {
        let any = Arg::new(UP)
            .long(UP)
            .value_name("KEY=VALUE")
            .help(
                "Any key of the way back, by the names in a plan: `slot=20ms`, `trace=FILE`, \
                 `steps=20s=2mbit`. Rate, delay and queue are those of the data if nothing is \
                 said, all else is absent. May be repeated.",
            )
            .value_parser(Setting::read)
            .action(ArgAction::Append);
        command
            .next_help_heading("The link")
            .args(Direction::FIELDS.iter().map(down))
            .arg(any)
            .args(Direction::FIELDS.iter().map(up))
            .next_help_heading(None)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LinkOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let said = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let takes_its_place = |key: &str| {
            let mut others = INSTEAD.iter().filter(|(_, instead)| *instead == key);
            others.any(|(other, _)| said(other)) && !said(key)
        };
        let mut table = Map::new();
        let fields = Direction::FIELDS.iter();
        for field in fields.clone().filter(|field| !takes_its_place(field.name)) {
            put(matches, field.name, &mut table);
        }
        let mut back = Map::new();
        fields.for_each(|field| put(matches, &up_id(field), &mut back));
        put(matches, UP, &mut back);
        if !back.is_empty() {
            table.insert(UP.to_owned(), back.into());
        }
        let defaulted = DEFAULTS.iter().map(|(key, _)| *key);
        let defaulted = defaulted.filter(|key| !said(key) && table.contains_key(*key));
        Ok(LinkOptions {
            defaulted: defaulted.collect(),
            table,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn put(matches: &ArgMatches, id: &str, table: &mut Map<String, Value>) {
    let settings = matches.get_many::<Setting>(id).into_iter().flatten();
    settings.for_each(|setting| setting.put(table));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::link::{Distribution, Queue};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        link: LinkOptions,
    }

    fn read(words: &str) -> Result<Link, String> {
        let words = std::iter::once("link").chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.link.link().map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn every_key_is_an_option_and_one_of_the_way_back() {
        for field in Direction::FIELDS {
            for words in [
                format!("--{}=?", option_name(field)),
                format!("--up {}=?", field.name),
                format!("--up-{}=?", option_name(field)),
            ] {
                // Understood or not, it is there.
                let error = read(&words).err().unwrap_or_default();
                let unknown =
                    error.contains("unexpected argument") || error.contains("no such key");
                assert!(!unknown, "{words}: {error}");
            }
        }
        let error = read("--up speed=1mbit").unwrap_err();
        assert!(error.contains("no such key (got speed)"), "{error}");
    }

    #[test]
    fn what_is_set_is_what_a_plan_would_have() {
        let words = "--rate 2mbit --queue 80ms --jitter 3ms --jitter-distribution pareto \
            --jitter-reorders --step 20s=1mbit --step at=25s,delay=30ms --outage 10s+500ms \
            --repeat 30s --aqm codel:target=5ms,interval=100ms --aggregate packets=4,at_most=2ms \
            --ack-filter 2 --up mean_burst_length=2.5 --up loss=1%";
        let Link { down, up } = read(words).unwrap();
        assert_eq!((down.rate, down.loss), (Some(2_000_000), 0.005));
        assert_eq!(down.steps[0].rate, Some(1_000_000));
        assert_eq!(down.steps[1].delay, Some(Duration::from_millis(30)));
        assert_eq!(down.outages[0].lasts, Duration::from_millis(500));
        assert_eq!(down.queue, Queue::Time(Duration::from_millis(80)));
        assert_eq!(down.jitter_distribution, Distribution::Pareto);
        assert!(down.jitter_reorders);
        assert_eq!((down.aggregate.unwrap().packets, down.ack_filter), (4, 2));
        assert_eq!((up.loss, up.mean_burst_length), (0.01, Some(2.5)));
        assert_eq!((up.rate, up.queue), (down.rate, down.queue));
        assert_eq!((up.jitter, up.steps.len()), (Duration::ZERO, 0));
    }

    #[test]
    fn what_stands_instead_takes_the_place_of_a_default_only() {
        let cell = read("--lte mean=3mbit --burst to_bad=1%,to_good=25%").unwrap();
        assert_eq!((cell.down.rate, cell.down.loss), (None, 0.0));
        assert_eq!(cell.down.lte.unwrap().coherence, Duration::from_millis(100));
        assert_eq!(cell.up.rate, None);
        for (words, says) in [
            ("--lte mean=3mbit --rate 1mbit", "bottleneck: several rates"),
            (
                "--burst to_bad=1%,to_good=25% --loss 1%",
                "burst: two models of loss",
            ),
            ("--lte mean=3mbit,mean=4mbit", "duplicate key (got mean)"),
            ("--step 20s", "such as 20s=2mbit"),
            ("--step 0s=0mbit", "outage"),
            ("--outage 10s", "such as 10s+500ms"),
            ("--delay 30", "45ms"),
            ("--loss 150%", "0.5%"),
            ("--jitter-reorders maybe", "boolean"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(says), "{words}: {error}");
        }
    }
}
