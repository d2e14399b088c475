//! TLS: who is trusted, and who is not.

use std::sync::Arc;

use firstcome_client::{Builder, Client, Error, Server};
use firstcome_testbed::Certificates;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::peer::{KEY, Peer};

fn acceptor(certificates: &Certificates) -> TlsAcceptor {
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
    TlsAcceptor::from(Arc::new(config))
}

fn to(peer: &Peer) -> Builder {
    Client::builder(&format!("https://{}", peer.address)).key(KEY)
}

#[tokio::test]
async fn a_server_whose_authority_is_trusted_is_asked_over_tls() {
    let certificates = Certificates::new();
    let peer = Peer::secured(acceptor(&certificates), "127.0.0.1:0").await;
    let client = to(&peer).add_authorities(certificates.authority()).build().unwrap();
    for _ in 0..3 {
        assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    }
    assert_eq!((peer.requests().len(), peer.made()), (3, 1), "the connection is kept");

    let only = to(&peer).add_authorities(certificates.authority()).only_added_authorities();
    assert!(only.build().unwrap().claim("spring", "ann").await.unwrap().is_yes());
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_that_is_not_trusted() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let peer = Peer::secured(acceptor(&certificates), "127.0.0.1:0").await;
    let unknown = [to(&peer), to(&peer).add_authorities(others.authority()), {
        to(&peer).add_authorities(others.authority()).only_added_authorities()
    }];
    for builder in unknown {
        let error = builder.build().unwrap().claim("spring", "ann").await.unwrap_err();
        let Error::Unchanged(unchanged) = error else { panic!("nothing was sent: {error}") };
        assert!(unchanged.reason().contains("invalid peer certificate"), "{unchanged}");
        assert_eq!(unchanged.attempts(), 1, "a certificate is as wrong the next time");
    }
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn a_certificate_has_to_name_the_server() {
    let certificates = Certificates::new();
    // The certificate is for 127.0.0.1 and localhost.
    let peer = Peer::secured(acceptor(&certificates), "127.0.0.2:0").await;
    let client = to(&peer).add_authorities(certificates.authority()).build().unwrap();
    let error = client.claim("spring", "ann").await.unwrap_err();
    let Error::Unchanged(unchanged) = error else { panic!("nothing was sent: {error}") };
    assert!(unchanged.reason().contains("not valid for name"), "{unchanged}");
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_left_for_one_that_is() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let wrong = Peer::secured(acceptor(&others), "127.0.0.1:0").await;
    let right = Peer::secured(acceptor(&certificates), "127.0.0.1:0").await;
    let client = to(&wrong)
        .server(&format!("https://{}", right.address))
        .add_authorities(certificates.authority())
        .build()
        .unwrap();
    assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    assert_eq!((wrong.requests().len(), right.requests().len()), (0, 1));
}

#[tokio::test]
async fn a_server_without_tls_gets_no_request() {
    let peer = Peer::start([crate::peer::Fate::won()]).await;
    let url = format!("https://{}", peer.address);
    let client = Client::builder(&url).key(KEY).build().unwrap();
    let client = client.with_deadline(std::time::Duration::from_millis(200));
    let error = client.claim("spring", "ann").await.unwrap_err();
    assert!(matches!(error, Error::Unchanged(_)), "{error}");
    assert!(peer.requests().is_empty());
    // The layer below has TLS, too.
    let server = Server::parse(&url).unwrap();
    let once = Client::to(server, None, std::time::Duration::from_secs(5));
    let failure = once.ask::<serde_json::Value>(firstcome_client::Ask::time()).await.unwrap_err();
    assert!(!failure.may_have_happened() && failure.to_string().contains("TLS"), "{failure}");
}
