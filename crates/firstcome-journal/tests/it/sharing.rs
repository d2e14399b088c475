//! What every store must do that several nodes share.

use crate::world::{MINUTE, NOON, Player, SPACE, Stage, all, name_of, node, patiently, subject_of};
use firstcome_core::Timestamp;
use firstcome_core::command::moved;
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_journal::cluster::{NodeStatus, Seed};
use firstcome_journal::memory::Memory;
use firstcome_journal::{Append, Entry, Journal, JournalError, Name};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

pub(crate) async fn waiting_ends_with_the_entry(stage: &Stage) {
    let journal = &stage.journal;
    let waiting = tokio::spawn({
        let journal = journal.clone();
        async move { journal.follow(0, LONG).await }
    });
    Player::new(b'a').claims(&stage.journal, "ann").await.unwrap();
    let news = waiting.await.unwrap().unwrap();
    assert_eq!(news.read.entries, all(&stage.journal, 0).await);
    assert_eq!(journal.follow(0, LONG).await.unwrap().read.entries, news.read.entries);
    assert_eq!(news.now, Timestamp::from_micros(NOON));
}

pub(crate) async fn waiting_ends_with_the_time(stage: &Stage) {
    let news = stage.journal.follow(0, Duration::from_millis(1)).await.unwrap();
    assert_eq!(news.read.entries, []);
    assert_eq!(stage.journal.head().await.unwrap().position, 0);
}

pub(crate) async fn following_sees_everything_in_order(stage: &Stage) {
    let follower = tokio::spawn({
        let shared = stage.journal.clone();
        async move {
            let mut player = Player::new(b'f');
            while player.applied < 60 {
                // Each time some are asked for and nobody waits for the answer: that must harm nobody.
                drop(
                    tokio::time::timeout(Duration::ZERO, shared.follow(player.applied, LONG)).await,
                );
                player.apply(&shared.follow(player.applied, LONG).await.unwrap().read.entries);
            }
        }
    });
    let mut writers = tokio::task::JoinSet::new();
    for letter in [b'a', b'b'] {
        let journal = stage.journal.clone();
        writers.spawn(async move {
            let mut player = Player::new(letter);
            for _ in 0..30 {
                player.claims(&journal, "someone").await.unwrap();
            }
        });
    }
    writers.join_all().await;
    follower.await.unwrap();
}

pub(crate) fn announcement(letter: u8, position: u64) -> NodeStatus {
    NodeStatus {
        node: node(letter),
        position,
        durable: position.saturating_sub(1),
        epoch: 3,
        digest: 0x1234_5678_9abc_def0,
        level: 1,
        memory: 1 << 33,
        since: Timestamp::from_micros(NOON - MINUTE),
        address: format!("10.0.0.{letter}:8080").into(),
        words: format!("1 said-by={letter}").into(),
    }
}

pub(crate) async fn the_roll_has_who_announced_lately(stage: &Stage) {
    let (journal, second) = (&stage.journal, 1_000_000);
    Player::new(b'x').claims(&stage.journal, "someone").await.unwrap();
    let roll = journal.announce(announcement(b'a', 1), 1).await.unwrap();
    assert_eq!(roll.head, stage.journal.head().await.unwrap());
    assert_eq!(roll.nodes, [(announcement(b'a', 1), Timestamp::from_micros(NOON))]);
    stage.hands.turn(4 * second);
    journal.announce(announcement(b'b', 1), 1).await.unwrap();
    stage.hands.turn(6 * second - 1);
    let roll = journal.announce(announcement(b'b', 2), 1).await.unwrap();
    let seen: Vec<_> = roll.nodes.iter().map(|(who, at)| (who.clone(), at.as_micros())).collect();
    let now = NOON + 10 * second - 1;
    assert_eq!(seen, [(announcement(b'a', 1), NOON), (announcement(b'b', 2), now)]);
    stage.hands.turn(1);
    let roll = journal.announce(announcement(b'b', 2), 1).await.unwrap();
    assert_eq!(roll.nodes.len(), 1, "ten seconds are too long");
    assert_eq!(roll.head.now.as_micros(), NOON + 10 * second);
    assert_eq!(roll.gone, [(announcement(b'a', 1), Timestamp::from_micros(NOON))]);
}

pub(crate) async fn who_only_looks_sees_the_members_and_is_none(stage: &Stage) {
    let (journal, second) = (&stage.journal, 1_000_000);
    assert_eq!(journal.members().await.unwrap(), []);
    journal.announce(announcement(b'a', 1), 1).await.unwrap();
    let seen = [(announcement(b'a', 1), Timestamp::from_micros(NOON))];
    assert_eq!(journal.members().await.unwrap(), seen);
    stage.hands.turn(10 * second - 1);
    assert_eq!(journal.members().await.unwrap(), seen);
    stage.hands.turn(1);
    assert_eq!(journal.members().await.unwrap(), [], "ten seconds are too long");
}

pub(crate) async fn who_went_without_a_word_is_remembered_for_a_day(stage: &Stage) {
    let (journal, second) = (&stage.journal, 1_000_000);
    for letter in [b'a', b'b'] {
        journal.announce(announcement(letter, 1), 1).await.unwrap();
    }
    journal.announce(announcement(b'l', 1), 1).await.unwrap();
    journal.leave(node(b'l')).await.unwrap();
    stage.hands.turn(10 * second);
    let gone = async || {
        let roll = journal.announce(announcement(b'z', 1), 1).await.unwrap();
        roll.gone.iter().map(|(who, _)| who.node).collect::<Vec<_>>()
    };
    assert_eq!(gone().await.len(), 2, "who left is not missed");
    // Started again: another node under the same address takes its place.
    let again = NodeStatus { node: node(b'A'), ..announcement(b'a', 1) };
    journal.announce(again, 1).await.unwrap();
    assert_eq!(gone().await, [node(b'b')]);
    // Whoever is told to forget it: it is as if it had left.
    stage.hands.turn(86_400 * second - 10 * second - 1);
    assert_eq!(gone().await.len(), 2, "the one that took its place went too");
    stage.hands.turn(1);
    assert_eq!(gone().await, [node(b'A')], "a day is over");
    journal.leave(node(b'A')).await.unwrap();
    assert_eq!(gone().await, []);
}

pub(crate) async fn only_the_last_64_that_went_are_remembered(stage: &Stage) {
    let (journal, second) = (&stage.journal, 1_000_000);
    for letter in 0..70 {
        journal.announce(announcement(letter, 1), 1).await.unwrap();
        stage.hands.turn(1);
    }
    stage.hands.turn(10 * second);
    let roll = journal.announce(announcement(b'z', 1), 1).await.unwrap();
    let last: Vec<_> = (6..70).rev().map(node).collect();
    assert_eq!(roll.gone.iter().map(|(who, _)| who.node).collect::<Vec<_>>(), last);
}

pub(crate) async fn who_leaves_is_off_the_roll(stage: &Stage) {
    let journal = &stage.journal;
    journal.announce(announcement(b'a', 0), 1).await.unwrap();
    journal.announce(announcement(b'b', 0), 1).await.unwrap();
    for _ in 0..2 {
        journal.leave(node(b'a')).await.unwrap();
    }
    let roll = journal.announce(announcement(b'b', 0), 1).await.unwrap();
    assert_eq!(roll.nodes.len(), 1);
    assert_eq!(roll.nodes[0].0.node, node(b'b'));
}

pub(crate) async fn the_level_of_the_head_follows_the_nodes_and_never_goes_down(stage: &Stage) {
    let (journal, newest) = (&stage.journal, stage.journal.head().await.unwrap().level);
    for (said, is) in [(1, newest), (newest + 1, newest + 1), (newest, newest + 1)] {
        let membership = journal.announce(announcement(b'a', 0), said).await.unwrap();
        assert_eq!(membership.head.level, is);
        assert_eq!(stage.journal.head().await.unwrap().level, is);
    }
}

/// What a node still has of a journal that lost it: entries of two nodes, a while ago.
async fn lost() -> Vec<Entry> {
    lost_after(4).await
}

async fn lost_after(rounds: u64) -> Vec<Entry> {
    let hands = crate::world::Hands::new();
    hands.turn(-2 * MINUTE);
    let journal = Journal::Memory(Memory::new(SPACE, hands.clock()));
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for number in 0..rounds {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
        hands.turn(1);
        bob.claims(&journal, &format!("bob{number}")).await.unwrap();
    }
    all(&journal, 0).await
}

pub(crate) async fn entries_are_put_back_whole(stage: &Stage) {
    let entries = lost().await;
    stage.journal.put_back(0, Name::default(), entries.clone()).await.unwrap();
    assert_eq!(all(&stage.journal, 0).await, entries, "the store's part, too");
    let last = &entries[7];
    let head = stage.journal.head().await.unwrap();
    assert_eq!((head.position, head.name, head.at), (8, name_of(last), last.at));
    // It goes on behind them.
    let mut eve = Player::new(b'e');
    let exchange = eve.claims(&stage.journal, "eve").await.unwrap();
    assert_eq!(exchange.entries.len(), 9);
    assert_eq!(exchange.entries[8].before, name_of(last));
    assert_eq!(subject_of(&exchange.entries[8]), "eve");
}

pub(crate) async fn entries_are_put_back_in_parts_and_once(stage: &Stage) {
    let (journal, entries) = (&stage.journal, lost().await);
    journal.put_back(0, Name::default(), entries[..3].to_vec()).await.unwrap();
    let third = name_of(&entries[2]);
    journal.put_back(3, third, entries[3..].to_vec()).await.unwrap();
    for (position, name) in [(0, Name::default()), (3, third)] {
        let again = entries[position as usize..].to_vec();
        let failure = journal.put_back(position, name, again).await.unwrap_err();
        let expected = name_of(&entries[7]);
        assert!(
            matches!(failure, JournalError::Moved { head: 8, name } if name == expected),
            "{failure}"
        );
    }
    assert_eq!(all(&stage.journal, 0).await, entries);
}

pub(crate) async fn callers_are_compared_with_what_was_put_back(stage: &Stage) {
    let entries = lost_after(40).await;
    // The journal had others in their places.
    Player::new(b'x').claims(&stage.journal, "before").await.unwrap();
    let seen = stage.journal.head().await.unwrap();
    let seed = Seed { position: 0, name: Name::default(), epoch: 0, ..seed(Vec::new()) };
    let at = entries[0].at;
    stage.journal.reseed(Some(seen), Seed { at, ..seed }).await.unwrap();
    stage.journal.put_back(0, Name::default(), entries[..50].to_vec()).await.unwrap();
    let last = name_of(&entries[49]);
    stage.journal.put_back(50, last, entries[50..].to_vec()).await.unwrap();
    crate::conformance::every_position_is_compared(stage).await;
}

pub(crate) async fn entries_are_put_back_behind_the_right_end_only(stage: &Stage) {
    let (journal, entries) = (&stage.journal, lost().await);
    Player::new(b'x').claims(&stage.journal, "somebody else").await.unwrap();
    let there = stage.journal.head().await.unwrap();
    // Neither where the height is another nor where the height is the same and the entry is another.
    let ends = [(0, Name::default(), 0), (1, name_of(&entries[0]), 1)];
    for (position, name, from) in ends {
        let failure = journal.put_back(position, name, entries[from..].to_vec()).await.unwrap_err();
        let is_moved =
            matches!(failure, JournalError::Moved { head: 1, name } if name == there.name);
        assert!(is_moved, "{failure}");
    }
    assert_eq!(stage.journal.head().await.unwrap(), there);
}

pub(crate) async fn several_may_put_back_the_same_at_once(stage: &Stage) {
    let entries = lost().await;
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (journal, entries) = (stage.journal.clone(), entries.clone());
        nodes.spawn(async move {
            loop {
                let head = journal.head().await.unwrap();
                let from = head.position as usize;
                let Some(next) = entries.get(from) else { return };
                match journal.put_back(head.position, head.name, vec![next.clone()]).await {
                    Ok(()) | Err(JournalError::Moved { .. }) => {}
                    Err(failure) => panic!("{failure}"),
                }
            }
        });
    }
    nodes.join_all().await;
    assert_eq!(all(&stage.journal, 0).await, entries);
}

pub(crate) async fn the_epoch_is_raised_where_it_was_seen(stage: &Stage) {
    let journal = &stage.journal;
    let mut ann = Player::new(b'a');
    ann.claims(&stage.journal, "ann").await.unwrap();
    let seen = stage.journal.head().await.unwrap();
    assert_eq!(journal.raise_epoch(seen).await.unwrap(), 1);
    let failure = journal.raise_epoch(seen).await.unwrap_err();
    assert!(matches!(failure, JournalError::Moved { head: 1, .. }), "{failure}");
    let seen = stage.journal.head().await.unwrap();
    assert_eq!(seen.epoch, 1);
    let exchange = ann.claims(&stage.journal, "ann2").await.unwrap();
    assert_eq!(exchange.entries[0].epoch, 1);
    let failure = journal.raise_epoch(seen).await.unwrap_err();
    assert!(matches!(failure, JournalError::Moved { head: 2, .. }), "{failure}");
    assert_eq!(stage.journal.head().await.unwrap().epoch, 1);
}

pub(crate) fn seed(pieces: Vec<PieceName>) -> Seed {
    Seed {
        level: 1,
        position: 10,
        name: Name { node: node(b'z'), number: 7 },
        at: Timestamp::from_micros(NOON + MINUTE),
        epoch: 3,
        manifest: b"a manifest".to_vec(),
        pieces,
    }
}

/// A journal that has just been seeded.
async fn is_seeded(stage: &Stage) {
    let (journal, seed) = (&stage.journal, seed(Vec::new()));
    let head = journal.head().await.unwrap();
    assert_eq!((head.position, head.name, head.first), (10, seed.name, 11));
    assert_eq!((head.at, head.epoch, head.space), (seed.at, seed.epoch, SPACE));
    assert_eq!(journal.newest_snapshot().await.unwrap(), Some(seed.manifest));
    assert_eq!(journal.read(10).await.unwrap().entries, []);
    let failure = journal.read(2).await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 3, first: 11 }), "{failure}");
    let timeout = Duration::from_millis(1);
    let failure = stage.journal.follow(2, timeout).await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 3, first: 11 }), "{failure}");

    let mut late = Player { applied: 2, ..Player::new(b'l') };
    let failure = late.claims(journal, "late").await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 3, first: 11 }), "{failure}");
    let mut ann = Player { applied: 10, applied_name: seed.name, ..Player::new(b'a') };
    let exchange = ann.claims(journal, "ann").await.unwrap();
    let [entry] = &exchange.entries[..] else { panic!("{exchange:?}") };
    assert_eq!((entry.position, entry.before, entry.epoch), (11, seed.name, 3));
    assert_eq!(entry.at, seed.at, "time goes on from there");
}

pub(crate) async fn a_seed_takes_the_place_of_what_is_there(stage: &Stage) {
    let (journal, mut ann) = (&stage.journal, Player::new(b'a'));
    for _ in 0..3 {
        ann.claims(journal, "ann").await.unwrap();
    }
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes.clone()).await.unwrap();
    let seen = journal.head().await.unwrap();
    stage.journal.reseed(Some(seen), seed(vec![name])).await.unwrap();
    is_seeded(stage).await;
    assert_eq!(journal.piece(name).await.unwrap(), Some(bytes));
    let failure = stage.journal.reseed(Some(seen), seed(vec![name])).await.unwrap_err();
    assert!(matches!(failure, JournalError::Moved { head: 11, .. }), "{failure}");
}

pub(crate) async fn a_seed_is_refused_where_things_moved(stage: &Stage) {
    let (journal, mut ann) = (&stage.journal, Player::new(b'a'));
    let seen = journal.head().await.unwrap();
    ann.claims(journal, "ann").await.unwrap();
    let there = journal.head().await.unwrap();
    for seen in [Some(seen), None] {
        let failure = journal.reseed(seen, seed(Vec::new())).await.unwrap_err();
        let is_moved =
            matches!(failure, JournalError::Moved { head: 1, name } if name == there.name);
        assert!(is_moved, "{failure}");
    }
    let missing = PieceName([9; 16]);
    let failure = journal.reseed(Some(there), seed(vec![missing])).await.unwrap_err();
    assert!(matches!(failure, JournalError::PieceMissing(name) if name == missing), "{failure}");
    assert_eq!(journal.head().await.unwrap(), there);
    assert_eq!(all(journal, 0).await.len(), 1);
    assert_eq!(journal.newest_snapshot().await.unwrap(), None);
}

pub(crate) async fn a_seed_makes_a_lost_space_again(stage: &Stage) {
    let (journal, mut ann) = (&stage.journal, Player::new(b'a'));
    ann.claims(journal, "ann").await.unwrap();
    let seen = journal.head().await.unwrap();
    stage.empty().await;
    let is_gone = |failure: JournalError| {
        assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    };
    is_gone(ann.claims(journal, "ann").await.unwrap_err());
    is_gone(journal.head().await.unwrap_err());
    is_gone(journal.announce(announcement(b'a', 1), 1).await.unwrap_err());
    is_gone(journal.raise_epoch(seen).await.unwrap_err());
    is_gone(journal.put_back(0, Name::default(), lost().await).await.unwrap_err());
    is_gone(journal.reseed(Some(seen), seed(Vec::new())).await.unwrap_err());
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes).await.unwrap();
    journal.reseed(None, seed(vec![name])).await.unwrap();
    is_seeded(stage).await;
}

/// One place for a head and for a mark: so a server that begins a space and one that marks the store cannot both succeed.
pub(crate) async fn an_emptied_store_is_marked_until_a_space_takes_its_place(stage: &Stage) {
    let (journal, mut ann) = (&stage.journal, Player::new(b'a'));
    ann.claims(journal, "ann").await.unwrap();
    let status = |position, letter: u8| announcement(letter, position);
    let mark = async |position, letter| {
        let left = journal.mark_emptied(SPACE, &status(position, letter)).await.unwrap();
        assert_eq!(
            journal.emptied().await.unwrap().map(|it| it.mark),
            left.clone().map(|it| it.mark)
        );
        left
    };
    assert_eq!(mark(1, b'a').await, None, "it has a space");
    let failure = journal.forget_emptied(SPACE).await.unwrap_err();
    assert!(matches!(failure, JournalError::HasSpace(SPACE)), "{failure}");
    stage.empty().await;
    let failure = journal.forget_emptied(SPACE).await.unwrap_err();
    assert!(matches!(failure, JournalError::NotMarked(SPACE)), "{failure}");
    // Since when it is marked stays, and each says beside it how far it has the space.
    let mut others: Vec<(NodeStatus, Timestamp)> = Vec::new();
    for (second, (position, letter, furthest)) in
        [(3, b'a', (3, b'a')), (2, b'b', (3, b'a')), (5, b'c', (5, b'c'))].into_iter().enumerate()
    {
        let left = mark(position, letter).await.unwrap();
        let who = announcement(furthest.1, 0).address;
        assert_eq!((left.mark.space, left.mark.position, left.mark.who), (SPACE, furthest.0, who));
        assert_eq!(left.mark.since, Timestamp::from_micros(NOON));
        assert_eq!(left.others, others);
        let at = Timestamp::from_micros(NOON + second as i64 * 1_000_000);
        assert_eq!(left.now, at);
        others.push((status(position, letter), at));
        stage.hands.turn(1_000_000);
    }
    for failure in [
        ann.claims(journal, "bob").await.unwrap_err(),
        journal.head().await.unwrap_err(),
        journal.announce(announcement(b'a', 1), 1).await.unwrap_err(),
        journal.put_back(0, Name::default(), lost().await).await.unwrap_err(),
    ] {
        assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    }
    let failure = journal.forget_emptied(SpaceId([9; 16])).await.unwrap_err();
    assert!(matches!(failure, JournalError::NotMarked(_)), "{failure}");
    // Those that run would mark it again.
    stage.hands.turn(7_500_000);
    let failure = journal.forget_emptied(SPACE).await.unwrap_err();
    let JournalError::StillThere { space: SPACE, servers } = &failure else { panic!("{failure}") };
    let address = |letter| announcement(letter, 0).address;
    assert_eq!(*servers, format!("{}, {}", address(b'b'), address(b'c')), "one is gone");
    journal.leave(node(b'b')).await.unwrap();
    stage.hands.turn(2_000_000);
    assert_eq!(journal.forget_emptied(SPACE).await.unwrap().position, 5);
    assert_eq!(journal.emptied().await.unwrap(), None);
    let again = mark(1, b'd').await.unwrap();
    assert_eq!((again.mark.position, again.others), (1, Vec::new()), "who was there is forgotten");
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes).await.unwrap();
    journal.reseed(None, seed(vec![name])).await.unwrap();
    assert_eq!(mark(9, b'a').await, None, "it is there again");
    is_seeded(stage).await;
}

/// A space that was begun in an emptied store ends and is forgotten in one step: a mark of the one before stands in its place.
pub(crate) async fn a_space_that_ended_makes_room_for_the_one_before(stage: &Stage) {
    let (journal, mut ann) = (&stage.journal, Player::new(b'a'));
    let before = (SpaceId([9; 16]), 5, "there");
    ann.claims(journal, "ann").await.unwrap();
    journal.announce(announcement(b'a', 1), 1).await.unwrap();
    journal.report(1, node(b'a'), "x".to_owned()).await.unwrap();
    let name = Name { node: node(b'z'), number: 1 };
    let body = moved(name.node, name.number, ann.applied).into();
    let (applied, applied_name) = (ann.applied, ann.applied_name);
    journal.append(Append { body, name, applied, applied_name }).await.unwrap();
    // Somebody who had not read that yet: it never counts.
    journal.append(Player::new(b'b').next("late")).await.unwrap();
    let failure = journal.vacate((2, applied_name), before).await.unwrap_err();
    assert!(matches!(failure, JournalError::Forked { position: 2, .. }), "{failure}");
    assert!(journal.emptied().await.unwrap().is_none(), "nothing was changed");
    journal.vacate((2, name), before).await.unwrap();
    let emptied = journal.emptied().await.unwrap().expect("it is marked");
    let mark = (emptied.mark.space, emptied.mark.position, &*emptied.mark.who);
    assert_eq!((mark, emptied.others), (before, Vec::new()));
    for failure in [
        journal.head().await.unwrap_err(),
        journal.announce(announcement(b'a', 1), 1).await.unwrap_err(),
        journal.vacate((2, name), before).await.unwrap_err(),
    ] {
        assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    }
    assert_eq!(journal.reports().await.unwrap(), []);
    let bytes = b"a piece".to_vec();
    let piece = PieceName::of(&bytes);
    journal.put_piece(piece, bytes).await.unwrap();
    journal.reseed(None, seed(vec![piece])).await.unwrap();
    is_seeded(stage).await;
}

pub(crate) async fn reports_are_kept_by_epoch_and_node(stage: &Stage) {
    let journal = &stage.journal;
    assert_eq!(journal.reports().await.unwrap(), []);
    for (epoch, letter, text) in [(2, b'a', "x"), (1, b'b', "y"), (1, b'a', "z"), (2, b'a', "é")] {
        journal.report(epoch, node(letter), text.to_owned()).await.unwrap();
    }
    let expected =
        [(1, node(b'a'), "z".to_owned()), (1, node(b'b'), "y".into()), (2, node(b'a'), "é".into())];
    assert_eq!(journal.reports().await.unwrap(), expected);
}

pub(crate) async fn only_so_many_reports_are_kept_and_the_oldest_epochs_go_first(stage: &Stage) {
    let journal = &stage.journal;
    for epoch in (1..=70).rev() {
        journal.report(epoch, node(b'a'), format!("fork {epoch}")).await.unwrap();
    }
    let epochs: Vec<u32> = journal.reports().await.unwrap().iter().map(|(e, ..)| *e).collect();
    assert_eq!(epochs, (7..=70).collect::<Vec<_>>());
    let failure = journal.report(80, node(b'a'), "x".repeat((1 << 20) + 1)).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
}

/// A store that is removed has nothing of the space, and can be made anew; what was left by a removal that was cut off goes
/// with the next one. Journals in memory are left as they are.
pub(crate) async fn what_is_removed_is_gone_and_can_be_removed_again(stage: &Stage) {
    let mut player = Player::new(b'a');
    player.claims(&stage.journal, "ann").await.unwrap();
    stage.journal.announce(announcement(b'a', 1), 1).await.unwrap();
    let piece = PieceName::of(b"piece");
    stage.journal.put_piece(piece, b"piece".to_vec()).await.unwrap();
    stage.journal.remove().await.unwrap();
    stage.journal.remove().await.unwrap();
    // A cluster on a busy machine may be late.
    let found = patiently(async || stage.journal.head().await).await;
    if stage.is_in_a_store() {
        assert!(matches!(found, Err(JournalError::Gone(SPACE))), "{found:?}");
        let again = player.claims(&stage.journal, "bob").await;
        assert!(matches!(again, Err(JournalError::Gone(SPACE))), "{again:?}");
    } else {
        assert_eq!(found.unwrap().position, 1);
    }
}
