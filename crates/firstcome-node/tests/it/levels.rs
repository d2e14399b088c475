//! Spaces that are raised to a level that tests invent: builds here read one more than there is.

use crate::several::{Seat, agree, at, places, store};
use firstcome_core::command::{Body, BodyWriter, Late, Order, Pick, Step, level_of};
use firstcome_core::{Command, Expect, LEVEL, NodeId, Outcome, State};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_inject::{Mistake, invent_level, set};
use firstcome_journal::cluster::NodeStatus;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Journal, Name};
use firstcome_node::CommandError;
use firstcome_node::raise::CannotRaise;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// The level that is invented.
const NEXT: u32 = LEVEL + 1;

/// A store of a space that was made before there was that level.
fn older() -> Memory {
    invent_level(true);
    store()
}

async fn levels(store: &Memory) -> Vec<u32> {
    let entries = Journal::Memory(store.clone()).read(0).await.unwrap().entries;
    entries.iter().map(|entry| level_of(&entry.body).unwrap()).collect()
}

async fn head_level(store: &Memory) -> u32 {
    Journal::Memory(store.clone()).head().await.unwrap().level
}

fn level(seat: &Seat) -> u32 {
    seat.node.replica.look(State::level)
}

#[tokio::test(start_paused = true)]
async fn a_new_space_begins_at_the_newest_level() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    assert_eq!((levels(&store).await, level(&one)), (vec![LEVEL], LEVEL));
}

#[tokio::test(start_paused = true)]
async fn an_older_space_is_written_at_its_level_until_it_is_raised() {
    let store = older();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 9).await;
    one.claims("ann").await;
    sleep(2 * SECOND).await;
    assert!(levels(&store).await.iter().all(|level| *level == 1));
    // The only command of that level there is.
    let needs_it = Command::Raise { level: NEXT, who: "ops" };
    let said = one.node.intake.decide(&needs_it).await;
    assert_eq!(said.unwrap_err(), CommandError::LevelTooLow { level: LEVEL, needed: NEXT });
    let claimed = levels(&store).await.len();
    let said = two.node.intake.raise_level("ops").await.unwrap();
    assert_eq!(said.outcome, Outcome::Raised { level: NEXT });
    // The other one may not have heard of it yet, and asks before it says no.
    let said = one.node.intake.decide(&needs_it).await.unwrap();
    assert_eq!(said.outcome, Outcome::Raised { level: NEXT });
    assert!(levels(&store).await[claimed..].contains(&NEXT));
    assert_eq!((level(&one), level(&two)), (NEXT, NEXT));
    sleep(2 * SECOND).await;
    assert_eq!(head_level(&store).await, NEXT, "it follows with the next heartbeat");
    let three = Seat::at(&store).await;
    assert_eq!(three.position(), one.position());
    assert_eq!(
        three.node.replica.look(|state| (state.digest(), state.level())),
        one.node.replica.look(|state| (state.digest(), state.level()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_space_is_not_raised_over_a_server_that_reads_less() {
    let store = older();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    let older = NodeStatus {
        node: NodeId([0xee; 16]),
        position: 1,
        durable: 1,
        epoch: 0,
        digest: one.node.replica.look(State::digest),
        level: 1,
        memory: u64::MAX,
        since: at(0),
        address: "http://10.0.0.9:8080".into(),
        words: "".into(),
    };
    let shared = Journal::Memory(store.clone());
    shared.announce(older, 1).await.unwrap();
    sleep(2 * SECOND).await;
    let refused = one.node.intake.raise_level("ops").await.unwrap_err();
    let CannotRaise::ServerReadsLess { address, level: 1 } = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(&**address, "http://10.0.0.9:8080");
    assert_eq!((level(&one), head_level(&store).await), (1, 1));
    set(Some(Mistake::RaiseUnread));
    let raised = one.node.intake.raise_level("ops").await;
    set(None);
    assert!(raised.is_ok(), "with the protection off it is raised all the same");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_gone_for_ten_seconds_holds_nothing_up() {
    let store = older();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 9).await;
    two.node.stop().await.unwrap();
    sleep(12 * SECOND).await;
    one.node.intake.raise_level("ops").await.unwrap();
    assert_eq!(level(&one), NEXT);
}

#[tokio::test(start_paused = true)]
async fn a_raise_survives_a_fork() {
    let store = older();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 9).await;
    one.claims("ann").await;
    two.reaches(2).await;
    let before = one.position().position;
    one.node.intake.raise_level("ops").await.unwrap();
    let raised = one.position().position;
    two.reaches(raised).await;
    // The copy that takes over had only what came before, and somebody wrote to it.
    let stranger = NodeId([9; 16]);
    let mut body = BodyWriter::at_level(1, stranger, 1, 0);
    assert!(body.push(&Command::claim("spring", None, "zed")));
    store.fork(before, [(Name { node: stranger, number: 1 }, body.finish())]);
    sleep(20 * SECOND).await;
    agree(&[&one, &two]).await;
    assert_eq!((level(&one), level(&two)), (NEXT, NEXT));
    assert_eq!(two.claims("eve").await, 3);
    agree(&[&one, &two]).await;
    let three = Seat::at(&store).await;
    assert_eq!(level(&three), NEXT, "it stands in the journal");
}

#[tokio::test(start_paused = true)]
async fn a_raise_whose_caller_gave_up_before_it_was_sent_leaves_the_space_as_it_is() {
    let store = older();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    // The raise and ann's claim get into one batch. The store may have lost something and does not tell: the operator gives
    // up before it can be sent, and ann waits on.
    let raises = timeout(SECOND, one.node.intake.raise_level("ops"));
    let store_stands_still = async {
        for n in 1..=1_000 {
            one.journal.fault(JournalCall::Head, n, Fault::Refuse);
        }
        store.lose_tail(0);
        sleep(2 * SECOND).await;
        one.journal.mend();
    };
    let (raised, ann, ()) = tokio::join!(raises, one.tries("ann", None), store_stands_still);
    assert!(raised.is_err(), "{raised:?}");
    assert_eq!(ann.unwrap().outcome.as_str(), "won");
    sleep(2 * SECOND).await;
    assert!(levels(&store).await.iter().all(|level| *level == 1), "{:?}", levels(&store).await);
    assert_eq!((level(&one), head_level(&store).await), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_seeded_anew_is_at_the_level_of_the_space_not_of_the_build() {
    let store = older();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    store.empty();
    assert!(one.tries("ann", None).await.is_err());
    one.node.reseed();
    sleep(20 * SECOND).await;
    assert_eq!(head_level(&store).await, 1);
    assert_eq!((one.claims("ann").await, level(&one)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn bodies_at_the_level_of_the_build_are_noticed() {
    let store = older();
    let one = Seat::at(&store).await;
    set(Some(Mistake::LevelOfBuild));
    one.opens("spring", 9).await;
    set(None);
    assert_eq!(levels(&store).await, [NEXT], "an older build stops there though nobody raised it");
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_is_asked_for_again_by_its_id_is_the_first_one() {
    let store = store();
    let one = Seat::at(&store).await;
    let settings = places(9);
    let order = Order { id: None, who: "ops" };
    let put = Command::Put { campaign: "spring", settings, expect: Expect::Absent, order };
    one.node.intake.decide(&put).await.unwrap();
    let picks = vec![Pick::quantity("main", 1)];
    let hold = Command::Hold { campaign: "spring", id: "h1", subject: "ann", picks, limit: None };
    one.node.intake.decide(&hold).await.unwrap();
    let step = Step { campaign: "spring", hold: "h1", subject: "ann", id: Some("e1") };
    let extend = Command::Extend { step, by_us: Some(600_000_000) };
    let mut said = Vec::new();
    for _ in 0..2 {
        sleep(SECOND).await;
        said.push(one.node.intake.decide(&extend).await.unwrap().outcome);
    }
    assert_eq!(said[0], said[1]);
    let step = Step { id: None, ..step };
    let confirm = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
    assert_eq!(one.node.intake.decide(&confirm).await.unwrap().outcome.as_str(), "confirmed");
    let body = Journal::Memory(store.clone()).read(0).await.unwrap().entries.pop().unwrap().body;
    assert_eq!(Body::open(&body).unwrap().head.level, LEVEL);
}
