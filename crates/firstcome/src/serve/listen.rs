//! The addresses a server listens on.

use tokio::net::{TcpListener, TcpSocket};

/// Bytes the kernel keeps for a peer that has not read them yet: beyond them an answer waits, and after `idle_ms` without a
/// byte moved the connection is closed. Left to itself the kernel takes megabytes for each.
const SEND_BUFFER: u32 = 256 << 10;

/// Connections that may wait to be accepted; the kernel cuts it down to `net.core.somaxconn`.
///
/// With the usual 128, a flood that connects all at once has its rest wait a whole second for the kernel to try again.
const BACKLOG: u32 = 4_096;

/// Listens on the address of a setting.
pub(super) async fn listen(setting: &str, address: &str) -> anyhow::Result<TcpListener> {
    bind(address).await.map_err(|why| {
        if why.kind() == std::io::ErrorKind::AddrInUse {
            return anyhow::anyhow!(
                "{address} is in use by another program: choose another with {setting}, \
                 or port 0 for any that is free"
            );
        }
        anyhow::anyhow!("cannot listen on {address}: {why}")
    })
}

async fn bind(address: &str) -> std::io::Result<TcpListener> {
    let mut refused = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for at in tokio::net::lookup_host(address).await? {
        let socket = if at.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A server that is started again must not wait for the connections of the one before it.
        socket.set_reuseaddr(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        match socket.bind(at).and_then(|()| socket.listen(BACKLOG)) {
            Ok(listener) => return Ok(listener),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}
