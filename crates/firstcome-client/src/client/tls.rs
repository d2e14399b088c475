//! TLS, where it was built in.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod rustls;

#[cfg(not(feature = "tls"))]
pub(crate) use self::absent::ClientTls;
#[cfg(feature = "tls")]
pub(crate) use self::rustls::ClientTls;

/// Which authorities are trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust {
    /// Certificates of authorities, PEM text.
    pub(crate) authorities: Vec<Vec<u8>>,
    /// Whether those of the operating system are not.
    pub(crate) only_these: bool,
}
