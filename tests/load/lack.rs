//! A server that lacks file descriptors, or disk space under its qlogs.

use std::io::Write;
use std::process::{Command, Stdio};

use super::alone;
use super::clients::Clients;
use super::harness::Server;

/// Connections, whose qlogs need more than there is.
const CONNECTIONS: usize = 100;

/// Limits of file descriptors: with one of them, a trace finds one and its copy none.
const DESCRIPTORS: [usize; 2] = [64, 65];

fn download_all(server: &mut Server) {
    let mut clients = Clients::new(server.address);
    clients.open(CONNECTIONS, "/bytes/100000");
    clients.finish();
    clients.close().check(CONNECTIONS);
    assert!(server.child.try_wait().expect("it runs").is_none());
}

#[test]
fn too_few_file_descriptors() {
    let _alone = alone();
    for limit in DESCRIPTORS {
        let shell = format!("ulimit -n {limit}; exec \"$@\"");
        let mut server = Server::under(&["sh", "-c", &shell, "sh"], &["--qlog", "qlog"]);
        download_all(&mut server);
        let logs = server.path("qlog").read_dir().expect("a folder").count();
        assert!(
            (2..limit).contains(&logs) && logs.is_multiple_of(2),
            "{logs} logs"
        );
    }
}

/// The disk is 1 MB of memory in a mount namespace.
#[test]
#[ignore = "not every container permits a mount namespace"]
fn a_full_disk_under_the_qlogs() {
    let _alone = alone();
    let mounted = "mkdir qlog && mount -t tmpfs -o size=1m petra qlog && exec \"$@\"";
    let prefix = [
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        mounted,
        "sh",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let mut probe = Command::new(prefix[0]);
    probe.args(&prefix[1..]).arg("true").current_dir(&folder);
    let permitted = probe.stderr(Stdio::null()).status();
    if !permitted.is_ok_and(|status| status.success()) {
        // Past the capture of the test's output.
        let skipped =
            b"\nSKIPPED: a full disk under the qlogs: this machine permits no mount namespace\n";
        std::io::stderr().write_all(skipped).expect("stderr");
        return;
    }
    let mut server = Server::under(&prefix, &["--qlog", "qlog"]);
    download_all(&mut server);
}
