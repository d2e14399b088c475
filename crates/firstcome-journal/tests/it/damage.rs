//! Bytes that change behind the journal's back.

use crate::world::{Hands, MINUTE, Player, Scratch, install, open};
use firstcome_journal::sqlite::ReadOnly;
use firstcome_journal::verify::{Verified, Verify};
use firstcome_journal::{Journal, JournalError, Looked, archive};
use rusqlite::Connection;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const ENTRIES: u64 = 20;

/// A closed journal with twenty entries, the first eight of them in the archive.
async fn filled() -> (Scratch, Hands) {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    for number in 1..=ENTRIES {
        ann.claims(&journal, &format!("subject-{number}")).await.unwrap();
    }
    hands.turn(11 * MINUTE);
    let term = journal.mint_term().await.unwrap();
    for position in [8, 15] {
        let bytes = vec![position as u8; 100];
        let name = firstcome_core::names::PieceName::of(&bytes);
        journal.put_piece(name, bytes).await.unwrap();
        install(&journal, position, vec![position as u8], vec![name], term).await.unwrap();
    }
    assert_eq!(journal.trim(term).await.unwrap(), 9);
    sqlite.close().await;
    (scratch, hands)
}

fn verify(data: &Path) -> Result<Verified, JournalError> {
    Verify::new(&ReadOnly::open(data)?).run(|_| {})
}

/// The position of the damage that is found, and what is said about it.
fn found(data: &Path) -> (u64, String) {
    match verify(data) {
        Err(JournalError::Damaged { position, why }) => (position, why),
        other => panic!("{other:?}"),
    }
}

fn edit(data: &Path, sql: &str) {
    let connection = Connection::open(data.join("journal.sqlite")).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

fn archive_file(data: &Path) -> PathBuf {
    archive::parts(&data.join("archive")).unwrap().remove(0).path
}

fn flip(path: &Path, at: u64) {
    let mut file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 0x10]).unwrap();
}

#[tokio::test]
async fn what_is_whole_is_found_whole() {
    let (scratch, _) = filled().await;
    let mut steps = Vec::new();
    let journal = ReadOnly::open(&scratch.data()).unwrap();
    let verified = Verify::new(&journal).run(|progress| steps.push(progress.through)).unwrap();
    let expected = (1, ENTRIES, ENTRIES, 2);
    assert_eq!((verified.from, verified.through, verified.entries, verified.pieces), expected);
    assert_eq!(steps, [0, ENTRIES]);
    let later = Verify::new(&journal).from(12).run(|_| {}).unwrap();
    assert_eq!((later.from, later.entries), (12, 9));
}

#[tokio::test]
async fn each_part_of_an_entry_is_covered() {
    let changes = [
        ("body = zeroblob(length(body))", "its body"),
        ("body = substr(body, 1, length(body) - 1)", "its body"),
        ("body = x''", "its checksum"),
        ("at = at + 1", "its checksum"),
        ("epoch = 3", "its checksum"),
        ("before_number = before_number + 1", "its checksum"),
        ("before_node = zeroblob(16)", "its checksum"),
        ("before_node = zeroblob(15)", "it cannot be read"),
        ("seal = seal + 1", "its checksum"),
        ("body = (SELECT body FROM journal WHERE position = 13)", "its checksum"),
    ];
    for (change, says) in changes {
        let (scratch, _) = filled().await;
        edit(&scratch.data(), &format!("UPDATE journal SET {change} WHERE position = 12"));
        let (position, why) = found(&scratch.data());
        assert_eq!(position, 12, "{change}: {why}");
        assert!(why.contains(says), "{change}: {why}");
    }
}

#[tokio::test]
async fn missing_and_moved_entries_are_found() {
    let swap = "UPDATE journal SET position = -1 WHERE position = 12;
        UPDATE journal SET position = 12 WHERE position = 13;
        UPDATE journal SET position = 13 WHERE position = -1;";
    let whole_rows = "CREATE TABLE two AS SELECT * FROM journal WHERE position IN (12, 13);
        DELETE FROM journal WHERE position = 13;
        UPDATE journal SET (at, epoch, before_node, before_number, seal, body) =
            (SELECT at, epoch, before_node, before_number, seal, body FROM two WHERE position = 13)
            WHERE position = 12;
        DROP TABLE two;";
    for change in ["DELETE FROM journal WHERE position = 12", swap, whole_rows] {
        let (scratch, _) = filled().await;
        edit(&scratch.data(), change);
        let (position, why) = found(&scratch.data());
        assert_eq!(position, 12, "{change}: {why}");
    }
    // The end of the list has no successor that could tell: only its own head does, in memory.
    let (scratch, _) = filled().await;
    edit(&scratch.data(), "DELETE FROM journal WHERE position < 12");
    assert_eq!(found(&scratch.data()).0, 9, "between the archive and the journal");
}

#[tokio::test]
async fn another_journals_entry_does_not_pass() {
    let (scratch, _) = filled().await;
    edit(&scratch.data(), "UPDATE head SET space = zeroblob(16)");
    let journal = ReadOnly::open(&scratch.data()).unwrap();
    let failure = journal.head().unwrap_err();
    assert!(matches!(failure, JournalError::Damaged { position: ENTRIES, .. }), "{failure}");
}

#[tokio::test]
async fn a_server_meets_the_damage_with_its_position() {
    let (scratch, hands) = filled().await;
    edit(&scratch.data(), "UPDATE journal SET at = at + 1 WHERE position = 12");
    let journal = Journal::Sqlite(open(&scratch.data(), &hands));
    let read = journal.read(8).await.unwrap();
    assert_eq!(read.looked, Looked::More, "what is good in front is not all there is");
    let front = read.entries;
    assert_eq!(front.last().unwrap().position, 11, "what is good comes first");
    let failure = journal.read(11).await.unwrap_err();
    assert!(matches!(failure, JournalError::Damaged { position: 12, .. }), "{failure}");
    let trimmed = journal.read(7).await.unwrap_err();
    assert!(matches!(trimmed, JournalError::Trimmed { wanted: 8, first: 9 }), "{trimmed}");
    // Nobody who has not seen the damaged entry can append across it.
    let mut bob = Player::new(b'b');
    bob.applied = 10;
    bob.applied_name = crate::world::name_of(&front[1]);
    let failure = bob.claims(&journal, "bob").await.unwrap_err();
    assert!(matches!(failure, JournalError::Damaged { position: 12, .. }), "{failure}");
    assert_eq!(journal.head().await.unwrap().position, ENTRIES);
}

#[tokio::test]
async fn a_damaged_last_entry_keeps_the_journal_closed() {
    let (scratch, hands) = filled().await;
    edit(&scratch.data(), "UPDATE journal SET body = zeroblob(9) WHERE position = 20");
    let folder = firstcome_journal::folder::DataFolder::take(scratch.data()).unwrap();
    let options = crate::world::options(&hands);
    let failure = firstcome_journal::sqlite::Sqlite::open(&folder, options).unwrap_err();
    assert!(matches!(failure, JournalError::Damaged { position: 20, .. }), "{failure}");
}

#[tokio::test]
async fn a_torn_file_is_found() {
    let (scratch, _) = filled().await;
    let path = scratch.data().join("journal.sqlite");
    let bytes = std::fs::read(&path).unwrap();
    // Cut within the pages: whichever page is gone, it is noticed, and never skipped.
    for keep in [bytes.len() / 2, bytes.len() - 4096, 5000, 100] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let failure = verify(&scratch.data()).unwrap_err();
        let says = matches!(failure, JournalError::Damaged { .. } | JournalError::Broken(_));
        assert!(says, "{keep} bytes: {failure}");
    }
    std::fs::write(&path, b"not a database at all, but long enough to be taken for one").unwrap();
    let failure = verify(&scratch.data()).unwrap_err();
    assert!(matches!(failure, JournalError::Broken(_)), "{failure}");
}

#[tokio::test]
async fn every_flipped_byte_of_the_archive_is_found() {
    let (scratch, _) = filled().await;
    let path = archive_file(&scratch.data());
    let length = std::fs::metadata(&path).unwrap().len();
    let mut positions = Vec::new();
    for at in 0..length {
        flip(&path, at);
        match verify(&scratch.data()) {
            Err(JournalError::Damaged { position, .. }) => positions.push(position),
            other => panic!("byte {at}: {other:?}"),
        }
        flip(&path, at);
    }
    assert!(positions.is_sorted(), "damage is found where it is: {positions:?}");
    assert_eq!((positions[0], *positions.last().unwrap()), (1, 8));
    verify(&scratch.data()).unwrap();
}

#[tokio::test]
async fn an_archive_cut_anywhere_is_found() {
    let (scratch, _) = filled().await;
    let path = archive_file(&scratch.data());
    let bytes = std::fs::read(&path).unwrap();
    for keep in 0..bytes.len() {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let (position, why) = found(&scratch.data());
        assert!((1..=8).contains(&position), "{keep} bytes: entry {position}, {why}");
    }
    std::fs::remove_file(&path).unwrap();
    let verified = verify(&scratch.data()).unwrap();
    assert_eq!((verified.from, verified.entries), (9, 12), "it says from where it looked");
}

#[tokio::test]
async fn a_damaged_piece_is_found() {
    let (scratch, hands) = filled().await;
    edit(&scratch.data(), "UPDATE piece SET bytes = zeroblob(100)");
    let failure = verify(&scratch.data()).unwrap_err();
    assert!(matches!(&failure, JournalError::Broken(text) if text.contains("piece")), "{failure}");
    let name = firstcome_core::names::PieceName::of(&[15; 100]);
    let journal = Journal::Sqlite(open(&scratch.data(), &hands));
    assert!(matches!(journal.piece(name).await, Err(JournalError::Broken(_))));
    drop(journal);
    let (scratch, _) = filled().await;
    edit(&scratch.data(), "DELETE FROM piece");
    let failure = verify(&scratch.data()).unwrap_err();
    assert!(
        matches!(&failure, JournalError::Broken(text) if text.contains("missing")),
        "{failure}"
    );
}
