//! Options of the controllers: values that are always in range, and the option string, such
//! as `alpha=0.8,faster_start=off`.

use std::fmt;
use std::time::Duration;

/// A number from `MIN` to `MAX` thousandths, both included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bounded<const MIN: u32, const MAX: u32>(f64);

/// Weight of the past in an average: from 0 (only the last sample counts) to 0.999.
pub type Alpha = Bounded<0, 999>;

/// Pacing rate over `cwnd / smoothed_rtt` (RFC 9002, Section 7.7,
/// <https://www.rfc-editor.org/rfc/rfc9002#section-7.7>): 1 to 4.
pub type Gain = Bounded<1_000, 4_000>;

/// A share of a whole: 0.01 to 0.99.
pub type Part = Bounded<10, 990>;

/// Seconds: 0.01 to 60.
pub type Seconds = Bounded<10, 60_000>;

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// The smallest value.
    pub const MIN: f64 = MIN as f64 / 1e3;

    /// The largest value.
    pub const MAX: f64 = MAX as f64 / 1e3;

    /// Checks `value` against the range.
    ///
    /// # Errors
    ///
    /// A `value` that is not a number from [`Self::MIN`] to [`Self::MAX`].
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

    /// A constant, in thousandths. It is checked at compile time.
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

/// The error of a number outside of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    min: f64,
    max: f64,
}

impl OutOfRange {
    fn expected(&self) -> String {
        format!("a number from {} to {}", self.min, self.max)
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of range; expected {}", self.expected())
    }
}

impl std::error::Error for OutOfRange {}

/// The error of a controller's name or options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such controller.
    UnknownController {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// No option of the controller has this name.
    UnknownKey {
        /// The controller.
        controller: &'static str,
        /// The key that was given.
        key: String,
        /// The keys of all options.
        known: Vec<&'static str>,
    },
    /// The value is invalid for the option.
    BadValue {
        /// The controller.
        controller: &'static str,
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The accepted values.
        accepted: String,
    },
    /// The option is given twice.
    Duplicate {
        /// The controller.
        controller: &'static str,
        /// The option.
        key: &'static str,
    },
    /// Not of the form `key=value`.
    Malformed {
        /// The controller.
        controller: &'static str,
        /// The text between two commas.
        text: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownController { name, known } => write!(
                f,
                "controller: unknown name (got {name:?}); expected {}",
                known.join(", ")
            ),
            Self::UnknownKey {
                controller,
                key,
                known,
            } => write!(
                f,
                "{controller}: unknown option (got {key:?}); expected {}",
                known.join(", ")
            ),
            Self::BadValue {
                controller,
                key,
                value,
                accepted,
            } => write!(
                f,
                "{controller}: {key}: invalid value (got {value:?}); expected {accepted}"
            ),
            Self::Duplicate { controller, key } => {
                write!(f, "{controller}: {key}: duplicate option")
            }
            Self::Malformed { controller, text } => write!(
                f,
                "{controller}: malformed option (got {text:?}); \
                 expected key=value, separated by commas"
            ),
        }
    }
}

impl std::error::Error for OptionError {}

/// A value that an option string can set.
pub(crate) trait OptionValue {
    /// Sets the value and returns true, or keeps the old value and returns false.
    fn set(&mut self, text: &str) -> bool;

    /// Describes the texts that `set` accepts.
    fn accepted(&self) -> String;

    /// The present value, in the form that `set` accepts.
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
        OutOfRange { min, max }.expected()
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// One option of a configuration.
pub(crate) struct Entry<'a> {
    key: &'static str,
    former_key: Option<&'static str>,
    help: &'static str,
    value: &'a mut dyn OptionValue,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(
        key: &'static str,
        help: &'static str,
        value: &'a mut dyn OptionValue,
    ) -> Self {
        Self {
            key,
            former_key: None,
            help,
            value,
        }
    }

    /// Accepts the option's former key as well, for one release.
    pub(crate) fn formerly(self, key: &'static str) -> Self {
        Self {
            former_key: Some(key),
            ..self
        }
    }

    fn is_called(&self, key: &str) -> bool {
        self.key == key || self.former_key == Some(key)
    }
}

/// A controller's configuration as a table of options, from which parsing, errors and help
/// derive.
pub(crate) trait Options: Default {
    /// The controller's name.
    const NAME: &'static str;

    /// Every option, in the order of the help.
    fn entries(&mut self) -> Vec<Entry<'_>>;
}

/// Parses `key=value,key=value`. An empty text selects the defaults.
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
        let Some(entry) = entries.iter_mut().find(|entry| entry.is_called(key)) else {
            return Err(OptionError::UnknownKey {
                controller,
                key: key.into(),
                known: entries.iter().map(|entry| entry.key).collect(),
            });
        };
        let key = entry.key;
        if given.contains(&key) {
            return Err(OptionError::Duplicate { controller, key });
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

/// One option as text, for `--help` and the reference page.
pub(crate) struct Description {
    pub(crate) key: &'static str,
    pub(crate) former_key: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) accepted: String,
    pub(crate) default: String,
}

/// Describes every option of a controller, in the order of the help.
pub(crate) fn describe<C: Options>() -> Vec<Description> {
    let describe = |entry: &Entry| Description {
        key: entry.key,
        former_key: entry.former_key,
        help: entry.help,
        accepted: entry.value.accepted(),
        default: entry.value.show(),
    };
    C::default().entries().iter().map(describe).collect()
}

#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests;
