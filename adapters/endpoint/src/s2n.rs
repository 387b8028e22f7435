//! s2n-quic.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{anyhow, Context, Result};
use petra_s2n_quic::controller;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Provider};
use s2n_quic::provider::io;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Connection, Server};

use crate::{Download, CHUNK, DATAGRAM, NAME};

/// A datagram, and the headers of IPv4 and UDP.
const MTU: u16 = DATAGRAM + 28;

fn socket(address: SocketAddr) -> Result<io::Default> {
    let io = io::Default::builder().with_receive_address(address)?;
    Ok(io.with_max_mtu(MTU)?.with_initial_mtu(MTU)?.build()?)
}

pub(crate) async fn serve(name: &str, address: SocketAddr, cert: &str, key: &str) -> Result<()> {
    match name {
        "cubic" => serve_with(Cubic::default(), address, cert, key).await,
        "bbr" => serve_with(Bbr::default(), address, cert, key).await,
        _ => serve_with(controller(name)?, address, cert, key).await,
    }
}

async fn serve_with(
    controller: impl Provider + 'static,
    address: SocketAddr,
    cert: &str,
    key: &str,
) -> Result<()> {
    let tls = rustls::Server::builder()
        .with_certificate(Path::new(cert), Path::new(key))
        .and_then(rustls::server::Builder::build)
        .map_err(anyhow::Error::msg)?;
    let mut server = Server::builder()
        .with_tls(tls)?
        .with_congestion_controller(controller)
        .map_err(|error| anyhow!("{error}"))?
        .with_io(socket(address)?)?
        .start()?;
    while let Some(connection) = server.accept().await {
        tokio::spawn(send(connection));
    }
    Ok(())
}

/// Sends until the client leaves.
async fn send(mut connection: Connection) -> Result<()> {
    let mut stream = connection.open_send_stream().await?;
    loop {
        stream.send(vec![7; CHUNK].into()).await?;
    }
}

pub(crate) async fn fetch(address: SocketAddr, ca: &str, time: Duration) -> Result<Download> {
    let tls = rustls::Client::builder()
        .with_certificate(Path::new(ca))
        .and_then(rustls::client::Builder::build)
        .map_err(anyhow::Error::msg)?;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let client = Client::builder()
        .with_tls(tls)?
        .with_io(socket(any)?)?
        .start()?;
    let connect = Connect::new(address).with_server_name(NAME);
    let mut connection = client.connect(connect).await?;
    let mut download = Download::begin(time);
    let stream = connection.accept_receive_stream().await?;
    let mut stream = stream.context("stream: missing; expected one of the server")?;
    while let Some(read) = download.next(stream.receive()).await {
        let chunk = read?.context("stream: ended; expected more")?;
        download.bytes += chunk.len() as u64;
    }
    Ok(download)
}
