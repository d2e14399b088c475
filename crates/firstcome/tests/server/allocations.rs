//! How often the thread of a connection asks for memory to answer a claim, from the bytes that come to those that leave.

use crate::inside::{Inside, Setup};
use crate::process::KEY;
use allocation_counter::measure;
use axum::body::Body;
use axum::http::Request;
use firstcome_http::{Runtimes, Serves};
use firstcome_node::{Core, RuntimeThread};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// Claims that are counted, after as many that are not.
const CLAIMS: usize = 1_000;
/// What a claim may ask for on the thread of its connection: what it asks for now, and less than one more.
const ACCEPTED: f64 = 1.5;
const REPEATED: f64 = 1.5;
const SOLD_OUT: f64 = 5.5;

/// Requests as bytes, made before anything is counted.
fn requests(from: usize) -> Vec<Vec<u8>> {
    let request = |number| {
        let body = format!(r#"{{"subject":"u{number}"}}"#);
        let head = format!(
            "POST /v1/campaigns/spring/claims HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        (head + &body).into_bytes()
    };
    (from..from + CLAIMS).map(request).collect()
}

/// Sends each request when the one before is answered; asks for no memory itself.
async fn ask(stream: &mut TcpStream, requests: &[Vec<u8>], outcome: &str) {
    let mut answer = [0; 4_096];
    for request in requests {
        stream.write_all(request).await.unwrap();
        let length = stream.read(&mut answer).await.unwrap();
        let answer = &answer[..length];
        assert!(answer.ends_with(b"}"), "an answer comes as one piece");
        assert!(answer.windows(outcome.len()).any(|part| part == outcome.as_bytes()));
    }
}

#[test]
fn a_claim_asks_for_memory_a_few_times_only() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The journal's work is done by another thread, and is not counted.
    let core = RuntimeThread::start("core").unwrap();
    let stop = CancellationToken::new();
    let (mut stream, serving) = runtime.block_on(async {
        let setup = Setup {
            core: Some(Core { runtime: core.handle().clone(), serves: false }),
            ..Setup::default()
        };
        let inside = Inside::with(setup).await;
        let campaign =
            r#"{"opens_at":"2020-01-01T00:00:00Z","pools":[{"name":"main","capacity":2000}]}"#;
        let put =
            Request::put("/v1/campaigns/spring").header("authorization", format!("Bearer {KEY}"));
        let put = put.header("content-type", "application/json").body(Body::from(campaign));
        assert_eq!(inside.send(put.unwrap()).await.status, 201);
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (app, stopped) = (Arc::clone(&inside.app), stop.clone());
        // No thread of its own for connections: this one serves them.
        let serving = tokio::spawn(async move {
            let serving = (listener, Serves::Everything);
            let drain = Duration::from_secs(1);
            firstcome_http::server::serve(app, serving, &Runtimes::default(), stopped, drain).await
        });
        (TcpStream::connect(address).await.unwrap(), (serving, inside))
    });
    let mut count = |what: &str, requests: Vec<Vec<u8>>, outcome: &str| {
        let counted = measure(|| runtime.block_on(ask(&mut stream, &requests, outcome)));
        let each = counted.count_total as f64 / CLAIMS as f64;
        let bytes = counted.bytes_total as f64 / CLAIMS as f64;
        println!("{what}: {each:.2} allocations, {bytes:.0} bytes a claim");
        each
    };
    count("first", requests(0), "\"won\"");
    let accepted = count("accepted", requests(CLAIMS), "\"won\"");
    assert!(accepted > 0.0, "the answer at least needs some");
    assert!(accepted <= ACCEPTED, "{accepted} allocations a claim");
    let repeated = count("repeated", requests(0), "already_won");
    assert!(repeated <= REPEATED, "{repeated} allocations a repeated claim");
    let sold_out = count("sold out", requests(3 * CLAIMS), "sold_out");
    assert!(sold_out <= SOLD_OUT, "{sold_out} allocations a refused claim");
    stop.cancel();
    drop(stream);
    runtime.block_on(async move {
        let (serving, inside) = serving;
        assert_eq!(serving.await.unwrap(), 0);
        drop(inside);
        core.stop().await;
    });
}
