//! A server that keeps its promises, or breaks exactly one of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::faulty_server::{self, TestRequest};

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    DuplicateRank,
    Gap,
    Oversells,
    ChangesRepeats,
    RefusesWinners,
    LosesAcknowledged,
    ShowsTwice,
    AnswersForOthers,
    /// No fault: its results have refunds and moves too, as those of a campaign with seats.
    SellsSeatsToo,
    /// No fault: every claim is answered `unknown` first, though it happened.
    UnknownFirst,
    /// No fault: every third claim is decided and then cut off.
    CutsAnswers,
}

#[derive(Debug, Default)]
struct Book {
    known: HashMap<String, u64>,
    order: Vec<(String, u64)>,
    asked: u64,
}

#[derive(Debug, Clone)]
pub(super) struct FaultyServer {
    fault: Fault,
    places: u64,
    book: Arc<Mutex<Book>>,
}

const AT: &str = "2027-03-01T01:00:00.000000Z";

impl faulty_server::FaultyServer for FaultyServer {
    async fn answer(&self, request: &TestRequest<'_>) -> Option<(u16, Value)> {
        match request.method {
            "POST" => self.claim(request.body["subject"].as_str().unwrap()),
            _ => Some((200, self.campaign())),
        }
    }

    fn lines(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for (subject, rank) in self.order() {
            rows.push(("claim", "main", subject.clone(), rank));
            if self.fault == Fault::SellsSeatsToo {
                // Neither gives a rank: a refund has none, and that of a move is one somebody has.
                rows.push(("refund_due", "main", subject.clone(), 0));
                rows.push(("moved", "stalls", subject, 3));
            }
        }
        let lines = (1..).zip(rows).map(|(number, (kind, pool, subject, rank))| {
            json!({"number": number, "kind": kind, "campaign": "spring", "pool": pool, "rank": rank, "subject": subject, "at": AT})
        });
        lines.collect()
    }
}

impl FaultyServer {
    pub(super) fn new(fault: Fault, places: u64) -> Self {
        Self { fault, places, book: Arc::default() }
    }

    fn claim(&self, subject: &str) -> Option<(u16, Value)> {
        let mut book = self.book.lock().unwrap();
        book.asked += 1;
        let asked = book.asked;
        if let Some(&rank) = book.known.get(subject) {
            return match self.fault {
                Fault::ChangesRepeats if asked.is_multiple_of(7) => {
                    Some((200, won("already_won", subject, rank + 1)))
                }
                Fault::RefusesWinners if asked.is_multiple_of(7) => {
                    Some((409, problem("sold_out", "no")))
                }
                _ => Some((200, won("already_won", subject, rank))),
            };
        }
        let given = book.order.len() as u64;
        let places = self.places + u64::from(self.fault == Fault::Oversells);
        if given >= places {
            return Some((409, problem("sold_out", "no")));
        }
        let rank = match self.fault {
            Fault::DuplicateRank if given >= 4 => given,
            Fault::Gap if given >= 4 => given + 2,
            _ => given + 1,
        };
        book.known.insert(subject.to_owned(), rank);
        book.order.push((subject.to_owned(), rank));
        match self.fault {
            Fault::UnknownFirst => Some((503, problem("unknown", "unknown"))),
            Fault::CutsAnswers if asked.is_multiple_of(3) => None,
            Fault::AnswersForOthers if given == 4 => Some((201, won("won", "somebody-else", rank))),
            _ => Some((201, won("won", subject, rank))),
        }
    }

    fn order(&self) -> Vec<(String, u64)> {
        let mut lines = self.book.lock().unwrap().order.clone();
        match self.fault {
            Fault::LosesAcknowledged => drop(lines.pop()),
            Fault::ShowsTwice => lines.push((lines[0].0.clone(), lines.len() as u64 + 1)),
            _ => {}
        }
        lines
    }

    fn campaign(&self) -> Value {
        let taken = self.order().len() as u64;
        let left = self.places.saturating_sub(taken);
        json!({"campaign": "spring", "title": "", "state": "open", "version": 1, "created_at": AT, "opens_at": AT, "now": AT,
            "limits": {"campaign": 1}, "claim_again": false, "units_return": true, "hold_ttl_ms": 480_000, "hold_max_ms": 1_800_000,
            "holds": "one", "holds_per_hour": 60, "allow_orphans": false, "ask_again_ms": 1_000, "position": "0.1", "stale": false,
            "durable": true, "left": left, "pools": [
            {"name": "main", "kind": "counted", "capacity": self.places, "left": left, "taken": taken, "last_rank": taken, "cancelled": 0}
        ]})
    }
}

fn won(outcome: &str, subject: &str, rank: u64) -> Value {
    json!({"outcome": outcome, "campaign": "spring", "pool": "main", "subject": subject, "rank": rank, "at": AT, "position": "0.1", "decided": "journal"})
}

fn problem(outcome: &str, changed: &str) -> Value {
    json!({"outcome": outcome, "title": outcome, "changed": changed, "retry": changed == "unknown"})
}
