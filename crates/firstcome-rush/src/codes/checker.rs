//! Compares the record, the results and the look-ups with the promises: plain functions over plain values.

mod by_results;
mod turns;
mod uses;

use std::collections::HashMap;

use super::plan::Plan;
use super::record::Record;
use super::results::Read;
use super::violation::{Found, Promised, Violation};

/// Compares the answers with each other, and with everything that was read at the end.
pub(super) fn check(plan: &Plan, record: &Record, read: &Read) -> Vec<Violation> {
    let mut found = Found(by_answers(plan, record));
    by_results::compare(plan, record, read, &mut found);
    by_results::campaign_counts(plan, read, &mut found);
    by_results::looked_up(plan, record, read, &mut found);
    by_results::in_the_ledger(plan, read, &mut found);
    found.0
}

/// Compares the answers with each other.
pub(super) fn by_answers(plan: &Plan, record: &Record) -> Vec<Violation> {
    let mut found = Found::default();
    owners(record, &mut found);
    uses::check(plan, record, &mut found);
    turns::check(record, &mut found);
    for difference in &record.changed {
        found.add(Promised::Repeats, difference.clone());
    }
    for evidence in &record.accepted {
        found.add(Promised::Wrong, evidence.clone());
    }
    found.0
}

/// A code has one subject, a subject one code, and a rank one of both.
///
/// Codes are not shown in evidence: the rank says which one it is.
fn owners(record: &Record, found: &mut Found) {
    let mut by_code: HashMap<&str, &str> = HashMap::new();
    let mut by_rank: HashMap<u64, &str> = HashMap::new();
    for issued in &record.issued {
        let (who, rank) = (issued.subject.as_str(), issued.rank);
        if issued.code.is_empty() {
            found.add(Promised::Codes, format!("{who} won rank {rank} and was given no code"));
            continue;
        }
        if let Some(other) = by_code.insert(&issued.code, who).filter(|other| *other != who) {
            found
                .add(Promised::Codes, format!("the code of {who} (rank {rank}) is {other}'s, too"));
        }
        if let Some(other) = by_rank.insert(rank, who).filter(|other| *other != who) {
            found.add(Promised::Ranks, format!("{who} and {other} both have rank {rank}"));
        }
    }
}
