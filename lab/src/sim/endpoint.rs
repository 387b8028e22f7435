//! One end of a flow: a quiche connection with HTTP/3 on top.

use std::time::Instant;

use anyhow::Result;
use petra_http3::{expire, Connection, Http3};
use quiche::h3;

use super::download::Download;
use super::upload::Upload;
use crate::scenario::Pacing;

/// One end of a connection.
pub(super) struct Endpoint {
    conn: Connection,
    http: Http3<Application>,
    pacing: Pacing,
    failure: Option<h3::Error>,
}

/// Application of an endpoint over its HTTP/3 connection.
pub(super) enum Application {
    /// It is the client.
    Download(Download),
    /// It is the server.
    Upload(Upload),
}

impl petra_http3::Application for Application {
    type Error = h3::Error;

    fn work(&mut self, conn: &mut Connection, http: &mut h3::Connection) -> h3::Result<()> {
        match self {
            Application::Download(download) => download.work(conn, http),
            Application::Upload(upload) => upload.work(conn, http),
        }
    }
}

/// Output of an endpoint at the present time.
pub(super) enum Output {
    /// This many bytes, to be on the link at this time.
    Datagram(usize, Instant),
    /// A packet may be made at this time and not before.
    Later(Instant),
    /// Nothing until something arrives or a timer expires.
    Nothing,
}

impl Endpoint {
    pub(super) fn new(conn: Connection, application: Application, pacing: Pacing) -> Self {
        Endpoint {
            conn,
            http: Http3::new(application),
            pacing,
            failure: None,
        }
    }

    pub(super) fn conn(&self) -> &Connection {
        &self.conn
    }

    /// The client's download; `None` for a server.
    pub(super) fn download(&self) -> Option<&Download> {
        match &self.http.application {
            Application::Download(download) => Some(download),
            Application::Upload(_) => None,
        }
    }

    /// Takes a datagram in, which is decrypted in place.
    pub(super) fn receive(&mut self, datagram: &mut [u8], info: quiche::RecvInfo) {
        // An error has closed the connection, which `failure()` tells.
        let _ = self.conn.recv(datagram, info);
    }

    /// Lets quiche handle its timers that have expired by `now`.
    pub(super) fn expire(&mut self, now: Instant) {
        expire(&mut self.conn, now);
    }

    /// The next timeout, of quiche or the application.
    pub(super) fn timeout(&self) -> Option<Instant> {
        let alive = !self.conn.is_draining() && !self.conn.is_closed();
        let application = match &self.http.application {
            Application::Download(download) => download.timer(),
            Application::Upload(upload) => upload.timer(),
        };
        let application = application.filter(|_| alive);
        let quiche = self.conn.timeout_instant();
        [quiche, application].into_iter().flatten().min()
    }

    /// Lets the application work, once there is HTTP/3.
    pub(super) fn work(&mut self) {
        if self.conn.is_draining() {
            return;
        }
        if let Err(error) = self.http.work(&mut self.conn) {
            self.failure = Some(error);
            // A connection that is closing already needs no second reason.
            let _ = self.conn.close(true, 0x102, b"application failed");
        }
    }

    /// Makes the next datagram, when there is one and pacing lets it go.
    pub(super) fn output(&mut self, now: Instant, buffer: &mut [u8]) -> Result<Output> {
        if self.pacing == Pacing::Release {
            let next = self.conn.get_next_release_time();
            if let Some(at) = next.and_then(|next| next.time(now)) {
                return Ok(Output::Later(at));
            }
        }
        match self.conn.send(buffer) {
            Ok((len, info)) if self.pacing == Pacing::Hold => {
                Ok(Output::Datagram(len, info.at.max(now)))
            }
            Ok((len, _)) => Ok(Output::Datagram(len, now)),
            Err(quiche::Error::Done) => Ok(Output::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// The reason for which the connection ended early.
    pub(super) fn failure(&self) -> Option<String> {
        if let Some(error) = &self.failure {
            return Some(format!("HTTP/3 failed: {error:?}"));
        }
        if self.conn.is_timed_out() {
            return Some("idle timeout".to_owned());
        }
        let error = self.conn.local_error().or(self.conn.peer_error());
        error.map(|error| format!("closed with error {:#x}", error.error_code))
    }
}
