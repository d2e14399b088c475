//! What a team writes by hand: axum and PostgreSQL. One statement takes a place and notes the winner; a pool of connections.

use super::{CAPACITY, CLAIMS, Claim, Outcome};
use anyhow::{Context, Result};
use axum::routing::post;
use axum::{Json, Router};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, Statement};

const CONNECTIONS: usize = 16;
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS campaign (one int PRIMARY KEY, capacity int8 NOT NULL, taken int8 NOT NULL);
    CREATE TABLE IF NOT EXISTS winner (subject text PRIMARY KEY, rank int8 NOT NULL);";
const FIRST: &str = "INSERT INTO campaign VALUES (1, $1, 0) ON CONFLICT DO NOTHING";
const TAKE: &str = "
    WITH place AS (UPDATE campaign SET taken = taken + 1 WHERE taken < capacity RETURNING taken)
    INSERT INTO winner SELECT $1, taken FROM place RETURNING rank";
const FIND: &str = "SELECT rank FROM winner WHERE subject = $1";

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
            client.execute(FIRST, &[&CAPACITY]).await?;
        }
        let take = client.prepare(TAKE).await?;
        free.push((client, take));
    }
    let pool = Arc::new(Pool { free: Mutex::new(free), permits: Semaphore::new(CONNECTIONS) });
    let claim = move |Json(Claim { subject }): Json<Claim>| async move {
        claim(&pool, &subject).await.expect("PostgreSQL answers")
    };
    Ok(Router::new().route(CLAIMS, post(claim)))
}

/// Opens a connection that sends at once.
pub(super) async fn connect(url: &str) -> Result<Client> {
    let config: Config = url.parse()?;
    let port = *config.get_ports().first().context("the URL has a port")?;
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (client, connection) = config.connect_raw(stream, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn claim(pool: &Pool, subject: &str) -> Result<Outcome> {
    let _permit = pool.permits.acquire().await?;
    let (client, take) = pool.free.lock().await.pop().expect("one for each permit");
    let outcome = match client.query_opt(&take, &[&subject]).await {
        Ok(Some(row)) => Outcome::Won(row.get(0)),
        Err(why) if why.code() != Some(&SqlState::UNIQUE_VIOLATION) => return Err(why.into()),
        // Sold out, or this subject has a place.
        Ok(None) | Err(_) => match client.query_opt(FIND, &[&subject]).await? {
            Some(row) => Outcome::AlreadyWon(row.get(0)),
            None => Outcome::SoldOut,
        },
    };
    pool.free.lock().await.push((client, take));
    Ok(outcome)
}
