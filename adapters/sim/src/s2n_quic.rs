//! s2n-quic on its network for tests, in which a task per packet is the link.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{anyhow, Context, Result};
use petra_s2n_quic::controller;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{self, Bbr, Cubic};
use s2n_quic::provider::io::testing::network::{Buffers, Packet};
use s2n_quic::provider::io::testing::{primary, spawn, test_seed, time, Handle, Network};
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server};
use s2n_quic_core::inet::ExplicitCongestionNotification;

use super::link::{Bottleneck, Queueing};
use super::{identity, Link, Outcome, DATAGRAM};

/// The MTU of the network: a datagram, and the headers of IPv4 and UDP.
const MTU: u16 = DATAGRAM + 28;

/// The link, and what it and the client have counted.
struct State {
    bottleneck: Bottleneck,
    /// The port of the server.
    server: u16,
    sent: u64,
    read: u64,
    failure: Option<String>,
}

#[derive(Clone)]
struct Shared(Arc<Mutex<State>>, Link);

impl Shared {
    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().expect("no task has panicked"))
    }

    /// Passes a packet. `None`: it does not arrive.
    fn pass(&self, now: Duration, packet: &Packet) -> Option<Queueing> {
        let capable = packet.ecn == ExplicitCongestionNotification::Ect0;
        self.with(|state| {
            if packet.path.local_address.port() != state.server {
                return Some(Queueing::unlimited(now, &self.1));
            }
            state.sent += 1;
            state.bottleneck.pass(now, packet.payload.len(), capable)
        })
    }
}

impl Network for Shared {
    fn execute(&mut self, buffers: &Buffers) -> usize {
        let start = time::now();
        // SAFETY: the time is read, and no other clock is compared with it.
        let now = unsafe { start.as_duration() };
        let mut count = 0;
        buffers.drain_pending_transmissions(|mut packet| {
            count += 1;
            let Some(queueing) = self.pass(now, &packet) else {
                return Ok(());
            };
            if queueing.marked {
                packet.ecn = ExplicitCongestionNotification::Ce;
            }
            packet.switch();
            let buffers = buffers.clone();
            let arrival = start + queueing.arrival.saturating_sub(now);
            spawn(async move {
                time::delay_until(arrival).await;
                buffers.rx(*packet.path.local_address, |queue| queue.enqueue(packet));
            });
            Ok(())
        });
        count
    }
}

/// Transfers as [`super::transfer`] does.
pub(super) fn transfer(name: &str, link: &Link, time: Duration) -> Result<Outcome> {
    match name {
        "cubic" => with(Cubic::default(), link, time),
        "bbr" => with(Bbr::default(), link, time),
        _ => with(controller(name)?, link, time),
    }
}

fn with<C>(controller: C, link: &Link, time: Duration) -> Result<Outcome>
where
    C: congestion_controller::Provider + 'static,
{
    let shared = Shared(
        Arc::new(Mutex::new(State {
            bottleneck: Bottleneck::new(*link),
            server: 0,
            sent: 0,
            read: 0,
            failure: None,
        })),
        *link,
    );
    let start = |handle: &Handle| {
        start(handle, controller, &shared, time).map_err(|error| format!("{error:#}").into())
    };
    test_seed(shared.clone(), link.seed, start).map_err(|error| anyhow!("{error}"))?;
    let failure = shared.with(|state| state.failure.take());
    if let Some(failure) = failure {
        return Err(anyhow!("{failure}"));
    }
    Ok(shared.with(|state| {
        let goodput = state.read as f64 * 8.0 / time.as_secs_f64();
        let bottleneck = std::mem::replace(&mut state.bottleneck, Bottleneck::new(*link));
        bottleneck.outcome(goodput, state.sent)
    }))
}

fn start<C>(handle: &Handle, controller: C, shared: &Shared, time: Duration) -> Result<()>
where
    C: congestion_controller::Provider + 'static,
{
    let io = || {
        let builder = handle.builder();
        let builder = builder.with_initial_mtu(MTU).with_max_mtu(MTU);
        builder.build()
    };
    let identity = identity()?;
    let (certificate, key) = (identity.cert.pem(), identity.signing_key.serialize_pem());
    let tls = rustls::Server::builder()
        .with_certificate(certificate.as_str(), key.as_str())
        .and_then(rustls::server::Builder::build)
        .map_err(anyhow::Error::msg)?;
    let mut server = Server::builder()
        .with_tls(tls)?
        .with_congestion_controller(controller)
        .map_err(|error| anyhow!("{error}"))?
        .with_io(io()?)?
        .start()?;
    let address = server.local_addr()?;
    shared.with(|state| state.server = address.port());
    spawn(async move {
        while let Some(mut connection) = server.accept().await {
            let Ok(mut stream) = connection.open_send_stream().await else {
                return;
            };
            while stream.send(vec![7; 65_536].into()).await.is_ok() {}
        }
    });

    let tls = rustls::Client::builder()
        .with_certificate(certificate.as_str())
        .and_then(rustls::client::Builder::build)
        .map_err(anyhow::Error::msg)?;
    let client = Client::builder().with_tls(tls)?.with_io(io()?)?.start()?;
    let shared = shared.clone();
    primary::spawn(async move {
        let connect = Connect::new(address).with_server_name("localhost");
        if let Err(error) = download(client, connect, &shared, time).await {
            shared.with(|state| state.failure = Some(format!("connection: {error:#}")));
        }
    });
    Ok(())
}

/// Reads until the end of the transfer.
async fn download(client: Client, to: Connect, shared: &Shared, time: Duration) -> Result<()> {
    let end = time::now() + time;
    let mut connection = client.connect(to).await?;
    let stream = connection.accept_receive_stream().await?;
    let mut stream = stream.context("closed")?;
    while time::now() < end {
        let chunk = stream.receive().await?.context("the stream has ended")?;
        shared.with(|state| state.read += chunk.len() as u64);
    }
    Ok(())
}
