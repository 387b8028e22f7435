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
use boring::asn1::Asn1Time;
use boring::bn::{BigNum, MsbOption};
use boring::ec::{EcGroup, EcKey};
use boring::error::ErrorStack;
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::{PKey, Private};
use boring::x509::extension::{
    BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName,
};
use boring::x509::{X509Builder, X509Name, X509NameRef, X509};

/// End of every certificate: 2099-12-31, in Unix time.
const NOT_AFTER: i64 = 4_102_358_400;

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

    let (key_path, path) = (folder.join("ca-key.pem"), folder.join("ca.pem"));
    write_new(&key_path, 0o600, &new_key()?.private_key_to_pem_pkcs8()?)?;
    let ca_key = PKey::private_key_from_pem(&fs::read(&key_path)?)?;
    write_new(&path, 0o644, &authority(&ca_key)?.to_pem()?)?;
    let ca = X509::from_pem(&fs::read(&path)?)?;

    let key = new_key()?;
    let mut text = certificate(listen, &key, ca.subject_name(), &ca_key)?.to_pem()?;
    text.extend(key.private_key_to_pem_pkcs8()?);
    write_new(leaf, 0o600, &text)
}

fn new_key() -> Result<PKey<Private>, ErrorStack> {
    let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    PKey::from_ec_key(EcKey::generate(&curve)?)
}

/// Returns the certificate of an authority that signs for servers.
fn authority(key: &PKey<Private>) -> Result<X509, ErrorStack> {
    let name = common_name("PETRA example authority")?;
    let mut builder = builder(&name, key, &name)?;
    let constraints = BasicConstraints::new().critical().ca().pathlen(0).build()?;
    let usage = KeyUsage::new().critical().key_cert_sign().build()?;
    builder.append_extension(&constraints)?;
    builder.append_extension(&usage)?;
    builder.sign(key, MessageDigest::sha256())?;
    Ok(builder.build())
}

/// Returns the certificate of a server at `listen`.
fn certificate(
    listen: IpAddr,
    key: &PKey<Private>,
    issuer: &X509NameRef,
    issuer_key: &PKey<Private>,
) -> Result<X509, ErrorStack> {
    let name = common_name("localhost")?;
    let mut builder = builder(&name, key, issuer)?;
    let mut names = SubjectAlternativeName::new();
    names.dns("localhost").ip("127.0.0.1").ip("::1");
    if !listen.is_loopback() && !listen.is_unspecified() {
        names.ip(&listen.to_string());
    }
    let names = names.build(&builder.x509v3_context(None, None))?;
    let usage = ExtendedKeyUsage::new().server_auth().build()?;
    builder.append_extension(&names)?;
    builder.append_extension(&usage)?;
    builder.sign(issuer_key, MessageDigest::sha256())?;
    Ok(builder.build())
}

fn common_name(text: &str) -> Result<X509Name, ErrorStack> {
    let mut name = X509Name::builder()?;
    name.append_entry_by_nid(Nid::COMMONNAME, text)?;
    Ok(name.build())
}

/// Returns a certificate that lacks its extensions and its signature.
fn builder(
    name: &X509NameRef,
    key: &PKey<Private>,
    issuer: &X509NameRef,
) -> Result<X509Builder, ErrorStack> {
    // RFC 5280, 4.1.2.2: positive, unique, and at most 20 octets.
    let mut serial = BigNum::new()?;
    serial.rand(159, MsbOption::MAYBE_ZERO, false)?;
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    let serial = serial.to_asn1_integer()?;
    let (start, end) = (Asn1Time::from_unix(0)?, Asn1Time::from_unix(NOT_AFTER)?);
    builder.set_serial_number(&serial)?;
    builder.set_subject_name(name)?;
    builder.set_issuer_name(issuer)?;
    builder.set_pubkey(key)?;
    builder.set_not_before(&start)?;
    builder.set_not_after(&end)?;
    Ok(builder)
}

/// Writes a file in one step, unless there is one already.
fn write_new(path: &Path, mode: u32, text: &[u8]) -> Result<()> {
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text)?;
    match file.persist_noclobber(path) {
        Err(e) if e.error.kind() != ErrorKind::AlreadyExists => Err(e.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use boring::stack::Stack;
    use boring::x509::store::X509StoreBuilder;
    use boring::x509::X509StoreContext;

    use super::*;

    fn read(path: &Path) -> X509 {
        X509::from_pem(&fs::read(path).unwrap()).unwrap()
    }

    /// True if a client that trusts `authority` accepts `leaf` for an address.
    fn verifies(authority: &X509, leaf: &X509, address: &str) -> bool {
        let mut store = X509StoreBuilder::new().unwrap();
        store.add_cert(authority).unwrap();
        let (store, chain) = (store.build(), Stack::new().unwrap());
        let mut context = X509StoreContext::new().unwrap();
        let verified = context.init(&store, leaf, &chain, |context| {
            context
                .verify_param_mut()
                .set_ip(address.parse().unwrap())?;
            context.verify_cert()
        });
        verified.unwrap()
    }

    #[test]
    fn an_authority_signs_for_each_address_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let leaf =
            |listen: &str| read(&for_address(folder.path(), listen.parse().unwrap()).unwrap());
        let first = leaf("192.0.2.1");
        let authority = read(&folder.path().join("ca.pem"));
        let second = leaf("2001:db8::1");
        assert!(verifies(&authority, &first, "192.0.2.1"));
        assert!(verifies(&authority, &first, "127.0.0.1"));
        assert!(!verifies(&authority, &first, "2001:db8::1"));
        assert!(verifies(&authority, &second, "2001:db8::1"));
        assert_ne!(
            first.serial_number().to_bn().unwrap(),
            second.serial_number().to_bn().unwrap()
        );
    }
}
