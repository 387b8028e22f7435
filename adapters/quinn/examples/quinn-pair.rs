//! A server with a controller, and a client that downloads from it: `quinn-pair [NAME[:OPTIONS]]`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};

const BYTES: usize = 5_000_000;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("petra".into());
    let identity = rcgen::generate_simple_self_signed(["localhost".into()])?;
    let certificate = identity.cert.der().clone();
    let key = identity.signing_key.serialize_der().try_into();
    let key = key.map_err(anyhow::Error::msg)?;

    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(petra_quinn::controller(&name)?));
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
    config.transport_config(Arc::new(transport));
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Endpoint::server(config, any)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client").await?;
        let mut stream = connection.open_uni().await?;
        stream.write_all(&vec![7; BYTES]).await?;
        stream.finish()?;
        connection.closed().await;
        anyhow::Ok(())
    });

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = Endpoint::client(any)?;
    client.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let connection = client.connect(address, "localhost")?.await?;
    let body = connection.accept_uni().await?.read_to_end(BYTES).await?;
    println!("{name}: {} bytes", body.len());
    connection.close(0u8.into(), b"done");
    client.wait_idle().await;
    serving.await?
}
