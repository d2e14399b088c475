//! The address of a server, and names as parts of a path or query.

use std::fmt;

/// The host and port of a server that speaks plain HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    host: String,
    port: u16,
}

impl Server {
    /// Reads `http://HOST[:PORT]`; without a scheme, `HOST:PORT` is meant.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong; `https` has its own, as this client speaks no TLS.
    pub fn parse(url: &str) -> Result<Self, String> {
        let wrong = || format!("`{url}` is no server address: write it like http://127.0.0.1:8080");
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => {
                return Err(format!(
                    "`{url}` asks for TLS, which this client does not speak: use the server's http:// address, or run a TLS-terminating proxy beside this client"
                ));
            }
            Some((scheme, _)) => {
                return Err(format!("`{url}` has the scheme `{scheme}`, but only http is spoken"));
            }
            None => url,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#', '@']) || rest.chars().any(char::is_whitespace) {
            return Err(format!(
                "`{url}` has more than a host and a port: write it like http://127.0.0.1:8080"
            ));
        }
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
                (host, after.strip_prefix(':'))
            }
            None => match rest.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            },
        };
        let port = port.map_or(Ok(80), str::parse).map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// `HOST:PORT`, with brackets around an IPv6 address: for connecting and for the `host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority())
    }
}

/// Writes a name so that it is one segment of a path, or one value of a query, whatever is in it (RFC 3986, 2.1).
pub fn encode_segment(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    // A segment of dots alone means "this folder" or "the one above" to everything between here and the server.
    if encoded == "." || encoded == ".." { encoded.replace('.', "%2E") } else { encoded }
}
