//! Results reach the ledger exactly once, whatever happens to the server on the way.

use crate::process::{Server, verb};
use crate::wire::Talk;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Looks until everything is settled.
pub(crate) fn settled(talk: &mut Talk) -> u64 {
    // A database that was just started may take seconds to answer on a busy machine.
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let audit = talk.get("/v1/audit").json();
        if audit["settled"] == audit["last_result"] {
            return audit["settled"].as_u64().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it does not settle: {}", talk.get("/readyz").text());
}

/// Waits until the ledger is this leader's: it takes its term beside the claims.
pub(crate) fn has_term(talk: &mut Talk) {
    let end = Instant::now() + Duration::from_secs(60);
    while talk.get("/v1/settling").json()["term"].as_u64().unwrap_or(0) == 0 {
        assert!(Instant::now() < end, "no term: {}", talk.get("/v1/settling").text());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn results(talk: &mut Talk, query: &str) -> Vec<Value> {
    let page = talk.get(&format!("/v1/campaigns/drop/results?limit=10000{query}")).json();
    page["results"].as_array().unwrap().clone()
}

/// Returns the ledger's own rows: number, kind, rank, subject.
fn ledger(folder: &Path) -> Vec<(u64, String, u64, String)> {
    let ledger = Connection::open(folder.join("ledger.sqlite")).unwrap();
    let mut rows = ledger
        .prepare("SELECT number, kind, rank, subject FROM results_utc ORDER BY number")
        .unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        let (number, rank): (i64, i64) = (row.get(0)?, row.get(2)?);
        Ok((number.cast_unsigned(), row.get(1)?, rank.cast_unsigned(), row.get(3)?))
    };
    rows.query_map([], row).unwrap().map(Result::unwrap).collect()
}

fn same(answered: &[Value], rows: &[(u64, String, u64, String)]) {
    let answered: Vec<_> = answered
        .iter()
        .map(|result| {
            let word = |name: &str| result[name].as_str().unwrap().to_owned();
            let number = |name: &str| result[name].as_u64().unwrap();
            (number("number"), word("kind"), number("rank"), word("subject"))
        })
        .collect();
    assert_eq!(answered, rows);
}

#[test]
fn killed_while_it_settles_it_settles_every_result_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("SETTLE_INTERVAL_MS", "1"), ("SNAPSHOT_EVERY", "1s")];
    let mut claims = 0;
    for round in 0..5 {
        let server = Server::with(folder.path(), &settings);
        let mut talk = server.talk();
        if round == 0 {
            talk.open_campaign("drop", 1_000_000);
        }
        has_term(&mut talk);
        for _ in 0..150 {
            claims += 1;
            talk.claim("drop", &format!("s{claims}")).says(201, "won");
        }
        let cancel = format!("/v1/campaigns/drop/claims/s{claims}?rank={claims}&by=subject");
        talk.try_ask("DELETE", &cancel, None).unwrap().says(200, "cancelled");
        // Wherever settling is just now.
        server.kill();
    }
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    assert_eq!(settled(&mut talk), 5 * 151);
    let all = results(&mut talk, "");
    assert_eq!(all.len(), 5 * 151);
    same(&all, &ledger(folder.path()));
    let numbers: Vec<_> = all.iter().map(|result| result["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=5 * 151).collect::<Vec<_>>(), "dense, each once");
    assert_eq!(talk.get("/v1/campaigns/drop").json()["unsettled"], json!(0));
    // The terms went on, one for each start.
    assert!(talk.get("/v1/nodes").json()["settle_term"].as_u64() >= Some(6));
}

#[test]
fn results_read_the_same_before_and_after_they_are_settled() {
    let folder = tempfile::tempdir().unwrap();
    let slow = [("SETTLE_INTERVAL_MS", "60000")];
    let server = Server::with(folder.path(), &slow);
    let mut talk = server.talk();
    talk.open_campaign("drop", 50);
    for n in 0..50 {
        talk.claim("drop", &format!("s{n}")).says(201, "won");
    }
    let path = "/v1/campaigns/drop/claims/s7?rank=8&reason=twice";
    talk.try_ask("DELETE", path, None).unwrap().says(200, "cancelled");
    let before = results(&mut talk, "");
    // Told to stop, it settles what is there.
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success(), "{ended}: {said}");
    same(&before, &ledger(folder.path()));

    let server = Server::with(folder.path(), &slow);
    let mut talk = server.talk();
    assert_eq!(settled(&mut talk), 51);
    assert_eq!(results(&mut talk, ""), before);
    // New ones come from memory, the old ones from the ledger, on one page and on several.
    let path = "/v1/campaigns/drop/claims/s8?rank=9&by=subject";
    talk.try_ask("DELETE", path, None).unwrap().says(200, "cancelled");
    talk.put(
        "/v1/campaigns/drop",
        &json!({"opens_at": "now", "pools": [{"name": "main", "capacity": 52}]}),
    );
    talk.claim("drop", "late").says(201, "won");
    let all = results(&mut talk, "");
    assert_eq!((all.len(), &all[..51]), (53, &before[..]));
    assert_eq!(results(&mut talk, "&after=50"), all[50..]);
    let page = talk.get("/v1/campaigns/drop/results?after=48&limit=3").json();
    assert_eq!(page["results"].as_array().unwrap()[..], all[48..51]);
    assert_eq!(page["next"], json!(51));

    // Closed and settled it leaves memory; its results stay in the ledger.
    talk.post("/v1/campaigns/drop/close", &json!({})).says(200, "changed");
    server.terminate();
    server.ended();
    let server = Server::with(folder.path(), &[]);
    let mut talk = server.talk();
    settled(&mut talk);
    talk.post("/v1/campaigns/drop/archive", &json!({})).says(200, "changed");
    assert_eq!(results(&mut talk, ""), all);
    talk.get("/v1/campaigns/drop").refuses("archived", "drop");
}

#[test]
fn a_ledger_of_another_journal_is_not_written_to() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for data in [&folder, &other] {
        let server = Server::on(data.path());
        let mut talk = server.talk();
        talk.open_campaign("drop", 9);
        talk.claim("drop", "ann").says(201, "won");
        settled(&mut talk);
        server.terminate();
        server.ended();
    }
    let file = "ledger.sqlite";
    std::fs::rename(other.path().join(file), folder.path().join(file)).unwrap();
    let why = crate::process::cannot_serve(crate::process::serve(folder.path(), &[]));
    assert!(why.contains("space"), "{why}");
    // Moved away, what the journal dropped cannot be written anew: it says so and sells on.
    std::fs::remove_file(folder.path().join(file)).unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    talk.claim("drop", "bob").says(201, "won");
    let trouble = (0..100_000)
        .find_map(|_| talk.get("/readyz").json()["settle_trouble"].as_str().map(str::to_owned));
    assert!(trouble.clone().unwrap_or_default().starts_with("ledger_behind: "), "{trouble:?}");
    let mut anybody = Talk::to(server.address, "a-guessed-key---").unwrap();
    assert_eq!(anybody.get("/readyz").json()["settle_trouble"], json!("ledger_behind"));
    assert_eq!(talk.get("/readyz").status, 200);
    assert!(ledger(folder.path()).is_empty());
}

#[test]
fn a_ledger_that_comes_later_settles_around_what_was_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("LEDGER", "none")]);
    let mut talk = server.talk();
    talk.open_campaign("old", 3);
    assert_eq!(talk.claim("old", "ann").status, 201);
    talk.open_campaign("drop", 3);
    assert_eq!(talk.claim("drop", "bob").status, 201);
    assert_eq!(talk.claim("old", "cyd").status, 201);
    assert_eq!(talk.post("/v1/campaigns/old/close", &json!({})).status, 200);
    let archive = json!({"drop_unsettled": true});
    assert_eq!(talk.post("/v1/campaigns/old/archive", &archive).status, 200);
    drop(talk);
    drop(server);

    let server = Server::with(folder.path(), &[("LEDGER", "sqlite")]);
    let mut talk = server.talk();
    assert_eq!(talk.claim("drop", "dan").status, 201);
    assert_eq!(settled(&mut talk), 4);
    let numbers: Vec<u64> = ledger(folder.path()).into_iter().map(|row| row.0).collect();
    assert_eq!(numbers, [2, 4]);
    // What an operator gave up is no difference; what nobody gave up is one.
    let audit = || verb(folder.path(), &[], &["audit", "--json"]);
    let (code, said, talk) = audit();
    assert_eq!(code, 0, "{said}{talk}");
    let file = Connection::open(folder.path().join("ledger.sqlite")).unwrap();
    let tampering = "DROP TRIGGER results_are_never_deleted; DELETE FROM results WHERE number = 2;";
    file.execute_batch(tampering).unwrap();
    let (code, said, talk) = audit();
    assert!(code == 1 && said.contains("result 2"), "{said}{talk}");
}
