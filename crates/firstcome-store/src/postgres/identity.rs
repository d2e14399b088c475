//! The process id of the server at the other end of a connection, which shows whether there is a pooler in between.

use std::future::{Ready, ready};
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_postgres::Client;
use tokio_postgres::tls::TlsConnect;

use super::dial::Unbound;

/// A request to cancel, as it is sent over a connection of its own: length, code, process, secret.
///
/// Source: the PostgreSQL documentation, "Message Formats", CancelRequest.
const PROCESS: std::ops::Range<usize> = 8..12;

/// Reads the number out of a request to cancel that is sent to nobody: the client gives it in no other way.
pub(super) async fn process_id(client: &Client) -> Option<i32> {
    let (here, mut there) = tokio::io::duplex(64);
    // The yes to the question for TLS, where it is asked.
    there.write_all(b"S").await.ok()?;
    client.cancel_token().cancel_query_raw(here, Through).await.ok()?;
    let mut said = Vec::new();
    there.read_to_end(&mut said).await.ok()?;
    // That question has eight bytes.
    let request = if said.len() > 16 { said.get(8..)? } else { &said };
    let process: [u8; 4] = request.get(PROCESS)?.try_into().ok()?;
    Some(i32::from_be_bytes(process))
}

/// No TLS at all, for a stream that stays in this process.
struct Through;

impl TlsConnect<DuplexStream> for Through {
    type Stream = Unbound<DuplexStream>;
    type Error = io::Error;
    type Future = Ready<io::Result<Unbound<DuplexStream>>>;

    fn connect(self, stream: DuplexStream) -> Self::Future {
        ready(Ok(Unbound(stream)))
    }
}
