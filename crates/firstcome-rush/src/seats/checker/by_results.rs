//! Compares the results, and the counts of the campaign, with what people were answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::Plan;
use super::super::promised::Promised;
use super::super::record::Record;
use super::walk::End;
use crate::people::{CampaignCounts, Found, PersonResult, PoolCounts};

/// The results of the pool, by what they are looked up with.
#[derive(Default)]
struct ResultTables<'a> {
    /// Claims by their rank.
    claims: HashMap<u64, &'a PersonResult>,
    /// Ranks whose seat was exchanged.
    moved: BTreeSet<u64>,
    /// Units by hold.
    claimed: BTreeMap<&'a str, u64>,
    /// Units by hold whose money is owed.
    refunded: BTreeMap<&'a str, BTreeMap<&'a str, u32>>,
    /// Units by subject.
    subjects: BTreeMap<&'a str, u64>,
}

impl<'a> ResultTables<'a> {
    /// Sorts the results in; ranks must follow each other, and a seat has one owner at a time.
    fn of(
        results: impl Iterator<Item = &'a PersonResult>,
        most: impl Fn(&str) -> u32,
        found: &mut Found,
    ) -> Self {
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
                    if let Some(before) = owners.insert(unit, result).filter(|_| most(unit) == 1) {
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
                "refund_due" => {
                    let unit = unit.as_deref().unwrap_or_default();
                    *tables.refunded.entry(hold).or_default().entry(unit).or_default() += 1;
                }
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
pub(super) fn compare(
    plan: &Plan,
    record: &Record,
    (results, ends): (&[PersonResult], &[End]),
    found: &mut Found,
) {
    let ours = || results.iter().filter(|result| result.pool == plan.pool);
    let tables = ResultTables::of(ours(), |unit| plan.visit.most(unit), found);
    for (subject, units) in &tables.subjects {
        if plan.visit.limit.is_some_and(|limit| *units > u64::from(limit)) {
            found.add(Promised::Limits, format!("the results give {units} units to {subject}"));
        }
    }
    // Where the results do not name the hold of a unit, only ranks can be compared.
    let names_holds = results.iter().any(|result| result.hold.is_some());
    for end in ends {
        compare_hold(end, &tables, names_holds, found);
    }
    let subjects: BTreeMap<&str, &str> =
        ends.iter().map(|end| (&*end.hold, &*end.subject)).collect();
    for result in ours() {
        let subject = subjects.get(result.hold.as_deref().unwrap_or_default());
        if subject.is_some_and(|subject| *subject != result.subject) {
            found.add(Promised::Ranks, format!("{result:?} is of somebody else's hold"));
        }
        // Nobody cancels or moves anything there.
        let may_be = matches!(&*result.kind, "claim" | "refund_due");
        if plan.visit.hall.is_some() && !may_be {
            found.add(Promised::Ranks, format!("{result:?} is among the results"));
        }
    }
    if plan.alone && names_holds && !record.incomplete {
        nobody_elses(&subjects, &tables, found);
    }
}

fn compare_hold(end: &End, tables: &ResultTables<'_>, names_holds: bool, found: &mut Found) {
    let End { hold, subject, ranks, refunded } = end;
    let claimed = tables.claimed.get(hold.as_str()).copied().unwrap_or(0);
    let told = || ranks.iter().flat_map(|(unit, all)| all.iter().map(move |rank| (unit, *rank)));
    for (unit, rank) in told().filter(|(unit, rank)| !tables.has(subject, unit, *rank)) {
        let evidence =
            format!("{subject} was told {unit} with rank {rank}, which is not in the results");
        found.add(Promised::Kept, evidence);
    }
    if claimed > told().count() as u64 {
        let evidence = format!(
            "hold {hold} has {claimed} units in the results, and {subject} was told {ranks:?}"
        );
        found.add(Promised::Kept, evidence);
    }
    let owed = refunded.iter().map(|(unit, count)| (unit.as_str(), *count)).collect();
    let listed = tables.refunded.get(hold.as_str()).cloned().unwrap_or_default();
    if listed != owed && names_holds {
        let evidence = format!(
            "{subject} is owed refunds for {owed:?} of hold {hold}, and the results say {listed:?}"
        );
        found.add(Promised::Late, evidence);
    }
    if listed.keys().any(|unit| ranks.contains_key(*unit)) {
        found.add(Promised::Late, format!("hold {hold} has a unit and a refund for it"));
    }
}

/// If there are no other clients, every result belongs to a hold with an answer.
fn nobody_elses(known: &BTreeMap<&str, &str>, tables: &ResultTables<'_>, found: &mut Found) {
    for hold in tables.claimed.keys().filter(|hold| !known.contains_key(*hold)) {
        let evidence =
            format!("hold {hold} is confirmed in the results, and nobody was told of it");
        found.add(Promised::Kept, evidence);
    }
    for hold in tables.refunded.keys().filter(|hold| !known.contains_key(*hold)) {
        let evidence = format!("a refund is due for hold {hold}, and nobody was told of it");
        found.add(Promised::Late, evidence);
    }
}

/// Compares the campaign's own counts with the results, as every server has them.
pub(super) fn campaign_counts(
    plan: &Plan,
    record: &Record,
    (counts, results): (&[CampaignCounts], &[PersonResult]),
    found: &mut Found,
) {
    let count_of = |kind: &str| {
        results.iter().filter(|result| result.pool == plan.pool && result.kind == kind).count()
            as u64
    };
    let live = count_of("claim").saturating_sub(count_of("cancel"));
    for counts in counts {
        let Some(pool) = all_there_is(plan, counts, found) else { continue };
        let said = pool.taken.saturating_sub(pool.held);
        if said != live {
            let evidence = format!("the campaign says {said} confirmed, the results show {live}");
            found.add(Promised::Counts, evidence);
        }
        if plan.alone && pool.held > 0 {
            let evidence = format!("{} seats are still held, and every hold is over", pool.held);
            found.add(Promised::Late, evidence);
        }
    }
    for counts in &record.answers.counts {
        all_there_is(plan, counts, found);
    }
}

/// Checks that what is left, taken and blocked is all there is; returns the pool.
fn all_there_is<'a>(
    plan: &Plan,
    counts: &'a CampaignCounts,
    found: &mut Found,
) -> Option<&'a PoolCounts> {
    let Some(pool) = counts.pools.iter().find(|pool| pool.name == plan.pool) else {
        found.add(Promised::Counts, format!("the campaign has no pool {}", plan.pool));
        return None;
    };
    let PoolCounts { capacity, left, taken, held, blocked, .. } = *pool;
    let all = left + taken + blocked;
    if all > capacity || plan.alone && all != capacity {
        let evidence = format!(
            "{left} left, {taken} taken and {blocked} blocked are not the {capacity} there are"
        );
        found.add(Promised::Counts, evidence);
    }
    let hall = plan.visit.hall.as_ref();
    let is_hall =
        hall.is_none_or(|hall| (capacity, blocked) == (hall.capacity(), hall.blocked.len() as u64));
    if held > taken || !is_hall {
        found.add(Promised::Counts, format!("{pool:?} is not the hall that there is"));
    }
    Some(pool)
}
