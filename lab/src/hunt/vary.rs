//! Options of a controller that are left open: `petra:alpha=0.5..0.99,drain=on|off`.

use std::str::FromStr;

use crate::plan::Gene;
use crate::units::Options;

/// A controller, and the ranges of some of its options.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Vary {
    /// As plans call it: its name, with the options that stay.
    pub(super) controller: String,
    ranges: Vec<(String, Range)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Range {
    /// From and to, and the unit of both.
    Numbers(f64, f64, String),
    Words(Vec<String>),
}

impl Vary {
    /// The choices that there are.
    pub(super) fn genes(&self) -> Vec<Gene> {
        let gene = |(_, range): &(String, Range)| match range {
            Range::Numbers(..) => Gene::Number,
            Range::Words(_) => Gene::Choice,
        };
        self.ranges.iter().map(gene).collect()
    }

    /// The controller with these choices, each from 0 to 1.
    pub(super) fn controller(&self, genes: &[f64]) -> String {
        let mut text = self.controller.clone();
        for ((key, range), gene) in self.ranges.iter().zip(genes) {
            let value = match range {
                Range::Numbers(from, to, unit) => {
                    let number: f64 = format!("{:.1e}", from + (to - from) * gene)
                        .parse()
                        .unwrap_or(*from);
                    format!("{}{unit}", number.clamp(*from, *to))
                }
                Range::Words(words) => {
                    let word = (gene * words.len() as f64) as usize;
                    words[word.min(words.len() - 1)].clone()
                }
            };
            let comma = if text.contains(':') { ',' } else { ':' };
            text.push_str(&format!("{comma}{key}={value}"));
        }
        text
    }
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected a controller and ranges, such as \
                        petra:alpha=0.5..0.99,drain=on|off";
        let (name, options) = text
            .split_once(':')
            .ok_or_else(|| format!("vary: `{text}` has no options; {expected}"))?;
        // For what is said twice, or is not of the form.
        Options::new(name, options)?;
        let (mut fixed, mut ranges) = (Vec::new(), Vec::new());
        for option in options.split(',') {
            let Some((key, value)) = option.split_once('=') else {
                continue;
            };
            match range(value) {
                Some(range) => ranges.push((key.trim().to_owned(), range?)),
                None => fixed.push(option.trim()),
            }
        }
        if ranges.is_empty() {
            return Err(format!("vary: `{text}` leaves nothing open; {expected}"));
        }
        Ok(Vary {
            controller: match &fixed[..] {
                [] => name.to_owned(),
                fixed => format!("{name}:{}", fixed.join(",")),
            },
            ranges,
        })
    }
}

/// `0.5..0.99`, `5ms..50ms` or `on|off`; `None` of a single value.
fn range(text: &str) -> Option<Result<Range, String>> {
    let text = text.trim();
    if text.contains('|') {
        let words = text.split('|').map(|word| word.trim().to_owned());
        return Some(Ok(Range::Words(words.collect())));
    }
    let (from, to) = text.split_once("..")?;
    let split = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        Some((number.parse::<f64>().ok()?, unit.to_owned()))
    };
    let range = match (split(from.trim()), split(to.trim())) {
        (Some((from, unit)), Some((to, other))) if unit == other && from < to => {
            Ok(Range::Numbers(from, to, unit))
        }
        _ => Err(format!(
            "vary: `{text}` is not understood; expected two numbers of one unit, the smaller \
             first, such as 0.5..0.99"
        )),
    };
    Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_open_and_the_rest_stays() {
        let vary: Vary = "petra:alpha=0.5..0.99,drain=off,faster_start=on|off"
            .parse()
            .unwrap();
        assert_eq!(vary.controller, "petra:drain=off");
        assert_eq!(vary.genes(), [Gene::Number, Gene::Choice]);
        for (genes, text) in [
            ([0.0, 0.0], "petra:drain=off,alpha=0.5,faster_start=on"),
            ([0.5, 0.5], "petra:drain=off,alpha=0.74,faster_start=off"),
            ([1.0, 1.0], "petra:drain=off,alpha=0.99,faster_start=off"),
        ] {
            assert_eq!(vary.controller(&genes), text);
        }
        let times: Vary = "oracle:queue=5ms..50ms".parse().unwrap();
        assert_eq!(times.controller(&[1.0]), "oracle:queue=50ms");
    }

    #[test]
    fn what_is_not_understood_is_refused_with_an_example() {
        for (text, says) in [
            ("petra", "no options"),
            ("petra:alpha=0.5", "leaves nothing open"),
            ("petra:alpha=0.9..0.5", "the smaller first"),
            ("petra:alpha=5ms..6s", "one unit"),
            ("petra:alpha", "key=value"),
        ] {
            let error = text.parse::<Vary>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
