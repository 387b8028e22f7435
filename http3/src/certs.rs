//! Certificates for a server that was given none.
//!
//! A folder keeps an authority, made once, and a certificate of its for each
//! address that a server listened at. Clients trust the authority: `--ca
//! DIR/ca.pem`. Files appear whole or not at all, so that servers may start at
//! the same time, and are never changed.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// The path of a PEM file with a certificate for `localhost`, the loopback
/// addresses and `listen`, and its private key.
pub fn for_address(folder: &Path, listen: IpAddr) -> Result<PathBuf> {
    let leaf = folder.join(format!("server-{listen}.pem").replace(':', "_"));
    if !leaf.exists() {
        make(folder, listen, &leaf)
            .with_context(|| format!("cannot make a certificate in {}", folder.display()))?;
    }
    Ok(leaf)
}

fn make(folder: &Path, listen: IpAddr, leaf: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    // Private keys are nothing to commit.
    fs::write(folder.join(".gitignore"), "*\n")?;

    let ca = ca_params()?;
    let ca_key_path = folder.join("ca-key.pem");
    write_new(&ca_key_path, 0o600, &KeyPair::generate()?.serialize_pem())?;
    let ca_key = KeyPair::from_pem(&fs::read_to_string(&ca_key_path)?)?;
    write_new(
        &folder.join("ca.pem"),
        0o644,
        &ca.self_signed(&ca_key)?.pem(),
    )?;

    let mut names = vec!["localhost".into(), "127.0.0.1".into(), "::1".into()];
    if !listen.is_loopback() && !listen.is_unspecified() {
        names.push(listen.to_string());
    }
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "localhost");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &Issuer::new(ca, ca_key))?;
    write_new(leaf, 0o600, &(certificate.pem() + &key.serialize_pem()))
}

/// The authority is the same every time, but for its key.
fn ca_params() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(vec![])?;
    params
        .distinguished_name
        .push(DnType::CommonName, "PETRA example authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

/// Writes a file in one step, unless there is one already.
fn write_new(path: &Path, mode: u32, text: &str) -> Result<()> {
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    match file.persist_noclobber(path) {
        Err(e) if e.error.kind() != ErrorKind::AlreadyExists => Err(e.into()),
        _ => Ok(()),
    }
}
