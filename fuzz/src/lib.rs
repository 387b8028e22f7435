//! The work of the fuzz targets, which the tests of the workspace share. Plans and links are not
//! here: the laboratory has an allocator of its own.

#[path = "../../tests/arbitrary/mod.rs"]
mod arbitrary;
#[path = "../../tests/heap/mod.rs"]
mod heap;
#[path = "../../tests/initial/mod.rs"]
mod initial;
#[path = "../../tests/keys/mod.rs"]
mod keys;
#[path = "../../tests/peer/mod.rs"]
mod peer;
#[path = "../../qlog/tests/traces/read.rs"]
mod read;
// The tests of properties use all of it.
#[allow(dead_code)]
#[path = "../../tests/transport/mod.rs"]
mod transport;

/// Events of controllers.
pub fn controllers(bytes: &[u8]) {
    arbitrary::controllers(bytes);
}

/// Options of controllers.
pub fn options(bytes: &[u8]) {
    arbitrary::options(bytes);
}

/// Traces.
pub fn qlog(bytes: &[u8]) {
    read::read(bytes);
}

/// Datagrams of strangers to a server.
pub fn first_packets(bytes: &[u8]) {
    peer::first_packets(bytes);
}

/// Streams of a client.
pub fn requests(bytes: &[u8]) {
    peer::requests(bytes);
}

/// Streams of a server.
pub fn responses(bytes: &[u8]) {
    peer::responses(bytes);
}
