//! The server's certificate: the operator's own, or a self-signed one that is made once and kept.
//!
//! A kept certificate stays the same over restarts, so clients need to trust it only once. It is made
//! anew when a name is asked for that it does not cover: without that name it would be of no use.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use model::Env;
use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

const CHAIN_FILE: &str = "certificate.pem";
const KEY_FILE: &str = "certificate.key";

/// Characters in a line of PEM.
const PEM_LINE: usize = 64;

/// The line above the PEM block that says which names a kept certificate covers.
const NAMES_MARK: &str = "names: ";

// Limit: valid from a day ago, because clocks differ, for ten years.
const VALID_BEFORE: Duration = Duration::from_secs(24 * 3600);
const VALID_FOR: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A certificate chain and its key as PEM text.
#[derive(Clone)]
pub struct Certificate {
    chain_pem: String,
    key_pem: String,
    file: Option<PathBuf>,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot read or write {file}")]
    File { file: PathBuf, source: io::Error },
    #[error("cannot make a certificate")]
    Made(#[from] rcgen::Error),
    #[error("no PEM certificate and private key found")]
    Pem(#[source] rustls_pki_types::pem::Error),
    #[error(
        "{file} is no PKCS #12 file with a certificate and its key, or the password is another one"
    )]
    Pfx { file: PathBuf, source: p12_keystore::error::Error },
    #[error("{file} has no private key with its certificate")]
    PfxEmpty { file: PathBuf },
    #[error("the certificate can not be served")]
    Served(#[from] rustls::Error),
}

/// Loads the certificate kept in `dir`, or makes one and keeps it there.
///
/// It covers `localhost`, `127.0.0.1`, `::1`, the name of this host and `extra_names`.
pub fn load_or_create(
    dir: &Path,
    extra_names: &[String],
    env: &Env,
) -> Result<Certificate, CertificateError> {
    let (chain, key) = (dir.join(CHAIN_FILE), dir.join(KEY_FILE));
    if chain.exists() && key.exists() {
        let kept = Certificate::read(&chain, &key)?;
        if extra_names.iter().all(|name| kept.covers(name)) {
            return Ok(kept);
        }
    }
    let made = Certificate::self_signed(extra_names, env)?;
    // The key first: after a crash in between the next start finds no pair and makes both anew.
    write(&key, &made.key_pem, true)?;
    write(&chain, &made.chain_pem, false)?;
    Ok(Certificate { file: Some(chain), ..made })
}

impl Certificate {
    /// Reads the operator's own certificate chain and key.
    pub fn read(chain: &Path, key: &Path) -> Result<Certificate, CertificateError> {
        let read = |file: &Path| {
            let failed = |source| CertificateError::File { file: file.to_owned(), source };
            fs::read_to_string(file).map_err(failed)
        };
        Ok(Certificate {
            chain_pem: read(chain)?,
            key_pem: read(key)?,
            file: Some(chain.to_owned()),
        })
    }

    /// Reads the operator's own certificate chain and key from a PKCS #12 file, as .NET exports them.
    pub fn read_pfx(file: &Path, password: &str) -> Result<Certificate, CertificateError> {
        let failed = |source| CertificateError::File { file: file.to_owned(), source };
        let bytes = fs::read(file).map_err(failed)?;
        let failed = |source| CertificateError::Pfx { file: file.to_owned(), source };
        // Relaxed: a chain need not end in a trusted root.
        let store = KeyStore::from_pkcs12(&bytes, password, Pkcs12ImportPolicy::Relaxed);
        let store = store.map_err(failed)?;
        let (_, found) = store
            .private_key_chain()
            .filter(|(_, found)| !found.certs().is_empty())
            .ok_or_else(|| CertificateError::PfxEmpty { file: file.to_owned() })?;
        let blocks = found.certs().iter().map(|one| pem_block("CERTIFICATE", one.as_der()));
        Ok(Certificate {
            chain_pem: blocks.collect(),
            key_pem: pem_block("PRIVATE KEY", found.key().as_der()),
            file: Some(file.to_owned()),
        })
    }

    /// Makes a certificate that lives in memory only.
    pub fn self_signed(extra_names: &[String], env: &Env) -> Result<Certificate, CertificateError> {
        let names = names(extra_names);
        let mut params = CertificateParams::new(names.clone())?;
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, "localhost");
        subject.push(DnType::OrganizationName, "Orrery self-signed");
        params.distinguished_name = subject;
        // A leaf that is its own issuer: clients that trust it accept it, and it can sign no others.
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let now = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(env.now_seconds());
        params.not_before = now - VALID_BEFORE;
        params.not_after = now + VALID_FOR;
        let key = KeyPair::generate()?;
        let block = params.self_signed(&key)?.pem();
        let chain_pem = format!("{NAMES_MARK}{}\n{block}", names.join(" "));
        Ok(Certificate { chain_pem, key_pem: key.serialize_pem(), file: None })
    }

    /// The chain as PEM blocks, for clients to trust.
    pub fn pem(&self) -> &str {
        self.chain_pem.find("-----BEGIN").map_or("", |start| &self.chain_pem[start..])
    }

    /// Whether we made it: then it covers the addresses of loopback.
    pub fn is_self_signed(&self) -> bool {
        self.chain_pem.starts_with(NAMES_MARK)
    }

    /// Where the chain lies, unless it lives in memory only.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// What a TLS listener needs: HTTP/2 and HTTP/1.1 by ALPN, no client certificates.
    pub fn server_config(&self) -> Result<rustls::ServerConfig, CertificateError> {
        let chain = CertificateDer::pem_slice_iter(self.chain_pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(CertificateError::Pem)?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes())
            .map_err(CertificateError::Pem)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Only our own certificates say what they cover; others are taken as they are.
    fn covers(&self, name: &str) -> bool {
        match self.chain_pem.strip_prefix(NAMES_MARK) {
            Some(rest) => rest.lines().next().unwrap_or_default().split(' ').any(|one| one == name),
            None => true,
        }
    }
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").field("file", &self.file).finish_non_exhaustive()
    }
}

fn names(extra: &[String]) -> Vec<String> {
    let local = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut names = Vec::new();
    for name in local.into_iter().chain(host_name()).chain(extra.iter().cloned()) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The name of this host, where the system tells it without a system call.
fn host_name() -> Option<String> {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let name = files.iter().find_map(|file| fs::read_to_string(file).ok())?;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let name = name.trim();
    name.bytes().all(is_allowed).then(|| name.to_owned())
}

fn pem_block(label: &str, der: &[u8]) -> String {
    let base64 = BASE64.encode(der);
    let mut lines = String::new();
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(PEM_LINE));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn write(file: &Path, text: &str, is_secret: bool) -> Result<(), CertificateError> {
    let failed = |source| CertificateError::File { file: file.to_owned(), source };
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    if is_secret {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut out = options.open(file).map_err(failed)?;
    out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Env {
        Env::fixed(1, 1_700_000_000_000)
    }

    #[test]
    fn a_certificate_is_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let first = load_or_create(dir.path(), &[], &env()).unwrap();
        let again = load_or_create(dir.path(), &["localhost".to_owned()], &env()).unwrap();
        assert_eq!(first.pem(), again.pem());
        assert!(first.pem().starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(again.server_config().unwrap().alpn_protocols, [&b"h2"[..], b"http/1.1"]);
        assert_eq!(again.file(), Some(dir.path().join(CHAIN_FILE).as_path()));
    }

    #[test]
    fn a_new_name_makes_a_new_certificate() {
        let dir = tempfile::tempdir().unwrap();
        let first = load_or_create(dir.path(), &[], &env()).unwrap();
        let names = ["db.example".to_owned(), "10.0.0.7".to_owned()];
        let second = load_or_create(dir.path(), &names, &env()).unwrap();
        assert_ne!(first.pem(), second.pem());
        let third = load_or_create(dir.path(), &names[..1], &env()).unwrap();
        assert_eq!(second.pem(), third.pem());
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        load_or_create(dir.path(), &[], &env()).unwrap();
        let mode = fs::metadata(dir.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }

    #[test]
    fn pkcs12_files_of_dotnet_and_openssl_are_read() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for (name, password, chain) in [
            ("dotnet.pfx", "p@ss w0rd", "dotnet.pem"),
            ("modern.pfx", "secret", "openssl.pem"),
            ("legacy.pfx", "secret", "openssl.pem"),
        ] {
            let file = data.join(name);
            let read = Certificate::read_pfx(&file, password).unwrap();
            let expected = fs::read_to_string(data.join(chain)).unwrap();
            assert_eq!(read.pem().trim(), expected.trim(), "{name}");
            read.server_config().unwrap();
            let wrong = Certificate::read_pfx(&file, "another").unwrap_err();
            assert!(matches!(wrong, CertificateError::Pfx { .. }), "{name}: {wrong}");
        }
        let not_one = Certificate::read_pfx(&data.join("openssl.pem"), "").unwrap_err();
        assert!(matches!(not_one, CertificateError::Pfx { .. }), "{not_one}");
    }

    #[test]
    fn files_that_hold_no_certificate_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.pem");
        assert!(matches!(Certificate::read(&file, &file), Err(CertificateError::File { .. })));
        fs::write(&file, "nothing").unwrap();
        let empty = Certificate::read(&file, &file).unwrap();
        assert!(matches!(empty.server_config(), Err(CertificateError::Pem(_))));
        assert_eq!(empty.pem(), "");
    }

    #[test]
    fn a_certificate_does_not_print_its_key() {
        let made = Certificate::self_signed(&[], &env()).unwrap();
        assert!(!format!("{made:?}").contains("PRIVATE"));
    }
}
