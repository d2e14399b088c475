//! Who asks too often is told so, by each of the limits, and nobody else notices.

use crate::inside::{Inside, Setup};
use crate::process::{KEY, Server, serve};
use crate::wire::{Answer, Talk};
use firstcome_http::guard::Guards;
use firstcome_http::guard::rate::Limiter;
use prometheus_client::metrics::counter::Counter;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio::time::advance;

pub(crate) fn subjects(rate: &str) -> Guards {
    let limiter = Limiter::new(rate.parse().unwrap(), 1_024, Counter::default());
    Guards { subjects: Some(limiter), ..Guards::default() }
}

#[track_caller]
fn too_many(answer: &Answer, who: &str, seconds: u64) {
    let document = answer.json();
    assert_eq!(answer.status, 429, "{document}");
    assert_eq!(document["outcome"], json!("too_many_requests"));
    assert_eq!((&document["retry"], &document["changed"]), (&json!(true), &json!("no")));
    assert!(document["detail"].as_str().unwrap().starts_with(who), "{document}");
    // Real time passes, where the clock is not stopped.
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!(wait <= seconds && wait + 60 > seconds, "{document}");
}

#[tokio::test(start_paused = true)]
async fn a_subject_that_asks_too_often_waits_and_the_others_do_not() {
    let setup = Setup { guards: subjects("6/m burst 3"), ..Setup::default() };
    let node = Inside::with(setup).await;
    node.open("drop", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.claim("drop", "ann").await.says(200, "already_won");
    assert_eq!(node.get("/v1/campaigns/drop/claims/ann").await.status, 200);
    let position = node.position();
    // Whatever it is that names her; and her yes from memory is no exception.
    too_many(&node.claim("drop", "ann").await, "subject \"ann\" may ask 6/m burst 3", 10);
    let looked_up = node.get("/v1/campaigns/drop/claims/ann").await;
    too_many(&looked_up, "subject \"ann\"", 10);
    let cancelled = node.cancel("drop", "ann", "rank=1&by=subject").await;
    assert_eq!(cancelled.json()["limit"], json!("subject"));
    assert_eq!(cancelled.json()["retry_after_ms"], json!(10_000));
    assert_eq!(node.position(), position, "nothing was appended");
    node.claim("drop", "bob").await.says(201, "won");
    advance(Duration::from_millis(9_001)).await;
    too_many(&node.claim("drop", "ann").await, "subject \"ann\"", 1);
    advance(Duration::from_secs(1)).await;
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    // What names no subject is about none.
    for _ in 0..10 {
        assert_eq!(node.get("/v1/campaigns/drop").await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_asks_too_often_waits_and_the_others_do_not() {
    let node = Inside::with(Setup { key_rate: Some("2/s"), ..Setup::default() }).await;
    node.open("drop", 9).await.says(201, "created");
    let backend = [("authorization", "Bearer a-backend-key---"), ("content-type", "")];
    let ask = || node.ask_with("GET", "/v1/campaigns/drop", &backend, "");
    assert_eq!((ask().await.status, ask().await.status), (200, 200));
    too_many(&ask().await, "key \"backend\" may ask 2/s (rate_key)", 1);
    // What its role does not let it do is refused for that, and not counted.
    let create = node.ask_with("PUT", "/v1/campaigns/more", &backend, "{}").await;
    create.refuses("forbidden", "this needs operator");
    for n in 0..5 {
        node.claim("drop", &format!("s{n}")).await.says(201, "won");
    }
    advance(Duration::from_millis(500)).await;
    assert_eq!(ask().await.status, 200);
    ask().await.refuses("too_many_requests", "nothing changed");
    let counts = node.get("/metrics").await.text();
    for count in ["rate_limited_total{limit=\"key\"} 2", "{outcome=\"too_many_requests\"} 2"] {
        assert!(counts.contains(count), "{count}: {counts}");
    }
}

/// Asks for the campaigns, with what a proxy says of where that comes from.
fn ask_from(talk: &mut Talk, path: &str, forwarded: &str) -> Answer {
    let headers = [("x-forwarded-for", forwarded)];
    let headers = if forwarded.is_empty() { &headers[..0] } else { &headers[..] };
    let request = talk.request("GET", path, headers, None);
    talk.send(request).unwrap();
    talk.hear().unwrap()
}

#[test]
fn an_address_that_asks_too_often_waits_whatever_it_says_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("RATE_ADDRESS", "1/h burst 5")]);
    let mut talk = server.talk();
    // Nobody is trusted: an invented address is nobody's.
    for n in 0..5 {
        let answer = ask_from(&mut talk, "/v1/time", &format!("10.0.0.{n}"));
        assert_eq!(answer.status, 200);
    }
    // Neither another connection nor another key helps, and guessing keys is asking, too.
    let mut other = Talk::to(server.address, "a-guessed-key---").unwrap();
    too_many(&ask_from(&mut other, "/v1/time", "1.1.1.1"), "address 127.0.0.1 may ask", 3600);
    let claim = talk.claim("drop", "ann");
    assert_eq!((claim.status, claim.outcome().as_str()), (429, "too_many_requests"));
    // Those who watch the server are not among those who use it.
    for _ in 0..10 {
        assert_eq!(ask_from(&mut talk, "/livez", "").status, 200);
        assert_eq!(ask_from(&mut talk, "/readyz", "").status, 200);
    }
    assert_eq!(talk.metric("firstcome_rate_limited_total{limit=\"address\"}"), 2);
}

#[test]
fn behind_a_trusted_proxy_each_address_counts_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        [("RATE_ADDRESS", "1/h burst 2"), ("TRUSTED_PROXIES", "127.0.0.0/8, 10.0.0.0/8")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    for address in ["1.1.1.1", "2.2.2.2", "2001:db8::1"] {
        for before in ["", "6.6.6.6, ", "7.7.7.7, 8.8.8.8, "] {
            let answer = ask_from(&mut talk, "/v1/time", &format!("{before}{address}, 10.0.0.1"));
            let third = before.len() > 10;
            assert_eq!(answer.status, if third { 429 } else { 200 }, "{before}{address}");
            if third {
                too_many(&answer, &format!("address {address} may ask"), 3600);
            }
        }
    }
    // Neighbours of a /64 are one and the same.
    let neighbour = ask_from(&mut talk, "/v1/time", "2001:db8::2");
    too_many(&neighbour, "address 2001:db8::2", 3600);
    assert_eq!(ask_from(&mut talk, "/v1/time", "2001:db8:0:1::1").status, 200);
}

#[test]
fn settings_of_rates_hold_in_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a-key-of-its-own";
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = folder.path().join("firstcome.toml");
    let entry = format!(
        "[[keys]]\nname = \"x\"\nsha256 = \"{hash}\"\nrole = \"backend\"\nrate = \"none\"\n"
    );
    std::fs::write(&file, format!("rate_key = \"2/h\"\nrate_subject = \"1/h\"\n{entry}")).unwrap();
    let mut command = serve(folder.path(), &[]);
    command.arg("--config").arg(&file);
    let server = Server::of(command);
    let mut talk = Talk::to(server.address, KEY).unwrap();
    talk.open_campaign("drop", 9);
    assert_eq!(talk.get("/v1/time").status, 200);
    too_many(&talk.get("/v1/time"), "key \"admin\" may ask 2/h (rate_key)", 1800);
    // A key with a rate of its own, and subjects whichever key brings them.
    let mut other = Talk::to(server.address, text).unwrap();
    for n in 0..10 {
        let claim = other.claim("drop", &format!("s{n}"));
        assert_eq!(claim.status, if n < 9 { 201 } else { 409 }, "{claim:?}");
    }
    too_many(&other.claim("drop", "s3"), "subject \"s3\" may ask 1/h (rate_subject)", 3600);
}
