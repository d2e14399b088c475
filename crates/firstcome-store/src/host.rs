//! Hosts and ports, as URLs have them.

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
