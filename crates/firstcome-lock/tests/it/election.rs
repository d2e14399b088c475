//! One of many, and the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use firstcome_lock::{Election, Error, Locks, Loss, Term};

use crate::stage::{Inside, SECOND, Stage, ms, take, until, until_free};

on_every_store! {
    one_of_five_leads_and_each_gets_its_turn
    work_stops_when_the_term_is_taken_away
    resigning_lets_another_one_lead
    resigning_ends_a_term_that_the_work_kept
    a_candidate_that_is_dropped_ends_its_term
    work_that_ended_ends_its_term
    an_ineligible_node_only_watches
    a_dead_leader_is_followed_when_its_lease_ends
    periodic_work_is_done_by_one
    watchers_see_terms_come_and_go
    closing_ends_it
    a_name_that_cannot_be_used
}

async fn one_of_five_leads_and_each_gets_its_turn(stage: Stage) {
    let inside = Inside::default();
    let mut tasks = Vec::new();
    for number in 0..5 {
        let locks = stage.client().await;
        let inside = inside.clone();
        tasks.push(tokio::spawn(async move {
            let election = Election::new(&locks, "job").unwrap().node(format!("n{number}"));
            let work = |term: firstcome_lock::Term| {
                let inside = inside.clone();
                async move {
                    assert!(term.is_valid());
                    inside.visit().await;
                    term.fence()
                }
            };
            election.run(work).await.unwrap()
        }));
    }
    let mut terms = Vec::new();
    for task in tasks {
        terms.push(task.await.unwrap());
    }
    terms.sort();
    terms.dedup();
    assert_eq!((terms.len(), inside.most()), (5, 1));
}

/// Work that goes on until it is stopped.
async fn endless(counter: Arc<AtomicU64>) {
    loop {
        counter.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(ms(1)).await;
    }
}

async fn work_stops_when_the_term_is_taken_away(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let election = Election::new(&ann, "job").unwrap().lease(5 * SECOND);
    let (terms, steps) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let running = {
        let (terms, steps) = (terms.clone(), steps.clone());
        tokio::spawn(async move {
            let work = |_| {
                terms.fetch_add(1, Ordering::SeqCst);
                endless(steps.clone())
            };
            election.run(work).await
        })
    };
    let mut watch = Election::new(&bob, "job").unwrap().watch().await.unwrap();
    let first = watch.until(|leader| leader.is_some()).await.unwrap().unwrap();
    // Somebody takes the lock away; the leader notices at its next renewal, and stands again.
    assert!(bob.force_release("job").await.unwrap());
    let thief = bob.mutex("job").unwrap().lease(60 * SECOND);
    let lease = tokio::time::timeout(20 * SECOND, thief.lock()).await.expect("free").unwrap();
    until("the work has stopped", async || {
        let frozen = steps.load(Ordering::SeqCst);
        tokio::time::sleep(ms(100)).await;
        steps.load(Ordering::SeqCst) == frozen
    })
    .await;
    assert_eq!(terms.load(Ordering::SeqCst), 1);
    lease.release().await.unwrap();
    let wanted = |leader: Option<&firstcome_lock::Leader>| {
        leader.is_some_and(|leader| leader.term > first.term)
    };
    watch.until(wanted).await.unwrap();
    running.abort();
}

async fn resigning_lets_another_one_lead(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let one = Election::new(&ann, "job").unwrap().node("one").lease(8 * SECOND);
    let other = Election::new(&bob, "job").unwrap().node("other").lease(8 * SECOND);
    let mut watch = one.watch().await.unwrap();
    let running = {
        let one = one.clone();
        tokio::spawn(async move { one.run(|_| std::future::pending::<()>()).await })
    };
    let leads = |node: &'static str| {
        move |leader: Option<&firstcome_lock::Leader>| leader.is_some_and(|l| l.node == node)
    };
    watch.until(leads("one")).await.unwrap();
    let waiting = {
        let other = other.clone();
        tokio::spawn(async move { other.run(|_| std::future::pending::<()>()).await })
    };
    tokio::time::sleep(ms(50)).await;
    one.resign();
    let seen = tokio::time::timeout(5 * SECOND, watch.until(leads("other"))).await;
    seen.expect("long before the lease ends").unwrap();
    // One that is made ineligible resigns as well, and does not stand again.
    other.set_eligible(false);
    watch.until(leads("one")).await.unwrap();
    running.abort();
    waiting.abort();
}

/// A candidate whose work gives its term to a task of its own, which looks at it.
async fn with_a_task_of_its_own(
    election: Election,
    done: tokio::sync::oneshot::Receiver<()>,
    terms: tokio::sync::mpsc::UnboundedSender<Term>,
) {
    let mut done = Some(done);
    let led = election.run(|term| {
        let (done, terms) = (done.take(), terms.clone());
        async move {
            terms.send(term).unwrap();
            match done {
                Some(done) => drop(done.await),
                None => std::future::pending().await,
            }
        }
    });
    led.await.unwrap();
}

/// A candidate that leads, whose work has given away a copy of its term; what ends its work; and one who waits.
async fn with_a_kept_term(
    stage: &Stage,
) -> (Election, Term, tokio::sync::oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let ann = stage.client().await;
    let election = Election::new(&ann, "job").unwrap().node("one").lease(4 * SECOND);
    let (end, done) = tokio::sync::oneshot::channel();
    let (terms, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let running = tokio::spawn(with_a_task_of_its_own(election.clone(), done, terms));
    let term = kept.recv().await.unwrap();
    assert!(term.is_valid());
    (election, term, end, running)
}

/// Waits until the lock can be had, and gives how long that took.
async fn had_after(stage: &Stage) -> std::time::Duration {
    let other = stage.client().await;
    let begun = std::time::Instant::now();
    until_free(&other, "job").await;
    begun.elapsed()
}

async fn resigning_ends_a_term_that_the_work_kept(stage: Stage) {
    let (election, term, _end, running) = with_a_kept_term(&stage).await;
    let watching = tokio::spawn({
        let term = term.clone();
        async move { term.ended().await }
    });
    election.resign();
    assert_eq!(watching.await.unwrap(), Loss::GivenBack);
    assert!(!term.is_valid());
    // Whoever has a copy may still be at the end of something: it has until the lease is over, and no longer.
    assert!(
        stage.client().await.mutex("job").unwrap().try_lock().await.unwrap().acquired().is_none()
    );
    assert!(had_after(&stage).await < 8 * SECOND);
    assert!(!term.is_valid());
    drop(term);
    running.abort();

    // Where the last copy is dropped, the next one starts at once.
    let (election, term, _end, running) = with_a_kept_term(&stage).await;
    let next = stage.client().await.mutex("job").unwrap().renewed(60 * SECOND);
    let next = tokio::spawn(async move { next.lock().await.unwrap() });
    election.resign();
    term.ended().await;
    let begun = std::time::Instant::now();
    drop(term);
    next.await.unwrap().release().await.unwrap();
    assert!(begun.elapsed() < 3 * SECOND, "{:?}", begun.elapsed());
    running.abort();
}

async fn a_candidate_that_is_dropped_ends_its_term(stage: Stage) {
    let (_election, term, _end, running) = with_a_kept_term(&stage).await;
    running.abort();
    assert_eq!(term.ended().await, Loss::GivenBack);
    assert!(!term.is_valid());
    assert!(had_after(&stage).await < 8 * SECOND);
}

async fn work_that_ended_ends_its_term(stage: Stage) {
    let (_election, term, end, running) = with_a_kept_term(&stage).await;
    end.send(()).unwrap();
    running.await.unwrap();
    assert!(!term.is_valid());
    assert_eq!(term.ended().await, Loss::GivenBack);
    assert!(had_after(&stage).await < 3 * SECOND, "it said that it is done");
}

async fn an_ineligible_node_only_watches(stage: Stage) {
    let ann = stage.client().await;
    let election = Election::new(&ann, "job").unwrap();
    election.set_eligible(false);
    let running = {
        let election = election.clone();
        tokio::spawn(async move { election.run(|term| async move { term.fence() }).await })
    };
    tokio::time::sleep(ms(50)).await;
    assert!(!running.is_finished());
    assert_eq!(election.watch().await.unwrap().current(), None);
    election.set_eligible(true);
    running.await.unwrap().unwrap();
}

async fn a_dead_leader_is_followed_when_its_lease_ends(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let begun = std::time::Instant::now();
    // It takes the lock and never renews it, like a process that was killed.
    take(&ann.mutex("job").unwrap().lease(SECOND)).await.leak();
    let election = Election::new(&bob, "job").unwrap();
    election.run(|_| async {}).await.unwrap();
    assert!(begun.elapsed() >= ms(900));
}

async fn periodic_work_is_done_by_one(stage: Stage) {
    let begun = std::time::Instant::now();
    let runs = Arc::new(AtomicU64::new(0));
    let inside = Inside::default();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let locks = stage.client().await;
        let (runs, inside) = (runs.clone(), inside.clone());
        tasks.push(tokio::spawn(async move {
            let election = Election::new(&locks, "beat").unwrap().lease(5 * SECOND);
            let work = |_| {
                let (runs, inside) = (runs.clone(), inside.clone());
                async move {
                    runs.fetch_add(1, Ordering::SeqCst);
                    inside.visit().await;
                }
            };
            election.every(ms(50), work).await
        }));
    }
    tokio::time::sleep(ms(600)).await;
    until("it has run five times", async || runs.load(Ordering::SeqCst) >= 5).await;
    for task in &tasks {
        task.abort();
    }
    let runs = u128::from(runs.load(Ordering::SeqCst));
    let intervals = begun.elapsed().as_millis() / 50;
    let three = "by three candidates";
    assert!((5..=intervals + 2).contains(&runs), "{runs} runs in {intervals} intervals, {three}");
    assert_eq!(inside.most(), 1);
    // Dropping it gives the lock back.
    until_free(&stage.client().await, "beat").await;
}

async fn watchers_see_terms_come_and_go(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let mut watch = Election::new(&bob, "job").unwrap().watch().await.unwrap();
    assert_eq!(watch.current(), None);
    let election = Election::new(&ann, "job").unwrap().node("ann");
    let mut last = None;
    for _ in 0..3 {
        let (go, wait) = tokio::sync::oneshot::channel::<()>();
        let mut wait = Some(wait);
        let running = {
            let election = election.clone();
            tokio::spawn(async move {
                let work = |_| {
                    let wait = wait.take();
                    async move {
                        if let Some(wait) = wait {
                            wait.await.unwrap();
                        }
                    }
                };
                election.run(work).await
            })
        };
        let leader = watch.until(|leader| leader.is_some()).await.unwrap().unwrap();
        assert_eq!(leader.node, "ann");
        assert!(last < Some(leader.term), "terms grow");
        last = Some(leader.term);
        go.send(()).unwrap();
        running.await.unwrap().unwrap();
        watch.until(|leader| leader.is_none()).await.unwrap();
    }
}

async fn closing_ends_it(stage: Stage) {
    let ann = stage.client().await;
    let election = Election::new(&ann, "job").unwrap();
    let mut watch = election.watch().await.unwrap();
    let running = {
        let election = election.clone();
        tokio::spawn(async move { election.run(|_| std::future::pending::<()>()).await })
    };
    watch.until(|leader| leader.is_some()).await.unwrap();
    ann.close().await;
    assert!(matches!(running.await.unwrap(), Err(Error::Closed)));
    assert!(matches!(watch.until(|leader| leader.is_none()).await, Ok(None) | Err(Error::Closed)));
    until_free(&stage.client().await, "job").await;
}

async fn a_name_that_cannot_be_used(stage: Stage) {
    let ann = stage.client().await;
    assert!(matches!(Election::new(&ann, "a{"), Err(Error::Name { .. })));
    let short = Election::new(&ann, "x").unwrap().lease(ms(1));
    assert!(matches!(short.run(|_| async {}).await, Err(Error::OutOfRange { .. })));
    let long = Election::new(&ann, "x").unwrap();
    let refused = long.every(std::time::Duration::MAX, |_| async {}).await;
    assert!(matches!(refused, Err(Error::OutOfRange { what: "an interval", .. })));
}

#[tokio::test(start_paused = true)]
async fn periodic_work_has_the_lease_that_was_set() {
    let locks = Locks::memory();
    let election = || Election::new(&locks, "beat").unwrap();
    for (election, trusted) in [
        (election(), ms(2700)),
        (election().factor(10.0), ms(9000)),
        (election().lease(60 * SECOND), ms(54_000)),
    ] {
        let (terms, mut kept) = tokio::sync::mpsc::unbounded_channel();
        let running = tokio::spawn(async move {
            let work = |term| {
                terms.send(term).unwrap();
                std::future::ready(())
            };
            election.every(SECOND, work).await
        });
        let term = kept.recv().await.unwrap();
        assert_eq!(term.lease().remaining(), trusted);
        running.abort();
    }
    for election in [
        election().factor(60.0),
        election().factor(1.0),
        election().factor(f64::NAN),
        election().factor(3.0).lease(SECOND),
    ] {
        let refused = election.every(SECOND, |_| async {}).await.unwrap_err();
        assert!(matches!(refused, Error::Unfit { what: "the factor", .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_disk_needs_a_longer_lease_than_a_server() {
    let stage = Stage::sqlite();
    let election = Election::new(&stage.client().await, "beat").unwrap().factor(1.5);
    let refused = election.every(SECOND, |_| async {}).await.unwrap_err();
    assert!(matches!(refused, Error::Unfit { what: "the factor", .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn leases_end_on_a_paused_clock() {
    let locks = Locks::memory();
    let lease = take(&locks.mutex("x").unwrap().lease(3600 * SECOND)).await;
    let begun = tokio::time::Instant::now();
    lease.lost().await;
    assert_eq!(begun.elapsed().as_secs(), 3240, "nine tenths of an hour, without waiting for it");
}
