//! One request to an endpoint, over a connection that is kept, to an address that was checked.

use crate::address::Allowed;
use crate::event::Event;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, Response, Uri, body::Incoming};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

/// How long a try may take, from the name to the end of the answer.
const WITHIN: Duration = Duration::from_secs(15);
/// How long one address of a name may take to be connected to.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Bytes of an answer that are kept.
const KEPT: usize = 512;
/// Bytes of an answer that are read: a longer one costs the connection.
const READ: usize = 64 << 10;
/// The status by which a receiver says that it wants nothing more.
const GONE: u16 = 410;

/// What came of a try.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status, if there was an answer.
    pub(crate) status: Option<u16>,
    /// What it said, cut short; or why there was none.
    pub(crate) said: String,
    /// How long it asks to be left alone.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) took: Duration,
}

impl Answer {
    pub(crate) fn is_taken(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.status == Some(GONE)
    }
}

/// Where an endpoint is.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    host: Host<String>,
    port: u16,
    secure: bool,
    /// Path and query.
    uri: Uri,
    named: HeaderValue,
}

impl Target {
    /// Reads a URL; says what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|why| format!("it is no URL: {why}"))?;
        let secure = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(format!("it begins with {other:?}, not with https or http")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it has a user or a password: webhooks are signed instead".to_owned());
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err("it names no host".to_owned());
        };
        let host = host.to_owned();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let uri = format!("{}{query}", url.path()).parse();
        let uri = uri.map_err(|why| format!("its path cannot be sent: {why}"))?;
        let usual = port == if secure { 443 } else { 80 };
        let named = if usual { host.to_string() } else { format!("{host}:{port}") };
        let named = HeaderValue::from_str(&named).map_err(|why| why.to_string())?;
        Ok(Self { host, port, secure, uri, named })
    }

    /// Says what keeps its address, if it is one, from being sent to.
    pub(crate) fn check(&self, allowed: &Allowed) -> Result<(), String> {
        let address = match self.host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => address.into(),
            Host::Ipv6(address) => address.into(),
        };
        self.check_address(address, allowed)
    }

    fn check_address(&self, address: std::net::IpAddr, allowed: &Allowed) -> Result<(), String> {
        if !allowed.may(address) {
            return Err(format!(
                "{address} is not public: webhook_allow names the networks that may be sent to all the same"
            ));
        }
        if !self.secure && !allowed.names(address) {
            return Err("without https only networks of webhook_allow are sent to".to_owned());
        }
        Ok(())
    }
}

/// Says why no https endpoint can be reached.
const NO_AUTHORITY: &str = "no certificate authority is known on this machine: bring its /etc/ssl/certs, or set SSL_CERT_FILE";

/// What https endpoints are reached with: the authorities of the operating system; none where there are none.
pub(crate) fn tls() -> Result<Option<Arc<ClientConfig>>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Ok(None);
    }
    // The provider is named here, so that the process-wide default stays the program's own business.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Some(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

/// An open connection. Its task ends when it is dropped.
#[derive(Debug)]
struct Line {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends to one endpoint, one request after the other.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) target: Target,
    allowed: Arc<Allowed>,
    tls: Option<Arc<ClientConfig>>,
    line: Option<Line>,
}

impl Post {
    pub(crate) fn new(
        target: Target,
        allowed: Arc<Allowed>,
        tls: Option<Arc<ClientConfig>>,
    ) -> Self {
        Self { target, allowed, tls, line: None }
    }

    /// Sends an event; `signature` is over the id, the time `at` in seconds since 1970, and the body.
    pub(crate) async fn send(&mut self, event: &Event, at: i64, signature: &str) -> Answer {
        let begun = Instant::now();
        let said = timeout(WITHIN, self.try_to_tell(event, at, signature)).await;
        let took = begun.elapsed();
        match said {
            Ok(Ok(answer)) => Answer { took, ..answer },
            Ok(Err(why)) => {
                self.line = None;
                Answer { status: None, said: why, retry_after: None, took }
            }
            Err(_) => {
                // What was sent on it may still be answered: the next answer would be taken for another one's.
                self.line = None;
                let said = format!("no answer within {} s", WITHIN.as_secs());
                Answer { status: None, said, retry_after: None, took }
            }
        }
    }

    async fn try_to_tell(
        &mut self,
        event: &Event,
        at: i64,
        signature: &str,
    ) -> Result<Answer, String> {
        let was_kept = self.line.is_some();
        match self.ask(event, at, signature).await {
            // The other end may have closed a connection that nobody used.
            Err(_) if was_kept => {
                self.line = None;
                self.ask(event, at, signature).await
            }
            answer => answer,
        }
    }

    async fn ask(&mut self, event: &Event, at: i64, signature: &str) -> Result<Answer, String> {
        let request = self.request(event, at, signature)?;
        let mut line = match self.line.take() {
            Some(line) => line,
            None => self.connect().await?,
        };
        line.sender.ready().await.map_err(|why| said_by(&why))?;
        let response = line.sender.send_request(request).await.map_err(|why| said_by(&why))?;
        let (answer, is_whole) = read(response).await;
        self.line = is_whole.then_some(line);
        Ok(answer)
    }

    fn request(
        &self,
        event: &Event,
        at: i64,
        signature: &str,
    ) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::new(Full::new(Bytes::from(event.body.clone())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.uri.clone();
        let headers = request.headers_mut();
        let mut put = |name, value: &str| {
            let value = HeaderValue::from_str(value).map_err(|why| why.to_string())?;
            headers.insert(name, value);
            Ok::<_, String>(())
        };
        let own = |name: &'static str| hyper::header::HeaderName::from_static(name);
        put(CONTENT_TYPE, "application/json")?;
        put(USER_AGENT, concat!("firstcome/", env!("CARGO_PKG_VERSION")))?;
        put(own("webhook-id"), &event.id)?;
        put(own("webhook-timestamp"), &at.to_string())?;
        put(own("webhook-signature"), signature)?;
        headers.insert(HOST, self.target.named.clone());
        Ok(request)
    }

    async fn connect(&self) -> Result<Line, String> {
        let tls = self.tls.as_ref().filter(|_| self.target.secure);
        if self.target.secure && tls.is_none() {
            return Err(NO_AUTHORITY.to_owned());
        }
        let stream = self.reach().await?;
        drop(stream.set_nodelay(true));
        let Some(tls) = tls else { return line(stream).await };
        let name = match &self.target.host {
            Host::Domain(name) => {
                ServerName::try_from(name.clone()).map_err(|why| why.to_string())?
            }
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::V4(*address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::V6(*address)),
        };
        let secured = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
        line(secured.map_err(|why| format!("TLS: {why}"))?).await
    }

    /// Connects to one of its addresses, all of which were checked.
    async fn reach(&self) -> Result<TcpStream, String> {
        let port = self.target.port;
        let addresses: Vec<std::net::SocketAddr> = match &self.target.host {
            Host::Domain(name) => {
                let found = tokio::net::lookup_host((name.as_str(), port)).await;
                found.map_err(|why| format!("its name is not found: {why}"))?.collect()
            }
            Host::Ipv4(address) => vec![(*address, port).into()],
            Host::Ipv6(address) => vec![(*address, port).into()],
        };
        for address in &addresses {
            self.target.check_address(address.ip(), &self.allowed)?;
        }
        let mut failure = "its name has no address".to_owned();
        for address in addresses {
            match timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(why)) => failure = format!("{address}: {why}"),
                Err(_) => failure = format!("{address} does not answer"),
            }
        }
        Err(failure)
    }
}

async fn line(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Line, String> {
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|why| said_by(&why))?;
    // Whoever sent on it learns how it ended.
    let task = tokio::spawn(async move { drop(connection.await) });
    Ok(Line { sender, task })
}

/// Reads an answer; says whether another request can follow it.
async fn read(response: Response<Incoming>) -> (Answer, bool) {
    let status = response.status();
    let retry_after = retry_after(response.headers());
    let (mut kept, mut read, mut body, mut is_whole) = (Vec::new(), 0, response.into_body(), true);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            is_whole = false;
            break;
        };
        let Some(data) = frame.data_ref() else { continue };
        read += data.len();
        let room = KEPT - kept.len();
        kept.extend_from_slice(&data[..room.min(data.len())]);
        if read > READ {
            is_whole = false;
            break;
        }
    }
    let said = String::from_utf8_lossy(&kept).into_owned();
    let status = Some(status.as_u16());
    (Answer { status, said, retry_after, took: Duration::ZERO }, is_whole)
}

/// Returns how long an answer asks to be left alone, in seconds or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::parse(said).ok()?.timestamp();
    Duration::try_from(until.duration_since(jiff::Timestamp::now())).ok()
}

fn said_by(failure: &hyper::Error) -> String {
    use std::error::Error;
    match failure.source() {
        Some(cause) => format!("{failure}: {cause}"),
        None => failure.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_of_an_endpoint_is_refused_with_the_reason() {
        for (text, why) in [
            ("example.org/hook", "it is no URL"),
            ("ftp://example.org/", "\"ftp\""),
            ("https://ann:secret@example.org/", "a user or a password"),
            ("mailto:ann@example.org", "\"mailto\""),
        ] {
            let refused = Target::read(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
            assert!(!refused.contains("secret"));
        }
        let private = Target::read("https://[::ffff:127.0.0.1]:8443/hook?a=b").unwrap();
        assert_eq!(private.uri.to_string(), "/hook?a=b");
        assert!(private.check(&Allowed::default()).unwrap_err().contains("not public"));
        // In whatever way a number is written.
        for host in ["127.1", "2130706433", "0x7f.1", "0177.0.0.1"] {
            let target = Target::read(&format!("https://{host}/")).unwrap();
            assert!(target.check(&Allowed::default()).is_err(), "{host}");
        }
        let plain = Target::read("http://1.1.1.1/").unwrap();
        assert!(plain.check(&Allowed::default()).unwrap_err().contains("without https"));
    }

    #[test]
    fn a_pause_is_seconds_or_a_date() {
        let of = |text: &str| {
            let headers = [(RETRY_AFTER, text.parse().unwrap())].into_iter().collect();
            retry_after(&headers)
        };
        assert_eq!(of("120"), Some(Duration::from_secs(120)));
        assert_eq!(of("soon"), None);
        assert_eq!(of("Wed, 21 Oct 2015 07:28:00 GMT"), None, "it is over");
        let later = of("Wed, 21 Oct 2099 07:28:00 GMT").unwrap();
        assert!(later > Duration::from_secs(86_400));
    }
}
