//! Commands that are too large, too many, or too costly: each gets a specific refusal and is not written.

use crate::siege::Siege;
use serde_json::{Value, json};

const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";
const HOLDS: &str = "/v1/campaigns/hall/holds";

#[test]
fn areas_whose_places_32_bits_cannot_count_are_refused_and_stop_nobody() {
    // More memory than any machine has, so that the rules have to see it themselves.
    let siege = Siege::begin(&[("MEMORY_LIMIT_MIB", "4194304")]);
    let mut talk = siege.talk();
    let area = |name: &str, capacity: u32| json!({"name": name, "capacity": capacity});
    let both = json!([area("a", u32::MAX), area("b", 1)]);
    talk.post(SEATS, &both).refuses("bad_seat", "more than 4294967295 units");
    siege.still_answers();
    // One by one, and a seat beside an area.
    talk.post(SEATS, &json!([area("a", u32::MAX)])).says(200, "imported");
    talk.post(SEATS, &json!([area("b", 1)])).refuses("bad_seat", "more than 4294967295 units");
    talk.post(SEATS, &json!([{"name": "A1"}])).refuses("bad_seat", "more than 4294967295 units");
    drop(talk);
    siege.ends();
}

#[test]
fn places_of_areas_count_towards_the_memory_of_a_server() {
    let siege = Siege::begin(&[("MEMORY_LIMIT_MIB", "256")]);
    let mut talk = siege.talk();
    let area = json!([{"name": "floor", "capacity": 40_000_000}]);
    talk.post(SEATS, &area).refuses("too_big_for_memory", "bytes would be needed");
    talk.post(SEATS, &json!([{"name": "floor", "capacity": 400_000}])).says(200, "imported");
    drop(talk);
    siege.ends();
}

#[test]
fn a_command_that_costs_everybody_time_is_refused_before_it_is_written() {
    let siege = Siege::begin(&[("BODY_BYTES", "4194304"), ("RATE_SUBJECT", "1000/s")]);
    let mut talk = siege.talk();
    // Four tables of a hundred, and two rows of fifty.
    let seat = |n: usize| match n / 100 {
        4 => json!({"name": format!("R{n}"), "row": format!("r{}", n / 50)}),
        table => json!({"name": format!("T{n}"), "group": format!("table{table}")}),
    };
    let seats: Vec<Value> = (0..500).map(seat).collect();
    talk.post(SEATS, &Value::from(seats)).says(200, "imported");
    let mut eve = siege.browser("eve");
    let hold =
        |picks: Vec<Value>| json!({"id": "h1", "subject": "eve", "picks": picks, "wait_ms": 3000});
    let best = json!({"best": 7, "adjacent": false});
    let tables = json!({"units": vec!["table1"; 400]});
    let names: Vec<String> = (0..500).map(|n| format!("{n:064}")).collect();
    for _ in 0..20 {
        // 64 searches of the whole map in one command.
        let searches = hold(vec![best.clone(); 64]);
        eve.post(HOLDS, &searches).refuses("invalid_request", "at most 4 may");
        // A table a hundred times over, in each of many picks: a million seats.
        let seats = hold(vec![tables.clone(); 2]);
        eve.post(HOLDS, &seats).refuses("invalid_request", "at most 500 in all");
    }
    // More than one batch can carry.
    let large = json!({"subject": "eve", "picks": vec![json!({"units": names}); 40]});
    let path = format!("{HOLDS}/h1/add");
    eve.post(&path, &large).refuses("invalid_request", "at most 500 in all");
    siege.still_answers();
    // None of it was written: the id is new.
    eve.post(HOLDS, &hold(vec![best; 4])).says(201, "held");
    drop((talk, eve));
    siege.ends();
}
