//! A server one of whose tasks panicked, which is a bug: it is not ready, says why, and answers what it can.

use crate::inside::{Inside, Setup};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test(start_paused = true)]
async fn a_server_whose_task_panicked_is_not_ready_and_says_which() {
    let ticker_bug = Arc::new(AtomicBool::new(false));
    let setup = Setup { ticker_bug: Arc::clone(&ticker_bug), ..Setup::default() };
    let server = Inside::with(setup).await;
    server.open("spring", 9).await.says(201, "created");
    assert_eq!(server.get("/readyz").await.status, 200);
    ticker_bug.store(true, Ordering::SeqCst);
    server.app.node.panics.of("ticker").await;

    let ready = server.get("/readyz").await;
    let reasons = json!(["the task \"ticker\" panicked: restart this server"]);
    assert_eq!((ready.status, &ready.json()["reasons"]), (503, &reasons));
    let without_key = server.send(Request::get("/readyz").body(Body::empty()).unwrap()).await;
    assert_eq!(without_key.json()["reasons"], json!(["task_panicked"]));
    let metrics = server.get("/metrics").await.text();
    assert!(metrics.contains("firstcome_ready 0"), "{metrics}");
    assert_eq!(server.get("/livez").await.status, 200);
    server.claim("spring", "ann").await.says(201, "won");
}
