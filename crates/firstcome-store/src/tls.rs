//! TLS as a client, where it was built in.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod rustls;

#[cfg(not(feature = "tls"))]
use self::absent as built;
pub(crate) use self::built::Tls;
#[cfg(feature = "postgres")]
pub(crate) use self::built::{SecuredStream, TlsTo};
#[cfg(feature = "tls")]
use self::rustls as built;
