//! The registry: factories of the controllers by name.

use std::sync::Arc;

pub use super::controller::Factory;
use super::highbrow::HighbrowConfig;
use super::newreno_34::NewReno34Config;
use super::options::{self, Description, OptionError, Options};
use super::petra::PetraConfig;
use super::petra_thesis::PetraThesisConfig;
use super::westwood::WestwoodConfig;
use super::westwood_nr::WestwoodNrConfig;

/// Every controller.
const CONTROLLERS: &[Registration] = &[
    registration::<PetraConfig>("PETRA made robust for QUIC"),
    registration::<PetraThesisConfig>("PETRA as its thesis defines it"),
    registration::<WestwoodConfig>("TCP Westwood"),
    registration::<WestwoodNrConfig>("TCP WestwoodNR: its estimate falls when no ACKs arrive"),
    registration::<NewReno34Config>("NewReno with triple slow start, increase 4, beta 0.75"),
    registration::<HighbrowConfig>("Highbrow TCP: NewReno that retransmits before a timeout"),
];

/// One controller of the registry.
struct Registration {
    name: &'static str,
    parse: fn(&str) -> Result<Arc<dyn Factory>, OptionError>,
    options: fn() -> Vec<Description>,
    title: &'static str,
}

const fn registration<C: Options + Factory + 'static>(title: &'static str) -> Registration {
    Registration {
        name: C::NAME,
        parse: |options| Ok(Arc::new(options::parse::<C>(options)?)),
        options: options::describe::<C>,
        title,
    }
}

/// The names of all controllers.
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

/// Returns the factory of the controller with this name and these options, such as
/// `alpha=0.8,faster_start=off`. An empty string selects the defaults.
///
/// # Errors
///
/// An unknown name, or an option that is unknown, malformed, duplicate or out of range. The
/// error says what is accepted.
pub fn factory(name: &str, options: &str) -> Result<Arc<dyn Factory>, OptionError> {
    match CONTROLLERS.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.parse)(options),
        None => Err(OptionError::UnknownController {
            name: name.into(),
            known: NAMES.to_vec(),
        }),
    }
}

/// Describes every controller and its options, as text for `--help`.
pub fn describe() -> String {
    let line = |option: &Description| {
        let former = option.former_key.map(|key| format!("; formerly {key}"));
        format!(
            "    {:<22} {} ({}; default {}{})\n",
            option.key,
            option.help,
            option.accepted,
            option.default,
            former.unwrap_or_default()
        )
    };
    let section = |entry: &Registration| {
        let options: String = (entry.options)().iter().map(line).collect();
        format!("{}: {}\n{options}", entry.name, entry.title)
    };
    CONTROLLERS.iter().map(section).collect()
}

#[cfg(test)]
mod tests;
