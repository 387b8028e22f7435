//! Rewrites a trace event by event.

use std::collections::HashSet;

use memchr::memmem;
use serde::Deserialize;

use super::copy::write_record;
use super::edits::Edits;
use super::names::Name;
use super::slim::Slim;
use super::{NO_VALUE, RTT_FIELDS};
use crate::losses::{Losses, Lost};
use crate::{Change, Error, Event, Fields, Kind, Packet, Space};

/// Turns events into what qvis reads.
pub(super) struct Rewriter {
    pub(super) losses: Losses,
    lost: Vec<Lost>,
    edits: Edits,
    /// The latest time, and as text.
    time: f64,
    time_text: String,
    sampled: bool,
    /// Packets of both directions that were read.
    packets: u64,
    slim: Option<Slim>,
    /// The trace is as quiche writes it.
    is_raw: bool,
}

impl Rewriter {
    pub(super) fn new(slim: Option<Slim>, is_raw: bool) -> Self {
        Rewriter {
            losses: Losses::default(),
            lost: Vec::new(),
            edits: Edits::default(),
            time: f64::NEG_INFINITY,
            time_text: "0".to_owned(),
            sampled: false,
            packets: 0,
            slim,
            is_raw,
        }
    }

    /// Packets of both directions that were written.
    pub(super) fn packets(&self) -> u64 {
        match &self.slim {
            Some(slim) => slim.packets(),
            None => self.packets,
        }
    }

    pub(super) fn event(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Error> {
        self.edits.clear();
        // quiche takes the times of some events before those of others that it
        // writes first; qvis wants them in order.
        if event.time >= self.time {
            self.time = event.time;
            self.time_text.clear();
            self.time_text.push_str(event.time_text);
        } else {
            self.edits.replace(
                event.position(event.time_text),
                event.time_text.len(),
                &self.time_text,
            );
        }
        if let Some(slim) = &mut self.slim {
            slim.go_on(self.time, &self.time_text, out);
        }
        let name = Name::of(event.name);
        self.edits
            .replace(event.position(event.name), name.length, name.instead);
        match event.kind {
            Kind::Sent | Kind::Received => {
                self.packet(event, out)?;
                self.packets += 1;
            }
            Kind::Lost => {
                let packet: Packet = event.read()?;
                let told = packet.header.packet_type;
                if let Some(sent) = self.losses.on_lost(&packet).filter(|sent| *sent != told) {
                    self.edits.replace(event.position(told), told.len(), sent);
                }
                if let (Some(slim), Some(number)) = (&mut self.slim, packet.header.packet_number) {
                    slim.lost(packet.header.packet_type, number);
                }
                self.edits.apply(event.text, out);
            }
            Kind::Metrics => self.metrics(event, out)?,
            Kind::Parameters => {
                let parameters: Parameters = event.read()?;
                if let (Some(initiator), None) = (parameters.initiator, parameters.owner) {
                    let end = event.position(initiator) + initiator.len() + 1;
                    self.edits
                        .insert(end, format_args!(",\"owner\":\"{initiator}\""));
                }
                self.edits.apply(event.text, out);
            }
            Kind::Phase => self.edits.apply(event.text, out),
            Kind::Other if self.slim.is_some() => {}
            Kind::Other => {
                if HTTP_FRAMES.contains(&event.name) {
                    self.http_frame(event)?;
                }
                self.edits.apply(event.text, out);
            }
        }
        Ok(())
    }

    fn packet(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Error> {
        let packet: Packet = event.read()?;
        if event.kind == Kind::Sent {
            self.losses.on_sent(&packet, event.time);
        } else {
            self.losses.on_received(&packet);
        }
        if let Some(slim) = &mut self.slim {
            slim.packet(&packet, event, out);
            return Ok(());
        }
        if event.kind == Kind::Sent && self.is_raw {
            self.tagged(event, &packet);
        }
        for frame in packet.frames.iter().flatten() {
            if let ("stream", None, Some(length)) =
                (frame.frame_type, frame.length, frame.data_length())
            {
                let end = event.position(frame.frame_type) + frame.frame_type.len() + 1;
                self.edits.insert(end, format_args!(",\"length\":{length}"));
            }
        }
        self.edits.apply(event.text, out);
        Ok(())
    }

    /// Adds the authentication tag to the payload of a sent packet: quiche leaves it out there, and
    /// qvis takes it off each.
    fn tagged(&mut self, event: &Event, packet: &Packet) {
        let Some(length) = packet.raw.and_then(|raw| raw.payload_length) else {
            return;
        };
        // A packet's payload is longer than that of any of its frames.
        let places = memmem::find_iter(event.data.as_bytes(), PAYLOAD_LENGTH);
        let mut numbers = places.map(|at| {
            let number = &event.data[at + PAYLOAD_LENGTH.len()..];
            let end = number.find(|c: char| !c.is_ascii_digit());
            &number[..end.unwrap_or_default()]
        });
        if let Some(number) = numbers.find(|text| text.parse() == Ok(length)) {
            let tagged = length.saturating_add(TAG).to_string();
            let at = event.position(number);
            self.edits.replace(at, number.len(), &tagged);
        }
    }

    /// Gives a frame of HTTP/3 its length by the name of qlog 0.3.
    fn http_frame(&mut self, event: &Event) -> Result<(), Error> {
        let frame: HttpFrame = event.read()?;
        if let (Some(length), None) = (frame.length, frame.byte_length) {
            let start = event.position(event.data) + 1;
            self.edits
                .insert(start, format_args!("\"byte_length\":{length},"));
        }
        Ok(())
    }

    fn metrics(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut metrics: Fields = event.read()?;
        self.losses.on_metrics(&metrics, self.time, &mut self.lost);
        for lost in self.lost.drain(..) {
            if let Some(slim) = &mut self.slim {
                slim.lost(lost.packet_type, lost.number);
            }
            write_record(
                out,
                format_args!(
                    "{{\"time\":{},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":\
                     {{\"packet_type\":\"{}\",\"packet_number\":{}}},\"petra_inferred\":true}}}}",
                    self.time_text, lost.packet_type, lost.number
                ),
            );
        }
        self.sampled |= metrics.number("latest_rtt").is_some_and(|rtt| rtt > 0.0);
        let before = metrics.0.len();
        metrics.0.retain(|(name, value)| {
            *value != NO_VALUE && (self.sampled || !RTT_FIELDS.contains(name))
        });
        if let Some(slim) = &mut self.slim {
            slim.metrics(&metrics, out);
            return Ok(());
        }
        let flat = metrics
            .0
            .iter()
            .filter_map(|(name, value)| flat(name, value));
        if metrics.0.len() == before {
            for (name, value, flat) in flat {
                let start = event.position(name) - 1;
                let end = event.position(value) + value.len();
                self.edits.replace(start, end - start, &flat);
            }
            self.edits.apply(event.text, out);
        } else {
            let flat: Vec<_> = flat.collect();
            let field = |(name, value): &(&str, &str)| {
                let own = flat.iter().find(|(flat, ..)| flat == name);
                own.map_or_else(|| format!("\"{name}\":{value}"), |(.., text)| text.clone())
            };
            let fields: Vec<String> = metrics.0.iter().map(field).collect();
            write_record(
                out,
                format_args!(
                    "{{\"time\":{},\"name\":\"recovery:metrics_updated\",\"data\":{{{}}}}}",
                    self.time_text,
                    fields.join(",")
                ),
            );
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> HashSet<(Space, u64)> {
        let slim = self.slim.as_mut();
        slim.map(|slim| slim.finish(out)).unwrap_or_default()
    }
}

/// A counter with its increase as fields of their own: qvis shows an object as `[object Object]`.
fn flat<'a>(name: &'a str, value: &'a str) -> Option<(&'a str, &'a str, String)> {
    if !name.starts_with("cf_lost_") || !value.starts_with('{') {
        return None;
    }
    let Change { total, delta } = serde_json::from_str(value).ok()?;
    let text = format!("\"{name}_total\":{total},\"{name}_delta\":{delta}");
    Some((name, value, text))
}

/// The field with a packet's length, or that of data in a frame.
const PAYLOAD_LENGTH: &[u8] = b"\"payload_length\":";

/// Bytes of the authentication tag of a packet (RFC 9001, Section 5.3).
const TAG: u64 = 16;

/// Events with a frame of HTTP/3.
const HTTP_FRAMES: [&str; 2] = ["http3:frame_created", "http3:frame_parsed"];

#[derive(Deserialize)]
struct HttpFrame {
    length: Option<u64>,
    byte_length: Option<u64>,
}

#[derive(Deserialize)]
struct Parameters<'a> {
    initiator: Option<&'a str>,
    owner: Option<&'a str>,
}
