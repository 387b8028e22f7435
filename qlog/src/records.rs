//! JSON text sequences (RFC 7464), taken apart as a stream.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use memchr::memchr;

use crate::Error;

/// Separator before each record.
pub(crate) const SEPARATOR: u8 = 0x1e;

/// The longest record that is read, in bytes. quiche's are below 100 kB even
/// with the payloads in them; the bound is what keeps arbitrary bytes from
/// filling the memory.
pub const MAX_RECORD_BYTES: usize = 1 << 22;

/// Initial size of the buffer in bytes.
const CHUNK: usize = 1 << 18;

/// The records of a sequence.
pub struct Records<R> {
    input: R,
    buffer: Vec<u8>,
    /// Data that has been read and not returned; begins with a separator.
    unread: Range<usize>,
    ended: bool,
    cut: bool,
    /// Offset of `unread` in the input.
    offset: u64,
    number: u64,
}

/// The text of a record and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<'a> {
    /// Counts from 1.
    pub number: u64,
    /// Offset of the record, in bytes of the decompressed sequence.
    pub offset: u64,
    /// Text between the separators, without surrounding blanks.
    pub text: &'a [u8],
    /// No other record follows, so this one may not be whole.
    pub last: bool,
}

impl<'a> Record<'a> {
    pub(crate) fn utf8(&self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.text).map_err(|error| self.wrong(&error))
    }

    pub(crate) fn wrong(&self, reason: &dyn fmt::Display) -> Error {
        Error::Corrupt {
            record: self.number,
            offset: self.offset,
            reason: reason.to_string(),
        }
    }
}

impl<R: Read> Records<R> {
    /// Reads nothing yet.
    pub fn new(input: R) -> Self {
        Records {
            input,
            buffer: vec![0; CHUNK],
            unread: 0..0,
            ended: false,
            cut: false,
            offset: 0,
            number: 0,
        }
    }

    /// The next record that is not blank.
    ///
    /// # Errors
    ///
    /// When the sequence does not begin with a separator, when a record is too
    /// long, and when the input says so.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        let (place, offset) = loop {
            let offset = self.offset;
            let Some(place) = self.advance()? else {
                return Ok(None);
            };
            if !self.buffer[place.clone()].trim_ascii().is_empty() {
                break (place, offset);
            }
        };
        self.number += 1;
        Ok(Some(Record {
            number: self.number,
            offset,
            text: self.buffer[place].trim_ascii(),
            last: self.unread.is_empty() && self.ended,
        }))
    }

    /// The input ended before it should: it was compressed, and the end of that
    /// is missing.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// Returns the range of the next record in the buffer, without its separator.
    fn advance(&mut self) -> Result<Option<Range<usize>>, Error> {
        if self.unread.is_empty() && !self.fill()? {
            return Ok(None);
        }
        if self.buffer[self.unread.start] != SEPARATOR {
            return Err(self.no_beginning());
        }
        let mut searched = 1;
        let length = loop {
            let rest = &self.buffer[self.unread.start + searched..self.unread.end];
            if let Some(more) = memchr(SEPARATOR, rest) {
                break searched + more;
            }
            searched = self.unread.len();
            if searched > MAX_RECORD_BYTES {
                return Err(Error::TooLong {
                    record: self.number + 1,
                    offset: self.offset,
                });
            }
            if !self.fill()? {
                break searched;
            }
        };
        let start = self.unread.start;
        self.unread.start += length;
        self.offset += length as u64;
        Ok(Some(start + 1..start + length))
    }

    /// Only the first record can lack a separator: another ends with the next.
    fn no_beginning(&self) -> Error {
        let unread = &self.buffer[self.unread.clone()];
        if unread.trim_ascii().is_empty() && self.ended {
            Error::Empty
        } else {
            Error::NotSequence
        }
    }

    /// Reads more; false at the end. Moves what is unread to the front.
    fn fill(&mut self) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.buffer.len() - self.unread.end < CHUNK / 2 {
            let larger = (self.buffer.len() * 2).min(MAX_RECORD_BYTES + CHUNK);
            self.buffer.resize(larger, 0);
        }
        let room = &mut self.buffer[self.unread.end..];
        let count = loop {
            match self.input.read(room) {
                Ok(count) => break count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    self.cut = true;
                    break 0;
                }
                Err(source) => {
                    return Err(Error::Read {
                        after: self.number,
                        source,
                    })
                }
            }
        };
        self.unread.end += count;
        self.ended = count == 0;
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(room.len()).min(1);
            self.0.read(&mut room[..count])
        }
    }

    fn all(input: impl Read) -> Result<Vec<(u64, String, bool)>, Error> {
        let mut records = Records::new(input);
        let mut all = Vec::new();
        while let Some(record) = records.next_record()? {
            let text = String::from_utf8(record.text.to_vec()).unwrap();
            all.push((record.offset, text, record.last));
        }
        Ok(all)
    }

    #[test]
    fn records_come_with_their_place_however_they_are_read() {
        let text = b"\x1eone\n\x1e\n\x1e\x1etwo \n\x1ethree";
        let expected = [(0, "one", false), (8, "two", false), (14, "three", true)];
        let expected = expected.map(|(offset, text, last)| (offset, text.to_owned(), last));
        assert_eq!(all(&text[..]).unwrap(), expected);
        assert_eq!(all(Trickle(text)).unwrap(), expected);
    }

    #[test]
    fn what_is_no_sequence_is_said() {
        assert!(matches!(all(&b"{}"[..]), Err(Error::NotSequence)));
        assert!(all(&b""[..]).unwrap().is_empty());
    }

    #[test]
    fn a_record_without_end_is_refused_and_not_kept() {
        let endless = io::Cursor::new(b"\x1e").chain(io::repeat(b'x'));
        let mut records = Records::new(endless);
        assert!(matches!(
            records.next_record(),
            Err(Error::TooLong {
                record: 1,
                offset: 0
            })
        ));
        assert!(records.buffer.len() <= MAX_RECORD_BYTES + CHUNK);
    }

    #[test]
    fn an_input_that_fails_is_an_error_and_one_that_is_cut_ends() {
        struct Failing(io::ErrorKind);
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
        }
        let start = || io::Cursor::new(b"\x1eone\n\x1etw");
        let mut records = Records::new(start().chain(Failing(io::ErrorKind::InvalidData)));
        assert!(records.next_record().unwrap().is_some());
        let error = records.next_record().unwrap_err();
        assert!(matches!(error, Error::Read { after: 1, .. }), "{error}");

        let mut records = Records::new(start().chain(Failing(io::ErrorKind::UnexpectedEof)));
        assert!(!records.next_record().unwrap().unwrap().last);
        assert!(records.next_record().unwrap().unwrap().last);
        assert!(records.next_record().unwrap().is_none());
        assert!(records.cut());
    }
}
