//! Somebody else comes in between two steps of one call.

use crate::sharing::announcement;
use crate::skips::skip;
use crate::world::{Hands, MINUTE, Player, SPACE, all, install, node};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use firstcome_journal::cluster::Seed;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Confirm, Journal, JournalError, Name};
use firstcome_virtual::distant::{self, Carried, JournalCall, ServerWork, Way};
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// What somebody else does.
type Action = Box<dyn FnOnce(Journal) -> Carried<()> + Send>;

/// A way on which somebody else comes first, once, before a call of one kind.
struct Between {
    memory: Memory,
    before: JournalCall,
    actions: Mutex<Vec<Action>>,
}

impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before {:?}", self.before)
    }
}

impl Way for Between {
    fn carry(&self, call: JournalCall, work: ServerWork) -> Carried<Result<Confirm, JournalError>> {
        let memory = self.memory.clone();
        let comes = call == self.before;
        let action = if comes { self.actions.lock().unwrap().pop() } else { None };
        Box::pin(async move {
            if let Some(action) = action {
                action(Journal::Memory(memory.clone())).await;
            }
            work(memory).await;
            Ok(Confirm::AtOnce)
        })
    }

    fn incarnations(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    fn undelivered(&self) -> usize {
        0
    }

    fn confirms_at_once(&self) -> bool {
        true
    }
}

struct Scene {
    hands: Hands,
    there: Journal,
    memory: Memory,
    term: u64,
}

impl Scene {
    async fn with_entries(count: u64) -> Self {
        let hands = Hands::new();
        let memory = Memory::new(SPACE, hands.clock()).for_several();
        let there = Journal::Memory(memory.clone());
        let mut ann = Player::new(b'a');
        for _ in 0..count {
            ann.claims(&there, "ann").await.unwrap();
        }
        let term = there.mint_term().await.unwrap();
        Self { hands, there, memory, term }
    }

    /// The journal as a caller reaches it who is interrupted before each call of a kind.
    fn interrupted<const N: usize>(&self, before: JournalCall, actions: [Action; N]) -> Journal {
        let (memory, actions) =
            (self.memory.clone(), Mutex::new(actions.into_iter().rev().collect()));
        distant::over(Arc::new(Between { memory, before, actions }))
    }

    async fn has(&self, piece: u8) -> bool {
        self.there.piece(PieceName::of(&[piece; 100])).await.unwrap().is_some()
    }
}

/// Stores pieces and installs a snapshot that names them.
async fn snapshot(journal: &Journal, position: u64, pieces: &[u8], term: u64) {
    let mut names = Vec::new();
    for piece in pieces {
        let bytes = vec![*piece; 100];
        names.push(PieceName::of(&bytes));
        journal.put_piece(PieceName::of(&bytes), bytes).await.unwrap();
    }
    install(journal, position, vec![position as u8], names, term).await.unwrap();
}

fn installs(position: u64, pieces: &'static [u8], term: u64) -> Action {
    Box::new(move |there| Box::pin(async move { snapshot(&there, position, pieces, term).await }))
}

#[tokio::test]
async fn a_snapshot_that_others_install_meanwhile_is_kept_with_its_pieces() {
    let scene = Scene::with_entries(9).await;
    let term = scene.term;
    snapshot(&scene.there, 2, &[1, 2], term).await;
    snapshot(&scene.there, 4, &[2, 3], term).await;
    let others = [installs(8, &[3, 8], term), installs(8, &[8, 9], term)];
    let journal = scene.interrupted(JournalCall::Install, others);
    snapshot(&journal, 6, &[2, 6], term).await;
    // At 8 and 6: with the snapshots that it had seen, 4 and 2 would be kept, or 8 with the pieces of before.
    assert_eq!(scene.there.newest_snapshot().await.unwrap(), Some(vec![8]));
    scene.hands.turn(60 * MINUTE);
    assert_eq!(scene.there.trim(term).await.unwrap(), 7);
    for (piece, named) in [(1, false), (2, true), (3, false), (6, true), (8, true), (9, true)] {
        assert_eq!(scene.has(piece).await, named, "{piece}");
    }
}

#[tokio::test]
async fn others_that_never_stop_are_told_of() {
    let scene = Scene::with_entries(20).await;
    let term = scene.term;
    let others = [10, 11, 12, 13, 14].map(|position| installs(position, &[], term));
    let journal = scene.interrupted(JournalCall::Install, others);
    let failure = install(&journal, 5, vec![5], Vec::new(), term).await.unwrap_err();
    assert!(matches!(failure, JournalError::Moved { head: 20, .. }), "{failure}");
    assert_eq!(scene.there.newest_snapshot().await.unwrap(), Some(vec![14]));
}

#[tokio::test]
async fn an_entry_that_a_node_applies_meanwhile_is_not_skipped() {
    let scene = Scene::with_entries(5).await;
    let applies: Action = Box::new(|there| {
        Box::pin(async move {
            there.announce(announcement(b'b', 5), 1).await.unwrap();
        })
    });
    let journal = scene.interrupted(JournalCall::Skip, [applies]);
    let failure = journal.skip(skip(5, b'a', 5)).await.unwrap_err();
    assert!(matches!(failure, JournalError::Applied { position: 5, .. }), "{failure}");
    assert_eq!(scene.there.skips().await.unwrap(), []);
}

#[tokio::test]
async fn an_entry_that_a_snapshot_covers_meanwhile_is_not_skipped() {
    let scene = Scene::with_entries(5).await;
    let journal = scene.interrupted(JournalCall::Skip, [installs(5, &[], scene.term)]);
    let failure = journal.skip(skip(5, b'a', 5)).await.unwrap_err();
    assert!(matches!(failure, JournalError::Applied { position: 5, .. }), "{failure}");
    assert_eq!(scene.there.skips().await.unwrap(), []);
}

#[tokio::test]
async fn a_journal_that_was_seeded_meanwhile_is_not_trimmed() {
    let scene = Scene::with_entries(20).await;
    snapshot(&scene.there, 10, &[], scene.term).await;
    snapshot(&scene.there, 15, &[], scene.term).await;
    scene.hands.turn(60 * MINUTE);
    let entries = all(&scene.there, 0).await;
    let seeds: Action = Box::new(move |there| {
        Box::pin(async move {
            let (shared, seen) = (&there, there.head().await.unwrap());
            let (name, at) = (entries[1].name().unwrap(), entries[1].at);
            let (manifest, pieces) = (b"seed".to_vec(), Vec::new());
            let seed = Seed { position: 2, name, at, epoch: 0, level: 1, manifest, pieces };
            shared.reseed(Some(seen), seed).await.unwrap();
            shared.put_back(2, name, entries[2..].to_vec()).await.unwrap();
        })
    });
    let journal = scene.interrupted(JournalCall::Trim, [seeds]);
    journal.trim(scene.term).await.unwrap();
    assert_eq!(all(&scene.there, 2).await.len(), 18, "the snapshot at 2 covers none of them");
}

#[tokio::test]
async fn a_seed_is_refused_where_a_snapshot_came_meanwhile() {
    let scene = Scene::with_entries(3).await;
    let journal = scene.interrupted(JournalCall::Reseed, [installs(3, &[7], scene.term)]);
    let seen = scene.there.head().await.unwrap();
    let seed = Seed {
        position: 10,
        name: Name { node: node(b'z'), number: 1 },
        at: Timestamp::from_micros(seen.at.as_micros()),
        epoch: 0,
        level: 1,
        manifest: Vec::new(),
        pieces: Vec::new(),
    };
    let failure = journal.reseed(Some(seen), seed).await.unwrap_err();
    assert!(matches!(failure, JournalError::Moved { head: 3, .. }), "{failure}");
    assert_eq!(all(&scene.there, 0).await.len(), 3);
}

#[tokio::test]
async fn a_node_that_comes_back_meanwhile_is_not_forgotten() {
    let scene = Scene::with_entries(1).await;
    let shared = &scene.there;
    shared.announce(announcement(b'b', 1), 1).await.unwrap();
    scene.hands.turn(24 * 60 * MINUTE);
    let comes_back: Action = Box::new(|there| {
        Box::pin(async move {
            there.announce(announcement(b'b', 1), 1).await.unwrap();
        })
    });
    let journal = scene.interrupted(JournalCall::Leave, [comes_back]);
    let roll = journal.announce(announcement(b'c', 1), 1).await.unwrap();
    assert_eq!((roll.nodes.len(), roll.gone.len()), (1, 0), "it was not back then");
    let roll = shared.announce(announcement(b'c', 1), 1).await.unwrap();
    assert_eq!(roll.nodes.len(), 2);
}
