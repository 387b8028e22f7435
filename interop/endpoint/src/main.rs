//! An endpoint for the [QUIC interop runner](https://interop.seemann.io): HTTP/0.9
//! and HTTP/3 on quiche, with a congestion controller by name.
//!
//! All it is told comes from the environment, as the runner has it:
//!
//! | variable | |
//! |---|---|
//! | `ROLE` | `client` or `server` |
//! | `TESTCASE` | a name in `case.rs`; any other ends with 127 |
//! | `REQUESTS` | the client's URLs, separated by spaces |
//! | `CC` | the congestion controller, with options if it has any; `petra` |
//! | `SSLKEYLOGFILE` | where the TLS secrets go |
//! | `QLOGDIR` | where the qlogs go |
//!
//! The server listens on port 443 and serves `/www` with `/certs/cert.pem` and
//! `/certs/priv.key`; the client leaves what it downloads in `/downloads`.

use std::env::{var, VarError};
use std::process::ExitCode;

use anyhow::{bail, Context, Result};

mod case;
mod client;
mod config;
mod hq;
mod http3;
mod server;

use case::{Case, Role};

/// Exit code that reports an unsupported test case to the runner.
const UNSUPPORTED: u8 = 127;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(e) => {
            eprintln!("petra-endpoint: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let role = match setting("ROLE")?.as_deref() {
        Some("client") => Role::Client,
        Some("server") => Role::Server,
        other => bail!("ROLE: unknown role (got {other:?}); expected client or server"),
    };
    let name = setting("TESTCASE")?.context("TESTCASE: missing")?;
    let Some(case) = Case::named(&name, role) else {
        eprintln!("petra-endpoint: TESTCASE: unsupported as {role} (got {name})");
        return Ok(ExitCode::from(UNSUPPORTED));
    };
    let settings = config::Settings {
        controller: setting("CC")?.unwrap_or_else(|| "petra".into()),
        keylog: setting("SSLKEYLOGFILE")?.map(Into::into),
        qlog: setting("QLOGDIR")?.map(Into::into),
    };
    match role {
        Role::Client => {
            let urls = setting("REQUESTS")?.context("REQUESTS: missing")?;
            client::run(&case, &settings, &urls)?;
        }
        Role::Server => server::run(&case, &settings)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a variable of the environment. An empty variable counts as missing.
fn setting(name: &str) -> Result<Option<String>> {
    match var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(e) => Err(e).context(name.to_owned()),
    }
}
