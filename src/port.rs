//! The port: a path for adapters to stacks that report less than quiche does.
//!
//! An adapter implements the trait of its stack with a [`Path`] and reports what the stack
//! reports. The path makes the events of the [contract](super::controller::Controller) from that:
//!
//! | the stack lacks | the path has |
//! |---|---|
//! | the RTT sample of the ACK in progress | an [estimator](RttEstimator) of RFC 9002, Section 5 |
//! | one call per ACK frame | [`acked`](Path::acked) per packet, and [`end_acks`](Path::end_acks) |
//! | bytes in flight | a count, which [`end_acks`](Path::end_acks) replaces with the stack's |
//! | app-limited, by packet | the times at which the window was full, and the application idle |
//!
//! The path never reports more acknowledged bytes than the stack does, nor an RTT sample of a
//! packet that was not the newest. Capabilities that no adapter can supply are named by a
//! [`Stack`], and [`select`] refuses a controller that cannot do without them.
//!
//! ```
//! use std::time::Duration;
//!
//! use petra::controller::{Capability, Settings};
//! use petra::port::{select, AckEnd, Path, Stack};
//!
//! const MINE: Stack = Stack {
//!     name: "mine",
//!     capabilities: &[Capability::Pacing],
//! };
//! let factory = select("petra:alpha=0.8", &MINE).unwrap();
//! let mut path = Path::new(factory, Settings {
//!     max_datagram_size: 1_200,
//!     initial_window: 12_000,
//! });
//! path.sent(Duration::ZERO, 1_200);
//! path.acked(Duration::ZERO, 1_200);
//! path.end_acks(Duration::from_millis(40), AckEnd::default());
//! assert_eq!(path.window(), 13_200);
//!
//! let error = select("highbrow", &MINE).unwrap_err().to_string();
//! assert!(error.starts_with("highbrow: early probes: not supported (got stack mine); expected"));
//! ```

mod rtt;
mod select;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::controller::{
    Ack, CongestionExperienced, Controller, Factory, Loss, Metrics, Phase, Rtt, Sent, Settings,
    SpuriousLoss, Time,
};
pub use rtt::RttEstimator;
pub use select::{check, select, SelectError, Stack};

/// The longest burst, as time at the pacing rate: the accuracy of a timer in user space.
const BURST: Duration = Duration::from_millis(1);

/// The largest burst in bytes: that of one system call with segmentation offload.
const MAX_BURST: u64 = 65_536;

/// The state of the transport at the end of an ACK frame, as far as the stack reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckEnd {
    /// Bytes in flight without the acknowledged packets. `None` keeps the path's count.
    pub bytes_in_flight: Option<u64>,
    /// True if the stack had nothing to send before the frame, with room in the window.
    pub app_limited: bool,
    /// The largest packet number acknowledged so far.
    pub largest_acked: Option<u64>,
    /// The RTT estimator of the stack.
    pub rtt: StackRtt,
}

/// The RTT estimator of a stack, as far as it can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackRtt {
    /// Nothing is known, and the path estimates.
    #[default]
    Unknown,
    /// `smoothed_rtt` before this frame. It excludes the delays of earlier ACKs, which the path
    /// does not know.
    SmoothedBefore(Duration),
    /// The estimator is that of [`Path::set_rtt`], which has the sample of this frame if it gave
    /// one.
    Set,
}

/// The packets that an ACK frame has acknowledged so far.
#[derive(Clone, Copy, Debug)]
struct Batch {
    bytes: u64,
    first_sent: Time,
    last_sent: Time,
}

/// One path of a connection: its controller, and the state that the stack does not report.
pub struct Path {
    factory: Arc<dyn Factory>,
    settings: Settings,
    controller: Box<dyn Controller>,
    rtt: RttEstimator,
    /// The time of the last event.
    now: Time,
    bytes_in_flight: u64,
    batch: Option<Batch>,
    /// Send time of the newest packet acknowledged so far.
    newest_acked: Option<Time>,
    /// The largest packet number acknowledged so far.
    largest_acked: Option<u64>,
    /// Send time of the last packet that filled the window.
    window_full: Option<Time>,
    /// The last time at which the application had nothing to send.
    application_idle: Option<Time>,
    /// The end of the packets of the last loss event.
    loss_event: Option<Time>,
    /// Packets lost in that event, and their bytes.
    lost_packets: u64,
}

impl Path {
    /// Makes the controller of a new path.
    pub fn new(factory: Arc<dyn Factory>, settings: Settings) -> Self {
        Self {
            controller: factory.build(settings),
            factory,
            settings,
            rtt: RttEstimator::default(),
            now: Time::ZERO,
            bytes_in_flight: 0,
            batch: None,
            newest_acked: None,
            largest_acked: None,
            window_full: None,
            application_idle: None,
            loss_event: None,
            lost_packets: 0,
        }
    }

    /// Reports packets in flight, sent at one instant.
    pub fn sent(&mut self, now: Time, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.now = self.now.max(now);
        self.bytes_in_flight = self.bytes_in_flight.saturating_add(bytes);
        if self.is_window_full() {
            self.window_full = Some(now);
        }
        self.controller.on_sent(&Sent {
            now: self.now,
            time_sent: now,
            bytes,
            bytes_in_flight: self.bytes_in_flight,
        });
    }

    /// Reports that the window held a packet back.
    pub fn window_blocked(&mut self) {
        self.window_full = Some(self.now);
    }

    /// Adds packets of one send time to the ACK frame in progress.
    pub fn acked(&mut self, time_sent: Time, bytes: u64) {
        self.acked_range(time_sent, time_sent, bytes);
    }

    /// Adds packets sent between two times to the ACK frame in progress.
    pub fn acked_range(&mut self, first_sent: Time, last_sent: Time, bytes: u64) {
        let batch = self.batch.get_or_insert(Batch {
            bytes: 0,
            first_sent,
            last_sent,
        });
        batch.bytes = batch.bytes.saturating_add(bytes);
        batch.first_sent = batch.first_sent.min(first_sent);
        batch.last_sent = batch.last_sent.max(last_sent);
    }

    /// Ends the ACK frame in progress and reports it to the controller, if it acknowledged
    /// packets in flight.
    pub fn end_acks(&mut self, now: Time, end: AckEnd) {
        self.now = self.now.max(now);
        if end.app_limited {
            self.application_idle = Some(self.now);
        }
        let batch = self.batch.take().filter(|batch| batch.bytes > 0);
        let acked = batch.map_or(0, |batch| batch.bytes);
        let counted = self.bytes_in_flight.saturating_sub(acked);
        self.bytes_in_flight = end.bytes_in_flight.unwrap_or(counted);
        let Some(batch) = batch else {
            return;
        };
        let rtt = self.measure(batch.last_sent, &end);
        self.newest_acked = self.newest_acked.max(Some(batch.last_sent));
        self.largest_acked = self.largest_acked.max(end.largest_acked);
        self.controller.on_ack(&Ack {
            now: self.now,
            bytes: batch.bytes,
            first_sent: batch.first_sent,
            last_sent: batch.last_sent,
            newest_sent: batch.last_sent,
            bytes_in_flight: self.bytes_in_flight,
            rtt,
            app_limited: self.was_app_limited(batch.last_sent),
        });
    }

    /// Updates the RTT estimator. Only the largest acknowledged packet gives a sample (RFC 9002,
    /// Section 5.1, <https://www.rfc-editor.org/rfc/rfc9002#section-5.1>).
    fn measure(&mut self, last_sent: Time, end: &AckEnd) -> Rtt {
        let larger = end.largest_acked > self.largest_acked;
        let sent = Some(last_sent);
        let newest = sent > self.newest_acked || (sent == self.newest_acked && larger);
        let sample = self.now.saturating_sub(last_sent);
        match (newest, end.rtt) {
            (true, StackRtt::SmoothedBefore(smoothed)) => self.rtt.update_from(smoothed, sample),
            (true, StackRtt::Unknown) => self.rtt.update(sample),
            (true, StackRtt::Set) | (false, _) => (),
        }
        self.rtt
            .get()
            .unwrap_or_else(|| RttEstimator::first(sample))
    }

    /// Returns true if the application limited the sender when this packet was sent: it was idle
    /// later on, and the window was not full since (RFC 9002, Section 7.8,
    /// <https://www.rfc-editor.org/rfc/rfc9002#section-7.8>).
    fn was_app_limited(&self, time_sent: Time) -> bool {
        let idle = self.application_idle.is_some_and(|idle| idle >= time_sent);
        idle && self.window_full.is_none_or(|full| full < time_sent)
    }

    /// Takes the RTT estimator of a stack that reports all of it.
    pub fn set_rtt(&mut self, rtt: Rtt) {
        self.rtt.set(rtt);
    }

    /// Reports that the application had nothing more to send when this packet was sent.
    pub fn application_idle(&mut self, time_sent: Time) {
        self.application_idle = self.application_idle.max(Some(time_sent));
    }

    /// Reports packets that were declared lost together. `last_sent` is the send time of the
    /// newest of them. Bytes beyond those in flight are losses of another path, which quinn and
    /// noq report with those of the present one.
    pub fn lost(&mut self, now: Time, last_sent: Time, bytes: u64, packets: u64) {
        self.now = self.now.max(now);
        let all_elsewhere = bytes > 0 && self.bytes_in_flight == 0;
        if all_elsewhere {
            return;
        }
        let bytes = bytes.min(self.bytes_in_flight);
        self.bytes_in_flight -= bytes;
        if self.loss_event.is_none_or(|began| last_sent > began) {
            self.loss_event = Some(self.now);
            self.lost_packets = 0;
        }
        self.lost_packets = self.lost_packets.saturating_add(packets);
        self.controller.on_loss(&Loss {
            now: self.now,
            bytes,
            last_sent,
            bytes_in_flight: self.bytes_in_flight,
            rtt: self.rtt.get(),
        });
    }

    /// Reports persistent congestion, after [`lost`](Self::lost) of the same packets. The minimum
    /// RTT restarts (RFC 9002, Section 5.2,
    /// <https://www.rfc-editor.org/rfc/rfc9002#section-5.2>).
    pub fn persistent_congestion(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.rtt.restart_minimum();
        self.controller.on_persistent_congestion(self.now);
    }

    /// Reports packets marked Congestion Experienced. `last_sent` is the send time of the newest
    /// packet that the ACK frame acknowledged.
    pub fn congestion_experienced(&mut self, now: Time, last_sent: Time) {
        self.now = self.now.max(now);
        self.controller
            .on_congestion_experienced(&CongestionExperienced {
                now: self.now,
                last_sent,
                bytes_in_flight: self.bytes_in_flight,
                rtt: self.rtt.get(),
            });
    }

    /// Reports that all losses of the last loss event were spurious. Without a loss event it has
    /// no effect.
    pub fn spurious_loss_event(&mut self) {
        let packets = std::mem::take(&mut self.lost_packets);
        if packets > 0 {
            self.controller.on_spurious_loss(&SpuriousLoss {
                now: self.now,
                packets,
                whole_event: true,
            });
        }
    }

    /// Removes bytes in flight that will be neither acknowledged nor declared lost, such as those
    /// of a packet number space that is discarded.
    pub fn discarded(&mut self, bytes: u64) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes);
    }

    /// Changes the maximum datagram size.
    pub fn set_max_datagram_size(&mut self, bytes: u64) {
        self.settings.max_datagram_size = bytes;
        self.controller.on_max_datagram_size(bytes);
    }

    /// The maximum datagram size, in bytes.
    pub fn max_datagram_size(&self) -> u64 {
        self.settings.max_datagram_size
    }

    /// Bytes in flight, as the path counts them.
    pub fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    /// Returns true if the window has no room for a datagram of the maximum size.
    pub fn is_window_full(&self) -> bool {
        let room = self.window().saturating_sub(self.bytes_in_flight);
        room < self.settings.max_datagram_size
    }

    /// The initial window, in bytes.
    pub fn initial_window(&self) -> u64 {
        self.settings.initial_window
    }

    /// The congestion window, in bytes.
    pub fn window(&self) -> u64 {
        self.controller.window()
    }

    /// The slow start threshold in bytes, if it has been set.
    pub fn ssthresh(&self) -> Option<u64> {
        self.controller.ssthresh()
    }

    /// The pacing rate in bytes per second. `None`: not paced.
    pub fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    /// Bytes to send at one instant, if the sender is paced: those of 1 ms at the pacing rate, at
    /// least two datagrams and at most 64 KiB.
    pub fn send_quantum(&self) -> Option<u64> {
        let datagrams = 2 * self.settings.max_datagram_size;
        let burst = |rate: u64| (rate as f64 * BURST.as_secs_f64()) as u64;
        let quantum = |rate| burst(rate).min(MAX_BURST).max(datagrams);
        self.pacing_rate().map(quantum)
    }

    /// The phase of the controller.
    pub fn phase(&self) -> Phase {
        self.controller.phase()
    }

    /// The metrics of the controller.
    pub fn metrics(&self) -> Metrics {
        self.controller.metrics()
    }

    /// The RTT estimator, after at least one sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt.get()
    }
}

/// Copies the path for one that continues it. A controller that cannot be copied starts anew.
impl Clone for Path {
    fn clone(&self) -> Self {
        let controller = self.controller.try_clone();
        Self {
            controller: controller.unwrap_or_else(|| self.factory.build(self.settings)),
            factory: self.factory.clone(),
            ..*self
        }
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path")
            .field("controller", &self.factory.name())
            .field("window", &self.window())
            .field("bytes_in_flight", &self.bytes_in_flight)
            .field("rtt", &self.rtt)
            .field("metrics", &self.metrics())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
