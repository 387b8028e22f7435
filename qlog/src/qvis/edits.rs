//! Changes of a record that leave the rest of it as it is.

use std::fmt::Write as _;
use std::ops::Range;

/// Changes of a text, by the place in it.
#[derive(Default)]
pub(super) struct Edits {
    /// For each edit: offset, bytes to remove, and the range of `text` to insert.
    edits: Vec<(usize, usize, Range<usize>)>,
    text: String,
}

impl Edits {
    pub(super) fn clear(&mut self) {
        self.edits.clear();
        self.text.clear();
    }

    pub(super) fn replace(&mut self, at: usize, length: usize, instead: &str) {
        let start = self.text.len();
        self.text.push_str(instead);
        self.edits.push((at, length, start..self.text.len()));
    }

    pub(super) fn insert(&mut self, at: usize, what: std::fmt::Arguments) {
        let start = self.text.len();
        // To a String it cannot fail.
        let _ = self.text.write_fmt(what);
        self.edits.push((at, 0, start..self.text.len()));
    }

    /// Writes the record that the text becomes.
    pub(super) fn apply(&mut self, text: &str, out: &mut Vec<u8>) {
        self.edits.sort_unstable_by_key(|(at, ..)| *at);
        out.push(0x1e);
        let text = text.as_bytes();
        let mut done = 0;
        for (at, length, instead) in &self.edits {
            out.extend_from_slice(&text[done..*at]);
            out.extend_from_slice(self.text[instead.clone()].as_bytes());
            done = at + length;
        }
        out.extend_from_slice(&text[done..]);
        out.push(b'\n');
    }
}
