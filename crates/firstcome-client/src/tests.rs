use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// What a stand-in server does with each connection it accepts.
#[derive(Clone, Copy)]
enum Fate {
    /// Closes without reading.
    CutBefore,
    /// Reads the request and closes.
    CutAfter,
    /// Answers half.
    CutInTheAnswer,
    /// Answers this.
    Says(&'static str, &'static str),
    /// Answers once, then closes the kept connection.
    SaysAndCloses(&'static str, &'static str),
}

struct Peer {
    address: SocketAddr,
    requests: Arc<AtomicU32>,
}

async fn peer(fate: Fate) -> Peer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, fate, Arc::clone(&counted)));
        }
    });
    Peer { address, requests }
}

async fn serve(mut stream: TcpStream, fate: Fate, requests: Arc<AtomicU32>) {
    if let Fate::CutBefore = fate {
        stream.set_zero_linger().unwrap();
        return;
    }
    let mut bytes = vec![0; 4096];
    while stream.read(&mut bytes).await.is_ok_and(|length| length > 0) {
        requests.fetch_add(1, Ordering::SeqCst);
        match fate {
            Fate::CutBefore | Fate::CutAfter => return,
            Fate::CutInTheAnswer => {
                let half = b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{\"outcome\":";
                stream.write_all(half).await.unwrap();
                return;
            }
            Fate::Says(status, body) | Fate::SaysAndCloses(status, body) => {
                let answer =
                    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
        if let Fate::SaysAndCloses(..) = fate {
            return;
        }
    }
}

fn client(address: SocketAddr) -> Client {
    let server = Server::parse(&format!("http://{address}")).unwrap();
    Client::to(server, None, Duration::from_secs(10))
}

async fn claim(peer: &Peer) -> Result<Reply<Won>, Failure> {
    client(peer.address).ask(Ask::claim("spring", "ann", None)).await
}

const WON: &str = r#"{"outcome":"won","campaign":"spring","pool":"main","subject":"ann","rank":17,"at":"2027-03-01T01:00:00.000000Z","position":"0.7","decided":"journal"}"#;

#[tokio::test]
async fn nobody_listening_means_nothing_changed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let failure = client(address).ask::<Won>(Ask::claim("spring", "ann", None)).await.unwrap_err();
    assert!(!failure.may_have_happened(), "{failure}");
    assert!(failure.to_string().contains("cannot connect"), "{failure}");
}

#[tokio::test]
async fn a_claim_cut_off_after_sending_may_have_happened() {
    for fate in [Fate::CutAfter, Fate::CutInTheAnswer] {
        let peer = peer(fate).await;
        let failure = claim(&peer).await.unwrap_err();
        assert!(failure.may_have_happened(), "{failure}");
        assert_eq!(peer.requests.load(Ordering::SeqCst), 1, "a client must not repeat on its own");
    }
}

#[tokio::test]
async fn a_connection_cut_before_reading_is_never_called_harmless_once_bytes_left() {
    let peer = peer(Fate::CutBefore).await;
    let failure = claim(&peer).await.unwrap_err();
    // Either is right, by how far the request got; what is wrong is an answer.
    assert!(failure.problem().is_none());
}

#[tokio::test]
async fn reading_changes_nothing_however_it_breaks() {
    let peer = peer(Fate::CutAfter).await;
    let failure = client(peer.address).ask::<Campaign>(Ask::campaign("spring")).await.unwrap_err();
    assert!(!failure.may_have_happened(), "{failure}");
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let body = r#"{"type":"/problems/sold_out","title":"sold out","status":409,"detail":"all 500 are taken","outcome":"sold_out","retry":false,"changed":"no"}"#;
    let peer = peer(Fate::Says("409 Conflict", body)).await;
    let Reply::No(problem) = claim(&peer).await.unwrap() else { panic!("sold out is no yes") };
    assert_eq!(problem.sentence(), "sold_out: all 500 are taken");
}

#[tokio::test]
async fn busy_changed_nothing_and_unknown_may_have() {
    let busy = r#"{"outcome":"busy","retry":true,"changed":"no"}"#;
    let failure = claim(&peer(Fate::Says("429 Too Many Requests", busy)).await).await.unwrap_err();
    assert!(!failure.may_have_happened(), "{failure}");
    assert_eq!(failure.problem().map(|problem| problem.outcome.as_str()), Some("busy"));

    let unknown = r#"{"outcome":"unknown","retry":true,"changed":"unknown"}"#;
    let failure =
        claim(&peer(Fate::Says("503 Service Unavailable", unknown)).await).await.unwrap_err();
    assert!(failure.may_have_happened(), "{failure}");

    // Part of it was done before the server had no answer to the rest.
    let half = r#"{"outcome":"unavailable","retry":true,"changed":"yes"}"#;
    let failure =
        claim(&peer(Fate::Says("503 Service Unavailable", half)).await).await.unwrap_err();
    assert!(failure.may_have_happened(), "{failure}");

    let gateway = claim(&peer(Fate::Says("502 Bad Gateway", "<html>")).await).await.unwrap_err();
    assert!(gateway.may_have_happened(), "{gateway}");
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_opened_again() {
    let peer = peer(Fate::SaysAndCloses("201 Created", WON)).await;
    let client = client(peer.address);
    for _ in 0..3 {
        let Reply::Yes(won, _) =
            client.ask::<Won>(Ask::claim("spring", "ann", None)).await.unwrap()
        else {
            panic!("won is a yes")
        };
        assert_eq!(won.rank, 17);
        // Waits until the close has been noticed: a request racing with it may rightly be called unknown.
        while client.shared.kept_open() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn addresses_are_read() {
    let read = |url| Server::parse(url).map(|server| server.to_string());
    assert_eq!(read("http://127.0.0.1:8080/").unwrap(), "http://127.0.0.1:8080");
    assert_eq!(read("localhost:99").unwrap(), "http://localhost:99");
    assert_eq!(read("http://[::1]:8080").unwrap(), "http://[::1]:8080");
    assert_eq!(read("http://example").unwrap(), "http://example:80");
    assert_eq!(read("https://example/").unwrap(), "https://example:443");
    assert_eq!(read("https://[::1]:8443").unwrap(), "https://[::1]:8443");
    assert!(read("redis://example").unwrap_err().contains("only http and https"));
    assert_eq!(read("https://example/queue/").unwrap(), "https://example:443/queue");
    assert!(
        read("http://example/a?b").unwrap_err().contains("more than a host, a port and a path")
    );
    assert!(read("http://:80").is_err() && read("http://a:b").is_err() && read("").is_err());
}

/// Somebody takes the address of a store for that of a server.
#[test]
fn what_is_no_address_is_said_without_its_password() {
    for url in [
        "postgres://ann:se@cret@host/db",
        "redis+sentinel://secret@host,b/main",
        "http://ann:secret@host",
        "ann:secret@host:x",
        "postgres://host/db?password=secret",
        "http://host:x?password=secret",
        "postgres://host/db?password=se@cret",
        "http://ann:se?cret@host",
    ] {
        let said = Server::parse(url).unwrap_err();
        assert!(!said.contains("cret"), "{url}: {said}");
        assert!(said.contains("host") || said.contains("…"), "{url}: {said}");
    }
}

#[test]
fn a_subject_is_one_segment_of_a_path_whatever_is_in_it() {
    assert_eq!(encode_segment("ann-1_.~"), "ann-1_.~");
    assert_eq!(encode_segment("a/b?c#d%e f"), "a%2Fb%3Fc%23d%25e%20f");
    assert_eq!(encode_segment("가🎫"), "%EA%B0%80%F0%9F%8E%AB");
    assert_eq!(
        (encode_segment("."), encode_segment("..")),
        ("%2E".to_owned(), "%2E%2E".to_owned())
    );
}
