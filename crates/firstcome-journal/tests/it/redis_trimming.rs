//! What goes from a Redis, what stays, and where it goes.

use crate::redis_opening::open;
use crate::world::{Hands, MINUTE, Player, SPACE, Scratch, all, install, node, subject_of};
use firstcome_core::names::PieceName;
use firstcome_journal::archive::{Frames, parts};
use firstcome_journal::entry::Sealer;
use firstcome_journal::redis::{Options, Redis};
use firstcome_journal::{Journal, JournalError};
use firstcome_testbed::RedisServer as Server;
use std::path::Path;
use std::time::Duration;

struct Trimmed {
    server: Server,
    hands: Hands,
    redis: Redis,
    journal: Journal,
    ann: Player,
    term: u64,
}

impl Trimmed {
    async fn new(change: impl FnOnce(&mut Options)) -> Option<Self> {
        let (server, hands) = (Server::start()?, Hands::new());
        let redis = open(&server, |options| {
            options.clock = Some(hands.clock());
            change(options);
        });
        let redis = redis.await.unwrap();
        let journal = Journal::Redis(redis.clone());
        let term = journal.mint_term().await.unwrap();
        Some(Self { server, hands, redis, journal, ann: Player::new(b'a'), term })
    }

    async fn append(&mut self, count: u64) {
        for _ in 0..count {
            let subject = format!("subject-{}", self.ann.applied + 1);
            self.ann.claims(&self.journal, &subject).await.unwrap();
        }
    }

    async fn snapshot(&self, position: u64, pieces: &[u8]) {
        let mut names = Vec::new();
        for piece in pieces {
            let bytes = vec![*piece; 1000];
            let name = PieceName::of(&bytes);
            self.journal.put_piece(name, bytes).await.unwrap();
            names.push(name);
        }
        let manifest = format!("manifest {position}").into_bytes();
        install(&self.journal, position, manifest, names, self.term).await.unwrap();
    }

    async fn trim(&self) -> u64 {
        self.journal.trim(self.term).await.unwrap()
    }

    async fn pieces(&self, pieces: std::ops::RangeInclusive<u8>) -> Vec<u8> {
        let mut there = Vec::new();
        for piece in pieces {
            let name = PieceName::of(&vec![piece; 1000]);
            if self.journal.piece(name).await.unwrap().is_some() {
                there.push(piece);
            }
        }
        there
    }
}

/// The subjects in an archive, in its order.
fn archived(folder: &Path) -> Vec<String> {
    let sealer = Sealer { space: SPACE };
    let mut subjects = Vec::new();
    for part in parts(folder).unwrap() {
        let mut frames = Frames::open(&part, sealer).unwrap();
        while let Some((entry, _)) = frames.next_entry().unwrap() {
            subjects.push(subject_of(&entry));
        }
    }
    subjects
}

#[tokio::test]
async fn entries_stay_back_to_the_snapshot_before_the_newest_and_for_ten_minutes() {
    let Some(mut t) = Trimmed::new(|_| {}).await else { return };
    t.append(100).await;
    t.hands.turn(5 * MINUTE);
    t.append(100).await;
    t.snapshot(120, &[1]).await;
    t.hands.turn(5 * MINUTE - 1);
    assert_eq!(t.trim().await, 1, "one snapshot covers nothing");
    t.snapshot(180, &[2]).await;
    assert_eq!(t.trim().await, 1, "nothing is ten minutes old");
    t.hands.turn(1);
    assert_eq!(t.trim().await, 101, "the first hundred are");
    t.hands.turn(60 * MINUTE);
    assert_eq!(t.trim().await, 121, "the snapshot before the newest is at 120");
    t.snapshot(200, &[3]).await;
    assert_eq!(t.trim().await, 181);
    let failure = t.journal.read(5).await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 6, first: 181 }), "{failure}");
    assert_eq!(t.journal.head().await.unwrap().first, 181);
    assert_eq!(all(&t.journal, 180).await.len(), 20);
    let mut late = Player::new(b'l');
    let failure = late.claims(&t.journal, "late").await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 1, first: 181 }), "{failure}");
    t.append(1).await;
}

#[tokio::test]
async fn pieces_go_when_nobody_has_named_them_for_ten_minutes() {
    let Some(mut t) = Trimmed::new(|_| {}).await else { return };
    t.append(5).await;
    t.snapshot(1, &[1, 2]).await;
    t.snapshot(2, &[2, 3]).await;
    t.snapshot(3, &[3, 4]).await;
    let stray = vec![5; 1000];
    t.journal.put_piece(PieceName::of(&stray), stray.clone()).await.unwrap();
    t.hands.turn(10 * MINUTE - 1);
    t.trim().await;
    assert_eq!(t.pieces(1..=5).await, [1, 2, 3, 4, 5]);
    t.hands.turn(1);
    t.trim().await;
    assert_eq!(t.pieces(1..=5).await, [2, 3, 4], "the first snapshot's and the stray one");
    t.snapshot(4, &[4]).await;
    t.hands.turn(5 * MINUTE);
    // Wanted again: it may stay for as long again.
    let two = vec![2; 1000];
    t.journal.put_piece(PieceName::of(&two), two.clone()).await.unwrap();
    t.hands.turn(5 * MINUTE);
    t.trim().await;
    assert_eq!(t.pieces(1..=5).await, [2, 3, 4]);
    t.snapshot(5, &[2]).await;
    t.hands.turn(60 * MINUTE);
    t.trim().await;
    assert_eq!(t.pieces(1..=5).await, [2, 4]);
    let left = t.server.ask("ZCARD fc:{main}:pieces");
    assert_eq!(left, ":2", "nothing is remembered of the others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_is_in_the_archive_first() {
    let scratch = Scratch::new();
    let folder = scratch.data();
    let Some(mut t) = Trimmed::new(|options| options.archive = Some(folder.clone())).await else {
        return;
    };
    t.append(150).await;
    t.snapshot(140, &[]).await;
    t.snapshot(150, &[]).await;
    t.hands.turn(10 * MINUTE);
    assert_eq!(t.trim().await, 141);
    let subjects = |last: u64| (1..=last).map(|n| format!("subject-{n}")).collect::<Vec<_>>();
    assert_eq!(archived(&folder), subjects(140));
    assert_eq!(all(&t.journal, 140).await.len(), 10);

    // Another node leads and trims next, with the same folder: it goes on where the first one stopped.
    t.append(50).await;
    t.snapshot(190, &[]).await;
    t.hands.turn(10 * MINUTE);
    let other = open(&t.server, |options| {
        options.clock = Some(t.hands.clock());
        options.archive = Some(folder.clone());
    });
    let other = Journal::Redis(other.await.unwrap());
    assert_eq!(other.trim(t.term).await.unwrap(), 151);
    assert_eq!(archived(&folder), subjects(150));
    t.redis.close().await;
}

#[tokio::test]
async fn a_full_server_is_still_trimmed_and_has_a_roll() {
    let Some(mut t) = Trimmed::new(|_| {}).await else { return };
    t.append(20).await;
    t.snapshot(10, &[1]).await;
    t.snapshot(20, &[2]).await;
    t.hands.turn(10 * MINUTE);
    assert_eq!(t.server.ask("CONFIG SET maxmemory 1"), "+OK");
    let append = t.ann.next("nobody");
    let failure = t.journal.append(append).await.unwrap_err();
    assert!(matches!(failure, JournalError::Full(_)), "{failure}");
    assert_eq!(t.journal.mint_term().await.unwrap(), 2);
    assert_eq!(t.journal.trim(2).await.unwrap(), 11);
    let shared = &t.journal;
    let roll = shared.announce(crate::sharing::announcement(b'a', 20), 1).await.unwrap();
    assert_eq!(roll.nodes.len(), 1);
    shared.leave(node(b'a')).await.unwrap();
    assert_eq!(t.journal.head().await.unwrap().position, 20, "nothing was stored");
}

#[tokio::test]
async fn a_follower_without_news_asks_for_nothing_that_an_announcement_told() {
    let Some(t) = Trimmed::new(|_| {}).await else { return };
    let shared = &t.journal;
    shared.announce(crate::sharing::announcement(b'a', 0), 1).await.unwrap();
    let before = t.server.calls_of("hget");
    for _ in 0..5 {
        let news = shared.follow(0, Duration::from_millis(1)).await.unwrap();
        assert_eq!(news.read.entries, []);
    }
    assert_eq!(t.server.calls_of("hget"), before);
}
