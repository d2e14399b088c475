//! What every store must do with entries that are skipped.

use crate::world::{MINUTE, NOON, Player, SPACE, Stage, install, node, open};
use firstcome_core::Timestamp;
use firstcome_core::state::Skip;
use firstcome_journal::cluster::NodeStatus;
use firstcome_journal::{Journal, JournalError, Reading, archive, sqlite};

pub(crate) fn skip(position: u64, letter: u8, number: u64) -> Skip {
    let (reason, who) = ("areas overflow".into(), "ops".into());
    Skip { position, node: node(letter), number, at: Timestamp::from_micros(NOON), reason, who }
}

pub(crate) async fn an_entry_is_skipped_for_everybody(stage: &Stage) {
    let journal = &stage.journal;
    let mut ann = Player::new(b'a');
    for _ in 0..40 {
        ann.claims(journal, "ann").await.unwrap();
    }
    assert_eq!(journal.head().await.unwrap().skips, 0);
    assert_eq!(journal.skips().await.unwrap(), []);
    for position in [40, 3] {
        journal.skip(skip(position, b'a', position)).await.unwrap();
    }
    // To be told again what is there changes nothing.
    journal.skip(skip(3, b'a', 3)).await.unwrap();
    let mut skips = journal.skips().await.unwrap();
    skips.sort_by_key(|skip| skip.position);
    assert_eq!(skips, [skip(3, b'a', 3), skip(40, b'a', 40)]);
    assert_eq!(journal.head().await.unwrap().skips, 2);
    assert_eq!(journal.read(0).await.unwrap().entries.len(), 40, "the entries stay");
}

pub(crate) async fn only_an_entry_that_is_there_under_its_name_is_skipped(stage: &Stage) {
    let journal = &stage.journal;
    let mut ann = Player::new(b'a');
    for _ in 0..3 {
        ann.claims(journal, "ann").await.unwrap();
    }
    let refused = journal.skip(skip(4, b'a', 4)).await.unwrap_err();
    assert!(matches!(refused, JournalError::Behind { head: 3, .. }), "{refused}");
    for (position, letter, number) in [(2, b'a', 3), (3, b'b', 3)] {
        let refused = journal.skip(skip(position, letter, number)).await.unwrap_err();
        assert!(matches!(refused, JournalError::Forked { .. }), "{refused}");
    }
    assert_eq!(journal.skips().await.unwrap(), []);
}

pub(crate) async fn an_entry_that_a_snapshot_has_is_not_skipped(stage: &Stage) {
    let journal = &stage.journal;
    let mut ann = Player::new(b'a');
    for _ in 0..4 {
        ann.claims(journal, "ann").await.unwrap();
    }
    let term = journal.mint_term().await.unwrap();
    install(journal, 3, b"manifest".to_vec(), Vec::new(), term).await.unwrap();
    for position in [2, 3] {
        let refused = journal.skip(skip(position, b'a', position)).await.unwrap_err();
        assert!(matches!(refused, JournalError::Applied { .. }), "{refused}");
    }
    journal.skip(skip(4, b'a', 4)).await.unwrap();
}

pub(crate) async fn an_entry_that_a_node_applied_is_not_skipped(stage: &Stage) {
    let journal = &stage.journal;
    let mut ann = Player::new(b'a');
    for _ in 0..4 {
        ann.claims(journal, "ann").await.unwrap();
    }
    let says = |letter, position| NodeStatus {
        node: node(letter),
        position,
        durable: position,
        epoch: 0,
        digest: 0,
        level: 1,
        memory: 0,
        since: Timestamp::from_micros(NOON),
        address: "http://10.0.0.7:8080".into(),
        words: "".into(),
    };
    assert_eq!(journal.announce(says(b'x', 2), 1).await.unwrap().head.skips, 0);
    journal.announce(says(b'y', 3), 1).await.unwrap();
    let refused = journal.skip(skip(3, b'a', 3)).await.unwrap_err();
    assert!(refused.to_string().contains("10.0.0.7:8080"), "{refused}");
    journal.skip(skip(4, b'a', 4)).await.unwrap();
    assert_eq!(journal.announce(says(b'x', 2), 1).await.unwrap().head.skips, 1);
    // One that is gone for ten seconds says nothing any more.
    stage.hands.turn(MINUTE);
    journal.skip(skip(3, b'a', 3)).await.unwrap();
}

#[tokio::test]
async fn a_file_without_skips_has_no_table_for_them_and_the_archive_keeps_them() {
    let scratch = crate::world::Scratch::new();
    let hands = crate::world::Hands::new();
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    for _ in 0..9 {
        ann.claims(&journal, "ann").await.unwrap();
    }
    let tables = || {
        let file = rusqlite::Connection::open(scratch.data().join("journal.sqlite")).unwrap();
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'skip'";
        file.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap()
    };
    assert_eq!(tables(), 0);
    journal.skip(skip(2, b'a', 2)).await.unwrap();
    assert_eq!(tables(), 1);
    let term = journal.mint_term().await.unwrap();
    for position in [7, 8] {
        install(&journal, position, vec![position as u8], Vec::new(), term).await.unwrap();
    }
    hands.turn(11 * MINUTE);
    assert_eq!(journal.trim(term).await.unwrap(), 8);
    let folder = scratch.data().join("archive");
    assert_eq!(archive::skips(&folder).unwrap(), [skip(2, b'a', 2)]);
    sqlite.close().await;
    let reading = Reading::Sqlite(sqlite::ReadOnly::open(&scratch.data()).unwrap());
    assert_eq!(reading.skips().unwrap(), [skip(2, b'a', 2)], "each once");
    assert_eq!(reading.head().unwrap().space, SPACE);
    // A record that was altered is damage with its position.
    let file = folder.join(format!("{:020}.skip", 2));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let damaged = reading.skips().unwrap_err();
    assert!(matches!(damaged, JournalError::Damaged { position: 2, .. }), "{damaged}");
}
