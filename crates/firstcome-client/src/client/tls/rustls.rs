//! TLS with rustls on ring, checked against the operating system's authorities and those that are named.

use std::io;
use std::sync::Arc;

use ::rustls::pki_types::pem::PemObject;
use ::rustls::pki_types::{CertificateDer, ServerName};
use ::rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Trust;

/// What makes a TLS connection out of a plain one.
pub(crate) struct ClientTls(TlsConnector);

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl ClientTls {
    /// Reads the authorities. Those of the operating system are files, which are read here.
    pub(crate) fn new(trust: &Trust) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for pem in &trust.authorities {
            let before = roots.len();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|why| format!("authority: {why}"))?;
                roots.add(certificate).map_err(|why| format!("authority: {why}"))?;
            }
            if roots.len() == before {
                return Err("authority: there is no certificate in this PEM text".to_owned());
            }
        }
        if !trust.only_these {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        // The provider is named here, so that the process-wide default stays the program's own business.
        let provider = Arc::new(::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| why.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Secures a connection to a host, which its certificate has to name.
    pub(crate) async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        self.0.connect(name, stream).await
    }
}
