//! One connection, and what it downloads.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{ensure, Result};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::{check_range, Media, Scenario, Traffic, Web};
use crate::documented::documented;
use crate::link::Link;
use crate::units::{parse_duration, Maybe, Size, Text, Time};

/// Declares a [`Flow`] from its keys, and [`FlowKeys`] from these and the keys of its traffic: a
/// program has the traffic as one value, and text formats have its keys next to the others.
macro_rules! flow {
    (
        { $($(#[doc = $about:literal])* $(#[serde $serde:tt])? $field:ident: $kind:ty,)* }
        $($traffic_keys:tt)*
    ) => {
        /// One connection, and what it downloads.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(try_from = "FlowKeys", into = "FlowKeys")]
        pub struct Flow {
            $($(#[doc = $about])* pub $field: $kind,)*
            /// Traffic of the flow.
            pub traffic: Traffic,
        }

        documented! {
            /// A flow in text formats.
            #[derive(Default, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub(crate) struct FlowKeys {
                $($(#[doc = $about])* $(#[serde $serde])? $field: $kind,)*
                $($traffic_keys)*
            }
        }

        impl FlowKeys {
            /// The flow of the other keys, with this traffic.
            fn with(self, traffic: Traffic) -> Flow {
                Flow {
                    $($field: self.$field,)*
                    traffic,
                }
            }
        }

        impl From<Flow> for FlowKeys {
            fn from(flow: Flow) -> FlowKeys {
                FlowKeys {
                    $($field: flow.$field,)*
                    ..FlowKeys::of(flow.traffic)
                }
            }
        }
    };
}

flow! {
    {
        /// The controller, by its name in quiche or in `[controllers]`, with options:
        /// `petra:alpha=0.8`.
        cc: String,
        /// Treats less room in the server's window than a datagram as none;
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
    }

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

impl TryFrom<FlowKeys> for Flow {
    type Error = String;

    fn try_from(keys: FlowKeys) -> Result<Self, String> {
        let traffic = keys.traffic()?;
        Ok(keys.with(traffic))
    }
}

impl FlowKeys {
    /// The keys of a traffic alone.
    fn of(traffic: Traffic) -> FlowKeys {
        let mut keys = FlowKeys::default();
        match traffic {
            Traffic::Bulk => (),
            Traffic::Size(size) => keys.size = Some(size),
            Traffic::Bodies {
                size,
                count,
                at_once,
            } => {
                (keys.size, keys.bodies, keys.at_once) = (Some(size), Some(count), Some(at_once));
            }
            Traffic::OnOff { on, off } => (keys.on, keys.off) = (Some(on), Some(off)),
            Traffic::Web(web) => keys.web = Some(web),
            Traffic::Media(media) => keys.media = Some(media),
        }
        keys
    }

    fn traffic(&self) -> Result<Traffic, String> {
        let bodies = self.bodies.or(self.at_once).is_some();
        if bodies && self.size.is_none() {
            return Err(format!(
                "the bodies of the flow of {} have no size; expected `size` with `bodies` and \
                 `at_once`",
                self.cc
            ));
        }
        match (self.size, self.on, self.off, self.web, self.media) {
            (None, None, None, None, None) => Ok(Traffic::Bulk),
            (Some(size), None, None, None, None) if bodies => Ok(Traffic::Bodies {
                size,
                count: self.bodies.unwrap_or(1),
                at_once: self.at_once.unwrap_or(1),
            }),
            (Some(size), None, None, None, None) => Ok(Traffic::Size(size)),
            (None, Some(on), Some(off), None, None) => Ok(Traffic::OnOff { on, off }),
            (None, None, None, Some(web), None) => Ok(Traffic::Web(web)),
            (None, None, None, None, Some(media)) => Ok(Traffic::Media(media)),
            _ => Err(format!(
                "what the flow of {} downloads is not understood; expected `size`, or `on` with \
                 `off`, or `web`, or `media`, or none of them for a body without end",
                self.cc
            )),
        }
    }
}

/// The least receive window: less than two datagrams would stall on delayed ACKs.
const MIN_RECEIVE_WINDOW: u64 = 3_000;

/// From RFC 9002's minimum window to more than a path of 10 Gbit/s and 100 ms holds.
const INITIAL_WINDOWS: RangeInclusive<u32> = 2..=100_000;

/// From quiche's to more than any stack is known to wait for.
const ACK_EVERY: RangeInclusive<u32> = 1..=100;

/// The granularity of timers (RFC 9002, Section 6.1.2): no RTT is taken for less.
const MIN_RTT: Duration = Duration::from_millis(1);

impl Flow {
    /// An endless download from the beginning on.
    pub fn new(cc: &str) -> Self {
        let keys = FlowKeys {
            cc: cc.to_owned(),
            ack_every: every_packet(),
            ..FlowKeys::default()
        };
        keys.with(Traffic::Bulk)
    }

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
                .is_none_or(|bytes| bytes >= MIN_RECEIVE_WINDOW),
            "receive_window: out of range (got {}); expected {MIN_RECEIVE_WINDOW} bytes at least",
            self.receive_window.unwrap_or_default()
        );
        if let Some(datagrams) = self.initial_window {
            check_range("initial_window", datagrams, INITIAL_WINDOWS, "datagrams")?;
        }
        ensure!(
            self.initial_rtt.is_none_or(|rtt| rtt >= MIN_RTT),
            "initial_rtt: too short (got {:?}); expected {MIN_RTT:?} at least",
            self.initial_rtt.unwrap_or_default()
        );
        check_range("ack_every", self.ack_every, ACK_EVERY, "packets")?;
        self.traffic.check()
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
