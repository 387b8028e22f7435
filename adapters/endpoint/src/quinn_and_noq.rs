//! quinn and noq, whose interfaces differ in little more than their names.

macro_rules! stack {
    ($stack:ident, $adapter:ident, own: { $($name:literal => $own:ident),* }) => {
        pub(super) mod $stack {
            use std::net::{Ipv4Addr, SocketAddr};
            use std::sync::Arc;
            use std::time::Duration;

            use ::$stack::congestion::{self, ControllerFactory};
            use ::$stack::{ClientConfig, Endpoint, Incoming, ServerConfig, TransportConfig};
            use anyhow::{Context, Result};
            use rustls::pki_types::pem::PemObject;
            use rustls::pki_types::{CertificateDer, PrivateKeyDer};

            use crate::{Download, CHUNK, DATAGRAM, NAME};

            fn factory(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
                Ok(match name {
                    $($name => Arc::new(congestion::$own::default()),)*
                    _ => Arc::new($adapter::controller(name)?),
                })
            }

            fn transport() -> TransportConfig {
                let mut transport = TransportConfig::default();
                transport.initial_mtu(DATAGRAM).mtu_discovery_config(None);
                transport
            }

            fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
                let read = CertificateDer::pem_file_iter(path).context(path.to_owned())?;
                Ok(read.collect::<Result<_, _>>()?)
            }

            pub(crate) async fn serve(
                controller: &str,
                address: SocketAddr,
                cert: &str,
                key: &str,
            ) -> Result<()> {
                let mut transport = transport();
                transport.congestion_controller_factory(factory(controller)?);
                let key = PrivateKeyDer::from_pem_file(key).context(key.to_owned())?;
                let mut config = ServerConfig::with_single_cert(certificates(cert)?, key)?;
                config.transport_config(Arc::new(transport));
                let server = Endpoint::server(config, address)?;
                while let Some(client) = server.accept().await {
                    tokio::spawn(send(client));
                }
                Ok(())
            }

            /// Sends until the client leaves.
            async fn send(client: Incoming) -> Result<()> {
                let connection = client.await?;
                let mut stream = connection.open_uni().await?;
                loop {
                    stream.write_all(&[7; CHUNK]).await?;
                }
            }

            pub(crate) async fn fetch(
                address: SocketAddr,
                ca: &str,
                time: Duration,
            ) -> Result<Download> {
                let mut roots = rustls::RootCertStore::empty();
                roots.add_parsable_certificates(certificates(ca)?);
                let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
                config.transport_config(Arc::new(transport()));
                let client = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
                let connection = client.connect_with(config, address, NAME)?.await?;
                let mut download = Download::begin(time);
                let mut stream = connection.accept_uni().await?;
                let mut buffer = vec![0; CHUNK];
                while let Some(read) = download.next(stream.read(&mut buffer)).await {
                    let bytes = read?.context("stream: ended; expected more")?;
                    download.bytes += bytes as u64;
                }
                connection.close(0u8.into(), b"done");
                Ok(download)
            }
        }
    };
}

stack! {
    quinn, petra_quinn,
    own: { "cubic" => CubicConfig, "newreno" => NewRenoConfig, "bbr" => BbrConfig }
}

stack! {
    noq, petra_noq,
    own: { "cubic" => CubicConfig, "newreno" => NewRenoConfig, "bbr3" => Bbr3Config }
}
