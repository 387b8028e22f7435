//! Inference of lost packets, for traces without events of them.
//!
//! quiche without this project's series writes no `packet_lost`, but its metrics count losses in
//! `cf_lost_packets`. Both thresholds of RFC 9002, Section 6.1
//! (<https://www.rfc-editor.org/rfc/rfc9002#section-6.1>) grow with packet numbers. The lost
//! packets are therefore the lowest unacknowledged numbers of the space, and their count identifies
//! them for any threshold. For a quiche without that count, the RFC's own thresholds apply.

use std::collections::VecDeque;
use std::iter;

use crate::{Fields, Packet, Space};

/// RFC 9002, 6.1.1.
const PACKET_THRESHOLD: u64 = 3;

/// RFC 9002, 6.1.2.
const TIME_THRESHOLD: f64 = 9.0 / 8.0;

/// RFC 9002, 6.1.2, in milliseconds.
const GRANULARITY: f64 = 1.0;

/// A bound on the packets of a space that are neither acknowledged nor lost,
/// more than any connection has in flight. It is for traces that are none.
const MAX_OUTSTANDING: usize = 1 << 18;

/// A probe of the path's MTU is larger than this, in bytes.
const SMALLEST_MTU: u64 = 1200;

#[derive(Default)]
pub(crate) struct Losses {
    spaces: [Outstanding; 3],
    /// The space of the latest acknowledgment.
    acked: usize,
    /// The trace has events of lost packets.
    told: bool,
    /// Losses since the last metrics.
    unaccounted: u64,
    /// Total of `cf_lost_packets`; `None` without the field.
    pub(crate) counted: Option<u64>,
    /// Lost packets that have events in the trace.
    pub(crate) logged: u64,
    /// Lost packets that were inferred.
    pub(crate) inferred: u64,
    rtt: f64,
}

/// The packets of a space, in the order of their numbers.
#[derive(Default)]
struct Outstanding {
    packets: VecDeque<Sent>,
    largest_acked: Option<u64>,
}

struct Sent {
    number: u64,
    time: f64,
    packet_type: &'static str,
    settled: bool,
}

/// A packet that was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lost {
    pub(crate) packet_type: &'static str,
    pub(crate) number: u64,
}

impl Losses {
    pub(crate) fn on_sent(&mut self, packet: &Packet, time: f64) {
        let (Some(space), Some(number)) = (
            Space::of(packet.header.packet_type),
            packet.header.packet_number,
        ) else {
            return;
        };
        let packets = &mut self.spaces[space as usize].packets;
        // Numbers grow; a trace that says otherwise has its reasons.
        if packets.back().is_some_and(|last| last.number >= number) || is_mtu_probe(packet) {
            return;
        }
        if packets.len() == MAX_OUTSTANDING {
            packets.pop_front();
        }
        packets.push_back(Sent {
            number,
            time,
            packet_type: match (space, packet.header.packet_type) {
                (Space::Initial, _) => "initial",
                (Space::Handshake, _) => "handshake",
                (Space::Application, "0RTT") => "0RTT",
                (Space::Application, _) => "1RTT",
            },
            settled: false,
        });
    }

    pub(crate) fn on_received(&mut self, packet: &Packet) {
        let Some(space) = Space::of(packet.header.packet_type) else {
            return;
        };
        let outstanding = &mut self.spaces[space as usize];
        for range in packet.acked() {
            self.acked = space as usize;
            let packets = &mut outstanding.packets;
            let start = packets.partition_point(|sent| sent.number < range.first);
            for sent in packets.range_mut(start..) {
                if sent.number > range.last {
                    break;
                }
                sent.settled = true;
                outstanding.largest_acked = outstanding.largest_acked.max(Some(sent.number));
            }
        }
        outstanding.forget_settled();
    }

    /// The trace itself says that a packet was lost. Returns the type that the
    /// packet was sent with, where it is known: quiche's recovery takes 0-RTT
    /// packets for 1-RTT ones, whose space they share.
    pub(crate) fn on_lost(&mut self, packet: &Packet) -> Option<&'static str> {
        if packet.petra_inferred == Some(true) {
            self.inferred += 1;
        } else {
            self.logged += 1;
        }
        self.told = true;
        self.unaccounted += 1;
        let (Some(space), Some(number)) = (
            Space::of(packet.header.packet_type),
            packet.header.packet_number,
        ) else {
            return None;
        };
        let outstanding = &mut self.spaces[space as usize];
        let packets = &mut outstanding.packets;
        let index = packets.binary_search_by_key(&number, |sent| sent.number);
        let lost = &mut packets[index.ok()?];
        lost.settled = true;
        let packet_type = lost.packet_type;
        outstanding.forget_settled();
        Some(packet_type)
    }

    /// Adds to `lost` what must have been lost before these metrics.
    pub(crate) fn on_metrics(&mut self, metrics: &Fields, time: f64, lost: &mut Vec<Lost>) {
        let latest = metrics.number("latest_rtt").unwrap_or_default();
        let smoothed = metrics.number("smoothed_rtt").unwrap_or_default();
        if latest > 0.0 {
            self.rtt = latest.max(smoothed);
        }
        match metrics.newly_lost() {
            Some(count) => {
                let counted = self.counted.get_or_insert(0);
                *counted = counted.saturating_add(count);
                // A trace may count more losses than there were packets.
                let missing = count.saturating_sub(self.unaccounted);
                let missing = usize::try_from(missing).unwrap_or(usize::MAX);
                lost.extend(iter::from_fn(|| self.lowest()).take(missing));
            }
            None if self.counted.is_none() && !self.told => self.by_threshold(time, lost),
            None => return,
        }
        self.unaccounted = 0;
        self.inferred += lost.len() as u64;
    }

    /// The lowest packet of the space where the loss must have been.
    fn lowest(&mut self) -> Option<Lost> {
        let latest = self.acked;
        let others = (0..self.spaces.len())
            .rev()
            .filter(|space| *space != latest);
        let mut spaces = iter::once(latest).chain(others);
        let space = spaces.find(|space| self.spaces[*space].could_be_lost())?;
        self.spaces[space].lose_lowest()
    }

    fn by_threshold(&mut self, time: f64, lost: &mut Vec<Lost>) {
        let outstanding = &mut self.spaces[self.acked];
        let delay = (TIME_THRESHOLD * self.rtt).max(GRANULARITY);
        while let Some(lowest) = outstanding.packets.front() {
            let largest = outstanding.largest_acked.unwrap_or_default();
            let late = self.rtt > 0.0 && lowest.time <= time - delay;
            let passed = lowest.number.saturating_add(PACKET_THRESHOLD) <= largest;
            if !outstanding.could_be_lost() || !(late || passed) {
                break;
            }
            lost.extend(outstanding.lose_lowest());
        }
    }
}

impl Outstanding {
    /// Keeps a packet in front that is outstanding, if there is any.
    fn forget_settled(&mut self) {
        while self.packets.front().is_some_and(|sent| sent.settled) {
            self.packets.pop_front();
        }
    }

    fn could_be_lost(&self) -> bool {
        let lowest = self.packets.front().map(|sent| sent.number);
        lowest.is_some_and(|lowest| Some(lowest) < self.largest_acked)
    }

    fn lose_lowest(&mut self) -> Option<Lost> {
        let sent = self.packets.pop_front()?;
        self.forget_settled();
        Some(Lost {
            packet_type: sent.packet_type,
            number: sent.number,
        })
    }
}

/// Probes of the MTU are not counted when they are lost. quiche does not mark
/// them; they are a PING with padding, larger than any other packet may be.
fn is_mtu_probe(packet: &Packet) -> bool {
    let length = packet.raw.and_then(|raw| raw.length).unwrap_or_default();
    let frames = packet.frames.as_deref().unwrap_or_default();
    length > SMALLEST_MTU
        && packet.header.packet_type == "1RTT"
        && frames.iter().any(|frame| frame.frame_type == "padding")
        && frames
            .iter()
            .all(|frame| matches!(frame.frame_type, "ping" | "padding"))
}
