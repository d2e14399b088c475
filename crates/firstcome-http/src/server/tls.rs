//! TLS of the server's own: a certificate and its key from files, which are read again when they change.
//!
//! HTTP/1.1 only: a claim is one small request at a time on its connection, and limits count connections.

use crate::metrics::Metrics;
use firstcome_node::log;
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The files, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and behind it those that lead to its authority.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities whose certificates clients must show; none where they need no certificate.
    pub client_ca: Option<PathBuf>,
}

/// What the files have.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// What new connections are secured with.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    files: TlsFiles,
    /// What was read first: files that change before [`Tls::watch`] begins are noticed, too.
    first: Contents,
    now: RwLock<TlsAcceptor>,
}

impl std::fmt::Debug for Tls {
    /// Does not show the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.files.fmt(f)
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// A sentence that names the file and what is wrong with it.
    pub fn read(files: TlsFiles) -> Result<Self, String> {
        let first = Contents::read(&files)?;
        let now = RwLock::new(acceptor(&files, &first)?);
        Ok(Self(Arc::new(Inner { files, first, now })))
    }

    /// Returns what a connection that comes now is secured with.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.0.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes new files for the connections that come from then on, until `stop`. Files that cannot be used change nothing,
    /// and are logged once.
    pub async fn watch(self, metrics: Arc<Metrics>, stop: CancellationToken) {
        let files = &self.0.files;
        let mut known = Ok(self.0.first.clone());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(LOOK_EVERY) => {}
            }
            let found = Contents::read(files);
            if found == known {
                continue;
            }
            let new = found.as_ref().map_err(String::clone);
            let new = new.and_then(|contents| acceptor(files, contents));
            metrics.set("tls_trouble", u64::from(new.is_err()));
            match new {
                Ok(new) => {
                    *self.0.now.write().unwrap_or_else(PoisonError::into_inner) = new;
                    let cert = files.cert.display();
                    log!(TlsChanged, %cert, "new connections are secured with the new files");
                }
                Err(why) => {
                    log!(
                        TlsUnusable,
                        "the files of TLS changed, and the old ones are used on: {why}"
                    );
                }
            }
            known = found;
        }
    }
}

impl Contents {
    fn read(files: &TlsFiles) -> Result<Self, String> {
        let read = |setting: &str, file: &Path| {
            std::fs::read(file)
                .map_err(|why| format!("{setting}: cannot read {}: {why}", file.display()))
        };
        let client_ca = files.client_ca.as_ref().map(|file| read("tls_client_ca", file));
        Ok(Self {
            cert: read("tls_cert", &files.cert)?,
            key: read("tls_key", &files.key)?,
            client_ca: client_ca.transpose()?,
        })
    }
}

fn certificates(text: &[u8], setting: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = read.map_err(|why| format!("{setting} is not PEM: {why}"))?;
    if certificates.is_empty() {
        return Err(format!("{setting} has no certificate"));
    }
    Ok(certificates)
}

fn acceptor(files: &TlsFiles, contents: &Contents) -> Result<TlsAcceptor, String> {
    let Contents { cert, key, client_ca } = contents;
    let chain = certificates(cert, "tls_cert")?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|why| format!("tls_key has no private key: {why}"))?;
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|why| why.to_string())?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(text) => {
            let mut authorities = RootCertStore::empty();
            for authority in certificates(text, "tls_client_ca")? {
                let added = authorities.add(authority);
                added.map_err(|why| format!("tls_client_ca cannot be used: {why}"))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
            let verifier = verifier.build();
            builder.with_client_cert_verifier(verifier.map_err(|why| why.to_string())?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|why| {
        let (cert, key) = (files.cert.display(), files.key.display());
        format!("tls_cert {cert} and tls_key {key} cannot be used together: {why}")
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_testbed::Certificates;
    use prometheus_client::registry::Registry;

    #[tokio::test(start_paused = true)]
    async fn files_that_change_before_they_are_watched_are_taken_too() {
        let certificates = Certificates::new();
        let folder = certificates.authority_file();
        let file = |name: &str| folder.with_file_name(name);
        let files = TlsFiles { cert: file("mine.pem"), key: file("mine.key"), client_ca: None };
        let put = || {
            let (cert, key) = certificates.issue(&["localhost"], false);
            std::fs::write(&files.cert, cert).expect("it can be written");
            std::fs::write(&files.key, key).expect("it can be written");
        };
        put();
        let tls = Tls::read(files.clone()).expect("they fit together");
        let before = tls.acceptor();
        put();
        let stop = CancellationToken::new();
        let metrics = Arc::new(Metrics::new(Registry::default(), Vec::new()));
        let watch = tokio::spawn(tls.clone().watch(metrics, stop.clone()));
        sleep(2 * LOOK_EVERY).await;
        assert!(!Arc::ptr_eq(before.config(), tls.acceptor().config()), "the old files stay");
        stop.cancel();
        watch.await.expect("it ends");
    }
}
