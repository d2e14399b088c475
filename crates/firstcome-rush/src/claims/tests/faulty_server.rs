//! A server that keeps its promises, or breaks exactly one of them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

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

/// Starts one and gives its address.
pub(super) async fn start(fault: Fault, places: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let faulty_server = FaultyServer { fault, places, book: Arc::default() };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let faulty_server = faulty_server.clone();
            tokio::spawn(async move { faulty_server.serve(stream).await });
        }
    });
    address
}

impl FaultyServer {
    /// Serves one connection until either side closes it.
    async fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut buffer = Vec::new();
        loop {
            let (request, body) = read_request(&mut stream, &mut buffer).await?;
            let (status, answer) = self.answer(&request, &body)?;
            let answer = answer.to_string();
            let answer =
                format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
            stream.write_all(answer.as_bytes()).await.ok()?;
        }
    }

    /// The answer to a request; `None` cuts the connection.
    fn answer(&self, request: &str, body: &[u8]) -> Option<(u16, Value)> {
        if request.starts_with("POST") {
            let body: Value = serde_json::from_slice(body).unwrap();
            self.claim(body["subject"].as_str().unwrap())
        } else if request.contains("/results?") {
            Some((200, self.results(request)))
        } else {
            Some((200, self.campaign()))
        }
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

    fn lines(&self) -> Vec<(String, u64)> {
        let mut lines = self.book.lock().unwrap().order.clone();
        match self.fault {
            Fault::LosesAcknowledged => drop(lines.pop()),
            Fault::ShowsTwice => lines.push((lines[0].0.clone(), lines.len() as u64 + 1)),
            _ => {}
        }
        lines
    }

    fn results(&self, request: &str) -> Value {
        let after = request.split("after=").nth(1).and_then(|rest| rest.split('&').next());
        let after: usize = after.unwrap().parse().unwrap();
        let mut rows = Vec::new();
        for (subject, rank) in self.lines() {
            rows.push(("claim", "main", subject.clone(), rank));
            if self.fault == Fault::SellsSeatsToo {
                // Neither gives a rank: a refund has none, and that of a move is one somebody has.
                rows.push(("refund_due", "main", subject.clone(), 0));
                rows.push(("moved", "stalls", subject, 3));
            }
        }
        // Small pages, so that turning them is tested too.
        let page: Vec<Value> = (after + 1..)
            .zip(rows.iter().skip(after).take(3))
            .map(|(number, (kind, pool, subject, rank))| {
                json!({"number": number, "kind": kind, "campaign": "spring", "pool": pool, "rank": rank, "subject": subject, "at": AT})
            })
            .collect();
        let next = (after + page.len() < rows.len()).then_some(after + page.len());
        json!({"results": page, "next": next, "last": rows.len(), "position": "0.1", "durable": true})
    }

    fn campaign(&self) -> Value {
        let taken = self.lines().len() as u64;
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

pub(crate) async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Option<(String, Vec<u8>)> {
    loop {
        let end = buffer.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4);
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length =
                head.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next());
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if buffer.len() >= end + length {
                let request = String::from_utf8_lossy(&buffer[..end]).into_owned();
                let body = buffer[end..end + length].to_vec();
                buffer.drain(..end + length);
                return Some((request, body));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
