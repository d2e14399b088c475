//! No TLS: this was built without the feature `tls`.

use std::io;

use tokio::net::TcpStream;

use super::Trust;

/// There is none.
#[derive(Debug)]
pub(crate) enum ClientTls {}

impl ClientTls {
    /// Says that there is no TLS.
    pub(crate) fn new(_trust: &Trust) -> Result<Self, String> {
        Err("an https:// address needs the feature `tls` of firstcome-client".to_owned())
    }

    pub(crate) async fn connect(&self, _host: &str, _stream: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}
