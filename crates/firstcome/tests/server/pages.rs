//! What the server says about itself: its description, its pages, its health, its counts.

use crate::inside::Inside;
use firstcome_http::answer::Code;
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
         with FIRSTCOME_BLESS=1"
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
            // What is deleted could not be asked about any more.
            let campaign = if method == "delete" { "typo" } else { "drop" };
            let path = path.replace("{campaign}", campaign).replace("{subject}", "ann");
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
        assert!(
            docs.text().contains(&format!("href=\"{}\"", &path[1..])),
            "{path} is not on the page of all problems"
        );
    }
    let page = docs.text();
    for code in Code::all() {
        let outcome = code.row().outcome;
        let one = node
            .ask_with("GET", &format!("/problems/{outcome}"), &[("authorization", "")], "")
            .await;
        let one = one.text();
        assert!(one.contains(&format!("<title>Problem: {outcome}</title>")), "{one}");
        assert!(one.contains("<h2>What to do</h2>") && !one.contains('`'), "{one}");
    }
    // Nothing is loaded from elsewhere, and no script stands in a page.
    for word in
        ["src=http", "href=http", "src=\"http", "href=\"http", "<style", " onclick", "javascript:"]
    {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(
        page.matches("<script").count(),
        page.matches("<script src=docs/docs.js></script>").count()
    );
    let policy = docs.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.contains('`'), "what the description has in backticks is code");
}

#[tokio::test(start_paused = true)]
async fn the_page_of_routes_has_each_operation_with_who_may_ask_and_a_form() {
    let node = Inside::new().await;
    let page = node.ask_with("GET", "/docs", &[("authorization", "")], "").await.text();
    let description = node.get("/openapi.json").await.json();
    let paths = description["paths"].as_object().unwrap();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let (_, rest) = page
                .split_once(&format!("<details id=\"{id}\">"))
                .unwrap_or_else(|| panic!("{id}"));
            let (shown, _) = rest.split_once("</details>").unwrap();
            let form = format!("data-method={} data-path=\"{path}\"", method.to_uppercase());
            assert!(shown.contains(&form) && shown.contains("Who may ask: "), "{id}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let field = format!("name=\"{}\"", parameter["name"].as_str().unwrap());
                assert!(shown.contains(&field), "{id} {field}");
            }
            let body = operation.get("requestBody").is_some();
            assert_eq!(shown.contains("<textarea"), body, "{id}");
        }
    }
    let order: Vec<usize> = ["campaigns", "claims", "holds", "seats", "results", "operation"]
        .map(|group| page.find(&format!("<h2 id=\"{group}\">")).unwrap())
        .into();
    assert!(order.is_sorted(), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn the_root_says_where_to_go() {
    let node = Inside::new().await;
    let ask = async |accept: &str| {
        let headers = [("authorization", ""), ("accept", accept)];
        node.ask_with("GET", "/", &headers, "").await
    };
    let page = ask("text/html,application/xhtml+xml,*/*;q=0.8").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.text().contains("href=/docs>"), "{}", page.text());
    for accept in ["", "*/*", "application/json"] {
        let answer = ask(accept).await;
        assert_eq!((answer.status, answer.header("vary")), (200, Some("accept")));
        for place in ["docs", "openapi", "ready"] {
            let place = answer.json()[place].as_str().unwrap().to_owned();
            let there = node.ask_with("GET", &place, &[("authorization", "")], "").await;
            assert_eq!(there.status, 200, "{place}");
        }
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
