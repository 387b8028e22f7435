//! Options of the controllers: values that cannot be out of range, and the
//! option string, such as `alpha=0.8,faster_start=off`.

use std::fmt;
use std::time::Duration;

/// A number from `MIN` to `MAX` thousandths, both included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bounded<const MIN: u32, const MAX: u32>(f64);

/// Weight of the past in equation 4.4: from 0 (the last sample alone) to 0.999.
pub type Alpha = Bounded<0, 999>;

/// Pacing rate over `cwnd / smoothed_rtt` (RFC 9002 section 7.7): 1 to 4.
pub type Gain = Bounded<1_000, 4_000>;

/// A part of something: 0.01 to 0.99.
pub type Part = Bounded<10, 990>;

/// Seconds: 0.01 to 60.
pub type Seconds = Bounded<10, 60_000>;

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// The smallest value there is.
    pub const MIN: f64 = MIN as f64 / 1e3;

    /// The largest value there is.
    pub const MAX: f64 = MAX as f64 / 1e3;

    /// # Errors
    ///
    /// When `value` is not a number from [`Self::MIN`] to [`Self::MAX`].
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        if (Self::MIN..=Self::MAX).contains(&value) {
            Ok(Self(value))
        } else {
            Err(OutOfRange {
                min: Self::MIN,
                max: Self::MAX,
            })
        }
    }

    /// A constant of the source, in thousandths.
    pub(crate) const fn thousandths(value: u32) -> Self {
        assert!(MIN <= value && value <= MAX);
        Self(value as f64 / 1e3)
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Seconds {
    pub(crate) fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

/// A number was refused; shows what is accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    min: f64,
    max: f64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number from {} to {}", self.min, self.max)
    }
}

impl std::error::Error for OutOfRange {}

/// What is wrong with a controller's name or its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such controller.
    UnknownController {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The controller has no such option.
    UnknownKey {
        /// The controller.
        controller: &'static str,
        /// The key that was given.
        key: String,
        /// The keys there are.
        known: Vec<&'static str>,
    },
    /// The option does not take this value.
    BadValue {
        /// The controller.
        controller: &'static str,
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// What it takes.
        accepted: String,
    },
    /// The option stands twice.
    Repeated {
        /// The controller.
        controller: &'static str,
        /// The option.
        key: &'static str,
    },
    /// Not of the form `key=value`.
    Malformed {
        /// The controller.
        controller: &'static str,
        /// What stood between the commas.
        text: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownController { name, known } => write!(
                f,
                "no controller is called {name:?}; there are {}",
                known.join(", ")
            ),
            Self::UnknownKey {
                controller,
                key,
                known,
            } => write!(
                f,
                "{controller} has no option {key:?}; it has {}",
                known.join(", ")
            ),
            Self::BadValue {
                controller,
                key,
                value,
                accepted,
            } => write!(f, "{controller}: {key} takes {accepted}, not {value:?}"),
            Self::Repeated { controller, key } => {
                write!(f, "{controller}: {key} is given twice")
            }
            Self::Malformed { controller, text } => write!(
                f,
                "{controller}: {text:?} is not an option; options are \
                 key=value, separated by commas"
            ),
        }
    }
}

impl std::error::Error for OptionError {}

/// A value that an option string can set.
pub(crate) trait OptionValue {
    /// Takes the value, or leaves the old one and says no.
    fn set(&mut self, text: &str) -> bool;

    /// What `set` takes.
    fn accepted(&self) -> String;

    /// The present value, as `set` would take it.
    fn show(&self) -> String;
}

impl OptionValue for bool {
    fn set(&mut self, text: &str) -> bool {
        *self = match text {
            "on" | "true" => true,
            "off" | "false" => false,
            _ => return false,
        };
        true
    }

    fn accepted(&self) -> String {
        "on, off, true or false".into()
    }

    fn show(&self) -> String {
        if *self { "on" } else { "off" }.into()
    }
}

impl<const MIN: u32, const MAX: u32> OptionValue for Bounded<MIN, MAX> {
    fn set(&mut self, text: &str) -> bool {
        let value = text.parse().ok().and_then(|value| Self::new(value).ok());
        value.inspect(|value| *self = *value).is_some()
    }

    fn accepted(&self) -> String {
        let (min, max) = (Self::MIN, Self::MAX);
        OutOfRange { min, max }.to_string()
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// One option of a config.
pub(crate) struct Entry<'a> {
    pub(crate) key: &'static str,
    pub(crate) help: &'static str,
    pub(crate) value: &'a mut dyn OptionValue,
}

/// A controller's config as a table of options. The table is all that parsing,
/// errors and help need.
pub(crate) trait Options: Default {
    /// The controller's name.
    const NAME: &'static str;

    /// Every option, in the order of the help.
    fn entries(&mut self) -> Vec<Entry<'_>>;
}

/// Reads `key=value,key=value`; nothing at all means the defaults.
pub(crate) fn parse<C: Options>(text: &str) -> Result<C, OptionError> {
    let controller = C::NAME;
    let mut config = C::default();
    if text.trim().is_empty() {
        return Ok(config);
    }
    let mut entries = config.entries();
    let mut given = Vec::new();
    for item in text.split(',') {
        let (key, value) = match item.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => (key.trim(), value.trim()),
            _ => {
                let text = item.to_string();
                return Err(OptionError::Malformed { controller, text });
            }
        };
        let Some(entry) = entries.iter_mut().find(|entry| entry.key == key) else {
            return Err(OptionError::UnknownKey {
                controller,
                key: key.into(),
                known: entries.iter().map(|entry| entry.key).collect(),
            });
        };
        let key = entry.key;
        if given.contains(&key) {
            return Err(OptionError::Repeated { controller, key });
        }
        given.push(key);
        if !entry.value.set(value) {
            return Err(OptionError::BadValue {
                controller,
                key,
                value: value.into(),
                accepted: entry.value.accepted(),
            });
        }
    }
    drop(entries);
    Ok(config)
}

/// The options of a controller, one a line, with what they take and their
/// default.
pub(crate) fn help<C: Options>() -> String {
    C::default()
        .entries()
        .iter()
        .map(|entry| {
            format!(
                "    {:<22} {} ({}; default {})\n",
                entry.key,
                entry.help,
                entry.value.accepted(),
                entry.value.show()
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
