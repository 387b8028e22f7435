//! The growth of the window on an ACK: in slow start, in congestion avoidance, and where losses
//! bound the window.

use super::super::controller::Ack;
use super::slow_start::CONSERVATIVE_GAIN;
use super::standing_queue::QueueSign;
use super::Petra;

/// Largest window, in multiples of the most bytes ever in flight. A larger window has never
/// been tested on the path.
const MAX_WINDOW_OVER_IN_FLIGHT: f64 = 2.0;

impl Petra {
    /// Returns true if losses bound the window: those of competing flows, or a policer's.
    pub(super) fn grows_as_cubic(&self) -> bool {
        self.competition.is_detected() || self.policing.is_detected()
    }

    /// Returns true if losses bound the window, or a test for competing flows may show that.
    pub(super) fn may_grow_as_cubic(&self) -> bool {
        self.grows_as_cubic() || self.competition.is_open()
    }

    /// Bytes to grow by in slow start, per byte acknowledged. Conservative growth excuses no flat
    /// rate: under noise, hardly anything else might end slow start.
    fn slow_start_gain(&mut self, ack: &Ack) -> f64 {
        let recent = self.queue.recent_rtt();
        let sign = self.queue.sign_of_building(ack.rtt.min, recent);
        if sign == QueueSign::Likely || self.window_of_shorter_path().is_some() {
            return 0.0;
        }
        if sign == QueueSign::Possible {
            return CONSERVATIVE_GAIN;
        }
        self.slow_start.on_growth();
        if self.on().faster_start {
            let in_flight = (ack.bytes_in_flight as f64).max(self.window.datagram());
            self.slow_start.gain(in_flight, ack.rtt.min)
        } else {
            1.0
        }
    }

    /// Datagrams to add per round trip of congestion avoidance: one where more might fill a queue.
    /// ACKs in large aggregates look like a queue.
    pub(super) fn linear_increase(&self, ack: &Ack) -> f64 {
        if !self.config.probe {
            return 1.0;
        }
        let window = self.window.bytes() / self.window.datagram();
        let datagrams = self.increase.datagrams(window);
        let recent = self.queue.recent_rtt();
        let may_fill_queue = datagrams > 1.0
            && self.queue.may_be_returning(ack.rtt.min, recent)
            && !self.target().is_some_and(|it| it.is_of_aggregates());
        if may_fill_queue {
            1.0
        } else {
            datagrams
        }
    }

    /// Grows the window at an ACK.
    pub(super) fn grow(&mut self, ack: &Ack) {
        let bytes = self.window.bytes();
        let datagram = self.window.datagram();
        let gain = if self.window.in_slow_start() {
            self.slow_start_gain(ack)
        } else if self.grows_as_cubic() {
            let (window, acked) = (bytes / datagram, ack.bytes as f64 / datagram);
            let increase = self.cubic.datagrams(ack.now, &ack.rtt, window, acked);
            increase * datagram / bytes
        } else {
            self.linear_increase(ack) * datagram / bytes
        };
        let most = (MAX_WINDOW_OVER_IN_FLIGHT * self.max_in_flight as f64).max(bytes);
        self.window.set((bytes + gain * ack.bytes as f64).min(most));
    }
}
