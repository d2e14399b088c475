//! A server of seats that keeps its promises, or breaks exactly one of them.

mod documents;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::faulty_server::{self, TestRequest, no};
use documents::{held, named, shown, time, with};

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::seats) enum Fault {
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

pub(super) const LIMIT: u32 = 4;
/// Long enough to pay in time on a busy machine.
pub(in crate::seats) const HOLD: Duration = Duration::from_secs(1);
const HOLD_US: i64 = 1_000_000;
/// How long a hold can be extended to.
pub(in crate::seats) const LONGEST: Duration = Duration::from_secs(3);
pub(in crate::seats) const AREA: &str = "floor";

/// Returns the names of so many rows of ten seats.
pub(in crate::seats) fn rows(count: usize) -> Vec<Vec<String>> {
    let name = |row: usize| (1..=10).map(move |seat| format!("{row}-{seat}")).collect();
    (1..=count).map(name).collect()
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Held,
    Released,
    Confirmed(Vec<u64>),
    Refund,
}

#[derive(Debug, Clone)]
struct Part {
    unit: String,
    count: u32,
    state: State,
}

#[derive(Debug, Clone)]
struct Hold {
    subject: String,
    parts: Vec<Part>,
    began: i64,
    until: i64,
    /// When it was paid, and whether too late.
    paid: Option<(i64, bool)>,
}

impl Hold {
    fn has(&self, unit: &str, now: i64) -> u32 {
        let counts = |part: &&Part| match part.state {
            State::Held => now < self.until,
            State::Confirmed(_) => true,
            State::Released | State::Refund => false,
        };
        let parts = self.parts.iter().filter(|part| part.unit == unit);
        parts.filter(counts).map(|part| part.count).sum()
    }
}

#[derive(Debug, Default)]
struct Book {
    holds: BTreeMap<String, Hold>,
    results: Vec<Value>,
    last_rank: u64,
    position: u64,
    now: i64,
    /// Answers to steps with a key.
    steps: BTreeMap<String, (u16, Value)>,
    /// Seats that were named as taken though nobody has them: nobody ever gets one.
    denied: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub(in crate::seats) struct FaultyServer {
    fault: Fault,
    rows: Vec<Vec<String>>,
    /// Places in the area.
    places: u32,
    limit: u32,
    book: Arc<Mutex<Book>>,
}

impl faulty_server::FaultyServer for FaultyServer {
    async fn answer(&self, request: &TestRequest<'_>) -> Option<(u16, Value)> {
        if self.fault == Fault::GoesAway && self.book.lock().unwrap().position > 60 {
            return None;
        }
        let (parts, body) = (request.parts(), &request.body);
        if let ("POST", ["holds"]) = (request.method, &*parts) {
            return self.hold_or_break(body).await;
        }
        let mut book = self.book.lock().unwrap();
        book.turn();
        if let Some((status, known)) = request.key.and_then(|key| book.steps.get(key)) {
            let (status, mut known) = (*status, known.clone());
            if known["outcome"] == "held" {
                known["outcome"] = "already_held".into();
            }
            return Some((status, book.dated(known)));
        }
        let (status, answer) = match (request.method, &*parts) {
            ("POST", ["holds", id, "confirm"]) => self.confirm(&mut book, id, body),
            ("POST", ["holds", id, verb]) => self.change(&mut book, (id, verb), body),
            ("GET", ["holds", id]) => match book.holds.get(*id) {
                Some(hold) => (200, shown(id, hold, book.now)),
                None => no(404, "no_such_hold", json!({})),
            },
            ("GET", []) => (200, self.campaign(&book)),
            _ => (200, self.map(&book)),
        };
        if let Some(key) = request.key {
            book.steps.insert(key.to_owned(), (status, answer.clone()));
        }
        Some((status, book.dated(answer)))
    }

    fn lines(&self) -> Vec<Value> {
        self.results(&self.book.lock().unwrap())
    }
}

impl Book {
    /// Begins an entry; time goes on with entries only, so a look is one, too.
    fn turn(&mut self) {
        self.position += 1;
        self.now = jiff::Timestamp::now().as_microsecond().max(self.now + 1);
    }

    fn dated(&self, mut answer: Value) -> Value {
        answer["position"] = format!("0.{}", self.position).into();
        answer
    }

    /// Returns how much of a unit others have.
    fn taken(&self, unit: &str, except: &str) -> u32 {
        let denied = u32::from(self.denied.contains(unit));
        let others = self.holds.iter().filter(|(id, _)| *id != except);
        denied + others.map(|(_, hold)| hold.has(unit, self.now)).sum::<u32>()
    }

    fn result(&mut self, kind: &str, rank: u64, (id, subject): (&str, &str), unit: &str) {
        let number = self.results.len() + 1;
        self.results.push(json!({"number": number, "kind": kind, "pool": "main", "rank": rank, "subject": subject, "unit": unit, "hold": id, "at": "2027-03-01T01:00:00Z"}));
    }
}

impl FaultyServer {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, rows: rows(8), places: 0, limit: LIMIT, book: Arc::default() }
    }

    /// Returns one with many seats and an area, and without a limit.
    pub(in crate::seats) fn with_area(rows: Vec<Vec<String>>, places: u32) -> Self {
        Self { rows, places, limit: u32::MAX, ..Self::new(Fault::None) }
    }

    fn seats(&self) -> impl Iterator<Item = &String> {
        self.rows.iter().flatten()
    }

    fn most(&self, unit: &str) -> u32 {
        if unit == AREA { self.places } else { 1 }
    }

    /// Holds, and says so unless it is one of those whose answer comes when they are over.
    async fn hold_or_break(&self, body: &Value) -> Option<(u16, Value)> {
        let id = body["id"].as_str().unwrap();
        let known = self.book.lock().unwrap().holds.contains_key(id);
        let answer = {
            let mut book = self.book.lock().unwrap();
            book.turn();
            let (status, answer) = self.hold(&mut book, id, body);
            (status, book.dated(answer))
        };
        if self.fault != Fault::AnswersLate || !id.ends_with("3-0") {
            return Some(answer);
        }
        if known {
            tokio::time::sleep(HOLD).await;
            return Some(no(410, "hold_expired", json!({"position": "0.1000"})));
        }
        (answer.0 != 201).then_some(answer)
    }

    fn hold(&self, book: &mut Book, id: &str, body: &Value) -> (u16, Value) {
        if let Some(known) = book.holds.get(id) {
            return match book.now < known.until {
                true => (200, held("already_held", id, known)),
                false => no(410, "hold_expired", json!({})),
            };
        }
        let wish = match self.wish(book, id, body) {
            Ok(wish) => wish,
            Err(refused) => return refused,
        };
        let parts = wish.into_iter().map(|(unit, count)| Part { unit, count, state: State::Held });
        let mut parts: Vec<Part> = parts.collect();
        if self.fault == Fault::HoldsHalf && parts.len() > 1 {
            parts.pop();
        }
        let (subject, began) = (body["subject"].as_str().unwrap().to_owned(), book.now);
        let hold = Hold { subject, parts, began, until: began + HOLD_US, paid: None };
        let answer = held("held", id, &hold);
        book.holds.insert(id.to_owned(), hold);
        (201, answer)
    }

    /// Returns the units that are wished, if they can be had.
    fn wish(
        &self,
        book: &mut Book,
        id: &str,
        body: &Value,
    ) -> Result<BTreeMap<String, u32>, (u16, Value)> {
        let mut wish = named(body);
        let picks = body["picks"].as_array().map_or(&[][..], Vec::as_slice);
        let best = picks.iter().find(|pick| !pick["best"].is_null());
        let count = best.map_or(0, |best| best["best"].as_u64().unwrap() as usize);
        if wish.len() + count > self.limit as usize && self.fault != Fault::IgnoresLimit {
            return Err(no(409, "limit_reached", json!({})));
        }
        let seats: Vec<String> = wish.keys().filter(|unit| *unit != AREA).cloned().collect();
        let taken: Vec<&String> = seats.iter().filter(|seat| book.taken(seat, id) > 0).collect();
        let units = |names: &[&String]| json!({"units": names.iter().map(|unit| json!({"unit": unit})).collect::<Vec<_>>()});
        match self.fault {
            Fault::NamesFree
                if taken.is_empty()
                    && book.position > 3
                    && !seats.is_empty()
                    && book
                        .holds
                        .values()
                        .all(|hold| hold.parts.iter().all(|part| part.unit != seats[0])) =>
            {
                book.denied.insert(seats[0].clone());
                return Err(no(409, "unit_taken", units(&[&seats[0]])));
            }
            Fault::NamesOthers if !taken.is_empty() => {
                return Err(no(409, "unit_taken", units(&[&"0-0".to_owned()])));
            }
            Fault::ConfirmsForTwo => {}
            _ if !taken.is_empty() => return Err(no(409, "unit_taken", units(&taken))),
            _ => {}
        }
        let standing = wish.get(AREA).copied().unwrap_or(0);
        if book.taken(AREA, "") + standing > self.places && standing > 0 {
            return Err(no(409, "sold_out", json!({})));
        }
        if let Some(best) = best {
            let is_free = |seat: &&String| book.taken(seat, id) == 0 && !wish.contains_key(*seat);
            let free: Vec<String> = if best["adjacent"] == false {
                self.seats().filter(is_free).take(count).cloned().collect()
            } else {
                let mut runs = self.rows.iter().flat_map(|row| row.windows(count));
                runs.find(|run| run.iter().all(|seat| is_free(&seat))).unwrap_or_default().to_vec()
            };
            if free.len() < count {
                return Err(no(409, "sold_out", json!({})));
            }
            wish.extend(free.into_iter().map(|seat| (seat, 1)));
        }
        Ok(wish)
    }

    /// Adds, drops, extends or releases.
    fn change(&self, book: &mut Book, (id, verb): (&str, &str), body: &Value) -> (u16, Value) {
        let now = book.now;
        let hold = &book.holds[id];
        let left = hold.parts.iter().any(|part| part.state == State::Held);
        if now >= hold.until && (hold.paid.is_none() || left) {
            return no(410, "hold_expired", json!({}));
        }
        let wish = match (verb, self.wish(book, id, body)) {
            ("add", Ok(wish)) => wish,
            ("add", Err(refused)) => return refused,
            _ => named(body),
        };
        let hold = book.holds.get_mut(id).unwrap();
        let wished = |part: &Part| wish.is_empty() || wish.contains_key(&part.unit);
        match verb {
            "add" => {
                let more = wish.into_iter();
                hold.parts.extend(more.map(|(unit, count)| Part {
                    unit,
                    count,
                    state: State::Held,
                }));
                (200, held("held", id, hold))
            }
            "drop" => {
                hold.parts.retain(|part| !wished(part));
                (200, held("held", id, hold))
            }
            "extend" => {
                hold.until = (now + HOLD_US).min(hold.began + 3 * HOLD_US);
                (200, held("extended", id, hold))
            }
            _ => {
                let mut gone = hold.clone();
                gone.parts.retain(|part| part.state == State::Held && wished(part));
                for part in
                    hold.parts.iter_mut().filter(|part| part.state == State::Held && wished(part))
                {
                    part.state = State::Released;
                }
                (200, held("released", id, &gone))
            }
        }
    }

    fn confirm(&self, book: &mut Book, id: &str, body: &Value) -> (u16, Value) {
        let (now, mut hold) = (book.now, book.holds[id].clone());
        let (retake, expired) = (body["late"] == "retake", now >= hold.until);
        let wish = named(body);
        if hold.parts.iter().any(|part| part.state == State::Refund) {
            return no(409, "refund_due", held("refund_due", id, &hold));
        }
        let wished = |part: &Part| {
            part.state == State::Held && (wish.is_empty() || wish.contains_key(&part.unit))
        };
        if !hold.parts.iter().any(wished) {
            return match hold.paid {
                Some(_) => (200, self.confirmed(id, &hold, &wish, true)),
                None => no(410, "hold_released", json!({})),
            };
        }
        if (expired || self.fault == Fault::EndsEarly) && !retake
            || expired && self.fault == Fault::RefusesLate
        {
            return no(410, "hold_expired", json!({}));
        }
        let mut others = hold.parts.iter();
        let gone =
            others.any(|part| book.taken(&part.unit, id) + part.count > self.most(&part.unit));
        if expired && (gone || self.fault == Fault::ForgetsRefunds) {
            for part in &mut hold.parts {
                part.state = State::Refund;
                for _ in 0..part.count {
                    if self.fault != Fault::ForgetsRefunds {
                        book.result("refund_due", 0, (id, &hold.subject), &part.unit);
                    }
                }
            }
            book.holds.insert(id.to_owned(), hold.clone());
            return no(409, "refund_due", held("refund_due", id, &hold));
        }
        for part in hold.parts.iter_mut().filter(|part| wished(part)) {
            let mut ranks = Vec::new();
            for _ in 0..part.count {
                book.last_rank += 1 + u64::from(self.fault == Fault::Gap && book.last_rank == 4);
                ranks.push(book.last_rank);
                book.result("claim", book.last_rank, (id, &hold.subject), &part.unit);
            }
            part.state = State::Confirmed(ranks);
        }
        hold.paid = Some((now, expired));
        book.holds.insert(id.to_owned(), hold.clone());
        (200, self.confirmed(id, &hold, &wish, false))
    }

    fn confirmed(
        &self,
        id: &str,
        hold: &Hold,
        wish: &BTreeMap<String, u32>,
        repeats: bool,
    ) -> Value {
        let shift = u64::from(repeats && self.fault == Fault::ChangesRepeats);
        let mut units = Vec::new();
        for part in
            hold.parts.iter().filter(|part| wish.is_empty() || wish.contains_key(&part.unit))
        {
            if let State::Confirmed(ranks) = &part.state {
                units.extend(ranks.iter().map(|rank| with(part, 1, json!({"rank": rank + shift}))));
            }
        }
        if self.fault == Fault::ConfirmsHalf && units.len() > 1 {
            units.pop();
        }
        let (at, retaken) = hold.paid.unwrap();
        json!({"outcome": "confirmed", "hold": id, "subject": hold.subject, "units": units, "at": time(at), "retaken": retaken, "left": 0})
    }

    fn results(&self, book: &Book) -> Vec<Value> {
        let mut lines = book.results.clone();
        if self.fault == Fault::LosesConfirmed {
            // A refund after it would be another promise's.
            let claim = lines.iter().rposition(|line| line["kind"] == "claim");
            drop(claim.map(|at| lines.remove(at)));
        }
        lines
    }

    fn campaign(&self, book: &Book) -> Value {
        let claims =
            self.results(book).iter().filter(|line| line["kind"] == "claim").count() as u64;
        let live = book.holds.values().filter(|hold| book.now < hold.until);
        let parts = live.flat_map(|hold| &hold.parts).filter(|part| part.state == State::Held);
        let held = parts.map(|part| u64::from(part.count)).sum::<u64>();
        let held = held + 2 * u64::from(self.fault == Fault::KeepsExpired);
        let taken = claims + held + u64::from(self.fault == Fault::Miscounts);
        let all = self.seats().count() as u64 + u64::from(self.places);
        let capacity = all + u64::from(self.fault == Fault::Mislays);
        json!({"campaign": "spring", "pools": [{"name": "main", "capacity": capacity, "left": all.saturating_sub(taken), "taken": taken, "held": held, "blocked": 0}]})
    }

    fn map(&self, book: &Book) -> Value {
        let sold = |unit: &str| {
            let parts = book.holds.values().flat_map(|hold| &hold.parts);
            let sold =
                |part: &&Part| part.unit == unit && matches!(part.state, State::Confirmed(_));
            parts.filter(sold).map(|part| part.count).sum::<u32>()
        };
        let letter = |seat: &String| match (sold(seat), book.taken(seat, "")) {
            (1.., _) => 'c',
            (0, 0) => '.',
            (0, _) => 'h',
        };
        let (sold, taken) = (sold(AREA), book.taken(AREA, ""));
        let standing: String = self.seats().map(letter).collect();
        json!({"standing": standing, "area_standing": [[self.places - taken.min(self.places), taken - sold, sold, 0]]})
    }
}
