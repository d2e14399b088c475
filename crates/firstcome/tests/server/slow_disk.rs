//! The disk of the journal stands still while a server runs: what needs no journal is answered, the rest in time.

use crate::process::Server;
use rusqlite::Connection;
use std::thread;
use std::time::Duration;

/// How long the disk stands still: longer than commands wait here, shorter than SQLite waits for a lock.
const STANDS_STILL: Duration = Duration::from_secs(3);

#[test]
fn a_disk_that_stands_still_keeps_only_those_who_need_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("COMMAND_WAIT_MS", "1000")]);
    let mut talk = server.talk();
    talk.open_campaign("tiny", 1);
    talk.open_campaign("drop", 1_000);
    talk.claim("tiny", "ann").says(201, "won");
    for number in 0..20 {
        talk.claim("drop", &format!("early-{number}")).says(201, "won");
    }
    // Their connections are where the first claims of each were answered.
    let mut waiting: Vec<_> = (0..8).map(|_| server.talk()).collect();
    for (number, talk) in waiting.iter_mut().enumerate() {
        talk.claim("drop", &format!("w{number}")).says(201, "won");
    }
    // To who writes, a lock of somebody else's is what a disk is that does not answer.
    let other = Connection::open(folder.path().join("journal.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (sender, outcomes) = std::sync::mpsc::channel();
    let callers: Vec<_> = waiting
        .into_iter()
        .enumerate()
        .map(|(number, mut talk)| {
            let sender = sender.clone();
            thread::spawn(move || {
                let answer = talk.claim("drop", &format!("late-{number}"));
                sender.send(answer.outcome()).unwrap();
            })
        })
        .collect();
    // They are all on their way to the disk, or wait behind who is.
    thread::sleep(Duration::from_millis(300));
    talk.claim("tiny", "ann").says(200, "already_won");
    talk.claim("tiny", "bob").refuses("sold_out", "");
    assert_eq!(server.talk().get("/livez").status, 200);
    for _ in &callers {
        let outcome = outcomes.recv_timeout(STANDS_STILL).expect("every caller hears in time");
        assert!(["unknown", "unavailable"].contains(&outcome.as_str()), "{outcome}");
    }
    other.execute_batch("ROLLBACK").unwrap();
    // Whoever asks again learns what became of it, and nobody has two.
    for number in 0..8 {
        let answer = talk.claim("drop", &format!("late-{number}"));
        assert!(["won", "already_won"].contains(&answer.outcome().as_str()));
    }
    let taken = talk.get("/v1/campaigns/drop").json()["pools"][0]["taken"].clone();
    assert_eq!(taken, 36, "20 early, 8 on the connections that waited, 8 late");
    for caller in callers {
        caller.join().unwrap();
    }
}
