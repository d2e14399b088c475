//! What a team writes by hand: axum and MariaDB. One block of statements takes a place and notes the winner; a pool of connections.

use super::{CAPACITY, CLAIMS, Claim, Outcome};
use anyhow::{Context, Result};
use axum::routing::post;
use axum::{Json, Router};
use firstcome_store::mysql::{MySqlOptions, MySqlPool, cell, text};
use std::sync::Arc;

const CONNECTIONS: usize = 16;

pub(super) async fn router(url: &str) -> Result<Router> {
    let pool = Arc::new(MySqlPool::new(MySqlOptions::new(url).connections(CONNECTIONS))?);
    let tables = format!(
        "CREATE TABLE IF NOT EXISTS campaign (one INT PRIMARY KEY, capacity BIGINT NOT NULL, taken BIGINT NOT NULL);
        CREATE TABLE IF NOT EXISTS winner (subject VARCHAR(200) PRIMARY KEY, place BIGINT NOT NULL);
        INSERT IGNORE INTO campaign VALUES (1, {CAPACITY}, 0)"
    );
    pool.step(&tables).await?;
    let claim = move |Json(Claim { subject }): Json<Claim>| async move {
        claim(&pool, &subject).await.expect("MariaDB answers")
    };
    Ok(Router::new().route(CLAIMS, post(claim)))
}

async fn claim(pool: &MySqlPool, subject: &str) -> Result<Outcome> {
    let subject = text(subject);
    // 1062: this subject has a place.
    let sql = format!(
        "BEGIN NOT ATOMIC
            DECLARE EXIT HANDLER FOR 1062 BEGIN
                ROLLBACK;
                SELECT -place FROM winner WHERE subject = {subject};
            END;
            START TRANSACTION;
            UPDATE campaign SET taken = LAST_INSERT_ID(taken + 1) WHERE one = 1 AND taken < capacity;
            IF ROW_COUNT() = 0 THEN
                ROLLBACK;
                SELECT CAST(0 AS SIGNED);
            ELSE
                INSERT INTO winner VALUES ({subject}, LAST_INSERT_ID());
                COMMIT;
                SELECT CAST(LAST_INSERT_ID() AS SIGNED);
            END IF;
        END"
    );
    let sets = pool.step(&sql).await?;
    let row = sets.iter().flatten().next().context("it says a place")?;
    Ok(match cell::<i64>(row, 0)? {
        0 => Outcome::SoldOut,
        place @ 1.. => Outcome::Won(place),
        place => Outcome::AlreadyWon(-place),
    })
}
