//! Clients that lose a store in memory, and those that do not.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use firstcome_lock::{Election, Locks, Loss, Memory, MemoryLink, Mistake};
use tokio::time::{Instant, sleep, timeout};

use crate::stage::{SECOND, ms, take};

const LEASE: Duration = Duration::from_secs(10);

/// A store, a client behind a way to it, and one that is always there.
fn store() -> (MemoryLink, Locks, Locks) {
    let (memory, link) = (Memory::starting_at(1_000), MemoryLink::new());
    (link.clone(), Locks::with_memory(&memory.through(&link)), Locks::with_memory(&memory))
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_loses_its_store_knows_before_another_has_the_lock() {
    let (link, far, near) = store();
    let lease = far.mutex("x").unwrap().renewed(LEASE).lock().await.unwrap();
    sleep(LEASE / 2).await;
    link.stall();
    let next = tokio::spawn({
        let lock = near.mutex("x").unwrap();
        async move { (lock.lock().await.unwrap(), Instant::now()) }
    });
    assert_eq!(lease.lost().await, Loss::RanOut);
    let lost = Instant::now();
    let (next, taken) = next.await.unwrap();
    assert!(lost < taken, "the old holder was told first");
    assert!(next.fence() > lease.fence());
    // What was on its way arrives now, and changes nothing.
    link.open();
    sleep(LEASE).await;
    assert!(next.is_valid());
    assert_eq!(near.inspect("x").await.unwrap().unwrap().owner, next.owner());
    assert!(far.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none());
    next.release().await.unwrap();
    drop(take(&far.mutex("x").unwrap()).await);
}

/// In contrast: without the end of trust both of them believe that they have it.
#[tokio::test(start_paused = true)]
async fn with_endless_trust_there_are_two_holders() {
    let (memory, link) = (Memory::starting_at(1_000), MemoryLink::new());
    let far =
        Locks::builder().inject(Mistake::TrustForEver).memory(&memory.through(&link)).unwrap();
    let near = Locks::with_memory(&memory);
    let lease = far.mutex("x").unwrap().renewed(LEASE).lock().await.unwrap();
    link.stall();
    let next = near.mutex("x").unwrap().lock().await.unwrap();
    assert!(next.is_valid() && lease.is_valid(), "the story is blind");
}

#[tokio::test(start_paused = true)]
async fn a_short_stall_costs_nothing() {
    let (link, far, near) = store();
    let lease = far.mutex("x").unwrap().renewed(LEASE).lock().await.unwrap();
    for _ in 0..10 {
        link.stall();
        sleep(LEASE / 3).await;
        link.open();
        sleep(LEASE / 3).await;
    }
    assert!(lease.is_valid());
    assert!(near.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none());
}

/// Whenever a store begins to stand still, it may do so for most of a lease.
#[tokio::test(start_paused = true)]
async fn a_stall_of_most_of_a_lease_costs_nothing() {
    for (lease, stall) in [(ms(1200), ms(930)), (LEASE, ms(7200))] {
        for phase in 0..40 {
            let (link, far, _) = store();
            let held = far.mutex("x").unwrap().renewed(lease).lock().await.unwrap();
            sleep(lease + lease * phase / 40).await;
            link.stall();
            sleep(stall).await;
            link.open();
            sleep(lease).await;
            assert!(held.is_valid(), "{lease:?} at {phase} of 40");
        }
    }
}

/// In contrast: renewed each third of a lease, as is usual, it is lost where the stall covers a renewal.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_renewed_seldom_is_lost() {
    let mut lost = 0;
    for phase in 0..40 {
        let (memory, link) = (Memory::starting_at(1_000), MemoryLink::new());
        let far = Locks::builder().inject(Mistake::RenewEachThird);
        let far = far.memory(&memory.through(&link)).unwrap();
        let held = far.mutex("x").unwrap().renewed(ms(1200)).lock().await.unwrap();
        sleep(ms(1200 + 30 * phase)).await;
        link.stall();
        sleep(ms(930)).await;
        link.open();
        sleep(ms(1200)).await;
        lost += u32::from(!held.is_valid());
    }
    assert!(lost >= 20, "{lost} of 40");
}

#[tokio::test(start_paused = true)]
async fn what_a_process_held_that_died_runs_out() {
    let (link, far, near) = store();
    let begun = Instant::now();
    let lease = far.mutex("x").unwrap().renewed(LEASE).lock().await.unwrap();
    link.cut();
    // Its last words: nobody hears them.
    drop(lease);
    far.close().await;
    link.open();
    sleep(LEASE - ms(1) - begun.elapsed()).await;
    assert!(near.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none(), "too early");
    sleep(ms(1)).await;
    drop(take(&near.mutex("x").unwrap()).await);
    let late = Locks::with_memory(&Memory::new().through(&link));
    let asked = timeout(SECOND, late.inspect("x")).await;
    assert!(asked.is_err(), "a link that was cut stays cut");
}

#[tokio::test(start_paused = true)]
async fn a_grant_whose_answer_comes_too_late_is_given_back() {
    let (link, far, near) = store();
    link.stall_answers();
    let asking = tokio::spawn({
        let lock = far.mutex("x").unwrap().lease(LEASE);
        async move { lock.try_lock().await }
    });
    sleep(SECOND).await;
    assert!(near.inspect("x").await.unwrap().is_some(), "it has it, and does not know");
    sleep(LEASE).await;
    link.open();
    let answer = asking.await.unwrap();
    assert!(!answer.is_ok_and(|tried| tried.acquired().is_some()), "it was trusted after its end");
    drop(take(&near.mutex("x").unwrap()).await);
}

#[tokio::test(start_paused = true)]
async fn a_message_waits_until_the_way_is_open() {
    let (link, far, near) = store();
    let lease = near.mutex("x").unwrap().renewed(LEASE * 60).lock().await.unwrap();
    let waiting = tokio::spawn({
        let lock = far.mutex("x").unwrap();
        async move { lock.lock().await.unwrap() }
    });
    sleep(SECOND).await;
    link.stall();
    lease.release().await.unwrap();
    sleep(LEASE).await;
    assert!(!waiting.is_finished());
    link.open();
    let opened = Instant::now();
    waiting.await.unwrap().release().await.unwrap();
    assert_eq!(opened.elapsed(), Duration::ZERO, "the message was kept for it");
}

/// Counts for as long as its term lasts.
async fn work(steps: Arc<AtomicU64>) {
    loop {
        steps.fetch_add(1, Ordering::SeqCst);
        sleep(ms(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_another_begins() {
    let (link, far, near) = store();
    let steps = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
    let mut running = Vec::new();
    for (locks, steps) in [&far, &near].into_iter().zip(&steps) {
        let election = Election::new(locks, "job").unwrap().lease(LEASE);
        let steps = Arc::clone(steps);
        running.push(tokio::spawn(async move { election.run(|_| work(Arc::clone(&steps))).await }));
        sleep(SECOND).await;
    }
    let done = |place: usize| steps[place].load(Ordering::SeqCst);
    assert!(done(0) > 0 && done(1) == 0);
    link.stall();
    while done(1) == 0 {
        sleep(ms(1)).await;
    }
    let stopped = done(0);
    sleep(LEASE * 3).await;
    assert_eq!(done(0), stopped, "it goes on under a term that is over");
    link.open();
    sleep(SECOND).await;
    assert_eq!(done(0), stopped);
    running.remove(1).abort();
    sleep(SECOND).await;
    assert!(done(0) > stopped, "it stands again once it hears of the store");
}

#[tokio::test(start_paused = true)]
async fn fences_begin_where_the_clock_does() {
    let mut fences = Vec::new();
    for _ in 0..2 {
        let memory = Memory::starting_at(1_000);
        let locks = Locks::with_memory(&memory);
        sleep(SECOND).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            let lease = locks.mutex("x").unwrap().lock().await.unwrap();
            seen.push(lease.fence().get());
            lease.release().await.unwrap();
        }
        fences.push(seen);
    }
    assert_eq!(fences, [[1_001_000, 1_001_001]; 2]);
}
