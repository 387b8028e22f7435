//! The peer on s2n-quic.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;
use h3_peers::{Command, Download, Site, PORT};
use s2n_quic::client::Connect;
use s2n_quic::{Client, Server};
use tachyon_quic::Connection;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Command::from_arguments()? {
        Command::Client(download) => client(download).await,
        Command::Server(site) => server(site).await,
    }
}

async fn client(download: Download) -> Result<()> {
    let mut client = Client::builder()
        .with_tls(Path::new(&download.ca))?
        .with_io((Ipv4Addr::UNSPECIFIED, 0))?
        .start()?;
    let connect = Connect::new(download.peer).with_server_name(&*download.host);
    let connection = client.connect(connect).await?;
    download.run(Connection::new(connection)).await?;
    client.wait_idle().await?;
    Ok(())
}

async fn server(site: Site) -> Result<()> {
    let mut server = Server::builder()
        .with_tls((Path::new(&site.cert), Path::new(&site.key)))?
        .with_io((Ipv4Addr::UNSPECIFIED, PORT))?
        .start()?;
    while let Some(connection) = server.accept().await {
        site.serve(async { Ok(Connection::new(connection)) });
    }
    Ok(())
}
