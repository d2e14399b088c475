//! Who waits for seats comes in the order of arrival at their node, seat by seat, and is told that one is taken only
//! when their time is over.

use super::{At, Broken, Story};
use crate::history::{Asked, Exchange, History, Lined, Moment, Told};
use firstcome_core::command::Wanted;
use firstcome_core::{Command, Outcome, Refusal};
use firstcome_node::Decided;
use std::time::Duration;

/// Somebody in line.
struct Waiting<'h> {
    exchange: &'h Exchange,
    lined: Lined,
    /// The seats they named, with their pools.
    seats: Vec<(&'h str, &'h str)>,
    campaign: &'h str,
    wait: Duration,
}

/// Checks every line.
pub(super) fn check(history: &History, wrong: &mut Vec<Broken>) {
    let all: Vec<Waiting<'_>> =
        history.lined.iter().filter_map(|lined| waiting(history, *lined)).collect();
    for (number, later) in all.iter().enumerate() {
        if let (true, Some(left)) = (was_refused(later.exchange), later.lined.left)
            && left < later.lined.began + later.wait
        {
            let what = format!("{}, after {}", Story(later.exchange), At(left - later.lined.began));
            wrong.push(Broken::new("line_waits", what));
        }
        let Some(moment) = held_at(history, later) else { continue };
        // Whose time was over asks as if there were no line.
        if later.lined.left.is_some_and(|left| left >= later.lined.began + later.wait) {
            continue;
        }
        let before = all[..number].iter().find(|earlier| {
            let same = |seat: &&(&str, &str)| later.seats.contains(seat);
            earlier.exchange.life == later.exchange.life
                && earlier.campaign == later.campaign
                && earlier.seats.iter().any(|seat| same(&seat))
                && earlier.lined.left.is_some_and(|left| left > moment)
        });
        if let Some(before) = before {
            let what = format!(
                "{}, held at {}, when {} was before them in line, from {} on",
                Story(later.exchange),
                At(moment),
                Story(before.exchange),
                At(before.lined.began)
            );
            wrong.push(Broken::new("line_in_order", what));
        }
    }
}

fn waiting(history: &History, lined: Lined) -> Option<Waiting<'_>> {
    let exchange = history.exchanges.get(lined.exchange)?;
    let Asked::On { command, wait } = &exchange.asked else { return None };
    let Command::Hold { campaign, picks, .. } = command.command() else { return None };
    let mut seats = Vec::new();
    for pick in picks {
        if let Wanted::Units(names) = &pick.wanted {
            let pool = pick.pool.unwrap_or_default();
            seats.extend(names.iter().map(|name| (pool, *name)));
        }
    }
    (!seats.is_empty()).then_some(Waiting { exchange, lined, seats, campaign, wait: *wait })
}

fn was_refused(exchange: &Exchange) -> bool {
    let Told::Answer { outcome, .. } = &exchange.told else { return false };
    outcome.refusal() == Some(Refusal::UnitTaken)
}

/// Gives the moment at which an entry came to be by which somebody was told that they hold what they waited for.
fn held_at(history: &History, waiting: &Waiting<'_>) -> Option<Moment> {
    let Told::Answer { outcome: Outcome::Held(_), position, decided: Decided::Journal } =
        &waiting.exchange.told
    else {
        return None;
    };
    let waited = waiting.exchange.asked_at..=waiting.exchange.heard_at;
    let stored = history.stored.iter().filter(|stored| {
        let entry = &stored.entry;
        let there = (entry.epoch, entry.position) == (position.epoch, position.position);
        there && waited.contains(&stored.moment)
    });
    stored.map(|stored| stored.moment).min()
}
