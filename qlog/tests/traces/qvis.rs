//! Traces for qvis, made of a real one.

use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};

use super::sample::{copy, raw, stock, Contents};
use petra_qlog::check::check;
use petra_qlog::qvis::{fit, Detail, Size, Source, Summary};
use petra_qlog::{Error, Kind, Live, Packet, Trace};

#[test]
fn a_copy_passes_the_check_and_has_everything_of_the_trace() {
    let raw = raw();
    let (copy, summary) = copy(&raw, &Detail::All).unwrap();
    let report = check(copy.as_bytes()).unwrap();
    assert!(report.for_qvis);
    assert_eq!(Some(report.lost), report.counted);
    assert_eq!(summary.losses(), Source::Logged);
    assert!(copy.starts_with("\u{1e}{\"qlog_version\":\"0.3\""));
    assert!(copy.contains("\"petra_packet_lost\":\"logged\""));

    let (before, after) = (Contents::of(&raw), Contents::of(&copy));
    assert!(!before.lost.is_empty());
    assert_eq!(before, after);
    for kept in [
        "petra_bandwidth_estimate",
        "http:",
        "ssthresh",
        "send_at_time",
    ] {
        assert!(copy.contains(kept), "{kept}");
    }
    let raw = check(raw.as_bytes()).unwrap();
    assert!(!raw.for_qvis);
    assert_eq!(raw.events, report.events);
}

/// The numbers that qvis's packetization page adds up, and what it cannot show.
#[test]
fn a_copy_has_the_sizes_of_packetization_and_flat_counters() {
    let raw = raw();
    let (copy, _) = copy(&raw, &Detail::All).unwrap();
    let sizes = |text: &str, kind: Kind| -> Vec<u64> {
        let mut trace = Trace::open(text.as_bytes()).unwrap();
        let mut sizes = Vec::new();
        while let Some(event) = trace.next_event().unwrap() {
            if event.kind == kind {
                let packet: Packet = event.read().unwrap();
                sizes.push(packet.raw.unwrap().payload_length.unwrap());
                let frames = packet.frames.iter().flatten();
                let data: u64 = frames.filter_map(|frame| frame.raw?.payload_length).sum();
                assert!(data < *sizes.last().unwrap());
            }
        }
        sizes
    };
    let tagged: Vec<u64> = sizes(&raw, Kind::Sent).iter().map(|it| it + 16).collect();
    assert!(tagged.len() > 300);
    assert_eq!(sizes(&copy, Kind::Sent), tagged);
    assert_eq!(sizes(&copy, Kind::Received), sizes(&raw, Kind::Received));

    let frames = copy.matches("\"name\":\"http:frame_").count();
    assert!(frames > 100);
    assert_eq!(copy.matches("\"data\":{\"byte_length\":").count(), frames);
    assert!(copy.contains("\"cf_lost_packets_total\":1,\"cf_lost_packets_delta\":1,"));
    assert!(!copy.contains("\"cf_lost_packets\":") && !copy.contains("\"cf_lost_bytes\":"));
}

#[test]
fn a_copy_of_a_copy_is_the_copy() {
    let (once, _) = copy(&raw(), &Detail::All).unwrap();
    let (twice, _) = copy(&once, &Detail::All).unwrap();
    assert!(once == twice);
    let (inferred, first) = copy(&stock(), &Detail::All).unwrap();
    let (_, second) = copy(&inferred, &Detail::All).unwrap();
    assert_eq!(
        (first.logged, first.inferred),
        (second.logged, second.inferred)
    );
}

/// The losses that quiche's counter and the acknowledgments imply are the ones
/// that its loss detection logged.
#[test]
fn inferred_losses_are_the_real_ones() {
    let (copy, summary) = copy(&stock(), &Detail::All).unwrap();
    assert_eq!(summary.losses(), Source::Inferred);
    assert_eq!(Some(summary.inferred), summary.counted);
    assert!(copy.contains("\"petra_packet_lost\":\"inferred\""));
    assert!(check(copy.as_bytes()).is_ok());
    assert_eq!(Contents::of(&copy).lost, Contents::of(&raw()).lost);
}

/// quiche's recovery gives a lost 0-RTT packet as one with 1-RTT, and qvis looks
/// for the packet by its type.
#[test]
fn a_lost_packet_is_called_what_it_was_sent_as() {
    let (kind, number) = Contents::of(&raw()).lost[0].clone();
    assert_eq!(kind, "1RTT");
    let sent = |kind| format!("\"packet_type\":\"{kind}\",\"packet_number\":{number}}}");
    let early = |trace: String| -> String {
        let early = |record: &str| match record.contains(":packet_sent\"") {
            true => record.replace(&sent("1RTT"), &sent("0RTT")),
            false => record.to_owned(),
        };
        trace.split_inclusive('\n').map(early).collect()
    };
    for trace in [raw(), stock()] {
        let (copy, _) = copy(&early(trace), &Detail::All).unwrap();
        assert_eq!(Contents::of(&copy).lost[0], ("0RTT".to_owned(), number));
    }
}

/// Without the counter there are RFC 9002's thresholds, which quiche's differ
/// from once packets have been reordered.
#[test]
fn losses_are_inferred_even_where_they_are_not_counted() {
    let uncounted = stock().replace("cf_lost_packets", "something_else");
    let (copy, summary) = copy(&uncounted, &Detail::All).unwrap();
    assert_eq!(summary.counted, None);
    let (inferred, real) = (Contents::of(&copy).lost, Contents::of(&raw()).lost);
    let found = real
        .iter()
        .filter(|packet| inferred.contains(packet))
        .count();
    assert!(found * 10 >= real.len() * 9, "{inferred:?} of {real:?}");
    assert!(
        inferred.len() * 10 <= real.len() * 11,
        "{inferred:?} of {real:?}"
    );
}

/// The copy that is written along with a trace, which comes in parts of `chunk` bytes.
fn live(raw: &str, chunk: usize) -> (Vec<u8>, Summary) {
    let mut output = Cursor::new(Vec::new());
    let mut live = Live::new(&mut output);
    for part in raw.as_bytes().chunks(chunk) {
        live.write_all(part).unwrap();
    }
    let summary = live.finish().unwrap();
    (output.into_inner(), summary)
}

#[test]
fn a_copy_that_is_written_along_with_the_trace_is_the_same() {
    let raw = raw();
    let (expected, summary) = copy(&raw, &Detail::All).unwrap();
    for chunk in [1, 7, 4096, raw.len()] {
        let live = live(&raw, chunk);
        assert!(
            live == (expected.clone().into(), summary),
            "chunks of {chunk}"
        );
    }
}

/// Applications may add events of their own to quiche's.
#[test]
fn so_is_one_of_a_trace_with_fields_after_the_data() {
    for field in [r#""group_id":"x""#, r#""x":{"y":{}}"#] {
        let raw = raw().replace("}\n", &format!(",{field}}}\n"));
        let (expected, summary) = copy(&raw, &Detail::All).unwrap();
        assert!(expected.contains(field));
        assert!(live(&raw, 4096) == (expected.into(), summary), "{field}");
    }
}

#[test]
fn times_that_go_back_are_put_in_order() {
    let mut records: Vec<_> = raw().split_inclusive('\n').map(str::to_owned).collect();
    records.swap(500, 520);
    let (copy, _) = copy(&records.concat(), &Detail::All).unwrap();
    assert!(check(copy.as_bytes()).is_ok());
    assert!(check(records.concat().as_bytes()).unwrap().out_of_order > 0);
}

#[test]
fn a_truncated_trace_is_used_up_to_where_it_is_whole() {
    let raw = raw();
    let cut = &raw[..raw.len() / 2];
    let records = cut.matches('\u{1e}').count() as u64;
    let (copy, summary) = copy(cut, &Detail::All).unwrap();
    assert_eq!(summary.end.truncated, Some(records));
    assert_eq!(summary.events, records - 2);
    assert!(check(copy.as_bytes()).is_ok());
}

#[test]
fn a_corrupt_record_in_the_middle_is_named() {
    let mut records: Vec<_> = raw().split_inclusive('\n').map(str::to_owned).collect();
    records[99] = records[99].replacen(':', ";", 1);
    for detail in [Detail::All, Detail::Drawn] {
        let error = copy(&records.concat(), &detail).unwrap_err();
        assert!(
            matches!(error, Error::Corrupt { record: 100, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("record 100"), "{error}");
    }
}

fn slimmed(raw: &str, bytes: u64) -> Result<(String, f64), Error> {
    let packets = u64::MAX;
    slimmed_to(raw, Size { bytes, packets })
}

fn slimmed_to(raw: &str, budget: Size) -> Result<(String, f64), Error> {
    let [mut scratch, mut output]: [File; 2] =
        std::array::from_fn(|_| tempfile::tempfile().unwrap());
    let fit = fit(raw.as_bytes(), budget, &mut scratch, &mut output)?;
    let mut text = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(fit.summary.size.bytes, text.len() as u64);
    Ok((text, fit.width_ms))
}

#[test]
fn a_slim_copy_has_every_packet_window_loss_and_acknowledgment() {
    for trace in [raw(), stock()] {
        let (slim, width) = slimmed(&trace, 1_000_000).unwrap();
        assert_eq!(width, 0.0);
        assert!(slim.len() < trace.len() / 2);
        assert!(check(slim.as_bytes()).unwrap().for_qvis);
        let (before, after) = (Contents::of(&raw()), Contents::of(&slim));
        assert_eq!(before.sent, after.sent);
        assert_eq!(before.windows, after.windows);
        assert_eq!(before.lost, after.lost);
        assert_eq!(before.settled(), after.settled());
    }
}

#[test]
fn a_slim_copy_fits_its_budget_and_keeps_every_window_and_loss() {
    let (raw, budget) = (raw(), 50_000);
    let (slim, width) = slimmed(&raw, budget).unwrap();
    assert!(slim.len() as u64 <= budget && width > 0.0);
    assert!(check(slim.as_bytes()).unwrap().for_qvis);
    let (before, after) = (Contents::of(&raw), Contents::of(&slim));
    assert_eq!(before.windows, after.windows);
    assert_eq!(before.lost, after.lost);
    assert_eq!(before.sent_bytes, after.sent_bytes);
    // What is in flight at the end is not settled.
    assert!(after.sent.len() - after.settled() <= 3, "{after:?}");
}

#[test]
fn a_budget_that_cannot_be_met_is_an_error_with_what_can() {
    let error = slimmed(&raw(), 10_000).unwrap_err();
    let Error::DoesNotFit { budget, smallest } = error else {
        panic!("{error}");
    };
    assert!(budget.bytes == 10_000 && smallest.bytes > 10_000);
    assert!(slimmed_to(&raw(), smallest).is_ok());
}

#[test]
fn a_slim_copy_has_no_more_packets_than_it_may() {
    let (raw, bytes) = (raw(), 1_000_000);
    let count =
        |text: &str| text.matches("packet_sent").count() + text.matches("packet_received").count();
    let packets = count(&slimmed(&raw, bytes).unwrap().0) as u64 / 2;
    let (slim, width) = slimmed_to(&raw, Size { bytes, packets }).unwrap();
    assert!(count(&slim) as u64 <= packets && width > 0.0);
    assert_eq!(Contents::of(&raw).windows, Contents::of(&slim).windows);
    let error = slimmed_to(&raw, Size { bytes, packets: 1 }).unwrap_err();
    assert!(
        error.to_string().contains("1 packets are too few"),
        "{error}"
    );
}
