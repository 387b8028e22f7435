//! The controllers by name.

use std::fmt;
use std::sync::Arc;

use super::controller::{Controller, Settings};
use super::highbrow::HighbrowConfig;
use super::newreno_34::NewReno34Config;
use super::options::{self, OptionError, Options};
use super::petra::PetraConfig;
use super::petra_thesis::PetraThesisConfig;
use super::westwood::WestwoodConfig;
use super::westwood_nr::WestwoodNrConfig;

/// How to make a controller; one recipe serves any number of connections.
pub trait Recipe: Send + Sync + fmt::Debug {
    /// The name that selects the controller.
    fn name(&self) -> &'static str;

    /// A controller for a new path.
    fn build(&self, settings: Settings) -> Box<dyn Controller>;
}

/// Every controller.
const CONTROLLERS: [Entry; 6] = [
    entry::<PetraConfig>("PETRA made robust for QUIC"),
    entry::<PetraThesisConfig>("PETRA as its thesis has it"),
    entry::<WestwoodConfig>("TCP Westwood"),
    entry::<WestwoodNrConfig>("TCP WestwoodNR, whose estimate falls when no ACKs come"),
    entry::<NewReno34Config>("NewReno that triples, adds four and keeps three quarters"),
    entry::<HighbrowConfig>("NewReno that does not wait for timeouts"),
];

/// A controller as the catalogue knows it.
struct Entry {
    name: &'static str,
    parse: fn(&str) -> Result<Arc<dyn Recipe>, OptionError>,
    help: fn() -> String,
    title: &'static str,
}

const fn entry<C: Options + Recipe + 'static>(title: &'static str) -> Entry {
    Entry {
        name: C::NAME,
        parse: |options| Ok(Arc::new(options::parse::<C>(options)?)),
        help: options::help::<C>,
        title,
    }
}

/// The names that [`recipe`] knows.
pub const NAMES: [&str; CONTROLLERS.len()] = {
    let mut names = [""; CONTROLLERS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = CONTROLLERS[index].name;
        index += 1;
    }
    names
};

/// [`NAMES`], as an iterator.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// The controller of this name with these options, such as
/// `alpha=0.8,faster_start=off`; an empty string means the defaults.
///
/// # Errors
///
/// When there is no such controller, or an option is unknown, malformed,
/// repeated or out of range. The error says what is accepted.
pub fn recipe(name: &str, options: &str) -> Result<Arc<dyn Recipe>, OptionError> {
    match CONTROLLERS.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.parse)(options),
        None => Err(OptionError::UnknownController {
            name: name.into(),
            known: NAMES.to_vec(),
        }),
    }
}

/// Every controller with its options, as text for a `--help`.
pub fn describe() -> String {
    let section = |entry: &Entry| format!("{}: {}\n{}", entry.name, entry.title, (entry.help)());
    CONTROLLERS.iter().map(section).collect()
}
