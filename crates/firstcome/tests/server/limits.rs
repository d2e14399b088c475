//! Requests that are too large, too slow, too many, cut, or sent all at once.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use serde_json::json;
use std::time::{Duration, Instant};

fn body(subject: &str) -> String {
    json!({ "subject": subject }).to_string()
}

#[test]
fn what_is_too_large_is_refused_and_the_server_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    // Without a ledger nothing is added to the journal but what is claimed.
    let server = Server::with(folder.path(), &[("BODY_BYTES", "1024"), ("LEDGER", "none")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    let position = talk.position();

    // A body: announced, and not announced.
    let large = body(&"x".repeat(2_000));
    let mut one = server.talk();
    let request = one.request("POST", "/v1/campaigns/drop/claims", &[], Some(&large));
    one.send(request).unwrap();
    one.hear().unwrap().refuses("too_large", "more than 1024 bytes");
    let mut one = server.talk();
    let chunked = [("transfer-encoding", "chunked"), ("content-type", "application/json")];
    let head = one.request("POST", "/v1/campaigns/drop/claims", &chunked, None);
    one.send(format!("{head}{:x}\r\n{large}\r\n", large.len())).unwrap();
    one.hear().unwrap().refuses("too_large", "more than 1024 bytes");
    let mut one = server.talk();
    let chunk = format!("{:x}\r\n{}\r\n0\r\n\r\n", body("ann").len(), body("ann"));
    one.send(format!("{head}{chunk}")).unwrap();
    one.hear().unwrap().says(201, "won");

    // A header, a path, and too many headers.
    let long = "x".repeat(100_000);
    let many: Vec<_> = (0..100).map(|n| format!("x-{n}")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), "1")).collect();
    for request in [
        talk.request("GET", "/v1/time", &[("x-long", &long)], None),
        talk.request("GET", &format!("/v1/{long}"), &[], None),
        talk.request("GET", "/v1/time", &many, None),
    ] {
        let mut one = server.talk();
        // It may be refused before it has sent everything.
        let sent = one.send(request);
        match one.hear() {
            Ok(answer) => assert!([414, 431].contains(&answer.status), "{answer:?}"),
            // What is on its way when a connection is reset may be lost with it.
            Err(why) => assert!(sent.is_err(), "{why}"),
        }
        assert!(one.is_hung_up());
    }
    // What is no HTTP at all.
    let mut one = server.talk();
    one.send("hello?\r\n\r\n").unwrap();
    assert_eq!(one.hear().unwrap().status, 400);

    assert_eq!(talk.position(), format!("0.{}", position[2..].parse::<u64>().unwrap() + 1));
    assert_eq!(talk.metric("firstcome_answers_total{outcome=\"too_large\"}"), 2);
    assert_eq!(talk.metric("firstcome_body_limit_bytes"), 1024);
    // Counted once the connection is gone, which its peer may see first.
    let counted = |_| talk.metric("firstcome_connections_unreadable_total") == 4;
    assert!((0..10_000).any(counted));
}

#[test]
fn what_is_too_slow_is_cut_and_the_others_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("HEADER_MS", "3000"), ("IDLE_MS", "60000")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    let mut head = server.talk();
    head.send("POST /v1/campaigns/drop/claims HTTP/1.1\r\nhost: test\r\n").unwrap();
    let mut slow = server.talk();
    let whole = slow.request("POST", "/v1/campaigns/drop/claims", &[], Some(&body("slow")));
    slow.send(&whole[..whole.len() - 3]).unwrap();
    let mut silent = server.talk();
    // The head never comes: closed, with or without a word. Meanwhile others are served.
    talk.claim("drop", "ann").says(201, "won");
    if let Ok(answer) = head.hear() {
        assert_eq!(answer.status, 408);
    }
    assert!(head.is_hung_up());
    assert!(silent.is_hung_up());
    slow.hear().unwrap().refuses("timeout", "the body did not come within 3 s");
    assert!(slow.is_hung_up());
    assert!((0..10_000).any(|_| talk.metric("firstcome_connections_too_slow_total") == 2));
    // A connection that has been served may be silent for longer: its head is not overdue.
    talk.get("/v1/campaigns/drop/claims/slow").refuses("no_such_claim", "");
    assert_eq!(talk.metric("firstcome_answers_total{outcome=\"timeout\"}"), 1);
}

#[test]
fn one_connection_too_many_is_told_so_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CONNECTIONS", "2"), ("TRUSTED_PROXIES", "127.0.0.1")];
    let server = Server::with(folder.path(), &settings);
    let (mut one, mut two) = (server.talk(), server.talk());
    one.open_campaign("drop", 9);
    two.claim("drop", "ann").says(201, "won");
    for _ in 0..20 {
        // With a request in flight, so that hanging up must not swallow the answer.
        let mut three = server.talk();
        let request = three.request("POST", "/v1/campaigns/drop/claims", &[], Some(&body("bob")));
        // It may be refused before it has sent everything.
        drop(three.send(request));
        three.hear().unwrap().refuses("too_many_connections", "(connections)");
        assert!(three.is_hung_up());
    }
    assert_eq!(one.metric("firstcome_connections_refused_total"), 20);
    assert_eq!(one.metric("firstcome_connections "), 2);
    assert_eq!(one.metric("firstcome_connections_limit"), 2);
    drop(two);
    // The place is free once the server has seen that it is.
    let end = Instant::now() + Duration::from_secs(60);
    let is_served = || {
        let bob = server.talk().try_claim("drop", "bob");
        bob.is_ok_and(|answer| answer.status == 201)
    };
    while !is_served() {
        assert!(Instant::now() < end, "the place of who left is never given again");
    }
}

#[test]
fn requests_that_are_cut_in_the_middle_claim_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    let position = talk.position();
    let whole = talk.request("POST", "/v1/campaigns/drop/claims", &[], Some(&body("cut")));
    for sent in (1..whole.len()).step_by(7) {
        let mut cut = server.talk();
        cut.send(&whole[..sent]).unwrap();
        cut.finish_sending();
        // Either nothing, or a refusal: never a yes.
        if let Ok(answer) = cut.hear() {
            assert_eq!(answer.status, 400, "{answer:?}");
        }
    }
    assert_eq!(talk.position(), position, "nothing was appended");
    talk.claim("drop", "ann").says(201, "won");
}

#[test]
fn pipelined_requests_are_answered_in_order_on_one_connection() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    talk.open_campaign("drop", 50);
    let writer = server.talk();
    let ask = |n: u32| {
        writer.request("POST", "/v1/campaigns/drop/claims", &[], Some(&body(&format!("s{n}"))))
    };
    let all: String = (1..=60).map(ask).collect();
    talk.send(all).unwrap();
    for rank in 1..=50 {
        assert_eq!(talk.hear().unwrap().says(201, "won")["rank"], json!(rank));
    }
    for _ in 51..=60 {
        talk.hear().unwrap().refuses("sold_out", "");
    }
    // Half a request behind a whole one does not hold up the answer to the whole one.
    let request = ask(61);
    talk.send(format!("{request}{}", &request[..20])).unwrap();
    talk.hear().unwrap().refuses("sold_out", "");
    talk.send(&request[20..]).unwrap();
    talk.hear().unwrap().refuses("sold_out", "");
    // The same connection goes on, and says goodbye when asked to.
    talk.claim("drop", "s1").says(200, "already_won");
    let last = talk.request("GET", "/livez", &[("connection", "close")], None);
    talk.send(last).unwrap();
    assert_eq!(talk.hear().unwrap().json(), json!({"status": "alive"}));
    assert!(talk.is_hung_up());
    assert!(Talk::to(server.address, KEY).is_ok());
}
