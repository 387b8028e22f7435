//! Memory of a server's connections: `cargo bench --bench memory`.

mod connections;

fn main() {
    petra::register();
    let folder = tempfile::tempdir().expect("a folder for the certificate");
    let certificate = petra_http3::certs::for_address(folder.path(), connections::ADDRESS);
    let names = ["reno", "cubic", "bbr2"].into_iter();
    let names: Vec<_> = names.chain(petra::registry::names()).collect();
    connections::print(&names, &certificate.expect("a certificate"));
}
