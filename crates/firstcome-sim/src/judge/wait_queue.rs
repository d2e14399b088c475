//! Checks the wait queue: callers get a seat in the order in which they came to their node, and hear that it is taken
//! only when their time is over.

use super::answers::HeardAnswer;
use super::tree::Tree;
use super::{At, Broken, Story};
use crate::history::{Asked, Exchange, History, Moment, QueueWait, Reply};
use firstcome_core::command::Wanted;
use firstcome_core::outcome::Missing;
use firstcome_core::{Command, Outcome, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A request in the wait queue.
struct Waiting<'h> {
    exchange: &'h Exchange,
    queue_wait: QueueWait,
    /// The seats it named, with their pools. Areas are none: nobody waits for one.
    seats: Vec<(&'h str, &'h str)>,
    campaign: &'h str,
    subject: &'h str,
    wait: Duration,
    /// It named something that no server ever had.
    is_of_nothing: bool,
    /// Where the journal decided it: the entry, and which command of it; none if it did not.
    decided: Option<(usize, usize)>,
}

/// Campaign, pool and name of units.
type Names<'h> = BTreeSet<(&'h str, &'h str, &'h str)>;

/// The units that any server ever had.
#[derive(Default)]
struct Units<'h> {
    areas: Names<'h>,
    /// Seats, groups and areas.
    all: Names<'h>,
}

impl Units<'_> {
    /// Says whether there ever was one of a name, in any pool where none is named.
    fn has(&self, campaign: &str, pool: Option<&str>, name: &str) -> bool {
        let is_it = |unit: &(&str, &str, &str)| {
            (unit.0, unit.2) == (campaign, name) && pool.is_none_or(|pool| pool == unit.1)
        };
        self.all.iter().any(is_it)
    }
}

impl Waiting<'_> {
    /// Says whether its subject waited at that node, in that campaign, already: then it is decided at once, as if there were
    /// no queue.
    fn is_second(&self, all: &[Self]) -> bool {
        let began = self.queue_wait.began;
        all.iter().any(|other| {
            let QueueWait { exchange, began: before, left } = other.queue_wait;
            other.exchange.node_run == self.exchange.node_run
                && (other.campaign, other.subject) == (self.campaign, self.subject)
                && exchange != self.queue_wait.exchange
                && before <= began
                && left.is_none_or(|left| left >= began)
        })
    }

    /// Says whether it asked for something that no waiting brings, as a seat that is not sold, or one that is not there: it
    /// keeps nobody waiting, and whoever comes later takes nothing from it. Its answer may name another reason.
    fn waits_in_vain(&self) -> bool {
        if self.is_of_nothing {
            return true;
        }
        let Reply::Answer { outcome, .. } = &self.exchange.reply else { return false };
        matches!(
            outcome.refusal(),
            Some(
                Refusal::NotForSale
                    | Refusal::NoSuchUnit
                    | Refusal::NotSeated
                    | Refusal::PoolRequired
                    | Refusal::NotFound(Missing::Pool)
            )
        )
    }
}

/// Checks every wait.
pub(super) fn check(
    history: &History,
    tree: &Tree<'_>,
    heard: &[HeardAnswer],
    wrong: &mut Vec<Broken>,
) {
    let units = units(tree);
    let decided =
        heard.iter().filter_map(|heard| Some((heard.exchange, (heard.entry?, heard.command?))));
    let decided: BTreeMap<usize, (usize, usize)> = decided.collect();
    let waits = history.queue_waits.iter();
    let all: Vec<Waiting<'_>> =
        waits.filter_map(|queue_wait| waiting(history, *queue_wait, &units, &decided)).collect();
    for (number, later) in all.iter().enumerate() {
        if later.is_second(&all) {
            continue;
        }
        if let (true, Some(left)) = (was_refused(later.exchange), later.queue_wait.left)
            && left < later.queue_wait.began + later.wait
        {
            let what =
                format!("{}, after {}", Story(later.exchange), At(left - later.queue_wait.began));
            wrong.push(Broken::new("line_waits", what));
        }
        let Some((moment, held)) = held_at(history, later) else { continue };
        // A caller whose time is over asks as if there were no queue.
        if later.queue_wait.left.is_some_and(|left| left >= later.queue_wait.began + later.wait) {
            continue;
        }
        let in_line = |earlier: &&Waiting<'_>| {
            // First has one meaning: first in the journal. When its caller heard of it does not count.
            let was_first = earlier.decided.is_some_and(|decided| decided < held);
            !earlier.is_second(&all) && !earlier.waits_in_vain() && !was_first
        };
        let before = all[..number].iter().filter(in_line).find(|earlier| {
            let same = |seat: &&(&str, &str)| later.seats.contains(seat);
            earlier.exchange.node_run == later.exchange.node_run
                && earlier.campaign == later.campaign
                && earlier.seats.iter().any(|seat| same(&seat))
                && earlier.queue_wait.left.is_some_and(|left| left > moment)
        });
        if let Some(before) = before {
            let what = format!(
                "{}, held at {}, when {} was before them in line, from {} on",
                Story(later.exchange),
                At(moment),
                Story(before.exchange),
                At(before.queue_wait.began)
            );
            wrong.push(Broken::new("line_in_order", what));
        }
    }
}

fn units<'h>(tree: &Tree<'h>) -> Units<'h> {
    let mut units = Units::default();
    for command in tree.commands.iter().flatten() {
        let Command::Seats { campaign, pool, chunk, .. } = command else { continue };
        let named = |name: &'h str| (*campaign, *pool, name);
        let areas = chunk.areas.iter().map(|area| named(area.name));
        units.areas.extend(areas.clone());
        units.all.extend(areas);
        units.all.extend(chunk.seats.iter().flat_map(|seat| [seat.name, seat.group]).map(named));
    }
    units
}

fn waiting<'h>(
    history: &'h History,
    queue_wait: QueueWait,
    units: &Units<'_>,
    decided: &BTreeMap<usize, (usize, usize)>,
) -> Option<Waiting<'h>> {
    let exchange = history.exchanges.get(queue_wait.exchange)?;
    let Asked::On { command, wait } = &exchange.asked else { return None };
    let Command::Hold { campaign, subject, picks, .. } = command.command() else { return None };
    let (mut seats, mut is_of_nothing) = (Vec::new(), false);
    for pick in picks {
        if let Wanted::Units(names) = &pick.wanted {
            let pool = pick.pool.unwrap_or_default();
            seats.extend(names.iter().map(|name| (pool, *name)));
            is_of_nothing |= names.iter().any(|name| !units.has(campaign, pick.pool, name));
        }
    }
    if seats.is_empty() {
        return None;
    }
    seats.retain(|(pool, name)| !units.areas.contains(&(campaign, pool, name)));
    let (wait, decided) = (*wait, decided.get(&queue_wait.exchange).copied());
    Some(Waiting { exchange, queue_wait, seats, campaign, subject, wait, is_of_nothing, decided })
}

fn was_refused(exchange: &Exchange) -> bool {
    let Reply::Answer { outcome, .. } = &exchange.reply else { return false };
    outcome.refusal() == Some(Refusal::UnitTaken)
}

/// Returns when and where the journal decided that a caller holds what it waited for.
fn held_at(history: &History, waiting: &Waiting<'_>) -> Option<(Moment, (usize, usize))> {
    let Reply::Answer { outcome: Outcome::Held(_), .. } = &waiting.exchange.reply else {
        return None;
    };
    let decided = waiting.decided?;
    Some((history.stored[decided.0].moment, decided))
}
