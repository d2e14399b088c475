//! Waitlists of coded pools over the routes: whoever waits for a code and can have one has it in the answer.

use crate::bulk::lines;
use crate::inside::Inside;
use serde_json::{Value, json};

async fn one_code(node: &Inside, campaign: &str) {
    let pool = json!({"name": "main", "kind": "coded", "capacity": 1, "waitlist": 10});
    let settings = json!({
        "opens_at": "now", "claim_again": true, "offer_ms": 30_000, "pools": [pool],
    });
    node.put(campaign, &settings).await.says(201, "created");
}

/// Returns the code and the rank of a claim that waits, where it was won.
async fn wins(node: &Inside, campaign: &str, subject: &str) -> (String, u64) {
    let won = node.join(campaign, subject, json!({})).await.says(201, "won");
    (won["code"].as_str().unwrap().to_owned(), won["rank"].as_u64().unwrap())
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_code_has_it_in_the_answer_as_soon_as_there_is_one() {
    let node = Inside::new().await;
    one_code(&node, "sale").await;
    let (code, rank) = wins(&node, "sale", "ann").await;
    let again = node.join("sale", "ann", json!({})).await.says(200, "already_won");
    assert_eq!((again["code"].as_str(), again["rank"].as_u64()), (Some(&*code), Some(rank)));
    for (subject, ahead) in [("bob", 0), ("eve", 1), ("zoe", 2)] {
        let place = node.join("sale", subject, json!({})).await.says(202, "waitlisted");
        assert_eq!(place["ahead"], json!(ahead));
    }
    // The offer is bob's, whoever claims; and no pause takes it away.
    node.cancel("sale", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    node.claim("sale", "eve").await.refuses("sold_out", "");
    node.join("sale", "eve", json!({})).await.says(202, "waitlisted");
    let offered = node.get("/v1/campaigns/sale/waitlist/bob").await.json();
    assert_eq!(offered["state"], "offered", "{offered}");
    node.post("/v1/campaigns/sale/pause").await.says(200, "changed");
    let (second, rank) = wins(&node, "sale", "bob").await;
    assert!(second != code && rank == 2, "rank {rank}");
    let redeem = json!({"code": second, "reference": "o1"});
    node.codes("redeem", redeem).await.says(200, "redeemed");
    let held = node.get("/v1/campaigns/sale").await.json();
    assert_eq!((&held["pools"][0]["held"], &held["pools"][0]["taken"]), (&json!(0), &json!(1)));
    // Who wants two codes gets none, and no offer stays behind.
    node.post("/v1/campaigns/sale/resume").await.says(200, "changed");
    node.join("sale", "gus", json!({"quantity": 2})).await.refuses("limit_reached", "");
}

#[tokio::test(start_paused = true)]
async fn a_line_of_many_commands_that_waits_for_a_code_has_it_too() {
    let node = Inside::new().await;
    one_code(&node, "sale").await;
    let line = |subject: &str| json!({"do": "claim", "campaign": "sale", "subject": subject, "wait": true});
    let body = [line("ann"), line("bob"), line("ann")].map(|line| format!("{line}\n")).concat();
    let kind = [("content-type", "application/x-ndjson")];
    let answer = node.ask_with("POST", "/v1/commands", &kind, body).await;
    let said: Vec<Value> = lines(&answer);
    let of = |nth: usize, name: &str| said[nth][name].clone();
    assert_eq!(
        (of(0, "outcome"), of(1, "outcome")),
        (json!("won"), json!("waitlisted")),
        "{said:?}"
    );
    assert!(of(0, "code").is_string(), "{said:?}");
    // It was sent before the code was taken: it has the offer, or the claim that took it.
    assert_eq!((of(2, "code"), of(2, "rank")), (of(0, "code"), json!(1)), "{said:?}");
}
