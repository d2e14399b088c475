//! TLS with rustls, checked against the operating system's authorities or those that are named.

use std::io;
use std::sync::Arc;

use ::rustls::pki_types::pem::PemObject;
use ::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use ::rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::error::StoreError;

/// A connection over TLS.
pub(crate) type SecuredStream = tokio_rustls::client::TlsStream<TcpStream>;

/// What makes a TLS connection out of a plain one.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

/// The same, to one host.
pub(crate) struct TlsTo(TlsConnector, ServerName<'static>);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Trusts these authorities, PEM text, or those of the operating system, and shows an identity, chain and key as
    /// PEM text, where a server asks for one; `wrong` says what is wrong with them otherwise.
    pub(crate) fn new(
        trust: Option<&str>,
        identity: Option<&(String, String)>,
        wrong: impl Fn(String) -> StoreError,
    ) -> Result<Self, StoreError> {
        Self::read(trust, identity).map_err(wrong)
    }

    /// Returns what connects to a host, which its certificate has to name.
    pub(crate) fn to(&self, host: &str) -> Result<TlsTo, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        Ok(TlsTo(self.0.clone(), name))
    }

    fn read(trust: Option<&str>, identity: Option<&(String, String)>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match trust {
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                    let certificate = certificate.map_err(|error| format!("authority: {error}"))?;
                    roots.add(certificate).map_err(|error| format!("authority: {error}"))?;
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
            }
        }
        // The provider is named here, so that the process-wide default stays the program's own business.
        let provider = Arc::new(::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| format!("certificate: {error}"))?;
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
                    .map_err(|error| format!("key: {error}"))?;
                config.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
            }
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

impl TlsTo {
    pub(crate) async fn connect(self, stream: TcpStream) -> io::Result<SecuredStream> {
        self.0.connect(self.1, stream).await
    }
}
