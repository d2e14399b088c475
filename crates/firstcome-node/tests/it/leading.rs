//! A leader whose tasks break, or whose election is refused, leads again.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::forks::decides;
use crate::several::{Seat, store};
use firstcome_core::command::{Command, Order, Steer, Wish};
use firstcome_core::{SpaceId, State};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_node::Metrics;
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::ledger::memory::{LedgerCall, LedgerWork, MemoryLedger as Tables, Way};
use firstcome_node::ledger::{Ledger, LedgerError};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A ledger whose next transactions panic in the task that asks for them, as an unknown mistake does.
#[derive(Debug)]
struct Panics(AtomicU32);

impl Panics {
    fn times(times: u32) -> (Tables, Ledger) {
        let tables = Tables::new(SpaceId([7; 16]));
        let ledger = Ledger::Memory(tables.through(Arc::new(Self(times.into()))));
        (tables, ledger)
    }
}

impl Way for Panics {
    fn carry(
        &self,
        call: LedgerCall,
        work: LedgerWork,
    ) -> Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send>> {
        if call == LedgerCall::Settle {
            let left = self.0.load(Ordering::SeqCst);
            self.0.store(left.saturating_sub(1), Ordering::SeqCst);
            assert!(left == 0, "a mistake in settling");
        }
        work();
        Box::pin(async { Ok(()) })
    }
}

pub(crate) fn leads(
    seat: &Seat,
    ledger: Ledger,
    election: Election,
    metrics: &Arc<Metrics>,
) -> Leadership {
    let pace = LeaderPace {
        settle_interval: SECOND / 5,
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every: Duration::MAX,
    };
    Leadership::start(&seat.node, Some(ledger), pace, election, metrics)
}

pub(crate) fn is_settled(seat: &Seat) -> bool {
    seat.node.replica.look(|state| state.settled() == state.last_result())
}

/// Waits for something that a server brings about.
pub(crate) async fn until(what: &str, done: impl Fn() -> bool) {
    let end = std::time::Instant::now() + 60 * SECOND;
    while !done() {
        assert!(std::time::Instant::now() < end, "not within a minute: {what}");
        sleep(SECOND / 50).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_alone_whose_task_panicked_leads_again() {
    let store = store();
    let one = Seat::at(&store).await;
    let (tables, ledger) = Panics::times(2);
    let metrics = Arc::new(Metrics::default());
    let leader = leads(&one, ledger, Election::Alone, &metrics);
    one.opens("spring", 10).await;
    one.claims("ann").await;
    sleep(10 * SECOND).await;
    assert!(leader.leads());
    assert!(is_settled(&one), "{:?}", leader.standing());
    assert_eq!(tables.kept().results().count(), 1);
    assert_eq!(metrics.leader_failures.get(), 2);
    let said = one.said();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("a task of the leader panicked"), "{said:?}");
    leader.stop().await;
}

/// Nobody claims any more: no later transaction says it.
#[tokio::test(start_paused = true)]
async fn a_mark_of_what_the_ledger_has_that_failed_is_said_again() {
    let store = store();
    let one = Seat::at(&store).await;
    let (tables, ledger) = Panics::times(0);
    let leader = leads(&one, ledger, Election::Alone, &Arc::new(Metrics::default()));
    one.opens("spring", 10).await;
    one.claims("ann").await;
    one.journal.fault(JournalCall::Append, 1, Fault::Refuse);
    sleep(SECOND).await;
    assert_eq!(tables.kept().results().count(), 1);
    assert!(!is_settled(&one), "the first mark was not refused");
    sleep(15 * SECOND).await;
    assert!(is_settled(&one), "{:?}", leader.standing());
    leader.stop().await;
}

mod elected {
    use super::*;
    use firstcome_inject::Mistake;
    use firstcome_lock::{Locks, Memory, MemoryLink};
    use firstcome_testbed::RedisServer;

    async fn candidate(seat: &Seat, locks: &Locks) -> Election {
        let election = firstcome_lock::Election::new(locks, "leader").unwrap();
        let candidate = election.node(seat.node.id.to_string());
        let watch = candidate.watch().await.unwrap();
        Election::Among { candidate, watch }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_without_the_ledger_leads_only_while_no_server_has_it() {
        let (store, locked) = (store(), Memory::starting_at(1_000));
        let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
        let metrics = Arc::new(Metrics::default());
        let pace = LeaderPace {
            settle_interval: SECOND / 5,
            settle_delay: SettleDelay::default(),
            keep_for: Some(SECOND),
            snapshot_bytes: u64::MAX,
            snapshot_every: Duration::MAX,
        };
        let stands = candidate(&one, &Locks::with_memory(&locked)).await;
        let without = Leadership::start(&one.node, None, pace, stands, &metrics);
        sleep(3 * SECOND).await;
        assert!(without.leads(), "nobody else is there");
        assert_eq!(without.standing().trouble, None, "there is no ledger in this space");
        one.opens("spring", 10).await;
        one.claims("ann").await;

        // One that has a ledger comes: it leads, though the first one does, and settles.
        let ledger = Ledger::Memory(Tables::new(SpaceId([7; 16])));
        let stands = candidate(&two, &Locks::with_memory(&locked)).await;
        let with = leads(&two, ledger, stands, &metrics);
        sleep(20 * SECOND).await;
        assert!(!without.leads() && with.leads());
        assert!(is_settled(&two), "{:?}", with.standing());

        // It ends: the first one leads again, settles nothing, keeps what is not settled, and says so.
        with.stop().await;
        sleep(5 * SECOND).await;
        assert!(without.leads());
        one.claims("bob").await;
        let (steer, order) = (Steer::Close, Order { id: None, who: "ann" });
        let close = Command::Steer { campaign: "spring", steer, order };
        one.node.intake.decide(&close).await.unwrap();
        sleep(60 * SECOND).await;
        let kept = one.node.replica.look(|state| state.campaign("spring").is_ok());
        assert!(kept, "a closed campaign leaves memory once its results are in the ledger");
        let trouble = without.standing().trouble.unwrap();
        assert!(trouble.starts_with("no_ledger: "), "{trouble}");
        assert!(!is_settled(&one), "bob's result waits");
        without.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn another_leads_after_a_task_of_the_leader_panicked() {
        let (store, locked) = (store(), Memory::starting_at(1_000));
        let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
        let (tables, broken) = Panics::times(1);
        let metrics = Arc::new(Metrics::default());
        let stands = candidate(&one, &Locks::with_memory(&locked)).await;
        let first = leads(&one, broken, stands, &metrics);
        sleep(SECOND).await;
        let stands = candidate(&two, &Locks::with_memory(&locked)).await;
        let second = leads(&two, Ledger::Memory(tables.clone()), stands, &metrics);
        sleep(SECOND).await;
        assert!(first.leads() && !second.leads());
        one.opens("spring", 10).await;
        one.claims("ann").await;
        sleep(10 * SECOND).await;
        assert!(!first.leads() && second.leads());
        assert!(is_settled(&two), "{:?}", second.standing());
        assert_eq!((metrics.leader_failures.get(), one.said().len()), (1, 1));
        // The first one stands again.
        second.stop().await;
        sleep(10 * SECOND).await;
        assert!(first.leads());
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_refused_the_lock_leads_once_it_is_granted_again() {
        let (store, locked) = (store(), Memory::starting_at(1_000));
        let one = Seat::at(&store).await;
        // Something else has the key: the store refuses the lock in a way that nobody expects to pass.
        let locks = Locks::with_memory(&locked);
        let other = locks.token("leader").unwrap().lock().await.unwrap();
        let metrics = Arc::new(Metrics::default());
        let stands = candidate(&one, &Locks::with_memory(&locked)).await;
        let (_, ledger) = Panics::times(0);
        let leader = leads(&one, ledger, stands, &metrics);
        sleep(60 * SECOND).await;
        assert!(!leader.leads());
        let (tries, said) = (metrics.leader_failures.get(), one.said());
        assert!((12..=20).contains(&tries), "{tries} tries in a minute");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("this node cannot stand for election"), "{said:?}");
        assert!(said[1].starts_with("nobody has led for 15 s"), "{said:?}");
        assert!((58..=60).contains(&leader.leaderless().as_secs()), "{:?}", leader.leaderless());
        other.release().await.unwrap();
        sleep(10 * SECOND).await;
        assert!(leader.leads());
        one.opens("spring", 10).await;
        one.claims("ann").await;
        sleep(SECOND).await;
        assert!(is_settled(&one), "{:?}", leader.standing());
        leader.stop().await;
    }

    /// Refuses the lock of a node that leads for a minute, with this error; gives the leader and what was said.
    async fn refused_for_a_minute(error: &str) -> (bool, Vec<String>) {
        let (way, one) = (MemoryLink::new(), Seat::at(&store()).await);
        let locks = Locks::with_memory(&Memory::starting_at(1_000).through(&way));
        let metrics = Arc::new(Metrics::default());
        let (_, ledger) = Panics::times(0);
        let leader = leads(&one, ledger, candidate(&one, &locks).await, &metrics);
        sleep(2 * SECOND).await;
        assert!(leader.leads() && leader.leaderless().is_zero());
        way.refuse(error);
        sleep(60 * SECOND).await;
        assert!(!leader.leads() && leader.leaderless() > 30 * SECOND);
        way.accept();
        sleep(10 * SECOND).await;
        assert_eq!(leader.leads(), leader.leaderless().is_zero());
        (leader.leads(), one.said())
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_refuses_the_lock_a_leader_stands_again_and_says_why() {
        for (error, why) in [
            ("MISCONF it cannot save", "MISCONF"),
            ("NOPERM no permissions for 'evalsha'", "no permissions"),
            ("ERR unknown command", "unknown command"),
        ] {
            let (leads, said) = refused_for_a_minute(error).await;
            assert!(leads, "{error}: {said:?}");
            let nobody = said.iter().find(|said| said.starts_with("nobody has led"));
            assert!(nobody.is_some(), "{said:?}");
            assert!(said.iter().any(|said| said.contains(why)), "{said:?}");
        }
    }

    /// In contrast: a loop that ends when its lock is refused leaves nobody to lead.
    #[tokio::test(start_paused = true)]
    async fn a_leader_that_ends_on_a_refusal_leads_no_more() {
        firstcome_inject::set(Some(Mistake::LeaderEndsOnRefusal));
        let (leads, said) = refused_for_a_minute("ERR unknown command").await;
        firstcome_inject::set(None);
        assert!(!leads, "the story is blind: {said:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_store_that_stalls_is_counted_and_said_with_what_became_of_the_term() {
        let (way, one) = (MemoryLink::new(), Seat::at(&store()).await);
        let locks = Locks::with_memory(&Memory::starting_at(1_000).through(&way));
        let metrics = Arc::new(Metrics::default());
        let (_, ledger) = Panics::times(0);
        let leader = leads(&one, ledger, candidate(&one, &locks).await, &metrics);
        sleep(2 * SECOND).await;
        assert_eq!((metrics.terms_won.get(), metrics.renewals_late.get()), (1, 0));
        assert!(leader.is_healthy() && leader.store_silent().is_zero());
        let says =
            |said: &[String], what: &str| said.iter().filter(|text| text.contains(what)).count();

        // Shorter than the lease of 10 s, which is renewed each 1.7 s.
        way.stall();
        sleep(7 * SECOND).await;
        assert!(leader.leads() && leader.store_silent() >= 4 * SECOND);
        way.open();
        sleep(SECOND).await;
        assert_eq!((metrics.renewals_late.get(), metrics.terms_lost("ran_out")), (1, 0));
        assert!(leader.store_silent().is_zero());
        let said = one.said();
        assert_eq!(says(&said, "the store does not answer"), 1, "{said:?}");
        assert_eq!(says(&said, "the store answers again"), 1, "{said:?}");
        assert_eq!(says(&said, "late; the store had not answered for"), 1, "{said:?}");

        way.stall();
        sleep(40 * SECOND).await;
        assert!(!leader.leads() && !leader.is_healthy());
        assert_eq!((metrics.terms_lost("ran_out"), metrics.terms_lost("given_back")), (1, 0));
        let said = one.said();
        let lost = "it ran out without a confirmed renewal; the store had not answered for";
        assert_eq!(says(&said, lost), 1, "{said:?}");
        assert_eq!(
            says(&said, "nobody has led"),
            0,
            "who led may go on, as far as it knows: {said:?}"
        );
        sleep(20 * SECOND).await;
        let said = one.said();
        assert_eq!(says(&said, "nobody has led"), 1, "{said:?}");
        assert!(leader.leaderless() > 15 * SECOND && leader.who().is_none());
        way.open();
        sleep(20 * SECOND).await;
        assert!(leader.leads() && leader.is_healthy() && leader.store_silent().is_zero());
        assert_eq!(metrics.terms_won.get(), 2);
        leader.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_leader_stands_again_after_its_redis_could_not_save() {
        let Some(server) = RedisServer::start() else { return };
        let locks = Locks::connect(&server.url()).await.unwrap();
        let one = Seat::at(&store()).await;
        let election = firstcome_lock::Election::new(&locks, "leader").unwrap().lease(SECOND);
        let candidate = election.node(one.node.id.to_string());
        let watch = candidate.watch().await.unwrap();
        let metrics = Arc::new(Metrics::default());
        let (_, ledger) = Panics::times(0);
        let leader = leads(&one, ledger, Election::Among { candidate, watch }, &metrics);
        until("it leads", || leader.leads()).await;
        tokio::task::block_in_place(|| server.fail_saving());
        // Longer than the lease, and than a call for the lock rides out a store.
        until("nobody leads for long", || leader.leaderless() > 12 * SECOND).await;
        tokio::task::block_in_place(|| server.mend_saving());
        until("it leads again", || leader.leads()).await;
        one.opens("spring", 10).await;
        one.claims("ann").await;
        until("results are settled", || is_settled(&one)).await;
        until("somebody leads", || leader.leaderless().is_zero()).await;
        leader.stop().await;
    }
}

/// Has 1,100 wait for one place, makes room for all of them, and returns after how long nobody has to wait for a look.
async fn lists_are_done_within(one: &Seat) -> Duration {
    one.opens("spring", 1).await;
    one.claims("ann").await;
    for number in 0..1_100 {
        let subject = &*format!("p{number}");
        let (campaign, pool, wish) = ("spring", None, Wish::units(1));
        decides(one, &Command::Join { campaign, pool, subject, wish, limit: None }).await;
    }
    let (entries, begun) = (one.position().position, Instant::now());
    one.opens("spring", 1_101).await;
    assert!(one.node.replica.look(State::has_list_work), "one entry makes 512 offers");
    // With this and two more entries all have one.
    one.reaches(entries + 3).await;
    assert!(!one.node.replica.look(State::has_list_work));
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn who_leads_goes_on_with_waitlists_at_once_and_others_with_a_tick() {
    let store = store();
    let one = Seat::at(&store).await;
    let within = lists_are_done_within(&one).await;
    assert!(within >= SECOND / 10, "two ticks are not as soon as that: {within:?}");
    let two = Seat::at(&self::store()).await;
    let (_, ledger) = Panics::times(0);
    let leader = leads(&two, ledger, Election::Alone, &Arc::new(Metrics::default()));
    let within = lists_are_done_within(&two).await;
    assert!(within < SECOND / 20, "no tick is as soon as that: {within:?}");
    leader.stop().await;
}
