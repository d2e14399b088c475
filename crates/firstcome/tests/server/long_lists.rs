//! Lists that grow with what somebody did, or with the campaigns there are: pages, and changes in place of the whole.

use crate::bulk_clients::Bulk;
use crate::inside::Inside;
use crate::process::{KEY, Server};
use crate::tokens;
use crate::wire::Answer;
use axum::body::Body;
use axum::http::Request;
use firstcome_core::NodeId;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::future::poll_fn;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::pin::pin;
use std::time::Duration;
use tower_service::Service;

/// Reads a list page by page; gives the lines of all pages, and how many there were.
async fn pages(node: &Inside, path: &str, list: &str) -> (Vec<Value>, usize) {
    let (mut lines, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = node.get(&format!("{path}{after}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let page = page.json();
        lines.extend(page[list].as_array().unwrap().iter().cloned());
        pages += 1;
        let next = &page["next"];
        if next.is_null() {
            return (lines, pages);
        }
        after = format!("&after={}", next.to_string().trim_matches('"'));
    }
}

fn names<'a>(lines: &'a [Value], field: &str) -> Vec<&'a str> {
    lines.iter().map(|line| line[field].as_str().unwrap()).collect()
}

/// Opens a campaign of two pools in which one may claim again.
async fn opens(node: &Inside) {
    let pools = json!([{"name": "main", "capacity": 9}, {"name": "side", "capacity": 9}]);
    let settings = json!({"opens_at": "now", "claim_again": true, "pools": pools});
    node.put("drop", &settings).await.says(201, "created");
}

async fn claims(node: &Inside, pool: &str) -> Answer {
    let body = json!({"subject": "ann", "pool": pool}).to_string();
    node.ask_with("POST", "/v1/campaigns/drop/claims", &[], body).await
}

/// Has a subject claim and cancel as often as it may.
async fn claims_and_cancels(node: &Inside) {
    for rank in 1..=1_000 {
        claims(node, "main").await.says(201, "won");
        let query = format!("pool=main&rank={rank}&by=subject");
        node.cancel("drop", "ann", &query).await.says(200, "cancelled");
    }
}

#[tokio::test(start_paused = true)]
async fn claims_of_a_subject_come_in_pages_and_end_with_the_thousandth() {
    let node = Inside::new().await;
    opens(&node).await;
    let claim = async |pool: &str| claims(&node, pool).await;
    let cancel = async |pool: &str, rank: usize| {
        let query = format!("pool={pool}&rank={rank}&by=subject");
        node.cancel("drop", "ann", &query).await.says(200, "cancelled");
    };
    for rank in 1..=1_000 {
        claim("main").await.says(201, "won");
        cancel("main", rank).await;
    }
    claim("main").await.refuses("limit_reached", "");
    for rank in 1..=3 {
        claim("side").await.says(201, "won");
        if rank < 3 {
            cancel("side", rank).await;
        }
    }
    let path = "/v1/campaigns/drop/claims/ann";
    let places = |claims: &[Value]| -> Vec<(String, u64)> {
        let place = |claim: &Value| {
            (claim["pool"].as_str().unwrap().to_owned(), claim["rank"].as_u64().unwrap())
        };
        claims.iter().map(place).collect()
    };
    let main = (1..=1_000).rev().map(|rank| ("main".to_owned(), rank));
    let all: Vec<_> = main.chain((1..=3).rev().map(|rank| ("side".to_owned(), rank))).collect();
    for (limit, expected) in [(1, 1_003), (7, 144), (1_000, 2), (1_001, 2), (10_000, 1)] {
        let (claims, pages) = pages(&node, &format!("{path}?limit={limit}"), "claims").await;
        assert_eq!((places(&claims), pages), (all.clone(), expected), "{limit}");
    }
    assert_eq!(node.get(path).await.json()["claims"].as_array().unwrap().len(), 1_000);
    let beyond = node.get(&format!("{path}?after={}", u64::MAX)).await.json();
    assert_eq!((&beyond["claims"], &beyond["next"]), (&json!([]), &Value::Null));
    node.get(&format!("{path}?limit=10001")).await.refuses("invalid_request", "1 to 10000");
    // Over all campaigns it has the latest thousand of each, and says where the others are.
    let has = node.get("/v1/subjects/ann").await.json();
    let has = &has["campaigns"][0];
    assert_eq!(has["claims"].as_array().unwrap().len(), 1_000);
    let rest = node.get(&format!("{path}?after={}", has["next"])).await.json();
    assert_eq!(places(rest["claims"].as_array().unwrap()), all[1_000..]);
}

/// Says how many turns of its thread an answer takes.
async fn turns(node: &Inside, path: &str) -> usize {
    let mut asked = pin!(node.get(path));
    let mut turns = 0;
    let answer = poll_fn(|cx| {
        turns += 1;
        asked.as_mut().poll(cx)
    });
    assert_eq!(answer.await.status, 200, "{path}");
    turns
}

/// Ten thousand rows were read in one turn, or under one lock, while entries waited.
#[tokio::test(start_paused = true)]
async fn others_have_their_turn_between_a_thousand_claims_and_the_next_ones() {
    let node = Inside::new().await;
    opens(&node).await;
    node.open("later", 9).await.says(201, "created");
    claims_and_cancels(&node).await;
    claims(&node, "side").await.says(201, "won");
    node.claim("later", "ann").await.says(201, "won");
    let path = "/v1/campaigns/drop/claims/ann";
    let short = turns(&node, &format!("{path}?limit=1000")).await;
    assert_eq!(turns(&node, &format!("{path}?limit=10000")).await, short + 1);
    let one = turns(&node, "/v1/subjects/ann?limit=10000&campaign=drop").await;
    assert_eq!(turns(&node, "/v1/subjects/ann?limit=10000").await, one + 1);
    let has = node.get("/v1/subjects/ann?limit=10000").await.json();
    assert_eq!(names(has["campaigns"].as_array().unwrap(), "campaign"), ["drop", "later"]);
}

#[tokio::test(start_paused = true)]
async fn campaigns_and_what_a_subject_has_in_them_come_in_pages() {
    let node = Inside::new().await;
    let all: Vec<String> = (0..25).map(|n| format!("c{n:02}")).collect();
    for name in all.iter().rev().map(String::as_str).chain(["spring-1", "spring-2"]) {
        node.open(name, 3).await.says(201, "created");
        node.claim(name, "ann").await.says(201, "won");
    }
    let (campaigns, count) = pages(&node, "/v1/campaigns?limit=10", "campaigns").await;
    let mut sorted: Vec<&str> = all.iter().map(String::as_str).collect();
    sorted.extend(["spring-1", "spring-2"]);
    assert_eq!((names(&campaigns, "campaign"), count), (sorted, 3));
    assert_eq!(pages(&node, "/v1/campaigns?limit=27", "campaigns").await.1, 1);
    node.get("/v1/campaigns?limit=1001").await.refuses("invalid_request", "1 to 1000");
    // A key for some campaigns sees those, and no place of others.
    let spring = [("authorization", "Bearer a-key-for-spring")];
    for (query, expected) in [
        ("limit=1", vec!["spring-1"]),
        ("limit=2", vec!["spring-1", "spring-2"]),
        ("after=c03", vec!["spring-1", "spring-2"]),
        ("after=spring-1", vec!["spring-2"]),
        ("after=tulip", vec![]),
    ] {
        let path = format!("/v1/campaigns?{query}");
        let seen = node.ask_with("GET", &path, &spring, "").await.json();
        assert_eq!(names(seen["campaigns"].as_array().unwrap(), "campaign"), expected, "{query}");
        let next = if query == "limit=1" { json!("spring-1") } else { Value::Null };
        assert_eq!(seen["next"], next, "{query}");
    }

    let (has, count) = pages(&node, "/v1/subjects/ann?limit=10", "campaigns").await;
    let created: Vec<&str> = all.iter().rev().map(String::as_str).collect();
    assert_eq!(names(&has, "campaign"), [&created[..], &["spring-1", "spring-2"]].concat());
    assert_eq!(count, 3);
    let one = node.get("/v1/subjects/ann?campaign=c07").await.json();
    assert_eq!(names(one["campaigns"].as_array().unwrap(), "campaign"), ["c07"]);
    assert_eq!(one["next"], Value::Null);
    let none = node.get("/v1/subjects/ann?campaign=none").await.json();
    assert_eq!(none["campaigns"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn reports_of_forks_come_in_pages_the_newest_first() {
    let (node, _other) = Inside::two().await;
    for epoch in 1..=5 {
        let report = "x".repeat(400 << 10);
        node.app.node.journal.report(epoch, NodeId([7; 16]), report).await.unwrap();
    }
    let (forks, count) = pages(&node, "/v1/forks?", "forks").await;
    let epochs: Vec<_> = forks.iter().map(|fork| fork["epoch"].as_u64().unwrap()).collect();
    assert_eq!((epochs, count), (vec![5, 4, 3, 2, 1], 3));
}

/// Sent whole four times a second, a long history took 1.5 GB.
#[test]
fn a_stream_of_a_subject_says_what_changed_of_a_long_history() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "a-secret-of-at-least-32-characters";
    let settings = [("TOKEN_SECRET", secret), ("RATE_SUBJECT", "none")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    let pools = json!([{"name": "main", "capacity": 9}, {"name": "side", "capacity": 9}]);
    let settings = json!({"opens_at": "now", "claim_again": true, "pools": pools});
    talk.put("/v1/campaigns/drop", &settings).says(201, "created");
    let mut bulk = Bulk::open(server.address, KEY);
    let line = |verb: &str, pool: &str, rank: Option<u32>| {
        let mut line = json!({"do": verb, "campaign": "drop", "subject": "ann", "pool": pool});
        if let Some(rank) = rank {
            line["rank"] = json!(rank);
            line["by"] = json!("subject");
        }
        format!("{line}\n")
    };
    let mut does = |verb: &str, pool: &str, rank: Option<u32>| {
        bulk.send(&line(verb, pool, rank));
        let answer = bulk.next().unwrap();
        assert!(["won", "cancelled"].contains(&answer["outcome"].as_str().unwrap()), "{answer}");
    };
    for rank in 1..=600 {
        for pool in ["main", "side"] {
            does("claim", pool, None);
            if (pool, rank) != ("side", 600) {
                does("cancel", pool, Some(rank));
            }
        }
    }
    let token = json!({"subject": "ann", "campaign": "drop"});
    let token = talk.post("/v1/tokens", &token).json()["token"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = "/v1/campaigns/drop/events";
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut own = || {
        lines.by_ref().map(Result::unwrap).find(|line| line == "event: own").unwrap();
        let data = lines.next().unwrap().unwrap();
        let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        let claims = event["claims"].as_array().unwrap().len();
        (event["whole"] == true, event["more"] == true, claims, event)
    };
    let (whole, more, claims, _) = own();
    assert_eq!((whole, more, claims), (true, true, 1_000));
    let (whole, more, claims, _) = own();
    assert_eq!((whole, more, claims), (false, false, 200));
    does("claim", "main", None);
    let (whole, more, claims, event) = own();
    assert_eq!((whole, more, claims), (false, false, 1), "{event}");
    assert_eq!(event["claims"][0]["rank"], json!(601));
    does("cancel", "side", Some(600));
    let (whole, more, claims, event) = own();
    assert_eq!((whole, more, claims), (false, false, 1), "{event}");
    let claim = &event["claims"][0];
    assert_eq!((&claim["pool"], &claim["cancelled"]["by"]), (&json!("side"), &json!("subject")));
}

/// Behind the thousandth claim stood one that was sent already, and `more` promised an event that never came.
#[tokio::test(start_paused = true)]
async fn an_event_of_a_thousand_claims_promises_only_claims_that_were_not_sent() {
    let node = tokens::node().await;
    opens(&node).await;
    claims(&node, "side").await.says(201, "won");
    let token = node.token(json!({"subject": "ann", "campaign": "drop"})).await;
    let request = Request::get("/v1/campaigns/drop/events");
    let request = request.header("authorization", format!("Bearer {token}"));
    let request = request.body(Body::empty()).unwrap();
    let mut events = node.router().call(request).await.unwrap().into_body();
    let mut own = async || -> Value {
        loop {
            let frame = events.frame().await.unwrap().unwrap().into_data().unwrap();
            let text = String::from_utf8(frame.to_vec()).unwrap();
            if let Some((_, data)) = text.split_once("event: own\ndata: ") {
                return serde_json::from_str(data.lines().next().unwrap()).unwrap();
            }
        }
    };
    let count = |event: &Value| event["claims"].as_array().unwrap().len();
    let first = own().await;
    assert_eq!((count(&first), &first["more"]), (1, &json!(false)), "{first}");
    // Nobody reads meanwhile.
    claims_and_cancels(&node).await;
    let second = own().await;
    assert_eq!((count(&second), &second["more"]), (1_000, &json!(false)));
}
