//! The disk of the journal or of the ledger is full, while a server runs or when it starts, and has room again.

use crate::kill::{Acknowledged, Heard};
use crate::process::{Server, serve, verb};
use crate::settling::settled;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system of its own; gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one, which needs the right to.
    fn mount(at: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m,mode=700", "firstcome-test"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server that is being killed may still hold it.
        drop(Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

/// Fills a disk to the last byte; gives the file to remove.
fn fill(disk: &Path) -> PathBuf {
    let ballast = disk.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    let (block, mut room) = ([0; 4096], true);
    while room {
        room = std::io::Write::write_all(&mut file, &block).is_ok();
    }
    ballast
}

#[test]
fn a_full_disk_is_said_and_once_there_is_room_the_server_goes_on_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        let remedy = "run the test where it may mount a tmpfs, as root";
        return firstcome_testbed::missing("tmpfs", remedy);
    };
    let server = Server::with(folder.path(), &[("ARCHIVE", "false")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 1_000_000);
    let mut acknowledged = Acknowledged::default();
    let mut heard = |subject: &str, answer: &serde_json::Value| {
        let at = answer["at"].as_str().unwrap().to_owned();
        let rank = answer["rank"].as_u64().unwrap();
        acknowledged.hear(subject.to_owned(), Heard { rank, at });
    };
    for n in 0..20 {
        let subject = format!("early-{n}");
        heard(&subject, &talk.claim("drop", &subject).says(201, "won"));
    }

    // Somebody else fills the disk to the last byte.
    let ballast = fill(folder.path());
    // The write-ahead log has some room inside that it may use up first.
    let mut refused = None;
    for n in 0..2_000 {
        let subject = format!("{}-{n}", "x".repeat(200));
        let answer = talk.claim("drop", &subject);
        if answer.status != 201 {
            refused = Some((subject, answer));
            break;
        }
        heard(&subject, &answer.says(201, "won"));
    }
    let (subject, answer) = refused.expect("a full disk is noticed");
    let problem = answer.refuses("store_full", "nothing changed");
    assert_eq!((answer.status, &problem["changed"]), (507, &json!("no")));
    let ready = talk.get("/readyz");
    assert_eq!(ready.status, 503);
    assert!(ready.json()["reasons"][0].as_str().unwrap().contains("full"), "{}", ready.text());
    let absent = talk.get(&format!("/v1/campaigns/drop/claims/{subject}"));
    absent.refuses("no_such_claim", "drop");

    let position = talk.position();
    std::fs::remove_file(&ballast).unwrap();
    // Nobody claims anything: the server finds out by itself. A position can be waited for.
    let next = |position: &str| {
        let number: u64 = position.strip_prefix("0.").unwrap().parse().unwrap();
        format!("/v1/time?min_position=0.{}", number + 1)
    };
    let ticked = talk.get(&next(&position));
    assert_eq!(ticked.status, 200, "{} {}", ticked.text(), talk.get("/readyz").text());
    assert_eq!(talk.get("/readyz").status, 200);
    heard(&subject, &talk.claim("drop", &subject).says(201, "won"));
    acknowledged.check(&mut talk, "drop");
    assert_eq!(acknowledged.broken, Vec::<String>::new());

    // And all of it is there after a kill.
    server.kill();
    let server = Server::with(folder.path(), &[("ARCHIVE", "false")]);
    acknowledged.check(&mut server.talk(), "drop");
    assert_eq!(acknowledged.broken, Vec::<String>::new());
    drop(server);
    drop(disk);
}

/// Serves a space whose ledger is on a disk that is full, makes room, and stops; gives what was settled.
fn starts_beside_a_full_disk(data: &Path, disk: &Path, subject: &str) -> u64 {
    let ballast = fill(disk);
    let ledger = format!("sqlite:{}", disk.join("ledger.sqlite").display());
    let server = Server::with(data, &[("LEDGER", &ledger)]);
    let mut talk = server.talk();
    talk.claim("drop", subject).says(201, "won");
    let trouble = loop {
        let ready = talk.get("/readyz");
        assert_eq!(ready.status, 200, "a ledger that is full stops no sale: {}", ready.text());
        if let Some(trouble) = ready.json()["settle_trouble"].as_str() {
            break trouble.to_owned();
        }
    };
    assert!(trouble.starts_with("the ledger's database is full: "), "{trouble}");
    // Who reads results now has later ones nevertheless once they are settled.
    drop(talk.get("/v1/campaigns/drop/results"));
    std::fs::remove_file(&ballast).unwrap();
    let through = settled(&mut talk);
    let page = talk.get("/v1/campaigns/drop/results").json();
    assert_eq!(page["results"].as_array().unwrap().len() as u64, through, "{page}");
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success(), "{said}");
    assert!(said.contains("serving without the ledger for now, results wait for it"), "{said}");
    through
}

#[test]
fn a_server_starts_though_the_disk_of_its_ledger_is_full() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        let remedy = "run the test where it may mount a tmpfs, as root";
        return firstcome_testbed::missing("tmpfs", remedy);
    };
    let server = Server::with(data.path(), &[("LEDGER", "none")]);
    server.talk().open_campaign("drop", 10);
    drop(server);
    // First there is no file yet, then there is one.
    assert_eq!(starts_beside_a_full_disk(data.path(), folder.path(), "ann"), 1);
    assert_eq!(starts_beside_a_full_disk(data.path(), folder.path(), "bob"), 2);
    drop(disk);
}

#[test]
fn a_server_does_not_start_on_a_full_disk_and_says_so_and_once_there_is_room_has_it_all() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        let remedy = "run the test where it may mount a tmpfs, as root";
        return firstcome_testbed::missing("tmpfs", remedy);
    };
    let settings = [("ARCHIVE", "false")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    talk.open_campaign("drop", 10);
    talk.claim("drop", "ann").says(201, "won");
    server.terminate();
    assert!(server.ended().0.success());

    let ballast = fill(folder.path());
    let ended = serve(folder.path(), &settings).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("No space left") && !said.contains("panicked"), "{said}");
    // Those that only read need no room.
    let (code, said, why) = verb(folder.path(), &settings, &["audit"]);
    assert_eq!(code, 0, "{said}{why}");

    std::fs::remove_file(&ballast).unwrap();
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    talk.claim("drop", "ann").says(200, "already_won");
    talk.claim("drop", "bob").says(201, "won");
    drop(server);
    drop(disk);
}

#[test]
fn a_ledger_whose_disk_fills_up_stops_no_sale_and_has_every_result_once_there_is_room() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        let remedy = "run the test where it may mount a tmpfs, as root";
        return firstcome_testbed::missing("tmpfs", remedy);
    };
    let ledger = format!("sqlite:{}", folder.path().join("ledger.sqlite").display());
    let settings = [("LEDGER", &*ledger), ("SETTLE_INTERVAL_MS", "1")];
    let server = Server::with(data.path(), &settings);
    let mut talk = server.talk();
    talk.open_campaign("drop", 1_000_000);
    talk.claim("drop", "ann").says(201, "won");
    assert_eq!(settled(&mut talk), 1);

    let ballast = fill(folder.path());
    // Its log has some room inside that it may use up first.
    let mut claims = 1;
    let trouble = loop {
        talk.claim("drop", &format!("{}-{claims}", "x".repeat(200))).says(201, "won");
        claims += 1;
        let ready = talk.get("/readyz");
        if let Some(trouble) = ready.json()["settle_trouble"].as_str() {
            break trouble.to_owned();
        }
        assert!(claims < 20_000, "a full disk is noticed");
    };
    assert!(trouble.contains("full"), "{trouble}");
    let begun = std::time::Instant::now();
    while talk.get("/readyz").status != 200 {
        let ready = talk.get("/readyz").text();
        assert!(begun.elapsed().as_secs() < 60, "a ledger that is full stops no sale: {ready}");
    }
    for n in 0..20 {
        talk.claim("drop", &format!("late-{n}")).says(201, "won");
    }

    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(settled(&mut talk), claims + 20);
    drop(server);
    let (code, said, why) = verb(data.path(), &settings, &["audit"]);
    assert_eq!(code, 0, "{said}{why}");
    assert!(said.contains(&format!("the ledger has the first {} of", claims + 20)), "{said}");
    drop(disk);
}
