//! No TLS: this was built without the feature `tls`.

use std::io;

use tokio::net::TcpStream;

use crate::error::StoreError;

/// What a connection over TLS would be.
pub(crate) type SecuredStream = TcpStream;

/// There is none.
#[derive(Debug, Clone)]
pub(crate) enum Tls {}

/// There is none.
pub(crate) enum TlsTo {}

impl Tls {
    /// Says that there is no TLS.
    pub(crate) fn new(
        _trust: Option<&str>,
        _identity: Option<&(String, String)>,
        _wrong: impl Fn(String) -> StoreError,
    ) -> Result<Self, StoreError> {
        Err(StoreError::no_tls_built())
    }

    pub(crate) fn to(&self, _host: &str) -> Result<TlsTo, String> {
        match *self {}
    }
}

impl TlsTo {
    pub(crate) async fn connect(self, _stream: TcpStream) -> io::Result<SecuredStream> {
        match self {}
    }
}
