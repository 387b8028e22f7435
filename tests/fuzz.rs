//! The work of the fuzz targets, with the inputs in `fuzz/seeds`, changes of them, and those in
//! `fuzz/corpora`.

mod arbitrary;
mod heap;
mod initial;
mod keys;
mod peer;
mod replay;
// The tests of properties use all of it.
#[allow(dead_code)]
mod transport;

use replay::replay;

#[test]
fn controllers_keep_their_properties_whatever_happens() {
    replay("controllers", 300, arbitrary::controllers);
}

#[test]
fn options_are_taken_or_refused() {
    replay("options", 2_000, arbitrary::options);
}

#[test]
fn strangers_get_little_and_leave_nothing() {
    replay("first-packets", 300, peer::first_packets);
}

#[test]
fn a_client_cannot_confuse_the_server() {
    replay("requests", 100, peer::requests);
}

#[test]
fn a_server_cannot_confuse_the_client() {
    replay("responses", 100, peer::responses);
}
