//! Checks the wait queue: callers get a seat in the order in which they came to their node, and hear that it is taken
//! only when their time is over.

use super::{At, Broken, Story};
use crate::history::{Asked, Exchange, History, Moment, QueueWait, Reply};
use firstcome_core::command::Wanted;
use firstcome_core::{Command, Outcome, Refusal};
use firstcome_node::Decided;
use std::time::Duration;

/// A request in the wait queue.
struct Waiting<'h> {
    exchange: &'h Exchange,
    queue_wait: QueueWait,
    /// The seats it named, with their pools.
    seats: Vec<(&'h str, &'h str)>,
    campaign: &'h str,
    subject: &'h str,
    wait: Duration,
}

impl Waiting<'_> {
    /// Gives the other waits of its subject at that node, in that campaign, at the same time.
    fn others<'a>(&'a self, all: &'a [Self]) -> impl Iterator<Item = &'a Self> {
        let is_over = |one: &Self, at| one.queue_wait.left.is_some_and(|left| left < at);
        all.iter().filter(move |other| {
            other.exchange.node_run == self.exchange.node_run
                && (other.campaign, other.subject) == (self.campaign, self.subject)
                && other.queue_wait.exchange != self.queue_wait.exchange
                && !is_over(self, other.queue_wait.began)
                && !is_over(other, self.queue_wait.began)
        })
    }

    /// Says whether its subject waited at that node already: then it is decided at once, as if there were no queue.
    fn is_second(&self, all: &[Self]) -> bool {
        self.others(all).any(|other| other.queue_wait.began <= self.queue_wait.began)
    }

    /// Says whether its subject waited at that node for something else meanwhile: whichever of them could not join the
    /// queue, as one that came before this node knew the seats, is decided at once.
    fn is_beside_another(&self, all: &[Self]) -> bool {
        self.others(all).next().is_some()
    }

    /// Says whether it asked for something that no waiting brings, as a seat that is not sold: it is decided at once, and
    /// whoever comes later takes nothing from it.
    fn waits_in_vain(&self) -> bool {
        let Reply::Answer { outcome, .. } = &self.exchange.reply else { return false };
        matches!(outcome.refusal(), Some(Refusal::NotForSale | Refusal::NoSuchUnit))
    }
}

/// Checks every wait.
pub(super) fn check(history: &History, wrong: &mut Vec<Broken>) {
    let all: Vec<Waiting<'_>> =
        history.queue_waits.iter().filter_map(|queue_wait| waiting(history, *queue_wait)).collect();
    for (number, later) in all.iter().enumerate() {
        if later.is_second(&all) {
            continue;
        }
        if let (true, Some(left)) = (was_refused(later.exchange), later.queue_wait.left)
            && left < later.queue_wait.began + later.wait
            && !later.is_beside_another(&all)
        {
            let what =
                format!("{}, after {}", Story(later.exchange), At(left - later.queue_wait.began));
            wrong.push(Broken::new("line_waits", what));
        }
        let Some(moment) = held_at(history, later) else { continue };
        // A caller whose time is over asks as if there were no queue.
        if later.queue_wait.left.is_some_and(|left| left >= later.queue_wait.began + later.wait) {
            continue;
        }
        let in_line = |earlier: &&Waiting<'_>| !earlier.is_second(&all) && !earlier.waits_in_vain();
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

fn waiting(history: &History, queue_wait: QueueWait) -> Option<Waiting<'_>> {
    let exchange = history.exchanges.get(queue_wait.exchange)?;
    let Asked::On { command, wait } = &exchange.asked else { return None };
    let Command::Hold { campaign, subject, picks, .. } = command.command() else { return None };
    let mut seats = Vec::new();
    for pick in picks {
        if let Wanted::Units(names) = &pick.wanted {
            let pool = pick.pool.unwrap_or_default();
            seats.extend(names.iter().map(|name| (pool, *name)));
        }
    }
    let wait = *wait;
    (!seats.is_empty()).then_some(Waiting { exchange, queue_wait, seats, campaign, subject, wait })
}

fn was_refused(exchange: &Exchange) -> bool {
    let Reply::Answer { outcome, .. } = &exchange.reply else { return false };
    outcome.refusal() == Some(Refusal::UnitTaken)
}

/// Gives the moment at which an entry came to be by which a caller heard that it holds what it waited for.
fn held_at(history: &History, waiting: &Waiting<'_>) -> Option<Moment> {
    let Reply::Answer { outcome: Outcome::Held(_), position, decided: Decided::Journal } =
        &waiting.exchange.reply
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
