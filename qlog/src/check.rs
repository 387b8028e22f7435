//! Checks of a trace without a browser.

use std::io::Read;

use crate::qvis::{NO_VALUE, RTT_FIELDS};
use crate::{End, Error, Event, Fields, Kind, Packet, Space, Trace};

/// Longest time between the last packet and the end of a trace, in milliseconds. qvis takes its
/// time axis from packets.
const LAST_PACKET_WITHIN: f64 = 1000.0;

/// A trace without fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// It is one for qvis; otherwise it is a raw one.
    pub for_qvis: bool,
    /// Its events.
    pub events: u64,
    /// Events whose time is before that of an earlier one. qvis refuses such a
    /// trace; quiche writes them.
    pub out_of_order: u64,
    /// Packets that were sent.
    pub sent: u64,
    /// Events of lost packets.
    pub lost: u64,
    /// Lost packets as the connection counted them, if it wrote that.
    pub counted: Option<u64>,
    /// The missing end of the trace.
    pub end: End,
}

/// Looks at every record.
///
/// Of any trace: it is JSON-SEQ of a known version; every record is an event;
/// packets say their type, number and size. Of one for qvis also: times do not
/// decrease; no event has quiche's names; stream frames have a length; there is
/// no RTT before the first sample and no placeholder for a missing number; the
/// events of lost packets are as many as the connection counted, if the trace is
/// whole; the last packet is near its end. A trace that was cut may end with lost
/// packets that the connection has yet to count.
///
/// # Errors
///
/// The first record that is at fault, with its number.
pub fn check(input: impl Read) -> Result<Report, Error> {
    let mut trace = Trace::open(input)?;
    let mut checker = Checker::new(trace.header().is_for_qvis());
    while let Some(event) = trace.next_event()? {
        checker.event(&event)?;
    }
    checker.report.end = trace.end();
    checker.finish()
}

struct Checker {
    report: Report,
    time: f64,
    last_packet: f64,
    /// The latest event but the connection's end, which an idle timeout has
    /// long after all others.
    last_activity: f64,
    sampled: bool,
    /// Events of lost packets since the last metrics.
    uncounted: u64,
}

impl Checker {
    fn new(for_qvis: bool) -> Self {
        Checker {
            report: Report {
                for_qvis,
                events: 0,
                out_of_order: 0,
                sent: 0,
                lost: 0,
                counted: None,
                end: End::default(),
            },
            time: f64::NEG_INFINITY,
            last_packet: 0.0,
            last_activity: 0.0,
            sampled: false,
            uncounted: 0,
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        self.report.events += 1;
        let for_qvis = self.report.for_qvis;
        if event.time < self.time {
            if for_qvis {
                let reason = format!(
                    "time: out of order (got {}); expected at least {}",
                    event.time, self.time
                );
                return Err(event.wrong(&reason));
            }
            self.report.out_of_order += 1;
        }
        self.time = self.time.max(event.time);
        if !event.name.ends_with(":connection_closed") {
            self.last_activity = self.time;
        }
        if for_qvis && (event.name.starts_with("quic:") || event.name.starts_with("http3:")) {
            return Err(event.wrong(&"unknown event name for qvis"));
        }
        match event.kind {
            Kind::Sent | Kind::Received => self.packet(event),
            Kind::Lost => {
                self.report.lost += 1;
                self.uncounted += 1;
                number(event, &event.read()?)
            }
            Kind::Metrics => self.metrics(event),
            Kind::Phase | Kind::Parameters | Kind::Other => Ok(()),
        }
    }

    fn packet(&mut self, event: &Event) -> Result<(), Error> {
        let packet: Packet = event.read()?;
        self.report.sent += u64::from(event.kind == Kind::Sent);
        self.last_packet = event.time;
        number(event, &packet)?;
        if packet.raw.and_then(|raw| raw.length).is_none() {
            return Err(event.wrong(&"missing `raw.length`"));
        }
        let mut frames = packet.frames.iter().flatten();
        let lacks_length =
            |frame: &crate::Frame| frame.frame_type == "stream" && frame.length.is_none();
        if self.report.for_qvis && frames.any(lacks_length) {
            return Err(event.wrong(&"stream frame: missing `length`"));
        }
        Ok(())
    }

    fn metrics(&mut self, event: &Event) -> Result<(), Error> {
        let metrics: Fields = event.read()?;
        self.uncounted = 0;
        if let Some(count) = metrics.newly_lost() {
            let counted = self.report.counted.get_or_insert(0);
            *counted = counted.saturating_add(count);
        }
        self.sampled |= metrics.number("latest_rtt").is_some_and(|rtt| rtt > 0.0);
        if !self.report.for_qvis {
            return Ok(());
        }
        for (name, value) in &metrics.0 {
            if *value == NO_VALUE {
                return Err(event.wrong(&format!(
                    "`{name}`: placeholder (got {NO_VALUE}); expected no field for no value"
                )));
            }
            if RTT_FIELDS.contains(name) && !self.sampled {
                return Err(
                    event.wrong(&format!("`{name}`: unexpected before the first RTT sample"))
                );
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Report, Error> {
        let report = self.report;
        if !report.for_qvis || !report.end.is_whole() {
            return Ok(report);
        }
        let may_be = report.lost - self.uncounted..=report.lost;
        if let Some(counted) = report.counted.filter(|counted| !may_be.contains(counted)) {
            return Err(Error::Whole(format!(
                "lost packets: wrong number of events (got {}); expected {counted}",
                report.lost
            )));
        }
        let idle = self.last_activity - self.last_packet;
        if report.sent > 0 && idle > LAST_PACKET_WITHIN {
            return Err(Error::Whole(format!(
                "last packet: too early (got {idle:.0} ms before the end); \
                 expected at most {LAST_PACKET_WITHIN:.0} ms"
            )));
        }
        Ok(report)
    }
}

/// The packet says which one it is, if packets of its type have numbers.
fn number(event: &Event, packet: &Packet) -> Result<(), Error> {
    let header = packet.header;
    if Space::of(header.packet_type).is_some() && header.packet_number.is_none() {
        return Err(event.wrong(&"missing `header.packet_number`"));
    }
    Ok(())
}
