//! HTTP/3, as the examples speak it.

use anyhow::Result;
use petra_http3::{Connection, Http3, Requests, Responses};

use crate::client::{check, Exchange};
use crate::server::Service;

impl Exchange for Http3<Requests> {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        self.work(quic)?;
        check(self.application.ended())
    }

    fn is_done(&self) -> bool {
        self.application.is_over()
    }
}

impl Service for Http3<Responses> {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        let result = self.work(quic);
        for e in self.application.failures() {
            eprintln!("petra-endpoint: incomplete response: {e}");
        }
        Ok(result?)
    }
}
