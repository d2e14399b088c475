//! The settings of the HTTP server.

use crate::server::base_path::BasePath;
use crate::server::dev_clock::DevClock;
use crate::server::tls::Tls;
use crate::status::durability::Durability;
use axum::http::HeaderValue;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;

/// The settings of the HTTP server.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Connections that may be open.
    pub connections: usize,
    /// Bytes a request body may have.
    pub body_bytes: usize,
    /// How long a request's head may take, from the first byte waited for.
    pub header_time: Duration,
    /// How long a request's body may take.
    pub body_time: Duration,
    /// How long a connection may be idle between requests, and how long bytes may wait to leave.
    pub idle_time: Duration,
    /// How long a stream of events may last.
    pub stream_time: Duration,
    /// How long a hold may wait for taken seats.
    pub hold_wait: Duration,
    /// Whether a subject with white space at an end, or with characters that nobody sees, is refused.
    pub strict_subjects: bool,
    /// The pages for people; none where they are off.
    pub pages: Option<Pages>,
    /// What few servers have.
    pub rare: RareOptions,
    /// What an answer that left is safe against.
    pub durability: watch::Receiver<Durability>,
}

/// What a server has only where it is asked for.
#[derive(Clone, Debug, Default)]
pub struct RareOptions {
    /// The path under which a proxy shows the server.
    pub base_path: BasePath,
    /// What connections are secured with; none where they are not.
    pub tls: Option<Tls>,
    /// For how many seconds browsers are told to come with TLS only, as a header says it.
    pub hsts: Option<HeaderValue>,
    /// The clock, where it may be moved: on a server for tests.
    pub dev_clock: Option<DevClock>,
    /// Whether hyper reads every request, plain ones too: for tests that compare the two.
    pub hyper_only: bool,
}

/// The pages for people.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// A folder whose files come before the built-in ones.
    pub folder: Option<PathBuf>,
    /// Where people log in and pay: `?campaign=` and `&hold=` are added.
    pub shop: Option<String>,
}
