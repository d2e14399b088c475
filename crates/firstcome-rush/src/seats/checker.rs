//! Compares the record, the results and the counts with the promises: plain functions over plain values.

mod by_results;

use std::collections::HashMap;
use std::time::Duration;

use super::promised::Promised;
use super::record::{End, HoldRecord, Record, TakenRefusal, Wanted};
use super::{Plan, Read};
use crate::people::{Found, Violation};

/// Compares the answers with each other and, if they could be read, with the results and the counts of the campaign.
pub(super) fn check(plan: &Plan, record: &Record, read: Option<&Read>) -> Vec<Violation> {
    let mut found = Found::default();
    by_answers(plan, record, &mut found);
    if let Some(Read { counts, results }) = read {
        by_results::compare(plan, record, results, &mut found);
        by_results::campaign_counts(plan, counts, results, &mut found);
    }
    found.0
}

/// Compares the answers with each other.
fn by_answers(plan: &Plan, record: &Record, found: &mut Found) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    let mut ranks: HashMap<u64, &str> = HashMap::new();
    for held in &record.answers.holds {
        basket(held, found);
        lateness(plan, held, found);
        if plan.visit.limit.is_some_and(|limit| held.units.len() as u64 > u64::from(limit)) {
            let (who, has) = (&held.subject, held.units.len());
            found.add(Promised::Limits, format!("{who} holds {has} units"));
        }
        if let End::Confirmed { units, .. } = &held.end {
            for (seat, rank) in units {
                if let Some(other) = owners.insert(seat, &held.subject) {
                    let evidence =
                        format!("{seat} was confirmed for {other} and for {}", held.subject);
                    found.add(Promised::Seats, evidence);
                }
                if let Some(other) = ranks.insert(*rank, seat) {
                    found.add(Promised::Ranks, format!("{other} and {seat} both have rank {rank}"));
                }
            }
        }
    }
    for difference in &record.changed {
        found.add(Promised::Repeats, difference.clone());
    }
    named_as_taken(plan, record, found);
}

fn basket(held: &HoldRecord, found: &mut Found) {
    let HoldRecord { hold, units, .. } = held;
    let whole = match &held.wanted {
        Wanted::Best(count) => units.len() == *count as usize,
        Wanted::Units(names) => {
            let mut names = names.clone();
            names.sort_unstable();
            names == *units
        }
    };
    if !whole {
        let evidence = format!("hold {hold} asked for {:?} and holds {units:?}", held.wanted);
        found.add(Promised::Baskets, evidence);
    }
    let ended: Vec<&String> = match &held.end {
        End::Confirmed { units, .. } => units.iter().map(|(seat, _)| seat).collect(),
        End::Refund { units } => units.iter().collect(),
        End::Left | End::Released { .. } | End::Expired { .. } | End::Other(_) => return,
    };
    if !ended.iter().copied().eq(units) {
        let evidence = format!("hold {hold} held {units:?} and ended with {ended:?}");
        found.add(Promised::Baskets, evidence);
    }
}

fn lateness(plan: &Plan, held: &HoldRecord, found: &mut Found) {
    let HoldRecord { hold, late, end, .. } = held;
    let over = held.sent + plan.visit.hold;
    let evidence = match end {
        End::Confirmed { retaken: false, .. } if *late => "was confirmed as if it were in time",
        End::Refund { .. } if !late => "was told of a refund and had not agreed to be late",
        End::Expired { .. } if *late => "was refused, neither with seats nor with a refund",
        End::Expired { answered } if *answered < over => "was over before its time",
        End::Other(other) => {
            found.add(Promised::Late, format!("hold {hold} was answered {other}"));
            return;
        }
        End::Left
        | End::Released { .. }
        | End::Confirmed { .. }
        | End::Refund { .. }
        | End::Expired { .. } => return,
    };
    found.add(Promised::Late, format!("hold {hold} {evidence}"));
}

/// The longest time in which a subject may have had a seat.
fn span(plan: &Plan, held: &HoldRecord) -> (Duration, Duration) {
    let end = match &held.end {
        End::Confirmed { .. } => Duration::MAX,
        End::Released { answered } => *answered,
        End::Left | End::Refund { .. } | End::Expired { .. } | End::Other(_) => {
            held.answered + plan.visit.hold + plan.slack
        }
    };
    (held.sent, end)
}

fn named_as_taken(plan: &Plan, record: &Record, found: &mut Found) {
    let mut spans: HashMap<&str, Vec<(&str, Duration, Duration)>> = HashMap::new();
    for held in &record.answers.holds {
        let (from, to) = span(plan, held);
        for seat in &held.units {
            spans.entry(seat).or_default().push((&held.subject, from, to));
        }
    }
    for TakenRefusal { subject, asked, named, sent, answered } in &record.answers.taken {
        if named.is_empty() {
            found.add(
                Promised::Taken,
                format!("{subject} was refused {asked:?}, with no seat named"),
            );
        }
        for seat in named {
            if !asked.contains(seat) {
                let evidence = format!("{subject} asked for {asked:?} and was refused for {seat}");
                found.add(Promised::Taken, evidence);
                continue;
            }
            let all = spans.get(seat.as_str()).map_or(&[][..], Vec::as_slice);
            let somebody = |(who, from, to): &(&str, Duration, Duration)| {
                *who != subject && from <= answered && to >= sent
            };
            if !record.incomplete && !all.iter().any(somebody) {
                let evidence =
                    format!("{subject} was told that {seat} is taken, and nobody had it");
                found.add(Promised::Taken, evidence);
            }
        }
    }
}

#[cfg(test)]
mod tests;
