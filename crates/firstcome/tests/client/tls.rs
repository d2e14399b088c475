//! TLS of the server's own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_client::Client;
use firstcome_testbed::Certificates;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::server::{KEY, Server, places, yes};

/// Longer than the server takes to see that a file changed.
const SEEN_WITHIN: Duration = Duration::from_secs(30);

/// The files of a server.
struct Files(tempfile::TempDir);

impl Files {
    fn new((cert, key): (String, String)) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.put(&cert, &key);
        files
    }

    fn put(&self, cert: &str, key: &str) {
        // As certbot and Kubernetes do: each file is there whole.
        for (name, text) in [("key.pem", key), ("cert.pem", cert)] {
            let part = self.path("part");
            std::fs::write(&part, text).unwrap();
            std::fs::rename(part, self.path(name)).unwrap();
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn serve(&self, more: &[(&str, &str)]) -> Server {
        let (cert, key) = (self.path("cert.pem"), self.path("key.pem"));
        let text = |path: &Path| path.display().to_string();
        let (cert, key) = (text(&cert), text(&key));
        let settings = [
            ("FIRSTCOME_ADMIN_KEY", KEY),
            ("FIRSTCOME_TLS_CERT", &*cert),
            ("FIRSTCOME_TLS_KEY", &*key),
        ];
        Server::start_with(&[&settings, more].concat())
    }
}

/// What a client trusts, and the certificate that it shows.
fn trusting(authority: &str, shows: Option<(String, String)>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match shows {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = CertificateDer::pem_slice_iter(cert.as_bytes()).map(Result::unwrap);
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain.collect(), key).unwrap()
        }
    })
}

async fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> std::io::Result<Secured> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::clone(config)).connect(name, stream).await.map(Secured)
}

struct Secured(TlsStream<TcpStream>);

impl Secured {
    /// Asks for a path; gives the answer, head and body.
    async fn get(&mut self, path: &str) -> std::io::Result<String> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\n\r\n"
        );
        self.0.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        loop {
            let mut some = [0; 16_384];
            let read = self.0.read(&mut some).await?;
            answer.extend_from_slice(&some[..read]);
            let text = String::from_utf8_lossy(&answer);
            let length = text.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
            if read == 0 || length.is_some_and(|length| body == Some(length)) {
                return Ok(text.into_owned());
            }
        }
    }

    /// The certificate that the server showed.
    fn certificate(&self) -> CertificateDer<'static> {
        self.0.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    }
}

async fn metric(address: SocketAddr, config: &Arc<ClientConfig>, name: &str) -> String {
    let text = connect(address, config).await.unwrap().get("/metrics").await.unwrap();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_a_certificate_speaks_tls_with_who_trusts_it_and_with_nobody_else() {
    let certificates = Certificates::new();
    let files = Files::new(certificates.identity());
    let server = files.serve(&[("FIRSTCOME_HSTS_S", "31536000")]);
    let url = format!("https://localhost:{}", server.address.port());
    let client = Client::builder(&url).key(KEY).add_authorities(certificates.authority());
    let client = client.only_added_authorities().build().unwrap();
    yes(client.create_campaign("spring", &places(5)).await);
    assert_eq!(yes(client.claim("spring", "ann").await).rank, 1);

    let config = trusting(certificates.authority(), None);
    let mut secured = connect(server.address, &config).await.unwrap();
    let answer = secured.get("/livez").await.unwrap();
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");

    let stranger = trusting(Certificates::new().authority(), None);
    let why = connect(server.address, &stranger).await.err().unwrap().to_string();
    assert!(why.contains("invalid peer certificate"), "{why}");
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    drop(plain.read_to_end(&mut said).await);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
    // The server counts a moment after the other end has left.
    let insecure = "firstcome_connections_insecure_total";
    until(async || metric(server.address, &config, insecure).await == "2").await;

    // As the health command of a container asks, with the settings of the server.
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.arg("health").env_clear().env("SSL_CERT_FILE", certificates.authority_file());
    command.env("FIRSTCOME_LISTEN", server.address.to_string());
    command.env("FIRSTCOME_TLS_CERT", files.path("cert.pem"));
    command.env("FIRSTCOME_TLS_KEY", files.path("key.pem"));
    let said = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "ready\n");

    // The command line trusts whom it is told to.
    let program = env!("CARGO_BIN_EXE_firstcome");
    let mut command = Command::new(program);
    command.args(["claim", "spring", "bob", "--url", &url]).env_clear().env("FIRSTCOME_KEY", KEY);
    command.env("SSL_CERT_FILE", certificates.authority_file());
    let said = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(String::from_utf8(said.stdout).unwrap().contains("bob has rank 2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_certificates_and_other_names_are_refused_by_clients() {
    let certificates = Certificates::new();
    let config = trusting(certificates.authority(), None);
    for (names, expired, says) in
        [(["localhost"], true, "expired"), (["shop.example"], false, "not valid for name")]
    {
        let server = Files::new(certificates.issue(&names, expired)).serve(&[]);
        let why = connect(server.address, &config).await.err().unwrap().to_string();
        assert!(why.contains(says), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_show_a_certificate_where_one_is_asked_for() {
    let (certificates, of_clients) = (Certificates::new(), Certificates::new());
    let files = Files::new(certificates.identity());
    let authority = of_clients.authority_file().display().to_string();
    let server = files.serve(&[("FIRSTCOME_TLS_CLIENT_CA", &authority)]);
    let asks = async |shows: Option<(String, String)>| {
        let config = trusting(certificates.authority(), shows);
        // With TLS 1.3 a client hears only when it reads that its certificate does not count.
        match connect(server.address, &config).await {
            Ok(mut secured) => secured.get("/livez").await,
            Err(why) => Err(why),
        }
    };
    let known = of_clients.issue(&["shop"], false);
    let answer = asks(Some(known)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    for shows in [
        None,
        Some(of_clients.issue(&["shop"], true)),
        Some(Certificates::new().issue(&["shop"], false)),
    ] {
        let said = asks(shows).await;
        assert!(said.as_ref().map_or(true, |said| !said.starts_with("HTTP")), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_replaced_while_connections_are_open_and_a_broken_one_is_not_taken() {
    let certificates = Certificates::new();
    let files = Files::new(certificates.identity());
    let server = files.serve(&[]);
    let config = trusting(certificates.authority(), None);
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(connect(server.address, &config).await.unwrap());
    }
    let first = open[0].certificate();

    // The key of another certificate: the old files are used on, and the server says so.
    let (cert, key) = certificates.issue(&["localhost"], false);
    let (_, other) = certificates.issue(&["localhost"], false);
    files.put(&cert, &other);
    until(async || metric(server.address, &config, "firstcome_tls_trouble").await == "1").await;
    assert_eq!(connect(server.address, &config).await.unwrap().certificate(), first);

    files.put(&cert, &key);
    until(async || connect(server.address, &config).await.unwrap().certificate() != first).await;
    assert_eq!(metric(server.address, &config, "firstcome_tls_trouble").await, "0");
    for secured in &mut open {
        let answer = secured.get("/livez").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}

async fn until(is_so: impl AsyncFn() -> bool) {
    let end = Instant::now() + SEEN_WITHIN;
    while !is_so().await {
        assert!(Instant::now() < end, "it did not come");
        sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn files_that_cannot_be_used_are_refused_with_their_names() {
    let certificates = Certificates::new();
    let files = Files::new(certificates.identity());
    let (cert, key) = (files.path("cert.pem"), files.path("key.pem"));
    let other = files.path("other.pem");
    std::fs::write(&other, certificates.issue(&["localhost"], false).1).unwrap();
    let empty = files.path("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let nowhere = files.path("nowhere.pem");
    let text = |path: &Path| path.display().to_string();
    let (cert, key, other) = (text(&cert), text(&key), text(&other));
    let (empty, nowhere) = (text(&empty), text(&nowhere));
    for (args, code, says) in [
        (vec!["--tls-cert", &*cert], 2, "needs tls_key, too"),
        (vec!["--tls-key", &*key], 2, "needs tls_cert, too"),
        (vec!["--tls-client-ca", &*cert], 2, "needs tls_cert and tls_key, too"),
        (vec!["--tls-cert", &*cert, "--tls-key", &*other], 3, "cannot be used together"),
        (vec!["--tls-cert", &*cert, "--tls-key", &*nowhere], 3, "nowhere.pem"),
        (vec!["--tls-cert", &*empty, "--tls-key", &*key], 3, "tls_cert has no certificate"),
        (vec!["--tls-cert", &*cert, "--tls-key", &*empty], 3, "tls_key has no private key"),
        (vec!["--hsts-s", "0"], 2, "1 to 63072000"),
    ] {
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path().join("data"));
        let output = command.args(&args).env_clear().output().unwrap();
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {talk}");
        assert!(talk.contains(says), "{args:?}: {talk}");
    }
}
