//! A server of coupon codes that keeps its promises, or breaks exactly one of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::faulty_server::{self, TestRequest};

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    SameCodeForTwo,
    IssuesNoCode,
    Gap,
    ForgetsUses,
    MiscountsUses,
    OwnReservationRefuses,
    ChangesRepeats,
    LosesRedemption,
    InventsRedemption,
    LooksUpAnother,
    RefusesUnused,
    AcceptsMadeUp,
    AcceptsCancelled,
    Miscounts,
    OffersToTheLast,
    SellsPastTheList,
    LedgerLacksOne,
    LedgerDiffers,
}

pub(super) const CODES: u32 = 60;
/// Long enough to redeem in time on a busy machine.
pub(super) const RESERVATION: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq)]
enum State {
    Reserved { until: Instant, expires_at: String },
    Released,
    Redeemed { at: String },
    RolledBack { at: String },
}

#[derive(Debug)]
struct Code {
    subject: String,
    code: String,
    cancelled: bool,
    uses: BTreeMap<String, State>,
}

impl Code {
    /// How many uses are gone, those of a reference left out.
    fn gone(&self, except: &str) -> usize {
        let counts = |state: &State| match state {
            State::Reserved { until, .. } => *until > Instant::now(),
            State::Redeemed { .. } => true,
            State::Released | State::RolledBack { .. } => false,
        };
        self.uses.iter().filter(|(name, state)| *name != except && counts(state)).count()
    }
}

#[derive(Debug, Default)]
struct Book {
    /// By their rank.
    codes: BTreeMap<u64, Code>,
    last_rank: u64,
    results: Vec<Value>,
    ticks: u64,
    waiting: VecDeque<String>,
    /// The number of each offer that was not taken.
    offers: BTreeMap<String, u64>,
    last_offer: u64,
    /// Whether codes were looked up, which is after the results are read the first time.
    looked_up: bool,
}

impl Book {
    /// A moment that no other answer has.
    fn at(&mut self) -> String {
        self.ticks += 1;
        format!("2040-03-01T10:00:00.{:06}Z", self.ticks)
    }

    fn result(&mut self, kind: &str, rank: u64, reference: Option<&str>) {
        let number = self.results.len() + 1;
        let subject = &self.codes[&rank].subject;
        self.results.push(json!({"number": number, "kind": kind, "pool": "main", "rank": rank, "subject": subject, "reference": reference}));
    }

    fn live(&self) -> u64 {
        self.codes.values().filter(|code| !code.cancelled).count() as u64
    }

    /// Codes that somebody has or was offered.
    fn gone(&self) -> u64 {
        self.live() + self.offers.len() as u64
    }

    /// A position that no other answer has.
    fn position(&mut self) -> String {
        self.ticks += 1;
        format!("0.{}", self.ticks)
    }

    /// Offers what is free to those who wait.
    fn serve(&mut self, fault: Fault) {
        while fault != Fault::SellsPastTheList && self.gone() < u64::from(CODES) {
            let next = match fault {
                Fault::OffersToTheLast => self.waiting.pop_back(),
                _ => self.waiting.pop_front(),
            };
            let Some(next) = next else { return };
            self.last_offer += 1;
            self.offers.insert(next, self.last_offer);
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct FaultyServer {
    fault: Fault,
    uses: usize,
    book: Arc<Mutex<Book>>,
}

fn no(outcome: &str) -> (u16, Value) {
    faulty_server::no(409, outcome, json!({}))
}

impl faulty_server::FaultyServer for FaultyServer {
    async fn answer(&self, request: &TestRequest<'_>) -> Option<(u16, Value)> {
        let body = &request.body;
        if request.path == "/v1/settling" {
            return Some((
                200,
                json!({"ledger": "sqlite", "settled": 0, "last_result": 0, "lag": 0, "lag_ms": 0, "term": 1}),
            ));
        }
        Some(match (request.method, &*request.parts()) {
            ("POST", ["claims"]) => self.claim(body),
            ("POST", ["codes", "look-up"]) => self.look_up(body),
            ("POST", ["codes", verb]) => self.step(verb, body),
            ("DELETE", [.., "waitlist", subject]) => self.leave(subject),
            ("DELETE", [.., subject]) => self.cancel(subject),
            ("GET", [.., "waitlist", subject]) => self.place(subject),
            ("GET", []) => (200, self.campaign()),
            _ => no("not_found"),
        })
    }

    fn lines(&self) -> Vec<Value> {
        let book = self.book.lock().unwrap();
        let mut lines = book.results.clone();
        let redeemed = lines.iter().rposition(|line| line["kind"] == "redeemed");
        match (self.fault, redeemed) {
            (Fault::LosesRedemption, Some(at)) => drop(lines.remove(at)),
            (Fault::InventsRedemption, Some(at)) => {
                let mut line = lines[at].clone();
                line["reference"] = "nobody".into();
                lines.push(line);
            }
            // The second time they are the ledger's.
            (Fault::LedgerLacksOne, _) if book.looked_up => drop(lines.pop()),
            (Fault::LedgerDiffers, _) if book.looked_up => lines[0]["subject"] = "nobody".into(),
            _ => {}
        }
        lines
    }
}

impl FaultyServer {
    pub(super) fn new(fault: Fault, uses: u32) -> Self {
        Self { fault, uses: uses as usize, book: Arc::default() }
    }

    fn claim(&self, body: &Value) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        let subject = body["subject"].as_str().unwrap().to_owned();
        let own = book.codes.iter().find(|(_, code)| code.subject == subject && !code.cancelled);
        if let Some((rank, code)) = own {
            return (200, won("already_won", *rank, &code.code));
        }
        let position = book.position();
        if book.offers.remove(&subject).is_none() && book.gone() >= u64::from(CODES) {
            if body["wait"] != true {
                return no("sold_out");
            }
            if !book.waiting.contains(&subject) {
                book.waiting.push_back(subject);
            }
            return (202, json!({"outcome": "waitlisted", "position": position}));
        }
        book.waiting.retain(|waits| *waits != subject);
        book.last_rank += 1 + u64::from(self.fault == Fault::Gap && book.last_rank == 4);
        let rank = book.last_rank;
        let code = match self.fault {
            Fault::SameCodeForTwo => format!("CODE-{}", rank / 2),
            Fault::IssuesNoCode if rank == 3 => String::new(),
            _ => format!("CODE-{rank}"),
        };
        let mut answer = won("won", rank, &code);
        answer["position"] = position.into();
        let uses = BTreeMap::new();
        book.codes.insert(rank, Code { subject, code, cancelled: false, uses });
        book.result("claim", rank, None);
        (201, answer)
    }

    fn cancel(&self, subject: &str) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        let own = book.codes.iter_mut().find(|(_, code)| code.subject == subject);
        let (rank, code) = own.unwrap();
        let (rank, before) = (*rank, std::mem::replace(&mut code.cancelled, true));
        if !before {
            book.result("cancel", rank, None);
            book.serve(self.fault);
        }
        (200, json!({"outcome": "cancelled", "rank": rank}))
    }

    fn place(&self, subject: &str) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        let position = book.position();
        if book.waiting.iter().any(|waits| waits == subject) {
            return (200, json!({"state": "waits", "offers_not_taken": 0, "position": position}));
        }
        let Some(offer) = book.offers.get(subject) else { return no("not_on_waitlist") };
        let hold = format!("offer-{offer}");
        (
            200,
            json!({"state": "offered", "hold": hold, "offers_not_taken": 0, "position": position}),
        )
    }

    fn leave(&self, subject: &str) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        book.waiting.retain(|waits| waits != subject);
        (200, json!({"outcome": "left_waitlist", "was_on": true}))
    }

    fn step(&self, verb: &str, body: &Value) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        let at = book.at();
        let (code, reference) =
            (body["code"].as_str().unwrap(), body["reference"].as_str().unwrap());
        let found = book.codes.iter_mut().find(|(_, known)| known.code == code);
        let Some((rank, found)) = found else {
            let accepts = self.fault == Fault::AcceptsMadeUp;
            return if accepts {
                (200, json!({"outcome": "redeemed"}))
            } else {
                no("no_such_code")
            };
        };
        let rank = *rank;
        if found.cancelled {
            let accepts = self.fault == Fault::AcceptsCancelled;
            return if accepts {
                (200, json!({"outcome": "redeemed"}))
            } else {
                no("code_revoked")
            };
        }
        let yes = |outcome: &str, at: &str| {
            let name = if verb == "reserve" { "expires_at" } else { "at" };
            (200, json!({"outcome": outcome, "rank": rank, "reference": reference, name: at}))
        };
        let own = found.uses.get(reference).cloned();
        match (verb, own) {
            ("reserve", Some(State::Reserved { until, expires_at })) if until > Instant::now() => {
                return yes("already_reserved", &expires_at);
            }
            ("redeem", Some(State::Reserved { .. }))
                if self.fault == Fault::OwnReservationRefuses =>
            {
                return no("code_reserved");
            }
            ("redeem", Some(State::Redeemed { at: first })) => {
                let then = if self.fault == Fault::ChangesRepeats { &at } else { &first };
                return yes("redeemed", then);
            }
            ("redeem", Some(State::RolledBack { .. })) => return no("already_rolled_back"),
            ("roll-back", Some(State::RolledBack { at: first })) => {
                return yes("rolled_back", &first);
            }
            ("roll-back", Some(State::Redeemed { .. })) => {
                let back = State::RolledBack { at: at.clone() };
                found.uses.insert(reference.to_owned(), back);
                book.result("rolled_back", rank, Some(reference));
                return yes("rolled_back", &at);
            }
            ("roll-back", _) => return no("not_redeemed"),
            ("release", Some(State::Reserved { .. } | State::Released)) => {
                found.uses.insert(reference.to_owned(), State::Released);
                // It has no time: a server does not say when a reservation ended.
                let ended =
                    json!({"outcome": "reservation_ended", "rank": rank, "reference": reference});
                return (200, ended);
            }
            ("release", _) => return no("not_reserved"),
            _ => {}
        }
        if self.fault == Fault::RefusesUnused && found.uses.is_empty() && rank % 3 == 0 {
            return no("code_used");
        }
        if found.gone(reference) >= self.uses && self.fault != Fault::ForgetsUses {
            return no("code_used");
        }
        if verb == "reserve" {
            let until = Instant::now() + RESERVATION;
            let state = State::Reserved { until, expires_at: at.clone() };
            found.uses.insert(reference.to_owned(), state);
            return yes("reserved", &at);
        }
        found.uses.insert(reference.to_owned(), State::Redeemed { at: at.clone() });
        book.result("redeemed", rank, Some(reference));
        yes("redeemed", &at)
    }

    fn look_up(&self, body: &Value) -> (u16, Value) {
        let mut book = self.book.lock().unwrap();
        book.looked_up = true;
        let subject = body["subject"].as_str().unwrap();
        let own = book.codes.iter().filter(|(_, code)| code.subject == subject && !code.cancelled);
        let codes: Vec<Value> = own.map(|(rank, code)| self.looked_up(*rank, code)).collect();
        (
            200,
            json!({"campaign": "spring", "codes": codes, "more": false, "position": "1-1", "stale": false, "durable": true}),
        )
    }

    fn looked_up(&self, rank: u64, code: &Code) -> Value {
        let redeemed = |state: &&State| matches!(state, State::Redeemed { .. });
        let redeemed = code.uses.values().filter(redeemed).count();
        let surplus = usize::from(self.fault == Fault::MiscountsUses && redeemed > 0) * self.uses;
        let reference = |(name, state): (&String, &State)| {
            let state = match state {
                State::Reserved { .. } => "reserved",
                State::Released => "released",
                State::Redeemed { .. } => "redeemed",
                State::RolledBack { .. } => "rolled_back",
            };
            json!({"reference": name, "state": state, "at": "2040-03-01T10:00:00Z"})
        };
        let references: Vec<Value> = code.uses.iter().map(reference).collect();
        let other = self.fault == Fault::LooksUpAnother;
        let text = if other { format!("{}-X", code.code) } else { code.code.clone() };
        json!({
            "pool": "main", "rank": rank, "subject": code.subject, "code": text, "standing": "issued", "issue": 1,
            "issued_at": "2040-03-01T10:00:00Z", "expires_at": null, "uses": self.uses, "redeemed": redeemed + surplus,
            "reserved": code.gone("").saturating_sub(redeemed), "references": references, "marks": [],
        })
    }

    fn campaign(&self) -> Value {
        let book = self.book.lock().unwrap();
        let (taken, held) =
            (book.gone() + u64::from(self.fault == Fault::Miscounts), book.offers.len() as u64);
        let left = u64::from(CODES).saturating_sub(taken);
        json!({"campaign": "spring", "unsettled": 0, "pools": [{"name": "main", "capacity": CODES, "left": left, "taken": taken, "held": held}]})
    }
}

fn won(outcome: &str, rank: u64, code: &str) -> Value {
    json!({"outcome": outcome, "rank": rank, "code": code})
}
