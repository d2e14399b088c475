//! What is guessed: keys, tokens, ids of holds, subjects that look alike. All of it counts, and nothing is told.

use crate::inside::{Inside, Setup};
use crate::process::{KEY, Server};
use crate::wire::{Answer, Talk};
use firstcome_http::guard::Guards;
use firstcome_http::guard::token::{TokenKey, TokenKeys};
use serde_json::{Value, json};

const SECRET: &str = "a-secret-that-has-thirty-two-bytes";
const HOLDS: &str = "/v1/campaigns/hall/holds";

#[tokio::test(start_paused = true)]
async fn a_token_is_not_told_whose_hold_an_id_is() {
    let mut tokens = TokenKeys::default();
    tokens.add("main", TokenKey::secret(SECRET).unwrap());
    let guards = Guards { tokens, ..Guards::default() };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.hall(json!({})).await;
    node.hold("bobs", "bob", &["A1"]).await.says(201, "held");
    let ask = json!({"subject": "ann", "campaign": "hall"}).to_string();
    let minted = node.ask_with("POST", "/v1/tokens", &[], ask).await.says(201, "minted");
    let bearer = format!("Bearer {}", minted["token"].as_str().unwrap());
    let ask = async |method: &str, path: &str, body: &Value| -> Answer {
        let headers = [("authorization", bearer.as_str())];
        node.ask_with(method, &format!("{HOLDS}/{path}"), &headers, body.to_string()).await
    };
    let plain = |answer: Answer| {
        let mut document = answer.refuses("no_such_hold", "");
        document.as_object_mut().unwrap().remove("position");
        document
    };
    let (own, units) = (json!({"subject": "ann"}), json!({"subject": "ann", "units": ["A2"]}));
    for (method, step, body) in [
        ("GET", "", &own),
        ("GET", "?subject=ann", &own),
        ("POST", "/extend", &own),
        ("POST", "/release", &own),
        ("POST", "/add", &units),
        ("POST", "/drop", &units),
    ] {
        let there = plain(ask(method, &format!("bobs{step}"), body).await);
        let nowhere = plain(ask(method, &format!("nobodys{step}"), body).await);
        assert_eq!(there, nowhere, "{method} {step}");
    }
    // A key, which may act for everybody, is told.
    let named = node.get(&format!("{HOLDS}/bobs?subject=ann")).await;
    named.refuses("not_yours", "");
    node.tell("holds/bobs/release", own.clone()).await.refuses("not_yours", "");
    // What is hers is hers.
    let hold = json!({"id": "hers", "subject": "ann", "picks": [{"units": ["A3"]}]});
    let headers = [("authorization", bearer.as_str())];
    node.ask_with("POST", HOLDS, &headers, hold.to_string()).await.says(201, "held");
    assert_eq!(ask("GET", "hers", &own).await.json()["state"], json!("live"));
}

/// Asks 300 times at once, so that all of it comes within a second or so.
fn many(talk: &mut Talk, path: &str) -> Vec<Answer> {
    let request = talk.request("GET", path, &[], None);
    talk.send(request.repeat(300)).unwrap();
    (0..300).map(|_| talk.hear().unwrap()).collect()
}

#[test]
fn keys_tokens_and_ids_that_are_not_known_count_for_their_address() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("TOKEN_SECRET", SECRET), ("RATE_SUBJECT", "none")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    talk.open_campaign("hall", 9);
    let ask = json!({"subject": "ann", "campaign": "hall"});
    let token = talk.post("/v1/tokens", &ask).says(201, "minted")["token"].clone();
    let mut ann = Talk::to(server.address, token.as_str().unwrap()).unwrap();
    let tries = |talk: &mut Talk, path: &str, outcome: &str| {
        let answers = many(talk, path);
        let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
        for answer in &refused {
            let document = answer.refuses("too_many_requests", "keys, tokens and hold ids");
            assert_eq!(document["limit"], json!("misses"));
        }
        assert!(refused.len() > 100, "{outcome}: {} of 300", refused.len());
    };
    let mut guesser = Talk::to(server.address, "a-guessed-key---").unwrap();
    guesser.get("/v1/time").refuses("unauthorized", "");
    tries(&mut guesser, "/v1/time", "unauthorized");
    tries(&mut ann, &format!("{HOLDS}/order-1001"), "no_such_hold");
    // Whoever has a key, and asks for what is there, waits for nobody.
    assert_eq!(talk.get("/v1/time").status, 200);
    talk.claim("hall", "bob").says(201, "won");
    ann.claim("hall", "ann").says(201, "won");
    talk.get(&format!("{HOLDS}/order-1001")).refuses("no_such_hold", "");
    assert!(talk.metric("firstcome_rate_limited_total{limit=\"misses\"}") > 200);
}

#[test]
fn a_subject_with_a_token_has_a_rate_unless_it_is_turned_off() {
    let folder = tempfile::tempdir().unwrap();
    let limited = |settings: &[(&str, &str)]| {
        let server = Server::with(folder.path(), settings);
        let mut talk = server.talk();
        many(&mut talk, "/v1/subjects/ann").iter().filter(|answer| answer.status == 429).count()
    };
    assert_eq!(limited(&[]), 0);
    assert!(limited(&[("TOKEN_SECRET", SECRET)]) > 100);
    assert_eq!(limited(&[("TOKEN_SECRET", SECRET), ("RATE_SUBJECT", "none")]), 0);
}

#[test]
fn strict_subjects_look_like_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("SUBJECTS", "strict"), ("TOKEN_SECRET", SECRET)]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 99);
    for (subject, why) in [
        (" ann", "white space"),
        ("ann\u{3000}", "white space"),
        ("a\u{200b}nn", "U+200B"),
        ("\u{feff}ann", "U+FEFF"),
        ("an\u{ad}n", "U+00AD"),
        ("\u{202e}nna", "U+202E"),
        ("ann\u{e0041}", "U+E0041"),
    ] {
        talk.claim("drop", subject).refuses("invalid_subject", why);
        let ask = json!({"subject": subject, "campaign": "drop"});
        talk.post("/v1/tokens", &ask).refuses("invalid_subject", why);
    }
    for subject in ["ann", "김 철수", "caf\u{e9}", "a b"] {
        talk.claim("drop", subject).says(201, "won");
    }
    drop(server);
    let server = Server::on(folder.path());
    server.talk().claim("drop", " ann").says(201, "won");
}

#[test]
fn a_preflight_counts_for_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let page = "https://shop.example";
    let settings = [("RATE_ADDRESS", "1/h burst 3"), ("CORS_ORIGINS", page)];
    let server = Server::with(folder.path(), &settings);
    let mut talk = Talk::to(server.address, KEY).unwrap();
    let headers = [("origin", page), ("access-control-request-method", "POST")];
    let statuses: Vec<u16> = (0..5)
        .map(|_| {
            let request = talk.request("OPTIONS", "/v1/campaigns/drop/claims", &headers, None);
            talk.send(request).unwrap();
            let answer = talk.hear().unwrap();
            assert_eq!(answer.header("vary"), Some("origin"));
            assert_eq!(answer.header("access-control-allow-origin"), Some(page));
            answer.status
        })
        .collect();
    assert_eq!(statuses, [204, 204, 204, 429, 429]);
}
