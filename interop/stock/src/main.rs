//! Memory of a server's connections with quiche as it is published, without patches: `cargo run
//! --release`. `cargo bench --bench memory` measures the same with them.

#[path = "../../../http3/src/certs.rs"]
mod certs;
#[path = "../../../benches/memory/connections.rs"]
mod connections;

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the certificate");
    let certificate = certs::for_address(folder.path(), connections::ADDRESS);
    let certificate = certificate.expect("a certificate");
    connections::print(&["reno", "cubic", "bbr2"], &certificate);
}
