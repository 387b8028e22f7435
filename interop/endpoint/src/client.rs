//! The client: connections one after the other, each with its downloads.

use std::path::Path;

use anyhow::{bail, ensure, Context, Result};
use petra_http3::{addresses, udp, Client, Connection, Download, Http3, Requests};
use url::Url;

use crate::case::{Case, Connections, Http, Role};
use crate::config::{spare_ids, Settings};
use crate::hq;

/// Folder of the received files.
const DOWNLOADS: &str = "/downloads";

/// Requests of a client on one connection, and the files received for them.
pub(crate) trait Exchange {
    /// Asks for as much as the server allows, and takes what came.
    fn advance(&mut self, quic: &mut Connection) -> Result<()>;
    /// Returns true if every file is complete.
    fn is_done(&self) -> bool;
}

/// Downloads what `urls` lists, as the test case has it.
pub(crate) fn run(case: &Case, settings: &Settings, urls: &str) -> Result<()> {
    let urls = urls.split_whitespace().map(|url| {
        let parsed = Url::parse(url);
        parsed.with_context(|| format!("REQUESTS: not a URL (got {url:?})"))
    });
    let urls: Vec<Url> = urls.collect::<Result<_>>()?;
    let mut config = settings.config(case, Role::Client)?;
    let mut signals = udp::Signals::catch()?;
    let logs = settings.logs()?;
    let mut session: Option<Vec<u8>> = None;
    for urls in groups(case, &urls) {
        let url = &urls[0];
        let peer = *addresses(url)?
            .front()
            .context("URL: host without an address")?;
        let mut client = Client::open(&mut config, url.domain(), peer, true)?;
        logs.begin(&mut client.quic, "client")?;
        if let Some(session) = &session {
            client.quic.set_session(session)?;
            // There is early data from the ClientHello on.
            client.send().ok();
        }
        let early = case.connections == Connections::Resumed { early: true };
        // A session is worth waiting for where it is used.
        let resumes = matches!(case.connections, Connections::Resumed { .. });
        let needs_session = resumes && session.is_none();
        let downloads = urls.iter().map(download).collect();
        let mut exchange: Box<dyn Exchange> = match case.http {
            Http::Hq => Box::new(hq::Downloads::new(downloads)),
            Http::Three => Box::new(Http3::new(Requests::new(downloads, usize::MAX))),
        };
        session = transfer(
            &mut client,
            &mut signals,
            exchange.as_mut(),
            early,
            needs_session,
        )?;
    }
    Ok(())
}

fn download(url: &Url) -> Download {
    let name = url.path().rsplit('/').next().unwrap_or_default();
    Download::new(url.clone(), Some(Path::new(DOWNLOADS).join(name)))
}

/// Fails with the reason for which a download failed, if one did.
pub(crate) fn check(ended: &[Download]) -> Result<()> {
    for report in ended.iter().map(Download::report) {
        if let Some(error) = report.error {
            bail!("{}: {error}", report.url);
        }
    }
    Ok(())
}

/// The downloads of each connection.
fn groups<'a>(case: &Case, urls: &'a [Url]) -> Vec<&'a [Url]> {
    let groups: Vec<&[Url]> = match case.connections {
        Connections::One => vec![urls],
        Connections::Each => urls.chunks(1).collect(),
        Connections::Resumed { .. } => {
            let (first, rest) = urls.split_at(1.min(urls.len()));
            vec![first, rest]
        }
    };
    groups.into_iter().filter(|urls| !urls.is_empty()).collect()
}

/// Downloads everything and closes. Returns the TLS session, which is waited
/// for with `needs_session`.
fn transfer(
    client: &mut Client,
    signals: &mut udp::Signals,
    exchange: &mut dyn Exchange,
    early: bool,
    needs_session: bool,
) -> Result<Option<Vec<u8>>> {
    loop {
        let quic = &mut client.quic;
        // Early data leaves before anything is received: after the server's answer it is 1-RTT.
        if quic.is_established() || (early && quic.is_in_early_data()) {
            exchange.advance(quic)?;
        }
        spare_ids(quic, |_| {})?;
        let waits = needs_session && quic.session().is_none();
        let finished = exchange.is_done() && !waits;
        if finished {
            quic.close(true, 0, b"")?;
        }
        client.send().ok();
        if finished {
            return Ok(client.quic.session().map(<[u8]>::to_vec));
        }
        if let Some(reason) = client.end() {
            bail!("the connection ended early: {reason}");
        }
        udp::wait([&client.udp], signals, client.due)?;
        // Who sends a signal wants no more of this.
        ensure!(!signals.arrived(), "ended by a signal");
        // An ICMP message is no proof: the connection has its own timers.
        client.receive().ok();
    }
}
