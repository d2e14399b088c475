//! What a client may try against everybody else: each gets a specific refusal, and a campaign beside it goes on.

use crate::process::{Server, verb};
use crate::wire::Talk;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A server with `beside`, whose claims must be answered whatever happens, and `hall`, a seated campaign.
fn server(folder: &std::path::Path, settings: &[(&str, &str)]) -> (Server, Talk) {
    let server = Server::with(folder, settings);
    let mut talk = server.talk();
    talk.open_campaign("beside", 1_000);
    let hall = json!({"opens_at": "now", "pools": [{"name": "main", "kind": "seated"}]});
    talk.put("/v1/campaigns/hall", &hall).says(201, "created");
    (server, talk)
}

const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";
const HOLDS: &str = "/v1/campaigns/hall/holds";

fn audited(folder: &std::path::Path) {
    let (code, said, errors) = verb(folder, &[], &["audit", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!((code, &said["ok"]), (0, &json!(true)), "{said} {errors}");
}

#[test]
fn areas_whose_places_32_bits_cannot_count_are_refused_and_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    // More memory than any machine has, so that the rules have to see it themselves.
    let huge = [("MEMORY_LIMIT_MIB", "4194304")];
    let (server, mut talk) = server(folder.path(), &huge);
    let area = |name: &str, capacity: u32| json!({"name": name, "capacity": capacity});
    let both = json!([area("a", u32::MAX), area("b", 1)]);
    talk.post(SEATS, &both).refuses("bad_seat", "more than 4294967295 units");
    talk.claim("beside", "ann").says(201, "won");
    // One by one, and a seat beside an area.
    talk.post(SEATS, &json!([area("a", u32::MAX)])).says(200, "imported");
    talk.post(SEATS, &json!([area("b", 1)])).refuses("bad_seat", "more than 4294967295 units");
    talk.post(SEATS, &json!([{"name": "A1"}])).refuses("bad_seat", "more than 4294967295 units");
    talk.claim("beside", "bob").says(201, "won");
    assert_eq!(talk.get("/readyz").status, 200);
    audited(folder.path());
    server.kill();
    let server = Server::with(folder.path(), &huge);
    server.talk().claim("beside", "cid").says(201, "won");
}

#[test]
fn places_of_areas_count_towards_the_memory_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, mut talk) = server(folder.path(), &[("MEMORY_LIMIT_MIB", "64")]);
    let area = json!([{"name": "floor", "capacity": 4_000_000}]);
    talk.post(SEATS, &area).refuses("too_big_for_memory", "bytes would be needed");
    talk.post(SEATS, &json!([{"name": "floor", "capacity": 400_000}])).says(200, "imported");
}

#[test]
fn a_command_that_costs_everybody_time_is_refused_before_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, mut talk) = server(folder.path(), &[("BODY_BYTES", "4194304")]);
    // Four tables of a hundred, and two rows of fifty.
    let seat = |n: usize| match n / 100 {
        4 => json!({"name": format!("R{n}"), "row": format!("r{}", n / 50)}),
        table => json!({"name": format!("T{n}"), "group": format!("t{table}")}),
    };
    let seats: Vec<Value> = (0..500).map(seat).collect();
    talk.post(SEATS, &Value::from(seats)).says(200, "imported");
    let before = talk.position();
    let hold =
        |picks: Vec<Value>| json!({"id": "h1", "subject": "eve", "picks": picks, "wait_ms": 3000});
    // 64 searches of the whole map in one command.
    let best = json!({"best": 7, "adjacent": false});
    talk.post(HOLDS, &hold(vec![best.clone(); 5])).refuses("invalid_request", "at most 4 may");
    // A table a hundred times over, in each of many picks: a million seats.
    let tables = json!({"units": vec!["t1"; 400]});
    talk.post(HOLDS, &hold(vec![tables; 2])).refuses("invalid_request", "at most 500 in all");
    // More than one batch can carry.
    let names: Vec<String> = (0..500).map(|n| format!("{n:064}")).collect();
    let large = json!({"subject": "eve", "picks": vec![json!({"units": names}); 40]});
    let begun = Instant::now();
    talk.post(&format!("{HOLDS}/h1/add"), &large).refuses("invalid_request", "at most 500 in all");
    talk.claim("beside", "ann").says(201, "won");
    assert!(begun.elapsed() < Duration::from_secs(5), "the node was busy with what it refused");
    let entries = |position: &str| position[2..].parse::<u64>().unwrap();
    assert_eq!(entries(&talk.position()), entries(&before) + 1, "only the claim was written");
    talk.post(HOLDS, &hold(vec![best; 4])).says(201, "held");
}

#[test]
fn a_hang_up_signal_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    for n in 0..20 {
        talk.claim("beside", &format!("s{n}")).says(201, "won");
    }
    server.terminate();
    let (status, said) = server.ended();
    assert!(status.success(), "{said}");
    assert!(said.contains("SIGHUP") && said.contains("stopped cleanly"), "{said}");
}
