//! What a server says while it is proven that its NATS server syncs each write, and when that is not proven any more.

use crate::server::{PATIENCE, Server};
use crate::space::{logged, until};
use firstcome_testbed::{Nats, Proxy, ProxyFault};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

/// The names of the promises.
const FSYNC: &str = "fsync";
const MEMORY: &str = "quorum-memory";

/// A server that asks a monitoring address, here each second.
async fn asking(nats: &Nats, monitor: &str, durability: &str) -> Server {
    let settings =
        [("NATS_MONITOR", monitor), ("NATS_MONITOR_EVERY", "1s"), ("DURABILITY", durability)];
    let url = |port| format!("nats://127.0.0.1:{port}");
    let mut server = Server::at(nats.port(), url, &settings).await;
    server.start().await;
    server.ready().await;
    server
}

/// Waits until a server promises something; everything that it says then agrees. Gives why it is not what was chosen.
async fn promises(server: &Server, name: &str) -> Value {
    let begin = format!("{name}: ");
    let promised =
        |said: &Value| said["durability"].as_str().is_some_and(|said| said.starts_with(&begin));
    let ready = |said: &Value| said["status"] == "ready" && promised(said);
    let ready = until(server, "/readyz", ready).await;
    let trouble = &ready["durability_trouble"];
    assert_eq!(trouble.is_string(), name != FSYNC, "{ready}");
    let nodes = server.talk().get("/v1/nodes").await;
    for field in ["durability", "durability_trouble"] {
        assert_eq!(nodes[field], ready[field], "{nodes}");
    }
    let gauge = server.talk().count("firstcome_durability_trouble").await;
    assert_eq!(gauge == 1, trouble.is_string());
    // A state that is a moment late is not ready.
    let end = Instant::now() + PATIENCE;
    let anybody = loop {
        let (status, anybody) = without_a_key(server.port()).await;
        if status.contains(" 200 ") {
            break anybody;
        }
        assert!(Instant::now() < end, "{status}");
    };
    let word = if trouble.is_string() { json!("durability_unproven") } else { Value::Null };
    assert_eq!((&anybody["durability"], &anybody["durability_trouble"]), (&json!(name), &word));
    trouble.clone()
}

/// Asks for `/readyz` without a key.
async fn without_a_key(port: u16) -> (String, Value) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap())
}

/// Counts the lines of an event.
fn lines(server: &Server, event: &str) -> usize {
    server.errors().matches(&format!("\"event\":\"{event}\"")).count()
}

/// Waits until each change is in the log as often as that, which it is a moment after it can be seen.
async fn each_logged(server: &Server, times: usize) {
    let each = || ["durability_unproven", "durability_proven"].map(|event| lines(server, event));
    let end = Instant::now() + PATIENCE;
    while each() != [times, times] {
        assert!(Instant::now() < end, "{:?}: {}", each(), server.errors());
        sleep(Duration::from_millis(20)).await;
    }
}

fn port_of(monitor: &str) -> u16 {
    monitor.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nats_server_that_syncs_no_more_is_seen_and_so_is_one_that_syncs_again() {
    let Some(mut nats) = Nats::syncing() else { return };
    let server = asking(&nats, &nats.monitor(), "fsync").await;
    server.talk().open("spring", 100).await;
    promises(&server, FSYNC).await;
    for round in 1..=2 {
        nats.sync_always(false);
        block_in_place(|| nats.restart());
        let unproven = |said: &Value| {
            said["durability_trouble"].to_string().contains("does not sync each write")
        };
        // The proof may have been late before it was no more.
        until(&server, "/readyz", unproven).await;
        let why = promises(&server, MEMORY).await;
        let why = why.as_str().unwrap();
        assert!(why.starts_with("durability_unproven: "), "{why}");
        assert!(why.contains("does not sync each write"), "{why}");
        assert!(why.contains("sync_interval: always"), "{why}");
        // It is said and nothing more: claims go on.
        server.talk().wins("spring", &format!("ann{round}")).await;
        logged(&server, "durability_unproven").await;
        nats.sync_always(true);
        block_in_place(|| nats.restart());
        promises(&server, FSYNC).await;
        logged(&server, "durability_proven").await;
        server.talk().wins("spring", &format!("bob{round}")).await;
        each_logged(&server, round).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_that_is_silent_for_a_moment_proves_nothing_and_for_long_it_is_seen() {
    let Some(nats) = Nats::syncing() else { return };
    let way = Proxy::start(port_of(&nats.monitor())).await;
    let monitor = format!("http://127.0.0.1:{}", way.port());
    let server = asking(&nats, &monitor, "fsync").await;
    promises(&server, FSYNC).await;
    way.set(ProxyFault::Refuse);
    sleep(Duration::from_millis(1_200)).await;
    way.set(ProxyFault::None);
    sleep(Duration::from_secs(3)).await;
    promises(&server, FSYNC).await;
    assert_eq!(lines(&server, "durability_unproven"), 0, "{}", server.errors());
    way.set(ProxyFault::Refuse);
    let refused = Instant::now();
    let why = promises(&server, MEMORY).await;
    assert!(refused.elapsed() > Duration::from_secs(1), "the last proof counts for a while");
    assert!(why.as_str().unwrap().contains(&monitor), "{why}");
    // Where nothing is proven at the start either, a server that may choose is there, and promises less.
    let second = asking(&nats, &monitor, "auto").await;
    promises(&second, MEMORY).await;
    way.set(ProxyFault::None);
    for server in [&server, &second] {
        promises(server, FSYNC).await;
        each_logged(server, 1).await;
    }
}
