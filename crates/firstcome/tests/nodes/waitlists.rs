//! A waitlist on three servers, some of which die or stand still: what comes free goes to one, in the order of joining.
//!
//! People write down every offer and place they hear of; then all of it is held against the promises.

use crate::scene::{Scene, Setup};
use crate::talk::Talk;
use firstcome_client::{Ask, Wish};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const CAMPAIGN: &str = "drop";
const SEATS: usize = 12;
const PEOPLE: usize = 90;
/// The grade of all seats.
const GRADE: &str = "R";
/// How long people come, ask and give back.
const LASTS: Duration = Duration::from_secs(12);

/// What somebody heard.
#[derive(Clone, Debug)]
enum Observation {
    /// An offer: its hold, its seat, and how many were not taken before it.
    Offered { who: String, hold: u64, seat: String, missed: u64 },
    /// An offer was confirmed: the seat.
    Confirmed { who: String, seat: String },
    /// Somebody waits, with a ticket.
    Waits { who: String, ticket: u64 },
}

/// Somebody who joins, looks for the place, and takes an offer or lets it go.
struct Person {
    who: String,
    /// Any one seat; there are two ways to say so, and each has a queue of its own.
    wish: Wish,
    ports: Vec<u16>,
    random: fastrand::Rng,
    heard: Vec<Observation>,
}

impl Person {
    fn talk(&mut self) -> Talk {
        Talk::to(self.ports[self.random.usize(..self.ports.len())])
    }

    async fn goes(mut self, until: Instant) -> Vec<Observation> {
        while Instant::now() < until {
            sleep(Duration::from_millis(self.random.u64(100..900))).await;
            let place = Ask::place(CAMPAIGN, &self.who, None);
            let Ok(place) = self.talk().tell(place).await else { continue };
            if place["outcome"] == "not_on_waitlist" {
                let join = Ask::join(CAMPAIGN, &self.who, None, &self.wish);
                // Who has a seat by a confirm whose answer was lost may have no more.
                let said = self.talk().tell(join).await;
                if said.is_ok_and(|said| said["outcome"] == "limit_reached") {
                    break;
                }
            } else if place["state"] == "offered" && self.decides(&place).await {
                break;
            }
        }
        self.heard
    }

    /// Takes an offer, releases it, or lets it pass; says whether it was taken.
    async fn decides(&mut self, place: &Value) -> bool {
        let hold = place["hold"].as_str().unwrap().to_owned();
        let seat = place["units"][0]["unit"].as_str().unwrap().to_owned();
        let number = hold.strip_prefix("offer-").unwrap().parse().unwrap();
        let (who, missed) = (self.who.clone(), place["offers_not_taken"].as_u64().unwrap());
        self.heard.push(Observation::Offered { who: who.clone(), hold: number, seat, missed });
        let step = match self.random.u32(..10) {
            0..4 => "confirm",
            4..8 => "release",
            _ => return false,
        };
        let ask = Ask::hold_step(CAMPAIGN, &hold, step, json!({"subject": who}), None);
        let Ok(said) = self.talk().tell(ask).await else { return false };
        if said["outcome"] == "confirmed" {
            let seat = said["units"][0]["unit"].as_str().unwrap().to_owned();
            self.heard.push(Observation::Confirmed { who, seat });
            return true;
        }
        false
    }
}

/// Reads the list now and then, for the tickets.
async fn reads_the_list(port: u16, until: Instant) -> Vec<Observation> {
    let mut heard = Vec::new();
    while Instant::now() < until {
        sleep(Duration::from_millis(120)).await;
        let path = format!("/v1/campaigns/{CAMPAIGN}/waitlist?limit=10000");
        let Ok(page) = Talk::to(port).try_get(&path).await else { continue };
        let lines = page["waiting"].as_array().cloned().unwrap_or_default();
        let tickets: Vec<_> = lines.iter().map(|line| line["ticket"].as_u64().unwrap()).collect();
        assert!(tickets.is_sorted(), "the list is in order: {tickets:?}");
        // Of whoever let an offer go it is not the first place.
        let first = lines.iter().filter(|line| line["offers_not_taken"] == 0);
        heard.extend(first.map(|line| Observation::Waits {
            who: line["subject"].as_str().unwrap().to_owned(),
            ticket: line["ticket"].as_u64().unwrap(),
        }));
    }
    heard
}

/// Returns what is wrong about what people heard, where these wait at the end who were never offered anything.
fn judged(heard: &[Observation], results: &[Value], waiting: &[(u64, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    // A hold is one offer, to one subject, of one seat.
    let mut holds: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
    // The first ticket of everybody, by which the first offer comes.
    let mut tickets: BTreeMap<&str, u64> = BTreeMap::new();
    let mut first_offers: BTreeMap<u64, &str> = BTreeMap::new();
    for heard in heard {
        match heard {
            Observation::Offered { who, hold, seat, missed } => {
                let known = *holds.entry(*hold).or_insert((who, seat));
                if known != (who.as_str(), seat.as_str()) {
                    wrong.push(format!("offer {hold} is of {known:?} and of {who} and {seat}"));
                }
                if *missed == 0 {
                    first_offers.insert(*hold, who);
                }
            }
            Observation::Waits { who, ticket } => {
                let first = tickets.entry(who).or_insert(*ticket);
                *first = (*first).min(*ticket);
            }
            Observation::Confirmed { .. } => {}
        }
    }
    // All wish for the same: first offers are made in the order of the first tickets. Who was off the list and came back
    // had two of them.
    let once = |who: &str| first_offers.values().filter(|known| **known == who).count() == 1;
    let ordered = first_offers.values().filter(|who| once(who));
    let order: Vec<(u64, &str)> =
        ordered.filter_map(|who| Some((*tickets.get(who)?, *who))).collect();
    for pair in order.windows(2) {
        if pair[0].0 > pair[1].0 {
            wrong.push(format!("{:?} was offered something before {:?}", pair[0], pair[1]));
        }
    }
    for (ticket, who) in waiting {
        let later = order.iter().filter(|(later, _)| later > ticket);
        wrong.extend(later.map(|later| format!("{later:?} was offered something before {who}")));
    }
    // Each seat has one owner, and whoever was told so is it.
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for line in results.iter().filter(|line| line["kind"] == "claim") {
        let (seat, who) = (line["unit"].as_str().unwrap(), line["subject"].as_str().unwrap());
        if let Some(before) = owners.insert(seat, who) {
            wrong.push(format!("seat {seat} is {before}'s and {who}'s"));
        }
    }
    for heard in heard {
        if let Observation::Confirmed { who, seat } = heard
            && owners.get(seat.as_str()) != Some(&who.as_str())
        {
            wrong.push(format!(
                "{who} was told to have {seat}, {:?} has it",
                owners.get(seat.as_str())
            ));
        }
    }
    // Nobody is told twice that nothing came.
    let mut gone = BTreeSet::new();
    let ended =
        results.iter().filter(|line| line["kind"] == "unserved" && line["reason"] == "ended");
    for line in ended {
        if !gone.insert(line["subject"].as_str().unwrap()) {
            wrong.push(format!("told twice: {line}"));
        }
    }
    wrong
}

fn adds_seat(seat: usize) -> Ask {
    let body = json!([{"name": format!("A{seat}"), "section": "stalls", "row": "A", "number": seat.to_string(),
        "grade": GRADE}]);
    let mut ask = Ask::import_seats(CAMPAIGN, "main", body);
    ask.headers.push(("idempotency-key", format!("seat-{seat}")));
    ask
}

/// Everybody comes at once; servers die and stand still meanwhile. Gives what was heard.
async fn evening(scene: &mut Scene, fire: bool) -> Vec<Observation> {
    let settings = json!({"opens_at": "now", "offer_ms": 1_500, "allow_orphans": true,
        "limits": {"campaign": 1}, "pools": [{"name": "main", "kind": "seated"}]});
    let said = scene.nodes[0].talk().put(CAMPAIGN, settings).await;
    assert_eq!(said["outcome"], "created", "{said}");
    // Who waits names a grade that is there.
    scene.nodes[0].talk().tell(adds_seat(0)).await.unwrap();
    let ports: Vec<u16> = scene.nodes.iter().map(|node| node.port()).collect();
    let mut random = fastrand::Rng::with_seed(scene.seed);
    let until = Instant::now() + LASTS;
    let mut people = JoinSet::new();
    for number in 0..PEOPLE {
        let (who, ports, random) = (format!("s{number}"), ports.clone(), random.fork());
        let grade = (number % 2 == 0).then(|| GRADE.to_owned());
        let wish = Wish { grade, ..Wish::units(1) };
        people.spawn(Person { who, wish, ports, random, heard: Vec::new() }.goes(until));
    }
    for port in &ports {
        people.spawn(reads_the_list(*port, until));
    }
    // Seats come one by one: nobody can have one but who is next.
    for seat in 1..=SEATS {
        let ask = adds_seat(seat);
        let added = until - LASTS / 2;
        while scene.nodes[random.usize(..3)].talk().tell(ask.clone()).await.is_err() {
            assert!(Instant::now() < until, "seat {seat} is never added");
        }
        if !fire {
            sleep(Duration::from_millis(60)).await;
            continue;
        }
        let chosen = random.usize(..3);
        if seat % 3 == 0 && Instant::now() < added {
            scene.nodes[chosen].kill().await;
            scene.nodes[chosen].start().await;
        } else if seat % 3 == 1 {
            scene.nodes[chosen].pause();
            sleep(Duration::from_millis(random.u64(50..600))).await;
            scene.nodes[chosen].resume();
        }
    }
    let mut heard = Vec::new();
    while let Some(more) = people.join_next().await {
        heard.extend(more.unwrap());
    }
    heard
}

/// Pauses the campaign, so that nothing is offered any more, and gives who waits and was never offered anything.
async fn rests(scene: &mut Scene) -> Vec<(u64, String)> {
    scene.all_ready().await;
    let path = format!("/v1/campaigns/{CAMPAIGN}");
    let paused = scene.nodes[1].talk().post(&format!("{path}/pause"), None).await;
    assert_eq!(paused["outcome"], "changed", "{paused}");
    // Offers that were made last as long as they do.
    sleep(Duration::from_secs(3)).await;
    scene.says_the_same(CAMPAIGN).await;
    let list = scene.nodes[2].talk().get(&format!("{path}/waitlist?limit=10000")).await;
    let lines = list["waiting"].as_array().unwrap().iter();
    let never = lines.filter(|line| line["offers_not_taken"] == 0);
    never
        .map(|line| {
            (line["ticket"].as_u64().unwrap(), line["subject"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_go_to_who_is_next_on_three_servers_that_die_and_stand_still() {
    let settings = [("LEADER_LEASE_MS", "500"), ("SNAPSHOT_EVERY", "1s")];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let heard = evening(&mut scene, true).await;
    let waiting = rests(&mut scene).await;
    let closed = scene.nodes[1].talk().post(&format!("/v1/campaigns/{CAMPAIGN}/close"), None).await;
    assert_eq!(closed["outcome"], "changed", "{closed}");
    let agreed = scene.says_the_same(CAMPAIGN).await;
    assert_eq!(judged(&heard, &agreed.results, &waiting), [""; 0]);
    let offers = heard.iter().filter(|heard| matches!(heard, Observation::Offered { .. })).count();
    let waits = heard.iter().filter(|heard| matches!(heard, Observation::Waits { .. })).count();
    assert!(offers > SEATS && waits > PEOPLE, "{offers} offers, {waits} places");
    // Everybody whose wait was not over is told, in the order of the list; offers that last on are still good.
    let ended = agreed.results.iter().filter(|line| line["reason"] == "ended").count();
    assert!(ended > PEOPLE / 2, "{ended} of {PEOPLE} were told that it is over");
    let list = scene.nodes[2].talk().get(&format!("/v1/campaigns/{CAMPAIGN}/waitlist")).await;
    assert_eq!(list["waiting"], json!([]), "{list}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_is_not_kept_is_noticed() {
    let settings = [("INJECT", "waitlist_jumped")];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let heard = evening(&mut scene, false).await;
    let waiting = rests(&mut scene).await;
    let agreed = scene.says_the_same(CAMPAIGN).await;
    let wrong = judged(&heard, &agreed.results, &waiting);
    assert!(wrong.iter().any(|wrong| wrong.contains("was offered something before")), "{wrong:?}");
}
