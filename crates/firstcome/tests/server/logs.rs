//! What a server says in its log, and what it does not.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use firstcome_node::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What every subject of these tests has in its name.
const SUBJECT: &str = "somebody-with-a-name";

/// Returns what each line of a log says, which must be JSON.
fn lines(log: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    log.lines().map(read).collect()
}

fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
}

/// Sends a signal and waits until it can have arrived.
fn hang_up(server: &Server) {
    let pid = Pid::from_raw(server.pid().cast_signed()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
}

/// Has people claim, hold, pay, leave, look up and try keys and paths that are not there.
fn busy(talk: &mut Talk, claims: usize) {
    talk.open_campaign("drop", 50);
    let seats: Vec<Value> = (1..=9).map(|n| json!({"name": format!("A{n}")})).collect();
    let pools = json!([{"name": "main", "kind": "seated", "seats": seats}]);
    talk.put("/v1/campaigns/hall", &json!({"opens_at": "now", "pools": pools}));
    for n in 0..claims {
        let who = format!("{SUBJECT}-{n}");
        talk.claim("drop", &who);
        let hold = json!({"id": format!("{SUBJECT}-hold-{n}"), "subject": who,
            "picks": [{"units": [format!("A{}", n % 9 + 1)]}]});
        talk.post("/v1/campaigns/hall/holds", &hold);
        let path = format!("/v1/campaigns/hall/holds/{SUBJECT}-hold-{n}/confirm");
        talk.post(&path, &json!({ "subject": who }));
        talk.get(&format!("/v1/campaigns/drop/claims/{who}"));
        talk.get(&format!("/v1/subjects/{who}"));
        talk.get(&format!("/nowhere/{who}"));
        talk.get(&format!("/v1/campaigns/{who}"));
        let cancel = format!("/v1/campaigns/drop/claims/{who}?pool=main&rank={}&reason=x", n + 1);
        talk.try_ask("DELETE", &cancel, None).unwrap();
        // Not JSON, with a name in it.
        let wrong = talk.request("POST", "/v1/campaigns/drop/claims", &[], Some(&who));
        talk.send(wrong).unwrap();
        talk.hear().unwrap();
        let key = format!("Bearer {SUBJECT}-key-{n}");
        let refused = talk.request("GET", "/v1/campaigns/drop", &[("authorization", &key)], None);
        talk.send(refused).unwrap();
        talk.hear().unwrap().refuses("unauthorized", "");
    }
}

#[test]
fn the_page_has_every_event_with_its_level_and_no_other() {
    let page = include_str!("../../../../docs/reference/logs.md");
    let mut documented = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (event, rest) = line.split_once("` | ").unwrap();
        let (level, _) = rest.split_once(" | ").unwrap();
        // Words that are no events have the place where they are read instead of a level.
        if !["error", "warn", "info", "debug"].contains(&level) {
            continue;
        }
        assert_eq!(documented.insert(event, level.to_owned()), None, "{event} stands twice");
    }
    let there_are =
        Event::ALL.map(|event| (event.as_str(), event.level().to_string().to_lowercase()));
    assert_eq!(documented, BTreeMap::from(there_are));
}

#[test]
fn the_page_says_what_to_do_about_every_warning_and_every_trouble() {
    let page = include_str!("../../../../docs/reference/logs.md");
    let events = Event::ALL.into_iter().filter(|event| event.level() <= tracing::Level::WARN);
    let troubles = ["stale", "unavailable", "store_full", "shutting down", "no_ledger"];
    let ledgers = ["ledger_ahead", "ledger_behind", "ledger_other", "ledger_differs"];
    let words = events.map(Event::as_str).chain(troubles).chain(ledgers);
    let first: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    let has = |word: &str| first.iter().any(|cell| cell.contains(&format!("`{word}`")));
    let missing: Vec<&str> = words.filter(|word| !has(word)).collect();
    assert!(missing.is_empty(), "the page lacks {missing:?}");
}

#[test]
fn nothing_of_a_server_is_said_beside_the_log() {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, found) } else { found.push(path) }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = vec![crates.join("firstcome/src/serve.rs")];
    for folder in ["firstcome/src/serve", "firstcome-http/src", "firstcome-node/src"] {
        files(&crates.join(folder), &mut found);
    }
    found.retain(|file| !file.to_string_lossy().contains("/tests"));
    for file in found {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("eprint"), "{}: use log!", file.display());
    }
}

#[test]
fn a_busy_run_names_no_subject_and_no_key_and_has_no_line_a_claim() {
    for level in ["info", "debug"] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::with(folder.path(), &[("LOG_LEVEL", level)]);
        busy(&mut server.talk(), 60);
        hang_up(&server);
        // So that what is looked for four times a second was, and the signal was met before the next one.
        std::thread::sleep(Duration::from_secs(3));
        server.terminate();
        let (ended, log) = server.ended();
        assert!(ended.success(), "{log}");
        assert!(!log.contains(SUBJECT) && !log.contains(KEY), "{level}: {log}");
        let lines = lines(&log);
        let said = events(&lines);
        let steps = [
            "starting",
            "serving",
            "leader_elected",
            "keys_refused",
            "hangup_signal",
            "draining",
            "handed_over",
            "stopped",
        ];
        for step in steps {
            let times = said.iter().filter(|event| **event == step).count();
            assert!(times == 1 || step == "keys_refused" && times == 2, "{step}: {log}");
        }
        let requests = said.iter().filter(|event| **event == "request").count();
        assert_eq!(requests > 600, level == "debug", "{requests} lines");
        let others = said.len() - requests;
        assert!(others < 20, "{others} lines that are not of a request: {log}");
        for line in &lines {
            assert!(line["timestamp"].is_string() && line["message"].is_string(), "{line}");
            let known = Event::ALL.into_iter().find(|event| line["event"] == event.as_str());
            let known = known.unwrap_or_else(|| panic!("{line}"));
            assert_eq!(line["level"], known.level().to_string(), "{line}");
        }
    }
}

#[test]
fn a_request_has_one_id_in_its_answer_and_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("LOG_LEVEL", "debug")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 5);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let (claims, claim) = ("/v1/campaigns/drop/claims", r#"{"subject": "ann"}"#);
    let mut ask = |headers: &[(&str, &str)], method: &str, path: &str, body| {
        let request = talk.request(method, path, headers, body);
        talk.send(request).unwrap();
        let answer = talk.hear().unwrap();
        (answer.status, answer.header("x-request-id").unwrap().to_owned())
    };
    assert_eq!(
        ask(&[("x-request-id", "mine-1")], "POST", claims, Some(claim)),
        (201, "mine-1".into())
    );
    assert_eq!(ask(&[("traceparent", &parent)], "POST", claims, Some(claim)), (200, trace.into()));
    let bad = [("x-request-id", "mine-2"), ("authorization", "Bearer no-key-of-this-server")];
    assert_eq!(ask(&bad, "GET", "/v1/time", None), (401, "mine-2".into()));
    assert_eq!(ask(&[("x-request-id", "mine-3")], "GET", "/nowhere", None), (404, "mine-3".into()));
    let (status, minted) = ask(&[("x-request-id", "not \"mine\"")], "GET", "/v1/time", None);
    assert!(status == 200 && minted.len() == 16, "{minted}");
    std::thread::sleep(Duration::from_millis(600));
    server.terminate();
    let (_, log) = server.ended();
    let lines = lines(&log);
    let of = |id: &str, event: &str| {
        let found = |line: &&Value| line["request_id"] == id && line["event"] == event;
        lines.iter().find(found).unwrap_or_else(|| panic!("{id} {event}: {log}"))
    };
    for (id, status, route) in [
        ("mine-1", 201, "/v1/campaigns/{campaign}/claims"),
        (trace, 200, "/v1/campaigns/{campaign}/claims"),
        ("mine-2", 401, "/v1/time"),
        ("mine-3", 404, "none"),
        (&minted, 200, "/v1/time"),
    ] {
        let line = of(id, "request");
        assert_eq!((&line["status"], &line["route"]), (&json!(status), &json!(route)), "{line}");
    }
    let refused = of("mine-2", "keys_refused");
    assert_eq!((&refused["count"], &refused["peer"]), (&json!(1), &json!("127.0.0.1")));
}

#[test]
fn a_line_is_text_where_that_is_asked_for_and_only_as_important_as_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("LOG_FORMAT", "text")]);
    server.terminate();
    let (_, log) = server.ended();
    let line = log.lines().find(|line| line.contains("event=\"stopped\""));
    assert!(line.is_some_and(|line| line.contains(" INFO stopped cleanly")), "{log}");
    let server = Server::with(folder.path(), &[("LOG_LEVEL", "error")]);
    hang_up(&server);
    server.terminate();
    let (_, log) = server.ended();
    assert_eq!(log, "");
}

#[test]
fn a_server_goes_on_whose_log_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("LOG_LEVEL", "debug")]);
    // Each is a line, and a pipe has room for a few hundred.
    let mut talk = server.talk();
    for _ in 0..2_000 {
        assert_eq!(talk.get("/v1/time").status, 200);
    }
    talk.open_campaign("drop", 5);
    talk.claim("drop", "ann").says(201, "won");
    server.terminate();
    let end = Instant::now() + Duration::from_secs(20);
    while Talk::to(server.address, KEY).is_ok() {
        assert!(Instant::now() < end, "it does not stop");
        std::thread::sleep(Duration::from_millis(10));
    }
    let (ended, log) = server.ended();
    assert!(ended.success(), "{}", log.len());
    // A pipe takes 64 KiB.
    assert!(log.len() >= 60 << 10, "{} bytes: the pipe was never full", log.len());
}
