//! The yardstick: axum that parses the same JSON and answers a constant.

use anyhow::Result;
use axum::Json;
use axum::http::{StatusCode, header};
use axum::routing::post;
use serde::Deserialize;

#[derive(Deserialize)]
struct Claim {
    subject: String,
}

const ANSWER: &str = r#"{"outcome":"won","campaign":"bench","pool":"main","subject":"s-00000001","rank":17,"at":"2027-03-01T01:00:00.000000Z","position":"0.42","decided":"journal"}"#;

pub(crate) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let claim = |Json(claim): Json<Claim>| async move {
            let status = if claim.subject.is_empty() {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::CREATED
            };
            (status, [(header::CONTENT_TYPE, "application/json")], ANSWER)
        };
        let router = axum::Router::new().route("/v1/campaigns/{campaign}/claims", post(claim));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |stream| {
                stream.set_nodelay(true).expect("a TCP stream takes TCP_NODELAY");
            }),
            router,
        )
        .await?;
        Ok(())
    })
}
