//! A [`Link`] in text formats: what the way of the data has at the top, and
//! under `up` what is different on the way back.
//!
//! ```toml
//! rate = "10mbit"
//! delay = "45ms"
//! loss = "0.5%"
//! up = { slot = "20ms" }
//! ```
//!
//! Rate, delay and queue are the same on the way back unless it says
//! otherwise; nothing else is.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Direction, Link};

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Text<'a> {
            #[serde(flatten)]
            down: &'a Direction,
            up: &'a Direction,
        }
        let Link { down, up } = self;
        Text { down, up }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Said { direction, up, .. } = deserializer.deserialize_map(Reader { with_up: true })?;
        Ok(match up {
            Some(up) => Link {
                up: up.over(&direction),
                down: direction,
            },
            None => Link::symmetric(direction),
        })
    }
}

/// A direction as it was written.
struct Said {
    direction: Direction,
    keys: Vec<String>,
    up: Option<Box<Back>>,
}

/// Text under `up`.
struct Back(Said);

impl Back {
    /// The way back, where `down` is the way of the data.
    fn over(self, down: &Direction) -> Direction {
        let Back(Said {
            direction: mut up,
            keys,
            ..
        }) = self;
        let silent = |key: &str| !keys.iter().any(|said| said == key);
        if silent("rate") && up.trace.is_none() && up.lte.is_none() {
            up.rate = down.rate;
        }
        if silent("delay") {
            up.delay = down.delay;
        }
        if silent("queue") {
            up.queue = down.queue;
        }
        up
    }
}

impl<'de> Deserialize<'de> for Back {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(Reader { with_up: false })
            .map(Back)
    }
}

struct Reader {
    /// True if `up` is allowed.
    with_up: bool,
}

impl<'de> Visitor<'de> for Reader {
    type Value = Said;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a link, such as { rate = \"10mbit\", delay = \"45ms\" }")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Said, M::Error> {
        let (mut keys, mut up) = (Vec::new(), None);
        let fields = Fields {
            map,
            with_up: self.with_up,
            keys: &mut keys,
            up: &mut up,
        };
        let direction = Direction::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(Said {
            direction,
            keys,
            up,
        })
    }
}

/// The fields of a direction in a map that may have `up` among them.
struct Fields<'a, M> {
    map: M,
    with_up: bool,
    keys: &'a mut Vec<String>,
    up: &'a mut Option<Box<Back>>,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Fields<'_, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        mut seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        loop {
            let key = Key {
                seed,
                with_up: self.with_up,
                keys: self.keys,
            };
            match self.map.next_key_seed(key)? {
                None => return Ok(None),
                Some(Which::Field(field)) => return Ok(Some(field)),
                Some(Which::Up(unused)) => {
                    if self.up.replace(self.map.next_value()?).is_some() {
                        return Err(Error::duplicate_field("up"));
                    }
                    seed = unused;
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Reads one key. It does so within the map, which knows the line of an error.
struct Key<'a, K> {
    seed: K,
    with_up: bool,
    keys: &'a mut Vec<String>,
}

enum Which<K, V> {
    Up(K),
    Field(V),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, K> {
    type Value = Which<K, K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let key = String::deserialize(deserializer)?;
        if self.with_up && key == "up" {
            return Ok(Which::Up(self.seed));
        }
        self.keys.push(key.clone());
        let key: StringDeserializer<D::Error> = key.into_deserializer();
        match self.seed.deserialize(key) {
            Ok(field) => Ok(Which::Field(field)),
            Err(error) if self.with_up => Err(Error::custom(format!("{error}, `up`"))),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::link::Queue;

    fn read(text: &str) -> Result<Link, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_way_back_has_the_rate_the_delay_and_the_queue_and_no_loss() {
        let text = r#"{"up": {"slot": "20ms"}, "rate": "10mbit", "delay": "45ms", "loss": "1%", "queue": "64kB"}"#;
        let link = read(text).unwrap();
        assert_eq!(link.down.loss, 0.01);
        let up = Direction {
            rate: Some(10_000_000),
            delay: Duration::from_millis(45),
            queue: Queue::Bytes(64_000),
            slot: Duration::from_millis(20),
            ..Direction::default()
        };
        assert_eq!(link.up, up);
        let short = read(r#"{"rate": "10mbit", "delay": "45ms", "loss": "1%", "queue": "64kB"}"#);
        let slot = Duration::ZERO;
        assert_eq!(short.unwrap().up, Direction { slot, ..up });
    }

    #[test]
    fn what_the_way_back_says_counts() {
        let link = read(
            r#"{"rate": "10mbit", "delay": "45ms", "up": {"rate": "none", "delay": "5ms", "queue": "2bdp"}}"#,
        );
        let Link { up, .. } = link.unwrap();
        assert_eq!((up.rate, up.delay), (None, Duration::from_millis(5)));
        assert_eq!(up.queue, Queue::Bdp(2.0));
    }

    #[test]
    fn a_written_link_is_read_as_the_same() {
        let link = read(
            r#"{"lte": {"mean": "10mbit"}, "aqm": "codel", "jitter": "1ms", "jitter_reorders": true,
                "steps": [], "outages": [{"at": "1s", "lasts": "2s"}], "ack_filter": 1,
                "burst": {"to_bad": "1%", "to_good": "20%"}, "mean_burst_length": 2.5,
                "handover": {"every": "10s", "gap": "1ms", "delay": "5ms"},
                "up": {"rate": "1mbit", "aggregate": {"packets": 4, "at_most": "2ms"}, "ack_filter": 2,
                       "steps": [{"at": "3s", "rate": "2mbit"}], "reorder": 0.25}}"#,
        )
        .unwrap();
        assert_eq!(read(&serde_json::to_string(&link).unwrap()), Ok(link));
    }

    #[test]
    fn unknown_fields_are_refused_with_those_there_are() {
        for text in [
            r#"{"rates": "10mbit"}"#,
            r#"{"up": {"rates": "10mbit"}}"#,
            r#"{"up": {"up": {}}}"#,
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("unknown field"), "{error}");
            assert!(error.contains("`rate`"), "{error}");
        }
        assert!(read(r#"{"rates": "10mbit"}"#).unwrap_err().contains("`up`"));
    }
}
