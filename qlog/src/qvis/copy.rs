//! A trace for qvis that is written event by event.

use std::collections::HashSet;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use super::rewriter::Rewriter;
use super::slim::Slim;
use super::{Detail, Size, Summary};
use crate::{End, Error, Event, Header, Space};

/// Placeholder in the header until the end of the trace has been read, padded with blanks to the
/// length of the final value.
const NOT_YET: &str = "\"unknown\"            ";

/// A trace for qvis that is being written.
pub struct Copy<W: Write + Seek> {
    output: BufWriter<W>,
    rewriter: Rewriter,
    /// Text of the present event.
    text: Vec<u8>,
    written: u64,
    /// Offset in the header at which the source of the losses is written.
    verdict: u64,
    events: u64,
}

impl<W: Write + Seek> Copy<W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// When the output cannot be written.
    pub fn new(output: W, header: &Header, detail: &Detail) -> Result<Self, Error> {
        let slim = match detail {
            Detail::All => None,
            Detail::Drawn => Some(Slim::default()),
        };
        Self::with(output, header, slim)
    }

    pub(super) fn with(output: W, header: &Header, slim: Option<Slim>) -> Result<Self, Error> {
        let mut copy = Copy {
            output: BufWriter::with_capacity(1 << 16, output),
            rewriter: Rewriter::new(slim, !header.is_for_qvis()),
            text: Vec::new(),
            written: 0,
            verdict: 0,
            events: 0,
        };
        let header = header.for_qvis(NOT_YET);
        write_record(&mut copy.text, format_args!("{header}"));
        copy.verdict = (copy.text.len() - NOT_YET.len() - "}\n".len()) as u64;
        copy.pass_on()?;
        Ok(copy)
    }

    /// Writes what becomes of an event.
    ///
    /// # Errors
    ///
    /// When the event is not what its name says, and when the output cannot be
    /// written.
    pub fn write(&mut self, event: &Event) -> Result<(), Error> {
        self.rewriter.event(event, &mut self.text)?;
        self.events += 1;
        self.pass_on()
    }

    /// The size of the output so far.
    pub(super) fn size(&self) -> Size {
        Size {
            bytes: self.written,
            packets: self.rewriter.packets(),
        }
    }

    /// Completes the output.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn finish(self) -> Result<Summary, Error> {
        Ok(self.finish_slim()?.0)
    }

    /// Completes the output; says also which packets were lost.
    pub(super) fn finish_slim(mut self) -> Result<(Summary, HashSet<(Space, u64)>), Error> {
        let lost = self.rewriter.finish(&mut self.text);
        self.pass_on()?;
        let losses = &self.rewriter.losses;
        let summary = Summary {
            events: self.events,
            size: self.size(),
            logged: losses.logged,
            inferred: losses.inferred,
            counted: losses.counted,
            end: End::default(),
        };
        let source = format!("\"{}\"", summary.losses().as_str());
        let width = NOT_YET.len();
        self.output
            .seek(SeekFrom::Start(self.verdict))
            .and_then(|_| write!(self.output, "{source:width$}"))
            .and_then(|()| self.output.flush())
            .map_err(Error::Write)?;
        Ok((summary, lost))
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        self.output.write_all(&self.text).map_err(Error::Write)?;
        self.written += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }
}

pub(super) fn write_record(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    // To a Vec it cannot fail.
    let _ = out.write_fmt(format_args!("\u{1e}{text}\n"));
}
