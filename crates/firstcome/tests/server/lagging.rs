//! A node that has not heard yet what another one did.

use crate::inside::Inside;
use firstcome_core::{NodeId, State};
use firstcome_journal::cluster::NodeStatus;
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

/// Two nodes, the second of which hears nothing of what the first does from here on.
async fn one_lags() -> (Inside, Inside) {
    let (one, two) = Inside::two().await;
    two.journal.hold();
    // What it asked before is answered by then.
    sleep(Duration::from_millis(500)).await;
    one.open("spring", 10).await.says(201, "created");
    one.claim("spring", "ann").await.says(201, "won");
    (one, two)
}

#[tokio::test(start_paused = true)]
async fn a_cancel_without_a_pool_is_decided_in_the_journal() {
    let (one, two) = one_lags().await;
    two.journal.let_go();
    let cancelled = two.cancel("spring", "ann", "rank=1&by=subject").await;
    cancelled.says(200, "cancelled");
    // Of several pools one must be named, whoever answers.
    one.put(
        "autumn",
        &json!({"pools": [{"name": "a", "capacity": 1}, {"name": "b", "capacity": 1}]}),
    )
    .await;
    two.cancel("autumn", "ann", "rank=1&by=subject").await.refuses("pool_required", "autumn");
    two.cancel("winter", "ann", "rank=1&by=subject").await.refuses("not_found", "winter");
}

#[tokio::test(start_paused = true)]
async fn a_space_is_not_raised_over_a_server_of_an_older_build() {
    firstcome_inject::invent_level(true);
    let (one, two) = Inside::two().await;
    one.open("spring", 10).await.says(201, "created");
    let older = NodeStatus {
        node: NodeId([0xee; 16]),
        position: 1,
        durable: 1,
        epoch: 0,
        digest: one.app.node.replica.look(State::digest),
        level: 1,
        memory: u64::MAX,
        since: one.app.node.since,
        address: "http://10.0.0.9:8080".into(),
        words: "".into(),
    };
    let shared = one.journal.journal();
    shared.announce(older, 1).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    let refused = two.post("/v1/level").await;
    refused.refuses("level_not_read", "server http://10.0.0.9:8080 reads up to level 1");
    assert_eq!(two.get("/v1/nodes").await.json()["level"], 1);
    shared.leave(NodeId([0xee; 16])).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    two.post("/v1/level").await.says(200, "raised");
    assert_eq!(two.get("/v1/nodes").await.json()["level"], 2);
}
