//! Cron on several hosts: start it three times, and one of them does the job each second; when that one ends or is killed,
//! another goes on.
//!
//! Run it: `cargo run --example cron [URL]`, with `redis://127.0.0.1:6379` where no URL is given. Ctrl-C ends it, and hands over
//! at once; after a `kill -9` the next one begins when the lease is over, three seconds later.

use std::time::Duration;

use firstcome_lock::{Election, Error, Locks};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let locks = Locks::connect(&url).await?;
    let me = std::process::id();
    println!("{me}: ready");

    let election = Election::new(&locks, "cron")?;
    let jobs = election.every(Duration::from_secs(1), |term| async move {
        // Whatever must not be done twice checks this number: it is higher in each term.
        println!("{me}: job in term {}", term.fence());
    });
    tokio::select! {
        ended = jobs => drop(ended?),
        _ = tokio::signal::ctrl_c() => {}
    }
    locks.close().await;
    println!("{me}: handed over");
    Ok(())
}
