//! The seeds of a plan.

use std::collections::BTreeSet;

use super::axis;
use super::diagnostic::Diagnostic;
use super::tree::{Node, Value};

/// A count, a list, or a range: `10`, `[7, 9]`, `{ from = 1, to = 10 }`.
pub(super) fn seeds(node: &Node) -> Result<Vec<u64>, Diagnostic> {
    let whole = |node: &Node| match node.value {
        Value::Integer(number @ 0..) => Ok(number as u64),
        _ => Err(node.unexpected("a whole number of at least 0")),
    };
    let seeds: Vec<u64> = match &node.value {
        Value::Integer(count @ 1..) if *count as usize <= axis::MAX_RUNS => {
            (1..=*count as u64).collect()
        }
        Value::List(items) if !items.is_empty() => {
            items.iter().map(whole).collect::<Result<_, _>>()?
        }
        Value::Table(table) => match (table.get("from"), table.get("to"), table.entries.len()) {
            (Some(from), Some(to), 2) => {
                // One more than there may be is enough to be too many.
                let range = whole(from)?..=whole(to)?;
                range.take(axis::MAX_RUNS + 1).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    if let Value::Text(text) = &node.value {
        let message = format!("`\"{text}\"` is a text; seeds are numbers, without quotes");
        return Err(Diagnostic::at(node.place, message));
    }
    let distinct: BTreeSet<&u64> = seeds.iter().collect();
    if seeds.is_empty() || seeds.len() > axis::MAX_RUNS || distinct.len() < seeds.len() {
        return Err(node.unexpected(&format!(
            "how many seeds, a list of different ones, such as [7, 9], or a range, such as \
             {{ from = 1, to = 10 }}; at most {}",
            axis::MAX_RUNS
        )));
    }
    Ok(seeds)
}
