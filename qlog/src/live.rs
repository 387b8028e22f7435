//! A copy for qvis that is written while the trace is.

use std::io::{self, Seek, Write};

use memchr::memchr;

use crate::qvis::{Copy, Detail, Summary};
use crate::records::SEPARATOR;
use crate::{Error, Event, Header, Record, MAX_RECORD_BYTES};

/// Takes what quiche writes and writes the copy for qvis. Not all is parsed: if a record is not
/// JSON, the copy may contain it.
///
/// After an error every write fails.
pub struct Live<W: Write + Seek> {
    state: State<W>,
    /// The record that is being written, with its separator.
    record: Vec<u8>,
    number: u64,
    offset: u64,
}

enum State<W: Write + Seek> {
    /// There is no header yet.
    Begin(W),
    Copy(Box<Copy<W>>),
    Failed,
}

impl<W: Write + Seek> Live<W> {
    /// Writes nothing yet.
    pub fn new(output: W) -> Self {
        Live {
            state: State::Begin(output),
            record: Vec::new(),
            number: 0,
            offset: 0,
        }
    }

    /// Completes the copy. A record that is not whole is left out.
    ///
    /// # Errors
    ///
    /// When the output cannot be written, or there was an error before; and when
    /// there is not even a header.
    pub fn finish(mut self) -> Result<Summary, Error> {
        let whole = self.record.ends_with(b"\n");
        if whole {
            self.take()?;
        }
        match self.state {
            State::Copy(copy) => copy.finish(),
            State::Begin(_) => Err(Error::Empty),
            State::Failed => Err(Error::Write(io::Error::other("it failed before"))),
        }
    }

    /// Passes on the record that has come to its end.
    fn take(&mut self) -> Result<(), Error> {
        let text = self.record.get(1..).unwrap_or_default().trim_ascii();
        let record = Record {
            number: self.number + 1,
            offset: self.offset,
            text,
            last: false,
        };
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            state if text.is_empty() => state,
            State::Begin(output) => {
                let header = Header::parse(record.utf8()?)?;
                State::Copy(Box::new(Copy::new(output, &header, &Detail::All)?))
            }
            State::Copy(mut copy) => {
                // An event that is not as quiche writes it is parsed as a whole.
                match copy.write(&Event::written(&record)?) {
                    Err(Error::Corrupt { .. }) => copy.write(&Event::parse(&record)?)?,
                    result => result?,
                }
                State::Copy(copy)
            }
            State::Failed => State::Failed,
        };
        self.number += u64::from(!text.is_empty());
        self.offset += self.record.len() as u64;
        self.record.clear();
        Ok(())
    }
}

impl<W: Write + Seek> Write for Live<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.state, State::Failed) {
            return Err(io::Error::other("the copy for qvis failed before"));
        }
        let mut rest = bytes;
        while let Some(end) = memchr(SEPARATOR, rest) {
            self.record.extend_from_slice(&rest[..end]);
            self.take().map_err(io::Error::other)?;
            self.record.push(SEPARATOR);
            rest = &rest[end + 1..];
        }
        self.record.extend_from_slice(rest);
        if self.record.len() > MAX_RECORD_BYTES {
            self.state = State::Failed;
            let (record, offset) = (self.number + 1, self.offset);
            return Err(io::Error::other(Error::TooLong { record, offset }));
        }
        Ok(bytes.len())
    }

    /// Records are passed on when they are whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
