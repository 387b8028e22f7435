//! The parts of a run that pictures show.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::documented::documented;
use crate::units::{Text, Time};

documented! {
    /// A time of the run, shown in parts of the same length.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Frames {
        /// The beginning of the first.
        #[serde(with = "Text::<Time>", default)]
        pub from: Duration,
        /// The end of the last.
        #[serde(with = "Text::<Time>")]
        pub to: Duration,
        /// How long each is; zero is all in one.
        #[serde(with = "Text::<Time>", default)]
        pub each: Duration,
    }
}

impl Frames {
    /// The beginning and the end of each in seconds. The last one may be
    /// shorter.
    pub fn seconds(&self) -> Vec<(f64, f64)> {
        let each = match self.each {
            Duration::ZERO => self.to,
            each => each,
        };
        let mut frames = Vec::new();
        let mut start = self.from;
        while start < self.to {
            let end = (start + each).min(self.to);
            frames.push((start.as_secs_f64(), end.as_secs_f64()));
            start = end;
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_to_the_end() {
        let frames = |text: &str| serde_json::from_str::<Frames>(text).map(|it| it.seconds());
        let both = frames(r#"{"from": "10s", "to": "25s", "each": "10s"}"#).unwrap();
        assert_eq!(both, [(10.0, 20.0), (20.0, 25.0)]);
        assert_eq!(frames(r#"{"to": "5s"}"#).unwrap(), [(0.0, 5.0)]);
        assert_eq!(frames(r#"{"from": "5s", "to": "5s"}"#).unwrap(), []);
        assert!(frames(r#"{"to": "soon"}"#).is_err());
    }
}
