//! Measures the time and the memory to rewrite a trace of 300 MB for qvis.
//!
//! The trace repeats a real one, with increasing times, packet numbers, ranges and offsets. `cargo
//! bench -p petra-qlog` prints the figures. The memory is the process's peak, as Linux reports it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::time::Instant;

use flate2::read::GzDecoder;
use petra_qlog::qvis::{fit, rewrite, Detail, Size};

/// Bytes of the trace.
const SIZE: u64 = 300_000_000;

/// Size limit of slim copies.
const BUDGET: Size = Size {
    bytes: 20_000_000,
    packets: u64::MAX,
};

/// Increments of fields from one repetition to the next, in the fields' units.
const STEPS: [(&str, u64); 4] = [
    ("\"time\":", 2_000),
    ("\"packet_number\":", 1_000),
    ("\"offset\":", 1_000_000),
    ("\"send_at_time\":", 2_000),
];

fn main() -> io::Result<()> {
    let mut trace = tempfile::tempfile()?;
    let size = write(&mut trace)?;
    let mut output = tempfile::tempfile()?;
    let mut scratch = tempfile::tempfile()?;

    measure("copy", size, &mut trace, |trace| {
        let summary = rewrite(trace, &mut output, &Detail::All).map_err(io::Error::other)?;
        Ok(summary.size.bytes)
    })?;
    output.rewind()?;
    output.set_len(0)?;
    measure("slim copy", size, &mut trace, |trace| {
        let fit = fit(trace, BUDGET, &mut scratch, &mut output).map_err(io::Error::other)?;
        Ok(fit.summary.size.bytes)
    })
}

fn measure(
    what: &str,
    size: u64,
    trace: &mut File,
    run: impl FnOnce(&File) -> io::Result<u64>,
) -> io::Result<()> {
    trace.rewind()?;
    // From here on the peak counts.
    fs::write("/proc/self/clear_refs", "5")?;
    let (start, busy) = (Instant::now(), processor_time()?);
    let written = run(trace)?;
    let seconds = start.elapsed().as_secs_f64();
    let busy = processor_time()? - busy;
    let megabytes = size as f64 / 1e6;
    println!(
        "{what}: {megabytes:.0} MB to {:.1} MB in {seconds:.2} s, {busy:.2} s of them on a core: \
         {:.0} MB/s, {:.0} MB/s of the core; peak memory {:.1} MB",
        written as f64 / 1e6,
        megabytes / seconds,
        megabytes / busy,
        peak_memory()? / 1e6
    );
    Ok(())
}

/// Seconds that the process has been on a core: what a machine with other work
/// does not distort.
fn processor_time() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may have blanks, the 12th and 13th field, in 1/100 s.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

fn peak_memory() -> io::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    let kibibytes = kibibytes.ok_or_else(|| io::Error::other("/proc has no peak memory"))?;
    Ok(kibibytes * 1024.0)
}

/// Writes the trace; returns how long it is.
fn write(file: &mut File) -> io::Result<u64> {
    let packed = include_bytes!("../tests/traces/server.sqlog.gz");
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text)?;
    let mut out = BufWriter::new(file);
    let mut written = 0;
    for repetition in 0.. {
        for record in text.split_inclusive('\n') {
            // A connection begins once.
            let begins = [
                "\"file_schema\"",
                "\"initial\"",
                "\"handshake\"",
                "parameters_set",
            ];
            if repetition > 0 && begins.iter().any(|word| record.contains(word)) {
                continue;
            }
            let record = later(record, repetition);
            out.write_all(record.as_bytes())?;
            written += record.len() as u64;
        }
        if written >= SIZE {
            break;
        }
    }
    out.flush()?;
    Ok(written)
}

/// The record as it would be a number of repetitions later.
fn later(record: &str, repetition: u64) -> String {
    let mut record = record.to_owned();
    for (field, step) in STEPS {
        let mut done = 0;
        while let Some(found) = record[done..].find(field) {
            let start = done + found + field.len();
            done = add(&mut record, start, repetition * step);
        }
    }
    if let Some(found) = record.find("\"acked_ranges\":[") {
        let mut at = found;
        let end = |record: &str| found + record[found..].find("]]").unwrap_or_default();
        while let Some(digit) = record[at..end(&record)].find(|c: char| c.is_ascii_digit()) {
            let start = at + digit;
            at = add(&mut record, start, repetition * 1_000);
        }
    }
    record
}

/// Adds to the whole part of the number that begins there; returns its end.
fn add(record: &mut String, start: usize, more: u64) -> usize {
    let digits = record[start..].find(|c: char| !c.is_ascii_digit());
    let end = start + digits.unwrap_or(record.len() - start);
    let number: u64 = record[start..end].parse().unwrap_or_default();
    let sum = (number + more).to_string();
    record.replace_range(start..end, &sum);
    start + sum.len()
}
