//! Mistakes that random worlds found in the node, each as a story by itself.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::mistakes::{SPACE, leader};
use crate::several::{Seat, agree, store};
use firstcome_core::command::{Body, Command};
use firstcome_core::{Outcome, State};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_journal::memory::Memory;
use firstcome_journal::{Head, Journal};
use firstcome_node::CommandError;
use firstcome_node::Condition;
use firstcome_node::Decided;
use firstcome_node::ledger::{Ledger, MemoryLedger as Tables};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

async fn head(store: &Memory) -> Head {
    Journal::Memory(store.clone()).head().await.unwrap()
}

/// Returns who claims in each entry that has claims.
async fn claims(store: &Memory) -> Vec<Vec<String>> {
    let entries = Journal::Memory(store.clone()).read(0).await.unwrap().entries;
    let of = |body: &[u8]| {
        let commands = Body::open(body).unwrap().commands().unwrap();
        let subjects = commands.iter().filter_map(|command| match command {
            Command::Claim { subject, .. } => Some((*subject).to_owned()),
            Command::Cancel { .. }
            | Command::Put { .. }
            | Command::Steer { .. }
            | Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. }
            | Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. }
            | Command::ChangeSeats { .. }
            | Command::Bar { .. }
            | Command::Unbar { .. }
            | Command::Code(_)
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Raise { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => None,
        });
        subjects.collect::<Vec<_>>()
    };
    let all = entries.iter().map(|entry| of(&entry.body));
    all.filter(|subjects| !subjects.is_empty()).collect()
}

/// Has the store lose nothing, and every node think that it may have.
async fn fail_over(store: &Memory) {
    store.lose_tail(head(store).await.position);
}

#[tokio::test(start_paused = true)]
async fn what_nothing_came_of_while_the_journal_was_mended_does_not_happen_later() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    fail_over(&store).await;
    one.journal.hold();
    let heard = one.tries("ann", None).await;
    assert!(matches!(heard, Err(CommandError::Unavailable(_))), "{heard:?}");
    one.journal.let_go();
    sleep(MINUTE).await;
    assert!(claims(&store).await.is_empty(), "{:?}", claims(&store).await);
    assert_eq!(one.claims("bob").await, 1);
    assert_eq!(one.claims("ann").await, 2);
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_before_the_store_promised_less_is_seen_and_nothing_is_stored_then() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 9).await;
    one.journal.lose_answer(1);
    for n in 2..=1_000 {
        one.journal.fault(JournalCall::Append, n, Fault::LessDurable);
    }
    assert_eq!(one.claims("ann").await, 1, "it was stored, and is read");
    let heard = one.tries("bob", None).await;
    let Err(CommandError::Unavailable(why)) = heard else { panic!("{heard:?}") };
    assert!(why.contains("turn them up"), "{why}");
    // It reads on meanwhile, and answers from memory.
    assert_eq!(two.claims("cem").await, 2);
    for _ in 0..500 {
        one.tries("bob", None).await.unwrap_err();
        sleep(Duration::from_millis(10)).await;
        assert_eq!(one.node.intake.condition(), Condition::Fresh);
    }
    assert_eq!(one.claims("cem").await, 2);
    one.journal.mend();
    assert_eq!(one.claims("bob").await, 3);
}

#[tokio::test(start_paused = true)]
async fn those_whose_time_is_not_over_stay_in_a_batch_that_others_leave() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    one.journal.hold();
    let sent = one.journal.appends();
    // Behind a batch that is under way the next one gathers, over three seconds.
    let first = one.tries("first", None);
    let early = async {
        one.journal.asked(sent + 1).await;
        tokio::join!(one.tries("ann", None), one.tries("bob", None))
    };
    let late = async {
        sleep(3 * SECOND).await;
        tokio::join!(one.tries("cem", None), one.tries("dan", None), async {
            tokio::task::yield_now().await;
            assert!(one.node.waiting() >= 4, "they are in one queue");
            // While it is mended it does not say where it stands; the first batch gets through.
            for n in 1..=100 {
                one.journal.fault(JournalCall::Head, n, Fault::Refuse);
            }
            fail_over(&store).await;
            one.journal.let_go();
        })
    };
    let mend = async {
        let (ann, bob) = early.await;
        one.journal.mend();
        (ann, bob)
    };
    let (first, (ann, bob), (cem, dan, ())) = tokio::join!(first, mend, late);
    for heard in [ann, bob] {
        assert!(matches!(heard, Err(CommandError::Unavailable(_))), "{heard:?}");
    }
    for (won, place) in [(first, 1), (cem, 2), (dan, 3)] {
        let outcome = won.unwrap().outcome;
        assert!(matches!(outcome, Outcome::Won { rank, .. } if rank == place), "{outcome:?}");
    }
    sleep(MINUTE).await;
    assert_eq!(claims(&store).await, [vec!["first"], vec!["cem", "dan"]]);
    assert_eq!(one.claims("bob").await, 4);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stops_appends_nothing_to_a_journal_it_could_not_mend() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    one.journal.always(Fault::LoseCall);
    let heard = one.tries("ann", None).await;
    assert!(matches!(heard, Err(CommandError::Unknown)), "{heard:?}");
    fail_over(&store).await;
    // Appends get through again, and where the journal stands is not to be had.
    one.journal.mend();
    for n in 1..=100 {
        one.journal.fault(JournalCall::Head, n, Fault::Refuse);
    }
    one.node.stop().await.unwrap();
    assert!(claims(&store).await.is_empty(), "others may have seen more, and were not waited for");
}

/// A node that found `ann` in a store which never said whether that is durable.
async fn after_a_restart(store: &Memory) -> Seat {
    let one = Seat::at(store).await;
    one.opens("spring", 9).await;
    one.claims("ann").await;
    drop(one);
    store.confirm_later();
    Seat::at(store).await
}

#[tokio::test(start_paused = true)]
async fn what_was_there_before_a_restart_becomes_durable_where_nobody_asks() {
    let store = store();
    let one = after_a_restart(&store).await;
    sleep(3 * SECOND).await;
    assert_eq!(head(&store).await.position, 3, "one tick");
    assert!(!one.node.intake.endures(one.position()).await, "nobody has confirmed it");
    store.confirm();
    assert!(one.node.intake.endures(one.position()).await);
    let again = one.tries("ann", None).await.unwrap();
    assert!(matches!(again.outcome, Outcome::AlreadyWon { rank: 1, .. }), "{again:?}");
    assert_eq!(again.decided, Decided::Replica);
    sleep(MINUTE).await;
    assert_eq!(head(&store).await.position, 3, "it ticks on though everything is durable");
}

#[tokio::test(start_paused = true)]
async fn results_of_before_a_restart_are_settled_where_nobody_asks() {
    let store = store();
    let one = after_a_restart(&store).await;
    let tables = Tables::new(SPACE);
    let leader = leader(&one, Ledger::Memory(tables.clone()));
    sleep(3 * SECOND).await;
    assert_eq!(tables.kept().results().count(), 0, "it may still be lost");
    store.confirm();
    sleep(3 * SECOND).await;
    assert_eq!(tables.kept().results().count(), 1);
    assert_eq!(leader.standing().trouble, None);
}

#[tokio::test(start_paused = true)]
async fn one_who_applied_nothing_goes_over_to_a_store_that_was_seeded_anew() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    two.journal.hold();
    // What it asked before is still answered.
    sleep(2 * SECOND).await;
    one.opens("spring", 9).await;
    one.claims("ann").await;
    one.claims("bob").await;
    store.empty();
    one.node.reseed();
    sleep(10 * SECOND).await;
    assert_eq!(head(&store).await.first, 4, "nothing is left to be read of the first three");
    assert_eq!(two.position().position, 0);
    two.journal.let_go();
    sleep(20 * SECOND).await;
    agree(&[&one, &two]).await;
    let again = two.tries("ann", None).await.unwrap();
    assert!(matches!(again.outcome, Outcome::AlreadyWon { rank: 1, .. }), "{again:?}");
    assert_eq!(two.claims("cem").await, 3);
    assert_eq!(one.claims("dan").await, 4);
    agree(&[&one, &two]).await;
}

#[tokio::test(start_paused = true)]
async fn a_backup_of_an_idle_ledger_is_noticed_and_settled_up_to_now() {
    let (store, tables) = (store(), Tables::new(SPACE));
    let one = Seat::at(&store).await;
    let leader = leader(&one, Ledger::Memory(tables.clone()));
    one.opens("spring", 9).await;
    let backup = tables.kept();
    one.claims("ann").await;
    one.claims("bob").await;
    // The ledger gets both, and there is no room for the mark that lets the nodes drop them.
    store.set_full(true);
    sleep(5 * SECOND).await;
    assert_eq!(tables.kept().results().count(), 2);
    assert_eq!(one.node.replica.look(State::settled), 0);
    store.set_full(false);
    sleep(5 * SECOND).await;
    tables.restore(&backup);
    sleep(20 * SECOND).await;
    assert_eq!(tables.kept().results().count(), 2);
    assert_eq!(one.node.replica.look(State::settled), 2);
    assert_eq!(leader.standing().trouble, None);
}

#[tokio::test(start_paused = true)]
async fn a_backup_of_an_idle_ledger_that_lacks_what_was_dropped_is_told() {
    let (store, tables) = (store(), Tables::new(SPACE));
    let one = Seat::at(&store).await;
    let leader = leader(&one, Ledger::Memory(tables.clone()));
    one.opens("spring", 9).await;
    one.claims("ann").await;
    sleep(5 * SECOND).await;
    let backup = tables.kept();
    one.claims("bob").await;
    sleep(5 * SECOND).await;
    assert_eq!(one.node.replica.look(State::settled), 2);
    let is_behind = async || {
        while !leader.standing().trouble.is_some_and(|why| why.starts_with("ledger_behind")) {
            sleep(SECOND).await;
        }
    };
    assert!(timeout(20 * SECOND, is_behind()).await.is_err(), "there is nothing to be told yet");
    let whole = tables.kept();
    tables.restore(&backup);
    timeout(20 * SECOND, is_behind()).await.unwrap();
    assert_eq!(tables.kept().results().count(), 1, "nobody has the one between");
    assert_eq!(one.claims("cem").await, 3, "claims go on");
    // A newer copy ends it.
    tables.restore(&whole);
    sleep(20 * SECOND).await;
    assert_eq!(tables.kept().results().count(), 3);
    assert_eq!(leader.standing().trouble, None);
}
