//! A crowd that waits for one seat.

use crate::siege::Siege;
use crate::wire::Talk;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";
const HOLDS: &str = "/v1/campaigns/hall/holds";
/// How many wait.
const CROWD: usize = 200;

fn hold(subject: &str, id: &str) -> Value {
    json!({"id": id, "subject": subject, "picks": [{"units": ["A1"]}], "wait_ms": 10_000})
}

/// Asks for the seat, and does not read the answer yet.
fn waits(mut talk: Talk, subject: &str) -> Talk {
    let request = talk.request("POST", HOLDS, &[], Some(&hold(subject, subject).to_string()));
    talk.send(request).unwrap();
    talk
}

#[test]
fn who_waits_for_one_seat_costs_the_others_nothing_and_nobody_waits_twice() {
    let siege = Siege::begin(&[("RATE_SUBJECT", "1000/s"), ("HOLD_WAIT_MS", "10000")]);
    let mut shop = siege.talk();
    shop.post(SEATS, &json!([{"name": "A1"}])).says(200, "imported");
    shop.post(HOLDS, &hold("ann", "ann")).says(201, "held");
    let mut eve = waits(siege.browser("eve"), "eve");
    // Until the first one is in line, another one could take its place there, and each further one wait its time.
    let in_line = |shop: &mut Talk| shop.metric("firstcome_holds_in_line");
    let waited = (0..2_000).find(|_| {
        thread::sleep(Duration::from_millis(5));
        in_line(&mut shop) == 1
    });
    assert!(waited.is_some(), "the first one came in line");
    // Each further one is decided at once, or after the first one's time: nobody holds more than one place in line.
    for n in 0..20 {
        let again = hold("eve", &format!("again-{n}"));
        siege.browser("eve").post(HOLDS, &again).refuses("unit_taken", "");
    }
    let crowd: Vec<Talk> = (0..CROWD).map(|n| waits(siege.talk(), &format!("crowd-{n}"))).collect();
    siege.still_answers();
    shop.post(&format!("{HOLDS}/ann/release"), &json!({"subject": "ann"})).says(200, "released");
    let mut held = usize::from(eve.hear().unwrap().status == 201);
    for mut talk in crowd {
        let answer = talk.hear().unwrap();
        match answer.status {
            201 => held += 1,
            _ => drop(answer.refuses("unit_taken", "")),
        }
    }
    assert_eq!(held, 1, "the seat was given to one of them");
    drop((eve, shop));
    siege.ends();
}
