//! The records of a trace, as far as anything here wants to know them.

use std::fmt;
use std::io::Read;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{Error, Header, Record, Records};

/// A trace: its header, then event after event.
pub struct Trace<R> {
    records: Records<R>,
    header: Header,
    truncated: Option<u64>,
}

/// Position at which an incomplete trace ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct End {
    /// The number of a last record that is not whole.
    pub truncated: Option<u64>,
    /// The end of the compressed input is missing.
    pub cut: bool,
}

impl End {
    /// Nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.truncated.is_none() && !self.cut
    }
}

impl<R: Read> Trace<R> {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// When there is none, or one that is not of quiche's versions of qlog or
    /// qvis's.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut records = Records::new(input);
        let record = records.next_record()?.ok_or(Error::Empty)?;
        let header = Header::parse(record.utf8()?)?;
        Ok(Trace {
            records,
            header,
            truncated: None,
        })
    }

    /// The header of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next event. A last record that is not whole ends the trace, and
    /// [`Trace::end`] has its number.
    ///
    /// # Errors
    ///
    /// When a record is no event and others follow, is too long, or cannot be
    /// read.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Error> {
        let Some(record) = self.records.next_record()? else {
            return Ok(None);
        };
        match Event::parse(&record) {
            Ok(event) => Ok(Some(event)),
            Err(_) if record.last => {
                self.truncated = Some(record.number);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the missing end of the trace, after the last event.
    pub fn end(&self) -> End {
        End {
            truncated: self.truncated,
            cut: self.records.cut(),
        }
    }
}

/// An event, borrowed from its record's text.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The record's number, from 1.
    pub number: u64,
    /// Offset of the record in bytes.
    pub offset: u64,
    /// The whole record.
    pub text: &'a str,
    /// Milliseconds since the trace's reference time.
    pub time: f64,
    /// The same as it is written.
    pub time_text: &'a str,
    /// The name, with its category.
    pub name: &'a str,
    /// The kind of event, for those that matter here.
    pub kind: Kind,
    /// The JSON object that says more.
    pub data: &'a str,
}

/// The events that anything here looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet left.
    Sent,
    /// A packet came.
    Received,
    /// A packet was declared lost.
    Lost,
    /// The state of recovery changed.
    Metrics,
    /// The phase of congestion control changed.
    Phase,
    /// Transport parameters.
    Parameters,
    /// Anything else.
    Other,
}

impl Kind {
    /// By the names of qlog 0.4 and, for qvis, 0.3.
    fn of(name: &str) -> Self {
        match name {
            "quic:packet_sent" | "transport:packet_sent" => Kind::Sent,
            "quic:packet_received" | "transport:packet_received" => Kind::Received,
            "quic:packet_lost" | "recovery:packet_lost" => Kind::Lost,
            "quic:recovery_metrics_updated" | "recovery:metrics_updated" => Kind::Metrics,
            "quic:congestion_state_updated" | "recovery:congestion_state_updated" => Kind::Phase,
            "quic:parameters_set" | "transport:parameters_set" => Kind::Parameters,
            _ => Kind::Other,
        }
    }
}

#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    time: &'a RawValue,
    name: &'a str,
    #[serde(borrow)]
    data: &'a RawValue,
}

impl<'a> Event<'a> {
    /// Reads a record of any origin.
    pub(crate) fn parse(record: &Record<'a>) -> Result<Self, Error> {
        let text = record.utf8()?;
        let outline: Outline = serde_json::from_str(text).map_err(|error| record.wrong(&error))?;
        let (time, data) = (outline.time.get(), outline.data.get());
        Self::of(record, text, (time, outline.name, data))
    }

    /// Reads a record that quiche has just written. It is whole, so that its data need not be
    /// parsed to find their end. Where other fields follow, they are part of the data here.
    pub(crate) fn written(record: &Record<'a>) -> Result<Self, Error> {
        let text = record.utf8()?;
        match outline_of_quiche(text) {
            Some(outline) => Self::of(record, text, outline),
            None => Self::parse(record),
        }
    }

    fn of(
        record: &Record<'a>,
        text: &'a str,
        (time_text, name, data): (&'a str, &'a str, &'a str),
    ) -> Result<Self, Error> {
        let time: f64 = serde_json::from_str(time_text)
            .map_err(|_| record.wrong(&"`time`: not a number; expected milliseconds"))?;
        Ok(Event {
            number: record.number,
            offset: record.offset,
            text,
            time,
            time_text,
            name,
            kind: Kind::of(name),
            data,
        })
    }

    /// The data as what the event's kind has.
    ///
    /// # Errors
    ///
    /// When it does not have that shape.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        serde_json::from_str(self.data).map_err(|error| self.wrong(&error))
    }

    /// An error of this record.
    pub(crate) fn wrong(&self, reason: &dyn fmt::Display) -> Error {
        Error::Corrupt {
            record: self.number,
            offset: self.offset,
            reason: format!("{}: {reason}", self.name),
        }
    }

    /// Returns the offset of a part within the record's text.
    pub(crate) fn position(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }
}

/// Time, name and data of an event as quiche writes it: these fields in this order, to the end.
fn outline_of_quiche(text: &str) -> Option<(&str, &str, &str)> {
    let (time, rest) = text.strip_prefix("{\"time\":")?.split_once(',')?;
    let (name, rest) = rest.strip_prefix("\"name\":\"")?.split_once('"')?;
    let data = rest.strip_prefix(",\"data\":")?.strip_suffix('}')?;
    Some((time, name, data))
}

/// A packet that was sent, received or lost.
#[derive(Debug, Deserialize)]
pub struct Packet<'a> {
    /// The packet's header.
    #[serde(borrow)]
    pub header: PacketHeader<'a>,
    /// Its size.
    pub raw: Option<RawInfo>,
    /// The packet's frames.
    #[serde(borrow)]
    pub frames: Option<Vec<Frame<'a>>>,
    /// Of lost packets: that somebody has found it out from the trace.
    pub petra_inferred: Option<bool>,
}

/// Type and number of a packet.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct PacketHeader<'a> {
    /// `initial`, `handshake`, `0RTT`, `1RTT`, or one without a number.
    pub packet_type: &'a str,
    /// Counts in the space of the packet's type.
    pub packet_number: Option<u64>,
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct RawInfo {
    /// All of it.
    pub length: Option<u64>,
    /// Without headers.
    pub payload_length: Option<u64>,
}

/// The fields of frames that matter here.
#[derive(Debug, Deserialize)]
pub struct Frame<'a> {
    /// Such as `stream` or `ack`.
    pub frame_type: &'a str,
    /// The size of its payload.
    pub raw: Option<RawInfo>,
    /// The same, where qlog 0.3 has it.
    pub length: Option<u64>,
    /// Of frames that belong to a stream.
    pub stream_id: Option<u64>,
    /// Of stream data.
    pub offset: Option<u64>,
    /// Of frames that raise a limit.
    pub maximum: Option<u64>,
    /// Of acknowledgments.
    pub acked_ranges: Option<Vec<AckRange>>,
}

impl Packet<'_> {
    /// The ranges that it acknowledges.
    pub fn acked(&self) -> impl Iterator<Item = AckRange> + '_ {
        let frames = self.frames.iter().flatten();
        frames
            .filter_map(|frame| frame.acked_ranges.as_deref())
            .flatten()
            .copied()
    }
}

impl Frame<'_> {
    /// Bytes of stream data in the frame.
    pub fn data_length(&self) -> Option<u64> {
        self.length
            .or_else(|| self.raw.and_then(|raw| raw.payload_length))
    }
}

/// A packet number space, in which acknowledgments count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Space {
    Initial,
    Handshake,
    Application,
}

impl Space {
    /// Returns the packet number space of a packet type; `None` for packets without numbers.
    pub fn of(packet_type: &str) -> Option<Self> {
        match packet_type {
            "initial" => Some(Space::Initial),
            "handshake" => Some(Space::Handshake),
            "0RTT" | "1RTT" => Some(Space::Application),
            _ => None,
        }
    }
}

/// Packet numbers from `first` to `last`, both of them included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AckRange {
    pub first: u64,
    pub last: u64,
}

impl<'de> Deserialize<'de> for AckRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrTwo;

        impl<'de> Visitor<'de> for OneOrTwo {
            type Value = AckRange;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "one or two packet numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<AckRange, A::Error> {
                let first = seq
                    .next_element()?
                    .ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let last = seq.next_element()?.unwrap_or(first);
                if last < first {
                    return Err(A::Error::custom(
                        "a range of packet numbers ends before it begins",
                    ));
                }
                Ok(AckRange { first, last })
            }
        }

        deserializer.deserialize_seq(OneOrTwo)
    }
}

/// The fields of an object in their order, with the text of their values.
#[derive(Debug)]
pub struct Fields<'a>(pub Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    /// The text of a field's value.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(field, _)| *field == name);
        found.map(|(_, value)| *value)
    }

    /// A field that is a number. `u64::MAX` counts as absent: quiche writes it where there
    /// is nothing, such as no slow start threshold.
    pub fn number(&self, name: &str) -> Option<f64> {
        let number = serde_json::from_str(self.get(name)?).ok();
        number.filter(|number| *number < u64::MAX as f64)
    }

    /// A field that is a word.
    pub fn word(&self, name: &str) -> Option<&'a str> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// The congestion window in bytes, as text. Slim copies have it under the
    /// shorter of the two names that qvis reads.
    pub fn window(&self) -> Option<&'a str> {
        self.get("congestion_window").or_else(|| self.get("cwnd"))
    }

    /// Packets declared lost since the last such event, from quiche's own field, or from the flat
    /// one of a copy for qvis; `None` without either.
    pub fn newly_lost(&self) -> Option<u64> {
        self.lost_packets().map(|change| change.delta)
    }

    /// The same with the total of the connection.
    pub(crate) fn lost_packets(&self) -> Option<Change> {
        let number = |name| serde_json::from_str(self.get(name)?).ok();
        match self.get("cf_lost_packets") {
            Some(change) => serde_json::from_str(change).ok(),
            None => Some(Change {
                delta: number("cf_lost_packets_delta")?,
                total: number("cf_lost_packets_total").unwrap_or_default(),
            }),
        }
    }
}

/// A counter of quiche's with its increase.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Change {
    #[serde(default)]
    pub(crate) total: u64,
    pub(crate) delta: u64,
}

/// The object again.
impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("{")?;
        for (i, (name, value)) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}\"{name}\":{value}")?;
        }
        f.write_str("}")
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(12);
                while let Some((name, value)) = map.next_entry::<&str, &RawValue>()? {
                    fields.push((name, value.get()));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event, as both ways of reading have it.
    fn both(text: &str) -> [Option<(&str, &str, &str)>; 2] {
        let record = Record {
            number: 1,
            offset: 0,
            text: text.as_bytes(),
            last: false,
        };
        [Event::written(&record), Event::parse(&record)].map(|event| {
            let Event {
                time_text,
                name,
                data,
                ..
            } = event.ok()?;
            Some((time_text, name, data))
        })
    }

    #[test]
    fn an_event_of_quiche_is_not_parsed_and_reads_the_same() {
        let text = r#"{"time":1.5,"name":"quic:x","data":{"frames":[{"raw":{"length":3}}]}}"#;
        let outline = ("1.5", "quic:x", r#"{"frames":[{"raw":{"length":3}}]}"#);
        assert_eq!(outline_of_quiche(text), Some(outline));
        assert_eq!(both(text), [Some(outline); 2]);
    }

    #[test]
    fn an_event_of_another_form_is_parsed() {
        for text in [
            r#"{"name":"quic:x","time":1.5,"data":{}}"#,
            r#"{"time":1.5,"data":{},"name":"quic:x"}"#,
            r#"{ "time": 1.5, "name": "quic:x", "data": {} }"#,
        ] {
            assert_eq!(outline_of_quiche(text), None);
            assert_eq!(both(text), [Some(("1.5", "quic:x", "{}")); 2]);
        }
        assert_eq!(both(r#"{"time":"x","name":"quic:x","data":{}}"#), [None; 2]);
    }
}
