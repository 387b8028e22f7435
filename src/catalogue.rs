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

/// The names that [`recipe`] knows.
pub const NAMES: [&str; 6] = [
    PetraConfig::NAME,
    PetraThesisConfig::NAME,
    WestwoodConfig::NAME,
    WestwoodNrConfig::NAME,
    NewReno34Config::NAME,
    HighbrowConfig::NAME,
];

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
    match name {
        PetraConfig::NAME => shared::<PetraConfig>(options),
        PetraThesisConfig::NAME => shared::<PetraThesisConfig>(options),
        WestwoodConfig::NAME => shared::<WestwoodConfig>(options),
        WestwoodNrConfig::NAME => shared::<WestwoodNrConfig>(options),
        NewReno34Config::NAME => shared::<NewReno34Config>(options),
        HighbrowConfig::NAME => shared::<HighbrowConfig>(options),
        _ => Err(OptionError::UnknownController {
            name: name.into(),
            known: NAMES.to_vec(),
        }),
    }
}

fn shared<C: Options + Recipe + 'static>(options: &str) -> Result<Arc<dyn Recipe>, OptionError> {
    Ok(Arc::new(options::parse::<C>(options)?))
}

/// Every controller with its options, as text for a `--help`.
pub fn describe() -> String {
    [
        section::<PetraConfig>("PETRA made robust for QUIC"),
        section::<PetraThesisConfig>("PETRA as its thesis has it"),
        section::<WestwoodConfig>("TCP Westwood"),
        section::<WestwoodNrConfig>("TCP WestwoodNR, which hears silence"),
        section::<NewReno34Config>("NewReno that triples, adds four and keeps three quarters"),
        section::<HighbrowConfig>("NewReno that does not wait for timeouts"),
    ]
    .concat()
}

fn section<C: Options>(title: &str) -> String {
    format!("{}: {title}\n{}", C::NAME, options::help::<C>())
}
