//! The server for other people's tests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::scene::{Scene, Server};

/// The key that its help names.
const KEY: &str = "firstcome-dev-key";

const CONCERT: &str = r#"{"opens_at": "2027-03-01T10:00:00Z", "hold_ttl_ms": 600000, "pools": [
    {"name": "stalls", "kind": "seated", "seats": [{"name": "A1"}, {"name": "A2"}]},
    {"name": "vouchers", "kind": "coded", "capacity": 10}]}"#;

fn start(scene: &Scene, args: &[&str]) -> Server {
    let mut command = scene.program(&["dev", "--listen", "127.0.0.1:0"]);
    // As in the shell of somebody who also runs real servers.
    command.args(args).env("FIRSTCOME_STORE", "redis://127.0.0.1:1").env("FIRSTCOME_DATA", "real");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    let url = first.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{first:?}"));
    Server { url: url.to_owned(), child, _lines: Box::new(lines) }
}

/// Sends a request with a key; gives the status and the document.
fn send(server: &Server, request: &str, key: &str, body: &Value) -> (u16, Value) {
    let host = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}")))
}

fn move_clock(server: &Server, body: &Value) -> Value {
    let (status, moved) = send(server, "POST /dev/clock", KEY, body);
    assert_eq!(status, 200, "{moved}");
    moved
}

fn post(server: &Server, path: &str, body: &Value) -> (u16, Value) {
    send(server, &format!("POST /v1/campaigns/{path}"), KEY, body)
}

#[test]
fn what_lasts_ends_when_the_clock_is_moved_that_far() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("concert.json"), CONCERT).unwrap();
    let args = ["--campaign", "concert=concert.json", "--clock", "2027-03-01T09:59:00Z"];
    let server = start(&scene, &args);
    let hold = |id: &str, subject: &str| {
        let picks = json!([{"pool": "stalls", "units": ["A1"]}]);
        let ask = json!({"id": id, "subject": subject, "picks": picks});
        post(&server, "concert/holds", &ask)
    };
    let (status, early) = hold("h1", "ann");
    assert_eq!((status, &early["outcome"]), (409, &json!("not_open")), "{early}");

    let moved = move_clock(&server, &json!({"to": "2027-03-01T10:00:00Z"}));
    assert!(moved["now"].as_str().unwrap().starts_with("2027-03-01T10:00:0"), "{moved}");
    let (status, held) = hold("h1", "ann");
    assert_eq!(status, 201, "{held}");
    assert_eq!(hold("h2", "bob").1["outcome"], "unit_taken");

    // Holds last in service time: ten minutes of it need an entry every 15 s at least.
    let moved = move_clock(&server, &json!({"forward_ms": 599_000}));
    assert!(moved["ticks"].as_u64().unwrap() >= 40, "{moved}");
    assert_eq!(hold("h3", "bob").1["outcome"], "unit_taken");
    move_clock(&server, &json!({"forward_ms": 2_000}));
    let (status, held) = hold("h4", "bob");
    assert_eq!(status, 201, "{held}");

    let (_, shown) = send(&server, "GET /dev/clock", KEY, &json!(null));
    assert!(shown["now"].as_str().unwrap().starts_with("2027-03-01T10:10:"), "{shown}");
    assert!(!scene.path().join("real").exists(), "it keeps nothing");
}

#[test]
fn codes_are_the_same_at_each_start_and_a_week_passes_in_one_request() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("concert.json"), CONCERT).unwrap();
    let claim = json!({"subject": "ann", "pool": "vouchers"});
    let start = || {
        let args = ["--campaign", "concert=concert.json", "--clock", "2027-03-01T09:00:00Z"];
        let server = start(&scene, &args);
        move_clock(&server, &json!({"to": "2027-03-01T10:00:00Z"}));
        let (status, won) = post(&server, "concert/claims", &claim);
        assert_eq!(status, 201, "{won}");
        (server, won["code"].as_str().unwrap().to_owned())
    };
    let ((server, first), (_, second)) = (start(), start());
    assert_eq!(first, second);
    move_clock(&server, &json!({"forward_ms": 7 * 24 * 3_600_000}));
    assert_eq!(post(&server, "concert/claims", &claim).1["outcome"], "already_won");
}

#[test]
fn it_begins_with_a_campaign_and_refuses_to_move_for_a_stranger_or_backwards() {
    let scene = Scene::new();
    let server = start(&scene, &[]);
    assert_eq!(post(&server, "dev/claims", &json!({"subject": "ann"})).0, 201);
    for (key, body, status, says) in [
        ("another-key-of-somebody", json!({"forward_ms": 1}), 401, "key"),
        (KEY, json!({"to": "2020-01-01T00:00:00Z"}), 400, "only goes forward"),
        (KEY, json!({"forward_ms": 31_u64 * 24 * 3_600_000 + 1}), 400, "31 days"),
        (KEY, json!({"back_ms": 1}), 400, "back_ms"),
        (KEY, json!({}), 400, "one of"),
    ] {
        let (found, problem) = send(&server, "POST /dev/clock", key, &body);
        assert_eq!(found, status, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    let real = scene.serve();
    let (status, problem) =
        send(&real, "POST /dev/clock", crate::scene::KEY, &json!({"forward_ms": 1}));
    assert_eq!((status, &problem["outcome"]), (404, &json!("no_such_route")), "{problem}");
}

#[test]
fn what_it_cannot_begin_with_is_refused_before_it_listens() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("firstcome.toml"), "store = \"redis://127.0.0.1:1\"\n")
        .unwrap();
    for (args, says) in [
        (&["--listen", "0.0.0.0:0"][..], "this machine only"),
        (&["--listen", "nowhere"], "must be an address"),
        (&["--config", "firstcome.toml"], "names a store"),
        (&["--campaign", "spring"], "NAME=PLACES"),
        (&["--campaign", "spring=0"], "spring=0"),
        (&["--campaign", "spring=none.json"], "none.json"),
        (&["--campaign", "Spring=5"], "Spring"),
        (&["--clock", "noon"], "--clock"),
    ] {
        let said = scene.run(&[&["dev"], args].concat());
        assert!(said.code != 0 && said.talk.contains(says), "{args:?}: {said:?}");
    }
}
