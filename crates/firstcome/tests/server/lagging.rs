//! A node that has not heard yet what another one did.

use crate::inside::Inside;
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

/// Two nodes, the second of which hears nothing of what the first does from here on.
async fn one_lags(level: u32) -> (Inside, Inside) {
    let (one, two) = Inside::two_at_level(level).await;
    two.journal.hold();
    // What it asked before is answered by then.
    sleep(Duration::from_millis(500)).await;
    one.open("spring", 10).await.says(201, "created");
    one.claim("spring", "ann").await.says(201, "won");
    (one, two)
}

#[tokio::test(start_paused = true)]
async fn a_cancel_without_a_pool_waits_for_the_campaign_to_be_known() {
    let (_one, two) = one_lags(1).await;
    let cancel = two.cancel("spring", "ann", "rank=1&by=subject");
    let mend = async {
        sleep(Duration::from_millis(300)).await;
        two.journal.let_go();
    };
    let (cancelled, ()) = tokio::join!(cancel, mend);
    cancelled.says(200, "cancelled");
    // Caught up, what is not there is not there.
    two.cancel("autumn", "ann", "rank=1&by=subject").await.refuses("not_found", "autumn");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_catch_up_says_of_nothing_that_it_is_not_there() {
    let (_one, two) = one_lags(1).await;
    two.cancel("spring", "ann", "rank=1&by=subject").await.refuses("unavailable", "newest entries");
    two.journal.let_go();
    two.cancel("spring", "ann", "rank=1&by=subject").await.says(200, "cancelled");
}

#[tokio::test(start_paused = true)]
async fn from_level_2_on_a_cancel_without_a_pool_is_decided_in_the_journal() {
    let (one, two) = one_lags(2).await;
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
