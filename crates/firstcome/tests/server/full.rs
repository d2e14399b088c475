//! The disk fills up under a running server, and has room again.

use crate::kill::{Acknowledged, Heard};
use crate::process::Server;
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

    std::fs::remove_file(&ballast).unwrap();
    // Nobody claims anything: the server finds out by itself. A position can be waited for.
    let next = |position: &str| {
        let number: u64 = position.strip_prefix("0.").unwrap().parse().unwrap();
        format!("/v1/time?min_position=0.{}", number + 1)
    };
    let position = talk.position();
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
