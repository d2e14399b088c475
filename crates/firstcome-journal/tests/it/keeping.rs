//! A journal in memory goes on with what was kept of it, and says when it has no room.

use crate::sharing::announcement;
use crate::world::{Hands, Player, SPACE, all, install, name_of, node};
use firstcome_core::names::PieceName;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Entry, Journal, JournalError};

fn shared() -> (Memory, Journal) {
    let memory = Memory::new(SPACE, Hands::new().clock()).for_several();
    (memory.clone(), Journal::Memory(memory))
}

async fn claims(journal: &Journal, who: &mut Player, times: u64) -> Vec<Entry> {
    for _ in 0..times {
        who.claims(journal, "someone").await.unwrap();
    }
    all(journal, 0).await
}

#[tokio::test]
async fn it_goes_on_with_what_was_kept_and_not_with_what_came_since() {
    let ((memory, journal), mut ann) = (shared(), Player::new(b'a'));
    let three = claims(&journal, &mut ann, 3).await;
    let (kept, then) = (memory.kept(), ann.clone());
    claims(&journal, &mut ann, 2).await;
    let mut incarnations = journal.incarnations();
    incarnations.borrow_and_update();
    memory.restore(&kept);
    assert!(incarnations.has_changed().unwrap(), "whoever uses it must find out");
    assert_eq!(all(&journal, 0).await, three);
    assert_eq!(journal.head().await.unwrap().name, name_of(&three[2]));
    let failure = ann.claims(&journal, "six").await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 3, applied: 5 }), "{failure}");
    // What is written since is no part of what was kept.
    claims(&journal, &mut then.clone(), 1).await;
    memory.restore(&kept);
    assert_eq!(all(&journal, 0).await, three);
    assert_eq!(claims(&journal, &mut then.clone(), 1).await.len(), 4);
}

#[tokio::test]
async fn everything_is_kept_and_another_one_may_go_on_with_it() {
    let ((memory, journal), mut ann) = (shared(), Player::new(b'a'));
    claims(&journal, &mut ann, 4).await;
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes.clone()).await.unwrap();
    let term = journal.mint_term().await.unwrap();
    install(&journal, 3, b"a manifest".to_vec(), vec![name], term).await.unwrap();
    let there = &journal;
    there.announce(announcement(b'a', 4), 1).await.unwrap();
    there.raise_epoch(journal.head().await.unwrap()).await.unwrap();
    there.report(1, node(b'a'), "a report".into()).await.unwrap();
    let (kept, entries) = (memory.kept(), all(&journal, 0).await);
    memory.empty();
    assert!(matches!(journal.head().await, Err(JournalError::Gone(_))));

    let (copy, other) = shared();
    for (memory, journal) in [(memory, journal), (copy, other)] {
        memory.restore(&kept);
        assert_eq!(all(&journal, 0).await, entries);
        assert_eq!(journal.head().await.unwrap().epoch, 1);
        assert_eq!(journal.newest_snapshot().await.unwrap().unwrap(), b"a manifest");
        assert_eq!(journal.piece(name).await.unwrap(), Some(bytes.clone()));
        assert_eq!(journal.mint_term().await.unwrap(), term + 1);
        assert_eq!(journal.announce(announcement(b'b', 4), 1).await.unwrap().nodes.len(), 2);
        assert_eq!(journal.reports().await.unwrap(), [(1, node(b'a'), "a report".into())]);
        claims(&journal, &mut ann.clone(), 1).await;
    }
}

#[tokio::test]
async fn a_full_one_takes_snapshots_and_no_entries_until_there_is_room() {
    let ((memory, journal), mut ann) = (shared(), Player::new(b'a'));
    let before = claims(&journal, &mut ann, 2).await;
    memory.set_full(true);
    let mut full = ann.clone();
    let failure = full.claims(&journal, "three").await.unwrap_err();
    assert!(matches!(failure, JournalError::Full(_)), "{failure}");
    assert_eq!(all(&journal, 0).await, before);
    // Whoever is wrong about the journal hears that first: waiting for room would not help.
    let mut ahead = Player { applied: 9, ..ann.clone() };
    let failure = ahead.claims(&journal, "ten").await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 2, applied: 9 }), "{failure}");
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes).await.unwrap();
    let term = journal.mint_term().await.unwrap();
    install(&journal, 2, b"a manifest".to_vec(), vec![name], term).await.unwrap();
    assert_eq!(journal.newest_snapshot().await.unwrap().unwrap(), b"a manifest");
    memory.set_full(false);
    assert_eq!(claims(&journal, &mut ann, 1).await.len(), 3);
}
