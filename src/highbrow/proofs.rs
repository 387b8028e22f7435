//! The timer and the memory of early probes, with any RTTs and options.

use super::super::proofs::{any_ack, any_duration};
use super::*;

impl Highbrow {
    /// Any options, and this many RTTs.
    fn arbitrary(samples: usize) -> Self {
        let timeout_floor = any_duration();
        kani::assume(timeout_floor <= Duration::from_secs(60));
        let mut rtts = VecDeque::with_capacity(RTT_SAMPLES);
        for _ in 0..samples {
            rtts.push_back(any_duration().as_secs_f64());
        }
        Self {
            alpha: Part::arbitrary().get(),
            timeout_floor,
            rtts,
        }
    }
}

/// RTTs and timeouts that are not in order, or longer than a connection, give a timer as well.
#[kani::proof]
fn every_rtt_gives_a_timer() {
    let highbrow = Highbrow::arbitrary(0);
    let _ = highbrow.timer(any_duration(), any_duration());
}

#[kani::proof]
#[kani::unwind(12)]
fn ten_rtts_are_kept() {
    let mut highbrow = Highbrow::arbitrary(RTT_SAMPLES);
    highbrow.on_ack(&any_ack());
    assert!(highbrow.rtts.len() == RTT_SAMPLES);
}
