//! What a store has after a fixed story, byte by byte: what was written by earlier builds is read by this one, and the
//! other way round.
//!
//! `FIRSTCOME_BLESS=1` writes the files in `golden/` again. They change with a new level only.

use crate::sharing::announcement;
use crate::skips::skip;
use crate::world::{Hands, MINUTE, NOON, Player, SPACE, Scratch, all, install, node, options};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use firstcome_journal::cluster::Seed;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::redis::{self, Durability, Redis};
use firstcome_journal::sqlite::Sqlite;
use firstcome_journal::{Journal, JournalError, Name};
use firstcome_store::{Command, RedisOptions, RedisReply, Wire};
use firstcome_testbed::RedisServer as Server;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::fmt::Write as _;
use std::path::Path;

async fn snapshot(journal: &Journal, position: u64, pieces: &[u8], term: u64) {
    let mut names = Vec::new();
    for piece in pieces {
        let bytes = vec![*piece; 3];
        names.push(PieceName::of(&bytes));
        journal.put_piece(PieceName::of(&bytes), bytes).await.unwrap();
    }
    let manifest = format!("manifest {position}").into_bytes();
    install(journal, position, manifest, names, term).await.unwrap();
}

/// Appends, snapshots, a skipped entry, and what goes with time: all that a store of one node has.
async fn one_node(journal: &Journal, hands: &Hands) {
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for round in 0..5 {
        ann.claims(journal, &format!("ann{round}")).await.unwrap();
        hands.turn(MINUTE);
        bob.claims(journal, &format!("bob{round}")).await.unwrap();
    }
    journal.mint_term().await.unwrap();
    let term = journal.mint_term().await.unwrap();
    snapshot(journal, 2, &[1, 2], term).await;
    hands.turn(1);
    snapshot(journal, 4, &[2, 3], term).await;
    hands.turn(1);
    snapshot(journal, 6, &[4], term).await;
    hands.turn(1);
    snapshot(journal, 6, &[2, 4, 5], term).await;
    journal.skip(skip(9, b'a', 5)).await.unwrap();
    let stray = vec![9; 3];
    journal.put_piece(PieceName::of(&stray), stray).await.unwrap();
    hands.turn(6 * MINUTE);
    snapshot(journal, 5, &[6], term).await;
    assert_eq!(journal.trim(term).await.unwrap(), 4, "3 is as old as that");
    hands.turn(20 * MINUTE);
    assert_eq!(journal.trim(term).await.unwrap(), 6);
}

/// Heartbeats, a fork and its report, and entries that were put back.
async fn several_nodes(journal: &Journal, hands: &Hands) {
    for letter in [b'a', b'b', b'c'] {
        journal.announce(announcement(letter, 7), 2).await.unwrap();
        hands.turn(1);
    }
    journal.leave(node(b'c')).await.unwrap();
    journal.raise_epoch(journal.head().await.unwrap()).await.unwrap();
    journal.report(1, node(b'a'), "a report".to_owned()).await.unwrap();
    let head = journal.head().await.unwrap();
    let elsewhere = Journal::Memory(firstcome_journal::memory::Memory::new(SPACE, hands.clock()));
    let mut zoe = Player::new(b'z');
    for number in 0..3 {
        zoe.claims(&elsewhere, &format!("zoe{number}")).await.unwrap();
    }
    let mut entries = all(&elsewhere, 0).await;
    let mut before = head.name;
    for (entry, place) in entries.iter_mut().zip(1..) {
        (entry.position, entry.epoch, entry.before) = (head.position + place, 2, before);
        before = entry.name().unwrap();
    }
    journal.put_back(head.position, head.name, entries).await.unwrap();
    let mut ann = Player::new(b'a');
    (ann.number, ann.applied, ann.applied_name) = (5, head.position + 3, before);
    ann.claims(journal, "ann").await.unwrap();
}

/// A state in the place of what is there, and after everything was lost.
async fn seeded(journal: &Journal, seen: bool) {
    let bytes = vec![7; 3];
    let piece = PieceName::of(&bytes);
    journal.put_piece(piece, bytes).await.unwrap();
    let seed = Seed {
        position: 30,
        name: Name { node: node(b's'), number: 3 },
        at: Timestamp::from_micros(NOON + 600 * MINUTE),
        epoch: 5,
        level: 2,
        manifest: b"manifest 30".to_vec(),
        pieces: vec![piece],
    };
    let seen = if seen { Some(journal.head().await.unwrap()) } else { None };
    journal.reseed(seen, seed.clone()).await.unwrap();
    let mut eve = Player { applied: 30, applied_name: seed.name, ..Player::new(b'e') };
    eve.claims(journal, "eve").await.unwrap();
}

fn hex(bytes: &[u8]) -> String {
    let plain = bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    if plain {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn shown(reply: &RedisReply) -> String {
    match reply {
        RedisReply::Nil => "nothing".to_owned(),
        RedisReply::Number(number) => number.to_string(),
        RedisReply::Bytes(bytes) => hex(bytes),
        RedisReply::List(parts) => parts.iter().map(shown).collect::<Vec<_>>().join(" "),
    }
}

/// All keys of a server and what they have, in order.
async fn keys_of(wire: &Wire) -> String {
    let ask = async |name, words: &[&str]| {
        let command = words.iter().fold(Command::new(name), |command, word| command.arg(*word));
        wire.send(&command).await.unwrap()
    };
    let mut text = String::new();
    let keys = ask("KEYS", &["*"]).await;
    let mut keys: Vec<String> =
        keys.list().unwrap().iter().map(|key| key.text().unwrap()).collect();
    keys.sort();
    for key in keys {
        let kind = ask("TYPE", &[&key]).await.text().unwrap();
        writeln!(text, "{key}: {kind}").unwrap();
        let (content, width) = match kind.as_str() {
            "hash" => (ask("HGETALL", &[&key]).await, 2),
            "zset" => (ask("ZRANGE", &[&key, "0", "-1", "WITHSCORES"]).await, 2),
            "stream" => (ask("XRANGE", &[&key, "-", "+"]).await, 1),
            _ => (RedisReply::List(vec![ask("GET", &[&key]).await]), 1),
        };
        let rows = content.list().unwrap().chunks(width);
        let mut rows: Vec<_> = rows.map(|row| shown(&RedisReply::List(row.to_vec()))).collect();
        // Only a stream has an order of its own.
        if kind == "hash" {
            rows.sort();
        }
        rows.iter().for_each(|row| writeln!(text, "  {row}").unwrap());
    }
    text
}

/// All tables of a file and their rows, in order.
fn tables_of(file: &Path) -> String {
    let connection = Connection::open(file).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut tables = connection.prepare(sql).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut text = String::new();
    for table in tables.map(Result::unwrap) {
        writeln!(text, "{table}:").unwrap();
        let mut rows = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
        let width = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..width).map(|at| match row.get_ref(at).unwrap() {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Blob(bytes) => hex(bytes),
                other @ (ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_)) => {
                    panic!("{other:?}")
                }
            });
            writeln!(text, "  {}", values.collect::<Vec<_>>().join(" ")).unwrap();
        }
    }
    text
}

/// Compares what is stored with a file, or writes it.
fn compare(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    if std::env::var_os("FIRSTCOME_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (number, (wanted, is)) in golden.lines().zip(found.lines()).enumerate() {
        assert_eq!(is, wanted, "{name}, line {}", number + 1);
    }
    assert_eq!(found.lines().count(), golden.lines().count(), "{name} has other lines");
}

#[tokio::test]
async fn a_redis_has_these_bytes() {
    let Some(server) = Server::start() else { return };
    let (hands, store) = (Hands::new(), || RedisOptions::new(server.url()));
    let wire = Wire::connect(store()).await.unwrap();
    let mut options = redis::Options::new(SPACE, Durability::Memory);
    options.clock = Some(hands.clock());
    let journal = Journal::Redis(Redis::open(store(), options).await.unwrap());
    let mut text = String::new();
    one_node(&journal, &hands).await;
    text += &format!("# after the story of one node\n{}", keys_of(&wire).await);
    several_nodes(&journal, &hands).await;
    text += &format!("# after the story of several\n{}", keys_of(&wire).await);
    seeded(&journal, true).await;
    text += &format!("# after a seed\n{}", keys_of(&wire).await);
    assert_eq!(server.ask("FLUSHALL"), "+OK");
    assert!(matches!(journal.head().await, Err(JournalError::Gone(SPACE))));
    seeded(&journal, false).await;
    text += &format!("# after a seed where everything was lost\n{}", keys_of(&wire).await);
    compare("redis.txt", &text);
}

#[tokio::test]
async fn a_file_has_these_bytes() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let folder = DataFolder::take(scratch.data()).unwrap();
    let sqlite = Sqlite::open(&folder, options(&hands)).unwrap();
    one_node(&Journal::Sqlite(sqlite.clone()), &hands).await;
    sqlite.close().await;
    compare("sqlite.txt", &tables_of(&scratch.data().join("journal.sqlite")));
}
