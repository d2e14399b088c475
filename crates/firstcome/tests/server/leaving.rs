//! A server that is told to stop behind a balancer: first it says that it is not ready, then it stops.

use crate::process::Server;
use serde_json::json;
use std::time::Duration;

/// Long enough that no test waits for its end.
const LONG: (&str, &str) = ("LEAVE_MS", "600000");

#[test]
fn told_to_stop_it_is_not_ready_and_answers_until_a_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[LONG, ("LOG_FORMAT", "json")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    assert_eq!(talk.get("/readyz").status, 200);
    server.terminate();
    let end = std::time::Instant::now() + Duration::from_secs(30);
    let said = loop {
        let ready = talk.get("/readyz");
        if ready.status == 503 {
            break ready.json();
        }
        assert!(std::time::Instant::now() < end, "it is ready");
    };
    assert_eq!(said["reasons"], json!(["shutting down"]), "{said}");
    talk.claim("drop", "ann").says(201, "won");
    // Who comes new is answered, too: a balancer may not have heard yet.
    server.talk().claim("drop", "bob").says(201, "won");
    assert_eq!(server.talk().get("/v1/nodes").json()["nodes"][0]["state"], "leaving");
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success(), "{ended}: {said}");
    let place = |event: &str| said.find(&format!("\"event\":\"{event}\"")).unwrap_or(usize::MAX);
    let places = ["leaving", "draining", "handed_over", "stopped"].map(place);
    assert!(places.is_sorted() && places[3] < usize::MAX, "{said}");
    Server::on(folder.path()).talk().claim("drop", "bob").says(200, "already_won");
}

#[test]
fn the_wait_ends_by_itself_and_somebody_at_a_terminal_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("LEAVE_MS", "50")]);
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success() && said.contains("leaving: /readyz"), "{ended}: {said}");
    let server = Server::with(folder.path(), &[LONG]);
    server.interrupt();
    let (ended, said) = server.ended();
    assert!(ended.success() && !said.contains("leaving: /readyz"), "{ended}: {said}");
}
