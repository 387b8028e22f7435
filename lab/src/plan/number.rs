//! Arithmetic on quantities as plans write them: the number changes, the unit
//! stays.

use super::diagnostic::Diagnostic;
use super::tree::{Node, Value};

/// A number and the text of its unit: `2mbit`, `0.5%`, or without a unit.
struct Quantity<'a> {
    number: f64,
    unit: &'a str,
    /// Written as a TOML number.
    bare: bool,
}

impl<'a> Quantity<'a> {
    fn of(node: &'a Node) -> Result<Self, Diagnostic> {
        let Value::Text(text) = &node.value else {
            let number = node.number()?;
            return Ok(Quantity {
                number,
                unit: "",
                bare: true,
            });
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        match number.parse() {
            Ok(number) => Ok(Quantity {
                number,
                unit,
                bare: false,
            }),
            Err(_) => Err(node.unexpected("a number or a quantity, such as 2mbit")),
        }
    }

    fn with(&self, number: f64) -> Value {
        match self.bare {
            false => Value::Text(format!("{number}{}", self.unit)),
            true if number.fract() == 0.0 => Value::Integer(number as i64),
            true => Value::Float(number),
        }
    }
}

/// `node`, `factor` times as large. Of tables and lists, all that they have.
pub(super) fn times(node: &Node, factor: f64) -> Result<Value, Diagnostic> {
    let quantity = Quantity::of(node)?;
    Ok(quantity.with(product(quantity.number, factor)))
}

/// With a few digits less than there are, so that 3 x 0.1 is 0.3.
pub(super) fn product(number: f64, factor: f64) -> f64 {
    rounded(number * factor)
}

fn rounded(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

/// Spacing of the steps of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// By equal differences.
    Linear,
    /// By equal ratios.
    Log,
}

/// All quantities from one to another, with the unit of both.
#[derive(Clone, Debug)]
pub(super) struct Span {
    first: f64,
    last: f64,
    unit: String,
    bare: bool,
    spacing: Spacing,
}

impl Span {
    pub(super) fn new(from: &Node, to: &Node, spacing: Spacing) -> Result<Self, Diagnostic> {
        let (first, last) = (Quantity::of(from)?, Quantity::of(to)?);
        if first.unit != last.unit || first.bare != last.bare {
            let message =
                format!("from `{from}` to `{to}` is not understood; expected the same unit twice");
            return Err(Diagnostic::at(to.place, message));
        }
        if spacing == Spacing::Log && first.number * last.number <= 0.0 {
            return Err(Diagnostic::at(
                from.place,
                "a range spaced by ratios cannot begin or end at 0",
            ));
        }
        Ok(Span {
            first: first.number,
            last: last.number,
            unit: first.unit.to_owned(),
            bare: first.bare,
            spacing,
        })
    }

    /// The number at a part of the way, 0 to 1.
    pub(super) fn at(&self, part: f64) -> f64 {
        let Span { first, last, .. } = *self;
        match self.spacing {
            Spacing::Linear => first + (last - first) * part,
            Spacing::Log => first * (last / first).powf(part),
        }
    }

    /// The number, rounded to `digits` digits and within the range. Between whole numbers without
    /// a unit it is a whole one: of packets, say.
    pub(super) fn round(&self, number: f64, digits: usize) -> f64 {
        let (low, high) = (self.first.min(self.last), self.first.max(self.last));
        let short = format!("{number:.*e}", digits.saturating_sub(1)).parse();
        let short: f64 = short.unwrap_or(number);
        let whole = self.bare && low.fract() == 0.0 && high.fract() == 0.0;
        let short = if whole { short.round() } else { short };
        short.clamp(low, high)
    }

    /// A number with the unit.
    pub(super) fn value(&self, number: f64) -> Value {
        let quantity = Quantity {
            number,
            unit: &self.unit,
            bare: self.bare,
        };
        quantity.with(number)
    }
}

/// `steps` values from one quantity to another, both included.
pub(super) fn range(
    from: &Node,
    to: &Node,
    steps: usize,
    spacing: Spacing,
) -> Result<Vec<Value>, Diagnostic> {
    let span = Span::new(from, to, spacing)?;
    let part = |step: usize| step as f64 / (steps - 1) as f64;
    let value = |step| span.value(rounded(span.at(part(step))));
    Ok((0..steps).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::super::diagnostic::Position;
    use super::*;

    fn node(value: Value) -> Node {
        let place = Position {
            file: 0,
            start: 0,
            end: 0,
        };
        Node { value, place }
    }

    fn text(text: &str) -> Node {
        node(Value::Text(text.to_owned()))
    }

    fn shown(values: Vec<Value>) -> Vec<String> {
        values.into_iter().map(|it| node(it).to_string()).collect()
    }

    #[test]
    fn the_number_changes_and_the_unit_stays() {
        for (from, factor, to) in [
            ("2mbit", 3.375, "6.75mbit"),
            ("0.1%", 3.0, "0.3%"),
            ("1bdp", 0.5, "0.5bdp"),
        ] {
            assert_eq!(shown(vec![times(&text(from), factor).unwrap()]), [to]);
        }
        let whole = times(&node(Value::Integer(5)), 2.0).unwrap();
        assert!(matches!(whole, Value::Integer(10)));
        assert!(times(&text("petra"), 2.0).is_err());
    }

    #[test]
    fn a_range_has_both_its_ends() {
        let linear = range(&text("0%"), &text("2%"), 5, Spacing::Linear);
        assert_eq!(shown(linear.unwrap()), ["0%", "0.5%", "1%", "1.5%", "2%"]);
        let log = range(&text("1mbit"), &text("100mbit"), 3, Spacing::Log);
        assert_eq!(shown(log.unwrap()), ["1mbit", "10mbit", "100mbit"]);
        let bare = range(
            &node(Value::Integer(0)),
            &node(Value::Integer(1)),
            3,
            Spacing::Linear,
        );
        assert_eq!(shown(bare.unwrap()), ["0", "0.5", "1"]);
        assert!(range(&text("0%"), &text("2%"), 3, Spacing::Log).is_err());
        assert!(range(&text("1mbit"), &text("2kbit"), 3, Spacing::Linear).is_err());
    }
}
