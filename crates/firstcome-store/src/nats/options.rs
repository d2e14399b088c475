//! Where NATS servers are, and time-outs.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::StoreError;
use crate::percent::decode;

/// What the URLs look like.
const FORM: &str = "write nats://[user:password@]host[:port][,host[:port]…][?sslrootcert=FILE], or tls://… for TLS";

/// Where NATS servers are and how long to wait for them.
///
/// # Examples
///
/// ```
/// use firstcome_store::nats::NatsOptions;
/// let options = NatsOptions::new("nats://ann:secret@127.0.0.1,127.0.0.1:4223");
/// ```
#[derive(Clone)]
pub struct NatsOptions {
    pub(super) url: String,
    pub(super) connect_within: Duration,
    pub(super) answer_within: Duration,
}

/// A URL, read.
#[derive(Debug)]
pub(super) struct Address {
    /// Of each server, as `nats://host:port` or `tls://host:port`.
    pub(super) servers: Vec<String>,
    pub(super) login: Option<(String, String)>,
    pub(super) authorities: Option<PathBuf>,
    /// The servers, for people.
    pub(super) place: String,
}

impl NatsOptions {
    /// Begins with a URL and the defaults.
    ///
    /// `nats://[user:password@]host[:port][,host[:port]…][?sslrootcert=FILE]`, port 4222 where none is given; `tls://` asks
    /// for TLS. `%` escapes in user and password are resolved. Certificate and host name are checked against the
    /// authorities in the file `sslrootcert` (PEM) or those of the operating system. Other servers of the same cluster
    /// become known by themselves.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connect_within: Duration::from_secs(5),
            answer_within: Duration::from_secs(3),
        }
    }

    /// Sets how long one try to connect may take, default 5 s.
    #[must_use]
    pub fn connect_within(mut self, time: Duration) -> Self {
        self.connect_within = time;
        self
    }

    /// Sets how long an answer may take, default 3 s.
    #[must_use]
    pub fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }

    pub(super) fn address(&self) -> Result<Address, StoreError> {
        read(&self.url).map_err(|reason| StoreError::Address { reason, form: FORM })
    }
}

impl std::fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("NatsOptions")
            .field("answer_within", &self.answer_within)
            .finish_non_exhaustive()
    }
}

fn read(url: &str) -> Result<Address, String> {
    let (scheme, rest) = url.split_once("://").ok_or("it has no scheme")?;
    if !["nats", "tls"].contains(&scheme) {
        return Err(format!("nothing is known of the scheme {scheme:?}"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, hosts) = rest.rsplit_once('@').unwrap_or(("", rest));
    let hosts = hosts.trim_end_matches('/');
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let login =
        decode(user)?.map(|user| Ok::<_, &str>((user, decode(password)?.unwrap_or_default())));
    let login = login.transpose()?;
    let mut servers = Vec::new();
    for host in hosts.split(',') {
        if host.is_empty() || host.contains(['/', '#', '@']) {
            return Err(format!("{host:?} is no host"));
        }
        servers.push(format!("{scheme}://{host}"));
    }
    let mut authorities = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslrootcert", file)) => authorities = decode(file)?.map(PathBuf::from),
            // What is behind the name may be a secret.
            other => {
                let name = other.map_or("…", |(name, _)| name);
                return Err(format!("{name:?} is no parameter of it: there is sslrootcert"));
            }
        }
    }
    Ok(Address { servers, login, authorities, place: hosts.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_servers_a_user_and_authorities() {
        let read = read("tls://ann:se%40cret@a,b:4223?sslrootcert=/etc/our%20ca.pem").unwrap();
        assert_eq!(read.servers, ["tls://a", "tls://b:4223"]);
        assert_eq!(read.login, Some(("ann".to_owned(), "se@cret".to_owned())));
        assert_eq!(read.authorities, Some("/etc/our ca.pem".into()));
        assert_eq!(read.place, "a,b:4223");
    }

    #[test]
    fn what_is_no_url_of_nats_is_refused_with_the_reason() {
        for (url, why) in [
            ("localhost", "no scheme"),
            ("http://localhost", "http"),
            ("nats://", "no host"),
            ("nats://a,,b", "no host"),
            ("nats://a/b", "no host"),
            ("nats://a?replicas=3", "replicas"),
            ("nats://a%@b", "%"),
        ] {
            let refused = read(url).unwrap_err();
            assert!(refused.contains(why), "{url}: {refused}");
        }
        assert!(!read("nats://a?token=secret").unwrap_err().contains("secret"));
        let options = NatsOptions::new("nats://ann:secret@a");
        assert!(!format!("{options:?}").contains("secret"));
    }
}
