//! One call to the team's own service: a question in JSON, an answer in JSON.

use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of an answer that are read.
const MOST_BYTES: usize = 16 << 10;
/// The most characters of a reason that are passed on.
const REASON_CHARS: usize = 256;
/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(30);

/// What is asked.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Question<'a> {
    /// Where.
    pub campaign: &'a str,
    /// Which pool, where the request names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<&'a str>,
    pub subject: &'a str,
}

/// What a service said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The subject may, and have so many units of the campaign if a limit was given: at least 1.
    Yes(Option<u32>),
    /// The subject may not, for a reason that it may see. A limit of 0 says so too.
    No(Option<Arc<str>>),
}

/// Why the answer of a service is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Down {
    /// It failed too often, and is left alone for that long.
    Open(Duration),
    /// As many calls are under way as may be.
    Full,
    /// It did not answer in time.
    Slow,
    /// There was no connection, or it was cut.
    Unreachable(Arc<str>),
    /// It answered something that is no answer.
    Wrong(Arc<str>),
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(_) => f.write_str("it failed several times in a row and is left alone"),
            Self::Full => f.write_str("as many calls to it are under way as may be"),
            Self::Slow => f.write_str("it did not answer in time"),
            Self::Unreachable(_) => f.write_str("it cannot be reached"),
            Self::Wrong(_) => f.write_str("it answered something that is no answer"),
        }
    }
}

/// An answer as it travels. What else it says is for others.
#[derive(Debug, Deserialize)]
struct Answer {
    eligible: bool,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
}

/// Calls one service.
#[derive(Debug)]
pub(super) struct Caller {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: Uri,
    authorization: Option<HeaderValue>,
}

impl Caller {
    /// Begins with no connection. Trusts the authorities of `ca`, PEM, or those of the operating system.
    pub(super) fn new(
        url: Uri,
        authorization: Option<HeaderValue>,
        ca: Option<&[u8]>,
        connections: usize,
    ) -> Result<Self, String> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let secure = url.scheme_str() == Some("https");
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(ca, secure)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(connections)
            .build(connector);
        Ok(Self { client, url, authorization })
    }

    /// Writes down a question.
    pub(super) fn request(&self, question: &Question<'_>) -> Request<Full<Bytes>> {
        let body = serde_json::to_vec(question).expect("a question can be written as JSON");
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        headers.insert(USER_AGENT, HeaderValue::from_static("firstcome"));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }

    /// Asks and reads the answer, however long that takes.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the connection is given up.
    pub(super) async fn call(&self, request: Request<Full<Bytes>>) -> Result<Said, Down> {
        let unreachable = |why: &dyn std::error::Error| {
            let mut text = why.to_string();
            let mut source = why.source();
            while let Some(why) = source {
                text = format!("{text}: {why}");
                source = why.source();
            }
            Down::Unreachable(text.into())
        };
        let answer = self.client.request(request).await.map_err(|why| unreachable(&why))?;
        if answer.status() != StatusCode::OK {
            return Err(Down::Wrong(format!("it answered {}", answer.status()).into()));
        }
        let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await;
        let body = body.map_err(|why| Down::Wrong(format!("its answer: {why}").into()))?.to_bytes();
        let answer: Answer = serde_json::from_slice(&body)
            // What stands there may be about a subject, and this is for the log.
            .map_err(|why| Down::Wrong(wrong_at(why.line(), why.column())))?;
        let cut = |reason: String| reason.chars().take(REASON_CHARS).collect::<String>().into();
        let reason = answer.reason.map(cut);
        let may = answer.eligible && answer.limit != Some(0);
        Ok(if may { Said::Yes(answer.limit) } else { Said::No(reason) })
    }
}

fn wrong_at(line: usize, column: usize) -> Arc<str> {
    format!("its answer is not of the form that is expected, from line {line} column {column} on")
        .into()
}

fn tls(ca: Option<&[u8]>, secure: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|why| format!("authority: {why}"))?;
                roots.add(certificate).map_err(|why| format!("authority: {why}"))?;
            }
            if roots.is_empty() {
                return Err("authority: there is no certificate in the file".to_owned());
            }
        }
        None if secure => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
        None => {}
    }
    // The provider is named here, so that the process-wide default stays the program's own business.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
