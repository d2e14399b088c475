//! Holds everything that was heard against the promises: plain functions over plain values.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use super::heard::{End, Heard, HeldOnce, Taken, Wanted};
use super::{SeatResult, SeatsPlan, Standing};

/// A promise about seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Promise {
    /// No seat is confirmed for two.
    Seats,
    /// A basket is had whole or not at all.
    Baskets,
    /// Ranks are gap-free, and nobody shares one.
    Ranks,
    /// What was confirmed stays, and is answered the same when asked again.
    Kept,
    /// A seat that a refusal names as taken was taken.
    Taken,
    /// Nobody has more than one may have.
    Limits,
    /// A hold lasts as long as it says; who pays too late has the same seats or is owed a refund.
    Late,
    /// What the campaign counts is what the results show.
    Counts,
}

impl Promise {
    /// All of them, in the order they are shown.
    pub(super) const ALL: [Self; 8] = [
        Self::Seats,
        Self::Baskets,
        Self::Ranks,
        Self::Kept,
        Self::Taken,
        Self::Limits,
        Self::Late,
        Self::Counts,
    ];
}

/// A broken promise and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeatBreach {
    pub(super) promise: Promise,
    evidence: String,
}

impl fmt::Display for SeatBreach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.evidence)
    }
}

/// Collects what is broken.
#[derive(Default)]
struct Found(Vec<SeatBreach>);

impl Found {
    fn add(&mut self, promise: Promise, evidence: String) {
        self.0.push(SeatBreach { promise, evidence });
    }
}

/// Holds the answers, the results and the campaign's counts against the promises.
pub(super) fn check(
    plan: &SeatsPlan,
    heard: &Heard,
    standing: &Standing,
    results: &[SeatResult],
) -> Vec<SeatBreach> {
    let mut found = Found(by_answers(plan, heard));
    by_results(plan, heard, results, &mut found);
    counts(plan, standing, results, &mut found);
    found.0
}

/// Holds the answers against each other.
pub(super) fn by_answers(plan: &SeatsPlan, heard: &Heard) -> Vec<SeatBreach> {
    let mut found = Found::default();
    let mut owners: HashMap<&str, &str> = HashMap::new();
    let mut ranks: HashMap<u64, &str> = HashMap::new();
    for held in &heard.holds {
        basket(held, &mut found);
        lateness(plan, held, &mut found);
        if plan.limit.is_some_and(|limit| held.units.len() as u64 > u64::from(limit)) {
            let (who, has) = (&held.subject, held.units.len());
            found.add(Promise::Limits, format!("{who} holds {has} units"));
        }
        if let End::Confirmed { units, .. } = &held.end {
            for (seat, rank) in units {
                if let Some(other) = owners.insert(seat, &held.subject) {
                    let evidence =
                        format!("{seat} was confirmed for {other} and for {}", held.subject);
                    found.add(Promise::Seats, evidence);
                }
                if let Some(other) = ranks.insert(*rank, seat) {
                    found.add(Promise::Ranks, format!("{other} and {seat} both have rank {rank}"));
                }
            }
        }
    }
    for difference in &heard.changed {
        found.add(Promise::Kept, difference.clone());
    }
    named_as_taken(plan, heard, &mut found);
    found.0
}

fn basket(held: &HeldOnce, found: &mut Found) {
    let HeldOnce { hold, units, .. } = held;
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
        found.add(Promise::Baskets, evidence);
    }
    let ended: Vec<&String> = match &held.end {
        End::Confirmed { units, .. } => units.iter().map(|(seat, _)| seat).collect(),
        End::Refund { units } => units.iter().collect(),
        End::Left | End::Released { .. } | End::Expired { .. } | End::Other(_) => return,
    };
    if !ended.iter().copied().eq(units) {
        let evidence = format!("hold {hold} held {units:?} and ended with {ended:?}");
        found.add(Promise::Baskets, evidence);
    }
}

fn lateness(plan: &SeatsPlan, held: &HeldOnce, found: &mut Found) {
    let HeldOnce { hold, late, end, .. } = held;
    let over = held.sent + plan.hold;
    let evidence = match end {
        End::Confirmed { retaken: false, .. } if *late => "was confirmed as if it were in time",
        End::Refund { .. } if !late => "was told of a refund and had not agreed to be late",
        End::Expired { .. } if *late => "was refused, neither with seats nor with a refund",
        End::Expired { answered } if *answered < over => "was over before its time",
        End::Other(other) => {
            found.add(Promise::Late, format!("hold {hold} was answered {other}"));
            return;
        }
        End::Left
        | End::Released { .. }
        | End::Confirmed { .. }
        | End::Refund { .. }
        | End::Expired { .. } => return,
    };
    found.add(Promise::Late, format!("hold {hold} {evidence}"));
}

/// When somebody may have had a seat, at the widest.
fn span(plan: &SeatsPlan, held: &HeldOnce) -> (Duration, Duration) {
    let end = match &held.end {
        End::Confirmed { .. } => Duration::MAX,
        End::Released { answered } => *answered,
        End::Left | End::Refund { .. } | End::Expired { .. } | End::Other(_) => {
            held.answered + plan.hold + plan.slack
        }
    };
    (held.sent, end)
}

fn named_as_taken(plan: &SeatsPlan, heard: &Heard, found: &mut Found) {
    let mut spans: HashMap<&str, Vec<(&str, Duration, Duration)>> = HashMap::new();
    for held in &heard.holds {
        let (from, to) = span(plan, held);
        for seat in &held.units {
            spans.entry(seat).or_default().push((&held.subject, from, to));
        }
    }
    for Taken { subject, asked, named, sent, answered } in &heard.taken {
        if named.is_empty() {
            found.add(
                Promise::Taken,
                format!("{subject} was refused {asked:?}, with no seat named"),
            );
        }
        for seat in named {
            if !asked.contains(seat) {
                let evidence = format!("{subject} asked for {asked:?} and was refused for {seat}");
                found.add(Promise::Taken, evidence);
                continue;
            }
            let all = spans.get(seat.as_str()).map_or(&[][..], Vec::as_slice);
            let somebody = |(who, from, to): &(&str, Duration, Duration)| {
                *who != subject && from <= answered && to >= sent
            };
            if !heard.unsure && !all.iter().any(somebody) {
                let evidence =
                    format!("{subject} was told that {seat} is taken, and nobody had it");
                found.add(Promise::Taken, evidence);
            }
        }
    }
}

fn by_results(plan: &SeatsPlan, heard: &Heard, results: &[SeatResult], found: &mut Found) {
    let ours = |result: &&SeatResult| result.pool == plan.pool;
    let mut owners: BTreeMap<&str, &SeatResult> = BTreeMap::new();
    let mut claims: HashMap<u64, &SeatResult> = HashMap::new();
    let mut cancelled: BTreeSet<u64> = BTreeSet::new();
    let mut moved: BTreeSet<u64> = BTreeSet::new();
    let mut refunds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut by_hold: BTreeMap<&str, u64> = BTreeMap::new();
    let mut by_subject: BTreeMap<&str, u64> = BTreeMap::new();
    let mut last = 0;
    for result in results.iter().filter(ours) {
        let SeatResult { rank, subject, unit, hold, .. } = result;
        match result.kind.as_str() {
            "claim" => {
                if *rank != last + 1 {
                    found.add(Promise::Ranks, format!("rank {rank} follows rank {last}"));
                }
                last = last.max(*rank);
                claims.insert(*rank, result);
                *by_subject.entry(subject).or_default() += 1;
                *by_hold.entry(hold.as_deref().unwrap_or_default()).or_default() += 1;
                let before = unit.as_deref().and_then(|unit| owners.insert(unit, result));
                if let Some(before) = before {
                    let (unit, other) = (unit.as_deref().unwrap_or_default(), &before.subject);
                    let evidence = format!("the results give {unit} to {other} and to {subject}");
                    found.add(Promise::Seats, evidence);
                }
            }
            "cancel" => {
                cancelled.insert(*rank);
                if let Some(mine) = by_subject.get_mut(subject.as_str()) {
                    *mine = mine.saturating_sub(1);
                }
                // By its rank: an operator may have moved it meanwhile.
                owners.retain(|_, owner| owner.rank != *rank);
            }
            "moved" => {
                moved.insert(*rank);
                owners.retain(|_, owner| owner.rank != *rank || *rank == 0);
                if let (Some(unit), true) = (unit.as_deref(), *rank > 0) {
                    owners.insert(unit, result);
                }
            }
            "refund_due" => *refunds.entry(hold.as_deref().unwrap_or_default()).or_default() += 1,
            _ => {}
        }
    }
    for (subject, units) in by_subject {
        if plan.limit.is_some_and(|limit| units > u64::from(limit)) {
            found.add(Promise::Limits, format!("the results give {units} units to {subject}"));
        }
    }
    // A server that does not say in its results which hold a unit came from is held to its ranks alone.
    let says_holds = results.iter().any(|result| result.hold.is_some());
    for held in &heard.holds {
        let HeldOnce { hold, subject, .. } = held;
        let (claimed, refunded) = (
            by_hold.get(hold.as_str()).copied().unwrap_or(0),
            refunds.get(hold.as_str()).copied().unwrap_or(0),
        );
        let had = held.units.len() as u64;
        match &held.end {
            End::Confirmed { units, .. } => {
                for (seat, rank) in units {
                    let right = claims.get(rank).is_some_and(|result| {
                        result.subject == *subject
                            && (moved.contains(rank)
                                || result.unit.as_ref().is_none_or(|unit| unit == seat))
                    });
                    if !right {
                        let evidence = format!(
                            "{subject} was told {seat} with rank {rank}, which is not in the results"
                        );
                        found.add(Promise::Kept, evidence);
                    }
                }
            }
            End::Refund { .. } if refunded == 0 && says_holds => {
                let evidence = format!(
                    "{subject} was told of a refund for hold {hold}, which is not in the results"
                );
                found.add(Promise::Late, evidence);
            }
            End::Left
            | End::Released { .. }
            | End::Refund { .. }
            | End::Expired { .. }
            | End::Other(_) => {}
        }
        if claimed != 0 && claimed != had {
            found.add(
                Promise::Baskets,
                format!("the results have {claimed} of the {had} units of hold {hold}"),
            );
        }
        if claimed != 0 && refunded != 0 {
            found.add(Promise::Late, format!("hold {hold} has its units and a refund"));
        }
        let ended = matches!(held.end, End::Confirmed { .. });
        if claimed != 0 && !ended {
            let evidence = format!(
                "hold {hold} is in the results as confirmed, and {subject} was told {:?}",
                held.end
            );
            found.add(Promise::Kept, evidence);
        }
    }
}

/// Compares the campaign's own counts with the results.
fn counts(plan: &SeatsPlan, standing: &Standing, results: &[SeatResult], found: &mut Found) {
    let Some(pool) = standing.pools.iter().find(|pool| pool.name == plan.pool) else {
        found.add(Promise::Counts, format!("the campaign has no pool {}", plan.pool));
        return;
    };
    let of = |kind: &str| {
        results.iter().filter(|result| result.pool == plan.pool && result.kind == kind).count()
            as u64
    };
    let live = of("claim") - of("cancel").min(of("claim"));
    let said = pool.taken.saturating_sub(pool.held);
    if said != live {
        found.add(
            Promise::Counts,
            format!("the campaign says {said} confirmed, the results show {live}"),
        );
    }
    if plan.alone && pool.held > 0 {
        let evidence = format!("{} seats are still held, and every hold is over", pool.held);
        found.add(Promise::Late, evidence);
    }
    let all = pool.left + pool.taken + pool.blocked;
    if plan.alone && all != pool.capacity {
        let evidence = format!(
            "{} left, {} taken and {} blocked are not the {} there are",
            pool.left, pool.taken, pool.blocked, pool.capacity
        );
        found.add(Promise::Counts, evidence);
    } else if all > pool.capacity {
        let evidence = format!(
            "{} left, {} taken and {} blocked are more than the {} there are",
            pool.left, pool.taken, pool.blocked, pool.capacity
        );
        found.add(Promise::Counts, evidence);
    }
}
