//! One download: what came, whether it is what the server has, where it goes.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use base64::prelude::{Engine, BASE64_STANDARD};
use quiche::h3::{Header, HeaderRef};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use url::Url;

use crate::{field, generated, get};

/// A download, from its request to its last byte.
pub struct Download {
    /// The URL.
    pub url: Url,
    /// Path of the file, if the body is to be kept.
    path: Option<PathBuf>,
    partial: Option<NamedTempFile>,
    status: Option<u16>,
    length: Option<u64>,
    bytes: u64,
    check: Check,
    digest: Option<String>,
    begun: Option<Instant>,
    last: Option<Instant>,
    complete: bool,
    verified: bool,
    error: Option<String>,
}

/// Verification of a body, apart from its length.
enum Check {
    Nothing,
    /// Both ends have the block that it repeats.
    Generated,
    /// The server sends a digest, before the body or after it.
    Sha256(Sha256),
}

/// Result of a download, as printed in the summary.
#[derive(Serialize)]
pub struct Report {
    /// The URL.
    pub url: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Bytes of the body.
    pub bytes: u64,
    /// From the request to the last byte.
    pub seconds: f64,
    /// All of it came, and is what the server has: byte for byte, or by a digest.
    pub verified: bool,
    /// The reason for which it failed.
    pub error: Option<String>,
}

impl Download {
    /// A download of `url`, whose file goes to `path` if there is one.
    pub fn new(url: Url, path: Option<PathBuf>) -> Download {
        Download {
            url,
            path,
            partial: None,
            status: None,
            length: None,
            bytes: 0,
            check: Check::Nothing,
            digest: None,
            begun: None,
            last: None,
            complete: false,
            verified: false,
            error: None,
        }
    }

    /// The header section of its request, which goes out now.
    pub fn request(&mut self, now: Instant) -> Vec<HeaderRef<'_>> {
        self.begun = Some(now);
        let path = &self.url[url::Position::BeforePath..url::Position::AfterQuery];
        let authority = &self.url[url::Position::BeforeHost..url::Position::AfterPort];
        let agent = concat!("petra/", env!("CARGO_PKG_VERSION"));
        get(
            authority,
            path,
            &[("te", "trailers"), ("user-agent", agent)],
        )
    }

    /// Takes a header section of the response: the first, or the trailers.
    /// Returns the length of the body when it is known.
    pub fn headers(&mut self, list: &[Header], now: Instant) -> Result<Option<u64>> {
        let field = |name| std::str::from_utf8(field(list, name)?).ok();
        if let Some(digest) = field("content-digest").or(field("repr-digest")) {
            self.digest = sha256_of(digest);
        }
        if self.status == Some(200) {
            return Ok(None);
        }
        self.last = Some(now);
        self.status = field(":status").and_then(|status| status.parse().ok());
        match self.status {
            Some(100..=199) => return Ok(None),
            Some(200) => {}
            Some(status) => bail!("response: unsuccessful status (got {status}); expected 200"),
            None => bail!("response: missing status; expected 200"),
        }
        self.length = field("content-length").and_then(|length| length.parse().ok());
        let announced = field("trailer").is_some_and(|names| names.contains("digest"));
        if field(generated::FIELD.0) == Some(generated::FIELD.1) {
            self.check = Check::Generated;
        } else if announced || self.digest.is_some() {
            self.check = Check::Sha256(Sha256::new());
        }
        if let Some(path) = &self.path {
            let folder = path.parent().unwrap_or(Path::new("."));
            let partial = tempfile::Builder::new()
                // Less the umask, as of any new file.
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(folder);
            self.partial = Some(partial.with_context(|| format!("cannot write {path:?}"))?);
        }
        Ok(self.length)
    }

    /// Takes the next bytes of the body.
    pub fn data(&mut self, bytes: &[u8], now: Instant) -> Result<()> {
        self.last = Some(now);
        match &mut self.check {
            Check::Nothing => {}
            Check::Sha256(digest) => digest.update(bytes),
            Check::Generated => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let offset = self.bytes + (bytes.len() - rest.len()) as u64;
                    let expected = generated::block_from(offset, rest.len());
                    ensure!(
                        rest.starts_with(expected),
                        "body: wrong bytes after offset {offset}"
                    );
                    rest = &rest[expected.len()..];
                }
            }
        }
        self.bytes += bytes.len() as u64;
        if let (Some(file), Some(path)) = (&mut self.partial, &self.path) {
            let written = file.write_all(bytes);
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Takes the end of the response. A download that is not whole, or not what
    /// the server has, fails, and leaves no file.
    pub fn finish(&mut self) -> Result<()> {
        let length = self.length.unwrap_or(self.bytes);
        ensure!(
            self.status == Some(200),
            "response: missing; expected status 200"
        );
        ensure!(
            self.bytes == length,
            "body: incomplete (got {} bytes); expected {length}",
            self.bytes
        );
        self.verified = match &self.check {
            Check::Nothing => false,
            Check::Generated => true,
            Check::Sha256(ours) => {
                let ours = BASE64_STANDARD.encode(ours.clone().finalize());
                let theirs = self
                    .digest
                    .as_ref()
                    .context("body: missing digest; expected one in the trailers")?;
                ensure!(
                    ours == *theirs,
                    "body: wrong digest (got {ours}); expected {theirs}"
                );
                true
            }
        };
        if let (Some(file), Some(path)) = (self.partial.take(), &self.path) {
            let kept = file.persist(path);
            kept.with_context(|| format!("cannot write {}", path.display()))?;
        }
        self.complete = true;
        Ok(())
    }

    /// Fails the download. The first reason is kept, without control characters: parts of it may be
    /// the server's, and the reader a terminal.
    pub fn fail(&mut self, reason: impl ToString) {
        self.partial = None;
        let reason = || reason.to_string().replace(char::is_control, "\u{fffd}");
        self.error.get_or_insert_with(reason);
    }

    /// The time of the request, if it has been sent.
    pub fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// The time at which the last byte so far arrived.
    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// Returns true if the whole body arrived and passed its verification.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the result of the download.
    pub fn report(&self) -> Report {
        let time = self.begun.zip(self.last);
        Report {
            url: self.url.to_string(),
            status: self.status,
            bytes: self.bytes,
            seconds: time.map_or(0.0, |(begun, last)| (last - begun).as_secs_f64()),
            verified: self.verified,
            error: self.error.clone(),
        }
    }
}

/// The SHA-256 digest, in Base64, of a field such as
/// `sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:` (RFC 9530, 2).
fn sha256_of(field: &str) -> Option<String> {
    let mut digests = field.split(',').map(str::trim);
    let digest = digests.find_map(|digest| digest.strip_prefix("sha-256=:"))?;
    Some(digest.strip_suffix(':')?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A download whose response begins with these fields.
    fn response(fields: &[(&str, &str)]) -> Download {
        let url = Url::parse("https://localhost/x").unwrap();
        let mut download = Download::new(url, None);
        download.request(Instant::now());
        download.headers(&section(fields), Instant::now()).unwrap();
        download
    }

    fn section(fields: &[(&str, &str)]) -> Vec<Header> {
        let header = |(name, value): &(&str, &str)| Header::new(name.as_bytes(), value.as_bytes());
        fields.iter().map(header).collect()
    }

    /// Returns the two parts of `finish`'s message after this body and these trailers.
    fn end(mut download: Download, body: &[u8], trailers: &[(&str, &str)]) -> String {
        let now = Instant::now();
        let (first, second) = body.split_at(body.len() / 3);
        let taken = download
            .data(first, now)
            .and_then(|()| download.data(second, now));
        if !trailers.is_empty() {
            download.headers(&section(trailers), now).unwrap();
        }
        let result = taken.and_then(|()| download.finish());
        match result {
            Ok(()) => format!("verified {}", download.report().verified),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn a_generated_body_is_compared_byte_for_byte() {
        let response = || {
            response(&[
                (":status", "200"),
                generated::FIELD,
                ("content-length", "100000"),
            ])
        };
        let body = generated::block_from(0, 65_536);
        let mut body = [body, generated::block_from(65_536, 100_000 - 65_536)].concat();
        assert_eq!(end(response(), &body, &[]), "verified true");
        assert_eq!(
            end(response(), &body[..99_999], &[]),
            "body: incomplete (got 99999 bytes); expected 100000"
        );
        body[70_000] ^= 1;
        assert!(end(response(), &body, &[]).starts_with("body: wrong bytes after offset "));
    }

    #[test]
    fn a_digest_is_compared_before_or_after_the_body() {
        // printf body | openssl dgst -sha256 -binary | base64
        let right = (
            "content-digest",
            "md5=:x:, sha-256=:Iw2DWNyOiJC0xY3utikS7i8gNXrpKlzIYbmOaP4xrLU=:",
        );
        let wrong = (
            "content-digest",
            "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
        );
        let status = (":status", "200");
        let announced = response(&[status, ("trailer", "content-digest")]);
        assert_eq!(end(announced, b"body", &[right]), "verified true");
        let announced = response(&[status, ("trailer", "content-digest")]);
        assert!(end(announced, b"body", &[wrong]).starts_with("body: wrong digest (got "));
        let announced = response(&[status, ("trailer", "content-digest")]);
        assert_eq!(
            end(announced, b"body", &[]),
            "body: missing digest; expected one in the trailers"
        );
        assert_eq!(
            end(response(&[status, right]), b"body", &[]),
            "verified true"
        );
        assert_eq!(end(response(&[status]), b"body", &[]), "verified false");
    }
}
