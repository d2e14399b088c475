//! Seats: holds over HTTP, the best seats, and memory.
//!
//! The rules by themselves: [`best`]. Seats over HTTP: [`house`].

mod best;
mod house;

use crate::http::{CONNECTIONS, Figures};
use crate::loader::{self, post};
use crate::plan::Plan;
use crate::server::{KEY, Server};
use crate::table::{Budget, Table};
use anyhow::{Result, ensure};
pub(crate) use best::print_memory;
use house::House;

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    if plan.wants("seats", "best") {
        best::run(table)?;
    }
    if plan.wants("seats", "holds") {
        holds(plan, table)?;
    }
    Ok(())
}

/// Holds of two seats next to each other, and the same with the payment behind each.
fn holds(plan: &Plan, table: &mut Table) -> Result<()> {
    let turns = plan.requests / 2;
    eprintln!("holds over HTTP, {CONNECTIONS} connections, {} rounds", plan.rounds);
    let (mut held, mut bare_held) = (Figures::default(), Figures::default());
    let (mut paid, mut bare_paid) = (Figures::default(), Figures::default());
    let (mut held_ratio, mut paid_ratio) = (vec![], vec![]);
    for _ in 0..plan.rounds {
        let bare = Server::bare()?;
        let yardstick = measure(&bare, "held", turns, false, &mut bare_held)?;
        let paid_yardstick = measure(&bare, "paid", turns, true, &mut bare_paid)?;
        drop(bare);
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        House::new("held", turns * 2).build(&server.address)?;
        House::new("paid", turns * 2).build(&server.address)?;
        held_ratio.push(measure(&server, "held", turns, false, &mut held)? / yardstick);
        paid_ratio.push(measure(&server, "paid", turns, true, &mut paid)? / paid_yardstick);
    }
    let against = |bare: &Figures| format!("bare axum {}", bare.text());
    let least = Budget::AtLeast(0.6);
    let (what, bare) = ("HTTP, two-seat holds", against(&bare_held));
    table.add(what, held.text(), bare, held_ratio, least);
    let (what, bare) = ("HTTP, two-seat hold + confirm", against(&bare_paid));
    table.add(what, paid.text(), bare, paid_ratio, least);
    Ok(())
}

/// Takes the turns; gives how many a second. Processor time is for each request.
fn measure(
    server: &Server,
    campaign: &'static str,
    turns: usize,
    pays: bool,
    figures: &mut Figures,
) -> Result<f64> {
    let house = House::new(campaign, turns * 2);
    let before = server.cpu_us()?;
    let phase = loader::turns(&[&server.address], CONNECTIONS, turns, move |turn| {
        let hold = hold(&house, turn);
        if pays { vec![hold, confirm(campaign, turn)] } else { vec![hold] }
    })?;
    let expected: Vec<(u16, usize)> =
        if pays { vec![(200, turns), (201, turns)] } else { vec![(201, turns)] };
    let statuses: Vec<(u16, usize)> = phase.statuses.clone().into_iter().collect();
    ensure!(statuses == expected, "expected {expected:?}, got {statuses:?}");
    let requests = if pays { turns * 2 } else { turns };
    figures.add(&phase, (server.cpu_us()? - before) / requests as f64, None);
    Ok(phase.per_second)
}

/// The hold of a turn: two neighbours that nobody else wants.
fn hold(house: &House, turn: usize) -> String {
    let (pool, one) = house.seat(turn * 2);
    let (_, other) = house.seat(turn * 2 + 1);
    let body = format!(
        r#"{{"id":"h-{turn:08}","subject":"s-{turn:08}","picks":[{{"pool":"{pool}","units":["{one}","{other}"]}}]}}"#
    );
    post(&format!("/v1/campaigns/{}/holds", house.campaign), KEY, &body)
}

fn confirm(campaign: &str, turn: usize) -> String {
    let path = format!("/v1/campaigns/{campaign}/holds/h-{turn:08}/confirm");
    post(&path, KEY, &format!(r#"{{"subject":"s-{turn:08}"}}"#))
}
