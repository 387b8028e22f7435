//! HTTP/3 of the peers on the crate h3, and their command line:
//!
//!     client URL CA FILE [COUNT]
//!     server FOLDER CERT KEY
//!
//! The client downloads the URL COUNT times over one connection, 100 at a time, each into FILE. The
//! server has the files of FOLDER in memory. The programs add the QUIC stack.

use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{bail, ensure, Context, Result};
use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3::quic::{self, OpenStreams, RecvStream, SendStream};
use h3::server::RequestStream;
use http::{Request, Response, Uri};
use tokio::task::JoinSet;

/// The protocol of all connections.
pub const ALPN: &str = "h3";
/// The port of the servers.
pub const PORT: u16 = 443;
/// Downloads at a time.
const PARALLEL: usize = 100;
/// Bytes that a server gives its stack at a time.
const CHUNK: usize = 1 << 20;

/// A command line.
pub enum Command {
    Client(Download),
    Server(Site),
}

impl Command {
    pub fn from_arguments() -> Result<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Ok(match arguments[..] {
            ["client", url, ca, file] => Self::Client(Download::new(url, ca, file, 1)?),
            ["client", url, ca, file, count] => {
                Self::Client(Download::new(url, ca, file, count.parse()?)?)
            }
            ["server", folder, cert, key] => Self::Server(Site {
                files: Arc::new(files(folder)?),
                cert: cert.to_owned(),
                key: key.to_owned(),
            }),
            _ => bail!("expected client URL CA FILE [COUNT], or server FOLDER CERT KEY"),
        })
    }
}

/// A connection of a QUIC stack, whose streams tasks can have.
pub trait Connection:
    quic::Connection<
        Bytes,
        OpenStreams: Clone + Send + 'static,
        BidiStream: Send + 'static,
        SendStream: Send,
        RecvStream: Send,
    > + Send
    + 'static
{
}

impl<C> Connection for C
where
    C: quic::Connection<Bytes> + Send + 'static,
    C::OpenStreams: Clone + Send + 'static,
    C::BidiStream: Send + 'static,
    C::SendStream: Send,
    C::RecvStream: Send,
{
}

/// The task of a client.
pub struct Download {
    /// The server's address, also as the name in its certificate.
    pub peer: SocketAddr,
    pub host: String,
    /// The file of the authority.
    pub ca: String,
    url: Uri,
    file: String,
    count: usize,
}

impl Download {
    fn new(url: &str, ca: &str, file: &str, count: usize) -> Result<Self> {
        let url: Uri = url.parse()?;
        let host = url.host().context("a URL without host")?.to_owned();
        Ok(Self {
            peer: SocketAddr::new(host.parse()?, url.port_u16().unwrap_or(PORT)),
            host,
            ca: ca.to_owned(),
            url,
            file: file.to_owned(),
            count,
        })
    }

    /// Downloads over `connection`, and closes it.
    pub async fn run(&self, connection: impl Connection) -> Result<()> {
        let (mut driver, requests) = h3::client::new(connection).await?;
        let driving = tokio::spawn(async move { driver.wait_idle().await });
        let mut downloads = JoinSet::new();
        for _ in 0..self.count {
            if downloads.len() == PARALLEL {
                downloads.join_next().await.context("no download")???;
            }
            downloads.spawn(get(requests.clone(), self.url.clone(), self.file.clone()));
        }
        while let Some(ended) = downloads.join_next().await {
            ended??;
        }
        drop(requests);
        driving.await?;
        Ok(())
    }
}

async fn get<S>(mut requests: SendRequest<S, Bytes>, url: Uri, file: String) -> Result<()>
where
    S: OpenStreams<Bytes>,
{
    let mut request = requests.send_request(Request::get(url).body(())?).await?;
    request.finish().await?;
    let response = request.recv_response().await?;
    ensure!(response.status() == 200, "status {}", response.status());
    let mut file = BufWriter::with_capacity(1 << 16, File::create(&file).context(file)?);
    while let Some(mut data) = request.recv_data().await? {
        while data.has_remaining() {
            let written = file.write(data.chunk())?;
            data.advance(written);
        }
    }
    Ok(file.flush()?)
}

/// The task of a server.
pub struct Site {
    /// Files of the certificate and its key.
    pub cert: String,
    pub key: String,
    /// The bodies, by name.
    files: Arc<HashMap<String, Bytes>>,
}

impl Site {
    /// Serves a connection that begins, in a task of its own.
    pub fn serve<C: Connection>(&self, begin: impl Future<Output = Result<C>> + Send + 'static) {
        let files = self.files.clone();
        tokio::spawn(async move {
            if let Err(error) = serve(begin, &files).await {
                eprintln!("{error:#}");
            }
        });
    }
}

fn files(folder: &str) -> Result<HashMap<String, Bytes>> {
    let entries = std::fs::read_dir(folder).context(folder.to_owned())?;
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry?.path();
        let name = path.file_name().context("no name")?.to_string_lossy();
        Ok((name.into_owned(), std::fs::read(&path)?.into()))
    };
    entries.map(read).collect()
}

async fn serve<C>(
    begin: impl Future<Output = Result<C>>,
    files: &HashMap<String, Bytes>,
) -> Result<()>
where
    C: Connection,
{
    let mut connection = h3::server::Connection::<_, Bytes>::new(begin.await?).await?;
    while let Some(resolver) = connection.accept().await? {
        let (request, stream) = resolver.resolve_request().await?;
        let name = request.uri().path().rsplit('/').next();
        tokio::spawn(respond(
            stream,
            name.and_then(|name| files.get(name)).cloned(),
        ));
    }
    Ok(())
}

async fn respond<S>(mut stream: RequestStream<S, Bytes>, body: Option<Bytes>) -> Result<()>
where
    S: SendStream<Bytes> + RecvStream,
{
    // A stream that has no end yet would be stopped, which is an error for some clients.
    while stream.recv_data().await?.is_some() {}
    let status = if body.is_some() { 200 } else { 404 };
    stream
        .send_response(Response::builder().status(status).body(())?)
        .await?;
    let mut body = body.unwrap_or_default();
    while body.has_remaining() {
        stream
            .send_data(body.split_to(CHUNK.min(body.len())))
            .await?;
    }
    Ok(stream.finish().await?)
}
