//! The write-ahead log of the journal's file does not grow without end while appends go on.

use crate::world::{Hands, Scratch, node, open};
use firstcome_core::Command;
use firstcome_core::command::BodyWriter;
use firstcome_journal::{Append, Journal, Name};
use rusqlite::Connection;
use std::path::Path;

/// Bodies of about 128 KiB.
const CLAIMS: usize = 2_000;

/// Appends so many large entries; gives how long the log became.
async fn log_after(journal: &Journal, data: &Path, appends: u64) -> u64 {
    let mut before = Name::default();
    for number in 1..=appends {
        let name = Name { node: node(b'a'), number };
        let mut body = BodyWriter::new(name.node, number, 0);
        for claim in 0..CLAIMS {
            assert!(body.push(&Command::claim(
                "spring",
                None,
                &format!("{number:032}-{claim:024}")
            )));
        }
        let body = body.finish().into();
        let append = Append { body, name, applied: number - 1, applied_name: before };
        journal.append(append).await.unwrap();
        before = name;
    }
    std::fs::metadata(data.join("journal.sqlite-wal")).unwrap().len()
}

#[tokio::test]
async fn the_log_is_written_into_the_file_while_appends_go_on() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let length = log_after(&Journal::Sqlite(sqlite.clone()), &scratch.data(), 1_000).await;
    assert!(length < 96 << 20, "of 128 MiB of entries, the log has {length} bytes");
    sqlite.close().await;
    let sqlite = open(&scratch.data(), &hands);
    assert_eq!(Journal::Sqlite(sqlite.clone()).head().await.unwrap().position, 1_000);
    sqlite.close().await;
}

/// Nothing of the log gets into the file past what somebody still reads: it grows, and no append fails.
#[tokio::test]
async fn twin_the_log_grows_while_somebody_reads_the_file() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let reading = Connection::open(scratch.data().join("journal.sqlite")).unwrap();
    reading.execute_batch("BEGIN; SELECT count(*) FROM journal").unwrap();
    let length = log_after(&Journal::Sqlite(sqlite.clone()), &scratch.data(), 1_000).await;
    assert!(length > 96 << 20, "of 128 MiB of entries, the log has {length} bytes");
    let told = Journal::Sqlite(sqlite.clone()).write_ahead_log().unwrap().bytes;
    assert!(told > 96 << 20, "it says that the log has {told} bytes");
    reading.execute_batch("COMMIT").unwrap();
    sqlite.close().await;
}
