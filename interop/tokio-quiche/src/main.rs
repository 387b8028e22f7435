//! An HTTP/3 server on tokio-quiche that sends with PETRA.
//!
//! What makes it do so are two lines of `Cargo.toml`, and three here: registering
//! the controllers, naming one, and having quiche pace. The rest is what any
//! tokio-quiche server does.
//! It answers every request for `/bytes/<n>` with n bytes.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use clap::Parser;
use futures::{SinkExt, StreamExt};
use quiche::h3::{Header, NameValue};
use tokio_quiche::http3::driver::{IncomingH3Headers, OutboundFrame, ServerH3Event};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::{ConnectionParams, ServerH3Controller, ServerH3Driver};

/// Serves /bytes/<n> over HTTP/3, with a congestion controller by name.
#[derive(Parser)]
struct Args {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:4433")]
    listen: SocketAddr,

    /// The congestion controller, with options if it has any: `petra:alpha=0.8`.
    #[arg(long, default_value = "petra")]
    cc: String,

    /// Send as soon as the window allows, which is tokio-quiche's default.
    #[arg(long)]
    no_pacing: bool,

    /// A folder for a qlog of each connection.
    #[arg(long)]
    qlog: Option<String>,

    /// The certificate chain, in PEM.
    #[arg(long)]
    cert: String,

    /// Its private key, in PEM.
    #[arg(long)]
    key: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();

    petra::register();
    quiche::congestion_control::check(&args.cc).map_err(anyhow::Error::msg)?;
    check_files(&args)?;

    let mut settings = QuicSettings::default();
    settings.cc_algorithm = args.cc;
    settings.enable_pacing = !args.no_pacing;
    settings.qlog_dir = args.qlog;

    let certificate = TlsCertificatePaths {
        cert: &args.cert,
        private_key: &args.key,
        kind: CertificateKind::X509,
    };
    let socket = tokio::net::UdpSocket::bind(args.listen)
        .await
        .with_context(|| format!("--listen: cannot bind (got {})", args.listen))?;
    let address = socket.local_addr()?;

    let params = ConnectionParams::new_server(settings, certificate, Hooks::default());
    let mut listeners =
        tokio_quiche::listen([socket], params, DefaultMetrics).with_context(|| {
            format!(
                "--cert, --key: cannot serve (got {} and {}); expected a pair in PEM",
                args.cert, args.key
            )
        })?;

    println!("listening on {address}");

    while let Some(connection) = listeners[0].next().await {
        // One client that cannot be accepted is no reason to leave the others.
        let connection = match connection {
            Ok(connection) => connection,
            Err(error) => {
                eprintln!("a connection was not accepted: {error}");
                continue;
            }
        };
        let (driver, controller) = ServerH3Driver::new(Http3Settings::default());
        connection.start(driver);
        tokio::spawn(serve(controller));
    }
    Ok(())
}

/// Checks what tokio-quiche reads later, and then without a word of which file it is.
fn check_files(args: &Args) -> anyhow::Result<()> {
    for (option, path) in [("--cert", &args.cert), ("--key", &args.key)] {
        File::open(path).with_context(|| format!("{option}: cannot read (got {path})"))?;
    }
    if let Some(folder) = &args.qlog {
        anyhow::ensure!(
            Path::new(folder).is_dir(),
            "--qlog: no such folder (got {folder}); expected one that is there"
        );
    }
    Ok(())
}

async fn serve(mut controller: ServerH3Controller) {
    while let Some(event) = controller.event_receiver_mut().recv().await {
        if let ServerH3Event::Headers {
            incoming_headers, ..
        } = event
        {
            tokio::spawn(respond(incoming_headers));
        }
    }
}

/// Stops early when the client has gone: then nobody takes the frames.
async fn respond(request: IncomingH3Headers) -> Option<()> {
    let mut send = request.send;
    let length = request
        .headers
        .iter()
        .find(|header| header.name() == b":path")
        .and_then(|path| std::str::from_utf8(path.value()).ok())
        .and_then(|path| path.strip_prefix("/bytes/")?.parse::<usize>().ok());
    let status: &[u8] = if length.is_some() { b"200" } else { b"404" };
    let mut left = length.unwrap_or(0);

    let head = vec![
        Header::new(b":status", status),
        Header::new(b"content-length", left.to_string().as_bytes()),
    ];
    send.send(OutboundFrame::Headers(head, None)).await.ok()?;

    static CHUNK: [u8; 64 * 1024] = [0; 64 * 1024];
    while left > 0 {
        let chunk = &CHUNK[..left.min(CHUNK.len())];
        left -= chunk.len();
        let body = OutboundFrame::Body(chunk.into(), false);
        send.send(body).await.ok()?;
    }
    send.send(OutboundFrame::Body(Default::default(), true))
        .await
        .ok()
}
