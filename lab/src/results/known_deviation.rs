//! Known deviations from expectations.

use serde::{Deserialize, Serialize};

/// Controllers that fall short of others in some rows, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDeviation {
    /// Controllers that deviate, by their names in the plan. An empty list means any controller.
    pub controllers: Vec<String>,
    /// Rows in which they deviate: names of axes, or `case`, and the values on them.
    pub labels: Vec<(String, Vec<String>)>,
    /// Of what it falls short; of whatever it is when empty.
    pub than: Vec<String>,
    /// The cause.
    pub because: String,
}

impl KnownDeviation {
    /// Returns true if the deviation covers `controller` in the row with these labels, compared
    /// with another controller or a number.
    pub fn covers(
        &self,
        controller: &str,
        labels: &[(String, String)],
        than: Option<&str>,
    ) -> bool {
        let among = |some: &[String], one: &str| some.iter().any(|it| it == one);
        let here = |(axis, places): &(String, Vec<String>)| {
            let mut labels = labels.iter();
            labels.any(|(name, label)| name == axis && among(places, label))
        };
        (self.controllers.is_empty() || among(&self.controllers, controller))
            && self.labels.iter().all(here)
            && (self.than.is_empty() || than.is_some_and(|than| among(&self.than, than)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_deviation_covers_what_it_names_and_nothing_else() {
        let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
        let deviation = KnownDeviation {
            controllers: words(&["westwood"]),
            labels: vec![("case".into(), words(&["row 1", "row 2"]))],
            than: words(&["reno"]),
            because: "of the queue".into(),
        };
        let row = |name: &str| vec![("case".to_owned(), name.to_owned())];
        assert!(deviation.covers("westwood", &row("row 2"), Some("reno")));
        for (controller, case, than) in [
            ("petra", "row 2", Some("reno")),
            ("westwood", "row 3", Some("reno")),
            ("westwood", "row 2", Some("cubic")),
            ("westwood", "row 2", None),
        ] {
            assert!(!deviation.covers(controller, &row(case), than));
        }
        let all = KnownDeviation {
            controllers: Vec::new(),
            than: Vec::new(),
            ..deviation
        };
        assert!(all.covers("petra", &row("row 1"), None));
    }
}
