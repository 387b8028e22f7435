//! Options that are always in range.

use super::*;

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// Any value that the constructor takes.
    pub(crate) fn arbitrary() -> Self {
        let value = Self::new(kani::any());
        kani::assume(value.is_ok());
        value.unwrap_or(Self(Self::MIN))
    }
}

/// Also of numbers that are infinite or not numbers.
#[kani::proof]
fn an_option_outside_of_its_range_is_refused() {
    let value: f64 = kani::any();
    match Gain::new(value) {
        Ok(gain) => assert!(gain.get() >= 1.0 && gain.get() <= 4.0),
        Err(_) => assert!(!(value >= 1.0 && value <= 4.0)),
    }
}
