//! Whatever the bytes: an error or a result, and never a panic.

use super::read::read;
use super::replay::replay;
use super::sample::raw;
use proptest::prelude::*;

/// The header and some records of the real trace, from anywhere in it.
fn part(start: usize, count: usize) -> Vec<u8> {
    let raw = raw();
    let records: Vec<_> = raw.split_inclusive('\n').collect();
    let start = 1 + start % (records.len() - 1);
    let part = records[start..].iter().take(count);
    let text: String = records[..1].iter().chain(part).copied().collect();
    text.into_bytes()
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Change {
    Byte(usize, u8),
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Number(usize, u64),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        any::<usize>().prop_map(Change::Cut),
        (any::<usize>(), 1..200_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<usize>(), 1..2000_usize).prop_map(|(at, count)| Change::Repeat(at, count)),
        (any::<usize>(), any::<u64>()).prop_map(|(at, number)| Change::Number(at, number)),
    ]
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: usize| at % bytes.len().max(1);
        match *self {
            _ if bytes.is_empty() => {}
            Change::Byte(at, byte) => {
                let at = place(at);
                bytes[at] = byte;
            }
            Change::Cut(at) => bytes.truncate(place(at)),
            Change::Remove(at, count) => {
                let at = place(at);
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end);
            }
            Change::Repeat(at, count) => {
                let at = place(at);
                let end = (at + count).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(end..end, part);
            }
            // The next number becomes another: valid JSON, and nonsense.
            Change::Number(at, number) => {
                let at = place(at);
                let digit = |byte: &u8| byte.is_ascii_digit();
                let Some(start) = bytes[at..].iter().position(digit) else {
                    return;
                };
                let start = at + start;
                let count = bytes[start..].iter().take_while(|byte| digit(byte)).count();
                bytes.splice(start..start + count, number.to_string().into_bytes());
            }
        }
    }
}

#[test]
fn a_trace_that_counts_more_losses_than_packets_is_read_to_its_end() {
    let raw = raw();
    let (before, count) = raw.split_once("\"delta\":").unwrap();
    let rest = count.trim_start_matches(|digit: char| digit.is_ascii_digit());
    read(format!("{before}\"delta\":{}{rest}", u64::MAX).as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
    }

    #[test]
    fn arbitrary_records(records in prop::collection::vec("\\PC{0,60}", 0..20)) {
        let mut bytes = part(0, 2);
        for record in records {
            bytes.push(0x1e);
            bytes.extend_from_slice(record.as_bytes());
        }
        read(&bytes);
    }

    #[test]
    fn changed_traces(
        start in any::<usize>(),
        count in 1..60_usize,
        changes in prop::collection::vec(change(), 0..6),
    ) {
        let mut bytes = part(start, count);
        for change in &changes {
            change.apply(&mut bytes);
        }
        read(&bytes);
    }
}

#[test]
fn inputs_of_the_fuzz_target() {
    replay("qlog", 20, read);
}
