//! s2n-quic's simulator on the transfer of `cargo bench -p petra-lab --bench sim`:
//! one body to a client 45 ms away over a bottleneck of 50 Mbit/s with a queue of
//! one BDP, without loss. Prints what it moves in a second of CPU time.
//!
//!     cargo run --release --manifest-path lab/peers/s2n-quic/Cargo.toml
//!
//! This is the engine of s2n-quic-sim, `provider::io::testing`, which the registry
//! has; s2n-quic-sim itself it has not. Its network knows no rate. What comes
//! closest is to let each packet beyond a BDP in flight take the bottleneck's time
//! for a packet more, as in a queue. There is no HTTP/3 in it.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::io::testing::{primary, spawn, test, Model};
use s2n_quic::{Client, Server};

/// Bytes of the body: what 50 Mbit/s carry in some 100 s.
const BODY: usize = 580_000_000;
/// Bits per second.
const RATE: f64 = 50e6;
/// Each way.
const DELAY: Duration = Duration::from_millis(45);
/// Bytes of UDP payload.
const DATAGRAM: u16 = 1350;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (certificate, key) = (identity.cert.pem(), identity.signing_key.serialize_pem());
    let packet = f64::from(DATAGRAM + 28) * 8.0 / RATE;
    let bdp = (2.0 * DELAY.as_secs_f64() / packet) as u64;
    let network = Model::default();
    network
        .set_delay(DELAY)
        .set_max_udp_payload(DATAGRAM)
        .set_inflight_delay_threshold(bdp)
        .set_inflight_delay(Duration::from_secs_f64(packet))
        .set_max_inflight(2 * bdp);

    let start = cpu_time();
    let simulated = test(network, |handle| {
        let mut server = Server::builder()
            .with_io(handle.builder().build()?)?
            .with_tls((certificate.as_str(), key.as_str()))?
            .start()?;
        let address = server.local_addr()?;
        spawn(async move {
            while let Some(mut connection) = server.accept().await {
                while let Ok(Some(mut stream)) = connection.accept_bidirectional_stream().await {
                    let body = Bytes::from(vec![0; 1 << 16]);
                    let mut left = BODY;
                    while left > 0 {
                        let part = body.slice(..body.len().min(left));
                        left -= part.len();
                        stream.send(part).await.expect("the body is sent");
                    }
                    stream.finish().expect("the body ends");
                }
            }
        });
        let client = Client::builder()
            .with_io(handle.builder().build()?)?
            .with_tls(certificate.as_str())?
            .start()?;
        primary::spawn(async move {
            let server = Connect::new(address).with_server_name("localhost");
            let mut connection = client.connect(server).await.expect("a connection");
            let mut stream = connection.open_bidirectional_stream().await.expect("a stream");
            stream.send("GET".into()).await.expect("a request");
            let mut received = 0;
            while let Some(part) = stream.receive().await.expect("the body comes") {
                received += part.len();
            }
            assert_eq!(received, BODY);
        });
        Ok::<_, Box<dyn Error>>(())
    })?;
    let cpu = cpu_time() - start;
    println!(
        "{:.0} MB of payload per CPU second; {:.1} virtual seconds, {:.1} Mbit/s",
        BODY as f64 / 1e6 / cpu,
        simulated.as_secs_f64(),
        BODY as f64 * 8e-6 / simulated.as_secs_f64()
    );
    Ok(())
}

/// CPU seconds of this thread.
fn cpu_time() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    let time = time.expect("a thread has a clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
