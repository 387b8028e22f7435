//! Quantities in text formats: `#[serde(with = "Text::<Rate>")]` and, for an
//! `Option`, `#[serde(with = "Maybe::<Rate>")]`.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::Serializer;

use crate::link::Queue;

/// Textual form of a quantity.
pub trait Form {
    /// Type used in calculations.
    type Value;
    /// Accepted texts, with examples.
    const WHAT: &'static str;
    /// # Errors
    ///
    /// What is wrong with the text, and what is accepted.
    fn parse(text: &str) -> Result<Self::Value, String>;
    /// Returns a text that `parse` accepts for the same value.
    fn format(value: &Self::Value) -> String;
    /// The value of a number without a unit, where one is not needed.
    fn number(_: f64) -> Option<Self::Value> {
        None
    }
}

/// Bits per second.
pub enum Rate {}

impl Form for Rate {
    type Value = u64;
    const WHAT: &'static str = super::RATE;
    fn parse(text: &str) -> Result<u64, String> {
        super::parse_rate(text)
    }
    fn format(rate: &u64) -> String {
        super::format_rate(*rate)
    }
}

/// A duration.
pub enum Time {}

impl Form for Time {
    type Value = Duration;
    const WHAT: &'static str = super::TIME;
    fn parse(text: &str) -> Result<Duration, String> {
        super::parse_duration(text)
    }
    fn format(time: &Duration) -> String {
        super::format_duration(*time)
    }
}

/// A share of a whole, 0 to 1; a plain number is accepted.
pub enum Share {}

impl Form for Share {
    type Value = f64;
    const WHAT: &'static str = super::SHARE;
    fn parse(text: &str) -> Result<f64, String> {
        super::parse_share(text)
    }
    fn format(share: &f64) -> String {
        super::format_share(*share)
    }
    fn number(share: f64) -> Option<f64> {
        // 1 may be 1 %.
        (0.0..1.0).contains(&share).then_some(share)
    }
}

/// Bytes.
pub enum Size {}

impl Form for Size {
    type Value = u64;
    const WHAT: &'static str = super::SIZE;
    fn parse(text: &str) -> Result<u64, String> {
        super::parse_size(text)
    }
    fn format(bytes: &u64) -> String {
        super::format_size(*bytes)
    }
}

/// The size of a queue.
pub enum Room {}

impl Form for Room {
    type Value = Queue;
    const WHAT: &'static str = super::QUEUE;
    fn parse(text: &str) -> Result<Queue, String> {
        super::parse_queue(text)
    }
    fn format(queue: &Queue) -> String {
        super::format_queue(*queue)
    }
}

/// A quantity of the form `F`, for serde.
pub struct Text<F>(PhantomData<F>);

#[allow(missing_docs, clippy::missing_errors_doc)]
impl<F: Form> Text<F> {
    pub fn serialize<S: Serializer>(value: &F::Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&F::format(value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<F::Value, D::Error> {
        deserializer.deserialize_any(Text(PhantomData::<F>))
    }
}

impl<F: Form> Text<F> {
    /// A number without a unit, which is refused in the same words as a text.
    fn number<E: de::Error>(self, number: f64, text: &str) -> Result<F::Value, E> {
        match F::number(number) {
            Some(value) => Ok(value),
            None => F::parse(text).map_err(E::custom),
        }
    }
}

impl<F: Form> Visitor<'_> for Text<F> {
    type Value = F::Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(F::WHAT)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<F::Value, E> {
        F::parse(text).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<F::Value, E> {
        self.number(number, &number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<F::Value, E> {
        self.number(number as f64, &number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<F::Value, E> {
        self.number(number as f64, &number.to_string())
    }
}

/// A quantity of the form `F` that may be missing or, in words, `none`.
pub struct Maybe<F>(PhantomData<F>);

#[allow(missing_docs, clippy::missing_errors_doc)]
impl<F: Form> Maybe<F> {
    pub fn serialize<S: Serializer>(
        value: &Option<F::Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => Text::<F>::serialize(value, serializer),
            None => serializer.serialize_str("none"),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<F::Value>, D::Error> {
        deserializer.deserialize_any(Maybe(PhantomData::<F>))
    }
}

impl<F: Form> Visitor<'_> for Maybe<F> {
    type Value = Option<F::Value>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, or none", F::WHAT)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<F::Value>, E> {
        match text {
            "none" => Ok(None),
            text => Text::<F>(PhantomData).visit_str(text).map(Some),
        }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Option<F::Value>, E> {
        Text::<F>(PhantomData).visit_f64(number).map(Some)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<F::Value>, E> {
        Text::<F>(PhantomData).visit_i64(number).map(Some)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<F::Value>, E> {
        Text::<F>(PhantomData).visit_u64(number).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Some3 {
        #[serde(with = "Text::<Share>")]
        loss: f64,
        #[serde(with = "Maybe::<Rate>")]
        rate: Option<u64>,
        #[serde(with = "Text::<Time>")]
        delay: Duration,
    }

    fn read(text: &str) -> Result<Some3, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn quantities_are_read_and_written_as_people_write_them() {
        let one = read(r#"{"loss": 0.005, "rate": "10mbit", "delay": "45ms"}"#).unwrap();
        let text = r#"{"loss":"0.5%","rate":"10mbit","delay":"45ms"}"#;
        assert_eq!(serde_json::to_string(&one).unwrap(), text);
        assert_eq!(read(text), Ok(one));
        let none = read(r#"{"loss": 0, "rate": "none", "delay": "0s"}"#).unwrap();
        assert_eq!(none.rate, None);
        assert_eq!(read(&serde_json::to_string(&none).unwrap()), Ok(none));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_accepted() {
        for (text, says) in [
            (r#"{"loss": 1.5, "rate": "1mbit", "delay": "1s"}"#, "0.5%"),
            (r#"{"loss": -1, "rate": "1mbit", "delay": "1s"}"#, "0.5%"),
            (r#"{"loss": 0, "rate": 10, "delay": "1s"}"#, "10mbit"),
            (r#"{"loss": 0, "rate": "ten", "delay": "1s"}"#, "`ten`"),
            (r#"{"loss": 0, "rate": "1mbit", "delay": 45}"#, "45ms"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
