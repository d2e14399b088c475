//! What every store must do.

use crate::world::{MINUTE, NOON, Player, SPACE, Stage, all, install, name_of, node, subject_of};
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::PieceName;
use firstcome_core::{LEVEL, Timestamp};
use firstcome_journal::{JournalError, Looked, Name};
use tokio::time::Instant;

pub(crate) async fn a_new_journal_is_empty(stage: &Stage) {
    let head = stage.journal.head().await.unwrap();
    assert_eq!((head.space, head.level, head.epoch), (SPACE, LEVEL, 0));
    assert_eq!((head.position, head.name, head.first), (0, Name::default(), 1));
    assert_eq!(head.now, Timestamp::from_micros(NOON));
    assert_eq!(stage.journal.read(0).await.unwrap().entries, []);
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), None);
    assert_eq!(stage.journal.piece(PieceName([1; 16])).await.unwrap(), None);
}

pub(crate) async fn an_append_comes_back_with_what_was_missed(stage: &Stage) {
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    let exchange = ann.claims(&stage.journal, "ann").await.unwrap();
    assert_eq!(exchange.entries.len(), 1);
    ann.claims(&stage.journal, "ann2").await.unwrap();
    let exchange = bob.claims(&stage.journal, "bob").await.unwrap();
    let subjects: Vec<_> = exchange.entries.iter().map(subject_of).collect();
    assert_eq!(subjects, ["ann", "ann2", "bob"]);
    assert_eq!(exchange.entries, stage.journal.read(0).await.unwrap().entries);
    assert_eq!(exchange.entries[1..], stage.journal.read(1).await.unwrap().entries);
    let head = stage.journal.head().await.unwrap();
    assert_eq!((head.position, head.name), (3, bob.applied_name));
}

pub(crate) async fn entries_form_a_chain(stage: &Stage) {
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for round in 0..5 {
        ann.claims(&stage.journal, &format!("ann{round}")).await.unwrap();
        bob.claims(&stage.journal, &format!("bob{round}")).await.unwrap();
    }
    let mut before = Name::default();
    for (place, entry) in all(&stage.journal, 0).await.iter().enumerate() {
        assert_eq!((entry.position, entry.before), (place as u64 + 1, before));
        before = name_of(entry);
    }
}

pub(crate) async fn a_caller_ahead_of_the_journal_is_told_and_nothing_is_stored(stage: &Stage) {
    let mut ann = Player::new(b'a');
    ann.claims(&stage.journal, "ann").await.unwrap();
    ann.applied = 5;
    let failure = ann.claims(&stage.journal, "ann").await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 1, applied: 5 }), "{failure}");
    assert_eq!(stage.journal.head().await.unwrap().position, 1);
}

pub(crate) async fn a_caller_on_another_branch_is_told_and_nothing_is_stored(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for subject in ["one", "two", "three"] {
        ann.claims(&stage.journal, subject).await.unwrap();
    }
    for position in [0, 2, 3] {
        let wrong = Name { node: ann.node, number: 77 };
        let mut lost = Player { applied: position, applied_name: wrong, ..ann.clone() };
        let failure = lost.claims(&stage.journal, "lost").await.unwrap_err();
        let right = Name { node: ann.node, number: position };
        let right = if position == 0 { Name::default() } else { right };
        let JournalError::Forked { position: at, found, applied } = failure else {
            panic!("{failure}");
        };
        assert_eq!((at, found, applied), (position, right, wrong));
    }
    assert_eq!(stage.journal.head().await.unwrap().position, 3);
}

pub(crate) async fn a_caller_is_compared_by_name_however_far_behind(stage: &Stage) {
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for _ in 0..50 {
        ann.claims(&stage.journal, "ann").await.unwrap();
        bob.applied = ann.applied;
        bob.applied_name = ann.applied_name;
        bob.claims(&stage.journal, "bob").await.unwrap();
        ann.applied = bob.applied;
        ann.applied_name = bob.applied_name;
    }
    every_position_is_compared(stage).await;
}

/// Rests appends on each position: with another name than it has they are refused, with its own they are taken.
pub(crate) async fn every_position_is_compared(stage: &Stage) {
    let entries = all(&stage.journal, 0).await;
    let names: Vec<_> =
        std::iter::once(Name::default()).chain(entries.iter().map(name_of)).collect();
    for (position, right) in names.iter().enumerate() {
        let wrong = Name { number: right.number + 1_000, ..*right };
        let position = position as u64;
        let mut eve = Player { applied: position, applied_name: wrong, ..Player::new(b'e') };
        let failure = eve.claims(&stage.journal, "eve").await.unwrap_err();
        let is_told = matches!(&failure, JournalError::Forked { position: at, found, .. }
            if *at == position && found == right);
        assert!(is_told, "{position}: {failure}");
    }
    assert_eq!(stage.journal.head().await.unwrap().position, entries.len() as u64);
    for (position, right) in names.into_iter().enumerate() {
        let position = position as u64;
        let mut eve = Player { applied: position, applied_name: right, ..Player::new(b'e') };
        eve.claims(&stage.journal, "eve").await.unwrap();
    }
}

pub(crate) async fn the_same_body_twice_is_stored_twice(stage: &Stage) {
    let mut ann = Player::new(b'a');
    let append = ann.next("ann");
    stage.journal.append(append.clone()).await.unwrap();
    let exchange = stage.journal.append(append).await.unwrap();
    let [first, second] = &exchange.entries[..] else { panic!("{exchange:?}") };
    assert_eq!(first.body, second.body);
    assert_eq!(second.before, name_of(first));
    assert_eq!(name_of(second), name_of(first));
}

pub(crate) async fn a_long_gap_comes_back_in_parts(stage: &Stage) {
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for number in 0..READ_ENTRIES + 10 {
        ann.claims(&stage.journal, &format!("ann{number}")).await.unwrap();
    }
    let exchange = bob.claims(&stage.journal, "bob").await.unwrap();
    assert_eq!(exchange.entries.len(), READ_ENTRIES);
    assert_eq!(stage.journal.read(0).await.unwrap().entries.len(), READ_ENTRIES);
    let rest = stage.journal.read(bob.applied).await.unwrap().entries;
    bob.apply(&rest);
    assert_eq!(rest.len(), 11);
    assert_eq!(subject_of(&rest[10]), "bob");
    assert_eq!(stage.journal.read(bob.applied).await.unwrap().entries, []);
    assert_eq!(stage.journal.read(bob.applied + 1_000).await.unwrap().entries, []);
}

pub(crate) async fn a_read_says_how_far_the_store_had_looked(stage: &Stage) {
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    let looked = async |after| stage.journal.read(after).await.unwrap().looked;
    let begun = Instant::now();
    let ends_at = |looked, end| {
        let Looked::ToEnd { position, as_of } = looked else { return false };
        position == end && (begun..=Instant::now()).contains(&as_of)
    };
    assert!(ends_at(looked(0).await, 0));
    for number in 1..=READ_ENTRIES as u64 {
        let exchange = ann.claims(&stage.journal, &format!("ann{number}")).await.unwrap();
        assert!(ends_at(exchange.looked, number), "{exchange:?}");
    }
    let end = READ_ENTRIES as u64 + 1;
    // There are as many as come at once, and one more.
    assert_eq!(bob.claims(&stage.journal, "bob").await.unwrap().looked, Looked::More);
    assert_eq!(looked(0).await, Looked::More);
    assert!(ends_at(looked(end - 1).await, end) && ends_at(looked(end).await, end));
    assert_eq!(looked(end + 1).await, Looked::Partly, "it has less than whoever asks");
}

pub(crate) async fn time_never_goes_back(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for turn in [0, -MINUTE, -MINUTE, 10 * MINUTE, -30 * MINUTE, 1] {
        stage.hands.turn(turn);
        ann.claims(&stage.journal, "ann").await.unwrap();
    }
    let times: Vec<_> = all(&stage.journal, 0).await.iter().map(|e| e.at.as_micros()).collect();
    let late = NOON + 8 * MINUTE;
    assert_eq!(times, [NOON, NOON, NOON, late, late, late]);
    let head = stage.journal.head().await.unwrap();
    assert_eq!(head.at.as_micros(), late);
    assert_eq!(head.now.as_micros(), NOON - 22 * MINUTE + 1, "the clock as it is");
}

pub(crate) async fn time_moves_on_with_the_clock(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for _ in 0..3 {
        ann.claims(&stage.journal, "ann").await.unwrap();
        stage.hands.turn(1);
    }
    let times: Vec<_> = all(&stage.journal, 0).await.iter().map(|e| e.at.as_micros()).collect();
    assert_eq!(times, [NOON, NOON + 1, NOON + 2]);
}

pub(crate) async fn a_snapshot_needs_its_pieces(stage: &Stage) {
    let mut ann = Player::new(b'a');
    ann.claims(&stage.journal, "ann").await.unwrap();
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    let term = stage.journal.mint_term().await.unwrap();
    let manifest = b"a manifest".to_vec();
    let install = || install(&stage.journal, 1, manifest.clone(), vec![name], term);
    let failure = install().await.unwrap_err();
    assert!(matches!(failure, JournalError::PieceMissing(missing) if missing == name), "{failure}");
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), None);
    for _ in 0..2 {
        stage.journal.put_piece(name, bytes.clone()).await.unwrap();
    }
    assert_eq!(stage.journal.piece(name).await.unwrap(), Some(bytes));
    for _ in 0..2 {
        install().await.unwrap();
    }
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), Some(manifest.clone()));
}

pub(crate) async fn the_newest_snapshot_is_the_one_furthest_on(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for _ in 0..5 {
        ann.claims(&stage.journal, "ann").await.unwrap();
    }
    let term = stage.journal.mint_term().await.unwrap();
    for position in [2, 5, 3] {
        let manifest = vec![position as u8];
        install(&stage.journal, position, manifest, Vec::new(), term).await.unwrap();
    }
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), Some(vec![5]));
    let failure = install(&stage.journal, 6, vec![6], Vec::new(), term).await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 5, applied: 6 }), "{failure}");
}

pub(crate) async fn an_old_term_neither_installs_nor_trims(stage: &Stage) {
    let mut ann = Player::new(b'a');
    ann.claims(&stage.journal, "ann").await.unwrap();
    let old = stage.journal.mint_term().await.unwrap();
    let new = stage.journal.mint_term().await.unwrap();
    assert_eq!(new, old + 1);
    let is_old = |failure: JournalError| {
        let expected = matches!(failure, JournalError::OldTerm { ours, theirs } if (ours, theirs) == (old, new));
        assert!(expected, "{failure}");
    };
    is_old(install(&stage.journal, 1, vec![1], Vec::new(), old).await.unwrap_err());
    is_old(stage.journal.trim(old).await.unwrap_err());
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), None);
    install(&stage.journal, 1, vec![1], Vec::new(), new).await.unwrap();
}

pub(crate) async fn what_nobody_covered_is_never_trimmed(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for _ in 0..10 {
        ann.claims(&stage.journal, "ann").await.unwrap();
    }
    stage.hands.turn(60 * MINUTE);
    let term = stage.journal.mint_term().await.unwrap();
    assert_eq!(stage.journal.trim(term).await.unwrap(), 1);
    install(&stage.journal, 8, vec![8], Vec::new(), term).await.unwrap();
    assert_eq!(stage.journal.trim(term).await.unwrap(), 1, "one snapshot alone covers nothing");
    assert_eq!(all(&stage.journal, 0).await.len(), 10);
}

/// Stores the pieces and installs a snapshot that names them.
async fn snapshot(stage: &Stage, position: u64, pieces: &[u8], term: u64) {
    let mut names = Vec::new();
    for piece in pieces {
        let bytes = vec![*piece; 1_000];
        names.push(PieceName::of(&bytes));
        stage.journal.put_piece(PieceName::of(&bytes), bytes).await.unwrap();
    }
    let manifest = position.to_le_bytes().to_vec();
    install(&stage.journal, position, manifest, names, term).await.unwrap();
}

pub(crate) async fn entries_that_two_snapshots_cover_go_after_ten_minutes(stage: &Stage) {
    let (mut ann, journal) = (Player::new(b'a'), &stage.journal);
    let term = journal.mint_term().await.unwrap();
    let trim = async || journal.trim(term).await.unwrap();
    for place in 0..20 {
        stage.hands.turn(if place == 10 { 5 * MINUTE } else { 0 });
        ann.claims(journal, "ann").await.unwrap();
    }
    snapshot(stage, 12, &[], term).await;
    stage.hands.turn(5 * MINUTE - 1);
    snapshot(stage, 18, &[], term).await;
    assert_eq!(trim().await, 1, "nothing is ten minutes old");
    stage.hands.turn(1);
    assert_eq!(trim().await, 11, "the first ten are");
    stage.hands.turn(60 * MINUTE);
    assert_eq!(trim().await, 13, "the snapshot before the newest is at 12");
    assert_eq!(trim().await, 13, "and stays there");
    let head = journal.head().await.unwrap();
    assert_eq!((head.first, head.position, head.name), (13, 20, ann.applied_name));
    let failure = journal.read(11).await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 12, first: 13 }), "{failure}");
    assert_eq!(journal.read(12).await.unwrap().entries.len(), 8);
    let failure = Player::new(b'l').claims(journal, "late").await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 1, first: 13 }), "{failure}");
    snapshot(stage, 20, &[], term).await;
    assert_eq!(trim().await, 19);
    assert_eq!(ann.claims(journal, "ann").await.unwrap().entries.len(), 1);
}

pub(crate) async fn pieces_that_no_snapshot_names_go_after_ten_minutes(stage: &Stage) {
    let (mut ann, journal) = (Player::new(b'a'), &stage.journal);
    let term = journal.mint_term().await.unwrap();
    let put = async |piece: u8| {
        let bytes = vec![piece; 1_000];
        journal.put_piece(PieceName::of(&bytes), bytes).await.unwrap();
    };
    let left = async || {
        journal.trim(term).await.unwrap();
        let mut left = Vec::new();
        for piece in 1..=6 {
            let found = journal.piece(PieceName::of(&[piece; 1_000])).await.unwrap();
            left.extend(found.map(|_| piece));
        }
        left
    };
    for _ in 0..10 {
        ann.claims(journal, "ann").await.unwrap();
    }
    snapshot(stage, 2, &[1, 2], term).await;
    snapshot(stage, 4, &[2, 3], term).await;
    put(5).await;
    put(6).await;
    stage.hands.turn(9 * MINUTE);
    put(6).await;
    stage.hands.turn(MINUTE);
    assert_eq!(left().await, [1, 2, 3, 6], "one was wanted again a minute ago, one was not");
    snapshot(stage, 6, &[2, 4], term).await;
    stage.hands.turn(10 * MINUTE - 1);
    assert_eq!(left().await, [1, 2, 3, 4], "somebody may still be fetching the first");
    stage.hands.turn(1);
    assert_eq!(left().await, [2, 3, 4]);
    stage.hands.turn(60 * MINUTE);
    assert_eq!(left().await, [2, 3, 4], "two snapshots name them");
}

pub(crate) async fn a_snapshot_of_another_history_is_not_installed(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for subject in ["one", "two", "three"] {
        ann.claims(&stage.journal, subject).await.unwrap();
    }
    let term = stage.journal.mint_term().await.unwrap();
    for entry in all(&stage.journal, 0).await {
        let wrong = Name { node: node(b'x'), ..entry.name().unwrap() };
        let failure = stage.journal.install(entry.position, wrong, vec![1], Vec::new(), term).await;
        assert!(matches!(failure, Err(JournalError::Forked { .. })), "{failure:?}");
        assert_eq!(stage.journal.newest_snapshot().await.unwrap(), None);
    }
    let last = stage.journal.head().await.unwrap();
    stage.journal.install(last.position, last.name, vec![1], Vec::new(), term).await.unwrap();
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), Some(vec![1]));
}

/// Whoever installs a snapshot reads which there are first: others that do the same must not be lost by that.
pub(crate) async fn snapshots_that_are_installed_at_once_are_the_two_furthest_on(stage: &Stage) {
    let mut ann = Player::new(b'a');
    for _ in 0..10 {
        ann.claims(&stage.journal, "ann").await.unwrap();
    }
    let term = stage.journal.mint_term().await.unwrap();
    let mut named = Vec::new();
    for position in 1..=10_u8 {
        let bytes = vec![position; 1_000];
        let name = PieceName::of(&bytes);
        stage.journal.put_piece(name, bytes).await.unwrap();
        named.push((position, name));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for (position, name) in named {
        let journal = stage.journal.clone();
        tasks.spawn(async move {
            // Ten at once may be too many for one of them: it is told so and asks again.
            while let Err(failure) =
                install(&journal, position.into(), vec![position], vec![name], term).await
            {
                assert!(matches!(failure, JournalError::Moved { head: 10, .. }), "{failure}");
            }
        });
    }
    tasks.join_all().await;
    stage.hands.turn(60 * MINUTE);
    assert_eq!(stage.journal.trim(term).await.unwrap(), 10, "9 is before the newest");
    assert_eq!(stage.journal.newest_snapshot().await.unwrap(), Some(vec![10]));
    for position in 1..=10 {
        let name = PieceName::of(&[position; 1_000]);
        let there = stage.journal.piece(name).await.unwrap().is_some();
        assert_eq!(there, position >= 9, "{position}");
    }
}

pub(crate) async fn many_pieces_go_in_one_trim(stage: &Stage) {
    let (mut ann, journal) = (Player::new(b'a'), &stage.journal);
    for _ in 0..3 {
        ann.claims(journal, "ann").await.unwrap();
    }
    let term = journal.mint_term().await.unwrap();
    let many: Vec<u8> = (0..100).collect();
    for (position, pieces) in [(1, &many[..]), (2, &[100]), (3, &[101])] {
        snapshot(stage, position, pieces, term).await;
    }
    stage.hands.turn(10 * MINUTE);
    journal.trim(term).await.unwrap();
    for piece in 0..=101_u8 {
        let there = journal.piece(PieceName::of(&[piece; 1_000])).await.unwrap().is_some();
        assert_eq!(there, piece >= 100, "{piece}");
    }
}

pub(crate) async fn many_at_once_keep_one_order(stage: &Stage) {
    let mut tasks = tokio::task::JoinSet::new();
    for letter in b'a'..b'i' {
        let journal = stage.journal.clone();
        tasks.spawn(async move {
            let mut player = Player::new(letter);
            for number in 0..25 {
                player.claims(&journal, &format!("{letter}-{number}")).await.unwrap();
                // Behind by more than one read: catch up before the next append.
                while player.applied_name.number != player.number
                    || player.applied_name.node != player.node
                {
                    let more = journal.read(player.applied).await.unwrap().entries;
                    if more.is_empty() {
                        break;
                    }
                    player.apply(&more);
                }
            }
        });
    }
    tasks.join_all().await;
    let entries = all(&stage.journal, 0).await;
    assert_eq!(entries.len(), 8 * 25);
    Player::new(b'z').apply(&entries);
    let mut names: Vec<_> = entries
        .iter()
        .map(|e| {
            let n = name_of(e);
            (n.node, n.number)
        })
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8 * 25, "each batch once");
}
