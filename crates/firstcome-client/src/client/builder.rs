//! How a client is made.

use std::sync::Arc;
use std::time::Duration;

use crate::client::address::Server;
use crate::client::tls::{ClientTls, Trust};
use crate::client::{Client, Settings, Shared};
use crate::retry::Retry;
use firstcome_api::key::Secret;

/// How many connections of a client may be in use at a time, unless another number is set.
const CONNECTIONS: usize = 64;

/// How a client is made; begun by [`Client::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder makes nothing before `build`"]
pub struct Builder {
    servers: Vec<String>,
    key: Option<String>,
    trust: Trust,
    settings: Settings,
    connections: usize,
}

/// Why there is no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// What is given as an address is none.
    #[error("{0}")]
    Address(String),
    /// The key cannot be one. The key is not repeated here.
    #[error("the key {0}")]
    Key(String),
    /// The authorities cannot be read, or this was built without TLS.
    #[error("{0}")]
    Tls(String),
}

impl Client {
    /// A client for the server at `http://HOST[:PORT]` or `https://HOST[:PORT]`, without a key, and with the defaults of
    /// [`Builder`].
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new(url: &str) -> Result<Self, BuildError> {
        Self::builder(url).build()
    }

    /// Begins a client for the server at `http://HOST[:PORT]` or `https://HOST[:PORT]`.
    pub fn builder(url: &str) -> Builder {
        Builder::new(url)
    }
}

impl Builder {
    fn new(url: &str) -> Self {
        Self {
            servers: vec![url.to_owned()],
            key: None,
            trust: Trust::default(),
            settings: Settings::default(),
            connections: CONNECTIONS,
        }
    }

    /// Adds the address of another server of the same space.
    ///
    /// The client asks the server that answered last, at first the first one. It goes on to the next one where a server
    /// cannot be reached, does not answer, or says that it cannot answer now.
    pub fn server(mut self, url: &str) -> Self {
        self.servers.push(url.to_owned());
        self
    }

    /// Sets the key, or a subject token: at least 16 visible ASCII characters. It travels in a header of each request, so
    /// use `https://` wherever somebody could listen.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Sets how long a call may take altogether, with its retries and pauses; 15 s if not set.
    ///
    /// [`Client::with_deadline`] sets another one for some calls.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// Sets how long one attempt may take, from connecting to the end of the answer; 6 s if not set.
    ///
    /// A server answers `unavailable` or `unknown` after 5 s (its setting `command_wait_ms`). Set this to more than that, to
    /// hear which of the two it is. A hold that waits for a seat may take that time longer.
    pub fn attempt(mut self, attempt: Duration) -> Self {
        self.settings.attempt = attempt;
        self
    }

    /// Sets how long connecting may take, with TLS; 2 s if not set. Then the next server is tried.
    pub fn connect(mut self, connect: Duration) -> Self {
        self.settings.connect = connect;
        self
    }

    /// Sets how often requests are sent again, and after which pauses.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.settings.retry = retry;
        self
    }

    /// Sets how many connections may be in use at a time: at least 1, 64 if not set. Further calls wait for one.
    ///
    /// A server takes 10,000 connections by default, a quarter of them from one address.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets what the header `user-agent` says: visible ASCII characters and spaces.
    pub fn user_agent(mut self, agent: &str) -> Self {
        self.settings.agent = agent.to_owned();
        self
    }

    /// Trusts these authorities for `https://`, too: PEM text with one certificate or more.
    ///
    /// Those of the operating system are trusted, or those of the file or folder that `SSL_CERT_FILE` or `SSL_CERT_DIR` name.
    pub fn add_authorities(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust.authorities.push(pem.into());
        self
    }

    /// Trusts no authorities but those that are added.
    pub fn only_added_authorities(mut self) -> Self {
        self.trust.only_these = true;
        self
    }

    /// Makes the client. Nothing is sent. With an `https://` address the authorities of the operating system are read, which
    /// are files.
    ///
    /// # Errors
    ///
    /// [`BuildError`] where an address, the key or an authority cannot be one.
    pub fn build(self) -> Result<Client, BuildError> {
        let servers = self.servers.iter().map(|url| Server::parse(url));
        let servers = servers.collect::<Result<Vec<_>, _>>().map_err(BuildError::Address)?;
        let key = self.key.as_deref().map(Secret::new).transpose().map_err(BuildError::Key)?;
        let tls = if servers.iter().any(Server::is_secure) {
            ClientTls::new(&self.trust).map_err(BuildError::Tls)
        } else {
            Err(BuildError::Tls("no address is https://".to_owned()))
        };
        if let (true, Err(why)) = (servers.iter().any(Server::is_secure), &tls) {
            return Err(why.clone());
        }
        let tls = tls.map_err(|why| why.to_string());
        let shared = Shared::new(servers, key, tls, self.connections);
        Ok(Client::of(Arc::new(shared), self.settings))
    }
}
