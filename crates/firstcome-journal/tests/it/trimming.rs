//! What goes, what stays, and where it goes.

use crate::world::{Hands, MINUTE, Player, Scratch, install, open, subject_of};
use firstcome_core::names::PieceName;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, ReadOnly, Sqlite};
use firstcome_journal::verify::Verify;
use firstcome_journal::{Journal, JournalError};

/// A journal whose every method a test may need.
pub(crate) struct Trimmed {
    pub(crate) scratch: Scratch,
    pub(crate) hands: Hands,
    pub(crate) sqlite: Sqlite,
    pub(crate) journal: Journal,
    pub(crate) ann: Player,
    pub(crate) term: u64,
}

impl Trimmed {
    pub(crate) async fn new(options: impl FnOnce(Options) -> Options) -> Self {
        let (scratch, hands) = (Scratch::new(), Hands::new());
        let folder = DataFolder::take(scratch.data()).unwrap();
        let chosen = options(crate::world::options(&hands));
        let sqlite = Sqlite::open(&folder, chosen).unwrap();
        let journal = Journal::Sqlite(sqlite.clone());
        let term = journal.mint_term().await.unwrap();
        Self { scratch, hands, sqlite, journal, ann: Player::new(b'a'), term }
    }

    pub(crate) async fn append(&mut self, count: u64) {
        for _ in 0..count {
            let subject = format!("subject-{}", self.ann.applied + 1);
            self.ann.claims(&self.journal, &subject).await.unwrap();
        }
    }

    pub(crate) async fn snapshot(&self, position: u64, pieces: &[u8]) {
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

    pub(crate) async fn trim(&self) -> u64 {
        self.journal.trim(self.term).await.unwrap()
    }

    async fn has_piece(&self, piece: u8) -> bool {
        let name = PieceName::of(&vec![piece; 1000]);
        self.journal.piece(name).await.unwrap().is_some()
    }

    pub(crate) fn whole(&self) -> Vec<String> {
        let journal = ReadOnly::open(&self.scratch.data()).unwrap();
        let first = journal.first().unwrap();
        journal.entries(first).map(|entry| subject_of(&entry.unwrap().0)).collect()
    }
}

pub(crate) fn subjects(numbers: std::ops::RangeInclusive<u64>) -> Vec<String> {
    numbers.map(|number| format!("subject-{number}")).collect()
}

#[tokio::test]
async fn entries_stay_back_to_the_snapshot_before_the_newest_and_for_ten_minutes() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(10).await;
    t.hands.turn(5 * MINUTE);
    t.append(10).await;
    t.snapshot(12, &[1]).await;
    t.hands.turn(5 * MINUTE - 1);
    assert_eq!(t.trim().await, 1, "one snapshot covers nothing");
    t.snapshot(18, &[2]).await;
    assert_eq!(t.trim().await, 1, "nothing is ten minutes old");
    t.hands.turn(1);
    assert_eq!(t.trim().await, 11, "the first ten are");
    t.hands.turn(60 * MINUTE);
    assert_eq!(t.trim().await, 13, "the snapshot before the newest is at 12");
    t.snapshot(20, &[3]).await;
    assert_eq!(t.trim().await, 19);
    assert_eq!(t.whole(), subjects(1..=20), "the archive has the rest");
    let failure = t.journal.read(5).await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 6, first: 19 }), "{failure}");
    assert_eq!(t.journal.head().await.unwrap().first, 19);
}

#[tokio::test]
async fn a_node_behind_what_was_trimmed_is_told_and_nothing_is_stored() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(20).await;
    t.snapshot(10, &[]).await;
    t.snapshot(20, &[]).await;
    t.hands.turn(10 * MINUTE);
    assert_eq!(t.trim().await, 11);
    let mut late = Player::new(b'l');
    let failure = late.claims(&t.journal, "late").await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 1, first: 11 }), "{failure}");
    assert_eq!(t.journal.head().await.unwrap().position, 20);
    assert_eq!(t.journal.newest_snapshot().await.unwrap().unwrap(), b"manifest 20");
}

#[tokio::test]
async fn without_an_archive_what_goes_is_gone() {
    let mut t = Trimmed::new(|options| Options { archive: false, ..options }).await;
    t.append(20).await;
    t.snapshot(10, &[]).await;
    t.snapshot(20, &[]).await;
    t.hands.turn(10 * MINUTE);
    assert_eq!(t.trim().await, 11);
    assert_eq!(t.whole(), subjects(11..=20));
    let journal = ReadOnly::open(&t.scratch.data()).unwrap();
    let failure = journal.entries(3).next().unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { wanted: 3, first: 11 }), "{failure}");
    assert_eq!(Verify::new(&journal).run(|_| {}).unwrap().from, 11);
}

#[tokio::test]
async fn the_journal_goes_on_after_a_trim_and_a_restart() {
    let mut t = Trimmed::new(|options| options).await;
    for round in 1..=4 {
        t.append(150).await;
        t.snapshot(150 * round - 20, &[]).await;
        t.hands.turn(11 * MINUTE);
        let first = t.trim().await;
        assert_eq!(first, if round == 1 { 1 } else { 150 * (round - 1) - 19 });
        t.sqlite.close().await;
        t.sqlite = open(&t.scratch.data(), &t.hands);
        t.journal = Journal::Sqlite(t.sqlite.clone());
        assert_eq!(t.journal.head().await.unwrap().first, first);
    }
    assert_eq!(t.whole(), subjects(1..=600));
    let verified = Verify::new(&ReadOnly::open(&t.scratch.data()).unwrap()).run(|_| {}).unwrap();
    assert_eq!((verified.from, verified.entries), (1, 600));
}

#[tokio::test]
async fn pieces_go_when_nobody_has_named_them_for_ten_minutes() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(10).await;
    t.snapshot(2, &[1, 2]).await;
    t.snapshot(4, &[2, 3]).await;
    t.hands.turn(60 * MINUTE);
    t.trim().await;
    assert!(t.has_piece(1).await, "two snapshots are kept");
    t.snapshot(6, &[2, 4]).await;
    t.hands.turn(10 * MINUTE - 1);
    t.trim().await;
    assert!(t.has_piece(1).await, "somebody may still be fetching it");
    t.hands.turn(1);
    t.trim().await;
    assert!(!t.has_piece(1).await);
    for piece in [2, 3, 4] {
        assert!(t.has_piece(piece).await, "{piece} is named");
    }
}

#[tokio::test]
async fn a_piece_on_its_way_into_a_snapshot_stays() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(10).await;
    let put = async |t: &Trimmed, piece: u8| {
        let bytes = vec![piece; 1000];
        t.journal.put_piece(PieceName::of(&bytes), bytes).await.unwrap();
    };
    put(&t, 7).await;
    put(&t, 8).await;
    t.hands.turn(9 * MINUTE);
    put(&t, 7).await;
    t.hands.turn(2 * MINUTE);
    t.trim().await;
    assert!(t.has_piece(7).await, "it was wanted again two minutes ago");
    assert!(!t.has_piece(8).await, "it was not");
    t.snapshot(5, &[7]).await;
    t.hands.turn(60 * MINUTE);
    t.trim().await;
    assert!(t.has_piece(7).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_go_on_while_a_trim_is_under_way() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(600).await;
    t.snapshot(500, &[]).await;
    t.snapshot(600, &[]).await;
    t.hands.turn(11 * MINUTE);
    let trimming = tokio::spawn({
        let (journal, term) = (t.journal.clone(), t.term);
        async move { journal.trim(term).await }
    });
    t.append(100).await;
    assert_eq!(trimming.await.unwrap().unwrap(), 501);
    assert_eq!(t.whole(), subjects(1..=700));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_finds_every_entry_while_they_move_to_the_archive() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(1_000).await;
    t.snapshot(900, &[]).await;
    t.snapshot(1_000, &[]).await;
    t.hands.turn(11 * MINUTE);
    let data = t.scratch.data();
    let reading = std::thread::spawn(move || {
        let journal = ReadOnly::open(&data).unwrap();
        for _ in 0..20 {
            let count = journal.entries(1).filter(|entry| entry.is_ok()).count();
            assert!(count >= 1_000, "{count}");
        }
    });
    assert_eq!(t.trim().await, 901);
    reading.join().unwrap();
}
