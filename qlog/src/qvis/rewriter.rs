//! Rewrites a trace event by event.

use std::collections::HashSet;

use serde::Deserialize;

use super::copy::write_record;
use super::edits::Edits;
use super::names::Name;
use super::slim::Slim;
use super::{NO_VALUE, RTT_FIELDS};
use crate::losses::{Losses, Lost};
use crate::{Error, Event, Fields, Kind, Packet, Space};

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
}

impl Rewriter {
    pub(super) fn new(slim: Option<Slim>) -> Self {
        Rewriter {
            losses: Losses::default(),
            lost: Vec::new(),
            edits: Edits::default(),
            time: f64::NEG_INFINITY,
            time_text: "0".to_owned(),
            sampled: false,
            packets: 0,
            slim,
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
                self.packets += 1;
                self.packet(event, out)?;
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
            Kind::Other => self.edits.apply(event.text, out),
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
        } else if metrics.0.len() == before {
            self.edits.apply(event.text, out);
        } else {
            write_record(
                out,
                format_args!(
                    "{{\"time\":{},\"name\":\"recovery:metrics_updated\",\"data\":{}}}",
                    self.time_text, metrics
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

#[derive(Deserialize)]
struct Parameters<'a> {
    initiator: Option<&'a str>,
    owner: Option<&'a str>,
}
