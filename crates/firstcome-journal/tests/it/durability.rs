//! What was answered is on the disk, whatever happens to the process.

use crate::child::{self, Answering};
use crate::world::{Hands, Player, Scratch, all, open, subject_of};
use firstcome_journal::{Journal, JournalError};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn data() -> PathBuf {
    PathBuf::from(std::env::var_os("DATA").unwrap())
}

/// The child's half: appends one entry after the other and says which was answered.
fn append_and_tell(count: u64) {
    runtime().block_on(async {
        let journal = Journal::Sqlite(open(&data(), &Hands::new()));
        let mut ann = Player::new(b'a');
        ann.apply(&all(&journal, 0).await);
        ann.number = ann.applied;
        for _ in 0..count {
            let subject = format!("subject-{}", ann.applied + 1);
            ann.claims(&journal, &subject).await.unwrap();
            println!("answered {}", ann.applied);
        }
    });
}

/// The twin's half: a writer that answers before it commits, and is killed in between.
fn answer_before_the_commit(answers: u64) {
    let connection = raw(&data());
    for position in 1..=answers {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection.execute("INSERT INTO raw VALUES (?1)", [position as i64]).unwrap();
        println!("answered {position}");
        if position == answers {
            drop(std::io::read_to_string(std::io::stdin()));
        }
        connection.execute_batch("COMMIT").unwrap();
    }
}

fn raw(data: &Path) -> Connection {
    std::fs::create_dir_all(data).unwrap();
    let connection = Connection::open(data.join("raw.sqlite")).unwrap();
    let set_up = "PRAGMA journal_mode = wal; PRAGMA synchronous = full;
        CREATE TABLE IF NOT EXISTS raw (position INTEGER PRIMARY KEY)";
    connection.execute_batch(set_up).unwrap();
    connection
}

/// The answered positions that are not stored.
fn missing(answered: &[u64], stored: &[u64]) -> Vec<u64> {
    answered.iter().copied().filter(|position| !stored.contains(position)).collect()
}

#[test]
fn what_was_answered_outlives_kill_9() {
    if child::is_child() {
        return append_and_tell(u64::MAX);
    }
    let scratch = Scratch::new();
    let mut answered = Vec::new();
    for round in 1..=5 {
        let mut command = child::again(&[], "durability::what_was_answered_outlives_kill_9");
        let mut child = Answering::start(command.env("DATA", scratch.data()));
        for _ in 0..20 * round {
            answered.push(child.next().unwrap());
        }
        answered.extend(child.kill());
    }
    let entries = runtime()
        .block_on(async { all(&Journal::Sqlite(open(&scratch.data(), &Hands::new())), 0).await });
    let stored: Vec<u64> = entries.iter().map(|entry| entry.position).collect();
    assert_eq!(missing(&answered, &stored), [0; 0]);
    assert!(entries.len() >= 300 && entries.len() <= answered.len() + 5, "{}", entries.len());
    for entry in &entries {
        assert_eq!(subject_of(entry), format!("subject-{}", entry.position));
    }
}

#[test]
fn twin_a_writer_that_answers_first_loses_what_it_answered() {
    if child::is_child() {
        return answer_before_the_commit(20);
    }
    let scratch = Scratch::new();
    let test = "durability::twin_a_writer_that_answers_first_loses_what_it_answered";
    let mut command = child::again(&[], test);
    let mut child = Answering::start(command.env("DATA", scratch.data()));
    let mut answered: Vec<u64> = (0..20).map(|_| child.next().unwrap()).collect();
    answered.extend(child.kill());
    let connection = raw(&scratch.data());
    let mut statement = connection.prepare("SELECT position FROM raw").unwrap();
    let stored = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    let stored: Vec<u64> = stored.map(|position| position.unwrap() as u64).collect();
    assert_eq!(missing(&answered, &stored), [20]);
}

/// Goes through a trace and gives the answers that had no sync since the answer before.
fn answers_without_sync(trace: &str) -> (u64, Vec<String>) {
    let (mut answers, mut synced, mut bad) = (0, false, Vec::new());
    for line in trace.lines() {
        if line.contains("sync(") || line.contains("sync resumed") {
            synced = true;
        } else if let Some(at) = line.find("answered ") {
            answers += 1;
            if !synced {
                bad.push(line[at..].to_owned());
            }
            synced = false;
        }
    }
    (answers, bad)
}

/// Runs a child under strace; nothing if that is not possible here.
fn traced(test: &str, scratch: &Scratch) -> Option<String> {
    if !child::can_trace() {
        return None;
    }
    let trace = scratch.data().with_file_name("trace");
    let trace_text = trace.to_str().unwrap();
    let wrapper = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", "-o", trace_text];
    child::must_pass(child::again(&wrapper, test).env("DATA", scratch.data()));
    Some(std::fs::read_to_string(&trace).unwrap())
}

#[test]
fn every_answer_waits_for_a_sync() {
    if child::is_child() {
        return append_and_tell(25);
    }
    let scratch = Scratch::new();
    if let Some(trace) = traced("durability::every_answer_waits_for_a_sync", &scratch) {
        assert_eq!(answers_without_sync(&trace), (25, Vec::new()));
    }
}

#[test]
fn twin_without_full_synchronous_answers_do_not_wait() {
    if child::is_child() {
        let connection = raw(&data());
        connection.pragma_update(None, "synchronous", "normal").unwrap();
        for position in 1..=25 {
            connection.execute("INSERT INTO raw VALUES (?1)", [position]).unwrap();
            println!("answered {position}");
        }
        return;
    }
    let scratch = Scratch::new();
    let test = "durability::twin_without_full_synchronous_answers_do_not_wait";
    if let Some(trace) = traced(test, &scratch) {
        let (answers, bad) = answers_without_sync(&trace);
        assert_eq!(answers, 25);
        assert!(bad.len() >= 20, "{bad:?}");
    }
}

/// Copies a file as a crash would leave it: without whoever has it open.
fn crash_image(data: &Path, file: &str) -> PathBuf {
    let image = data.with_file_name("image");
    std::fs::create_dir_all(&image).unwrap();
    for end in ["", "-wal"] {
        let name = format!("{file}{end}");
        let copied = std::process::Command::new("cp")
            .args([data.join(&name), image.join(&name)])
            .status()
            .unwrap();
        assert!(copied.success());
    }
    image
}

/// Runs a test again with the n-th sync failing; says no if that is not possible here.
fn with_a_failing_sync(test: &str, n: u32) -> bool {
    if !child::can_trace() {
        return false;
    }
    let scratch = Scratch::new();
    let inject = format!("inject=fdatasync,fsync:error=EIO:when={n}");
    let wrapper = ["strace", "-f", "-e", "trace=fsync,fdatasync", "-e", &inject, "-o", "/dev/null"];
    let output = child::must_pass(child::again(&wrapper, test).env("DATA", scratch.data()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("a sync failed"), "no sync failed: {text}");
    true
}

/// A commit whose sync fails stands in the log all the same, and would count after a crash: before
/// it is called not done, something else must have taken its place.
#[test]
fn a_commit_called_not_done_is_not_there_after_a_crash() {
    if child::is_child() {
        return runtime().block_on(async {
            let hands = Hands::new();
            let journal = Journal::Sqlite(open(&data(), &hands));
            let mut ann = Player::new(b'a');
            let failure = loop {
                assert!(ann.applied < 50, "no sync failed");
                match ann.claims(&journal, "ann").await {
                    Ok(_) => {}
                    Err(failure) => break failure,
                }
            };
            println!("a sync failed: {failure}");
            assert!(matches!(failure, JournalError::Full(_)), "{failure}");
            let image = crash_image(&data(), "journal.sqlite");
            let after = Journal::Sqlite(open(&image, &hands));
            assert_eq!(after.head().await.unwrap().position, ann.applied);
            // And it goes on.
            ann.claims(&journal, "ann").await.unwrap();
            assert_eq!(journal.head().await.unwrap().position, ann.applied);
        });
    }
    with_a_failing_sync("durability::a_commit_called_not_done_is_not_there_after_a_crash", 20);
}

#[test]
fn twin_a_failed_commit_left_alone_comes_back_after_a_crash() {
    if child::is_child() {
        let connection = raw(&data());
        let insert = |position: i64| connection.execute("INSERT INTO raw VALUES (?1)", [position]);
        let failed = (1..50).find(|position| insert(*position).is_err()).unwrap();
        println!("a sync failed");
        let count = |connection: &Connection| -> i64 {
            connection.query_row("SELECT max(position) FROM raw", [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count(&connection), failed - 1, "whoever looks says: not done");
        let image = crash_image(&data(), "raw.sqlite");
        assert_eq!(count(&raw(&image)), failed, "and there it is");
        return;
    }
    with_a_failing_sync("durability::twin_a_failed_commit_left_alone_comes_back_after_a_crash", 20);
}
