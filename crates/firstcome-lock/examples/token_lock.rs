//! A drop-in for users of `rslock`: the same string key, set with `SET key token NX PX`, so that both can be used side by side.
//!
//! | `rslock` | here |
//! |---|---|
//! | `LockManager::new(vec![url])` | `Locks::connect(url)` |
//! | `manager.lock(name, ttl)`, which tries for a while | `lock.try_lock()`, which tries once |
//! | `manager.acquire(name, ttl)`, which never gives up | `lock.lock()`, or `lock.lock_within(time)` |
//! | `manager.extend(&lock, ttl)` | without `.lease(ttl)` the lock is renewed for as long as the `Lease` lives |
//! | `manager.unlock(&lock)`; dropping it does nothing | `lease.release()`; dropping it gives it back in the background |
//! | `false` for taken, unreachable and refused | `TryLock::Held`, or an `Error` |
//!
//! Run it: `cargo run --example token_lock [URL]`, with `redis://127.0.0.1:6379` where no URL is given.

use std::time::Duration;

use firstcome_lock::{Error, Locks, TryLock};

const NAME: &str = "nightly-report";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let locks = Locks::connect(&url).await?;
    let lock = locks.token(NAME)?.lease(Duration::from_secs(10));

    // Once, as `SET NX PX` itself does.
    let mut answer = lock.try_lock().await?;
    if let TryLock::Held { remaining, .. } = &answer {
        println!("{NAME}: somebody else has it, {remaining}");
        // For a while: it asks again after pauses that grow.
        answer = lock.lock_within(Duration::from_secs(15)).await?;
    }
    match answer.acquired() {
        Some(lease) => {
            println!("{NAME}: taken under fencing token {}", lease.fence());
            // … the work, for `lease.remaining()` at most, or until `lease.lost()` …
            lease.release().await?;
            println!("{NAME}: given back");
        }
        None => println!("{NAME}: not free in time"),
    }
    locks.close().await;
    Ok(())
}
