//! What a team writes by hand for coupon codes: axum and PostgreSQL, one statement that counts a use if one is left.

use super::postgres::connect;
use anyhow::Result;
use axum::routing::post;
use axum::{Json, Router, http::StatusCode};
use serde::Deserialize;
use std::sync::Arc;
use tokio::sync::{Mutex, Semaphore};
use tokio_postgres::{Client, Statement};

const CONNECTIONS: usize = 16;
/// Codes in the table: more than are redeemed while it is measured, and one with uses for everybody.
const TABLES: &str = "
    CREATE TABLE code (code text PRIMARY KEY, used int4 NOT NULL, most int4 NOT NULL, reference text);
    INSERT INTO code SELECT 'CODE-' || lpad(n::text, 7, '0'), 0, 1, NULL FROM generate_series(0, 199999) n;
    INSERT INTO code VALUES ('CODE-SHARED', 0, 1000000, NULL);
    ANALYZE code;";
const USE: &str = "UPDATE code SET used = used + 1, reference = $2 WHERE code = $1 AND used < most";

#[derive(Deserialize)]
struct Redeem {
    code: String,
    reference: String,
}

struct Pool {
    free: Mutex<Vec<(Client, Statement)>>,
    permits: Semaphore,
}

pub(super) async fn router(url: &str) -> Result<Router> {
    let mut free = Vec::new();
    for number in 0..CONNECTIONS {
        let client = connect(url).await?;
        if number == 0 {
            client.batch_execute(TABLES).await?;
        }
        let redeem = client.prepare(USE).await?;
        free.push((client, redeem));
    }
    let pool = Arc::new(Pool { free: Mutex::new(free), permits: Semaphore::new(CONNECTIONS) });
    let redeem = move |Json(asked): Json<Redeem>| async move {
        match redeem(&pool, &asked).await.expect("PostgreSQL answers") {
            true => (StatusCode::OK, r#"{"outcome":"redeemed"}"#),
            false => (StatusCode::CONFLICT, r#"{"outcome":"code_used"}"#),
        }
    };
    Ok(Router::new().route("/v1/campaigns/{campaign}/codes/redeem", post(redeem)))
}

/// Says whether a use was left.
async fn redeem(pool: &Pool, asked: &Redeem) -> Result<bool> {
    let _permit = pool.permits.acquire().await?;
    let (client, redeem) = pool.free.lock().await.pop().expect("one for each permit");
    let changed = client.execute(&redeem, &[&asked.code, &asked.reference]).await?;
    pool.free.lock().await.push((client, redeem));
    Ok(changed == 1)
}
