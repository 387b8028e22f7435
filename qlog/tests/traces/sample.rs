//! A real trace: of a server on quiche 0.30.0 with the series, with `petra` on
//! 3 Mbit/s and 90 ms with 2 % loss, for 2 s. It was made by
//! `petra-lab sim --cc petra --rate 3mbit --loss 2% --duration 2s --qlog --out DIR`.

use std::io::{Cursor, Read};
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use petra_qlog::qvis::{rewrite, Detail, Summary};
use petra_qlog::{Error, Fields, Kind, Packet, Trace};

/// The trace as quiche wrote it.
pub(crate) fn raw() -> String {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = String::new();
        let mut packed = GzDecoder::new(&include_bytes!("server.sqlog.gz")[..]);
        packed.read_to_string(&mut text).unwrap();
        text
    });
    TEXT.clone()
}

/// The same from a quiche that does not log lost packets.
pub(crate) fn stock() -> String {
    let records = raw();
    let records = records.split_inclusive('\n');
    records
        .filter(|record| !record.contains("\"quic:packet_lost\""))
        .collect()
}

/// A trace rewritten for qvis.
pub(crate) fn copy(raw: &str, detail: &Detail) -> Result<(String, Summary), Error> {
    let mut output = Cursor::new(Vec::new());
    let summary = rewrite(raw.as_bytes(), &mut output, detail)?;
    Ok((String::from_utf8(output.into_inner()).unwrap(), summary))
}

/// What a trace says, in the order in which it does.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Contents {
    pub(crate) sent: Vec<(String, u64)>,
    pub(crate) sent_bytes: u64,
    pub(crate) acked: Vec<(String, u64)>,
    pub(crate) lost: Vec<(String, u64)>,
    pub(crate) windows: Vec<String>,
}

impl Contents {
    pub(crate) fn of(text: &str) -> Self {
        let mut trace = Trace::open(text.as_bytes()).unwrap();
        let mut contents = Contents::default();
        while let Some(event) = trace.next_event().unwrap() {
            match event.kind {
                Kind::Metrics => {
                    let metrics: Fields = event.read().unwrap();
                    contents.windows.extend(metrics.window().map(str::to_owned));
                }
                Kind::Sent | Kind::Received | Kind::Lost => {
                    let packet: Packet = event.read().unwrap();
                    let kind = packet.header.packet_type.to_owned();
                    let number = packet.header.packet_number.unwrap();
                    match event.kind {
                        Kind::Sent => {
                            contents.sent_bytes += packet.raw.unwrap().length.unwrap();
                            contents.sent.push((kind, number));
                        }
                        Kind::Lost => contents.lost.push((kind, number)),
                        _ => {
                            for range in packet.acked() {
                                let numbers = range.first..=range.last;
                                contents.acked.extend(numbers.map(|n| (kind.clone(), n)));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        contents
    }

    /// How many of the packets that were sent have an acknowledgment or a loss.
    pub(crate) fn settled(&self) -> usize {
        let settled =
            |packet: &&(String, u64)| self.acked.contains(packet) || self.lost.contains(packet);
        self.sent.iter().filter(settled).count()
    }
}
