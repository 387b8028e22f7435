//! qlog and TLS secrets.

use std::process::Command;

use serde_json::Value;

use super::harness::{example, names, summary, wait_for, Server};

/// The records of a qlog file, which is JSON-SEQ (RFC 7464).
fn records(log: &str) -> Vec<Value> {
    let records = log.split('\u{1e}').filter(|record| !record.is_empty());
    records
        .map(|record| serde_json::from_str(record).expect("JSON"))
        .collect()
}

#[test]
fn both_ends_write_a_qlog_with_what_recovery_does() {
    let server = Server::start(&["--qlog", "server"]);
    server.download("/bytes/1000000", &["--qlog", "client"]);
    wait_for_end_of_server_log(&server);
    for role in ["server", "client"] {
        let files = names(&server.path(role));
        let [copy, raw] = &files[..] else {
            panic!("{files:?}");
        };
        assert!(raw.starts_with(&format!("{role}-")) && raw.ends_with(".sqlog"));
        assert_eq!(*copy, raw.replace(".sqlog", ".qvis.sqlog"));
        let copy = std::fs::File::open(server.path(role).join(copy)).unwrap();
        assert!(petra_qlog::check::check(copy).unwrap().for_qvis);
        let log = std::fs::read_to_string(server.path(role).join(raw)).unwrap();
        let records = records(&log);
        let has = |name: &str| records.iter().any(|r| r["name"] == name);
        assert!(
            has("quic:packet_sent") && has("quic:packet_received"),
            "{role}"
        );
        let metrics = |field: &str| {
            let updates = records
                .iter()
                .filter(|r| r["name"] == "quic:recovery_metrics_updated");
            updates.filter(|r| !r["data"][field].is_null()).count()
        };
        for field in [
            "congestion_window",
            "bytes_in_flight",
            "smoothed_rtt",
            "min_rtt",
        ] {
            assert!(metrics(field) > 0, "{field} of the {role}");
        }
    }
}

/// A server's qlog is whole once it has forgotten the connection.
fn wait_for_end_of_server_log(server: &Server) {
    wait_for("the end of the qlog", || {
        let read = |name| std::fs::read_to_string(server.path("server").join(name)).unwrap();
        let logs: Vec<_> = names(&server.path("server"))
            .into_iter()
            .map(read)
            .collect();
        let ended = |log: &String| log.contains("connection_closed") && log.ends_with('\n');
        // The copy for qvis says last of all where its losses are from.
        logs.iter().all(ended) && !logs[0].contains("\"petra_packet_lost\":\"unknown\"")
    });
}

#[test]
fn tls_secrets_are_appended() {
    let server = Server::start(&["--keylog", "keys"]);
    server.download("/bytes/1", &["--keylog", "keys"]);
    let keys = std::fs::read_to_string(server.path("keys")).unwrap();
    let secrets = keys.matches("SERVER_TRAFFIC_SECRET_0 ").count();
    assert_eq!(secrets, 2, "one of each end: {keys}");
}

/// A limit on the size of files stands in for a full disk: both are an error of
/// `write`.
#[test]
fn a_full_disk_ends_the_qlog_and_not_the_transfer() {
    let server = Server::start(&[]);
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .arg(example("http3-client"))
        .args(["--json", "--ca", "certs/ca.pem", "--qlog", "qlog"])
        .arg(server.url("/bytes/1000000"))
        .current_dir(server.folder.path())
        .output()
        .unwrap();
    assert!(limited.status.success(), "{limited:?}");
    assert_eq!(summary(&limited)["complete"], true);
    let said = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(said.matches("incomplete").count(), 1, "{said}");
    assert!(said.contains("qlog/client-"), "{said}");
}
