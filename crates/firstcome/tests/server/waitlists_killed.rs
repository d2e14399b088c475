//! A server is killed while people join a waitlist: places and offers that were told are still there.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc;

const CROWD: usize = 4;
const PLACES: usize = 3;
const LIST: &str = "/v1/campaigns/drop/waitlist?limit=10000";

/// Joins until the server is gone; tells who has a place.
fn crowd(address: SocketAddr, (round, one): (usize, usize), tell: &mpsc::Sender<String>) {
    let Ok(mut talk) = Talk::to(address, KEY) else { return };
    for number in 0..5_000 {
        let who = format!("r{round}-{one}-{number}");
        let body = json!({"subject": who, "wait": true});
        let Ok(said) = talk.try_ask("POST", "/v1/campaigns/drop/claims", Some(&body)) else {
            return;
        };
        if said.status == 202 && tell.send(who).is_err() {
            return;
        }
    }
}

/// The list by subject.
fn list(talk: &mut Talk) -> BTreeMap<String, u64> {
    let page = talk.get(LIST).says_page();
    let lines = page["waiting"].as_array().unwrap();
    let ticket = |line: &Value| line["ticket"].as_u64().unwrap();
    assert!(lines.is_sorted_by_key(ticket), "{page}");
    let entry = |line: &Value| (line["subject"].as_str().unwrap().to_owned(), ticket(line));
    lines.iter().map(entry).collect()
}

impl crate::wire::Answer {
    fn says_page(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }
}

#[test]
fn places_and_offers_that_were_told_outlive_a_killed_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::on(folder.path());
    let settings = json!({"opens_at": "now", "offer_ms": 3_600_000, "pools": [{"name": "main", "capacity": PLACES}]});
    server.talk().put("/v1/campaigns/drop", &settings).says(201, "created");
    for number in 0..PLACES {
        server.talk().claim("drop", &format!("winner-{number}")).says(201, "won");
    }
    // The first place that comes free is this one's, whatever is heard of the crowd.
    let first = json!({"subject": "the-first", "wait": true});
    server.talk().post("/v1/campaigns/drop/claims", &first).says(202, "waitlisted");
    let mut before = list(&mut server.talk());
    let mut offers: BTreeMap<String, Value> = BTreeMap::new();
    for round in 0..PLACES {
        let (tell, told) = mpsc::channel();
        let mut has_place = Vec::new();
        std::thread::scope(|threads| {
            for one in 0..CROWD {
                let (tell, address) = (tell.clone(), server.address);
                threads.spawn(move || crowd(address, (round, one), &tell));
            }
            drop(tell);
            has_place.extend(told.iter().take(120));
            // One place comes free just before the end: its offer is told, and must last.
            let mut talk = server.talk();
            let path =
                format!("/v1/campaigns/drop/claims/winner-{round}?rank={}&by=subject", round + 1);
            talk.try_ask("DELETE", &path, None).unwrap().says(200, "cancelled");
            let of = talk.get(LIST).says_page();
            assert_eq!(of["offered"], json!(round + 1));
            server.kill();
            has_place.extend(told.iter());
        });
        server = Server::on(folder.path());
        let mut talk = server.talk();
        let now = list(&mut talk);
        // Who waited before is there in the same order, with the same ticket, but for who is offered something now.
        let mut gone: Vec<_> =
            before.keys().filter(|who| !now.contains_key(*who)).cloned().collect();
        gone.extend(has_place.iter().filter(|who| !now.contains_key(*who)).cloned());
        gone.dedup();
        for (who, ticket) in before.iter().filter(|(who, _)| now.contains_key(*who)) {
            assert_eq!(now.get(who), Some(ticket), "{who} has another place");
        }
        for who in &gone {
            let place = talk.get(&format!("/v1/campaigns/drop/waitlist/{who}")).says_page();
            assert_eq!(place["state"], "offered", "{who} lost the place: {place}");
            offers.insert(who.clone(), place["hold"].clone());
        }
        assert_eq!(offers.len(), round + 1, "each place that came free is one offer: {offers:?}");
        for (who, hold) in &offers {
            let place = talk.get(&format!("/v1/campaigns/drop/waitlist/{who}")).says_page();
            assert_eq!(&place["hold"], hold, "{who}");
        }
        before = now;
    }
    server.kill();
}
