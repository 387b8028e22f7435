//! From a scenario to the simplest that still shows the same.

use anyhow::Result;

use crate::plan::{Space, Spot};

/// Goes to a simpler spot as long as there is one that `shows` it: with fewer features
/// first, then with earlier items and rounder numbers.
///
/// # Errors
///
/// As `shows`.
pub(super) fn shrink(
    space: &Space,
    mut spot: Spot,
    shows: impl Fn(&Spot) -> Result<bool>,
) -> Result<Spot> {
    'again: loop {
        for simpler in space.simpler(&spot) {
            if shows(&simpler)? {
                spot = simpler;
                continue 'again;
            }
        }
        return Ok(spot);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PLAN: &str = r#"
[link]
delay = "10ms"
[[flow]]
cc = "reno"
[space]
"link.rate" = { from = "1mbit", to = "100mbit", spacing = "log" }
"link.queue" = ["1bdp", "10kB", "4bdp"]
[space.jitter]
"link.jitter" = { from = "1ms", to = "80ms" }
"link.jitter_reorders" = [false, true]
[space.outage]
"link.outages.0.at" = { from = "1s", to = "9s" }
"link.outages.0.lasts" = { from = "10ms", to = "2000ms", spacing = "log" }
"#;

    fn space() -> Space {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        fs::write(&path, PLAN).unwrap();
        Space::read(&path).unwrap()
    }

    fn number(space: &Space, spot: &Spot, name: &str) -> Option<f64> {
        let settings = space.settings(spot);
        let (_, text) = settings.iter().find(|(path, _)| path == name)?;
        text.trim_end_matches(char::is_alphabetic).parse().ok()
    }

    #[test]
    fn what_does_not_matter_goes_and_what_does_becomes_round() {
        let space = space();
        let spot = space.spot(&[0.437, 0.99, 0.9, 0.43, 0.9, 0.6, 0.3, 0.7]);
        // It takes more than 20 ms of jitter and a queue that is not the first.
        let shows = |spot: &Spot| {
            let jitter = number(&space, spot, "link.jitter").unwrap_or(0.0);
            let queue = number(&space, spot, "link.queue").unwrap();
            Ok(jitter > 20.0 && queue > 1.0)
        };
        assert!(shows(&spot).unwrap());
        let before = space.settings(&spot);
        assert_eq!(before.len(), 6, "{before:?}");
        let spot = shrink(&space, spot, shows).unwrap();
        let expected = [
            ("link.rate", "10mbit"),
            ("link.queue", "10kB"),
            ("link.jitter", "50ms"),
            ("link.jitter_reorders", "false"),
        ];
        let expected = expected.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(space.settings(&spot), expected);
    }

    #[test]
    fn what_cannot_be_simpler_stays() {
        let space = space();
        let spot = space.spot(&[0.437, 0.99, 0.9, 0.43, 0.9, 0.6, 0.3, 0.7]);
        let same = shrink(&space, spot.clone(), |_| Ok(false)).unwrap();
        assert_eq!(same, spot);
        // Where anything shows it, nothing is left.
        let least = shrink(&space, spot, |_| Ok(true)).unwrap();
        let settings = space.settings(&least);
        let expected = [("link.rate", "10mbit"), ("link.queue", "1bdp")];
        let expected = expected.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(settings, expected);
    }
}
