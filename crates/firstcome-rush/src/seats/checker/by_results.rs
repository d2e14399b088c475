//! Compares the results, and the counts of the campaign, with what people were answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::Plan;
use super::super::promised::Promised;
use super::super::record::{End, HoldRecord, Record};
use crate::people::{CampaignCounts, Found, PersonResult};

/// The results of the pool, by what they are looked up with.
#[derive(Default)]
struct Tables<'a> {
    /// Claims by their rank.
    claims: HashMap<u64, &'a PersonResult>,
    /// Ranks whose seat was exchanged.
    moved: BTreeSet<u64>,
    /// Units by hold.
    claimed: BTreeMap<&'a str, u64>,
    /// Units by hold whose money is owed.
    refunded: BTreeMap<&'a str, u64>,
    /// Units by subject.
    subjects: BTreeMap<&'a str, u64>,
}

impl<'a> Tables<'a> {
    /// Sorts the results in; ranks must follow each other, and a seat has one owner at a time.
    fn of(results: impl Iterator<Item = &'a PersonResult>, found: &mut Found) -> Self {
        let mut tables = Self::default();
        let mut owners: BTreeMap<&str, &PersonResult> = BTreeMap::new();
        let mut last = 0;
        for result in results {
            let PersonResult { rank, subject, unit, hold, .. } = result;
            let hold = hold.as_deref().unwrap_or_default();
            match result.kind.as_str() {
                "claim" => {
                    if *rank != last + 1 {
                        found.add(Promised::Ranks, format!("rank {rank} follows rank {last}"));
                    }
                    last = last.max(*rank);
                    tables.claims.insert(*rank, result);
                    *tables.subjects.entry(subject).or_default() += 1;
                    *tables.claimed.entry(hold).or_default() += 1;
                    let Some(unit) = unit.as_deref() else { continue };
                    if let Some(before) = owners.insert(unit, result) {
                        let other = &before.subject;
                        let evidence =
                            format!("the results give {unit} to {other} and to {subject}");
                        found.add(Promised::Seats, evidence);
                    }
                }
                "cancel" => {
                    if let Some(units) = tables.subjects.get_mut(subject.as_str()) {
                        *units = units.saturating_sub(1);
                    }
                    // By its rank: an operator may have moved it meanwhile.
                    owners.retain(|_, owner| owner.rank != *rank);
                }
                "moved" => {
                    tables.moved.insert(*rank);
                    owners.retain(|_, owner| owner.rank != *rank || *rank == 0);
                    if let (Some(unit), true) = (unit.as_deref(), *rank > 0) {
                        owners.insert(unit, result);
                    }
                }
                "refund_due" => *tables.refunded.entry(hold).or_default() += 1,
                _ => {}
            }
        }
        tables
    }

    /// Whether the results have this seat for this subject under this rank.
    fn has(&self, subject: &str, seat: &str, rank: u64) -> bool {
        self.claims.get(&rank).is_some_and(|result| {
            let same_seat = result.unit.as_ref().is_none_or(|unit| unit == seat);
            result.subject == subject && (self.moved.contains(&rank) || same_seat)
        })
    }
}

/// Compares the results with everything that was answered.
pub(super) fn compare(plan: &Plan, record: &Record, results: &[PersonResult], found: &mut Found) {
    let ours = results.iter().filter(|result| result.pool == plan.pool);
    let tables = Tables::of(ours, found);
    for (subject, units) in &tables.subjects {
        if plan.visit.limit.is_some_and(|limit| *units > u64::from(limit)) {
            found.add(Promised::Limits, format!("the results give {units} units to {subject}"));
        }
    }
    // Where the results do not name the hold of a unit, only ranks can be compared.
    let names_holds = results.iter().any(|result| result.hold.is_some());
    for held in &record.answers.holds {
        compare_hold(held, &tables, names_holds, found);
    }
    if plan.alone && names_holds && !record.incomplete {
        nobody_elses(record, &tables, found);
    }
}

fn compare_hold(held: &HoldRecord, tables: &Tables<'_>, names_holds: bool, found: &mut Found) {
    let HoldRecord { hold, subject, .. } = held;
    let claimed = tables.claimed.get(hold.as_str()).copied().unwrap_or(0);
    let refunded = tables.refunded.get(hold.as_str()).copied().unwrap_or(0);
    let had = held.units.len() as u64;
    if let End::Confirmed { units, .. } = &held.end {
        for (seat, rank) in units.iter().filter(|(seat, rank)| !tables.has(subject, seat, *rank)) {
            let evidence =
                format!("{subject} was told {seat} with rank {rank}, which is not in the results");
            found.add(Promised::Kept, evidence);
        }
    } else if claimed != 0 {
        let end = &held.end;
        let evidence =
            format!("hold {hold} is in the results as confirmed, and {subject} was told {end:?}");
        found.add(Promised::Kept, evidence);
    }
    let owed = matches!(held.end, End::Refund { .. });
    if owed && refunded == 0 && names_holds {
        let evidence =
            format!("{subject} was told of a refund for hold {hold}, which is not in the results");
        found.add(Promised::Late, evidence);
    }
    if !owed && refunded != 0 {
        let end = &held.end;
        let evidence = format!("a refund is due for hold {hold}, and {subject} was told {end:?}");
        found.add(Promised::Late, evidence);
    }
    for (units, what) in [(claimed, "units"), (refunded, "refunds")] {
        if units != 0 && units != had {
            let evidence =
                format!("the results have {what} for {units} of the {had} of hold {hold}");
            found.add(Promised::Baskets, evidence);
        }
    }
    if claimed != 0 && refunded != 0 {
        found.add(Promised::Late, format!("hold {hold} has its units and a refund"));
    }
}

/// If there are no other clients, every result belongs to a hold with an answer.
fn nobody_elses(record: &Record, tables: &Tables<'_>, found: &mut Found) {
    let known: BTreeSet<&str> =
        record.answers.holds.iter().map(|held| held.hold.as_str()).collect();
    for hold in tables.claimed.keys().filter(|hold| !known.contains(*hold)) {
        let evidence =
            format!("hold {hold} is confirmed in the results, and nobody was told of it");
        found.add(Promised::Kept, evidence);
    }
    for hold in tables.refunded.keys().filter(|hold| !known.contains(*hold)) {
        let evidence = format!("a refund is due for hold {hold}, and nobody was told of it");
        found.add(Promised::Late, evidence);
    }
}

/// Compares the campaign's own counts with the results.
pub(super) fn campaign_counts(
    plan: &Plan,
    counts: &CampaignCounts,
    results: &[PersonResult],
    found: &mut Found,
) {
    let Some(pool) = counts.pools.iter().find(|pool| pool.name == plan.pool) else {
        found.add(Promised::Counts, format!("the campaign has no pool {}", plan.pool));
        return;
    };
    let count_of = |kind: &str| {
        results.iter().filter(|result| result.pool == plan.pool && result.kind == kind).count()
            as u64
    };
    let live = count_of("claim").saturating_sub(count_of("cancel"));
    let said = pool.taken.saturating_sub(pool.held);
    if said != live {
        found.add(
            Promised::Counts,
            format!("the campaign says {said} confirmed, the results show {live}"),
        );
    }
    if plan.alone && pool.held > 0 {
        let evidence = format!("{} seats are still held, and every hold is over", pool.held);
        found.add(Promised::Late, evidence);
    }
    let all = pool.left + pool.taken + pool.blocked;
    if plan.alone && all != pool.capacity {
        let evidence = format!(
            "{} left, {} taken and {} blocked are not the {} there are",
            pool.left, pool.taken, pool.blocked, pool.capacity
        );
        found.add(Promised::Counts, evidence);
    } else if all > pool.capacity {
        let evidence = format!(
            "{} left, {} taken and {} blocked are more than the {} there are",
            pool.left, pool.taken, pool.blocked, pool.capacity
        );
        found.add(Promised::Counts, evidence);
    }
}
