use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::Folder;

/// A throw-away certificate authority and a server certificate it signed for `localhost` and `127.0.0.1`.
#[derive(Debug)]
pub struct Certificates {
    folder: Folder,
    authority: String,
    issuer: Box<CertifiedIssuer<'static, KeyPair>>,
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
        // OpenSSL takes a certificate for one that signed itself where its name is that of the authority.
        params.distinguished_name.push(DnType::CommonName, "an authority");
        let key = KeyPair::generate().expect("a key can be generated");
        let issuer =
            CertifiedIssuer::self_signed(params, key).expect("an authority can sign itself");

        let names = ["localhost", "127.0.0.1"];
        let (server, server_key) = issued(&issuer, &names, false);
        let folder = Folder::new("certificates");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("the folder can be written to");
        };
        let authority = issuer.pem();
        write("ca.pem", &authority);
        write("server.pem", &server);
        write("server.key", &server_key);
        Self { folder, authority, issuer: Box::new(issuer) }
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

    /// Signs one more certificate for these names, of a server or a client; returns it and its key as PEM text. One that is
    /// expired was valid until the end of the year 2000.
    ///
    /// # Panics
    ///
    /// Panics where a name is none, or no key can be made.
    #[must_use]
    pub fn issue(&self, names: &[&str], expired: bool) -> (String, String) {
        issued(&self.issuer, names, expired)
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

fn issued(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    names: &[&str],
    expired: bool,
) -> (String, String) {
    let key = KeyPair::generate().expect("a key can be generated");
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("the names are valid");
    if expired {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2000, 12, 31);
    }
    let signed = params.signed_by(&key, issuer).expect("the authority can sign");
    (signed.pem(), key.serialize_pem())
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}
