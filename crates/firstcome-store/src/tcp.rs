//! How a TCP connection is set up.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// Small commands must leave at once, and a peer that is gone must be noticed by the kernel, too.
pub(crate) fn prepare(stream: TcpStream, heartbeat: Duration) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(heartbeat.max(Duration::from_secs(1)));
    socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}
