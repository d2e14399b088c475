//! Bars: who is kept out of a campaign, who says so, and until when.

use crate::inside::Inside;
use crate::wire::Answer;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Inside {
    async fn bar(&self, subject: &str, reason: &str) -> Value {
        let body = json!({"subject": subject, "reason": reason}).to_string();
        let path = "/v1/campaigns/hall/bars";
        self.ask_with("POST", path, &[], body).await.says(200, "bar_set")
    }

    async fn unbar(&self, subject: &str) -> Value {
        let path = format!("/v1/campaigns/hall/bars/{subject}");
        let none = [("content-type", "")];
        self.ask_with("DELETE", &path, &none, "").await.says(200, "bar_lifted")
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_barred_loses_holds_keeps_claims_and_is_told_who_did_it() {
    let node = Inside::new().await;
    node.hall(json!({"holds": "many"})).await;
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    node.hold("h2", "ann", &["A2"]).await.says(201, "held");
    node.hold("h3", "ann", &["A3"]).await.says(201, "held");
    let barred = node.bar("ann", "sold on").await;
    assert_eq!((&barred["holds"], &barred["subject"]), (&json!(2), &json!("ann")));
    assert_eq!(node.bar("ann", "once more").await["holds"], json!(0), "the first bar stands");
    let refused = node.hold("h4", "ann", &["A4"]).await.refuses("barred", "sold on");
    assert_eq!(
        (&refused["barred_by"], &refused["reason"], &refused["barred_at"]),
        (&json!("admin"), &json!("sold on"), &barred["at"])
    );
    node.confirm("h2", "ann", "refuse").await.refuses("hold_released", "");
    node.hold("h5", "bob", &["A2", "A3"]).await.says(201, "held");
    let claims = node.get("/v1/campaigns/hall/claims/ann").await.json()["claims"].clone();
    assert_eq!(claims.as_array().unwrap().len(), 1, "what she has stays: {claims}");
    assert_eq!((&claims[0]["unit"], &claims[0]["hold"]), (&json!("A1"), &json!("h1")));
    let list = node.get("/v1/campaigns/hall/bars").await.json();
    assert_eq!((&list["count"], &list["next"]), (&json!(1), &json!(null)));
    let line = json!({"number": 1, "subject": "ann", "at": barred["at"], "reason": "sold on", "who": "admin"});
    assert_eq!(list["bars"], json!([line]));
    assert_eq!(node.unbar("ann").await["was_barred"], json!(true));
    assert_eq!(node.unbar("ann").await["was_barred"], json!(false));
    node.hold("h6", "ann", &["A4"]).await.says(201, "held");
    for (body, why) in [
        (json!({"subject": "ann", "reason": ""}), "a reason has 1 to 256 bytes"),
        (json!({"subject": "ann", "reason": "a\nb"}), "the reason"),
        (json!({"subject": "ann"}), "missing field"),
    ] {
        let path = "/v1/campaigns/hall/bars";
        let answer = node.ask_with("POST", path, &[], body.to_string()).await;
        answer.refuses("invalid_request", why);
    }
    let body = json!({"subject": "", "reason": "x"}).to_string();
    let answer = node.ask_with("POST", "/v1/campaigns/hall/bars", &[], body).await;
    answer.refuses("invalid_subject", "");
}

#[tokio::test(start_paused = true)]
async fn bars_come_page_by_page_and_to_operators_only() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    for subject in ["ann", "bob", "cem"] {
        node.bar(subject, "x").await;
    }
    node.unbar("bob").await;
    let one = node.get("/v1/campaigns/hall/bars?limit=1").await.json();
    assert_eq!((&one["bars"][0]["subject"], &one["next"]), (&json!("ann"), &json!(1)));
    let two = node.get("/v1/campaigns/hall/bars?limit=1&after=1").await.json();
    assert_eq!((&two["bars"][0]["subject"], &two["next"]), (&json!("cem"), &json!(null)));
    node.get("/v1/campaigns/hall/bars?limit=0").await.refuses("invalid_request", "limit=0");
    node.get("/v1/campaigns/none/bars").await.refuses("not_found", "none");
    let body = json!({"subject": "dan", "reason": "x"}).to_string();
    let backend = [("authorization", "Bearer a-backend-key---")];
    for (method, path, body) in [
        ("POST", "/v1/campaigns/hall/bars", &*body),
        ("GET", "/v1/campaigns/hall/bars", ""),
        ("DELETE", "/v1/campaigns/hall/bars/ann", ""),
        ("DELETE", "/v1/campaigns/hall", ""),
    ] {
        let answer = node.ask_with(method, path, &backend, body.to_owned()).await;
        answer.refuses("forbidden", "this needs operator");
    }
}

/// How long somebody waits for a seat after she was barred, with somebody before her in the line; and what she hears.
async fn barred_in_line() -> (Duration, Answer) {
    let node = Arc::new(Inside::new().await);
    node.hall(json!({})).await;
    node.hold("h1", "bob", &["A1"]).await.says(201, "held");
    let waits = |subject: &'static str| {
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            let picks = json!([{"units": ["A1"]}]);
            let hold = json!({"id": subject, "subject": subject, "picks": picks, "wait_ms": 3000});
            node.tell("holds", hold).await
        })
    };
    let (_first, second) = (waits("cem"), waits("ann"));
    while node.app.node.intake.in_line() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begun = tokio::time::Instant::now();
    node.bar("ann", "bot").await;
    let answer = second.await.unwrap();
    (begun.elapsed(), answer)
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_seat_hears_of_the_bar_at_once() {
    let (waited, answer) = barred_in_line().await;
    answer.refuses("barred", "bot");
    assert!(waited < Duration::from_secs(2), "her time was not over");
}

#[tokio::test(start_paused = true)]
async fn without_a_look_at_the_bar_she_waits_until_her_time_is_over() {
    firstcome_inject::set(Some(firstcome_inject::Mistake::BarredStaysInLine));
    let (waited, _) = barred_in_line().await;
    firstcome_inject::set(None);
    assert!(waited > Duration::from_secs(2), "the story is blind: {waited:?}");
}
