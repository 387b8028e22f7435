//! A server with a controller, and a client that downloads from it: `s2n-quic-pair
//! [NAME[:OPTIONS]]`.

use s2n_quic::client::Connect;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server};

const BYTES: usize = 5_000_000;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("petra".into());
    let identity = rcgen::generate_simple_self_signed(["localhost".into()])?;
    let (certificate, key) = (identity.cert.pem(), identity.signing_key.serialize_pem());

    let tls = rustls::Server::builder().with_certificate(certificate.as_str(), key.as_str());
    let mut server = Server::builder()
        .with_tls(
            tls.map_err(anyhow::Error::msg)?
                .build()
                .map_err(anyhow::Error::msg)?,
        )?
        .with_congestion_controller(petra_s2n_quic::controller(&name)?)?
        .with_io("127.0.0.1:0")?
        .start()?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        let mut connection = server.accept().await.expect("a client");
        let mut stream = connection.open_send_stream().await?;
        stream.send(vec![7; BYTES].into()).await?;
        stream.close().await?;
        anyhow::Ok(())
    });

    let tls = rustls::Client::builder().with_certificate(certificate.as_str());
    let client = Client::builder()
        .with_tls(
            tls.map_err(anyhow::Error::msg)?
                .build()
                .map_err(anyhow::Error::msg)?,
        )?
        .with_io("127.0.0.1:0")?
        .start()?;
    let connect = Connect::new(address).with_server_name("localhost");
    let mut connection = client.connect(connect).await?;
    let mut stream = connection.accept_receive_stream().await?.expect("a stream");
    let mut received = 0;
    while let Some(chunk) = stream.receive().await? {
        received += chunk.len();
    }
    println!("{name}: {received} bytes");
    serving.await?
}
