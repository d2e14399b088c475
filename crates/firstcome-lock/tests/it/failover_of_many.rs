//! A failover while thousands of leases are being renewed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_lock::{Lease, Locks, Loss, Mistake, RedisOptions};
use firstcome_testbed::Sentinels;
use tokio::task::block_in_place;

use crate::stage::{SECOND, ms, take, until};

/// Leases that the replica knows, and those that only the master knew.
const KNOWN: usize = 9000;
const UNKNOWN: usize = 1000;

/// How many ask at a time.
const TASKS: usize = 50;

const LEASE: Duration = Duration::from_secs(40);

fn options(sentinels: &Sentinels) -> RedisOptions {
    RedisOptions::new(sentinels.url()).heartbeat(ms(500)).answer_within(ms(1500))
}

async fn take_many(locks: &Locks, name: &'static str, count: usize) -> Vec<Lease> {
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let locks = locks.clone();
        tasks.push(tokio::spawn(async move {
            let mut leases = Vec::new();
            for number in (task..count).step_by(TASKS) {
                leases.push(take(&locks.mutex(&format!("{name}{number}")).unwrap()).await);
            }
            leases
        }));
    }
    let mut leases = Vec::new();
    for task in tasks {
        leases.extend(task.await.unwrap());
    }
    leases
}

/// Tries to take each of these locks away, and gives how many it could have.
async fn steal(thief: &Locks, leases: &Arc<Vec<Lease>>) -> usize {
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let (thief, leases) = (thief.clone(), Arc::clone(leases));
        tasks.push(tokio::spawn(async move {
            let mut stolen = 0;
            for lease in leases.iter().skip(task).step_by(TASKS) {
                let got = thief.mutex(lease.name()).unwrap().try_lock().await.unwrap().acquired();
                if let Some(got) = got {
                    assert!(!lease.is_valid(), "{} has two who believe in it", lease.name());
                    assert!(got.fence() > lease.fence());
                    stolen += 1;
                }
            }
            stolen
        }));
    }
    let mut stolen = 0;
    for task in tasks {
        stolen += task.await.unwrap();
    }
    stolen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_leases_each_is_renewed_on_the_new_master_or_said_to_be_lost() {
    let Some(mut sentinels) = block_in_place(Sentinels::start) else { return };
    let ann = Locks::builder().watchdog(LEASE).connect(options(&sentinels)).await.unwrap();
    let careless = Locks::builder().inject(Mistake::IgnoreReconnect);
    let careless = careless.connect(options(&sentinels)).await.unwrap();
    take(&careless.mutex("warm").unwrap()).await.release().await.unwrap();
    let known = Arc::new(take_many(&ann, "known", KNOWN).await);
    until("the replica has them", async || {
        sentinels.servers()[1].ask(&format!("EXISTS known{}", KNOWN - 1)).ends_with(":1")
    })
    .await;
    sentinels.sever_replica();
    let severed = Instant::now();
    let unknown = Arc::new(take_many(&ann, "unknown", UNKNOWN).await);
    let mistaken = take(&careless.mutex("mistaken").unwrap().lease(600 * SECOND)).await;
    // Somewhere in the renewals, of which there is a beat each sixth of the lease.
    tokio::time::sleep(ms(fastrand::u64(..6000))).await;
    block_in_place(|| sentinels.fail_over());
    let thief = Locks::builder().connect(options(&sentinels)).await.unwrap();
    assert_eq!(steal(&thief, &known).await, 0, "the replica had them");

    // Told, and not because trust ran out.
    for lease in unknown.iter() {
        let told = tokio::time::timeout(LEASE, lease.lost()).await.expect("it is told");
        assert_eq!(told, Loss::Taken, "{}", lease.name());
    }
    assert!(severed.elapsed() < LEASE, "long before their trust would have ended");
    assert_eq!(steal(&thief, &unknown).await, UNKNOWN);

    // What the replica knew is renewed there: it lasts for longer than it did when the replica heard of it last.
    let since_then = |remaining: Duration| remaining + severed.elapsed() > LEASE + SECOND;
    for (number, lease) in known.iter().enumerate() {
        assert!(lease.is_valid(), "{}", lease.name());
        if number % 100 == 0 {
            until("it is renewed", async || {
                let holder = thief.inspect(lease.name()).await.unwrap().expect("it is held");
                assert_eq!(holder.owner, lease.owner());
                since_then(holder.remaining.unwrap())
            })
            .await;
        }
    }
    assert_eq!(steal(&thief, &known).await, 0, "each is held by who believes in it");
    assert!(known.iter().all(Lease::is_valid));

    // In contrast: one that does not look when it reconnects believes in what somebody else has.
    until("it works again", async || careless.inspect("mistaken").await.is_ok()).await;
    let stolen = take(&thief.mutex("mistaken").unwrap()).await;
    assert!(mistaken.is_valid() && stolen.is_valid());
    ann.close().await;
}
