//! Coupon codes over HTTP against plain claims and against what teams write by hand, a large import, and memory.

mod memory;
mod postgres;

use crate::http::{CONNECTIONS, Figures, ratios};
use crate::loader::{self, post};
use crate::plan::Plan;
use crate::server::{KEY, Server, create, tell};
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};
pub(crate) use memory::print as print_memory;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Instant;

/// The figures of all rounds.
#[derive(Default)]
struct Rounds {
    claimed: Figures,
    issued: Figures,
    reserved: Figures,
    redeemed: Figures,
    /// One code with as many uses as there are requests.
    shared: Figures,
    by_hand: Figures,
    shared_by_hand: Figures,
    /// Seconds.
    import: Vec<f64>,
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("coupon codes over HTTP, {CONNECTIONS} connections, {} rounds", plan.rounds);
    let mut rounds = Rounds::default();
    // The part `large` of the benchmark has ten million claims where a short run has fewer.
    let imported = plan.claims.min(1_000_000);
    for _ in 0..plan.rounds {
        rounds.measure(plan.requests)?;
        rounds.measure_shared(plan.requests)?;
        let requests = plan.requests / 10;
        let own = |turn| format!("CODE-{turn:07}");
        postgres::measure(requests, own, &mut rounds.by_hand)?;
        let shared = |_| "CODE-SHARED".to_owned();
        postgres::measure(requests, shared, &mut rounds.shared_by_hand)?;
        rounds.import.push(import(imported)?);
    }
    rounds.add(imported, table);
    memory::run(imported, table)
}

impl Rounds {
    /// Measures claims of a counted pool, and then the life of as many codes, on a server each.
    fn measure(&mut self, requests: usize) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        create(&server.address, "bench", requests)?;
        let claim = |turn: usize| claim("bench", turn);
        closed(&server, requests, claim, 201, &mut self.claimed)?;
        drop(server);
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        create_coded(&server.address, "codes", requests)?;
        closed(&server, requests, |turn| self::claim("codes", turn), 201, &mut self.issued)?;
        let codes = Rc::new(codes(&server.address, "codes")?);
        ensure!(codes.len() == requests, "{} of {requests} codes", codes.len());
        let steps = [("reserve", 201, &mut self.reserved), ("redeem", 200, &mut self.redeemed)];
        for (verb, status, figures) in steps {
            let codes = Rc::clone(&codes);
            let step = move |turn: usize| step("codes", verb, &codes[turn], turn);
            closed(&server, requests, step, status, figures)?;
        }
        Ok(())
    }

    /// Measures redemptions of one code with many uses, each for an order of its own.
    fn measure_shared(&mut self, requests: usize) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        let pool = format!(
            r#"{{"name":"main","kind":"coded","capacity":1,"codes":{{"uses":{requests}}}}}"#
        );
        put(&server.address, "shared", &pool)?;
        let won =
            tell(&server.address, "POST", "/v1/campaigns/shared/claims", r#"{"subject":"s"}"#)?;
        ensure!(won.starts_with("HTTP/1.1 201"), "{won}");
        let codes = codes(&server.address, "shared")?;
        let code = codes.first().context("a code")?.clone();
        let redeem = move |turn: usize| step("shared", "redeem", &code, turn);
        closed(&server, requests, redeem, 200, &mut self.shared)
    }

    fn add(&self, imported: usize, table: &mut Table) {
        let against = format!("a plain claim {}", self.claimed.text());
        let steps = [
            ("issued", &self.issued),
            ("reserved", &self.reserved),
            ("redeemed", &self.redeemed),
            ("one code redeemed by all", &self.shared),
        ];
        for (what, figures) in steps {
            let what = format!("HTTP, codes {what}, {CONNECTIONS}");
            let rate = ratios(&figures.rate, &self.claimed.rate);
            table.add(what, figures.text(), &against, rate, Budget::AtLeast(0.8));
        }
        for (what, ours, by_hand) in [
            ("codes redeemed", &self.redeemed, &self.by_hand),
            ("one code redeemed by all", &self.shared, &self.shared_by_hand),
        ] {
            if by_hand.rate.is_empty() {
                continue;
            }
            let against = format!("axum + PostgreSQL by hand {}", by_hand.text());
            let rate = ratios(&ours.rate, &by_hand.rate);
            let what = format!("HTTP, {what}, {CONNECTIONS}, against PostgreSQL by hand");
            table.add(what, ours.text(), against, rate, Budget::AtLeast(10.0));
        }
        let seconds = crate::spread::Spread::from(self.import.clone()).text(1);
        // Twenty seconds for a million.
        let most = 20.0 * imported as f64 / 1e6;
        let ratio: Vec<f64> = self.import.iter().map(|took| took / most).collect();
        let (ours, against) = (format!("{seconds} s"), format!("{most:.1} s"));
        let what = format!("import of {imported} codes");
        table.add(what, ours, against, ratio, Budget::AtMost(1.0));
    }
}

/// Creates a campaign of so many generated codes.
fn create_coded(address: &str, campaign: &str, codes: usize) -> Result<()> {
    put(address, campaign, &format!(r#"{{"name":"main","kind":"coded","capacity":{codes}}}"#))
}

fn put(address: &str, campaign: &str, pool: &str) -> Result<()> {
    let body = format!(r#"{{"opens_at":"now","pools":[{pool}]}}"#);
    let answer = tell(address, "PUT", &format!("/v1/campaigns/{campaign}"), &body)?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    Ok(())
}

fn claim(campaign: &str, turn: usize) -> String {
    let body = format!("{{\"subject\":\"s-{turn:08}\"}}");
    post(&format!("/v1/campaigns/{campaign}/claims"), KEY, &body)
}

fn step(campaign: &str, verb: &str, code: &str, turn: usize) -> String {
    let body = format!(r#"{{"code":"{code}","reference":"order-{turn:08}"}}"#);
    post(&format!("/v1/campaigns/{campaign}/codes/{verb}"), KEY, &body)
}

/// Measures requests in a closed loop that all get the same status.
fn closed(
    server: &Server,
    requests: usize,
    request: impl Fn(usize) -> String + 'static,
    status: u16,
    figures: &mut Figures,
) -> Result<()> {
    let before = server.cpu_us()?;
    let turn = move |turn| vec![request(turn)];
    let phase = loader::turns(&[&server.address], CONNECTIONS, requests, turn)?;
    ensure!(phase.statuses.get(&status) == Some(&requests), "{:?}", phase.statuses);
    figures.add(&phase, (server.cpu_us()? - before) / requests as f64, None);
    Ok(())
}

/// Reads all codes of a campaign, by rank.
fn codes(address: &str, campaign: &str) -> Result<Vec<String>> {
    let mut codes = Vec::new();
    loop {
        let path = format!(
            "/v1/campaigns/{campaign}/winners?with_codes=true&format=ndjson&limit=10000&after={}",
            codes.len()
        );
        let answer = tell(address, "GET", &path, "")?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let before = codes.len();
        codes.extend(answer.split(r#""code":""#).skip(1).filter_map(|rest| {
            let (code, _) = rest.split_once('"')?;
            Some(code.to_owned())
        }));
        if codes.len() == before {
            return Ok(codes);
        }
    }
}

/// Imports so many codes with the program itself; gives how many seconds it took.
fn import(count: usize) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let server = Server::in_folder(&folder.path().join("data"))?;
    let pool = r#"{"name":"main","kind":"coded","codes":{"source":"imported"}}"#;
    put(&server.address, "bring", pool)?;
    let file = folder.path().join("codes.txt");
    let codes: String = (0..count).map(|number| format!("IMPORTED-{number:07}\n")).collect();
    std::fs::write(&file, codes)?;
    let begun = Instant::now();
    let said = program(&server, &file).output().context("the program does not start")?;
    let took = begun.elapsed().as_secs_f64();
    let out = String::from_utf8_lossy(&said.stdout);
    ensure!(out.contains(&format!("\"added\":{count}")), "{out} {:?}", said.stderr);
    Ok(took)
}

fn program(server: &Server, file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.args(["codes", "import", "bring", "--json"]).arg(file);
    command.env("FIRSTCOME_URL", format!("http://{}", server.address)).env("FIRSTCOME_KEY", KEY);
    command.stdin(Stdio::null());
    command
}
