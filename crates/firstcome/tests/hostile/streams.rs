//! Browsers that open streams and maps and do not read them.

use crate::siege::Siege;
use crate::wire::Talk;
use serde_json::{Value, json};
use std::time::Duration;

const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";
const EVENTS: &str = "/v1/campaigns/hall/events";

#[test]
fn one_token_does_not_take_every_connection() {
    let siege = Siege::begin(&[("CONNECTIONS", "60")]);
    let token = siege.token("eve", 900);
    let mut open = Vec::new();
    let mut outcomes = Vec::new();
    for _ in 0..60 {
        let Ok(mut eve) = Talk::to(siege.server.address, &token) else { continue };
        // One that is not admitted may be hung up on before it has asked.
        if let Ok(answer) = eve.try_ask("GET", EVENTS, None) {
            let opened = answer.header("content-type") == Some("text/event-stream");
            outcomes.push(if opened { "open".to_owned() } else { answer.outcome() });
        }
        open.push(eve);
    }
    let count = |outcome: &str| outcomes.iter().filter(|known| **known == outcome).count();
    assert_eq!(count("open"), 4, "{outcomes:?}");
    assert!(count("too_many_streams") > 0 && count("too_many_connections") > 0, "{outcomes:?}");
    // Whoever watches the server is answered while they are all there.
    assert_eq!(siege.talk().get("/livez").status, 200);
    siege.is_ready();
    siege.still_answers();
    drop(open);
    siege.ends();
}

#[test]
fn a_stream_does_not_outlive_its_token() {
    let siege = Siege::begin(&[]);
    let mut eve = Talk::to(siege.server.address, &siege.token("eve", 6)).unwrap();
    assert_eq!(eve.try_ask("GET", EVENTS, None).unwrap().status, 200);
    // The last chunk is empty; the connection goes on.
    let (said, _) = eve.rest_within(Duration::from_secs(9));
    assert!(said.contains("event: end") && said.ends_with("0\r\n\r\n"), "{said}");
    drop(eve);
    siege.ends();
}

#[test]
fn maps_that_nobody_reads_harm_nobody() {
    let siege = Siege::begin(&[("RATE_SUBJECT", "1000/s")]);
    let mut shop = siege.talk();
    for part in 0..5 {
        let seat = |n| json!({"name": format!("{:060}", part * 4_000 + n)});
        shop.post(SEATS, &(0..4_000).map(seat).collect::<Value>()).says(200, "imported");
    }
    let ask = |_| {
        let mut eve = siege.browser("eve");
        let request = eve.request("GET", SEATS, &[], None);
        eve.send(request).unwrap();
        eve
    };
    let open: Vec<Talk> = (0..40).map(ask).collect();
    siege.still_answers();
    siege.is_ready();
    drop((open, shop));
    siege.ends();
}

#[test]
fn who_guesses_ids_of_holds_learns_nothing_and_is_slowed() {
    let siege = Siege::begin(&[("RATE_SUBJECT", "1000/s")]);
    siege.talk().post(SEATS, &json!([{"name": "A1"}])).says(200, "imported");
    let hold = json!({"id": "order-1001", "subject": "ann", "picks": [{"units": ["A1"]}]});
    siege.talk().post("/v1/campaigns/hall/holds", &hold).says(201, "held");
    let mut eve = siege.browser("eve");
    let mut look = |id: &str| eve.get(&format!("/v1/campaigns/hall/holds/{id}"));
    // One that is there is as one that is not.
    look("order-1001").refuses("no_such_hold", "");
    look("order-1002").refuses("no_such_hold", "");
    let slowed =
        (0..2_000).map(|n| look(&format!("order-{n}"))).find(|answer| answer.status == 429);
    assert_eq!(slowed.map(|answer| answer.outcome()).as_deref(), Some("too_many_requests"));
    drop(eve);
    siege.ends();
}
