//! A server of seats that keeps its promises, or breaks exactly one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::faulty_server::{self, no};

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    ConfirmsForTwo,
    HoldsHalf,
    ConfirmsHalf,
    Gap,
    LosesConfirmed,
    ChangesRepeats,
    NamesFree,
    NamesOthers,
    IgnoresLimit,
    RefusesLate,
    EndsEarly,
    ForgetsRefunds,
    KeepsExpired,
    Miscounts,
    Mislays,
    /// No fault: some holds are not answered, and over when they are asked for again.
    AnswersLate,
    /// No fault: it is gone after a while.
    GoesAway,
}

pub(super) const SEATS: u32 = 80;
pub(super) const LIMIT: u32 = 4;
/// Long enough to pay in time on a busy machine.
pub(super) const HOLD: Duration = Duration::from_secs(1);

pub(super) fn names() -> impl Iterator<Item = String> {
    (1..=SEATS).map(|seat| format!("S{seat}"))
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Live,
    Released,
    Confirmed { ranks: Vec<u64>, retaken: bool },
    Refund,
}

#[derive(Debug, Clone)]
struct Hold {
    subject: String,
    units: Vec<String>,
    began: Instant,
    state: State,
}

impl Hold {
    fn has(&self, unit: &str) -> bool {
        let now = match self.state {
            State::Live => self.began.elapsed() < HOLD,
            State::Confirmed { .. } => true,
            State::Released | State::Refund => false,
        };
        now && self.units.iter().any(|own| own == unit)
    }
}

#[derive(Debug, Default)]
struct Book {
    holds: BTreeMap<String, Hold>,
    results: Vec<Value>,
    last_rank: u64,
    asked: u64,
    /// Seats that were named as taken though nobody has them: nobody ever gets one.
    denied: BTreeSet<String>,
}

impl Book {
    fn is_taken(&self, unit: &str) -> bool {
        self.denied.contains(unit) || self.holds.values().any(|hold| hold.has(unit))
    }

    fn result(&mut self, kind: &str, rank: u64, (id, hold): (&str, &Hold), unit: &str) {
        let number = self.results.len() + 1;
        self.results.push(json!({"number": number, "kind": kind, "pool": "main", "rank": rank, "subject": hold.subject, "unit": unit, "hold": id, "at": "2027-03-01T01:00:00Z"}));
    }
}

#[derive(Debug, Clone)]
pub(super) struct FaultyServer {
    fault: Fault,
    book: Arc<Mutex<Book>>,
}

impl faulty_server::FaultyServer for FaultyServer {
    async fn answer(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        if self.fault == Fault::GoesAway && self.book.lock().unwrap().asked > 60 {
            return None;
        }
        Some(match (method, &path.split('/').collect::<Vec<_>>()[4..]) {
            ("POST", ["holds"]) => self.hold_or_break(body).await?,
            ("POST", ["holds", id, "confirm"]) => self.confirm(id, body["late"] == "retake"),
            ("POST", ["holds", id, "release"]) => self.release(id),
            ("GET", ["holds", id]) => {
                (200, held("expired", id, &self.book.lock().unwrap().holds[*id]))
            }
            ("GET", []) => (200, self.campaign()),
            _ => (200, json!({})),
        })
    }

    fn lines(&self) -> Vec<Value> {
        let mut lines = self.book.lock().unwrap().results.clone();
        if self.fault == Fault::LosesConfirmed {
            // A refund after it would be another promise's.
            let claim = lines.iter().rposition(|line| line["kind"] == "claim");
            drop(claim.map(|at| lines.remove(at)));
        }
        lines
    }
}

impl FaultyServer {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, book: Arc::default() }
    }

    /// Holds, and says so unless it is one of those whose answer comes when they are over.
    async fn hold_or_break(&self, body: &Value) -> Option<(u16, Value)> {
        let id = body["id"].as_str().unwrap();
        let known = self.book.lock().unwrap().holds.contains_key(id);
        let answer = self.hold(body);
        if self.fault != Fault::AnswersLate || !id.ends_with("3-0") {
            return Some(answer);
        }
        if known {
            tokio::time::sleep(HOLD).await;
            return Some(no(410, "hold_expired", json!({})));
        }
        (answer.0 != 201).then_some(answer)
    }

    fn hold(&self, body: &Value) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        book.asked += 1;
        let (id, subject) = (body["id"].as_str().unwrap(), body["subject"].as_str().unwrap());
        if let Some(known) = book.holds.get(id) {
            return (200, held("already_held", id, known));
        }
        let pick = &body["picks"][0];
        let named: Option<Vec<String>> = serde_json::from_value(pick["units"].clone()).ok();
        let count = named.as_ref().map_or(pick["best"].as_u64().unwrap_or(0) as usize, Vec::len);
        if count > LIMIT as usize && self.fault != Fault::IgnoresLimit {
            return no(409, "limit_reached", json!({}));
        }
        let mut units = if let Some(named) = named {
            let taken: Vec<&String> = named.iter().filter(|unit| book.is_taken(unit)).collect();
            match self.fault {
                Fault::NamesFree
                    if taken.is_empty()
                        && book.asked > 3
                        && book.holds.values().all(|hold| !hold.units.contains(&named[0])) =>
                {
                    book.denied.insert(named[0].clone());
                    return no(409, "unit_taken", json!({"units": [{"unit": named[0]}]}));
                }
                Fault::NamesOthers if !taken.is_empty() => {
                    return no(409, "unit_taken", json!({"units": [{"unit": "S0"}]}));
                }
                Fault::ConfirmsForTwo => {}
                _ if !taken.is_empty() => {
                    let units: Vec<Value> =
                        taken.iter().map(|unit| json!({"unit": unit})).collect();
                    return no(409, "unit_taken", json!({"units": units}));
                }
                _ => {}
            }
            named
        } else {
            let free: Vec<String> =
                names().filter(|unit| !book.is_taken(unit)).take(count).collect();
            if free.len() < count {
                return no(409, "sold_out", json!({}));
            }
            free
        };
        if self.fault == Fault::HoldsHalf && units.len() > 1 {
            units.pop();
        }
        units.sort_unstable();
        let hold =
            Hold { subject: subject.to_owned(), units, began: Instant::now(), state: State::Live };
        let answer = held("held", id, &hold);
        book.holds.insert(id.to_owned(), hold);
        (201, answer)
    }

    fn confirm(&self, id: &str, retake: bool) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        let hold = book.holds[id].clone();
        let expired = hold.began.elapsed() >= HOLD;
        match &hold.state {
            State::Confirmed { ranks, retaken } => {
                let shift = u64::from(self.fault == Fault::ChangesRepeats);
                let ranks: Vec<u64> = ranks.iter().map(|rank| rank + shift).collect();
                return (200, confirmed(id, &hold, &ranks, *retaken));
            }
            State::Refund => return no(409, "refund_due", held("refund_due", id, &hold)),
            State::Released => return no(410, "hold_released", json!({})),
            State::Live if (expired || self.fault == Fault::EndsEarly) && !retake => {
                return no(410, "hold_expired", json!({}));
            }
            State::Live if expired && self.fault == Fault::RefusesLate => {
                return no(410, "hold_expired", json!({}));
            }
            State::Live
                if expired
                    && (self.fault == Fault::ForgetsRefunds
                        || hold.units.iter().any(|unit| book.is_taken(unit))) =>
            {
                if self.fault != Fault::ForgetsRefunds {
                    for unit in &hold.units {
                        book.result("refund_due", 0, (id, &hold), unit);
                    }
                }
                book.holds.get_mut(id).unwrap().state = State::Refund;
                return no(409, "refund_due", held("refund_due", id, &hold));
            }
            State::Live => {}
        }
        let mut ranks = Vec::new();
        for unit in &hold.units {
            book.last_rank += 1 + u64::from(self.fault == Fault::Gap && book.last_rank == 4);
            let rank = book.last_rank;
            ranks.push(rank);
            book.result("claim", rank, (id, &hold), unit);
        }
        book.holds.get_mut(id).unwrap().state =
            State::Confirmed { ranks: ranks.clone(), retaken: expired };
        let mut answer = confirmed(id, &hold, &ranks, expired);
        if self.fault == Fault::ConfirmsHalf && hold.units.len() > 1 {
            answer["units"].as_array_mut().unwrap().pop();
        }
        (200, answer)
    }

    fn release(&self, id: &str) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        let hold = book.holds.get_mut(id).unwrap();
        if hold.began.elapsed() >= HOLD && hold.state == State::Live {
            return no(410, "hold_expired", json!({}));
        }
        hold.state = State::Released;
        (200, json!({"outcome": "released", "hold": id, "subject": hold.subject, "units": []}))
    }

    fn campaign(&self) -> Value {
        let claims = faulty_server::FaultyServer::lines(self)
            .iter()
            .filter(|line| line["kind"] == "claim")
            .count() as u64;
        let held = 2 * u64::from(self.fault == Fault::KeepsExpired);
        let taken = claims + held + u64::from(self.fault == Fault::Miscounts);
        let left = u64::from(SEATS).saturating_sub(taken);
        let capacity = SEATS + u32::from(self.fault == Fault::Mislays);
        json!({"campaign": "spring", "pools": [{"name": "main", "capacity": capacity, "left": left, "taken": taken, "held": held, "blocked": 0}]})
    }
}

fn held(outcome: &str, id: &str, hold: &Hold) -> Value {
    let units: Vec<Value> =
        hold.units.iter().map(|unit| json!({"pool": "main", "unit": unit})).collect();
    json!({"outcome": outcome, "hold": id, "subject": hold.subject, "units": units})
}

fn confirmed(id: &str, hold: &Hold, ranks: &[u64], retaken: bool) -> Value {
    let units = hold.units.iter().zip(ranks);
    let units: Vec<Value> =
        units.map(|(unit, rank)| json!({"pool": "main", "unit": unit, "rank": rank})).collect();
    json!({"outcome": "confirmed", "hold": id, "subject": hold.subject, "units": units, "retaken": retaken, "left": 0})
}
