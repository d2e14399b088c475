//! What every store must do that several nodes share.

use crate::world::{Player, Stage, all};
use std::time::Duration;

pub(crate) async fn waiting_ends_with_the_entry(stage: &Stage) {
    let long = Duration::from_secs(30);
    let shared = stage.journal.shared().unwrap();
    let waiting = tokio::spawn({
        let shared = shared.clone();
        async move { shared.follow(0, long).await }
    });
    Player::new(b'a').claims(&stage.journal, "ann").await.unwrap();
    let news = waiting.await.unwrap().unwrap();
    assert_eq!(news.entries, all(&stage.journal, 0).await);
    assert_eq!(shared.follow(0, long).await.unwrap().entries, news.entries);
}

pub(crate) async fn waiting_ends_with_the_time(stage: &Stage) {
    let shared = stage.journal.shared().unwrap();
    let news = shared.follow(0, Duration::from_millis(1)).await.unwrap();
    assert_eq!(news.entries, []);
    assert_eq!(stage.journal.head().await.unwrap().position, 0);
}
