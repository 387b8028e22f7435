//! One connection, and what it downloads.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{ensure, Result};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::{Media, Scenario};
use crate::documented::documented;
use crate::link::Link;
use crate::units::{parse_duration, Maybe, Size, Text, Time};

/// One connection, and what it downloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Flow {
    /// The server's congestion controller as quiche knows it, options
    /// included.
    pub cc: String,
    /// Makes the server treat less room in its window than a datagram as none. `None` is quiche's
    /// default: on for registered controllers, off for its own.
    pub silly_window_avoidance: Option<bool>,
    /// Makes quiche's CUBIC undo a reduction only after losses that proved spurious (RFC 9438,
    /// Section 4.9, <https://www.rfc-editor.org/rfc/rfc9438#section-4.9>).
    pub cubic_spurious_undo: bool,
    /// Bytes that the client takes at most before it has read them: its
    /// flow-control window for a stream. `None` is more than the path can fill.
    /// That of the connection stays large: it is opened at other times, and a
    /// sender that fills what both leave sends runts.
    pub receive_window: Option<u64>,
    /// Datagrams in the server's first congestion window, such as one that it remembers
    /// of the path; `None` is quiche's default of 10.
    pub initial_window: Option<u32>,
    /// The RTT that the server takes for granted until it has measured one; `None` is
    /// quiche's default of 333 ms (RFC 9002, Section 6.2.2).
    pub initial_rtt: Option<Duration>,
    /// Packets that the client acknowledges together, within 25 ms at most.
    pub ack_every: u32,
    /// Time at which the client connects.
    pub start: Duration,
    /// The most by which it connects later: each run draws that by its seed.
    pub start_spread: Duration,
    /// Time at which the client leaves; `None` is the end of the run.
    pub stop: Option<Duration>,
    /// Delay each way between the path and this flow's ends, so that flows
    /// have round-trip times of their own.
    pub delay: Duration,
    /// The first and the last link of the path that it takes, from 0 on;
    /// `None` takes all.
    pub hops: Option<(usize, usize)>,
    /// Traffic of the flow.
    pub traffic: Traffic,
}

/// Traffic of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Traffic {
    /// One body without end.
    #[default]
    Bulk,
    /// One body of this many bytes.
    Size(u64),
    /// Several bodies of one size.
    Bodies {
        /// Bytes of each.
        size: u64,
        /// Number of bodies.
        count: u32,
        /// Number of concurrent requests; 1 requests one body after the other.
        at_once: u32,
    },
    /// Bodies that the client stops after a time, and pauses.
    OnOff {
        /// Length of a download period.
        on: Duration,
        /// Length of a pause.
        off: Duration,
    },
    /// One body after another, as people read pages.
    Web(Web),
    /// Video frames as they are captured.
    Media(Media),
}

documented! {
    /// Objects of random size with random time between.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Web {
        /// Mean size of an object in bytes. Sizes have a heavy tail: Pareto with
        /// shape 1.2 (Crovella and Bestavros 1997 found 1.0 to 1.3), cut off at
        /// a thousand times the least.
        #[serde(with = "Text::<Size>")]
        pub size: u64,
        /// Mean of the exponential time between the end of an object and the next
        /// request.
        #[serde(with = "Text::<Time>")]
        pub think: Duration,
    }
}

/// The least receive window: less than two datagrams would stall on delayed ACKs.
const LEAST_WINDOW: u64 = 3_000;

/// From RFC 9002's minimum window to more than a path of 10 Gbit/s and 100 ms holds.
const INITIAL_WINDOWS: RangeInclusive<u32> = 2..=100_000;

/// From quiche's to more than any stack is known to wait for.
const ACK_EVERY: RangeInclusive<u32> = 1..=100;

/// The granularity of timers (RFC 9002, Section 6.1.2): no RTT is taken for less.
const LEAST_RTT: Duration = Duration::from_millis(1);

impl Flow {
    /// An endless download from the beginning on.
    pub fn new(cc: &str) -> Self {
        Flow {
            cc: cc.to_owned(),
            silly_window_avoidance: None,
            cubic_spurious_undo: false,
            receive_window: None,
            initial_window: None,
            initial_rtt: None,
            ack_every: every_packet(),
            start: Duration::ZERO,
            start_spread: Duration::ZERO,
            stop: None,
            delay: Duration::ZERO,
            hops: None,
            traffic: Traffic::Bulk,
        }
    }

    /// The most requests that are open at a time, which the server's stream
    /// limit allows.
    pub(crate) const MOST_AT_ONCE: u32 = 100;

    pub(super) fn check(&self, scenario: &Scenario) -> Result<()> {
        scenario.check_times(self.start + self.start_spread, self.stop)?;
        let last_link = scenario.path.len() - 1;
        let (first, last) = self.hops.unwrap_or((0, last_link));
        ensure!(
            first <= last && last <= last_link,
            "hops: no such links (got {first} to {last}); expected 0 to {last_link}, the first first"
        );
        // A window would double every round trip for the whole run.
        let limited = |link: &Link| link.down.is_limited();
        ensure!(
            scenario.path[first..=last].iter().any(limited),
            "hops: no end of bandwidth (got no link with a rate); expected rate, trace or lte on one"
        );
        ensure!(
            self.receive_window
                .is_none_or(|bytes| bytes >= LEAST_WINDOW),
            "receive_window: out of range (got {}); expected {LEAST_WINDOW} bytes at least",
            self.receive_window.unwrap_or_default()
        );
        ensure!(
            self.initial_window
                .is_none_or(|datagrams| INITIAL_WINDOWS.contains(&datagrams)),
            "initial_window: out of range (got {}); expected {} to {} datagrams",
            self.initial_window.unwrap_or_default(),
            INITIAL_WINDOWS.start(),
            INITIAL_WINDOWS.end()
        );
        ensure!(
            self.initial_rtt.is_none_or(|rtt| rtt >= LEAST_RTT),
            "initial_rtt: too short (got {:?}); expected {LEAST_RTT:?} at least",
            self.initial_rtt.unwrap_or_default()
        );
        ensure!(
            ACK_EVERY.contains(&self.ack_every),
            "ack_every: out of range (got {}); expected {} to {} packets",
            self.ack_every,
            ACK_EVERY.start(),
            ACK_EVERY.end()
        );
        match self.traffic {
            Traffic::Bulk => (),
            Traffic::Size(size) => ensure!(size > 0, "size: out of range (got 0); expected at least 1 byte"),
            Traffic::Bodies {
                size,
                count,
                at_once,
            } => ensure!(
                size > 0 && count > 0 && (1..=Self::MOST_AT_ONCE).contains(&at_once),
                "bodies: out of range (got {count} of {size} bytes, {at_once} at once); expected at \
                 least 1 of 1 byte, and 1 to {} at once",
                Self::MOST_AT_ONCE
            ),
            Traffic::OnOff { on, off } => ensure!(
                !on.is_zero() && !off.is_zero(),
                "on, off: out of range (got {on:?} and {off:?}); expected more than 0"
            ),
            Traffic::Media(media) => media.check()?,
            Traffic::Web(web) => ensure!(web.size > 0, "web.size: out of range (got 0); expected at least 1 byte"),
        }
        Ok(())
    }
}

impl FromStr for Flow {
    type Err = String;

    /// A controller's name, and `@` with a duration when it starts later:
    /// `cubic`, `petra:alpha=0.8@5s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (cc, start) = match text.rsplit_once('@') {
            Some((cc, start)) => (cc, parse_duration(start)?),
            None => (text, Duration::ZERO),
        };
        if cc.is_empty() {
            return Err(format!(
                "`{text}` names no congestion controller; expected a controller, such as petra"
            ));
        }
        Ok(Flow {
            start,
            ..Flow::new(cc)
        })
    }
}

documented! {
    /// A flow in text formats: what it downloads stands beside the rest.
    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct Written {
        /// The controller, by its name in quiche or in `[controllers]`, with options:
        /// `petra:alpha=0.8`.
        cc: String,
        /// Whether the server takes less room in its window than a datagram for none;
        /// `none` is quiche's default: on for registered controllers, off for its own.
        #[serde(
            deserialize_with = "maybe_switch",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        silly_window_avoidance: Option<bool>,
        /// Makes quiche's CUBIC undo a reduction only after losses that proved spurious (RFC 9438,
        /// Section 4.9, <https://www.rfc-editor.org/rfc/rfc9438#section-4.9>).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cubic_spurious_undo: bool,
        /// Bytes that the client takes at most before it has read them, at least 3000;
        /// `none` is more than the path can fill.
        #[serde(
            with = "Maybe::<Size>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        receive_window: Option<u64>,
        /// Datagrams in the server's first congestion window, 2 to 100000, such as one that it
        /// remembers of the path; `none` is quiche's default of 10.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_window: Option<u32>,
        /// The server's RTT until its first sample, at least 1ms; `none` is quiche's default of
        /// 333 ms (RFC 9002, Section 6.2.2).
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        initial_rtt: Option<Duration>,
        /// Packets that the client acknowledges together, 1 to 100. An ACK waits for them up to
        /// 25 ms, and not after a packet out of order (RFC 9000, Section 13.2).
        #[serde(default = "every_packet", skip_serializing_if = "is_every_packet")]
        ack_every: u32,
        /// Time at which the client connects, before the run ends.
        #[serde(with = "Text::<Time>", default)]
        start: Duration,
        /// The most by which it connects later, as the seed draws it.
        #[serde(
            with = "Text::<Time>",
            default,
            skip_serializing_if = "Duration::is_zero"
        )]
        start_spread: Duration,
        /// Time at which the client leaves; with `none`, it stays to the end.
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        stop: Option<Duration>,
        /// Delay each way between the path and the ends of this flow.
        #[serde(with = "Text::<Time>", default)]
        delay: Duration,
        /// The first and the last link of the path that it takes, from 0; all of them
        /// when it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hops: Option<(usize, usize)>,
        /// Bytes of the body; a body without end when nothing of this is said.
        #[serde(
            with = "Maybe::<Size>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        size: Option<u64>,
        /// Number of bodies of `size` that it downloads, at least 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bodies: Option<u32>,
        /// Number of them that are requested at a time, 1 to 100.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_once: Option<u32>,
        /// Length of a download, in turn with `off`.
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        on: Option<Duration>,
        /// Length of a pause.
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        off: Option<Duration>,
        /// Objects of random size with random time between.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        web: Option<Web>,
        /// Live video: frames that the server sends as they are captured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media: Option<Media>,
    }
}

/// quiche's `ack_every`.
fn every_packet() -> u32 {
    1
}

fn is_every_packet(ack_every: &u32) -> bool {
    *ack_every == every_packet()
}

/// Reads `true`, `false` or, for quiche's default, `none`.
fn maybe_switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    struct Reader;
    impl Visitor<'_> for Reader {
        type Value = Option<bool>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("true, false or \"none\"")
        }

        fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
            Ok(Some(value))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            match text {
                "none" => Ok(None),
                text => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
            }
        }
    }
    deserializer.deserialize_any(Reader)
}

fn several(cc: &str) -> String {
    format!(
        "what the flow of {cc} downloads is not understood; expected `size`, or `on` with `off`, \
         or `web`, or `media`, or none of them for a body without end"
    )
}

impl TryFrom<Written> for Flow {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written {
            bodies, at_once, ..
        } = written;
        if bodies.or(at_once).is_some() && written.size.is_none() {
            return Err(format!(
                "the bodies of the flow of {} have no size; expected `size` with `bodies` and \
                 `at_once`",
                written.cc
            ));
        }
        let traffic = match (written.size, written.on, written.off, written.web) {
            (None, None, None, None) => written.media.map_or(Traffic::Bulk, Traffic::Media),
            _ if written.media.is_some() => return Err(several(&written.cc)),
            (Some(size), None, None, None) if bodies.or(at_once).is_some() => Traffic::Bodies {
                size,
                count: bodies.unwrap_or(1),
                at_once: at_once.unwrap_or(1),
            },
            (Some(size), None, None, None) => Traffic::Size(size),
            (None, Some(on), Some(off), None) => Traffic::OnOff { on, off },
            (None, None, None, Some(web)) => Traffic::Web(web),
            _ => return Err(several(&written.cc)),
        };
        Ok(Flow {
            cc: written.cc,
            silly_window_avoidance: written.silly_window_avoidance,
            cubic_spurious_undo: written.cubic_spurious_undo,
            receive_window: written.receive_window,
            initial_window: written.initial_window,
            initial_rtt: written.initial_rtt,
            ack_every: written.ack_every,
            start: written.start,
            start_spread: written.start_spread,
            stop: written.stop,
            delay: written.delay,
            hops: written.hops,
            traffic,
        })
    }
}

impl From<Flow> for Written {
    fn from(flow: Flow) -> Written {
        let (mut size, mut on, mut off, mut web) = (None, None, None, None);
        let (mut bodies, mut at_once, mut media) = (None, None, None);
        match flow.traffic {
            Traffic::Bulk => (),
            Traffic::Size(bytes) => size = Some(bytes),
            Traffic::Bodies {
                size: bytes,
                count,
                at_once: open,
            } => (size, bodies, at_once) = (Some(bytes), Some(count), Some(open)),
            Traffic::OnOff {
                on: long,
                off: pause,
            } => (on, off) = (Some(long), Some(pause)),
            Traffic::Web(objects) => web = Some(objects),
            Traffic::Media(frames) => media = Some(frames),
        }
        Written {
            cc: flow.cc,
            silly_window_avoidance: flow.silly_window_avoidance,
            cubic_spurious_undo: flow.cubic_spurious_undo,
            receive_window: flow.receive_window,
            initial_window: flow.initial_window,
            initial_rtt: flow.initial_rtt,
            ack_every: flow.ack_every,
            start: flow.start,
            start_spread: flow.start_spread,
            stop: flow.stop,
            delay: flow.delay,
            hops: flow.hops,
            size,
            bodies,
            at_once,
            on,
            off,
            web,
            media,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_a_controller_and_maybe_a_start() {
        assert_eq!("cubic".parse(), Ok(Flow::new("cubic")));
        let late = Flow {
            start: Duration::from_secs(5),
            ..Flow::new("petra:alpha=0.8,faster_start=off")
        };
        assert_eq!("petra:alpha=0.8,faster_start=off@5s".parse(), Ok(late));
        assert!("@5s".parse::<Flow>().unwrap_err().contains("`@5s`"));
        assert!("cubic@soon".parse::<Flow>().unwrap_err().contains("`soon`"));
    }

    #[test]
    fn a_flow_downloads_one_thing() {
        let read = |text: &str| serde_json::from_str::<Flow>(text).map_err(|e| e.to_string());
        let size = read(r#"{"cc": "reno", "size": "2MB"}"#).unwrap();
        assert_eq!(size.traffic, Traffic::Size(2_000_000));
        for text in [
            r#"{"cc": "reno", "size": "2MB", "on": "1s", "off": "1s"}"#,
            r#"{"cc": "reno", "on": "1s"}"#,
        ] {
            assert!(read(text).unwrap_err().contains("`on` with `off`"));
        }
        for (text, expected) in [
            ("true", Some(true)),
            ("false", Some(false)),
            ("\"none\"", None),
        ] {
            let flow = format!(r#"{{"cc": "cubic", "silly_window_avoidance": {text}}}"#);
            let flow = read(&flow).unwrap();
            assert_eq!(flow.silly_window_avoidance, expected);
            assert_eq!(read(&serde_json::to_string(&flow).unwrap()), Ok(flow));
        }
        let error = read(r#"{"cc": "cubic", "silly_window_avoidance": "some"}"#).unwrap_err();
        assert!(error.contains("\"none\""), "{error}");
        let several = read(r#"{"cc": "reno", "size": "1MB", "bodies": 6, "at_once": 3}"#).unwrap();
        let bodies = Traffic::Bodies {
            size: 1_000_000,
            count: 6,
            at_once: 3,
        };
        assert_eq!(several.traffic, bodies);
        assert_eq!(read(&serde_json::to_string(&several).unwrap()), Ok(several));
        let error = read(r#"{"cc": "reno", "bodies": 6}"#).unwrap_err();
        assert!(error.contains("`size` with `bodies`"), "{error}");
        let narrow = read(r#"{"cc": "reno", "receive_window": "20kB"}"#).unwrap();
        assert_eq!(narrow.receive_window, Some(20_000));
        assert_eq!(read(&serde_json::to_string(&narrow).unwrap()), Ok(narrow));
        let resumed = read(r#"{"cc": "reno", "initial_window": 80, "initial_rtt": "60ms"}"#);
        let resumed = resumed.unwrap();
        assert_eq!(resumed.initial_rtt, Some(Duration::from_millis(60)));
        assert_eq!(read(&serde_json::to_string(&resumed).unwrap()), Ok(resumed));
        let sparse = read(r#"{"cc": "reno", "ack_every": 10}"#).unwrap();
        assert_eq!(sparse.ack_every, 10);
        assert_eq!(read(&serde_json::to_string(&sparse).unwrap()), Ok(sparse));
        assert!(read(r#"{"cc": "reno", "rtt": "1s"}"#)
            .unwrap_err()
            .contains("`delay`"));
    }
}
