//! The window that keeps the path busy.

use super::*;

#[test]
fn it_is_the_bdp_and_a_datagram() {
    let petra = steady(petra());
    assert_near(petra.ssthresh_target().unwrap(), 12_000.0 + 1_200.0);
}

#[test]
fn it_allows_for_acks_in_bunches() {
    let mut bunched = bunched();
    assert_near(bunched.ssthresh_target().unwrap(), 12_000.0 + 3_600.0);
    bunched.config.ack_allowance = false;
    assert_near(bunched.ssthresh_target().unwrap(), 12_000.0 + 1_200.0);
}

#[test]
fn acks_alone_add_what_the_path_delivers_in_100_ms_at_most() {
    let mut petra = steady(petra());
    petra.on_ack(&Ack {
        bytes: 1_000_000,
        ..measured(2_009, 90)
    });
    petra.on_ack(&measured(2_018, 90));
    assert_near(petra.ssthresh_target().unwrap(), 12_000.0 + 13_333.0);
}

#[test]
fn there_is_none_before_an_estimate() {
    assert_eq!(petra().ssthresh_target(), None);
}
