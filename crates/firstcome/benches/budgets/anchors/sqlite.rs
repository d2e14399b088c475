//! What a team writes by hand: axum and SQLite. One thread writes whatever waits in one transaction, and nobody is
//! answered before it is on the disk.

use super::{CAPACITY, CLAIMS, Claim, Outcome};
use axum::routing::post;
use axum::{Json, Router};
use rusqlite::{Connection, OptionalExtension, Result};
use std::path::Path;
use tokio::sync::{mpsc, oneshot};

type Waiting = (String, oneshot::Sender<Outcome>);

pub(super) fn router(file: &Path) -> Result<Router> {
    let db = Connection::open(file)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "wal_autocheckpoint", 4096)?;
    db.execute("CREATE TABLE winner (rank INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE)", ())?;
    let (queue, waiting) = mpsc::channel(16_384);
    std::thread::spawn(move || write(db, waiting).expect("SQLite takes every claim"));
    let claim = move |Json(Claim { subject }): Json<Claim>| {
        let queue = queue.clone();
        async move {
            let (answer, answered) = oneshot::channel();
            queue.send((subject, answer)).await.expect("the writer runs");
            answered.await.expect("the writer answers")
        }
    };
    Ok(Router::new().route(CLAIMS, post(claim)))
}

/// Decides what waits, all in one transaction; answers when it is committed.
fn write(mut db: Connection, mut waiting: mpsc::Receiver<Waiting>) -> Result<()> {
    let (mut batch, mut taken) = (Vec::new(), 0);
    while waiting.blocking_recv_many(&mut batch, 4096) > 0 {
        let transaction = db.transaction()?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for (subject, _) in &batch {
            outcomes.push(decide(&transaction, subject, &mut taken)?);
        }
        transaction.commit()?;
        for ((_, answer), outcome) in batch.drain(..).zip(outcomes) {
            // Whoever left needs no answer.
            drop(answer.send(outcome));
        }
    }
    Ok(())
}

fn decide(db: &Connection, subject: &str, taken: &mut i64) -> Result<Outcome> {
    let mut find = db.prepare_cached("SELECT rank FROM winner WHERE subject = ?1")?;
    if let Some(rank) = find.query_row([subject], |row| row.get(0)).optional()? {
        return Ok(Outcome::AlreadyWon(rank));
    }
    if *taken == CAPACITY {
        return Ok(Outcome::SoldOut);
    }
    *taken += 1;
    db.prepare_cached("INSERT INTO winner VALUES (?1, ?2)")?.execute((*taken, subject))?;
    Ok(Outcome::Won(*taken))
}
