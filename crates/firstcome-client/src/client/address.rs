//! The address of a server, and names as parts of a path or query.

use std::fmt;

/// The scheme, host and port of a server, and the path under which a proxy shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    secure: bool,
    host: String,
    port: u16,
    /// Empty, or without a `/` at its end.
    path: String,
}

impl Server {
    /// Reads `http://HOST[:PORT][/PATH]` or `https://HOST[:PORT][/PATH]`; without a scheme, `http://` is meant.
    ///
    /// The port is 80, or 443 with `https`, if it is left out.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong.
    pub fn parse(url: &str) -> Result<Self, String> {
        let shown = without_login(url);
        let wrong =
            || format!("`{shown}` is no server address: write it like http://127.0.0.1:8080");
        let (secure, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some((scheme, _)) => {
                return Err(format!(
                    "`{shown}` has the scheme `{scheme}`, but only http and https are spoken"
                ));
            }
            None => (false, url),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (rest, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_path = path.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._~/".contains(&c));
        if rest.contains(['?', '#', '@']) || rest.chars().any(char::is_whitespace) || !is_path {
            return Err(format!(
                "`{shown}` has more than a host, a port and a path: write it like http://127.0.0.1:8080"
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
        let otherwise = if secure { 443 } else { 80 };
        let port = port.map_or(Ok(otherwise), str::parse).map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { secure, host: host.to_owned(), port, path: path.to_owned() })
    }

    /// `HOST:PORT`, with brackets around an IPv6 address: for connecting and for the `host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Whether it is talked to over TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path under which a proxy shows the server, such as `/queue`; empty if it has the host for itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host, which its certificate has to name: a name, or an IP address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// Returns a URL as it may be printed: somebody may have taken that of a store, which has a password before its `@` or behind
/// its `?`.
fn without_login(url: &str) -> String {
    let (scheme, rest) = url.find("://").map_or(("", url), |at| url.split_at(at + 3));
    // Which of the two it is cannot be told: either may be part of a password.
    if rest.rsplit_once('@').is_some_and(|(before, _)| before.contains('?')) {
        return format!("{scheme}…");
    }
    let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, place)| ("…@", place));
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?…"));
    format!("{scheme}{login}{place}{query}")
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
