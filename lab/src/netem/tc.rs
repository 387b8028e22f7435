//! A [`Direction`] in the words of `tc qdisc add ... netem`.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde_json::{Map, Value};

use crate::link::{Direction, IP_AND_UDP_HEADERS};
use crate::testbed::MAX_DATAGRAM_SIZE;

/// Packets that a delay line may hold: more than any path has.
const DELAY_LINE_LIMIT: u32 = 1_000_000;

/// A rate that no path has. netem keeps jittered packets in order only when it
/// has a rate, and this one takes no time.
const ORDERING_RATE: &str = "1000gbit";

/// The keys of a direction that [`bottleneck`] and [`delay_line`] make.
pub(crate) const KEYS: [&str; 8] = [
    "rate",
    "queue",
    "delay",
    "jitter",
    "loss",
    "mean_burst_length",
    "reorder",
    "slot",
];

/// Checks that netem supports the direction.
///
/// # Errors
///
/// The first key that it does not make, and what does.
pub(super) fn check(direction: &Direction) -> Result<()> {
    let blank = written(&Direction::default())?;
    for (key, value) in written(direction)? {
        ensure!(
            KEYS.contains(&key.as_str()) || blank.get(&key) == Some(&value),
            "{key}: netem here does not make it (got {value}); expected a link of {} alone, or \
             `petra-lab sim`",
            KEYS.join(", ")
        );
    }
    Ok(())
}

/// The keys of a direction in a plan, without defaults.
fn written(direction: &Direction) -> Result<Map<String, Value>> {
    match serde_json::to_value(direction)? {
        Value::Object(keys) => Ok(keys),
        _ => unreachable!("a direction is a table"),
    }
}

/// netem's arguments for the interface with the rate and the drop-tail queue;
/// `None` when the direction is as fast as the machine. `round_trip` is the
/// sum of both propagation delays.
///
/// netem counts packets, so the queue holds as many full-sized ones as its
/// bytes allow; smaller packets take whole places.
pub(super) fn bottleneck(direction: &Direction, round_trip: Duration) -> Option<Vec<String>> {
    let rate = direction.rate?;
    let packet = (MAX_DATAGRAM_SIZE + IP_AND_UDP_HEADERS) as u64;
    let places = (direction.queue.bytes(rate, round_trip) / packet).max(1);
    // One place more for the packet in transmission, which netem holds until
    // its last bit is out. And the rate is that of IP packets, so netem is told
    // to leave the 14 bytes of the Ethernet header out.
    Some(words(&format!(
        "rate {rate}bit -14 limit {}",
        places.saturating_add(1).min(DELAY_LINE_LIMIT.into())
    )))
}

/// netem's arguments for the interface behind the bottleneck: loss, delay,
/// jitter, reordering and the slot. `None` when there is none of that.
pub(super) fn delay_line(direction: &Direction) -> Option<Vec<String>> {
    let mut text = String::new();
    if direction.delay > Duration::ZERO || direction.jitter > Duration::ZERO {
        text += &format!(" delay {}", time(direction.delay));
    }
    if direction.jitter > Duration::ZERO {
        text += &format!(
            " {} distribution normal rate {ORDERING_RATE}",
            time(direction.jitter)
        );
    }
    if direction.loss > 0.0 {
        text += &match direction.mean_burst_length {
            None => format!(" loss random {}", percent(direction.loss)),
            // Gilbert's model by its two transitions: into the bad state, where
            // every packet is lost, and out of it after `run` packets.
            Some(run) => format!(
                " loss gemodel {} {}",
                percent((direction.loss / (run * (1.0 - direction.loss))).min(1.0)),
                percent(1.0 / run)
            ),
        };
    }
    if direction.reorder > 0.0 {
        text += &format!(" reorder {}", percent(direction.reorder));
    }
    if direction.slot > Duration::ZERO {
        text += &format!(" slot {}", time(direction.slot));
    }
    (!text.is_empty()).then(|| words(&format!("limit {DELAY_LINE_LIMIT}{text}")))
}

fn time(duration: Duration) -> String {
    format!("{}ms", duration.as_nanos() as f64 / 1e6)
}

/// Digits that distinguish netem's values: 2^32 steps.
fn percent(share: f64) -> String {
    let digits = format!("{:.8}", 100.0 * share);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documented::Documented;
    use crate::link::Queue;

    fn joined(words: Option<Vec<String>>) -> String {
        words.expect("a qdisc").join(" ")
    }

    fn direction() -> Direction {
        Direction {
            rate: Some(10_000_000),
            delay: Duration::from_millis(45),
            ..Direction::default()
        }
    }

    /// Each key as a plan has it, with a value that is no default.
    const LINKS: [(&str, &str); 23] = [
        ("rate", r#""1mbit""#),
        ("steps", r#"[{"at": "1s", "delay": "1ms"}]"#),
        ("outages", r#"[{"at": "1s", "lasts": "1s"}]"#),
        ("repeat", r#""1s""#),
        ("trace", r#""file""#),
        ("lte", r#"{"mean": "1mbit"}"#),
        ("policer", r#"{"rate": "1mbit", "burst": "2kB"}"#),
        ("queue", r#""2bdp""#),
        ("aqm", r#""codel""#),
        ("delay", r#""1ms""#),
        ("jitter", r#""1ms""#),
        ("jitter_distribution", r#""pareto""#),
        ("jitter_hold", r#""1ms""#),
        ("jitter_reorders", "true"),
        ("loss", r#""1%""#),
        ("mean_burst_length", "2"),
        ("burst", r#"{"to_bad": "1%", "to_good": "1%"}"#),
        ("loss_every", r#"{"packets": 10, "burst": 1}"#),
        ("reorder", r#""1%""#),
        ("slot", r#""1ms""#),
        ("aggregate", r#"{"packets": 2, "at_most": "1ms"}"#),
        ("ack_filter", "2"),
        (
            "handover",
            r#"{"every": "1s", "gap": "1ms", "delay": "1ms"}"#,
        ),
    ];

    #[test]
    fn of_every_key_netem_makes_it_or_says_that_it_does_not() {
        let keys = LINKS.map(|(key, _)| key);
        let fields: Vec<&str> = Direction::FIELDS.iter().map(|it| it.name).collect();
        assert_eq!(keys.to_vec(), fields);
        for (key, value) in LINKS {
            let text = format!("{{\"{key}\": {value}}}");
            let direction: Direction = serde_json::from_str(&text).unwrap();
            let checked = check(&direction).map_err(|error| error.to_string());
            match KEYS.contains(&key) {
                true => assert_eq!(checked, Ok(()), "{key}"),
                false => {
                    let error = checked.unwrap_err();
                    assert!(error.starts_with(&format!("{key}: ")), "{error}");
                    assert!(error.contains("`petra-lab sim`"), "{error}");
                }
            }
        }
    }

    #[test]
    fn the_bottleneck_holds_its_queue_and_the_packet_in_transmission() {
        // 10 Mbit/s in 90 ms: 112500 bytes, 81 packets of 1378.
        let rtt = Duration::from_millis(90);
        let qdisc = bottleneck(&direction(), rtt);
        assert_eq!(joined(qdisc), "rate 10000000bit -14 limit 82");
        let small = Direction {
            queue: Queue::Bytes(100),
            ..direction()
        };
        let qdisc = bottleneck(&small, rtt);
        assert_eq!(joined(qdisc), "rate 10000000bit -14 limit 2");
        let timed = Direction {
            queue: Queue::Time(Duration::from_millis(45)),
            ..direction()
        };
        assert_eq!(
            bottleneck(&timed, rtt),
            bottleneck(
                &Direction {
                    queue: Queue::Bdp(0.5),
                    ..direction()
                },
                rtt
            )
        );
        assert_eq!(bottleneck(&Direction::default(), rtt), None);
    }

    #[test]
    fn the_delay_line_says_only_what_the_direction_has() {
        assert_eq!(delay_line(&Direction::default()), None);
        assert_eq!(joined(delay_line(&direction())), "limit 1000000 delay 45ms");
        let lossy = Direction {
            loss: 0.005,
            delay: Duration::from_micros(10),
            ..direction()
        };
        let qdisc = joined(delay_line(&lossy));
        assert_eq!(qdisc, "limit 1000000 delay 0.01ms loss random 0.5%");
    }

    #[test]
    fn jitter_keeps_the_order_and_reordering_does_not_need_it() {
        let shaky = Direction {
            jitter: Duration::from_millis(5),
            reorder: 0.01,
            ..direction()
        };
        assert_eq!(
            joined(delay_line(&shaky)),
            "limit 1000000 delay 45ms 5ms distribution normal rate 1000gbit reorder 1%"
        );
    }

    #[test]
    fn runs_of_losses_and_grids_have_netem_s_names() {
        // 1 % in runs of 5: the bad state is entered by 1 of 495 good packets.
        let bursty = Direction {
            loss: 0.01,
            mean_burst_length: Some(5.0),
            slot: Duration::from_millis(20),
            ..direction()
        };
        assert_eq!(
            joined(delay_line(&bursty)),
            "limit 1000000 delay 45ms loss gemodel 0.2020202% 20% slot 20ms"
        );
    }
}
