//! The work of the fuzz targets, with the inputs in `fuzz/seeds`, changes of them, and those in
//! `fuzz/corpora`.

mod arbitrary;
#[path = "../../tests/replay/mod.rs"]
mod replay;

use replay::replay;

#[test]
fn a_connection_keeps_its_window_and_comes_to_its_end_whatever_the_path_does() {
    replay("path", 300, arbitrary::path::path);
}

#[test]
fn plans_are_taken_or_refused() {
    replay("plan", 1_000, arbitrary::plan::plan);
}

#[test]
fn links_are_taken_or_refused_and_numbers_are_printed_as_they_are() {
    replay("link", 1_000, arbitrary::link::link);
}
