//! A transfer over time, as the server's qlog and the bottleneck have it.

use std::io::Read;
use std::time::Duration;

use anyhow::Result;
use petra_qlog::{Event, Fields, Kind, Packet, Trace};

use crate::sim::Sample;

/// Samples the traces of a transfer, the server's and the client's. `backlog` is
/// what waited at the bottleneck, in milliseconds at seconds, and `capacity` the
/// rate of the link in bits per second. All three count time from their own
/// beginnings, which are some hundredths of a second apart.
///
/// # Errors
///
/// A trace that cannot be read.
pub(super) fn samples(
    [server, client]: [impl Read; 2],
    every: Duration,
    backlog: &[(f64, f64)],
    capacity: Option<f64>,
) -> Result<Vec<Sample>> {
    let body = received(client)?;
    let mut body = body.into_iter().peekable();
    let mut trace = Trace::open(server)?;
    let (mut samples, mut state) = (Vec::new(), State::default());
    let every = every.as_secs_f64();
    let (mut start, mut due) = (None, every);
    let mut backlog = backlog.iter().copied().peekable();
    while let Some(event) = trace.next_event()? {
        let now = event.time / 1e3;
        let time = now - *start.get_or_insert(now);
        while due <= time {
            while let Some((_, queue)) = backlog.next_if(|(at, _)| *at <= due) {
                state.queue = queue;
            }
            while let Some((_, bytes)) = body.next_if(|(at, _)| *at <= due) {
                state.received = bytes;
            }
            // Before the first metrics there is nothing to say.
            samples.extend((state.cwnd > 0).then(|| state.sample(due, capacity)));
            due += every;
        }
        state.take(&event)?;
    }
    Ok(samples)
}

/// What was last heard of everything.
#[derive(Default)]
struct State {
    cwnd: usize,
    ssthresh: Option<usize>,
    in_flight: usize,
    pacing_rate: Option<u64>,
    estimate: Option<u64>,
    /// In milliseconds, once there has been a sample.
    rtt: Option<f64>,
    received: u64,
    queue: f64,
}

impl State {
    fn take(&mut self, event: &Event) -> Result<()> {
        if event.kind != Kind::Metrics {
            return Ok(());
        }
        let metrics: Fields = event.read()?;
        let number = |name: &str| metrics.number(name);
        if let Some(window) = metrics.window().and_then(|text| text.parse().ok()) {
            self.cwnd = window;
        }
        if let Some(bytes) = number("bytes_in_flight") {
            self.in_flight = bytes as usize;
        }
        // Before there is a latest one, the smoothed is RFC 9002's initial RTT.
        let measured = number("latest_rtt").is_some_and(|rtt| rtt > 0.0);
        if measured || self.rtt.is_some() {
            self.rtt = number("smoothed_rtt").or(self.rtt);
        }
        if let Some(bytes) = number("ssthresh") {
            self.ssthresh = Some(bytes as usize);
        }
        // Both are bytes per second.
        if let Some(rate) = number("pacing_rate") {
            self.pacing_rate = Some(8 * rate as u64);
        }
        if let Some(rate) = number("petra_bandwidth_estimate") {
            self.estimate = Some(8 * rate as u64);
        }
        Ok(())
    }

    fn sample(&self, time: f64, capacity: Option<f64>) -> Sample {
        Sample {
            time,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            in_flight: self.in_flight,
            pacing_rate: self.pacing_rate,
            estimate: self.estimate,
            rtt: self.rtt,
            body_bytes: self.received,
            queue: self.queue,
            capacity,
            ..Sample::default()
        }
    }
}

/// Bytes of streams that have come to the client, at seconds.
fn received(trace: impl Read) -> Result<Vec<(f64, u64)>> {
    let mut trace = Trace::open(trace)?;
    let (mut received, mut bytes, mut start) = (Vec::new(), 0, None);
    while let Some(event) = trace.next_event()? {
        let now = event.time / 1e3;
        let time = now - *start.get_or_insert(now);
        if event.kind == Kind::Received {
            let packet: Packet = event.read()?;
            let frames = packet.frames.iter().flatten();
            let streams = frames.filter(|frame| frame.frame_type == "stream");
            bytes += streams.filter_map(|it| it.data_length()).sum::<u64>();
            received.push((time, bytes));
        }
    }
    Ok(received)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: &[(f64, &str, &str)]) -> Vec<u8> {
        let mut log = "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
             \"serialization_format\":\"JSON-SEQ\",\"trace\":{}}\n"
            .to_owned();
        for (time, name, data) in events {
            log += &format!("\u{1e}{{\"time\":{time},\"name\":\"quic:{name}\",\"data\":{data}}}\n");
        }
        log.into_bytes()
    }

    #[test]
    fn a_sample_has_what_was_last_heard() {
        let metrics = "recovery_metrics_updated";
        let server = log(&[
            (
                5.0,
                metrics,
                r#"{"congestion_window":13500,"smoothed_rtt":333,"ssthresh":18446744073709551615}"#,
            ),
            (
                12.0,
                metrics,
                r#"{"bytes_in_flight":2700,"pacing_rate":1000}"#,
            ),
            (21.0, metrics, r#"{"latest_rtt":40,"smoothed_rtt":40}"#),
            (
                31.0,
                metrics,
                r#"{"congestion_window":27000,"ssthresh":20000}"#,
            ),
        ]);
        let packet = r#"{"header":{"packet_type":"1RTT"},"frames":
            [{"frame_type":"stream","stream_id":0,"raw":{"payload_length":1000}}]}"#;
        let packet = packet.replace('\n', "");
        let client = log(&[
            (3.0, "packet_received", &packet),
            (18.0, "packet_received", &packet),
        ]);
        let every = Duration::from_millis(10);
        let backlog = [(0.0, 1.5), (0.015, 2.5)];
        let traces = [&server[..], &client[..]];
        let samples = samples(traces, every, &backlog, Some(2e6)).unwrap();
        let [one, two] = &samples[..] else {
            panic!("{samples:?}");
        };
        assert_eq!((one.time, one.cwnd, one.in_flight), (0.01, 13500, 2700));
        assert_eq!((one.rtt, one.queue, one.body_bytes), (None, 1.5, 1000));
        assert_eq!((one.pacing_rate, one.estimate), (Some(8000), None));
        assert_eq!((two.queue, two.body_bytes, two.ssthresh), (2.5, 2000, None));
        assert_eq!(two.rtt, Some(40.0));
        assert_eq!(two.capacity, Some(2e6));
    }
}
