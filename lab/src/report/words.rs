//! Names and numbers for people.

use maud::{html, Markup};

use crate::results::{metric, Estimate, Sense, Summary};

/// The digits of a metric's numbers.
pub(crate) fn digits(name: &str) -> usize {
    metric(name).map_or(3, |metric| metric.digits)
}

/// The reason for which orders of one seed are undecided.
pub(crate) const ONE_SEED: &str =
    "One seed has no interval and cannot decide an order. Ten (`--seeds 10`) would.";

/// A metric's title with its unit.
pub(crate) fn title(name: &str) -> String {
    match metric(name) {
        Some(metric) if metric.unit.is_empty() => metric.title.to_owned(),
        Some(metric) => format!("{}, {}", metric.title, metric.unit),
        None => name.to_owned(),
    }
}

/// The same with the way that is better, for the head of a table.
pub(crate) fn heading(name: &str) -> String {
    title(name) + better(name)
}

/// The better direction of a metric, to follow its title.
pub(crate) fn better(name: &str) -> &'static str {
    match metric(name).map(|metric| metric.sense) {
        Some(Sense::More) => " (more is better)",
        Some(Sense::Less) => " (less is better)",
        Some(Sense::Neither) | None => "",
    }
}

/// The ends of an interval, within the values that the metric can have: none is negative, and a
/// part of a whole is no more than the whole.
pub(crate) fn interval(name: &str, summary: &Summary) -> Option<(f64, f64)> {
    let half = summary.interval?;
    let most = match (name, metric(name)?.unit) {
        (_, "%") => 100.0,
        ("share_of_limit" | "share_of_flows" | "utilisation" | "jain", _) => 1.0,
        _ => f64::INFINITY,
    };
    let (low, high) = (summary.mean - half, summary.mean + half);
    Some((low.max(0.0), high.min(most.max(summary.mean))))
}

/// `9.300 ± 0.018`.
pub(crate) fn mean(summary: &Summary, digits: usize) -> String {
    match summary.spread(digits) {
        None => format!("{:.digits$}", summary.mean),
        Some(interval) => format!("{:.digits$} ± {interval:.digits$}", summary.mean),
    }
}

/// `1.22 [1.18, 1.27]`. An interval without 1 has as many digits as it takes to
/// see that, up to four.
pub(crate) fn ratio(estimate: &Estimate) -> String {
    let mut digits = if estimate.value < 10.0 { 2 } else { 1 };
    let (low, high) = estimate.interval.unwrap_or((1.0, 1.0));
    let apart = (low - 1.0).max(1.0 - high);
    while apart > 0.0 && apart < 0.5 * 0.1_f64.powi(digits) && digits < 4 {
        digits += 1;
    }
    let digits = digits as usize;
    match estimate.interval {
        None => format!("{:.digits$}", estimate.value),
        Some((low, high)) => {
            format!(
                "{:.digits$} [{low:.digits$}, {high:.digits$}]",
                estimate.value
            )
        }
    }
}

/// An axis or a setting as a table calls it: a controller's option by its own
/// name.
pub(crate) fn setting(name: &str) -> &str {
    name.strip_prefix("flow.options.").unwrap_or(name)
}

/// Returns a plan's own text with code between pairs of `` ` ``.
pub(crate) fn prose(text: &str) -> Markup {
    if text.matches('`').count() % 2 == 1 {
        return html! { (text) };
    }
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// `1 seed`, `3 seeds`.
pub(crate) fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// Part of a file's name: letters, digits and points, with `-` between.
pub(crate) fn slug(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let words = text.split(|c| !keep(c)).map(|word| word.trim_matches('.'));
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_safe_part_of_a_name() {
        assert_eq!(
            slug("row 1, reading packet-scaled"),
            "row-1-reading-packet-scaled"
        );
        assert_eq!(slug("../a/<b>\u{e9}\"c"), "a-b-c");
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        let html = prose("`petra` < `reno`.").into_string();
        assert_eq!(html, "<code>petra</code> &lt; <code>reno</code>.");
        assert_eq!(prose("a ` alone").into_string(), "a ` alone");
    }

    #[test]
    fn a_heading_says_which_way_is_better() {
        assert_eq!(heading("goodput_mbps"), "Goodput, Mbit/s (more is better)");
        assert_eq!(heading("completion_s"), "Completion, s (less is better)");
        assert_eq!(heading("rtt_min_ms"), "RTT, smallest, ms");
    }

    #[test]
    fn an_interval_ends_where_the_metric_does() {
        let ends = |name: &str, values: &[f64]| {
            let ends = interval(name, &Summary::new(values).unwrap());
            ends.map(|(low, high)| (low.round(), high.round()))
        };
        // Of two values that differ by 1, the interval is 12.7 wide.
        assert_eq!(ends("share_of_limit", &[0.0, 1.0]), Some((0.0, 1.0)));
        assert_eq!(ends("loss_percent", &[98.0, 99.0]), Some((92.0, 100.0)));
        assert_eq!(ends("goodput_mbps", &[50.0, 51.0]), Some((44.0, 57.0)));
        assert_eq!(ends("goodput_mbps", &[50.0]), None);
    }

    #[test]
    fn numbers_have_their_intervals() {
        let summary = Summary::new(&[1.0, 1.1, 0.9]).unwrap();
        assert_eq!(mean(&summary, 2), "1.00 ± 0.25");
        assert_eq!(mean(&Summary::new(&[1.0]).unwrap(), 2), "1.00");
        assert_eq!(mean(&Summary::new(&[1.5; 5]).unwrap(), 2), "1.50");
        let estimate = Estimate {
            value: 1.22,
            interval: Some((1.178, 1.27)),
        };
        assert_eq!(ratio(&estimate), "1.22 [1.18, 1.27]");
        let close = |low, high| {
            let interval = Some((low, high));
            ratio(&Estimate {
                value: 0.9965,
                interval,
            })
        };
        assert_eq!(close(0.9942, 0.9988), "0.997 [0.994, 0.999]");
        assert_eq!(close(0.9942, 1.0012), "1.00 [0.99, 1.00]");
        assert_eq!(
            (count(1, "seed"), count(0, "row")),
            ("1 seed".into(), "0 rows".into())
        );
    }
}
