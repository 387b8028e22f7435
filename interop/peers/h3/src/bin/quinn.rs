//! The peer on quinn.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use h3_peers::{Command, Download, Site, ALPN, PORT};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Command::from_arguments()? {
        Command::Client(download) => client(download).await,
        Command::Server(site) => server(site).await,
    }
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).context(path.to_owned())?;
    Ok(read.collect::<Result<_, _>>()?)
}

async fn client(download: Download) -> Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificates(&download.ca)?);
    let mut tls = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.into()];
    let mut endpoint = quinn::Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let tls = Arc::new(QuicClientConfig::try_from(tls)?);
    endpoint.set_default_client_config(quinn::ClientConfig::new(tls));
    let quic = endpoint.connect(download.peer, &download.host)?.await?;
    download.run(h3_quinn::Connection::new(quic)).await?;
    endpoint.wait_idle().await;
    Ok(())
}

async fn server(site: Site) -> Result<()> {
    let key = PrivateKeyDer::from_pem_file(&site.key).context(site.key.clone())?;
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates(&site.cert)?, key)?;
    tls.alpn_protocols = vec![ALPN.into()];
    let tls = Arc::new(QuicServerConfig::try_from(tls)?);
    let config = quinn::ServerConfig::with_crypto(tls);
    let endpoint = quinn::Endpoint::server(config, (Ipv4Addr::UNSPECIFIED, PORT).into())?;
    while let Some(incoming) = endpoint.accept().await {
        site.serve(async { Ok(h3_quinn::Connection::new(incoming.await?)) });
    }
    Ok(())
}
