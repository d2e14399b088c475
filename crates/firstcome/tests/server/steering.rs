//! Operators create, change and steer campaigns; subjects and operators cancel.

use crate::inside::{Inside, one_pool};
use crate::wire::Answer;
use serde_json::{Value, json};

async fn put_with(node: &Inside, headers: &[(&str, &str)], settings: &Value) -> Answer {
    node.ask_with("PUT", "/v1/campaigns/drop", headers, settings.to_string()).await
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_paused_resumed_closed_and_archived() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    let path = |verb| format!("/v1/campaigns/drop/{verb}");
    node.post(&path("archive")).await.refuses("not_closed", "drop");
    assert_eq!(node.post(&path("pause")).await.says(200, "changed")["version"], json!(2));
    assert_eq!(node.post(&path("pause")).await.says(200, "unchanged")["version"], json!(2));
    assert_eq!(node.show("drop").await["state"], json!("paused"));
    node.claim("drop", "bob").await.refuses("paused", "drop");
    node.post(&path("resume")).await.says(200, "changed");
    node.post(&path("resume")).await.says(200, "unchanged");
    node.claim("drop", "bob").await.says(201, "won");
    node.post(&path("close")).await.says(200, "changed");
    node.post(&path("close")).await.says(200, "unchanged");
    for verb in ["pause", "resume"] {
        node.post(&path(verb)).await.refuses("closed", "drop");
    }
    node.claim("drop", "cem").await.refuses("closed", "drop");
    // Closed is final; only the title may change.
    let mut settings = one_pool("now", 9);
    settings["title"] = json!("Spring drop");
    node.put("drop", &settings).await.says(200, "changed");
    node.put("drop", &one_pool("now", 10)).await.refuses("closed", "drop");
    // A claim can be cancelled all the same.
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    let archive = |body: &'static str| {
        let node = &node;
        async move { node.ask_with("POST", "/v1/campaigns/drop/archive", &[], body).await }
    };
    archive("").await.refuses("unsettled", "drop");
    archive(r#"{"drop_unsettled": false}"#).await.refuses("unsettled", "drop");
    archive(r#"{"drop": true}"#).await.refuses("invalid_request", "unknown field `drop`");
    archive(r#"{"drop_unsettled": true}"#).await.says(200, "changed");
    archive(r#"{"drop_unsettled": true}"#).await.says(200, "unchanged");
    node.get("/v1/campaigns/drop").await.refuses("archived", "drop");
    node.get("/v1/campaigns/drop/results").await.refuses("archived", "drop");
    node.open("drop", 9).await.refuses("archived", "drop");
}

#[tokio::test(start_paused = true)]
async fn capacity_goes_up_at_any_time_and_down_to_what_is_given() {
    let node = Inside::new().await;
    node.open("drop", 2).await.says(201, "created");
    for subject in ["ann", "bob"] {
        node.claim("drop", subject).await.says(201, "won");
    }
    node.claim("drop", "cem").await.refuses("sold_out", "drop");
    let up = node.open("drop", 4).await.says(200, "changed");
    assert_eq!((&up["clamped"], &up["version"]), (&json!([]), &json!(2)));
    node.claim("drop", "cem").await.says(201, "won");
    let down = node.open("drop", 1).await.says(200, "changed");
    assert_eq!(down["clamped"], json!([{"pool": "main", "capacity": 3}]));
    let pool = node.show("drop").await["pools"][0].clone();
    assert_eq!(
        (&pool["capacity"], &pool["left"], &pool["taken"]),
        (&json!(3), &json!(0), &json!(3))
    );
    node.claim("drop", "dan").await.refuses("sold_out", "drop");
}

#[tokio::test(start_paused = true)]
async fn the_same_content_again_appends_nothing_and_what_is_fixed_stays() {
    let node = Inside::new().await;
    let settings =
        json!({"opens_at": "2027-03-01T00:00:00Z", "pools": [{"name": "main", "capacity": 5}]});
    node.put("drop", &settings).await.says(201, "created");
    let position = node.position();
    assert_eq!(node.put("drop", &settings).await.says(200, "unchanged")["version"], json!(1));
    assert_eq!(node.position(), position);
    for (change, field) in [
        (json!({"opens_at": "2027-03-02T00:00:00Z", "pools": settings["pools"]}), "opens_at"),
        (json!({"opens_at": null, "pools": settings["pools"]}), "opens_at"),
        (
            json!({"opens_at": settings["opens_at"], "claim_again": true, "pools": settings["pools"]}),
            "claim_again",
        ),
        (
            json!({"opens_at": settings["opens_at"], "units_return": false, "pools": settings["pools"]}),
            "units_return",
        ),
        (
            json!({"opens_at": settings["opens_at"], "pools": [{"name": "side", "capacity": 5}]}),
            "pools",
        ),
    ] {
        let said = node.put("drop", &change).await.refuses("not_changeable", "has opened");
        assert_eq!(said["field"], json!(field));
    }
    assert_eq!(node.show("drop").await["version"], json!(1));
}

#[tokio::test(start_paused = true)]
async fn versions_keep_two_operators_from_overwriting_each_other() {
    let node = Inside::new().await;
    let absent = [("if-none-match", "*")];
    put_with(&node, &[("if-match", "\"1\"")], &one_pool("now", 1))
        .await
        .refuses("not_found", "drop");
    let created = put_with(&node, &absent, &one_pool("now", 1)).await;
    created.says(201, "created");
    assert_eq!(created.header("etag"), Some("\"1\""));
    let again = put_with(&node, &absent, &one_pool("now", 1)).await;
    assert_eq!(again.refuses("version_mismatch", "is at version 1")["version"], json!(1));
    let changed = put_with(&node, &[("if-match", "\"1\"")], &one_pool("now", 2)).await;
    changed.says(200, "changed");
    assert_eq!(changed.header("etag"), Some("\"2\""));
    let late = put_with(&node, &[("if-match", "\"1\"")], &one_pool("now", 3)).await;
    assert_eq!(late.refuses("version_mismatch", "is at version 2")["version"], json!(2));
    assert_eq!(node.get("/v1/campaigns/drop").await.header("etag"), Some("\"2\""));
    assert_eq!(node.show("drop").await["pools"][0]["capacity"], json!(2));
}

#[tokio::test(start_paused = true)]
async fn an_id_makes_a_command_happen_once() {
    let node = Inside::new().await;
    let id = [("idempotency-key", "order-1")];
    let first = put_with(&node, &id, &one_pool("now", 1)).await.says(201, "created");
    node.open("drop", 2).await.says(200, "changed");
    // The retry comes late: it is answered as it was, and does not undo what came since.
    let again = put_with(&node, &id, &one_pool("now", 1)).await;
    assert_eq!(again.json()["version"], first["version"], "{}", again.text());
    assert_eq!(node.show("drop").await["pools"][0]["capacity"], json!(2));
    put_with(&node, &id, &one_pool("now", 3)).await.refuses("id_reused", "drop");
    node.ask_with("POST", "/v1/campaigns/drop/pause", &id, "").await.refuses("id_reused", "drop");
    let pause = [("idempotency-key", "pause-1")];
    for _ in 0..2 {
        node.ask_with("POST", "/v1/campaigns/drop/pause", &pause, "").await.says(200, "changed");
    }
    node.post("/v1/campaigns/drop/resume").await.says(200, "changed");
    node.ask_with("POST", "/v1/campaigns/drop/pause", &pause, "").await.says(200, "changed");
    assert_eq!(node.show("drop").await["state"], json!("open"), "the retried pause is the old one");
}

#[tokio::test(start_paused = true)]
async fn who_cancels_may_come_again_where_the_campaign_lets_them() {
    let node = Inside::new().await;
    let settings =
        json!({"opens_at": "now", "claim_again": true, "pools": [{"name": "main", "capacity": 1}]});
    node.put("drop", &settings).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.claim("drop", "bob").await.refuses("sold_out", "drop");
    let cancelled = node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    assert_eq!(
        (&cancelled["by"], &cancelled["pool"], &cancelled["rank"]),
        (&json!("subject"), &json!("main"), &json!(1))
    );
    assert_eq!(node.claim("drop", "ann").await.says(201, "won")["rank"], json!(2));
    // The retried cancel is for the first claim and leaves the second alone.
    let again = node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    assert_eq!(again["at"], cancelled["at"]);
    node.claim("drop", "ann").await.says(200, "already_won");
    node.cancel("drop", "bob", "rank=2&by=subject").await.refuses("no_such_claim", "drop");
    node.cancel("drop", "ann", "rank=2&reason=resold").await.says(200, "cancelled");
    // An operator's cancel bars nobody: that is a command of its own.
    let body = json!({"subject": "ann", "reason": "resold"}).to_string();
    node.ask_with("POST", "/v1/campaigns/drop/bars", &[], body).await.says(200, "bar_set");
    node.claim("drop", "ann").await.refuses("barred", "resold");
    assert_eq!(node.claim("drop", "bob").await.says(201, "won")["rank"], json!(3));
    let claims = node.get("/v1/campaigns/drop/claims/ann").await.json();
    assert_eq!(claims["claims"][0]["rank"], json!(2), "the latest first");
    assert_eq!(claims["claims"][0]["cancelled"]["reason"], json!("resold"));
    assert_eq!(claims["claims"][0]["cancelled"]["by"], json!("operator"));
    assert_eq!(claims["claims"][1]["cancelled"]["by"], json!("subject"));
    let pool = node.show("drop").await["pools"][0].clone();
    assert_eq!(
        (&pool["last_rank"], &pool["cancelled"], &pool["taken"]),
        (&json!(3), &json!(2), &json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_does_not_return_stays_gone() {
    let node = Inside::new().await;
    let settings = json!({"opens_at": "now", "units_return": false, "pools": [{"name": "main", "capacity": 1}]});
    node.put("drop", &settings).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    node.claim("drop", "bob").await.refuses("sold_out", "drop");
    node.claim("drop", "ann").await.refuses("already_cancelled", "drop");
}

#[tokio::test(start_paused = true)]
async fn a_pool_must_be_named_where_there_are_several() {
    let node = Inside::new().await;
    let settings = json!({"opens_at": "now", "limits": {"campaign": 1},
        "pools": [{"name": "gold", "capacity": 1}, {"name": "silver", "capacity": 1}]});
    node.put("drop", &settings).await.says(201, "created");
    node.claim("drop", "ann").await.refuses("pool_required", "drop");
    let claim = |pool| json!({"subject": "ann", "pool": pool}).to_string();
    node.ask_with("POST", "/v1/campaigns/drop/claims", &[], claim("gold")).await.says(201, "won");
    node.ask_with("POST", "/v1/campaigns/drop/claims", &[], claim("silver"))
        .await
        .refuses("limit_reached", "drop");
    node.cancel("drop", "ann", "rank=1&by=subject").await.refuses("pool_required", "drop");
    node.cancel("drop", "ann", "rank=1&by=subject&pool=side")
        .await
        .refuses("not_found", "no such pool");
    node.cancel("drop", "ann", "rank=1&by=subject&pool=gold").await.says(200, "cancelled");
    node.ask_with("POST", "/v1/campaigns/drop/claims", &[], claim("silver")).await.says(201, "won");
}

#[tokio::test(start_paused = true)]
async fn a_claim_says_its_pool_though_its_campaign_is_gone() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    // One batch has all three: when the claim is answered its campaign has left memory.
    let drop = json!({"drop_unsettled": true}).to_string();
    let (claim, close, archive) = tokio::join!(
        node.claim("drop", "ann"),
        node.post("/v1/campaigns/drop/close"),
        node.ask_with("POST", "/v1/campaigns/drop/archive", &[], drop),
    );
    assert_eq!(claim.says(201, "won")["pool"], json!("main"));
    assert_eq!((close.status, archive.status), (200, 200));
}

#[tokio::test(start_paused = true)]
async fn a_seat_that_comes_with_a_campaign_is_named_by_its_number() {
    let node = Inside::new().await;
    let put = async |seats: Value| {
        let pools = json!([{"name": "floor", "capacity": 3},
            {"name": "hall", "kind": "seated", "seats": seats}]);
        node.put("gala", &json!({"opens_at": "now", "pools": pools})).await
    };
    let refused = put(json!([{"name": "A1"}, {"name": "A2"}, {"name": ""}])).await;
    let refused = refused.refuses("bad_seat", "line 3");
    assert_eq!((&refused["errors"][0]["line"], &refused["pool"]), (&json!(3), &json!("hall")));
    // What only the rules can see.
    let again = json!({"name": "A1", "row": "9"});
    let refused = put(json!([{"name": "A1"}, {"name": "A2"}, again])).await;
    let refused = refused.json();
    assert_eq!(refused["outcome"], json!("bad_seat"), "{refused}");
    assert_eq!((&refused["errors"][0]["line"], &refused["pool"]), (&json!(3), &json!("hall")));
}
