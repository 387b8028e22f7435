//! HTTP/3 on quiche, for programs that choose the congestion controller.
//!
//! - the protocol, without sockets: [`Http3`] with an [`Application`], such as [`Requests`]
//!   or [`Responses`]
//! - connections over UDP: [`udp`], [`Client`], [`Session`] and [`accept`]
//! - around them: [`Transport`], [`Controller`] and [`Limits`] for the command line, [`Logs`],
//!   [`certs`], [`tls`], [`warn`]
//!
//! The program makes the [`quiche::Config`], and the controller is a name there. This crate
//! does not depend on one.

pub mod accept;
pub mod certs;
mod client;
mod content;
mod download;
mod generated;
mod http3;
mod limits;
mod logs;
mod qlog;
mod requests;
mod responses;
mod session;
pub mod tls;
mod token;
mod transport;
pub mod udp;
mod warn;

pub use client::{addresses, Client};
pub use content::Content;
pub use download::{Download, Report};
pub use http3::{expire, field, get, Application, ByReference, Connection, Http3};
pub use limits::{Handshakes, Limits};
pub use logs::Logs;
pub use requests::{Progress, Requests};
pub use responses::Responses;
pub use session::{Connector, Session};
pub use transport::{parse_time, Controller, Transport, WRITE_AHEAD};
pub use warn::warn;
