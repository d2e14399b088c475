//! What the server says about itself: its description, its pages, its health, its counts.

use crate::inside::Inside;
use firstcome_api::answer::Code;
use serde_json::{Value, json};
use std::path::Path;

/// Where the description is kept for readers and for this comparison.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");

#[tokio::test(start_paused = true)]
async fn the_description_changes_only_on_purpose() {
    let node = Inside::new().await;
    let served = node.get("/openapi.json").await;
    assert_eq!((served.status, served.header("content-type")), (200, Some("application/json")));
    let served = serde_json::to_string_pretty(&served.json()).unwrap() + "\n";
    if std::env::var_os("FIRSTCOME_BLESS").is_some() {
        std::fs::write(KEPT, &served).unwrap();
    }
    let kept = std::fs::read_to_string(Path::new(KEPT)).unwrap_or_default();
    assert!(
        kept == served,
        "the routes are not those of docs/reference/openapi.json: if that is meant, run this test \
         with FIRSTCOME_BLESS=1 and say so in the changelog"
    );
}

#[tokio::test(start_paused = true)]
async fn every_route_in_the_description_answers() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    let description = node.get("/openapi.json").await.json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = description["paths"].as_object().unwrap();
    for (path, operations) in paths {
        for method in operations.as_object().unwrap().keys() {
            let path = path.replace("{campaign}", "drop").replace("{subject}", "ann");
            if path.ends_with("/events") {
                // It goes on for as long as somebody listens.
                drop(node.follow(&path).await);
                continue;
            }
            let answer = node.ask_with(&method.to_uppercase(), &path, &[], "{}").await;
            if answer.header("content-type") == Some("application/problem+json") {
                let outcome = answer.outcome();
                let unrouted = ["no_such_route", "method_not_allowed"].contains(&&*outcome);
                assert!(!unrouted, "{method} {path}: {outcome}");
            }
            assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        }
    }
    for path in ["/livez", "/readyz", "/metrics", "/v1/audit", "/v1/nodes", "/v1/time"] {
        assert!(paths.contains_key(path), "{path} is not described");
    }
}

#[tokio::test(start_paused = true)]
async fn every_problem_has_a_page_that_says_what_to_do() {
    let node = Inside::new().await;
    let docs = node.ask_with("GET", "/docs", &[("authorization", "")], "").await;
    assert_eq!(docs.header("content-type"), Some("text/html; charset=utf-8"));
    for code in Code::all() {
        let row = code.row();
        let path = format!("/problems/{}", row.outcome);
        let page = node.ask_with("GET", &path, &[("authorization", "")], "").await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text().contains(row.title), "{path}");
        assert!(docs.text().contains(&path), "{path} is not on the page of all problems");
    }
    // Nothing is loaded from elsewhere.
    for word in ["http://", "https://", "<script"] {
        assert!(!docs.text().contains(word), "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn health_and_identity_are_said_without_side_effects() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    let without_key = [("authorization", "")];
    let live = node.ask_with("GET", "/livez", &without_key, "").await;
    assert_eq!((live.status, live.json()), (200, json!({"status": "alive"})));
    let ready = node.ask_with("GET", "/readyz", &without_key, "").await;
    assert_eq!((ready.status, &ready.json()["status"]), (200, &json!("ready")));
    let nodes = node.get("/v1/nodes").await.json();
    let digest = |view: &Value| view["digest"].as_str().map(str::to_owned);
    let now = node.get("/v1/audit").await.json();
    assert_eq!(digest(&nodes), digest(&now));
    // The journal is in memory of its own here: there is nothing to seed.
    node.post("/v1/reseed").await.refuses("nothing_lost", "there is no shared store to seed");
    assert_eq!((&now["position"], &now["last_result"]), (&json!("0.2"), &json!(1)));
    let before = node.get("/v1/audit?position=1").await.json();
    assert!(before["digest"].is_string() && before["digest"] != now["digest"]);
    assert_eq!(node.get("/v1/audit?position=99").await.json()["digest"], json!(null));
    node.ask_with("GET", "/metrics", &without_key, "").await.refuses("unauthorized", "give a key");
    let counts = node.get("/metrics").await;
    assert!(counts.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for count in ["firstcome_position 2", "firstcome_results_last 1", "firstcome_ready 1", "# EOF"]
    {
        assert!(counts.text().contains(count), "{count}: {}", counts.text());
    }
    assert_eq!(node.position(), 2);
}
