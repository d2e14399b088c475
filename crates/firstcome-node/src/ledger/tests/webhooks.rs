//! What a ledger keeps of webhooks.

use super::*;
use crate::ledger::StoredWebhook;

on_each_store! {
    a_document_is_written_only_over_the_version_it_was_made_from,
}

async fn a_document_is_written_only_over_the_version_it_was_made_from(stage: Stage) {
    let ledger = &stage.ledger;
    ledger.ready().await.unwrap();
    let row = |id: &str, version, document: &str| StoredWebhook {
        id: id.to_owned(),
        version,
        document: document.to_owned(),
    };
    let (one, two) = (row("wh_1", 1, r#"{"a": "~ ' \\ \" ; -- 한"}"#), row("wh_2", 1, "{}"));
    assert!(ledger.put_webhook(two.clone()).await.unwrap());
    assert!(ledger.put_webhook(one.clone()).await.unwrap());
    assert_eq!(ledger.webhooks().await.unwrap(), [one.clone(), two.clone()]);
    // It is there, or not yet so far.
    for wrong in [row("wh_1", 1, "x"), row("wh_1", 3, "x"), row("wh_3", 2, "x")] {
        assert!(!ledger.put_webhook(wrong).await.unwrap());
    }
    let changed = row("wh_1", 2, "[1]");
    assert!(ledger.put_webhook(changed.clone()).await.unwrap());
    assert!(!ledger.put_webhook(row("wh_1", 2, "x")).await.unwrap(), "somebody was first");
    assert_eq!(ledger.webhooks().await.unwrap(), [changed, two.clone()]);
    assert!(ledger.remove_webhook("wh_1").await.unwrap());
    assert!(!ledger.remove_webhook("wh_1").await.unwrap());
    assert_eq!(ledger.webhooks().await.unwrap(), [two]);
}
