//! A node that has not heard yet what another one did.

use crate::inside::Inside;
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
async fn a_cancel_without_a_pool_waits_for_the_campaign_to_be_known() {
    let (_one, two) = one_lags().await;
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
    let (_one, two) = one_lags().await;
    two.cancel("spring", "ann", "rank=1&by=subject").await.refuses("unavailable", "newest entries");
    two.journal.let_go();
    two.cancel("spring", "ann", "rank=1&by=subject").await.says(200, "cancelled");
}
