//! Deleting a campaign that has no result.

use crate::inside::{Inside, one_pool};
use serde_json::json;

impl Inside {
    async fn delete(&self, campaign: &str) -> crate::wire::Answer {
        let path = format!("/v1/campaigns/{campaign}");
        self.ask_with("DELETE", &path, &[("content-type", "")], "").await
    }
}

#[tokio::test(start_paused = true)]
async fn a_mistyped_campaign_goes_with_its_holds_and_its_name_is_free() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    let map = node.get("/v1/campaigns/hall/pools/main/seats").await.json();
    assert_eq!(map["standing"].as_str().unwrap().len(), 8);
    node.delete("hall").await.says(200, "deleted");
    node.delete("hall").await.refuses("not_found", "hall");
    node.get("/v1/campaigns/hall").await.refuses("not_found", "hall");
    node.get("/v1/campaigns/hall/holds/h1").await.refuses("not_found", "hall");
    let list = node.get("/v1/campaigns").await.json();
    assert_eq!((&list["campaigns"], &list["archived"]), (&json!([]), &json!([])));
    // Another one of the name, and another map.
    let seats = json!([{"name": "Z1"}]);
    let settings =
        json!({"opens_at": "now", "pools": [{"name": "main", "kind": "seated", "seats": seats}]});
    node.put("hall", &settings).await.says(201, "created");
    let map = node.get("/v1/campaigns/hall/pools/main/seats").await.json();
    assert_eq!(map["standing"], json!("."));
}

#[tokio::test(start_paused = true)]
async fn what_has_a_result_stays_and_a_free_name_is_told() {
    let node = Inside::new().await;
    node.open("spring", 3).await.says(201, "created");
    node.claim("spring", "ann").await.says(201, "won");
    node.cancel("spring", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    node.delete("spring").await.refuses("has_results", "spring");
    node.post("/v1/campaigns/spring/close").await.says(200, "changed");
    let drop = r#"{"drop_unsettled": true}"#;
    node.ask_with("POST", "/v1/campaigns/spring/archive", &[], drop).await.says(200, "changed");
    node.delete("spring").await.refuses("archived", "spring");
    node.open("spring-2", 3).await.says(201, "created");
    let refused = node.open("spring", 3).await.refuses("archived", "\"spring-3\" is free");
    assert_eq!(refused["free_name"], json!("spring-3"));
    // One that only waited for its opening goes.
    node.put("later", &one_pool("2999-01-01T00:00:00Z", 3)).await.says(201, "created");
    let key = [("idempotency-key", "d-1"), ("content-type", "")];
    for _ in 0..2 {
        let answer = node.ask_with("DELETE", "/v1/campaigns/later", &key, "").await;
        answer.says(200, "deleted");
    }
}
