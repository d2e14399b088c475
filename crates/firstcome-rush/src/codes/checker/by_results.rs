//! Compares the results, the counts of the campaign and the look-ups with what people were answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::Plan;
use super::super::promised::Promised;
use super::super::read::{Ledger, Read};
use super::super::record::{Record, Step, Verb};
use crate::people::{Found, PersonResult};

/// Compares the results with everything that was answered.
pub(super) fn compare(plan: &Plan, record: &Record, read: &Read, found: &mut Found) {
    let ours: Vec<&PersonResult> =
        read.results.iter().filter(|result| result.pool == plan.pool).collect();
    claims(plan, record, &ours, found);
    for (verb, kind) in [(Verb::Redeem, "redeemed"), (Verb::RollBack, "rolled_back")] {
        steps(plan, record, (verb, kind), &ours, found);
    }
}

/// Ranks follow each other, nobody has two live claims, and what was answered is there.
fn claims(plan: &Plan, record: &Record, results: &[&PersonResult], found: &mut Found) {
    let mut owners: HashMap<u64, &str> = HashMap::new();
    let mut live: HashMap<&str, u64> = HashMap::new();
    let mut cancelled: BTreeSet<u64> = BTreeSet::new();
    let mut last = 0;
    for result in results {
        match result.kind.as_str() {
            "claim" => {
                if result.rank != last + 1 {
                    found.add(Promised::Ranks, format!("rank {} follows rank {last}", result.rank));
                }
                last = last.max(result.rank);
                owners.insert(result.rank, &result.subject);
                if let Some(other) = live.insert(&result.subject, result.rank) {
                    let (who, rank) = (&result.subject, result.rank);
                    let evidence = format!("the results give {who} the ranks {other} and {rank}");
                    found.add(Promised::Codes, evidence);
                }
            }
            "cancel" => {
                live.remove(result.subject.as_str());
                cancelled.insert(result.rank);
            }
            _ => {}
        }
    }
    for issued in &record.answers.issued {
        if owners.get(&issued.rank) != Some(&issued.subject.as_str()) {
            let (who, rank) = (&issued.subject, issued.rank);
            found.add(
                Promised::Kept,
                format!("{who} was given rank {rank}, which the results lack"),
            );
        }
    }
    for gone in record.answers.cancelled.iter().filter(|gone| !cancelled.contains(&gone.rank)) {
        let evidence = format!("rank {} was cancelled, which the results lack", gone.rank);
        found.add(Promised::Kept, evidence);
    }
    if plan.alone && !record.incomplete {
        let known: BTreeSet<u64> = record.answers.issued.iter().map(|issued| issued.rank).collect();
        for rank in owners.keys().filter(|rank| !known.contains(rank)) {
            let evidence = format!("rank {rank} is in the results, and nobody was told of it");
            found.add(Promised::Kept, evidence);
        }
    }
}

/// Steps that were acknowledged, each of them once.
fn acknowledged(record: &Record, verb: Verb) -> impl Iterator<Item = &Step> {
    let mut seen = BTreeSet::new();
    let steps = record.answers.steps.iter().filter(move |step| step.verb == verb && step.is_done());
    steps.filter(move |step| seen.insert(step.reference.as_str()))
}

/// Every redemption and every rollback that was acknowledged is a result, once, and there is no other.
fn steps(
    plan: &Plan,
    record: &Record,
    (verb, kind): (Verb, &str),
    results: &[&PersonResult],
    found: &mut Found,
) {
    let mut there: BTreeMap<&str, u64> = BTreeMap::new();
    let of_kind = results.iter().filter(|result| result.kind == kind);
    for reference in of_kind.clone().map(|result| result.reference.as_deref()) {
        *there.entry(reference.unwrap_or_default()).or_default() += 1;
    }
    let mut said = BTreeSet::new();
    for step in acknowledged(record, verb) {
        said.insert(step.reference.as_str());
        match there.get(step.reference.as_str()) {
            Some(1) => {}
            times => {
                let times = times.copied().unwrap_or(0);
                let evidence = format!(
                    "{} was answered {kind}, and the results have it {times} times",
                    step.reference
                );
                found.add(Promised::Kept, evidence);
            }
        }
    }
    if plan.alone && !record.incomplete {
        for reference in there.keys().filter(|reference| !said.contains(*reference)) {
            let evidence =
                format!("{reference} is {kind} in the results, and nobody was told of it");
            found.add(Promised::Kept, evidence);
        }
    }
}

/// Compares the campaign's own counts with the results.
pub(super) fn campaign_counts(plan: &Plan, read: &Read, found: &mut Found) {
    let Some(pool) = read.counts.pools.iter().find(|pool| pool.name == plan.pool) else {
        found.add(Promised::Counts, format!("the campaign has no pool {}", plan.pool));
        return;
    };
    let ours = || read.results.iter().filter(|result| result.pool == plan.pool);
    let count = |kind: &str| ours().filter(|result| result.kind == kind).count() as u64;
    let live = count("claim").saturating_sub(count("cancel"));
    // What is offered is taken, too.
    let (left, taken, held, all) = (pool.left, pool.taken, pool.held, pool.capacity);
    if taken != live + held {
        let evidence = format!(
            "the campaign says {taken} taken, {held} of them offered; the results show {live}"
        );
        found.add(Promised::Counts, evidence);
    }
    if left + taken > all || plan.alone && left + taken != all {
        let evidence = format!("{left} left and {taken} taken are not the {all} there are");
        found.add(Promised::Counts, evidence);
    }
}

/// Compares the results as the ledger has them with those that were read before: none is missing, none is another.
///
/// Others may have made more since; those have higher numbers.
pub(super) fn in_the_ledger(plan: &Plan, read: &Read, found: &mut Found) {
    let Ledger::Read(ledger) = &read.ledger else { return };
    let there: HashMap<u64, &PersonResult> = ledger.iter().map(|row| (row.number, row)).collect();
    for result in &read.results {
        let number = result.number;
        match there.get(&number) {
            Some(row) if *row == result => {}
            Some(_) => {
                found.add(Promised::Ledger, format!("the ledger has another result {number}"))
            }
            None => found.add(Promised::Ledger, format!("the ledger lacks result {number}")),
        }
    }
    // Offers that nobody took end later, and then some are off the list.
    let made = |rows: &[PersonResult]| rows.iter().filter(|row| row.kind != "unserved").count();
    let more = made(ledger).saturating_sub(made(&read.results));
    if plan.alone && more > 0 {
        found.add(Promised::Ledger, format!("the ledger has {more} results that nobody made"));
    }
}

/// Compares each code, as it is looked up, with what its holder was answered.
pub(super) fn looked_up(plan: &Plan, record: &Record, read: &Read, found: &mut Found) {
    let cancelled: BTreeSet<u64> = record.answers.cancelled.iter().map(|gone| gone.rank).collect();
    let by_rank: HashMap<u64, _> = read.codes.iter().map(|code| (code.rank.into(), code)).collect();
    let mut states: HashMap<&str, &str> = HashMap::new();
    for code in &read.codes {
        for used in &code.references {
            states.insert(&used.reference, &used.state);
        }
        let (redeemed, reserved, uses) = (code.redeemed, code.reserved, code.uses);
        if uses != plan.visit.uses || redeemed.saturating_add(reserved) > uses {
            let evidence = format!(
                "the code of rank {} has {redeemed} uses redeemed and {reserved} reserved of {uses}",
                code.rank
            );
            found.add(Promised::Uses, evidence);
        }
    }
    for issued in record.answers.issued.iter().filter(|issued| !cancelled.contains(&issued.rank)) {
        let same = by_rank
            .get(&issued.rank)
            .is_some_and(|code| code.subject == issued.subject && *code.code == issued.code);
        if !same {
            let (who, rank) = (&issued.subject, issued.rank);
            let evidence =
                format!("{who} was given a code for rank {rank}, and another is found there");
            found.add(Promised::Kept, evidence);
        }
    }
    let back: BTreeSet<&str> =
        acknowledged(record, Verb::RollBack).map(|step| step.reference.as_str()).collect();
    for step in acknowledged(record, Verb::Redeem) {
        let reference = step.reference.as_str();
        let expected = if back.contains(reference) { "rolled_back" } else { "redeemed" };
        let state = states.get(reference).copied().unwrap_or("unknown");
        if state != expected {
            let evidence =
                format!("{reference} was answered {expected}, and its code says {state}");
            found.add(Promised::Kept, evidence);
        }
    }
}
