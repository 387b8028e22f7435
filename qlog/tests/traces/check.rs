//! Errors that the check finds, each in a real trace with one fault.

use super::sample::{copy, raw};
use petra_qlog::check::check;
use petra_qlog::qvis::Detail;

/// The copy for qvis with one change of its first record that has `text`, and
/// what the check then says.
fn with(text: &str, instead: &str) -> String {
    let (copy, _) = copy(&raw(), &Detail::All).unwrap();
    assert!(copy.contains(text), "{text}");
    let number = copy
        .split('\n')
        .position(|record| record.contains(text))
        .unwrap()
        + 1;
    let error = check(copy.replacen(text, instead, 1).as_bytes()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with(&format!("record {number},")),
        "{number}: {error}"
    );
    error
}

#[test]
fn each_fault_is_found_in_its_record() {
    for (text, instead, says) in [
        (
            "\"qlog_version\":\"0.3\"",
            "\"qlog_version\":\"0.4\"",
            "0.4",
        ),
        (
            "\"qlog_format\":\"JSON-SEQ\"",
            "\"qlog_format\":\"JSON\"",
            "JSON-SEQ",
        ),
        ("\"trace\":{", "\"traces\":{", "`trace`"),
        ("{\"time\":51.549,", "{\"time\":48.0,", "out of order"),
        ("transport:packet_sent", "quic:packet_sent", "name"),
        ("\"packet_number\":7", "\"number\":7", "packet_number"),
        ("\"raw\":{\"length\":1350,", "\"raw\":{", "raw.length"),
        (
            "\"frame_type\":\"stream\",\"length\":",
            "\"frame_type\":\"stream\",\"size\":",
            "length",
        ),
        (
            "\"congestion_window\":13500",
            "\"ssthresh\":18446744073709551615",
            "placeholder",
        ),
        (
            "\"congestion_window\":13500",
            "\"smoothed_rtt\":333.0",
            "RTT sample",
        ),
        ("\"data\":{", "\"data\":{{", "key must be a string"),
    ] {
        let error = with(text, instead);
        assert!(error.contains(says), "{instead}: {error}");
    }
}

#[test]
fn a_trace_may_end_with_losses_that_are_not_counted_yet() {
    let (whole, _) = copy(&raw(), &Detail::All).unwrap();
    let records: Vec<&str> = whole.split_inclusive('\n').collect();
    let is_loss = |at: &usize| records[*at].contains(":packet_lost");
    let losses: Vec<usize> = (0..records.len()).filter(is_loss).collect();
    assert!(losses.len() > 1);
    for &at in &losses {
        check(records[..=at].concat().as_bytes()).unwrap();
    }
    // One more than the next metrics count.
    let mut more = records.clone();
    more.insert(losses[0], records[losses[0]]);
    let error = check(more.concat().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("wrong number of events"));
}

#[test]
fn faults_of_the_whole_are_found() {
    let (whole, _) = copy(&raw(), &Detail::All).unwrap();
    let without_a_loss: String = {
        let loss = whole
            .split_inclusive('\n')
            .find(|record| record.contains("packet_lost"));
        whole.replacen(loss.unwrap(), "", 1)
    };
    // The header says "packet_lost", too.
    assert!(check(without_a_loss.as_bytes()).is_err());
    let events = |keep: fn(&str) -> bool| -> String {
        whole
            .split_inclusive('\n')
            .filter(|record| keep(record))
            .collect()
    };
    let error = check(events(|record| !record.contains(":packet_lost")).as_bytes()).unwrap_err();
    assert!(
        error.to_string().contains("wrong number of events"),
        "{error}"
    );

    let mut packets = 0;
    let early: String = whole
        .split_inclusive('\n')
        .filter(|record| {
            packets += u32::from(record.contains(":packet_sent"));
            packets < 100 || !record.contains("transport:packet_")
        })
        .collect();
    let error = check(early.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("last packet"), "{error}");
}

#[test]
fn the_media_type_is_a_name_of_the_format() {
    let raw = raw().replacen("\"JSON-SEQ\"", "\"application/qlog+json-seq\"", 1);
    assert!(!check(raw.as_bytes()).unwrap().for_qvis);
    let (copy, _) = copy(&raw, &Detail::All).unwrap();
    assert!(copy.contains("\"qlog_format\":\"JSON-SEQ\""));
}

#[test]
fn input_that_is_not_a_trace_is_an_error() {
    for (text, says) in [
        ("", "empty"),
        ("{}", "0x1e"),
        ("\u{1e}[]\n", "record 1"),
        ("\u{1e}{\"a\":1}\n", "file_schema"),
        ("\u{1e}{\"file_schema\":\"urn:example\"}\n", "urn:example"),
    ] {
        let error = check(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}
