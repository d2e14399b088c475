//! Claims over HTTP against bare servers, and against what teams write by hand.

mod contender;
mod figures;
mod open;

use crate::anchors::{Anchor, Running};
use crate::plan::Plan;
use crate::server::{Server, create};
use crate::table::{Budget, Table};
use anyhow::Result;
use contender::{Contender, Record};
pub(crate) use figures::{Figures, ratios};

pub(crate) const CONNECTIONS: usize = 64;
/// Connections of the closed loops.
const CLOSED: [usize; 3] = [1, CONNECTIONS, 256];
/// Places of the campaign that is never sold out.
const PLENTY: usize = 100_000_000;

/// The figures of all servers over all rounds.
#[derive(Default)]
struct Rounds {
    ours: Record,
    repeated: Figures,
    sold_out: Figures,
    anchors: Vec<(Anchor, Record)>,
    crossed: open::Crossed,
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("claims over HTTP, {CLOSED:?} connections and an open loop, {} rounds", plan.rounds);
    let anchors = Anchor::ALL.iter().map(|anchor| (*anchor, Record::default())).collect();
    let mut rounds = Rounds { anchors, ..Rounds::default() };
    for round in 1..=plan.rounds {
        eprintln!("  round {round}");
        rounds.measure(plan)?;
    }
    // Those whose server program is missing have no figures.
    rounds.anchors.retain(|(_, record)| !record.closed.is_empty());
    rounds.add_closed(table);
    if plan.wants("http", "open") {
        rounds.add_open(table);
    }
    Ok(())
}

impl Rounds {
    fn measure(&mut self, plan: &Plan) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut sqlite = None;
        for (anchor, record) in &mut self.anchors {
            let Some(mut contender) = contender::start(*anchor, folder.path())? else { continue };
            // A row that everybody waits for is ten times slower than the others.
            let requests = if anchor.is_slow() { plan.requests / 10 } else { plan.requests };
            closed_and_open(&mut contender, record, requests, plan)?;
            if *anchor == Anchor::Sqlite {
                sqlite = Some((contender, record.peaks.last().copied().unwrap_or(0.0)));
            }
        }
        self.measure_ours(plan, sqlite)
    }

    /// Measures our server, and then the SQLite peer at our rate.
    fn measure_ours(&mut self, plan: &Plan, sqlite: Option<(Contender, f64)>) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        create(&server.address, "bench", PLENTY)?;
        create(&server.address, "small", plan.requests)?;
        let mut ours = Contender::new(Running::alone(server), "bench");
        closed_and_open(&mut ours, &mut self.ours, plan.requests, plan)?;
        let Some((mut peer, peer_peak)) = sqlite.filter(|_| plan.wants("http", "open")) else {
            return self.measure_refusals(ours, plan);
        };
        let peak = self.ours.peaks.last().copied().unwrap_or(0.0);
        self.crossed.ours.measure(&mut ours, peer_peak * open::TWO_THIRDS, plan)?;
        self.measure_refusals(ours, plan)?;
        self.crossed.peer.measure(&mut peer, peak * open::TWO_THIRDS, plan)
    }

    /// Measures claims that change nothing, in a campaign that is sold out.
    fn measure_refusals(&mut self, ours: Contender, plan: &Plan) -> Result<()> {
        let (connections, requests) = (CONNECTIONS, plan.requests);
        let mut small = Contender::new(ours.running, "small");
        small.accepted(connections, requests, &mut Figures::default())?;
        let few = requests.min(1_000);
        small.closed(connections, requests, move |n| n % few, 200, &mut self.repeated)?;
        // Subjects nobody has seen, after the last unit is gone.
        small.closed(connections, requests, |n| n + 50_000_000, 409, &mut self.sold_out)?;
        Ok(())
    }

    fn add_closed(&self, table: &mut Table) {
        let of = |anchor| self.anchors.iter().find(|(known, _)| *known == anchor);
        let Some((_, bare)) = of(Anchor::Bare) else { return };
        for connections in CLOSED {
            let (ours, bare) = (&self.ours.closed[&connections], &bare.closed[&connections]);
            let with_budget =
                |budget| if connections == CONNECTIONS { budget } else { Budget::None };
            let (text, against) = (ours.text(), format!("bare axum {}", bare.text()));
            let rate = ratios(&ours.rate, &bare.rate);
            let what = format!("HTTP, accepted, {connections}");
            table.add(what, &text, &against, rate, Budget::None);
            let cpu = ratios(&ours.cpu, &bare.cpu);
            let what = format!("HTTP, accepted, {connections}, server CPU");
            table.add(what, &text, &against, cpu, with_budget(Budget::AtMost(1.5)));
            for (anchor, record) in &self.anchors {
                let peer = &record.closed[&connections];
                if *anchor == Anchor::Sqlite {
                    let what = format!("HTTP, accepted, {connections}, against the SQLite peer");
                    let against = format!("{} {}", anchor.name(), peer.text());
                    let several = connections >= CONNECTIONS;
                    let budget = if several { Budget::AtLeast(1.0) } else { Budget::None };
                    table.add(what, &text, against, ratios(&ours.rate, &peer.rate), budget);
                }
                if *anchor != Anchor::Bare {
                    let what = format!("{}, {connections}", anchor.name());
                    let rate = ratios(&peer.rate, &bare.rate);
                    table.add(what, peer.text(), &against, rate, Budget::None);
                }
            }
        }
        let bare = &bare.closed[&CONNECTIONS];
        let against = format!("bare axum {}", bare.text());
        for (what, figures) in [("repeated", &self.repeated), ("sold out", &self.sold_out)] {
            let what = format!("HTTP, {what}, {CONNECTIONS}");
            let rate = ratios(&figures.rate, &bare.rate);
            table.add(what, figures.text(), &against, rate, Budget::AtLeast(1.05));
        }
    }

    fn add_open(&self, table: &mut Table) {
        open::add("ours", &self.ours, table);
        for (anchor, record) in &self.anchors {
            open::add(anchor.name(), record, table);
            if *anchor == Anchor::Sqlite {
                self.crossed.add(&self.ours, record, anchor.name(), table);
            }
        }
    }
}

/// Measures the acceptance of new subjects: closed loops first, which give the peak, then open ones.
fn closed_and_open(
    contender: &mut Contender,
    record: &mut Record,
    requests: usize,
    plan: &Plan,
) -> Result<()> {
    let mut peak = 0.0_f64;
    for connections in CLOSED {
        // One connection alone waits for each answer.
        let requests = if connections == 1 { requests / 10 } else { requests };
        let figures = record.closed.entry(connections).or_default();
        peak = peak.max(contender.accepted(connections, requests.max(100), figures)?);
    }
    record.peaks.push(peak);
    if plan.wants("http", "open") {
        record.open.measure(contender, peak, plan)?;
    }
    Ok(())
}
