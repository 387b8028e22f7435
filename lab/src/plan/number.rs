//! Arithmetic on quantities as plans write them: the number changes, the unit
//! stays.

use super::fault::Fault;
use super::tree::{Node, Value};

/// A number and the text of its unit: `2mbit`, `0.5%`, or without a unit.
struct Quantity<'a> {
    number: f64,
    unit: &'a str,
    /// Written as a TOML number.
    bare: bool,
}

impl<'a> Quantity<'a> {
    fn of(node: &'a Node) -> Result<Self, Fault> {
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
pub(super) fn times(node: &Node, factor: f64) -> Result<Value, Fault> {
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

/// How the steps of a range are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// By equal differences.
    Linear,
    /// By equal ratios.
    Log,
}

/// `steps` values from one quantity to another, both included.
pub(super) fn range(
    from: &Node,
    to: &Node,
    steps: usize,
    spacing: Spacing,
) -> Result<Vec<Value>, Fault> {
    let (first, last) = (Quantity::of(from)?, Quantity::of(to)?);
    if first.unit != last.unit || first.bare != last.bare {
        let message =
            format!("from `{from}` to `{to}` is not understood; expected the same unit twice");
        return Err(Fault::at(to.place, message));
    }
    if spacing == Spacing::Log && first.number * last.number <= 0.0 {
        return Err(Fault::at(
            from.place,
            "a range spaced by ratios cannot begin or end at 0",
        ));
    }
    let number = |step: usize| {
        let part = step as f64 / (steps - 1) as f64;
        match spacing {
            Spacing::Linear => first.number + (last.number - first.number) * part,
            Spacing::Log => first.number * (last.number / first.number).powf(part),
        }
    };
    Ok((0..steps)
        .map(|step| first.with(rounded(number(step))))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::fault::Place;
    use super::*;

    fn node(value: Value) -> Node {
        let place = Place {
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
