//! Crowds at the routes of a real server: a thousand people on one seat, and a server that is killed.

use crate::inside::{BEGIN, Inside};
use crate::process::{KEY, Server};
use crate::wire::Talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const PEOPLE: usize = 1_000;
const TALKS: usize = 40;

fn opens(talk: &mut Talk, ttl_ms: u64) {
    let seats = json!([{"name": "A1", "row": "A"}, {"name": "A2", "row": "A"}]);
    let pools = json!([{"name": "main", "kind": "seated", "seats": seats}]);
    let settings =
        json!({"opens_at": "now", "hold_ttl_ms": ttl_ms, "allow_orphans": true, "pools": pools});
    talk.put("/v1/campaigns/hall", &settings).says(201, "created");
}

fn hold(talk: &mut Talk, id: &str, subject: &str, unit: &str) -> (u16, Value) {
    let body = json!({"id": id, "subject": subject, "picks": [{"units": [unit]}]});
    let answer = talk.post("/v1/campaigns/hall/holds", &body);
    (answer.status, answer.json())
}

/// Has everybody ask for the same seat, and gives who got what.
fn rush(server: &Server, round: usize) -> BTreeMap<String, Vec<String>> {
    let mut said = BTreeMap::<String, Vec<String>>::new();
    let heard: Vec<_> = std::thread::scope(|scope| {
        let talks: Vec<_> = (0..TALKS)
            .map(|talk| {
                scope.spawn(move || {
                    let mut line = Talk::to(server.address, KEY).unwrap();
                    let people = (talk..PEOPLE).step_by(TALKS);
                    let asks = people.map(|person| {
                        let (id, subject) = (format!("h{round}-{person}"), format!("s{person}"));
                        (subject.clone(), hold(&mut line, &id, &subject, "A1").1)
                    });
                    asks.collect::<Vec<_>>()
                })
            })
            .collect();
        talks.into_iter().flat_map(|talk| talk.join().unwrap()).collect()
    });
    for (subject, answer) in heard {
        let outcome = answer["outcome"].as_str().unwrap().to_owned();
        said.entry(outcome).or_default().push(subject);
    }
    said
}

#[test]
fn of_a_thousand_people_one_gets_the_seat_and_when_it_expires_one_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    opens(&mut talk, 20_000);
    let first = rush(&server, 0);
    assert_eq!(first["held"].len(), 1, "{first:?}");
    assert_eq!(first["unit_taken"].len(), PEOPLE - 1);
    // It comes free by itself; that shows on the map.
    let standing = "/v1/campaigns/hall/pools/main/seats?standing=1";
    while talk.get(standing).json()["standing"] != json!("..") {
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = rush(&server, 1);
    assert_eq!(second["held"].len(), 1, "{second:?}");
    assert_eq!(second["unit_taken"].len(), PEOPLE - 1);
}

#[test]
fn a_server_that_is_killed_knows_its_holds_and_how_long_they_last() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    opens(&mut talk, 60_000);
    assert_eq!(hold(&mut talk, "h1", "ann", "A1").0, 201);
    let before = talk.get("/v1/campaigns/hall/holds/h1").json();
    server.kill();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    let after = talk.get("/v1/campaigns/hall/holds/h1").json();
    assert_eq!((&after["state"], &after["held"]), (&json!("live"), &json!(1)));
    // What was left of it is left of it: nothing is taken off for the time nobody was there.
    assert!(after["expires_at"].as_str() >= before["expires_at"].as_str(), "{after} {before}");
    assert_eq!(hold(&mut talk, "h2", "bob", "A1").1["outcome"], json!("unit_taken"));
    assert_eq!(hold(&mut talk, "h1", "ann", "A1").1["outcome"], json!("already_held"));
    let paid = talk.post("/v1/campaigns/hall/holds/h1/confirm", &json!({"subject": "ann"}));
    paid.says(200, "confirmed");
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_for_nine_minutes_holds_keep_what_was_left_of_them() {
    let minute = 60_000_000;
    let node = Inside::new().await;
    node.hall(json!({"hold_ttl_ms": 480_000})).await;
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    node.clock(minute);
    node.tell("holds/h9/extend", json!({"subject": "zoe"})).await.refuses("no_such_hold", "");
    node.journal.hold();
    node.clock(10 * minute);
    tokio::time::sleep(Duration::from_secs(540)).await;
    let position = node.position();
    node.journal.let_go();
    node.beyond(position).await;
    // Her time went on for fifteen seconds of those nine minutes at most, and of the first one.
    node.confirm("h9", "zoe", "refuse").await.refuses("no_such_hold", "");
    let shown = node.get("/v1/campaigns/hall/holds/h1").await.json();
    assert_eq!(shown["state"], json!("live"), "{shown}");
    let left = node.app.node.replica.look(|state| {
        let hold = state.campaign("hall").unwrap().hold_of("h1").unwrap();
        hold.deadline() - state.service()
    });
    assert!(left >= 450 * 1_000_000, "{left} µs are left since {BEGIN}");
    node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
}

#[tokio::test(start_paused = true)]
async fn a_confirm_at_the_very_deadline_is_too_late_and_one_microsecond_before_it_is_not() {
    for (micros, outcome) in [(59_999_999, "confirmed"), (60_000_000, "hold_expired")] {
        let node = Inside::new().await;
        node.hall(json!({})).await;
        node.hold("h1", "ann", &["A1"]).await.says(201, "held");
        // Service time counts at most fifteen seconds a step.
        for step in 1..=3 {
            node.clock(step * 15_000_000);
            let body = json!({"subject": "zoe"});
            node.tell("holds/h9/extend", body).await.refuses("no_such_hold", "");
        }
        node.clock(micros);
        let answer = node.confirm("h1", "ann", "refuse").await;
        assert_eq!(answer.outcome(), outcome);
    }
}
