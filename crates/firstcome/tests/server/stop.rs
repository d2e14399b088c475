//! The server is told to stop in the middle of a flood, and starts again with everything.

use crate::kill::{Acknowledged, Heard};
use crate::process::Server;
use crate::wire::Talk;
use serde_json::json;
use std::sync::mpsc;

/// What one of the crowd met.
enum Met {
    Won(String, Heard),
    /// A problem: its outcome and what it says about change.
    Problem(String, String),
    /// The connection ended between two answers.
    HungUp,
}

fn crowd(mut talk: Talk, one: u32, tell: &mpsc::Sender<Met>) {
    for n in 0..20_000 {
        let subject = format!("s{one}-{n}");
        let Ok(answer) = talk.try_claim("flood", &subject) else {
            drop(tell.send(Met::HungUp));
            return;
        };
        let said = answer.json();
        let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let met = match answer.status {
            201 => {
                Met::Won(subject, Heard { rank: said["rank"].as_u64().unwrap(), at: word("at") })
            }
            _ => Met::Problem(word("outcome"), word("changed")),
        };
        if tell.send(met).is_err() {
            return;
        }
    }
}

#[test]
fn told_to_stop_in_a_flood_it_answers_what_it_took_and_ends_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    server.talk().open_campaign("flood", 1_000_000);
    let (tell, told) = mpsc::channel();
    let mut acknowledged = Acknowledged::default();
    let (mut problems, mut hung_up) = (Vec::new(), 0);
    std::thread::scope(|threads| {
        for one in 0..8 {
            // Connected before anybody claims: the server may be told to stop before a thread begins.
            let (tell, talk) = (tell.clone(), server.talk());
            threads.spawn(move || crowd(talk, one, &tell));
        }
        drop(tell);
        for (n, met) in told.into_iter().enumerate() {
            if n == 500 {
                server.terminate();
            }
            match met {
                Met::Won(subject, heard) => acknowledged.hear(subject, heard),
                Met::Problem(outcome, changed) => problems.push((outcome, changed)),
                Met::HungUp => hung_up += 1,
            }
        }
    });
    let (ended, said) = server.ended();
    assert!(ended.success(), "{ended}: {said}");
    assert!(said.contains("stopped cleanly"), "{said}");
    assert_eq!(hung_up, 8, "everybody is let go between two answers");
    for (outcome, changed) in &problems {
        assert!(&**outcome == "unavailable" && changed == "no", "{problems:?}");
    }
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    acknowledged.check(&mut talk, "flood");
    assert_eq!(acknowledged.broken, Vec::<String>::new());
    // Nobody's claim was taken without an answer: as many are there as were told.
    let taken = talk.get("/v1/campaigns/flood").json()["pools"][0]["taken"].clone();
    assert_eq!(taken, json!(acknowledged.by_subject.len()));
}

#[test]
fn told_to_stop_among_streams_and_claims_it_keeps_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("OPS_LISTEN", "127.0.0.1:0")]);
    let mut talk = server.talk();
    talk.open_campaign("flood", 1_000_000);
    let follow = |_| {
        let mut watcher = server.talk();
        let answer = watcher.try_ask("GET", "/v1/campaigns/flood/events", None).unwrap();
        assert_eq!(answer.status, 200);
        watcher
    };
    let mut watchers: Vec<Talk> = (0..30).map(follow).collect();
    talk.claim("flood", "the-first").says(201, "won");
    for watcher in &mut watchers {
        watcher.until("event: standing");
    }
    let (tell, told) = mpsc::channel();
    let mut acknowledged = Acknowledged::default();
    std::thread::scope(|threads| {
        for one in 0..8 {
            // Connected before anybody claims: the server may be told to stop before a thread begins.
            let (tell, talk) = (tell.clone(), server.talk());
            threads.spawn(move || crowd(talk, one, &tell));
        }
        drop(tell);
        for (n, met) in told.into_iter().enumerate() {
            if n == 400 {
                server.terminate();
            }
            if let Met::Won(subject, heard) = met {
                acknowledged.hear(subject, heard);
            }
        }
    });
    for watcher in &mut watchers {
        let rest = watcher.rest().unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
    let (ended, said) = server.ended();
    assert!(ended.success() && said.contains("stopped cleanly"), "{ended}: {said}");
    assert!(acknowledged.by_subject.len() >= 400);
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    acknowledged.check(&mut talk, "flood");
    assert_eq!(acknowledged.broken, Vec::<String>::new());
}

#[test]
fn told_to_stop_it_ends_the_streams_of_all_who_watch_a_hall() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    let seats = json!([{"name": "A1"}, {"name": "A2"}]);
    let pools = json!([{"name": "main", "kind": "seated", "seats": seats}]);
    let settings = json!({"opens_at": "now", "pools": pools});
    talk.put("/v1/campaigns/hall", &settings).says(201, "created");
    let map = talk.get("/v1/campaigns/hall/pools/main/seats").json();
    let path = format!("/v1/campaigns/hall/events?after={}", map["position"].as_str().unwrap());
    let follow = |_| {
        let mut watcher = server.talk();
        let answer = watcher.try_ask("GET", &path, None).unwrap();
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("text/event-stream"))
        );
        watcher
    };
    let mut watchers: Vec<Talk> = (0..50).map(follow).collect();
    let hold = json!({"id": "h1", "subject": "ann", "picks": [{"units": ["A1", "A2"]}]});
    talk.post("/v1/campaigns/hall/holds", &hold).says(201, "held");
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success(), "{ended}: {said}");
    assert!(said.contains("stopped cleanly") && !said.contains("were cut"), "{said}");
    for watcher in &mut watchers {
        // The last chunk, which has nothing in it: the stream is over, not torn.
        let rest = watcher.rest().unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
}

#[test]
fn a_client_that_never_finishes_does_not_keep_it_from_ending_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("DRAIN_MS", "300")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    talk.claim("drop", "ann").says(201, "won");
    let mut head = server.talk();
    head.send("POST /v1/campaigns/drop/claims HTTP/1.1\r\nhost:").unwrap();
    let mut body = server.talk();
    let path = "/v1/campaigns/drop/claims";
    let expect = [("expect", "100-continue")];
    let whole = body.request("POST", path, &expect, Some("{\"subject\": \"bob\"}"));
    body.send(&whole[..whole.len() - 1]).unwrap();
    // A connection of which nothing was read is not waited for. That of the body was read: it is told to go on.
    assert_eq!(body.hear().unwrap().status, 100);
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success(), "{ended}: {said}");
    assert!(said.contains("were cut") && said.contains("stopped cleanly"), "{said}");
    Server::on(folder.path()).talk().claim("drop", "ann").says(200, "already_won");
}

#[test]
fn a_start_from_a_snapshot_gives_the_same_state() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing is added to the journal but by the test, so that no snapshot is of a later position.
    let settings = [("SNAPSHOT_EVERY", "1s"), ("LEDGER", "none")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    talk.open_campaign("drop", 200);
    for n in 0..150 {
        talk.claim("drop", &format!("s{n}")).says(201, "won");
    }
    // A snapshot is due within a second or two of entries that are not in one.
    let snapshot = (0..100_000).find(|_| talk.metric("firstcome_snapshots_total") > 0);
    assert!(snapshot.is_some(), "no snapshot was made");
    for n in 150..160 {
        talk.claim("drop", &format!("s{n}")).says(201, "won");
    }
    let path = "/v1/campaigns/drop/claims/s3?rank=4&by=subject";
    talk.try_ask("DELETE", path, None).unwrap().says(200, "cancelled");
    let position: u64 = talk.position()[2..].parse().unwrap();
    let audit = |talk: &mut Talk| {
        talk.get(&format!("/v1/audit?position={position}")).json()["digest"].clone()
    };
    let digest = audit(&mut talk);
    assert!(digest.is_string());
    server.kill();
    for _ in 0..2 {
        let server = Server::with(folder.path(), &[("LEDGER", "none")]);
        let mut talk = server.talk();
        assert_eq!(audit(&mut talk), digest);
        assert_eq!(
            talk.claim("drop", "s3").refuses("already_cancelled", "")["changed"],
            json!("no")
        );
        let shown = talk.get("/v1/campaigns/drop").json();
        let pool = &shown["pools"][0];
        assert_eq!((&pool["last_rank"], &pool["taken"]), (&json!(160), &json!(159)));
        server.terminate();
        let (ended, said) = server.ended();
        assert!(ended.success(), "{ended}: {said}");
    }
    // Journal and snapshot say the same, recomputed from the first entry.
    let journal = rusqlite::Connection::open(folder.path().join("journal.sqlite")).unwrap();
    let snapshots: i64 =
        journal.query_row("SELECT count(*) FROM manifest", [], |row| row.get(0)).unwrap();
    assert!(snapshots > 0);
}
