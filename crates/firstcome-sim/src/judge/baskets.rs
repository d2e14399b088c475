//! Checks that a hold has all units that were asked for, or none.
//!
//! It looks at questions and answers only.

use super::{Broken, Story};
use crate::history::{Asked, History, Reply};
use firstcome_core::command::{Pick, Wanted};
use firstcome_core::outcome::UnitName;
use firstcome_core::{Command, Outcome};
use std::collections::BTreeSet;

/// Checks every hold that was begun.
pub(super) fn check(history: &History, wrong: &mut Vec<Broken>) {
    for exchange in &history.exchanges {
        let (Asked::On { command, .. }, Reply::Answer { outcome: Outcome::Held(held), .. }) =
            (&exchange.asked, &exchange.reply)
        else {
            continue;
        };
        let Command::Hold { id, picks, .. } = command.command() else { continue };
        if *held.hold != *id || !is_whole(&picks, &held.units) {
            let what = format!("{}, which is not what was asked for", Story(exchange));
            wrong.push(Broken::new("whole_or_nothing", what));
        }
    }
}

/// Says whether units are at least as many as picks ask for, with every seat that was named.
fn is_whole(picks: &[Pick<'_>], units: &[UnitName]) -> bool {
    let (mut names, mut more) = (BTreeSet::new(), 0);
    for pick in picks {
        match &pick.wanted {
            Wanted::Units(named) => names.extend(named.iter().copied()),
            Wanted::Quantity { count, .. } => more += count,
            Wanted::Best(best) => more += best.count,
        }
    }
    // A group's name stands for two seats or more, of other names.
    let held = |name: &&&str| units.iter().any(|unit| unit.unit.as_deref() == Some(**name));
    let groups = names.iter().filter(|name| !held(name)).count();
    units.len() >= names.len() + groups + more as usize
}
