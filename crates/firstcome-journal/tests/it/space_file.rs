//! A space in a file: it comes back as it was written, damage of any kind is found, and a SQLite file begins after it.

use crate::world::{Hands, Player, SPACE, Scratch, all, open, options};
use firstcome_core::command::{Command, Expect, Order, moved};
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings, Settings};
use firstcome_core::state::Skip;
use firstcome_core::{LEVEL, Outcome, State, Timestamp};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::space_file::{About, Purpose, SpaceFile, SpaceWriter};
use firstcome_journal::sqlite::{ReadOnly, Sqlite};
use firstcome_journal::{Append, Entry, Journal, JournalError, Name, Reading};
use std::path::{Path, PathBuf};

const ABOUT: About = About { space: SPACE, level: LEVEL, purpose: Purpose::Move };

/// Three claims in a campaign, and the state behind them.
async fn entries(journal: &Journal) -> (Vec<Entry>, State) {
    let mut ann = Player::new(b'a');
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        pools: vec![PoolSettings::counted("main", 100)],
        holding: HoldSettings::default(),
    };
    ann.number += 1;
    let name = Name { node: ann.node, number: ann.number };
    let mut body = firstcome_core::command::BodyWriter::new(name.node, name.number, 0);
    let order = Order { id: None, who: "admin" };
    let expect = Expect::Absent;
    assert!(body.push(&Command::Put { campaign: "spring", settings, expect, order }));
    let body = body.finish().into();
    let append = Append { body, name, applied: 0, applied_name: Name::default() };
    ann.apply(&journal.append(append).await.unwrap().entries);
    for who in ["ann", "bob", "cid"] {
        ann.claims(journal, who).await.unwrap();
    }
    let entries = all(journal, 0).await;
    let mut state = State::new(SPACE);
    apply(&mut state, &entries);
    assert_eq!(state.last_result(), 3);
    (entries, state)
}

fn apply(state: &mut State, entries: &[Entry]) {
    for entry in entries {
        let (stamp, body) = entry.open().unwrap();
        let mut outcomes: Vec<Outcome> = Vec::new();
        state.try_apply(stamp, &body.commands().unwrap(), &mut outcomes).unwrap();
    }
}

fn skip() -> Skip {
    Skip {
        position: 2,
        node: NodeId([9; 16]),
        number: 1,
        at: Timestamp::from_micros(5),
        reason: "of another history".into(),
        who: "eve".into(),
    }
}

/// Writes a file of entries and the state behind them; `start` is the state before them, if that is not the beginning.
fn write(path: &Path, start: Option<&State>, entries: &[Entry], state: &State) {
    let mut file = SpaceWriter::create(path, ABOUT).unwrap();
    if let Some(start) = start {
        let mut frozen = start.freeze(true);
        let mut pieces = Vec::new();
        while let Some(mut piece) = frozen.next_piece() {
            pieces.push((piece.name, piece.bytes.take().unwrap()));
        }
        file.start(frozen.finish()).unwrap();
        pieces.iter().for_each(|(name, bytes)| file.piece(*name, bytes).unwrap());
    }
    file.skip(&skip()).unwrap();
    entries.iter().for_each(|entry| file.entry(entry).unwrap());
    file.entries_end();
    let mut frozen = state.freeze(true);
    while let Some(mut piece) = frozen.next_piece() {
        file.piece(piece.name, &piece.bytes.take().unwrap()).unwrap();
    }
    file.state(frozen.finish()).unwrap();
    file.finish().unwrap();
}

fn opened(path: &Path) -> Result<SpaceFile, JournalError> {
    SpaceFile::open(path, |_, _| {})
}

/// A whole file of three claims, the entries in it, and the state behind them.
async fn written(scratch: &Scratch) -> (PathBuf, Vec<Entry>, State) {
    let sqlite = open(&scratch.data(), &Hands::new());
    let (entries, state) = entries(&Journal::Sqlite(sqlite.clone())).await;
    sqlite.close().await;
    let path = scratch.data().join("spring.fcspace");
    write(&path, None, &entries, &state);
    (path, entries, state)
}

#[tokio::test]
async fn a_space_comes_back_as_it_was_written() {
    let scratch = Scratch::new();
    let (path, entries, state) = written(&scratch).await;
    let file = opened(&path).unwrap();
    assert_eq!(file.about(), ABOUT);
    let head = file.head().unwrap();
    assert_eq!((head.space, head.level, head.first), (SPACE, LEVEL, 1));
    assert_eq!((head.position, head.skips), (4, 1));
    assert_eq!(file.skips().unwrap(), [skip()]);
    let journal = Reading::File(file);
    for from in [1, 3, 2, 4] {
        let read: Vec<_> = journal.entries(from).map(|entry| entry.unwrap().0).collect();
        assert_eq!(read, entries[from as usize - 1..], "from {from}");
        // Reading a piece between does not mislead what comes after.
        let piece = journal.pieces().unwrap()[0];
        assert!(journal.piece(piece).unwrap().is_some());
    }
    assert_eq!(journal.start().unwrap(), None);
    let manifest = journal.newest_snapshot().unwrap().unwrap();
    let manifest = firstcome_core::snapshot::Manifest::decode(&manifest).unwrap();
    assert_eq!(manifest.digest, state.digest());
    let failure = SpaceWriter::create(&path, ABOUT).unwrap_err();
    assert!(failure.to_string().contains("nothing is written over"), "{failure}");
}

#[tokio::test]
async fn a_space_whose_first_entries_are_gone_goes_on_from_a_snapshot() {
    let scratch = Scratch::new();
    let (_, entries, state) = written(&scratch).await;
    let mut start = State::new(SPACE);
    apply(&mut start, &entries[..2]);
    let path = scratch.data().join("tail.fcspace");
    write(&path, Some(&start), &entries[2..], &state);
    let file = opened(&path).unwrap();
    assert_eq!((file.first().unwrap(), file.seed().position), (3, 4));
    assert_eq!(file.start().unwrap().digest, start.digest());
    assert_eq!(file.entries(3).count(), 2);
    // Entries that do not follow the snapshot are found out.
    let path = scratch.data().join("gap.fcspace");
    write(&path, Some(&start), &entries[3..], &state);
    let failure = opened(&path).unwrap_err();
    assert!(failure.to_string().contains("record 4"), "{failure}");
}

#[tokio::test]
async fn a_file_with_one_byte_altered_or_cut_off_anywhere_is_refused() {
    let scratch = Scratch::new();
    let (path, ..) = written(&scratch).await;
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        let failure = opened(&path).expect_err(what);
        assert!(matches!(failure, JournalError::BadFile { .. }), "{what}: {failure}");
        assert!(failure.to_string().contains("spring.fcspace"), "{failure}");
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        refused(&bytes, &format!("byte {at} of {} altered", whole.len()));
        refused(&whole[..at], &format!("cut off after {at} bytes"));
    }
    let longer = [&whole[..], &[0]].concat();
    refused(&longer, "one byte more");
    let twice = [&whole[..], &whole[48..]].concat();
    refused(&twice, "its records once more");
    std::fs::write(&path, &whole).unwrap();
    opened(&path).unwrap();
}

#[tokio::test]
async fn what_fits_its_checksums_and_not_the_rest_is_refused() {
    let scratch = Scratch::new();
    let (_, entries, state) = written(&scratch).await;
    let path = |name: &str| scratch.data().join(name);
    let why = |path: &Path| opened(path).unwrap_err().to_string();
    // An entry is missing at the end, so that the state is not the one behind the last.
    write(&path("short"), None, &entries[..3], &state);
    assert!(why(&path("short")).contains("not the one behind the last entry"));
    write(&path("gap"), None, &[entries[0].clone(), entries[2].clone()], &state);
    assert!(why(&path("gap")).contains("record 3"), "{}", why(&path("gap")));
    // A state whose pieces are not there.
    let mut file = SpaceWriter::create(&path("bare"), ABOUT).unwrap();
    entries.iter().for_each(|entry| file.entry(entry).unwrap());
    let mut frozen = state.freeze(true);
    while frozen.next_piece().is_some() {}
    file.state(frozen.finish()).unwrap();
    file.finish().unwrap();
    assert!(why(&path("bare")).contains("is missing"), "{}", why(&path("bare")));
    // Entries that were sealed for another space.
    let other = About { space: SpaceId([1; 16]), ..ABOUT };
    let mut file = SpaceWriter::create(&path("other"), other).unwrap();
    entries.iter().for_each(|entry| file.entry(entry).unwrap());
    drop(file);
    assert!(!path("other").exists() && path("other.part").exists(), "it is no file yet");
    // A level that a later build brings.
    let newer = About { level: LEVEL + 1, ..ABOUT };
    drop(SpaceWriter::create(&path("newer"), newer).unwrap());
    let failure = opened(&path("newer.part")).unwrap_err();
    assert!(matches!(failure, JournalError::TooNew(level) if level == LEVEL + 1), "{failure}");
}

#[tokio::test]
async fn a_sqlite_file_begins_after_a_state_and_goes_on_behind_it() {
    let scratch = Scratch::new();
    let (path, entries, _) = written(&scratch).await;
    let file = opened(&path).unwrap();
    let (data, hands) = (scratch.data().join("new"), Hands::new());
    let sqlite = open(&data, &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let seed = file.seed();
    let failure = journal.begin_after(seed.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::PieceMissing(_)), "{failure}");
    for name in &seed.pieces {
        journal.put_piece(*name, file.piece(*name).unwrap().unwrap()).await.unwrap();
    }
    journal.begin_after(seed.clone()).await.unwrap();
    let is_there = |head: firstcome_journal::Head| {
        assert_eq!((head.position, head.name, head.at), (4, seed.name, seed.at));
        assert_eq!((head.first, head.level), (5, LEVEL));
    };
    is_there(journal.head().await.unwrap());
    let failure = journal.begin_after(seed.clone()).await.unwrap_err();
    assert!(!matches!(failure, JournalError::Unknown(_)), "twice: {failure}");
    sqlite.close().await;
    is_there(ReadOnly::open(&data).unwrap().head().unwrap());
    let sqlite = open(&data, &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    is_there(journal.head().await.unwrap());
    // Who followed the space elsewhere goes on here.
    let mut eve = Player { applied: 4, applied_name: seed.name, ..Player::new(b'e') };
    eve.claims(&journal, "eve").await.unwrap();
    let stored = all(&journal, 4).await;
    assert_eq!((stored[0].position, stored[0].before), (5, entries[3].name().unwrap()));
    sqlite.close().await;
    let reading = Reading::Sqlite(ReadOnly::open(&data).unwrap());
    assert_eq!((reading.first().unwrap(), reading.entries(5).count()), (5, 1));
}

#[tokio::test]
async fn an_entry_that_ends_its_space_is_kept_as_any_other_and_applied_by_nobody() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "ann").await.unwrap();
    ann.number += 1;
    let name = Name { node: ann.node, number: ann.number };
    let body = moved(name.node, name.number, 1).into();
    let append = Append { body, name, applied: 1, applied_name: ann.applied_name };
    let exchange = journal.append(append).await.unwrap();
    assert!(exchange.entries[0].is_end());
    let bad = exchange.entries[0].open().unwrap_err();
    assert_eq!(bad, firstcome_core::command::BadBody::Moved);
    let head = journal.head().await.unwrap();
    assert_eq!((head.position, head.name, head.level), (2, name, LEVEL), "the level is the same");
    sqlite.close().await;
    // A build that knows no such entry would stop there for its level; this one opens the journal, too.
    let folder = DataFolder::take(scratch.data()).unwrap();
    let sqlite = Sqlite::open(&folder, options(&hands)).unwrap();
    assert!(Journal::Sqlite(sqlite.clone()).read(1).await.unwrap().entries[0].is_end());
    sqlite.close().await;
}

#[test]
fn the_worked_file_is_byte_by_byte_what_is_written() {
    const PAGE: &str = include_str!("../../../../docs/reference/space-file.md");
    let (_, block) = PAGE.split_once("```text\n# a file of a space without entries\n").unwrap();
    let lines =
        block.split("```").next().unwrap().lines().filter_map(|line| line.split('#').next());
    let digits = lines.flat_map(str::split_whitespace);
    let expected: Vec<u8> = digits.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let scratch = Scratch::new();
    let path = scratch.data().with_extension("fcspace");
    let mut file = SpaceWriter::create(&path, About { level: 1, ..ABOUT }).unwrap();
    file.entries_end();
    let mut frozen = State::new(SPACE).freeze(true);
    assert!(frozen.next_piece().is_none());
    file.state(frozen.finish()).unwrap();
    file.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    assert_eq!(opened(&path).unwrap().seed().position, 0);
}

#[tokio::test]
async fn a_backup_has_rows_of_a_ledger_and_no_other_file_has() {
    let scratch = Scratch::new();
    let (_, entries, state) = written(&scratch).await;
    let write = |name: &str, purpose: Purpose, rows: &[&[u8]]| {
        let path = scratch.data().join(name);
        let mut file = SpaceWriter::create(&path, About { purpose, ..ABOUT }).unwrap();
        entries.iter().for_each(|entry| file.entry(entry).unwrap());
        file.entries_end();
        let mut frozen = state.freeze(true);
        while let Some(mut piece) = frozen.next_piece() {
            file.piece(piece.name, &piece.bytes.take().unwrap()).unwrap();
        }
        file.state(frozen.finish()).unwrap();
        rows.iter().for_each(|row| file.row(row).unwrap());
        file.finish().unwrap();
        path
    };
    let rows: [&[u8]; 4] = [b"one", b"", &[7; 300_000], b"last"];
    let file = opened(&write("backup", Purpose::Backup, &rows)).unwrap();
    assert_eq!((file.about().purpose, file.row_count()), (Purpose::Backup, 4));
    for _ in 0..2 {
        let read: Vec<Vec<u8>> = file.rows().map(Result::unwrap).collect();
        assert_eq!(read, rows);
        assert_eq!(file.entries(2).count(), 3, "entries are read between");
    }
    let none = opened(&write("empty", Purpose::Backup, &[])).unwrap();
    assert_eq!((none.row_count(), none.rows().count()), (0, 0));
    for purpose in [Purpose::Move, Purpose::Copy] {
        let failure = opened(&write(&format!("{purpose:?}"), purpose, &rows[..1])).unwrap_err();
        assert!(failure.to_string().contains("only a backup has rows"), "{failure}");
    }
}
