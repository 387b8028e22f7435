//! Peers of the HTTP/3 code that may send anything: what the fuzz targets run.

mod accept;
mod streams;

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod};
use clap::Parser;
use petra_http3::{certs, Content, Transport};
use quiche::Config;
use tempfile::TempDir;

pub(crate) use accept::first_packets;
pub(crate) use streams::{requests, responses};

const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

/// Most actions of an input.
const ACTIONS: usize = 100;

/// Bytes that a peer receives before it reads, so that no input takes long.
const PEER_WINDOW: u64 = 1 << 16;

/// Arbitrary bytes as actions: a kind, a number, and up to 64 kB of data, whose length is between.
struct Actions<'a>(&'a [u8]);

impl<'a> Iterator for Actions<'a> {
    type Item = (u8, u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let ([kind, number, low, high], rest) = self.0.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let (data, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some((*kind, *number, data))
    }
}

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    transport: Transport,
}

/// The configuration that the examples have, that of peers, and the folder that is served.
struct Setting {
    ours: Config,
    peer: Config,
    folder: TempDir,
}

thread_local! {
    static SETTING: RefCell<Setting> = RefCell::new(Setting::new());
}

impl Setting {
    fn new() -> Setting {
        petra::register();
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        std::fs::create_dir(&root).expect("a folder");
        std::fs::write(root.join("file"), [b'f'; 100]).expect("a file");
        let pem = certs::for_address(folder.path(), SERVER.ip()).expect("a certificate");
        let config = || {
            let mut tls = SslContextBuilder::new(SslMethod::tls()).expect("a TLS context");
            tls.set_certificate_chain_file(&pem).expect("a certificate");
            tls.set_private_key_file(&pem, SslFiletype::PEM)
                .expect("its key");
            let transport = Args::parse_from(["peer"]).transport;
            let mut config = transport.config(tls).expect("a configuration");
            config.set_cc_algorithm_name("petra").expect("a controller");
            config.verify_peer(false);
            config
        };
        // The block of generated bodies is made once.
        let taken = Content::generated(1).send(1, |part, _| Ok::<_, io::Error>(part.len()));
        taken.expect("a byte");
        let (ours, mut peer) = (config(), config());
        peer.set_initial_max_data(PEER_WINDOW);
        peer.set_max_connection_window(PEER_WINDOW);
        Setting { ours, peer, folder }
    }

    fn root(&self) -> PathBuf {
        let root = self.folder.path().join("root");
        root.canonicalize().expect("a folder")
    }
}
