//! `stacks-endpoint STACK server CONTROLLER ADDRESS CERT KEY` sends without end to each client, and
//! `stacks-endpoint STACK client ADDRESS CA SECONDS` prints its goodput as JSON.
//!
//! `interop/run stacks` measures the three stacks with it over a link in real time. All settings
//! are those of the stack, but for a fixed datagram size: that of the server on quiche.

mod quinn_and_noq;
mod s2n;

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use quinn_and_noq::{noq, quinn};

/// Bytes of a datagram.
const DATAGRAM: u16 = 1_350;

/// Bytes that a server passes to its stack at a time.
const CHUNK: usize = 65_536;

/// The server's name in its certificate.
const NAME: &str = "server";

/// The bytes that a client has read.
struct Download {
    started: Instant,
    end: tokio::time::Instant,
    bytes: u64,
}

impl Download {
    /// Begins when the connection is established, as an HTTP/3 client's does with its request.
    fn begin(time: Duration) -> Self {
        Self {
            started: Instant::now(),
            end: tokio::time::Instant::now() + time,
            bytes: 0,
        }
    }

    /// Waits for the next bytes, and for the first ones however long. `None`: the time is over.
    async fn next<T>(&self, read: impl Future<Output = T>) -> Option<T> {
        if self.bytes == 0 {
            return Some(read.await);
        }
        tokio::time::timeout_at(self.end, read).await.ok()
    }

    fn print(&self) {
        let goodput = self.bytes as f64 * 8.0 / self.started.elapsed().as_secs_f64();
        println!("{{\"goodput_bps\": {goodput:.0}}}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [stack, "server", controller, address, cert, key] => {
            let address = parsed(address)?;
            match stack {
                "quinn" => quinn::serve(controller, address, cert, key).await,
                "noq" => noq::serve(controller, address, cert, key).await,
                "s2n-quic" => s2n::serve(controller, address, cert, key).await,
                _ => unknown(stack),
            }
        }
        [stack, "client", address, ca, seconds] => {
            let (address, time) = (
                parsed(address)?,
                Duration::try_from_secs_f64(seconds.parse()?)?,
            );
            let download = match stack {
                "quinn" => quinn::fetch(address, ca, time).await?,
                "noq" => noq::fetch(address, ca, time).await?,
                "s2n-quic" => s2n::fetch(address, ca, time).await?,
                _ => return unknown(stack),
            };
            download.print();
            Ok(())
        }
        _ => bail!(
            "arguments: invalid (got {arguments:?}); expected STACK server CONTROLLER ADDRESS \
             CERT KEY, or STACK client ADDRESS CA SECONDS"
        ),
    }
}

fn parsed(address: &str) -> Result<SocketAddr> {
    let invalid = || format!("address: invalid (got {address:?}); expected IP:PORT");
    address.parse().with_context(invalid)
}

fn unknown(stack: &str) -> Result<()> {
    bail!("stack: unknown name (got {stack:?}); expected quinn, noq or s2n-quic")
}
