//! Quantities as people write them: `10mbit`, `45ms`, `0.5%`, `1bdp`.
//!
//! Every `parse` function fits clap's `value_parser`: what is wrong with a text,
//! and what would be right, is in the error. [`Text`] and [`Maybe`] are the same
//! quantities for serde, and every `format` function is what `parse` reads.

mod options;
mod text;

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

pub use options::Options;
pub use text::{Form, Maybe, Rate, Room, Share, Size, Text, Time};

use crate::link::Queue;

/// The seeds that a command takes. A command counts up from one, and 62 bits leave room.
pub(crate) const SEED_RANGE: RangeInclusive<u64> = 0..=(1 << 62) - 1;

/// Returns a parser of a whole number within `range`.
pub(crate) fn parse_whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: Copy + Display + FromStr + PartialOrd + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (from, to) = (range.start(), range.end());
        number.ok_or_else(|| format!("expected a whole number from {from} to {to}"))
    }
}

/// A whole number of at least 1.
pub(crate) fn parse_at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse();
    number.map_err(|_| "expected a whole number of at least 1".to_owned())
}

/// A unit and how many of the base unit it is.
type Unit = (&'static str, f64);

const RATES: &[Unit] = &[("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];

const TIMES: &[Unit] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
];

/// In `kB` and `KiB` as tc and IEC mean them; letters' case is ignored.
const SIZES: &[Unit] = &[
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("kib", 1024.0),
    ("mib", 1024.0 * 1024.0),
];

const SHARES: &[Unit] = &[("", 1.0), ("%", 0.01)];

const NUMBERS: &[Unit] = &[("", 1.0)];

const RATE: &str = "a rate, such as 10mbit, 2.5gbit or 400kbit (bits per second)";
const TIME: &str = "a duration, such as 45ms, 60s, 250us or 2min, up to a year";
const SHARE: &str =
    "a share from 0 to 100%, such as 0.5% or 0.005 (1 alone may be either 1% or 100%)";
const SIZE: &str = "a size, such as 64kB, 200MB or 1500B";
const QUEUE: &str = "a queue, such as 1bdp (bandwidth-delay products), 64kB, 3000B or 80ms";

/// The longest duration that is accepted: a leap year.
const MAX_SECONDS: f64 = 366.0 * 86_400.0;

/// A rate in bits per second, at least 1: `10mbit`, `400kbit`, `2.5gbit`.
///
/// # Errors
///
/// A text that is no positive number with one of `bit`, `kbit`, `mbit`, `gbit`.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let rate = quantity(text, RATES, RATE)?;
    if (1.0..=1e15).contains(&rate) {
        Ok(rate.round() as u64)
    } else {
        Err(outside(text, "a rate between 1bit and 1000000gbit"))
    }
}

/// A duration: `45ms`, `60s`, `250us`, `2min`.
///
/// # Errors
///
/// A text that is not a number with one of `ns`, `us`, `ms`, `s`, `min`, `h`, or more
/// than a year.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = quantity(text, TIMES, TIME)?;
    if seconds <= MAX_SECONDS {
        Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
    } else {
        Err(format!("`{text}` is too long; expected {TIME}"))
    }
}

/// A share of a whole, 0 to 1: `0.5%` or `0.005`.
///
/// # Errors
///
/// A text that is not a number, with or without `%`, or outside of 0 to 1; and `1`, which
/// is all where 1 % may be meant.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = quantity(text, SHARES, SHARE)?;
    match text.contains('%') {
        true if share <= 1.0 => Ok(share),
        false if share < 1.0 => Ok(share),
        false if share <= 100.0 => Err(format!(
            "`{text}` has no unit; expected {text}% or another share from 0 to 100%, such as 0.5% \
             or 0.005"
        )),
        _ => Err(outside(text, SHARE)),
    }
}

/// A size in bytes: `200MB`, `64KiB`, `1500B`.
///
/// # Errors
///
/// A text that is not a number with one of `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    quantity(text, SIZES, SIZE).map(|bytes| bytes.round() as u64)
}

/// The size of a queue: `1bdp`, `0.5bdp`, `64kB`, `80ms`.
///
/// # Errors
///
/// A text that is no positive multiple of `bdp`, size or duration.
pub fn parse_queue(text: &str) -> Result<Queue, String> {
    let lower = text.trim().to_ascii_lowercase();
    if lower.starts_with('-') {
        return Err(negative(text.trim(), QUEUE));
    }
    let queue = match lower.strip_suffix("bdp") {
        Some(number) => {
            Queue::Bdp(quantity(number, NUMBERS, QUEUE).map_err(|_| expected(text, QUEUE))?)
        }
        None => match parse_duration(text) {
            Ok(time) => Queue::Time(time),
            Err(_) => Queue::Bytes(quantity(text, SIZES, QUEUE)?.round() as u64),
        },
    };
    match queue {
        Queue::Bdp(0.0) | Queue::Bytes(0) | Queue::Time(Duration::ZERO) => {
            Err(format!("`{text}` is empty; expected {QUEUE}"))
        }
        queue => Ok(queue),
    }
}

/// A number of at least 0, without a unit: `5`, `0.25`.
///
/// # Errors
///
/// A text that is no such number.
pub fn parse_number(text: &str) -> Result<f64, String> {
    quantity(text, NUMBERS, "a number, such as 5 or 0.25")
}

/// A rate in its largest unit without a fraction: `10mbit`, `2500kbit`.
pub fn format_rate(rate: u64) -> String {
    whole(
        rate,
        &[
            ("gbit", 1_000_000_000),
            ("mbit", 1_000_000),
            ("kbit", 1_000),
            ("bit", 1),
        ],
    )
}

/// A duration in its largest unit without a fraction: `45ms`, `1500us`.
pub fn format_duration(time: Duration) -> String {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    whole(
        nanos,
        &[
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
            ("ns", 1),
        ],
    )
}

/// A size in its largest decimal unit without a fraction: `64kB`, `1500B`.
pub fn format_size(bytes: u64) -> String {
    whole(
        bytes,
        &[
            ("GB", 1_000_000_000),
            ("MB", 1_000_000),
            ("kB", 1_000),
            ("B", 1),
        ],
    )
}

/// A share in percent where that says it exactly, else as a number.
pub fn format_share(share: f64) -> String {
    let percent = format!("{}%", 100.0 * share);
    if parse_share(&percent) == Ok(share) {
        percent
    } else {
        share.to_string()
    }
}

/// A queue: `1bdp`, `64kB`, `80ms`.
pub fn format_queue(queue: Queue) -> String {
    match queue {
        Queue::Bytes(bytes) => format_size(bytes),
        Queue::Bdp(multiple) => format!("{multiple}bdp"),
        Queue::Time(time) => format_duration(time),
    }
}

/// `count` in the first of `units`, from the largest down to 1, that divides it.
fn whole(count: u64, units: &[(&str, u64)]) -> String {
    let fits =
        |(_, scale): &&(&str, u64)| count.is_multiple_of(*scale) && (count > 0 || *scale == 1);
    let (unit, scale) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{}{unit}", count / scale)
}

/// A non-negative number and its unit, in the base unit.
fn quantity(text: &str, units: &[Unit], what: &str) -> Result<f64, String> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(negative(text, what));
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let scale = units.iter().find(|(name, _)| *name == unit);
    match (number.parse::<f64>(), scale) {
        (Ok(number), Some((_, scale))) => Ok(number * scale),
        _ => Err(expected(text, what)),
    }
}

/// Returns the number of a text with a unit, in the base unit of its kind, to put texts of one kind
/// in order.
pub(crate) fn magnitude(text: &str) -> Option<f64> {
    const BDP: &[Unit] = &[("bdp", 1.0)];
    let kinds = [RATES, TIMES, SIZES, BDP, SHARES];
    kinds
        .iter()
        .find_map(|units| quantity(text, units, "").ok())
}

fn outside(text: &str, what: &str) -> String {
    format!("`{text}` is out of range; expected {what}")
}

fn negative(text: &str, what: &str) -> String {
    format!("`{text}` is negative; expected {what}")
}

fn expected(text: &str, what: &str) -> String {
    format!("`{text}` is not understood; expected {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_kind_are_ordered_by_their_magnitude() {
        for ordered in [
            &["250us", "5ms", "500ms", "1s", "2min"][..],
            &["400kbit", "2mbit", "10mbit", "1gbit"],
            &["1500B", "64kB", "64KiB", "1MB"],
            &["0.5bdp", "1bdp", "10bdp"],
            &["0.5%", "1%", "0.02", "1", "3"],
        ] {
            let magnitudes = ordered.iter().map(|text| magnitude(text).unwrap());
            assert!(magnitudes.is_sorted(), "{ordered:?}");
        }
        assert_eq!(magnitude("row 1"), None);
        assert_eq!(magnitude("as printed"), None);
    }

    #[test]
    fn each_unit_is_read() {
        assert_eq!(parse_rate("10mbit"), Ok(10_000_000));
        assert_eq!(parse_rate("2.5Gbit"), Ok(2_500_000_000));
        assert_eq!(parse_rate("400 kbit"), Ok(400_000));
        assert_eq!(parse_duration("45ms"), Ok(Duration::from_millis(45)));
        assert_eq!(parse_duration("0.01ms"), Ok(Duration::from_micros(10)));
        assert_eq!(parse_duration("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_share("0.5%"), Ok(0.005));
        assert_eq!(parse_share("0.005"), Ok(0.005));
        assert_eq!(parse_share("0"), Ok(0.0));
        assert_eq!(parse_size("200MB"), Ok(200_000_000));
        assert_eq!(parse_queue("1bdp"), Ok(Queue::Bdp(1.0)));
        assert_eq!(parse_queue("64kB"), Ok(Queue::Bytes(64_000)));
        assert_eq!(parse_queue("64KiB"), Ok(Queue::Bytes(65_536)));
        let time = Duration::from_millis(80);
        assert_eq!(parse_queue("80ms"), Ok(Queue::Time(time)));
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for rate in [1, 400_000, 2_500_000, 10_000_000_000] {
            assert_eq!(parse_rate(&format_rate(rate)), Ok(rate));
        }
        for nanos in [0, 1, 1_500, 45_000_000, 61_000_000_000, 123_456_789_012_345] {
            let time = Duration::from_nanos(nanos);
            assert_eq!(parse_duration(&format_duration(time)), Ok(time));
        }
        for share in [0.0, 0.005, 1.0 / 3.0, 0.07, 1e-9, 1.0] {
            assert_eq!(parse_share(&format_share(share)), Ok(share));
        }
        let time = Duration::from_millis(80);
        for queue in [
            Queue::Bdp(0.1),
            Queue::Bytes(1_501),
            Queue::Bytes(64_000),
            Queue::Time(time),
        ] {
            assert_eq!(parse_queue(&format_queue(queue)), Ok(queue));
        }
        assert_eq!(format_rate(2_500_000), "2500kbit");
        assert_eq!(format_duration(Duration::from_millis(45)), "45ms");
        assert_eq!(format_share(0.005), "0.5%");
        assert_eq!(format_queue(Queue::Bytes(64_000)), "64kB");
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_its_text_and_an_example() {
        for text in [
            "",
            "ten",
            "10",
            "10 mbps",
            "1.2.3mbit",
            "-1mbit",
            "0bit",
            "nanbit",
            "1e9bit",
        ] {
            let error = parse_rate(text).unwrap_err();
            assert!(error.contains(&format!("`{text}`")), "{error}");
            assert!(error.contains("bit"), "{error}");
        }
        assert!(parse_duration("45").unwrap_err().contains("45ms"));
        assert!(parse_duration("100000000min")
            .unwrap_err()
            .contains("a year"));
        assert!(parse_share("150%").is_err());
        assert!(parse_share("5ms").is_err());
        for text in ["0bdp", "0kB", "0ms", "bdp", "1", "twobdp"] {
            let error = parse_queue(text).unwrap_err();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
