//! Joining a long waitlist against plain claims, and places read from it, on one server each round.

use crate::http::CONNECTIONS;
use crate::loader::{self, Phase};
use crate::plan::Plan;
use crate::server::{KEY, Server, create, tell};
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How many wait when the joins are measured: as many as may, but for those that join.
const WAITING: usize = 1_000_000;
/// Lines of one request, as many as there may be.
const LINES: usize = 100_000;

/// Rate and processor time of one kind of request over all rounds.
#[derive(Default)]
struct Figures {
    rates: Vec<f64>,
    cpu: Vec<f64>,
}

impl Figures {
    fn add(&mut self, phase: &Phase, cpu: f64) {
        self.rates.push(phase.per_second);
        self.cpu.push(cpu);
    }

    fn text(&self) -> String {
        let (rate, cpu) = (Spread::thousands(self.rates.clone()), Spread::from(self.cpu.clone()));
        format!("{} k/s, {} us CPU", rate.text(1), cpu.text(1))
    }
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    let waiting = WAITING.min(plan.claims);
    eprintln!("a waitlist of {waiting}, {} rounds", plan.rounds);
    let [mut claims, mut joins, mut places] = [(); 3].map(|()| Figures::default());
    for round in 1..=plan.rounds {
        eprintln!("  round {round}");
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        let address = &*server.address;
        let requests = plan.requests.min(waiting / 2);
        create(address, "bench", requests)?;
        let list = format!(
            r#"{{"opens_at":"now","pools":[{{"name":"main","capacity":1,"waitlist":{WAITING}}}]}}"#
        );
        let made = tell(address, "PUT", "/v1/campaigns/list", &list)?;
        ensure!(made.starts_with("HTTP/1.1 201"), "{made}");
        fill(address, waiting - requests)?;
        let measure = |figures: &mut Figures, status, turn: Box<dyn Fn(usize) -> String>| {
            let before = server.cpu_us()?;
            let phase = loader::turns(&[address], CONNECTIONS, requests, move |n| vec![turn(n)])?;
            ensure!(phase.statuses.get(&status) == Some(&requests), "{:?}", phase.statuses);
            figures.add(&phase, (server.cpu_us()? - before) / requests as f64);
            anyhow::Ok(())
        };
        let claim = |campaign: &'static str, more: &'static str| -> Box<dyn Fn(usize) -> String> {
            Box::new(move |n| {
                let body = format!("{{\"subject\":\"s-{:08}\"{more}}}", 10_000_000 + n);
                loader::post(&format!("/v1/campaigns/{campaign}/claims"), KEY, &body)
            })
        };
        measure(&mut claims, 201, claim("bench", ""))?;
        measure(&mut joins, 202, claim("list", ",\"wait\":true"))?;
        let before = quiet(address)?;
        let place = move |n: usize| {
            let who = n * (waiting - requests) / requests;
            format!(
                "GET /v1/campaigns/list/waitlist/w-{who:08} HTTP/1.1\r\nhost: bench\r\n\
                 authorization: Bearer {KEY}\r\n\r\n"
            )
        };
        measure(&mut places, 200, Box::new(place))?;
        let after = position(address)?;
        ensure!(before == after, "places were read from the store: {before}, then {after}");
    }
    let ratio = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<_>>();
    let cost = ratio(&joins.cpu, &claims.cpu);
    let (join, claim) = (joins.text(), format!("plain claim {}", claims.text()));
    table.add("HTTP, join a waitlist, server CPU", join.clone(), &claim, cost, Budget::AtMost(1.3));
    let rate = ratio(&joins.rates, &claims.rates);
    table.add("HTTP, join a waitlist", join, &claim, rate, Budget::None);
    let rate = ratio(&places.rates, &claims.rates);
    table.add("HTTP, place, no entry written", places.text(), &claim, rate, Budget::None);
    Ok(())
}

/// Waits until nothing is written any more, as the claims are settled, and gives the position. No hold is live, so there
/// are no ticks.
fn quiet(address: &str) -> Result<String> {
    let mut before = position(address)?;
    for _ in 0..60 {
        std::thread::sleep(Duration::from_secs(1));
        let now = position(address)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    bail!("the journal does not come to rest")
}

fn position(address: &str) -> Result<String> {
    let answer = tell(address, "GET", "/v1/campaigns/list", "")?;
    let rest = answer.split_once("\"position\":\"").context("an answer with a position")?.1;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

/// Puts so many on the list; the first one wins the only unit.
fn fill(address: &str, count: usize) -> Result<()> {
    let line = |n: usize| {
        format!(
            "{{\"do\":\"claim\",\"campaign\":\"list\",\"subject\":\"w-{n:08}\",\"wait\":true}}\n"
        )
    };
    // The one that wins is not among those whose places are read.
    let won = tell(address, "POST", "/v1/campaigns/list/claims", "{\"subject\":\"first\"}")?;
    ensure!(won.starts_with("HTTP/1.1 201"), "{won}");
    for from in (0..count).step_by(LINES) {
        let body: String = (from..count.min(from + LINES)).map(line).collect();
        let mut stream = TcpStream::connect(address)?;
        let mut answers = stream.try_clone()?;
        let lines = body.lines().count();
        std::thread::scope(|scope| -> Result<()> {
            let writing = scope.spawn(move || {
                let length = body.len();
                let head = format!(
                    "POST /v1/commands HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\
                     content-type: application/x-ndjson\r\ncontent-length: {length}\r\n\r\n"
                );
                stream.write_all(head.as_bytes())?;
                stream.write_all(body.as_bytes())
            });
            let (mut waits, mut last) = (0, Vec::new());
            let mut buffer = vec![0; 256 << 10];
            loop {
                let read = answers.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                last.extend_from_slice(&buffer[..read]);
                let end = last.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let is = |line: &&[u8]| line.windows(11).any(|part| part == b"\"waitlisted");
                waits += last[..end].split(|byte| *byte == b'\n').filter(is).count();
                last.drain(..end);
            }
            writing.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
            ensure!(waits == lines, "{waits} of {lines} lines wait");
            Ok(())
        })?;
    }
    Ok(())
}
