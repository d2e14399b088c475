use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::Folder;

/// A throw-away certificate authority and a server certificate it signed for `localhost` and `127.0.0.1`.
#[derive(Debug)]
pub struct Certificates {
    folder: Folder,
    authority: String,
}

impl Certificates {
    /// Makes a new authority and a server certificate, and writes them as PEM files.
    ///
    /// # Panics
    ///
    /// Panics where keys or files cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key can be generated");
        let issuer =
            CertifiedIssuer::self_signed(params, key).expect("an authority can sign itself");

        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let server_key = KeyPair::generate().expect("a key can be generated");
        let server = CertificateParams::new(names)
            .expect("both names are valid")
            .signed_by(&server_key, &issuer)
            .expect("the authority can sign");

        let folder = Folder::new("certificates");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("the folder can be written to");
        };
        let authority = issuer.pem();
        write("ca.pem", &authority);
        write("server.pem", &server.pem());
        write("server.key", &server_key.serialize_pem());
        Self { folder, authority }
    }

    /// Returns the authority's certificate as PEM text, for the client to trust.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the server's certificate and its key as PEM text.
    ///
    /// # Panics
    ///
    /// Panics where they cannot be read back.
    #[must_use]
    pub fn identity(&self) -> (String, String) {
        let read = |name| std::fs::read_to_string(self.file(name)).expect("it was written");
        (read("server.pem"), read("server.key"))
    }

    /// Returns the file with the authority's certificate.
    #[must_use]
    pub fn authority_file(&self) -> PathBuf {
        self.file("ca.pem")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}
