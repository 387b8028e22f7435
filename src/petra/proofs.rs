//! The bounds of the window and the pacing rate of `petra`.

use super::super::options::Gain;
use super::super::proofs::{any_between, any_duration, any_rtt, any_settings, maybe};
use super::congestion_response::Why;
use super::*;

impl Petra {
    /// Any window and RTT, with estimators that have not measured anything yet.
    fn arbitrary() -> Self {
        let config = PetraConfig {
            pacing_gain: Gain::arbitrary(),
            undo: kani::any(),
            ..PetraConfig::default()
        };
        Self {
            window: Window::arbitrary(),
            rtt: maybe(any_rtt()),
            ..Self::new(config, any_settings())
        }
    }
}

fn any_decision() -> Decision {
    match kani::any::<u8>() {
        0 => Decision::Reduce(kani::any()),
        1 => Decision::Shorten(kani::any()),
        2 => Decision::TestPolicer {
            target: kani::any(),
            restore: kani::any(),
        },
        _ => Decision::Keep(Why::NoQueue),
    }
}

/// Also of a target that is infinite or not a number.
#[kani::proof]
fn no_decision_raises_the_window() {
    let mut petra = Petra::arbitrary();
    let before = petra.window.bytes();
    let reduced = petra.act(any_decision(), any_duration(), Reduction::Loss);
    petra.window.assert_bounds();
    petra.window.assert_not_raised(before);
    assert!(reduced || petra.window.bytes() == before);
}

#[kani::proof]
fn the_pacing_rate_is_never_zero() {
    let mut petra = Petra::arbitrary();
    petra.spread = maybe(Spread {
        bytes: any_between(1.0, 1e300),
        seconds: any_between(1e-9, 1e30),
    });
    petra.pace();
    assert!(petra.pacing_rate != Some(0));
    assert!(petra.pacing_rate.is_some() == petra.rtt.is_some());
    kani::cover!(petra.pacing_rate == Some(1));
}
