//! The pacer: s2n-quic asks the controller when the next packet may leave.

use std::time::Duration;

use petra::port::Path;
use s2n_quic::provider::congestion_controller::Timestamp;

/// Longest delay of a timer that is made up for. s2n-quic's timers have a resolution of 1 ms, and
/// it sends packets that are due within 1 ms.
const MAX_LATENESS: Duration = Duration::from_millis(1);

/// The schedule of departures at the controller's rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next: Option<Timestamp>,
}

impl Pacer {
    /// A packet has left. The next one is due when this one's bytes are paid for. A packet that
    /// leaves late lets later ones catch up, by what a late timer holds back.
    pub(crate) fn on_sent(&mut self, now: Timestamp, bytes: u64, path: &Path) {
        let Some(rate) = path.pacing_rate() else {
            self.next = None;
            return;
        };
        let time = |bytes: u64| Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        let earliest = now.checked_sub(MAX_LATENESS).unwrap_or(now);
        let due = self.next.map_or(now, |next| next.max(earliest));
        self.next = due.checked_add(time(bytes));
    }

    /// The earliest departure of the next packet.
    pub(crate) fn earliest_departure(&self) -> Option<Timestamp> {
        self.next
    }
}
