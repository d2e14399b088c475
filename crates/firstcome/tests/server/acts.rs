//! Acts: who did what to a campaign; and its minute.

use crate::inside::Inside;
use serde_json::{Value, json};

const BACKEND: [(&str, &str); 1] = [("authorization", "Bearer a-backend-key---")];

#[tokio::test(start_paused = true)]
async fn what_operators_did_is_told_to_operators() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let path = "/v1/campaigns/hall/acts";
    let bar = json!({"subject": "eve", "reason": "sold on"}).to_string();
    node.ask_with("POST", "/v1/campaigns/hall/bars", &[], bar).await.says(200, "bar_set");
    let block = json!({"units": ["A1", "A2"], "reason": "camera"}).to_string();
    let pool = "/v1/campaigns/hall/pools/main";
    node.ask_with("POST", &format!("{pool}/block"), &[], block).await.says(200, "blocked");
    let missing = json!({"from": "A1", "to": "A3", "reason": "broken"}).to_string();
    let moved = node.ask_with("POST", &format!("{pool}/move"), &[], missing).await;
    moved.refuses("not_held", "");
    // What people do is no act of an operator.
    node.hold("h1", "ann", &["A3"]).await.says(201, "held");
    let list = node.get(path).await.json();
    assert_eq!(list["durable"], json!(true));
    let line = |act: &Value| {
        let text = |name: &str| act[name].as_str().unwrap().to_owned();
        let [who, what, about, reason, outcome] =
            ["who", "act", "about", "reason", "outcome"].map(text);
        format!("{} {who} {what} [{about}] ({reason}) {outcome}", act["number"])
    };
    let acts: Vec<_> = list["acts"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(
        acts[..3],
        [
            "5 admin move [main/A1 → main/A3] (broken) not_held",
            "4 admin block [main/A1 main/A2] (camera) blocked",
            "3 admin bar [eve] (sold on) bar_set",
        ]
    );
    assert!(acts[4].ends_with("put [] () created") && acts.len() == 5, "{acts:?}");
    node.get("/v1/campaigns/none/acts").await.refuses("not_found", "none");
    node.ask_with("GET", path, &BACKEND, "").await.refuses("forbidden", "");
}

#[tokio::test(start_paused = true)]
async fn a_minute_has_the_claims_of_the_journal_and_the_refusals_of_this_server() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    node.hold("h1", "ann", &["A1", "A2"]).await.says(201, "held");
    let path = "/v1/campaigns/hall/minute";
    let held = node.get(path).await.json();
    let last = held["seconds"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&held["counted"], &last["held"]), (&json!(true), &json!(2)), "{held}");
    node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    let all = node.get(path).await.json();
    let claims: u64 =
        all["seconds"].as_array().unwrap().iter().map(|s| s["claims"].as_u64().unwrap()).sum();
    assert_eq!(claims, 2, "{all}");
    // From the second that was still going on: what comes next, and nothing twice.
    let next = all["next"].as_i64().unwrap();
    let later = node.get(&format!("{path}?from={}", next + 1)).await.json();
    assert_eq!(later["from"], all["now_second"], "what lies ahead begins now: {later}");
    let ago = node.get(&format!("{path}?from=0")).await.json();
    assert_eq!(ago["from"], json!(ago["now_second"].as_i64().unwrap() - 899));
    node.get(&format!("{path}?from=now")).await.refuses("invalid_request", "from");
    node.get("/v1/campaigns/none/minute").await.refuses("not_found", "none");
    node.ask_with("GET", path, &BACKEND, "").await.refuses("forbidden", "");
}
