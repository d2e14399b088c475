//! Hosts, ports and escapes, as URLs have them, and how a connection to one is set up.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// Reads `HOST[:PORT]`; gives what is wrong with it otherwise.
pub(crate) fn read_host(text: &str, default_port: u16) -> Result<Host, &'static str> {
    let (name, port) = if let Some(rest) = text.strip_prefix('[') {
        let (name, rest) = rest.split_once(']').ok_or("a [ has no ]")?;
        (name, rest.strip_prefix(':'))
    } else {
        match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        }
    };
    if name.is_empty() {
        return Err("it names no host");
    }
    let port = match port {
        None => default_port,
        Some(port) => port.parse().map_err(|_| "a port is not a number from 0 to 65535")?,
    };
    Ok(Host { name: name.to_owned(), port })
}

/// Resolves `%` escapes; nothing at all is `None`.
pub(crate) fn decode(text: &str) -> Result<Option<String>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    let bad = || "a % is not followed by two hexadecimal digits of UTF-8 text";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
            let (high, low) = (digit().ok_or_else(bad)?, digit().ok_or_else(bad)?);
            bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map(Some).map_err(|_| bad())
}

/// Small commands must leave at once, and a peer that is gone must be noticed by the kernel, too.
pub(crate) fn prepare(stream: TcpStream, heartbeat: Duration) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(heartbeat.max(Duration::from_secs(1)));
    socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}
