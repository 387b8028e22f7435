//! The peer on msquic.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use h3::quic;
use h3_peers::{Command, Download, Site, ALPN, PORT};
use msquic::{
    BufferRef, CertificateFile, Configuration, Credential, CredentialConfig, RegistrationConfig,
    Settings,
};
use msquic_h3::{Connection, Listener, Registration};

/// Request streams and others that a client may have at a time: as many as with quinn.
const STREAMS: u16 = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registration = Registration::new(&RegistrationConfig::default())?;
    match Command::from_arguments()? {
        Command::Client(download) => client(&registration, download).await,
        Command::Server(site) => server(&registration, site).await,
    }
}

fn configuration(
    registration: &Registration,
    credential: &CredentialConfig,
) -> Result<Configuration> {
    let settings = Settings::new()
        .set_PeerBidiStreamCount(STREAMS)
        .set_PeerUnidiStreamCount(STREAMS);
    let configuration = registration.open_configuration(&[ALPN.into()], Some(&settings))?;
    configuration.load_credential(credential)?;
    Ok(configuration)
}

async fn client(registration: &Registration, download: Download) -> Result<()> {
    let credential = CredentialConfig::new_client().set_ca_certificate_file(download.ca.clone());
    let configuration = configuration(registration, &credential)?;
    let (host, port) = (&download.host, download.peer.port());
    let mut connection = Connection::connect(registration, &configuration, host, port).await?;
    let closed = connection.get_shutdown_waiter();
    // Without it, the end of the connection discards its last ACK and its CONNECTION_CLOSE.
    let handle = quic::Connection::<Bytes>::opener(&connection);
    let result = download.run(connection).await;
    // The drop of the registration waits for all connections, also after an error.
    registration.shutdown();
    closed.wait().await;
    drop(handle);
    registration.wait_idle().await;
    result
}

async fn server(registration: &Registration, site: Site) -> Result<()> {
    let certificate = CertificateFile::new(site.key.clone(), site.cert.clone());
    let credential =
        CredentialConfig::new().set_credential(Credential::CertificateFile(certificate));
    let configuration = Arc::new(configuration(registration, &credential)?);
    let address = (Ipv4Addr::UNSPECIFIED, PORT).into();
    let alpn: BufferRef = ALPN.into();
    let mut listener = Listener::new(registration, configuration, &[alpn], Some(address))?;
    while let Some(connection) = listener.accept().await? {
        site.serve(async { Ok(connection) });
    }
    Ok(())
}
