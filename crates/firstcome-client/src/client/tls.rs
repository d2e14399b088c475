//! TLS, where it was built in.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod rustls;
mod trust;

#[cfg(not(feature = "tls"))]
pub(crate) use self::absent::Tls;
#[cfg(feature = "tls")]
pub(crate) use self::rustls::ClientTls;
pub(crate) use self::trust::Trust;
