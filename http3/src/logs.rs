//! Logs of connections: TLS secrets and qlogs.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::qlog::Qlogs;
use crate::Connection;

/// The logs of all connections.
pub struct Logs {
    keylog: Option<PathBuf>,
    qlogs: Option<Qlogs>,
    description: String,
}

impl Logs {
    /// TLS secrets in the file `keylog`, if quiche's configuration logs them, and qlogs in the
    /// folder `qlogs`, which is created. `cc` is the name of the congestion controller.
    pub fn new(keylog: Option<&Path>, qlogs: Option<&Path>, cc: &str) -> Result<Logs> {
        Ok(Logs {
            keylog: keylog.map(Path::to_owned),
            qlogs: qlogs.map(Qlogs::into).transpose()?,
            description: format!("congestion controller {cc}"),
        })
    }

    /// Begins those of a connection, which is `role` (client or server) in it.
    pub fn begin(&self, quic: &mut Connection, role: &str) -> Result<()> {
        if let Some(path) = &self.keylog {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            quic.set_keylog(Box::new(file));
        }
        if let Some(qlogs) = &self.qlogs {
            let name = name(quic, role);
            let log = Box::new(qlogs.begin(&name)?);
            let level = quiche::QlogLevel::Extra;
            quic.set_qlog_with_level(log, name, self.description.clone(), level);
        }
        Ok(())
    }

    /// Drops a connection that has begun nothing, and removes its qlog. `role` is that of
    /// [`Self::begin`], which has succeeded.
    pub fn discard(&self, quic: Connection, role: &str) {
        let name = name(&quic, role);
        drop(quic);
        if let Some(qlogs) = &self.qlogs {
            qlogs.discard(&name);
        }
    }
}

/// The name of a connection's qlog.
fn name(quic: &Connection, role: &str) -> String {
    format!("{role}-{:?}", quic.source_id())
}
