//! The page that documents the stored bytes says what is so.

use crate::world::{Hands, Player, SPACE, Scratch, open};
use firstcome_core::command::{BodyWriter, Command, Mark};
use firstcome_core::names::NodeId;
use firstcome_core::outcome::{By, Refusal};
use firstcome_core::{LEVEL, Timestamp};
use firstcome_journal::entry::Sealer;
use firstcome_journal::{Entry, Journal, Name, archive};
use rusqlite::Connection;

const PAGE: &str = include_str!("../../../../docs/reference/journal-format.md");
const SQLITE: &str = include_str!("../../../../docs/reference/in-sqlite.md");
const NODE: NodeId = NodeId(*b"0123456789abcdef");

/// The body that the page takes apart.
fn example() -> Vec<u8> {
    let mut body = BodyWriter::at_level(1, NODE, 7, 41);
    let commands = [
        Command::claim("spring", None, "ann"),
        Command::claim("spring", None, "bob"),
        Command::Cancel {
            campaign: "spring",
            pool: Some("main"),
            subject: "ann",
            rank: 17,
            by: By::Operator,
            reason: "paid twice",
            who: "desk",
        },
        Command::Tick { mark: Mark { position: 41, digest: 0x1234 } },
    ];
    for command in &commands {
        assert!(body.push(command));
    }
    body.finish()
}

fn entry() -> Entry {
    Entry {
        position: 42,
        at: Timestamp::from_micros(1_803_988_800_000_000),
        epoch: 0,
        before: Name { node: NODE, number: 6 },
        body: example().into(),
    }
}

/// The bytes of the block on the page that begins with these words; what follows a `#` is talk.
fn hex(title: &str) -> Vec<u8> {
    let block = PAGE.split("```text\n").skip(1).find(|block| block.starts_with(title));
    let block = block.unwrap_or_else(|| panic!("no block {title}")).split("```").next().unwrap();
    let lines = block.lines().skip(1).filter_map(|line| line.split('#').next());
    let digits = lines.flat_map(str::split_whitespace);
    digits.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[test]
fn the_worked_body_is_byte_by_byte_what_is_written() {
    let bytes = example();
    assert_eq!(shown(&hex("# a body")), shown(&bytes));
}

#[test]
fn the_checksum_of_the_worked_entry_is_right() {
    let seal = Sealer { space: SPACE }.seal(&entry());
    let text = format!("`{seal:016x}`");
    assert!(PAGE.contains(&text), "the page has another checksum than {text}");
}

#[tokio::test]
async fn the_worked_archive_is_byte_by_byte_what_is_written() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.data()).unwrap();
    let folder = scratch.data().join("archive");
    let sealer = Sealer { space: SPACE };
    let mut written = archive::Archive::open(&folder, sealer, 42, |_| Ok(None)).unwrap();
    written.add(&[(entry(), Name { node: NODE, number: 7 })]).unwrap();
    let path = archive::parts(&folder).unwrap().remove(0).path;
    assert!(PAGE.contains(path.file_name().unwrap().to_str().unwrap()));
    let bytes = std::fs::read(path).unwrap();
    let body = example();
    let (front, rest) = bytes.split_at(44 + 48);
    assert_eq!(shown(&hex("# the head of an archive file")), shown(&front[..44]));
    assert_eq!(shown(&hex("# what comes before the body")), shown(&front[44..]));
    assert_eq!(rest[..body.len()], body);
    assert_eq!(shown(&hex("# what comes after the body")), shown(&rest[body.len()..]));
}

#[tokio::test]
async fn every_table_and_column_is_on_the_page() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    Player::new(b'a').claims(&journal, "ann").await.unwrap();
    // One table comes with its first row.
    journal.skip(crate::skips::skip(1, b'a', 1)).await.unwrap();
    sqlite.close().await;
    let connection = Connection::open(scratch.data().join("journal.sqlite")).unwrap();
    let sql = "SELECT tables.name, columns.name, columns.type
        FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table'";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut columns = 0;
    while let Some(row) = rows.next().unwrap() {
        let (table, column): (String, String) = (row.get(0).unwrap(), row.get(1).unwrap());
        let section = SQLITE.split(&format!("### `{table}`")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{table} is not on the page"));
        let section = section.split("\n#").next().unwrap();
        assert!(section.contains(&format!("`{column}`")), "{table}.{column} is not on the page");
        columns += 1;
    }
    assert!(columns > 20, "{columns}");
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).unwrap();
    assert!(SQLITE.contains(&format!("`{id:#010x}`")), "{id:#010x}");
}

#[test]
fn every_refusal_is_on_the_page() {
    for refusal in Refusal::ALL {
        let name = format!("`{}`", refusal.as_str());
        assert!(PAGE.contains(&name), "{name} is not on the page");
    }
    assert!(PAGE.contains(&format!("level {LEVEL}")));
}
