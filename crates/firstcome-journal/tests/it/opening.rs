//! What keeps a folder or a journal from being opened.

use crate::child;
use crate::world::{Hands, Player, SPACE, Scratch, open, options};
use firstcome_core::names::SpaceId;
use firstcome_journal::folder::{self, DataFolder, Owner};
use firstcome_journal::sqlite::{Options, ReadOnly, Sqlite};
use firstcome_journal::verify::Verify;
use firstcome_journal::{Journal, JournalError};
use rusqlite::Connection;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The level that a later build brings.
const TOO_NEW: u32 = firstcome_core::LEVEL + 1;

fn refusal(data: &Path, options: Options) -> JournalError {
    let folder = DataFolder::take(data).unwrap();
    Sqlite::open(&folder, options).unwrap_err()
}

/// A closed journal with one entry.
async fn filled() -> (Scratch, Hands) {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    Player::new(b'a').claims(&Journal::Sqlite(sqlite.clone()), "ann").await.unwrap();
    sqlite.close().await;
    (scratch, hands)
}

fn edit(data: &Path, sql: &str) {
    let connection = Connection::open(data.join("journal.sqlite")).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_new_journal_takes_the_space_it_is_given() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let fresh = SpaceId([9; 16]);
    let any = Options { clock: hands.clock(), ..Options::new(fresh) };
    let sqlite = Sqlite::open(&DataFolder::take(scratch.data()).unwrap(), any.clone()).unwrap();
    sqlite.close().await;
    let other = Options { fresh_space: SPACE, ..any };
    let sqlite = Sqlite::open(&DataFolder::take(scratch.data()).unwrap(), other).unwrap();
    let head = Journal::Sqlite(sqlite.clone()).head().await.unwrap();
    assert_eq!(head.space, fresh, "it keeps the first one");
    sqlite.close().await;
}

#[tokio::test]
async fn a_journal_of_another_space_is_refused() {
    let (scratch, hands) = filled().await;
    let wanted = SpaceId([1; 16]);
    let failure = refusal(&scratch.data(), Options { space: Some(wanted), ..options(&hands) });
    let JournalError::OtherSpace { found, wanted: asked } = failure else { panic!("{failure}") };
    assert_eq!((found, asked), (SPACE, wanted));
}

#[tokio::test]
async fn a_journal_of_a_higher_level_is_refused() {
    let (scratch, hands) = filled().await;
    edit(&scratch.data(), &format!("UPDATE head SET level = {TOO_NEW}"));
    let failure = refusal(&scratch.data(), options(&hands));
    assert!(matches!(failure, JournalError::TooNew(TOO_NEW)), "{failure}");
    let failure = ReadOnly::open(&scratch.data()).unwrap_err();
    assert!(matches!(failure, JournalError::TooNew(TOO_NEW)), "{failure}");
}

#[tokio::test]
async fn a_file_is_at_level_1_until_an_entry_of_level_2_is_stored() {
    firstcome_inject::invent_level(true);
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    for level in [1, 1, 2, 1] {
        let mut append = ann.next("ann");
        let (node, number) = (append.name.node, append.name.number);
        let body = firstcome_core::command::BodyWriter::at_level(level, node, number, 0);
        append.body = body.finish().into();
        ann.apply(&journal.append(append).await.unwrap().entries);
    }
    assert_eq!(journal.head().await.unwrap().level, 2, "it never goes down");
    sqlite.close().await;
    assert_eq!(ReadOnly::open(&scratch.data()).unwrap().head().unwrap().level, 2);
    firstcome_inject::invent_level(false);
    let failure = ReadOnly::open(&scratch.data()).unwrap_err();
    assert!(matches!(failure, JournalError::TooNew(2)), "{failure}");
}

#[tokio::test]
async fn an_entry_of_a_higher_level_stops_the_reader_there() {
    let (scratch, hands) = filled().await;
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    let mut ann = Player::new(b'a');
    ann.apply(&journal.read(0).await.unwrap().entries);
    let mut append = ann.next("ann");
    append.name.number = 2;
    append.body =
        firstcome_core::command::BodyWriter::at_level(TOO_NEW, ann.node, 2, 0).finish().into();
    journal.append(append).await.unwrap();
    assert_eq!(journal.read(0).await.unwrap().entries.len(), 1, "what can be read is given");
    let failure = journal.read(1).await.unwrap_err();
    assert!(matches!(failure, JournalError::TooNew(TOO_NEW)), "{failure}");
    sqlite.close().await;
    let failure = refusal(&scratch.data(), options(&hands));
    assert!(matches!(failure, JournalError::TooNew(TOO_NEW)), "{failure}");
}

#[tokio::test]
async fn a_file_that_is_something_else_is_left_alone() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    std::fs::create_dir(scratch.data()).unwrap();
    edit(&scratch.data(), "CREATE TABLE recipes (cake TEXT); INSERT INTO recipes VALUES ('plum')");
    let before = std::fs::read(scratch.data().join("journal.sqlite")).unwrap();
    let failure = refusal(&scratch.data(), options(&hands));
    assert!(
        matches!(&failure, JournalError::Broken(text) if text.contains("not a journal")),
        "{failure}"
    );
    assert_eq!(before, std::fs::read(scratch.data().join("journal.sqlite")).unwrap());
    assert!(matches!(ReadOnly::open(&scratch.data()), Err(JournalError::Broken(_))));
}

#[test]
fn where_there_is_no_journal_there_is_nothing_to_read() {
    let scratch = Scratch::new();
    let failure = ReadOnly::open(&scratch.data()).unwrap_err();
    assert!(
        matches!(&failure, JournalError::Unreadable(text) if text.contains("not there")),
        "{failure}"
    );
}

#[test]
fn a_folder_has_one_owner_at_a_time() {
    let scratch = Scratch::new();
    assert_eq!(folder::owner(scratch.data()), None);
    let taken = DataFolder::take(scratch.data()).unwrap();
    let pid = Some(std::process::id());
    assert_eq!(folder::owner(scratch.data()), Some(Owner { pid, address: None }));
    taken.announce("http://127.0.0.1:4711").unwrap();
    let address = Some("http://127.0.0.1:4711".to_owned());
    assert_eq!(folder::owner(scratch.data()), Some(Owner { pid, address }));
    let failure = DataFolder::take(scratch.data()).unwrap_err();
    let JournalError::InUse { owner, .. } = &failure else { panic!("{failure}") };
    assert_eq!(*owner, format!("process {} at http://127.0.0.1:4711", std::process::id()));
    drop(taken);
    is_free(&scratch);
    let mode = std::fs::metadata(scratch.data()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "a new folder is its owner's alone");
    DataFolder::take(scratch.data()).unwrap();
}

#[test]
fn a_lock_that_leads_elsewhere_is_not_followed() {
    let scratch = Scratch::new();
    drop(DataFolder::take(scratch.data()).unwrap());
    let (lock, elsewhere) = (scratch.data().join("lock"), scratch.data().join("elsewhere"));
    std::fs::write(&elsewhere, "what somebody keeps").unwrap();
    for place in ["link", "pipe"] {
        std::fs::remove_file(&lock).unwrap();
        match place {
            "link" => std::os::unix::fs::symlink(&elsewhere, &lock).unwrap(),
            _ => assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success()),
        }
        let said = DataFolder::take(scratch.data()).unwrap_err().to_string();
        assert!(said.contains("`lock` in it is no regular file: remove it"), "{place}: {said}");
        assert_eq!(folder::owner(scratch.data()), None, "{place}");
    }
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "what somebody keeps");
}

/// Waits until nobody has the folder: a process that another test has just started may keep its lock until it runs.
fn is_free(scratch: &Scratch) {
    let begun = Instant::now();
    while let Some(owner) = folder::owner(scratch.data()) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{owner:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Takes the folder, which somebody who looks may have for as long as a busy machine keeps them waiting.
fn taken(scratch: &Scratch) -> DataFolder {
    let begun = Instant::now();
    loop {
        match DataFolder::take(scratch.data()) {
            Ok(taken) => return taken,
            Err(failure) => assert!(begun.elapsed() < Duration::from_secs(10), "{failure}"),
        }
    }
}

#[test]
fn a_folder_is_free_when_its_owner_is_killed() {
    if child::is_child() {
        let data = PathBuf::from(std::env::var_os("DATA").unwrap());
        let taken = DataFolder::take(data).unwrap();
        taken.announce("http://127.0.0.1:1").unwrap();
        println!("answered 1");
        // Until killed.
        drop(std::io::read_to_string(std::io::stdin()));
        return;
    }
    let scratch = Scratch::new();
    let mut command = child::again(&[], "opening::a_folder_is_free_when_its_owner_is_killed");
    let mut owner = child::Answering::start(command.env("DATA", scratch.data()));
    assert_eq!(owner.next(), Some(1));
    let failure = DataFolder::take(scratch.data()).unwrap_err();
    assert!(
        matches!(&failure, JournalError::InUse { owner, .. } if owner.contains("http://127.0.0.1:1")),
        "{failure}"
    );
    assert_ne!(folder::owner(scratch.data()).unwrap().pid, Some(std::process::id()));
    owner.kill();
    drop(taken(&scratch));
}

#[test]
fn looking_who_the_owner_is_keeps_nobody_out() {
    let scratch = Scratch::new();
    drop(DataFolder::take(scratch.data()).unwrap());
    std::thread::scope(|scope| {
        let looking =
            scope.spawn(|| (0..2_000).filter(|_| folder::owner(scratch.data()).is_some()).count());
        let mut refused = 0;
        for _ in 0..50 {
            refused += u32::from(DataFolder::take(scratch.data()).is_err());
        }
        // Of a machine that is busy, one or two may be kept out for as long as a looker stands still.
        assert!(refused <= 2, "{refused} of 50");
        looking.join().unwrap();
    });
}

#[tokio::test]
async fn the_folder_is_kept_as_long_as_its_journal_is_open() {
    let (scratch, hands) = filled().await;
    let sqlite = open(&scratch.data(), &hands);
    assert!(folder::owner(scratch.data()).is_some(), "though the taker let go of it");
    let clone = sqlite.clone();
    drop(sqlite);
    assert_eq!(Journal::Sqlite(clone.clone()).head().await.unwrap().position, 1);
    clone.close().await;
    is_free(&scratch);
    let failure = Journal::Sqlite(clone).head().await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    let left = scratch.data().join("journal.sqlite-wal");
    assert!(!left.exists(), "what is closed is one file");
}

/// As a user without rights: what may not be written to is refused by name, and may be read.
#[test]
fn what_may_not_be_written_to_is_refused_and_can_be_read() {
    if child::is_child() {
        let data = PathBuf::from(std::env::var_os("DATA").unwrap());
        if std::env::var_os("FOLDER_WRITABLE").is_some() {
            let failure = refusal(&data, Options::new(SPACE));
            assert!(matches!(failure, JournalError::ReadOnly(_)), "{failure}");
        } else {
            let failure = DataFolder::take(&data).unwrap_err();
            assert!(matches!(failure, JournalError::Folder { .. }), "{failure}");
        }
        let journal = ReadOnly::open(&data).unwrap();
        assert_eq!(Verify::new(&journal).run(|_| {}).unwrap().entries, 1);
        return;
    }
    let test = "opening::what_may_not_be_written_to_is_refused_and_can_be_read";
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for folder_writable in [false, true] {
        let (scratch, _) = runtime.block_on(filled());
        let may = |path: PathBuf, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        may(scratch.data().join("journal.sqlite"), 0o444);
        may(scratch.data(), if folder_writable { 0o777 } else { 0o555 });
        may(scratch.data().join("lock"), if folder_writable { 0o666 } else { 0o444 });
        let mut command = child::again(&[], test);
        command.env("DATA", scratch.data());
        if folder_writable {
            command.env("FOLDER_WRITABLE", "yes");
        }
        if child::is_root() {
            command.uid(65_534).gid(65_534);
        }
        child::must_pass(&mut command);
        may(scratch.data(), 0o700);
    }
}
