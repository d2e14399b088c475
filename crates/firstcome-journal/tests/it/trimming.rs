//! What goes, what stays, and where it goes.

use crate::world::{Hands, MINUTE, Player, SPACE, Scratch, all, open, subject_of};
use firstcome_core::snapshot::PieceName;
use firstcome_journal::entry::Sealer;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, ReadOnly, Sqlite};
use firstcome_journal::verify::Verify;
use firstcome_journal::{Failure, Journal, archive};
use std::path::Path;

/// A journal whose every method a test may need.
struct Trimmed {
    scratch: Scratch,
    hands: Hands,
    sqlite: Sqlite,
    journal: Journal,
    ann: Player,
    term: u64,
}

impl Trimmed {
    async fn new(options: impl FnOnce(Options) -> Options) -> Self {
        let (scratch, hands) = (Scratch::new(), Hands::new());
        let folder = DataFolder::take(scratch.data()).unwrap();
        let chosen = options(crate::world::options(&hands));
        let sqlite = Sqlite::open(&folder, chosen).unwrap();
        let journal = Journal::Sqlite(sqlite.clone());
        let term = journal.mint_term().await.unwrap();
        Self { scratch, hands, sqlite, journal, ann: Player::new(b'a'), term }
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
        self.journal.install(position, manifest, names, self.term).await.unwrap();
    }

    async fn trim(&self) -> u64 {
        self.journal.trim(self.term).await.unwrap()
    }

    async fn has_piece(&self, piece: u8) -> bool {
        let name = PieceName::of(&vec![piece; 1000]);
        self.journal.piece(name).await.unwrap().is_some()
    }

    fn whole(&self) -> Vec<String> {
        let journal = ReadOnly::open(&self.scratch.data()).unwrap();
        let first = journal.first().unwrap();
        journal.entries(first).map(|entry| subject_of(&entry.unwrap().0)).collect()
    }
}

fn subjects(numbers: std::ops::RangeInclusive<u64>) -> Vec<String> {
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
    assert!(matches!(failure, Failure::Trimmed { wanted: 6, first: 19 }), "{failure}");
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
    assert!(matches!(failure, Failure::Trimmed { wanted: 1, first: 11 }), "{failure}");
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
    assert!(matches!(failure, Failure::Trimmed { wanted: 3, first: 11 }), "{failure}");
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

fn last_archive_file(data: &Path) -> std::path::PathBuf {
    archive::parts(&data.join("archive")).unwrap().pop().unwrap().path
}

/// A trim that stopped between the archive and the journal: both have some entries, and the last of
/// them may be torn.
#[tokio::test]
async fn a_trim_that_was_cut_short_is_done_again() {
    for torn in [0, 1, 30] {
        let mut t = Trimmed::new(|options| options).await;
        t.append(20).await;
        t.snapshot(8, &[]).await;
        t.snapshot(16, &[]).await;
        t.hands.turn(11 * MINUTE);
        let before = t.scratch.data().join("journal.sqlite");
        t.sqlite.close().await;
        let backup = std::fs::read(&before).unwrap();
        let trim = async |t: &mut Trimmed| {
            t.sqlite = open(&t.scratch.data(), &t.hands);
            t.journal = Journal::Sqlite(t.sqlite.clone());
            let first = t.trim().await;
            t.sqlite.close().await;
            first
        };
        assert_eq!(trim(&mut t).await, 9);
        // The archive has it, the deletion never happened.
        std::fs::write(&before, backup).unwrap();
        let path = last_archive_file(&t.scratch.data());
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - torn]).unwrap();
        assert_eq!(t.whole(), subjects(1..=20), "readers see each entry once");
        assert_eq!(trim(&mut t).await, 9);
        assert_eq!(t.whole(), subjects(1..=20));
        assert_eq!(std::fs::read(last_archive_file(&t.scratch.data())).unwrap(), bytes);
    }
}

#[tokio::test]
async fn an_archive_of_another_past_is_not_written_to() {
    let mut t = Trimmed::new(|options| options).await;
    t.append(40).await;
    t.snapshot(30, &[]).await;
    t.snapshot(40, &[]).await;
    t.hands.turn(11 * MINUTE);
    assert_eq!(t.trim().await, 31);
    t.sqlite.close().await;
    // Somebody put an empty journal beside the archive, and it grows differently.
    std::fs::remove_file(t.scratch.data().join("journal.sqlite")).unwrap();
    t.sqlite = open(&t.scratch.data(), &t.hands);
    t.journal = Journal::Sqlite(t.sqlite.clone());
    t.ann = Player::new(b'x');
    t.append(20).await;
    t.term = t.journal.mint_term().await.unwrap();
    t.snapshot(10, &[]).await;
    t.snapshot(20, &[]).await;
    t.hands.turn(11 * MINUTE);
    let before = std::fs::read(last_archive_file(&t.scratch.data())).unwrap();
    let failure = t.journal.trim(t.term).await.unwrap_err();
    assert!(matches!(&failure, Failure::Broken(text) if text.contains("archive")), "{failure}");
    assert_eq!(std::fs::read(last_archive_file(&t.scratch.data())).unwrap(), before);
    assert_eq!(all(&t.journal, 0).await.len(), 20, "nothing went");
    t.append(1).await;
}

#[tokio::test]
async fn a_long_archive_has_several_files() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    for number in 1..=9 {
        ann.claims(&journal, &format!("subject-{number}")).await.unwrap();
    }
    let entries: Vec<_> =
        ReadOnly::open(&scratch.data()).unwrap().entries(1).map(Result::unwrap).collect();
    let folder = scratch.data().join("archive");
    let sealer = Sealer { space: SPACE, shard: 0 };
    for range in [0..3, 3..5, 5..9] {
        // Opened anew each time, as after a restart: it goes on where it ended.
        let kept_from = entries[range.start].0.position;
        let mut archive = archive::Archive::open(&folder, sealer, kept_from, |_| Ok(None)).unwrap();
        archive.add(&entries[range]).unwrap();
    }
    assert_eq!(archive::parts(&folder).unwrap().len(), 1, "short ones make one file");
    let mut frames = archive::Frames::holding(&folder, 4, sealer).unwrap().unwrap();
    let mut read = Vec::new();
    while let Some(entry) = frames.next_entry().unwrap() {
        read.push(entry);
    }
    assert_eq!(read, entries);
    let other = Sealer { shard: 1, ..sealer };
    assert!(matches!(archive::Frames::holding(&folder, 4, other), Err(Failure::Damaged { .. })));
    let other = Sealer { space: firstcome_core::SpaceId([1; 16]), ..sealer };
    let failure = archive::Archive::open(&folder, other, 10, |_| Ok(None)).unwrap_err();
    assert!(matches!(failure, Failure::OtherSpace { .. }), "{failure}");
    // Damage in the middle stays where it is, and the archive goes on behind it.
    let path = last_archive_file(&scratch.data());
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    ann.claims(&journal, "subject-10").await.unwrap();
    let tenth = ReadOnly::open(&scratch.data())
        .unwrap()
        .entries(10)
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    archive::Archive::open(&folder, sealer, 10, |_| Ok(None)).unwrap().add(&tenth).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let firsts: Vec<u64> = archive::parts(&folder).unwrap().iter().map(|part| part.first).collect();
    assert_eq!(firsts, [1, 10]);
}
