//! The faulty journal does what it is told, and a node that sends again loses and doubles nothing.

use crate::world::{Hands, Player, SPACE, all, name_of, subject_of};
use firstcome_core::command::{Body, Command};
use firstcome_core::names::NodeId;
use firstcome_faults::faulty::{Fault, Faulty, JournalCall};
use firstcome_journal::memory::Memory;
use firstcome_journal::{Entry, Journal, JournalError, Name};
use std::collections::BTreeMap;

fn faulty() -> (Faulty, Memory, Journal) {
    let memory = Memory::new(SPACE, Hands::new().clock());
    let faulty = Faulty::new(Journal::Memory(memory.clone()));
    (faulty.clone(), memory, faulty.journal())
}

/// Subjects in order, copies left out as the rules leave them out: by the number of the batch.
fn accepted(entries: &[Entry], look_at_numbers: bool) -> Vec<String> {
    let mut last: BTreeMap<NodeId, u64> = BTreeMap::new();
    let is_new = |entry: &&Entry| {
        let Name { node, number } = name_of(entry);
        let known = last.insert(node, number).unwrap_or(0);
        !look_at_numbers || number > known
    };
    entries.iter().filter(is_new).map(subject_of).collect()
}

/// Sends one batch until it comes back, as a node does.
async fn send(journal: &Journal, ann: &mut Player, subject: &str) {
    let mut append = ann.next(subject);
    for _ in 0..10 {
        append.applied = ann.applied;
        append.applied_name = ann.applied_name;
        match journal.append(append.clone()).await {
            Ok(exchange) => ann.apply(&exchange.entries),
            Err(JournalError::Unknown(_) | JournalError::Unavailable(_)) => {}
            Err(other) => panic!("{other}"),
        }
        let seen = ann.applied_name.node == ann.node && ann.applied_name.number >= ann.number;
        if seen {
            return;
        }
    }
    panic!("{subject} never came back");
}

#[tokio::test]
async fn each_fault_does_what_it_says() {
    let cases = [
        (Fault::Refuse, 0, false),
        (Fault::Full, 0, false),
        (Fault::LessDurable, 0, false),
        (Fault::LoseCall, 0, true),
        (Fault::LoseAnswer, 1, true),
        (Fault::DeliverLate, 0, true),
    ];
    for (fault, stored, unknown) in cases {
        let (faulty, memory, journal) = faulty();
        faulty.fault(JournalCall::Append, 1, fault);
        let failure = Player::new(b'a').claims(&journal, "ann").await.unwrap_err();
        assert_eq!(matches!(failure, JournalError::Unknown(_)), unknown, "{fault:?}: {failure}");
        assert_eq!(all(&Journal::Memory(memory), 0).await.len(), stored, "{fault:?}");
        Player::new(b'b').claims(&journal, "bob").await.unwrap();
        let late = usize::from(fault == Fault::DeliverLate);
        assert_eq!(all(faulty.truth(), 0).await.len(), stored + 1 + late, "{fault:?}");
        assert_eq!(faulty.appends(), 2);
    }
}

#[tokio::test]
async fn faults_come_up_at_their_number() {
    let (faulty, _, journal) = faulty();
    faulty.lose_call(2);
    faulty.lose_answer(4);
    let mut ann = Player::new(b'a');
    let mut went_wrong = Vec::new();
    for number in 1..=5 {
        let append = ann.next("ann");
        match journal.append(append).await {
            Ok(exchange) => ann.apply(&exchange.entries),
            Err(_) => went_wrong.push(number),
        }
    }
    assert_eq!(went_wrong, [2, 4]);
    assert_eq!(all(&journal, 0).await.len(), 4);
    faulty.fault(JournalCall::Head, 1, Fault::Refuse);
    assert!(journal.head().await.is_err());
    assert!(journal.head().await.is_ok());
    faulty.always(Fault::Full);
    assert!(matches!(journal.mint_term().await, Err(JournalError::Full(_))));
    assert!(matches!(journal.read(0).await, Err(JournalError::Full(_))));
    faulty.mend();
    assert_eq!(journal.mint_term().await.unwrap(), 1);
}

#[tokio::test]
async fn a_batch_sent_until_it_comes_back_counts_once() {
    let faults: [fn(&Faulty); 5] = [
        |faulty| faulty.lose_call(1),
        |faulty| faulty.lose_answer(1),
        |faulty| faulty.deliver_late(1),
        |faulty| {
            faulty.lose_answer(1);
            faulty.lose_answer(2);
            faulty.deliver_late(3);
        },
        |faulty| faulty.deliver_late(2),
    ];
    let mut doubled = 0;
    for set in faults {
        let (faulty, _, journal) = faulty();
        let mut ann = Player::new(b'a');
        send(&journal, &mut ann, "first").await;
        set(&faulty);
        for subject in ["second", "third"] {
            send(&journal, &mut ann, subject).await;
        }
        // Whatever is still on its way arrives with this.
        Player::new(b'z').claims(&journal, "last").await.unwrap();
        let entries = all(&journal, 0).await;
        assert_eq!(accepted(&entries, true), ["first", "second", "third", "last"]);
        doubled += usize::from(accepted(&entries, false).len() > 4);
    }
    assert!(doubled >= 3, "the twin that does not look at numbers counts some twice: {doubled}");
}

/// The twin: a node that takes a lost answer for a no, and asks again under a new number.
#[tokio::test]
async fn twin_a_node_that_takes_unknown_for_no_doubles() {
    let (faulty, _, journal) = faulty();
    let mut ann = Player::new(b'a');
    faulty.lose_answer(1);
    assert!(ann.claims(&journal, "ann").await.is_err());
    ann.claims(&journal, "ann").await.unwrap();
    assert_eq!(accepted(&all(&journal, 0).await, true), ["ann", "ann"]);
}

#[tokio::test]
async fn a_late_copy_arrives_after_a_later_batch() {
    let (faulty, _, journal) = faulty();
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    faulty.deliver_late(1);
    assert!(ann.claims(&journal, "ann").await.is_err());
    assert_eq!(all(&journal, 0).await, [], "absent now");
    bob.claims(&journal, "bob").await.unwrap();
    assert_eq!(accepted(&all(&journal, 0).await, true), ["bob", "ann"], "but not later");
}

#[tokio::test]
async fn a_lost_tail_is_noticed_by_whoever_applied_it() {
    let (_, memory, journal) = faulty();
    let mut ann = Player::new(b'a');
    for subject in ["one", "two", "three"] {
        ann.claims(&journal, subject).await.unwrap();
    }
    memory.lose_tail(1);
    let failure = ann.claims(&journal, "four").await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 1, applied: 3 }), "{failure}");
    let others = ["x", "y", "z"].iter().enumerate().map(|(place, subject)| {
        let name = Name { node: crate::world::node(b'o'), number: place as u64 + 1 };
        (name, crate::world::body(name, subject))
    });
    memory.fork(1, others);
    let failure = ann.claims(&journal, "four").await.unwrap_err();
    let JournalError::Forked { position: 3, found, applied } = failure else { panic!("{failure}") };
    assert_eq!((found.node, applied.node), (crate::world::node(b'o'), ann.node));
    assert_eq!(all(&journal, 0).await.len(), 4);
}

#[tokio::test]
async fn a_held_call_goes_on_when_let_go() {
    let (faulty, memory, journal) = faulty();
    faulty.hold();
    let held = tokio::spawn(async move { Player::new(b'a').claims(&journal, "ann").await });
    faulty.asked(1).await;
    assert_eq!(all(&Journal::Memory(memory.clone()), 0).await, []);
    assert!(!held.is_finished());
    faulty.let_go();
    held.await.unwrap().unwrap();
    assert_eq!(all(&Journal::Memory(memory), 0).await.len(), 1);
}

#[tokio::test]
async fn a_call_that_is_given_up_may_still_happen() {
    let scratch = crate::world::Scratch::new();
    let sqlite = crate::world::open(&scratch.data(), &Hands::new());
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    let append = ann.next("ann");
    {
        let mut given_up = std::pin::pin!(journal.append(append));
        // It may be over already: what counts is that nobody waits for the answer.
        std::future::poll_fn(|context| {
            drop(given_up.as_mut().poll(context));
            std::task::Poll::Ready(())
        })
        .await;
    }
    let happens = async {
        while journal.head().await.unwrap().position == 0 {
            tokio::task::yield_now().await;
        }
    };
    let happened = tokio::time::timeout(std::time::Duration::from_secs(60), happens).await;
    assert!(happened.is_ok(), "it was queued, so it happens");
    let entries = all(&journal, 0).await;
    let body = Body::open(&entries[0].body).unwrap();
    assert!(matches!(body.commands().unwrap()[0], Command::Claim { subject: "ann", .. }));
    sqlite.close().await;
}

/// The queue in front of the writer is bounded, and a full one is an answer.
#[tokio::test]
async fn a_full_queue_is_an_answer() {
    use std::sync::mpsc;
    let scratch = crate::world::Scratch::new();
    let (go, wait) = mpsc::channel::<()>();
    let (reached, reaches) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(Some((reached, wait)));
    // The clock is read by the writer's thread: it stands still there until let go.
    let clock = firstcome_journal::Clock::of(move || {
        if let Some((reached, wait)) = gate.lock().unwrap().take() {
            reached.send(()).unwrap();
            wait.recv().unwrap();
        }
        crate::world::NOON
    });
    let options = firstcome_journal::sqlite::Options {
        clock,
        queue: 2,
        ..firstcome_journal::sqlite::Options::new(SPACE)
    };
    let folder = firstcome_journal::folder::DataFolder::take(scratch.data()).unwrap();
    let sqlite = firstcome_journal::sqlite::Sqlite::open(&folder, options).unwrap();
    let journal = Journal::Sqlite(sqlite.clone());
    let first = tokio::spawn({
        let journal = journal.clone();
        async move { journal.head().await }
    });
    tokio::task::yield_now().await;
    reaches.recv().unwrap();
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.head().await })
        })
        .collect();
    tokio::task::yield_now().await;
    let failure = journal.head().await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    go.send(()).unwrap();
    first.await.unwrap().unwrap();
    for call in waiting {
        call.await.unwrap().unwrap();
    }
    journal.head().await.unwrap();
    sqlite.close().await;
}
