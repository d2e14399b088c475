//! The archive's files, and trims that were cut short.

use crate::trimming::{Trimmed, subjects};
use crate::world::{Hands, MINUTE, Player, SPACE, Scratch, all, open};
use firstcome_journal::entry::Sealer;
use firstcome_journal::sqlite::ReadOnly;
use firstcome_journal::{Journal, JournalError, archive};
use std::path::Path;

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
    assert!(
        matches!(&failure, JournalError::Broken(text) if text.contains("archive")),
        "{failure}"
    );
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
    let sealer = Sealer { space: SPACE };
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
    let other = Sealer { space: firstcome_core::SpaceId([1; 16]) };
    let failure = archive::Archive::open(&folder, other, 10, |_| Ok(None)).unwrap_err();
    assert!(matches!(failure, JournalError::OtherSpace { .. }), "{failure}");
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
