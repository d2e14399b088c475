//! 160 buyers at once at the routes of a real server, in a house of 8,000 seats: refused is only what does not fit.
//!
//! The measure is a public one (Drupal's yoyaku, #3616896), see `docs/SCENARIOS.md`.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Barrier;

const ROWS: usize = 160;
const ROW: usize = 50;
const BUYERS: usize = 160;

/// A generator of numbers that look random, the same at every run.
struct Dice(u64);

impl Dice {
    fn upto(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most + 1
    }

    fn asks(&mut self, most: usize) -> Vec<usize> {
        (0..BUYERS).map(|_| self.upto(most)).collect()
    }
}

fn opens(talk: &mut Talk, campaign: &str) {
    let pools = json!([{"name": "main", "kind": "seated"}]);
    let settings = json!({"opens_at": "now", "pools": pools});
    let path = format!("/v1/campaigns/{campaign}");
    talk.put(&path, &settings).says(201, "created");
    for rows in (0..ROWS).collect::<Vec<_>>().chunks(20) {
        let seats = rows.iter().flat_map(|row| {
            (0..ROW).map(move |seat| {
                let quality = row * 10 + seat.abs_diff(ROW / 2);
                json!({"name": format!("{row}-{seat}"), "row": row.to_string(), "quality": quality})
            })
        });
        let path = format!("{path}/pools/main/seats");
        talk.post(&path, &Value::Array(seats.collect())).says(200, "imported");
    }
}

/// Lets everybody ask at the same moment, for what they have chosen before it.
fn at_once(
    server: &Server,
    (campaign, wave): (&str, usize),
    choose: impl Fn(usize, &mut Talk) -> Value + Sync,
) -> Vec<Value> {
    let together = Barrier::new(BUYERS);
    std::thread::scope(|scope| {
        let (together, choose) = (&together, &choose);
        let buyers: Vec<_> = (0..BUYERS)
            .map(|buyer| {
                scope.spawn(move || {
                    let mut talk = Talk::to(server.address, KEY).unwrap();
                    let picks = [choose(buyer, &mut talk)];
                    let (id, subject) = (format!("h{wave}-{buyer}"), format!("b{wave}-{buyer}"));
                    let body = json!({"id": id, "subject": subject, "picks": picks});
                    together.wait();
                    talk.post(&format!("/v1/campaigns/{campaign}/holds"), &body).json()
                })
            })
            .collect();
        buyers.into_iter().map(|buyer| buyer.join().unwrap()).collect()
    })
}

/// Takes in what one of them was told: how many seats; none if the house had no room.
fn hear(given: &mut BTreeSet<String>, count: usize, answer: &Value) -> usize {
    if answer["outcome"] == "sold_out" {
        return 0;
    }
    assert_eq!(answer["outcome"], "held", "{answer}");
    let units = answer["units"].as_array().unwrap();
    assert_eq!(units.len(), count, "a basket is whole: {answer}");
    for unit in units {
        let name = unit["unit"].as_str().unwrap().to_owned();
        assert!(given.insert(name), "a seat was given twice: {unit}");
    }
    count
}

fn left(talk: &mut Talk, campaign: &str) -> usize {
    let shown = talk.get(&format!("/v1/campaigns/{campaign}")).json();
    shown["left"].as_u64().unwrap() as usize
}

#[test]
fn of_160_buyers_at_once_nobody_is_refused_what_8000_seats_can_give() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    opens(&mut talk, "gala");
    let (mut given, mut dice) = (BTreeSet::new(), Dice(1));
    for (wave, most) in [50, 50, 4].into_iter().enumerate() {
        let asks = dice.asks(most);
        let choose = |buyer: usize, _: &mut Talk| json!({"best": asks[buyer], "adjacent": false});
        let heard = at_once(&server, ("gala", wave), choose);
        let mut refused = Vec::new();
        for (count, answer) in asks.iter().zip(&heard) {
            if hear(&mut given, *count, answer) == 0 {
                refused.push(*count);
            }
        }
        // Nobody gives anything back: what is left now was there all the time.
        let left = left(&mut talk, "gala");
        assert_eq!(left + given.len(), ROWS * ROW);
        assert!(refused.iter().all(|count| *count > left), "{refused:?} of {left} in wave {wave}");
        assert!(wave > 0 || refused.is_empty(), "the first ones find room: {refused:?}");
        assert!(wave < 2 || !refused.is_empty(), "it did fill: {left} are left");
    }
}

#[test]
fn of_160_buyers_at_once_everybody_sits_next_to_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    opens(&mut talk, "gala");
    // No row is broken into what is too short for somebody.
    let (mut given, asks) = (BTreeSet::new(), Dice(2).asks(24));
    let heard = at_once(&server, ("gala", 0), |buyer, _| json!({"best": asks[buyer]}));
    for (count, answer) in asks.iter().zip(&heard) {
        assert_eq!(hear(&mut given, *count, answer), *count);
        let places = answer["units"].as_array().unwrap().iter().map(|unit| {
            let (row, seat) = unit["unit"].as_str().unwrap().split_once('-').unwrap();
            (row.parse::<usize>().unwrap(), seat.parse::<usize>().unwrap())
        });
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        let (first, last) = (places[0], places[places.len() - 1]);
        assert_eq!((first.0, first.1 + count - 1), last, "{answer}");
    }
}

/// The same crowd, each choosing the best seats of a map it looked at before: outside the step that gives them.
#[test]
fn who_chooses_outside_the_step_is_refused_in_an_empty_house() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    opens(&mut talk, "gala");
    let asks = Dice(1).asks(50);
    let heard = at_once(&server, ("gala", 0), |buyer, talk| {
        let map = talk.get("/v1/campaigns/gala/pools/main/seats?standing=1").json();
        let free = map["standing"].as_str().unwrap().char_indices();
        let free = free.filter(|(_, letter)| *letter == '.').map(|(seat, _)| seat);
        let names = free.map(|seat| format!("{}-{}", seat / ROW, seat % ROW));
        json!({"units": names.take(asks[buyer]).collect::<Vec<_>>()})
    });
    let refused = heard.iter().filter(|answer| answer["outcome"] == "unit_taken").count();
    assert!(refused * 100 >= BUYERS * 84, "{refused} of {BUYERS}");
    assert!(left(&mut talk, "gala") > ROWS * ROW * 4 / 5);
}
