//! `quinn-peer client URL CA FILE [COUNT]` and `quinn-peer server FOLDER CERT KEY`.
//!
//! The client downloads the URL COUNT times over one connection, 100 at a time, each into FILE.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{bail, ensure, Context, Result};
use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::task::JoinSet;

/// Downloads at a time.
const PARALLEL: usize = 100;

/// The files of a folder, by name.
type Files = HashMap<String, Bytes>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["client", url, ca, file] => download(url.parse()?, ca, file, 1).await,
        ["client", url, ca, file, count] => download(url.parse()?, ca, file, count.parse()?).await,
        ["server", folder, cert, key] => serve(folder, cert, key).await,
        _ => bail!("expected client URL CA FILE [COUNT], or server FOLDER CERT KEY"),
    }
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).context(path.to_owned())?;
    Ok(read.collect::<Result<_, _>>()?)
}

async fn download(url: http::Uri, ca: &str, file: &str, count: usize) -> Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificates(ca)?);
    let mut tls = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let host = url.host().context("a URL without host")?;
    let peer = SocketAddr::new(host.parse()?, url.port_u16().unwrap_or(443));
    let mut endpoint = quinn::Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let tls = Arc::new(QuicClientConfig::try_from(tls)?);
    endpoint.set_default_client_config(quinn::ClientConfig::new(tls));
    let quic = endpoint.connect(peer, host)?.await?;
    let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(quic)).await?;
    let driving = tokio::spawn(async move { driver.wait_idle().await });
    let mut downloads = JoinSet::new();
    for _ in 0..count {
        if downloads.len() == PARALLEL {
            downloads.join_next().await.context("no download")???;
        }
        downloads.spawn(get(requests.clone(), url.clone(), file.to_owned()));
    }
    while let Some(ended) = downloads.join_next().await {
        ended??;
    }
    drop(requests);
    driving.await?;
    endpoint.wait_idle().await;
    Ok(())
}

async fn get(
    mut requests: SendRequest<OpenStreams, Bytes>,
    url: http::Uri,
    file: String,
) -> Result<()> {
    let mut request = requests
        .send_request(http::Request::get(url).body(())?)
        .await?;
    request.finish().await?;
    let response = request.recv_response().await?;
    ensure!(response.status() == 200, "status {}", response.status());
    let mut file = BufWriter::with_capacity(1 << 16, File::create(&file).context(file)?);
    while let Some(chunk) = request.recv_data().await? {
        file.write_all(chunk.chunk())?;
    }
    Ok(file.flush()?)
}

async fn serve(folder: &str, cert: &str, key: &str) -> Result<()> {
    let key = PrivateKeyDer::from_pem_file(key).context(key.to_owned())?;
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates(cert)?, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let tls = Arc::new(QuicServerConfig::try_from(tls)?);
    let config = quinn::ServerConfig::with_crypto(tls);
    let endpoint = quinn::Endpoint::server(config, (Ipv4Addr::UNSPECIFIED, 443).into())?;
    let files = Arc::new(files(folder)?);
    while let Some(connecting) = endpoint.accept().await {
        let files = files.clone();
        tokio::spawn(async move {
            if let Err(e) = connection(connecting, &files).await {
                eprintln!("{e:#}");
            }
        });
    }
    Ok(())
}

fn files(folder: &str) -> Result<Files> {
    let entries = std::fs::read_dir(folder).context(folder.to_owned())?;
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry?.path();
        let name = path.file_name().context("no name")?.to_string_lossy();
        Ok((name.into_owned(), std::fs::read(&path)?.into()))
    };
    entries.map(read).collect()
}

async fn connection(connecting: quinn::Incoming, files: &Files) -> Result<()> {
    let quic = h3_quinn::Connection::new(connecting.await?);
    let mut connection = h3::server::Connection::<_, Bytes>::new(quic).await?;
    while let Some(resolver) = connection.accept().await? {
        let (request, mut stream) = resolver.resolve_request().await?;
        let name = request.uri().path().rsplit('/').next();
        let body = name.and_then(|name| files.get(name)).cloned();
        tokio::spawn(async move {
            let status = if body.is_some() { 200 } else { 404 };
            let response = http::Response::builder().status(status).body(())?;
            stream.send_response(response).await?;
            stream.send_data(body.unwrap_or_default()).await?;
            stream.finish().await?;
            anyhow::Ok(())
        });
    }
    Ok(())
}
