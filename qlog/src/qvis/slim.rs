//! Reduces a trace to the events that qvis draws.
//!
//! A slim copy keeps every change of the congestion window, every lost packet, and the
//! acknowledgment of every packet that it keeps. If the copy is still too large, packets of a few
//! milliseconds that are not lost become one, with the number of the last and the size of all.
//! Acknowledgments are merged in the same way.

use std::collections::{HashSet, VecDeque};

use super::copy::write_record;
use super::frames::Frames;
use crate::{AckRange, Change, Event, Fields, Frame, Kind, Packet, Space};

/// Interval between metrics, in milliseconds.
const METRICS_EVERY: f64 = 5.0;

/// A bound on the packets that wait for their acknowledgment, for traces that
/// are none.
const MAX_OUTSTANDING: usize = 1 << 18;

/// A bound on the lost packets that are known, for the same reason.
const MAX_LOST: usize = 1 << 18;

/// Metrics that qvis draws, the congestion window first. It is most of the output, so it has the
/// shorter of the names that qvis reads.
const DRAWN: [&str; 5] = [
    "cwnd",
    "bytes_in_flight",
    "min_rtt",
    "smoothed_rtt",
    "latest_rtt",
];

const WINDOW: usize = 0;

/// The state of trimming.
#[derive(Default)]
pub(super) struct Slim {
    /// Interval in milliseconds whose packets are merged into one; 0 merges none.
    width: f64,
    /// The packets that are lost and therefore stay, as far as they are known.
    lost: HashSet<(Space, u64)>,
    /// Those that left and those that came.
    directions: [Direction; 2],
    /// The latest value of what is drawn, and whether it is still to be written.
    latest: [(String, bool); DRAWN.len()],
    metrics_at: Option<f64>,
    /// Packets written.
    packets: u64,
    /// The time of the event at hand.
    now: f64,
    now_text: String,
}

/// The packets of one direction.
#[derive(Default)]
struct Direction {
    /// Packets that are to become one.
    run: Option<Run>,
    /// Kept packets that are not acknowledged yet, by space.
    outstanding: [VecDeque<u64>; 3],
}

/// Packets that become one.
struct Run {
    packet_type: String,
    space: Space,
    since: f64,
    last: u64,
    length: u64,
    acked: Vec<AckRange>,
}

/// A packet as it is written.
struct Drawn<'a> {
    packet_type: &'a str,
    space: Space,
    number: u64,
    length: u64,
}

const SENT: usize = 0;
const EVENTS: [&str; 2] = ["transport:packet_sent", "transport:packet_received"];

impl Slim {
    /// Sets the interval in milliseconds whose packets are merged, except lost ones.
    pub(super) fn of_width(width_ms: f64, lost: HashSet<(Space, u64)>) -> Self {
        Slim {
            width: width_ms,
            lost,
            ..Slim::default()
        }
    }

    /// Packets that were written up to now.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Time goes on. What has been collected long enough is written, with the
    /// time of the event before, so that times stay in order.
    pub(super) fn go_on(&mut self, time: f64, text: &str, out: &mut Vec<u8>) {
        for here in [0, 1] {
            let run = &self.directions[here].run;
            if run
                .as_ref()
                .is_some_and(|run| time - run.since >= self.width)
            {
                self.end_run(here, out);
            }
        }
        self.now = time;
        self.now_text.clear();
        self.now_text.push_str(text);
    }

    pub(super) fn packet(&mut self, packet: &Packet, event: &Event, out: &mut Vec<u8>) {
        let header = packet.header;
        let (Some(space), Some(number)) = (Space::of(header.packet_type), header.packet_number)
        else {
            return;
        };
        let here = usize::from(event.kind != Kind::Sent);
        let length = packet.raw.and_then(|raw| raw.length).unwrap_or_default();
        let limits = || {
            packet
                .frames
                .iter()
                .flatten()
                .filter(|frame| raises_limit(frame))
        };
        let alone = self.width == 0.0
            || limits().next().is_some()
            || (here == SENT && self.lost.contains(&(space, number)));
        let run = &self.directions[here].run;
        let other_type = run
            .as_ref()
            .is_some_and(|run| run.packet_type != header.packet_type);
        if alone || other_type {
            self.end_run(here, out);
        }
        if alone {
            let mut frames = self.acknowledge(here, space, packet.acked(), out);
            for frame in limits() {
                frames.limit(frame);
            }
            let drawn = Drawn {
                packet_type: header.packet_type,
                space,
                number,
                length,
            };
            self.write(here, &drawn, &frames, out);
            return;
        }
        let run = self.directions[here].run.get_or_insert_with(|| Run {
            packet_type: header.packet_type.to_owned(),
            space,
            since: self.now,
            last: 0,
            length: 0,
            acked: Vec::new(),
        });
        run.last = number;
        run.length = run.length.saturating_add(length);
        for range in packet.acked() {
            if run.acked.last() != Some(&range) {
                run.acked.push(range);
            }
        }
    }

    /// A packet has been lost: it will not be acknowledged.
    pub(super) fn lost(&mut self, packet_type: &str, number: u64) {
        let Some(space) = Space::of(packet_type) else {
            return;
        };
        let outstanding = &mut self.directions[SENT].outstanding[space as usize];
        if let Ok(index) = outstanding.binary_search(&number) {
            outstanding.remove(index);
        }
        if self.width == 0.0 && self.lost.len() < MAX_LOST {
            self.lost.insert((space, number));
        }
    }

    pub(super) fn metrics(&mut self, metrics: &Fields, out: &mut Vec<u8>) {
        let mut values = DRAWN.map(|name| metrics.get(name));
        values[WINDOW] = metrics.window();
        for ((latest, waits), value) in self.latest.iter_mut().zip(values) {
            if let Some(value) = value {
                latest.clear();
                latest.push_str(value);
                *waits = true;
            }
        }
        let counts = metrics.lost_packets();
        let every = self.width.max(METRICS_EVERY);
        if self.metrics_at.is_none_or(|at| self.now - at >= every) || counts.is_some() {
            self.metrics_at = Some(self.now);
            self.write_metrics(DRAWN.len(), counts, out);
        } else {
            self.write_metrics(WINDOW + 1, None, out);
        }
    }

    /// Writes what has been collected, and returns which packets were lost.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> HashSet<(Space, u64)> {
        self.end_run(0, out);
        self.end_run(1, out);
        self.write_metrics(DRAWN.len(), None, out);
        std::mem::take(&mut self.lost)
    }

    fn end_run(&mut self, here: usize, out: &mut Vec<u8>) {
        let Some(run) = self.directions[here].run.take() else {
            return;
        };
        let frames = self.acknowledge(here, run.space, run.acked.iter().copied(), out);
        let drawn = Drawn {
            packet_type: &run.packet_type,
            space: run.space,
            number: run.last,
            length: run.length,
        };
        self.write(here, &drawn, &frames, out);
    }

    /// The frame that acknowledges what stays of the other direction.
    fn acknowledge(
        &mut self,
        here: usize,
        space: Space,
        ranges: impl Iterator<Item = AckRange>,
        out: &mut Vec<u8>,
    ) -> Frames {
        let mut frames = Frames::default();
        let mut newly = Vec::new();
        for range in ranges {
            let run = &self.directions[1 - here].run;
            if run.as_ref().is_some_and(|run| {
                run.space == space
                    && run.acked.is_empty()
                    && (range.first..=range.last).contains(&run.last)
            }) {
                self.end_run(1 - here, out);
            }
            let outstanding = &mut self.directions[1 - here].outstanding[space as usize];
            let start = outstanding.partition_point(|number| *number < range.first);
            let end = outstanding.partition_point(|number| *number <= range.last);
            newly.extend(outstanding.drain(start..end));
        }
        frames.ack(&newly);
        frames
    }

    fn write(&mut self, here: usize, packet: &Drawn, frames: &Frames, out: &mut Vec<u8>) {
        let Drawn {
            packet_type,
            space,
            number,
            length,
        } = *packet;
        let outstanding = &mut self.directions[here].outstanding[space as usize];
        if outstanding.back().is_none_or(|last| *last < number) {
            if outstanding.len() == MAX_OUTSTANDING {
                outstanding.pop_front();
            }
            outstanding.push_back(number);
        }
        self.packets += 1;
        write_record(
            out,
            format_args!(
                "{{\"time\":{},\"name\":\"{}\",\"data\":{{\"header\":{{\"packet_type\":\
                 \"{packet_type}\",\"packet_number\":{number}}},\"raw\":{{\"length\":{length}}}\
                 {frames}}}}}",
                self.now_text, EVENTS[here]
            ),
        );
    }

    /// Writes the pending values among the first `count` metrics that qvis draws.
    fn write_metrics(&mut self, first: usize, counts: Option<Change>, out: &mut Vec<u8>) {
        let latest = &mut self.latest[..first];
        let mut fields: Vec<_> = latest
            .iter()
            .zip(DRAWN)
            .filter(|((_, waits), _)| *waits)
            .map(|((value, _), name)| (name, value.as_str()))
            .collect();
        let counts = counts.map(|it| [it.total.to_string(), it.delta.to_string()]);
        let names = ["cf_lost_packets_total", "cf_lost_packets_delta"];
        let counts = counts.iter().flatten().map(String::as_str);
        fields.extend(names.into_iter().zip(counts));
        if fields.is_empty() {
            return;
        }
        write_record(
            out,
            format_args!(
                "{{\"time\":{},\"name\":\"recovery:metrics_updated\",\"data\":{}}}",
                self.now_text,
                Fields(fields)
            ),
        );
        for (_, waits) in latest {
            *waits = false;
        }
    }
}

fn raises_limit(frame: &Frame) -> bool {
    matches!(frame.frame_type, "max_data" | "max_stream_data")
}
