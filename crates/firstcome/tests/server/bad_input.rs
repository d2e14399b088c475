//! Requests that are wrong, each with an answer of its own and nothing changed.

use crate::inside::{BEGIN, Inside, Setup, one_pool};
use crate::process::Server;
use serde_json::{Value, json};

/// Asks for claims with a body and headers as given.
async fn claims(
    node: &Inside,
    headers: &[(&str, &str)],
    body: impl Into<axum::body::Body>,
) -> crate::wire::Answer {
    node.ask_with("POST", "/v1/campaigns/drop/claims", headers, body).await
}

#[tokio::test(start_paused = true)]
async fn subjects_that_cannot_be_are_refused_and_any_language_is_fine() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    let begin = node.position();
    let long = "x".repeat(300);
    for (subject, detail) in [
        ("", "the subject is empty"),
        (&*long, "300"),
        ("a\nb", "the subject"),
        ("\0", "the subject"),
        ("a\u{85}", "the subject"),
        ("\u{7f}", "the subject"),
    ] {
        node.claim("drop", subject).await.refuses("invalid_subject", detail);
    }
    let bytes = b"{\"subject\": \"\xff\xfe\"}".to_vec();
    claims(&node, &[], bytes).await.refuses("invalid_request", "the body is not right");
    let half = r#"{"subject": "\ud800"}"#;
    claims(&node, &[], half).await.refuses("invalid_request", "the body is not right");
    for path in ["%FF", "%0A", &"x".repeat(300)] {
        let answer = node.get(&format!("/v1/campaigns/drop/claims/{path}")).await;
        assert!([400, 422].contains(&answer.status), "{path}: {}", answer.text());
    }
    assert_eq!(node.position(), begin, "nothing was appended");
    for (rank, subject) in ["선착순", "🎟️", "a b", &"x".repeat(255)].into_iter().enumerate()
    {
        let won = node.claim("drop", subject).await.says(201, "won");
        assert_eq!((&won["rank"], &won["subject"]), (&json!(rank + 1), &json!(subject)));
    }
    let claims = node.get("/v1/campaigns/drop/claims/%EC%84%A0%EC%B0%A9%EC%88%9C").await.json();
    assert_eq!((&claims["subject"], &claims["claims"][0]["rank"]), (&json!("선착순"), &json!(1)));
    // Bytewise: what only looks the same is somebody else.
    for subject in ["é", "e\u{301}"] {
        node.claim("drop", subject).await.says(201, "won");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_not_what_the_route_takes_are_named() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    let begin = node.position();
    let good = r#"{"subject": "ann"}"#;
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        claims(&node, &[("content-type", kind)], good)
            .await
            .refuses("unsupported_media_type", "send Content-Type: application/json");
    }
    for (body, detail) in [
        ("", "EOF while parsing"),
        ("{", "EOF while parsing"),
        ("null", "invalid type"),
        ("[]", "the body has no `subject`"),
        (r#"{"subject": 7}"#, "invalid type: integer `7`"),
        (r#"{"subject": null}"#, "the body has no `subject`"),
        (r#"{"pool": "main"}"#, "the body has no `subject`"),
        (r#"{"subject": "ann"} {}"#, "trailing characters"),
        (r#"{"subject": "ann",}"#, "trailing comma"),
        (r#"{"subject": "ann", "rank": 1}"#, "unknown field `rank`"),
        (r#"{"subject": "ann", "subject": "bob"}"#, "duplicate field `subject`"),
    ] {
        claims(&node, &[], body).await.refuses("invalid_request", detail);
    }
    claims(&node, &[], vec![b' '; 65_537]).await.refuses("too_large", "more than 65536 bytes");
    assert_eq!(node.position(), begin, "nothing was appended");
    let charset = [("content-type", "Application/JSON; charset=utf-8")];
    claims(&node, &charset, good).await.says(201, "won");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_not_found() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    let begin = node.position();
    for campaign in ["nowhere", "No-Where", "-x", "%E2%82%AC", &"x".repeat(65)] {
        node.claim(campaign, "ann").await.refuses("not_found", "there is no campaign");
        let shown = node.get(&format!("/v1/campaigns/{campaign}")).await;
        shown.refuses("not_found", "there is no campaign");
        let path = format!("/v1/campaigns/{campaign}/pause");
        node.post(&path).await.refuses("not_found", "there is no campaign");
    }
    for pool in ["side", "Main", ""] {
        let body = json!({"subject": "ann", "pool": pool}).to_string();
        claims(&node, &[], body).await.refuses("not_found", "has no such pool");
    }
    for (method, path, outcome) in [
        ("GET", "/docs/nothing", "no_such_route"),
        ("GET", "/v2/campaigns", "no_such_route"),
        ("POST", "/v1/campaigns/drop/claims/", "no_such_route"),
        ("PATCH", "/v1/campaigns/drop", "method_not_allowed"),
        ("GET", "/v1/campaigns/drop/claims", "method_not_allowed"),
        ("GET", "/problems/no-such-problem", "no_such_route"),
    ] {
        node.ask_with(method, path, &[], "").await.refuses(outcome, "");
    }
    let counts = node.get("/metrics").await.text();
    for (outcome, asked) in [("no_such_route", 4), ("method_not_allowed", 2)] {
        let count = format!("answers_total{{outcome=\"{outcome}\"}} {asked}\n");
        assert!(counts.contains(&count), "{count}: {counts}");
    }
    node.cancel("drop", "ann", "rank=1&by=subject").await.refuses("no_such_claim", "");
    for (query, detail) in [
        ("by=subject", "rank is required"),
        ("rank=1", "an operator gives a reason"),
        ("rank=x&by=subject", "rank=x is not a number"),
        ("rank=-1&by=subject", "rank=-1 is not a number"),
        ("rank=1&by=nobody", "by=nobody: it is subject or operator"),
        ("rank=1&reason=a%0Ab", "control characters"),
        ("rank=1&why=x", "the query has \"why\""),
    ] {
        node.cancel("drop", "ann", query).await.refuses("invalid_request", detail);
    }
    let long = format!("rank=1&reason={}", "x".repeat(257));
    node.cancel("drop", "ann", &long).await.refuses("invalid_request", "more than 256 bytes");
    for (query, detail) in
        [("limit=0", "limit=0 is outside"), ("after=-1", "after=-1"), ("format=xml", "format=xml")]
    {
        let path = format!("/v1/campaigns/drop/results?{query}");
        node.get(&path).await.refuses("invalid_request", detail);
    }
    let picky = [("accept", "image/png")];
    node.ask_with("GET", "/v1/campaigns/drop/results", &picky, "")
        .await
        .refuses("not_acceptable", "application/x-ndjson");
    // A pause of no campaign and a cancel of no claim go to the journal, which decides them.
    assert_eq!(node.position(), begin + 2);
}

#[tokio::test(start_paused = true)]
async fn settings_that_make_no_sense_are_refused_with_the_reason() {
    let node = Inside::with(Setup { memory: 100 << 20, ..Setup::default() }).await;
    let times = |opens: Value, closes: Value| json!({"opens_at": opens, "closes_at": closes, "pools": [{"name": "main", "capacity": 5}]});
    let pool = |capacity: Value| json!({"pools": [{"name": "main", "capacity": capacity}]});
    let named = |name: &str| json!({"pools": [{"name": name, "capacity": 5}]});
    for (settings, outcome, detail) in [
        (
            times(json!("2027-03-02T00:00:00Z"), json!("2027-03-01T12:00:00Z")),
            "closes_too_early",
            "",
        ),
        (
            times(json!("2027-03-02T00:00:00Z"), json!("2027-03-02T00:00:00Z")),
            "closes_too_early",
            "",
        ),
        (times(json!(null), json!("2027-02-01T00:00:00Z")), "closes_too_early", ""),
        (
            times(json!("2027-03-02T00:00:00"), json!(null)),
            "invalid_settings",
            "opens_at: \"2027-03-02T00:00:00\" has no offset",
        ),
        (times(json!(null), json!("2027-03-02")), "invalid_settings", "closes_at: "),
        (
            times(json!("2027-03-28T02:30:00[Europe/Berlin]"), json!(null)),
            "invalid_settings",
            "is not one moment",
        ),
        (
            times(json!("2027-10-31T02:30:00[Europe/Berlin]"), json!(null)),
            "invalid_settings",
            "is not one moment",
        ),
        (times(json!("tomorrow"), json!(null)), "invalid_settings", "is not a time"),
        (times(json!("now"), json!("now")), "invalid_settings", "closes_at: \"now\" is not a time"),
        (times(json!(7), json!(null)), "invalid_request", "invalid type: integer `7`"),
        (pool(json!(0)), "invalid_settings", "0 is outside 1 to"),
        (pool(json!(-1)), "invalid_settings", "-1 is outside 1 to"),
        (pool(json!(4_294_967_296_u64)), "invalid_settings", "4294967296 is outside 1 to"),
        (pool(json!(4_294_967_295_u64)), "invalid_settings", "4294967295 is outside 1 to"),
        (pool(json!(1.5)), "invalid_settings", "1.5 is outside 1 to"),
        (pool(json!("5")), "invalid_request", "invalid type: string"),
        (pool(json!(2_000_000)), "too_big_for_memory", "this node may use 100 MiB"),
        (named(""), "invalid_settings", "name of pool 1"),
        (named("Main"), "invalid_settings", "name of pool 1"),
        (json!({"pools": []}), "invalid_settings", "there is no pool"),
        (json!({}), "invalid_request", "missing field `pools`"),
        (
            json!({"pools": [{"name": "a", "capacity": 1}, {"name": "a", "capacity": 1}]}),
            "invalid_settings",
            "two pools are named",
        ),
        (
            json!({"pools": [{"name": "a", "capacity": 1, "kind": "drawn"}]}),
            "invalid_request",
            "unknown variant `drawn`",
        ),
        (
            json!({"pools": [{"name": "a", "capacity": 1, "price": 1}]}),
            "invalid_request",
            "unknown field `price`",
        ),
        (json!({"opens": "now", "pools": []}), "invalid_request", "unknown field `opens`"),
        (json!({"limits": {"pool": 1}, "pools": []}), "invalid_request", "unknown field `pool`"),
        (
            json!({"limits": {"campaign": 0}, "pools": [{"name": "a", "capacity": 1}]}),
            "invalid_settings",
            "0 would let nobody claim",
        ),
        (
            json!({"title": "x".repeat(257), "pools": [{"name": "a", "capacity": 1}]}),
            "invalid_settings",
            "title",
        ),
    ] {
        let before = node.position();
        node.put("drop", &settings).await.refuses(outcome, detail);
        // Whether a closing is too early depends on the time of the entry: the journal decides it.
        assert_eq!(
            node.position() - before,
            u64::from(outcome == "closes_too_early"),
            "{settings}"
        );
        assert_eq!(node.get("/v1/campaigns/drop").await.status, 404);
    }
    node.put("Drop", &one_pool("now", 1)).await.refuses("invalid_settings", "the campaign's name");
    for (headers, detail) in [
        ([("if-match", "*")], "If-Match takes the version"),
        ([("if-match", "\"0\"")], "If-Match takes the version"),
        ([("if-none-match", "\"1\"")], "If-None-Match takes *"),
        ([("idempotency-key", "a\tb")], "Idempotency-Key"),
        ([("idempotency-key", &*"x".repeat(65))], "Idempotency-Key"),
    ] {
        let body = one_pool("now", 1).to_string();
        node.ask_with("PUT", "/v1/campaigns/drop", &headers, body)
            .await
            .refuses("invalid_request", detail);
    }
    // The far ends of what a moment can be are refused or accepted, and never break anything.
    node.clock(1);
    for far in ["9999-12-31T23:59:59Z", "-009999-01-01T00:00:00Z"] {
        let answer = node.put("far", &one_pool(far, 1)).await;
        assert!([200, 201, 409, 422].contains(&answer.status), "{far}: {}", answer.text());
        assert_eq!(node.get("/v1/campaigns").await.status, 200);
    }
    assert!(node.app.node.replica.look(|state| state.at().as_micros()) >= BEGIN);
}

#[test]
fn bad_claims_on_the_wire_change_nothing_and_the_server_counts_them() {
    let folder = tempfile::tempdir().unwrap();
    // Without a ledger nothing is added to the journal but what is claimed.
    let server = Server::with(folder.path(), &[("LEDGER", "none")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    let position = talk.position();
    for (body, outcome) in [
        (json!({"subject": ""}), "invalid_subject"),
        (json!({"subject": "ann", "rank": 1}), "invalid_request"),
        (json!({"subject": "ann", "pool": "side"}), "not_found"),
    ] {
        talk.post("/v1/campaigns/drop/claims", &body).refuses(outcome, "");
    }
    talk.claim("nowhere", "ann").refuses("not_found", "there is no campaign");
    talk.post("/v1/campaigns/drop%00/claims", &json!({"subject": "ann"})).refuses("not_found", "");
    talk.post("/v1/campaigns/%64rop/claims", &json!({"subject": "ann"})).says(201, "won");
    let after: u64 = talk.position()[2..].parse().unwrap();
    let before: u64 = position[2..].parse().unwrap();
    assert_eq!(after, before + 1);
    assert_eq!(talk.metric("firstcome_answers_total{outcome=\"not_found\"}"), 3);
    assert_eq!(talk.metric("firstcome_answers_total{outcome=\"invalid_request\"}"), 1);
    assert_eq!(talk.metric("firstcome_answers_total{outcome=\"won\"}"), 1);
}
