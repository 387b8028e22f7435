//! The figures of a real trace.

use super::sample::{copy, raw, stock};
use petra_qlog::qvis::{fit, Detail, Size};
use petra_qlog::stats::Stats;

#[test]
fn the_figures_are_those_of_the_trace() {
    let raw = raw();
    let stats = Stats::read(raw.as_bytes()).unwrap();
    let events = |name: &str| raw.matches(&format!("\"name\":\"quic:{name}\"")).count() as u64;
    assert_eq!(stats.vantage_point.as_deref(), Some("server"));
    assert_eq!(stats.sent.packets, events("packet_sent"));
    assert_eq!(stats.received.packets, events("packet_received"));
    assert_eq!(stats.packets_lost, events("packet_lost"));
    assert_eq!(stats.reductions.keys().collect::<Vec<_>>(), ["queue"]);
    // 90 ms without any queue, and a queue of one BDP.
    let rtt = stats.rtt_ms.unwrap();
    assert!(
        rtt.p5 >= 90.0 && rtt.p50 >= rtt.p5 && rtt.max <= 190.0,
        "{rtt:?}"
    );
    let goodput = stats.sent.goodput_bps.unwrap();
    assert!((1.5e6..3e6).contains(&goodput), "{goodput}");
    // The body is nearly all, and the link has 3 Mbit/s.
    let body = stats.body_bps.unwrap();
    assert!((0.9..1.1).contains(&(body / goodput)), "{body} {goodput}");
    let estimate = stats.estimate_bps.unwrap();
    assert!((2e6..3.1e6).contains(&estimate), "{estimate}");
    assert!(stats.window_bytes.unwrap().p5 >= 13_500.0);
    assert_eq!(stats.end.truncated, None);
}

#[test]
fn the_copy_for_qvis_has_the_same_figures() {
    let of = |text: &str| Stats::read(text.as_bytes()).unwrap();
    for trace in [raw(), stock()] {
        let (copy, summary) = copy(&trace, &Detail::All).unwrap();
        let expected = Stats {
            // An event more for each loss that was inferred.
            events: of(&trace).events + summary.inferred,
            ..of(&trace)
        };
        assert!(of(&copy) == expected);
    }
}

#[test]
fn a_request_of_some_bytes_has_no_rate() {
    let stats = Stats::read(raw().as_bytes()).unwrap();
    assert!((1..1000).contains(&stats.received.stream_bytes));
    assert_eq!(stats.received.goodput_bps, None);
}

#[test]
fn sizes_and_counts_end_at_the_largest_number() {
    let raw = raw();
    let header = raw.lines().next().unwrap();
    let mut trace = format!("{header}\n");
    for number in 0..4 {
        let reductions = u64::MAX / 2 * (number % 2);
        trace += &format!(
            "\u{1e}{{\"time\":{number},\"name\":\"quic:packet_sent\",\"data\":{{\"header\":\
             {{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":{0}}}}}}}\n\
             \u{1e}{{\"time\":{number},\"name\":\"quic:recovery_metrics_updated\",\"data\":\
             {{\"petra_reductions\":{reductions},\"cf_lost_packets\":{{\"total\":{0},\"delta\":{0}}}}}}}\n",
            u64::MAX
        );
    }
    let stats = Stats::read(trace.as_bytes()).unwrap();
    assert_eq!((stats.sent.packets, stats.sent.bytes), (4, u64::MAX));
    assert_eq!(stats.packets_lost, u64::MAX);
    let size = Size {
        bytes: 100_000,
        packets: 2,
    };
    let [mut scratch, mut slim] = std::array::from_fn(|_| tempfile::tempfile().unwrap());
    fit(trace.as_bytes(), size, &mut scratch, &mut slim).unwrap();
}

#[test]
fn reductions_without_reasons_are_counted() {
    let bare = raw().replace("\"petra_", "\"other_");
    let stats = Stats::read(bare.as_bytes()).unwrap();
    assert!(stats.reductions["unknown"] >= 2);
}
