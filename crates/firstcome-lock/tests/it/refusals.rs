//! Stores that refuse for a while: who waits, who stands for election, and who is told at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use firstcome_lock::{Election, Error, Locks, Memory, MemoryLink, Mistake};
use firstcome_testbed::RedisServer;
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::sleep;

use crate::stage::{SECOND, client_of, ms, take};

const NOPERM: &str = "NOPERM User default has no permissions to run the 'evalsha' command";
const ERR: &str = "ERR unknown command 'EVALSHA'";

/// A candidate that leads for ever once elected, and how many terms it had.
fn stands(
    locks: &Locks,
    lease: Duration,
) -> (Election, JoinHandle<Result<(), Error>>, Arc<AtomicU64>) {
    let election = Election::new(locks, "leader").unwrap().lease(lease);
    let (candidate, terms) = (election.clone(), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&terms);
    let running = tokio::spawn(async move {
        let lead = |_| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>()
        };
        candidate.run(lead).await
    });
    (election, running, terms)
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let end = std::time::Instant::now() + 30 * SECOND;
    while !done() {
        assert!(std::time::Instant::now() < end, "not within 30 s: {what}");
        sleep(ms(20)).await;
    }
}

/// Has a leader's Redis refuse to save for longer than the lease; says whether the candidate stands on.
async fn misconf(locks: Locks, server: &RedisServer) -> bool {
    let (election, running, terms) = stands(&locks, SECOND);
    until("it leads", || terms.load(Ordering::SeqCst) == 1).await;
    block_in_place(|| server.fail_saving());
    let watch = election.watch().await.unwrap();
    until("its term ends", || watch.current().is_none()).await;
    // A call rides it out for a while; then the election decides.
    until("the election hears of it", || election.trouble().is_some() || running.is_finished())
        .await;
    block_in_place(|| server.mend_saving());
    let stands =
        until("it leads again", || terms.load(Ordering::SeqCst) == 2 || running.is_finished());
    stands.await;
    let ended = running.is_finished();
    running.abort();
    if ended {
        let failure = running.await.unwrap().unwrap_err();
        assert!(failure.to_string().contains("MISCONF"), "{failure}");
    }
    !ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_stands_on_while_its_redis_cannot_save() {
    let Some(server) = RedisServer::start() else { return };
    let options = firstcome_lock::RedisOptions::new(server.url());
    let locks = Locks::builder().ride_out(ms(200)).connect(options).await.unwrap();
    assert!(misconf(locks, &server).await);
}

/// In contrast: without the list of errors that pass, nobody leads after that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_list_a_redis_that_cannot_save_ends_the_election() {
    let Some(server) = RedisServer::start() else { return };
    let options = firstcome_lock::RedisOptions::new(server.url());
    let locks = Locks::builder().ride_out(ms(200)).inject(Mistake::EndElectionOnError);
    let locks = locks.connect(options).await.unwrap();
    assert!(!misconf(locks, &server).await, "the story is blind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_lock_waits_for_memory_too() {
    let Some(server) = RedisServer::start() else { return };
    let locks = client_of(&server).await;
    assert_eq!(server.ask("CONFIG SET maxmemory 1"), "+OK");
    let lock = locks.mutex("x").unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await });
    sleep(SECOND / 2).await;
    assert!(!waiting.is_finished(), "{:?}", waiting.await);
    assert_eq!(server.ask("CONFIG SET maxmemory 0"), "+OK");
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_given_back_once_a_busy_redis_has_time() {
    let Some(server) = RedisServer::start() else { return };
    assert_eq!(server.ask("CONFIG SET busy-reply-threshold 20"), "+OK");
    let (ann, bob) = (client_of(&server).await, client_of(&server).await);
    let lease = take(&ann.mutex("x").unwrap()).await;
    let port = server.port();
    let busy = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"EVAL \"while true do end\" 0\r\n").unwrap();
        // Killed, it is answered with an error.
        drop(stream.read(&mut [0; 64]));
    });
    until("it is busy", || server.ask("GET y").starts_with("-BUSY")).await;
    let releasing = tokio::spawn(lease.release());
    sleep(SECOND / 2).await;
    assert!(!releasing.is_finished());
    assert_eq!(server.ask("SCRIPT KILL"), "+OK");
    busy.join().unwrap();
    releasing.await.unwrap().unwrap();
    assert!(bob.inspect("x").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_taken_away_later_is_waited_for() {
    let link = MemoryLink::new();
    let locks = Locks::with_memory(&Memory::starting_at(1_000).through(&link));
    let (election, running, terms) = stands(&locks, 10 * SECOND);
    sleep(SECOND).await;
    assert_eq!((terms.load(Ordering::SeqCst), election.trouble().is_none()), (1, true));
    link.refuse(NOPERM);
    sleep(60 * SECOND).await;
    assert!(!running.is_finished());
    let why = election.trouble().expect("it says what it waits for").to_string();
    assert!(why.contains("no permissions"), "{why}");
    link.accept();
    sleep(5 * SECOND).await;
    assert_eq!((terms.load(Ordering::SeqCst), election.trouble().is_none()), (2, true));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn what_was_never_right_is_said_at_once_and_what_is_unknown_always() {
    for (before, error) in [(false, NOPERM), (false, ERR), (true, ERR)] {
        let link = MemoryLink::new();
        let locks = Locks::with_memory(&Memory::starting_at(1_000).through(&link));
        if !before {
            link.refuse(error);
        }
        let (_, running, terms) = stands(&locks, 10 * SECOND);
        sleep(SECOND).await;
        assert_eq!(running.is_finished(), !before);
        link.refuse(error);
        sleep(30 * SECOND).await;
        assert!(running.is_finished(), "{error}");
        let failure = running.await.unwrap().unwrap_err();
        assert!(matches!(&failure, Error::Store(_)), "{failure:?}");
        assert_eq!(terms.load(Ordering::SeqCst), u64::from(before));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_changes_answers_who_looks() {
    let (memory, link) = (Memory::starting_at(1_000), MemoryLink::new());
    let (far, near) = (Locks::with_memory(&memory.through(&link)), Locks::with_memory(&memory));
    let lease = take(&near.mutex("x").unwrap()).await;
    link.refuse("READONLY You can't write against a read only replica.");
    assert_eq!(far.inspect("x").await.unwrap().unwrap().owner, lease.owner());
    let refused = far.mutex("y").unwrap().try_lock().await.unwrap_err();
    assert!(refused.to_string().contains("read-only replica"), "{refused}");
    link.accept();
    drop(take(&far.mutex("y").unwrap()).await);
}
