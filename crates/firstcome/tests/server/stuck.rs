//! An entry that breaks a rule: the server stays up, says so in one sentence, and goes on once the entry is skipped.

use crate::process::{Server, verb};
use serde_json::{Value, json};
use std::path::Path;

const BROKEN: [(&str, &str); 1] = [("INJECT", "claim_breaks_rule")];

/// Serves two campaigns, and has eve's claim break a rule; gives the position of its entry.
fn breaks(folder: &Path) -> u64 {
    let server = Server::with(folder, &BROKEN);
    let mut talk = server.talk();
    talk.open_campaign("spring", 10);
    talk.open_campaign("poison", 10);
    talk.claim("spring", "ann").says(201, "won");
    crate::settling::settled(&mut talk);
    talk.claim("poison", "eve").refuses("unknown", "");
    let position = is_stuck(&server);
    server.terminate();
    let (ended, said) = server.ended();
    assert_eq!(ended.code(), Some(3), "{said}");
    is_a_sentence(&said, position);
    position
}

/// Looks at a server that is stuck, with a campaign beside the broken one; gives the position.
fn is_stuck(server: &Server) -> u64 {
    let mut talk = server.talk();
    let claim = talk.claim("spring", "bob");
    let why = claim.refuses("unavailable", "campaign poison")["detail"].to_string();
    let position = why.split_once("entry ").unwrap().1.split(' ').next().unwrap().to_owned();
    claim.refuses("unavailable", &format!("`firstcome journal skip {position} --reason TEXT`"));
    // For a moment, while the state is put together anew, nothing can be read.
    let spring = loop {
        let spring = talk.get("/v1/campaigns/spring");
        if spring.status == 200 {
            break spring.json();
        }
        spring.refuses("unavailable", "");
    };
    assert_eq!((&spring["stale"], &spring["pools"][0]["taken"]), (&json!(true), &json!(1)));
    talk.get("/v1/campaigns/poison").refuses("unavailable", "campaign poison");
    let ready = talk.get("/readyz");
    assert_eq!(ready.status, 503);
    assert!(ready.text().contains(&format!("stuck at entry {position}")), "{}", ready.text());
    assert_eq!(talk.get("/livez").status, 200);
    position.parse().unwrap()
}

/// Expects the sentence, and no panic's message.
fn is_a_sentence(said: &str, position: u64) {
    let sentence = format!("entry {position} cannot be applied: a rule broke in campaign poison");
    assert!(said.contains(&sentence), "{said}");
    for word in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
        assert!(!said.contains(word), "{said}");
    }
}

#[test]
fn a_server_serves_what_it_can_and_all_of_it_once_the_entry_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let position = breaks(path);
    let at = position.to_string();
    let run = |args: &[&str]| verb(path, &BROKEN, args);
    let skip = |at: &str| run(&["journal", "skip", at, "--reason", "issue 15", "--who", "ann"]);

    // It starts all the same, and whoever has the folder keeps it.
    let server = Server::with(path, &BROKEN);
    assert_eq!(is_stuck(&server), position);
    let (code, _, why) = skip(&at);
    assert_eq!((code, why.contains("is in use by")), (3, true), "{why}");
    server.kill();

    // Verbs that apply entries say the sentence; those that do not, work.
    let (code, said, why) = run(&["audit"]);
    assert_eq!(code, 1, "{why}");
    is_a_sentence(&format!("{said}{why}"), position);
    let (code, _, why) = run(&["settle", "rebuild"]);
    assert_eq!(code, 1, "{why}");
    is_a_sentence(&why, position);
    for args in [&["journal", "verify"][..], &["journal", "show"], &["journal", "show", "--stored"]]
    {
        let (code, said, why) = run(args);
        assert_eq!(code, 0, "{said}{why}");
        assert!(!said.contains("skipped\""), "{said}");
    }

    // Only an entry that breaks a rule is skipped.
    for (other, why_not) in [
        ("2", "entry 2 applies; there is nothing to skip"),
        ("0", "there is no entry 0"),
        ("999", "there is no entry 999: the journal ends at"),
    ] {
        let (code, _, why) = skip(other);
        assert_eq!((code, why.contains(why_not)), (1, true), "{why}");
    }
    let (code, _, why) = run(&["journal", "skip", &at, "--reason", ""]);
    assert_eq!((code, why.contains("--reason has 0 bytes")), (2, true), "{why}");
    let (code, _, why) = verb(path, &[], &["journal", "skip", &at, "--reason", "issue 15"]);
    assert_eq!((code, why.contains("there is nothing to skip")), (1, true), "{why}");

    let (code, said, why) = skip(&at);
    assert_eq!((code, said), (0, format!("entry {position} is skipped: issue 15\n")), "{why}");
    let (code, said, _) = skip(&at);
    assert_eq!((code, said), (0, format!("entry {position} is skipped already: issue 15\n")));

    // The rule is still broken: only this entry is out of the way.
    for _ in 0..2 {
        let server = Server::with(path, &BROKEN);
        let mut talk = server.talk();
        assert_eq!(talk.get("/readyz").status, 200, "{}", talk.get("/readyz").text());
        talk.claim("spring", "ann").says(200, "already_won");
        assert!([200, 201].contains(&talk.claim("spring", "bob").status));
        assert_eq!(talk.get("/v1/campaigns/poison").json()["pools"][0]["taken"], 0);
        crate::settling::settled(&mut talk);
        let (code, said, why) = run(&["audit"]);
        assert_eq!(code, 0, "{said}{why}");
        assert!(said.contains(&format!("1 entry skipped: {position}, issue 15\n")), "{said}");
        server.terminate();
        assert!(server.ended().0.success());
    }
    let (code, said, why) = run(&["settle", "rebuild"]);
    assert_eq!(code, 0, "{said}{why}");
    let (code, said, _) = run(&["journal", "verify"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("1 entry skipped: {position}, issue 15\n")), "{said}");
    let (_, said, _) = run(&["journal", "show", "--stored", "--json", "--from", &at]);
    let first: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    let skipped = &first["skipped"];
    assert_eq!((&skipped["reason"], &skipped["who"]), (&json!("issue 15"), &json!("ann")));
    assert_eq!(skipped["name"], first["name"]);
}

#[test]
fn what_breaks_while_time_passes_cannot_be_skipped_and_is_not_printed_as_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let broken = [("INJECT", "expiry_breaks_rule")];
    let server = Server::with(folder.path(), &broken);
    let mut talk = server.talk();
    talk.open_campaign("spring", 10);
    let pools = json!([{"name": "main", "capacity": 5}]);
    let settings = json!({"opens_at": "now", "hold_ttl_ms": 1000, "pools": pools});
    assert_eq!(talk.put("/v1/campaigns/poison", &settings).status, 201);
    let hold = json!({"subject": "eve", "picks": [{"quantity": 1}]});
    talk.post("/v1/campaigns/poison/holds", &hold).says(201, "held");
    let why = loop {
        let ready = talk.get("/readyz");
        // That it is stuck is known a moment before the sentence about it is.
        if ready.status == 503 && ready.text().contains("a rule broke") {
            break ready.text();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert!(why.contains("a rule broke while time passed in campaign poison"), "{why}");
    assert!(why.contains("skipping them does not help") && !why.contains("journal skip"), "{why}");
    // The promise of the store has an entry, too.
    let position = why.split_once(" cannot be applied").unwrap().0.rsplit(' ').next().unwrap();
    server.terminate();
    let (_, said) = server.ended();
    assert!(!said.contains("panicked"), "{said}");
    let args = ["journal", "skip", position, "--reason", "issue 15"];
    let (code, _, why) = verb(folder.path(), &broken, &args);
    assert_eq!((code, why.contains("so it cannot be skipped")), (1, true), "{why}");
    assert!(!why.contains("panicked"), "{why}");
}
