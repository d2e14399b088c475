//! The command line and the client over TLS, through a proxy before a real server.

use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::Arc;

use firstcome_client::Client;
use firstcome_testbed::Certificates;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::server::{KEY, Server, places, yes};

/// Ends TLS before a server, until it is dropped.
struct TlsProxy {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TlsProxy {
    async fn before(server: SocketAddr, certificates: &Certificates) -> Self {
        let (chain, key) = certificates.identity();
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    // Who does not trust it goes away.
                    let Ok(mut secured) = acceptor.accept(stream).await else { return };
                    let mut plain = TcpStream::connect(server).await.unwrap();
                    drop(tokio::io::copy_bidirectional(&mut secured, &mut plain).await);
                });
            }
        });
        Self { address, accepting: accepting.abort_handle() }
    }

    fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

async fn program(args: &[&str], environment: &[(&str, String)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.args(args).env_clear().env("FIRSTCOME_KEY", KEY).envs(environment.iter().cloned());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_speaks_tls_with_a_server_that_is_trusted() {
    let (server, certificates) = (Server::start(), Certificates::new());
    yes(server.client().create_campaign("spring", &places(5)).await);
    let proxy = TlsProxy::before(server.address, &certificates).await;
    let url = ("FIRSTCOME_URL", proxy.url());
    let trust = ("SSL_CERT_FILE", certificates.authority_file().display().to_string());

    let said = program(&["claim", "spring", "ann"], &[url.clone(), trust]).await;
    let out = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said.status.code(), Some(0), "{out}");
    assert!(out.contains("ann has rank 1 in spring/main"), "{out}");

    let said = program(&["claim", "spring", "bob"], &[url]).await;
    let talk = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(3), "{talk}");
    assert!(talk.contains("nothing changed: TLS: invalid peer certificate"), "{talk}");
    assert!(talk.contains("hint: ") && talk.contains("SSL_CERT_FILE"), "{talk}");
    assert_eq!(yes(server.client().campaign("spring").await).pools[0].taken, 1);
}

#[tokio::test]
async fn the_client_speaks_tls_with_a_server_that_is_trusted() {
    let (server, certificates) = (Server::start(), Certificates::new());
    yes(server.client().create_campaign("spring", &places(5)).await);
    let proxy = TlsProxy::before(server.address, &certificates).await;
    let client = Client::builder(&proxy.url()).key(KEY).add_authorities(certificates.authority());
    assert_eq!(yes(client.build().unwrap().claim("spring", "ann").await).rank, 1);
}
