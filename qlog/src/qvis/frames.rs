//! The frames that a slim copy has.

use std::fmt::{self, Write as _};

use crate::Frame;

/// The `frames` of a packet, as they follow its other fields.
#[derive(Default)]
pub(super) struct Frames(String);

impl Frames {
    /// Neighbours become a range.
    pub(super) fn ack(&mut self, numbers: &[u64]) {
        if numbers.is_empty() {
            return;
        }
        self.0
            .push_str("{\"frame_type\":\"ack\",\"acked_ranges\":[");
        for (i, run) in numbers.chunk_by(|one, next| one + 1 == *next).enumerate() {
            let comma = if i > 0 { "," } else { "" };
            // To a String it cannot fail.
            let _ = match run {
                [only] => write!(self.0, "{comma}[{only}]"),
                _ => write!(self.0, "{comma}[{},{}]", run[0], run[run.len() - 1]),
            };
        }
        self.0.push_str("]}");
    }

    pub(super) fn limit(&mut self, frame: &Frame) {
        let Some(maximum) = frame.maximum else {
            return;
        };
        if !self.0.is_empty() {
            self.0.push(',');
        }
        let _ = write!(self.0, "{{\"frame_type\":\"{}\"", frame.frame_type);
        if let Some(stream) = frame.stream_id {
            let _ = write!(self.0, ",\"stream_id\":{stream}");
        }
        let _ = write!(self.0, ",\"maximum\":{maximum}}}");
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, ",\"frames\":[{}]", self.0)
    }
}
