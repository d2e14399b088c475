//! Compares the record, the results and the look-ups with the promises: plain functions over plain values.

mod by_results;
mod turns;
mod uses;

use std::collections::HashMap;

use super::Plan;
use super::promised::Promised;
use super::read::Read;
use super::record::Record;
use crate::people::{Found, Violation};

/// Compares the answers with each other, and with everything that was read at the end if it could be.
pub(super) fn check(plan: &Plan, record: &Record, read: Option<&Read>) -> Vec<Violation> {
    let mut found = Found::default();
    by_answers(plan, record, &mut found);
    if let Some(read) = read {
        by_results::compare(plan, record, read, &mut found);
        by_results::campaign_counts(plan, read, &mut found);
        by_results::looked_up(plan, record, read, &mut found);
        by_results::in_the_ledger(plan, read, &mut found);
    }
    found.0
}

/// Compares the answers with each other.
fn by_answers(plan: &Plan, record: &Record, found: &mut Found) {
    owners(record, found);
    uses::check(plan, record, found);
    turns::check(&record.answers, found);
    for difference in &record.changed {
        found.add(Promised::Repeats, difference.clone());
    }
    for evidence in &record.answers.accepted {
        found.add(Promised::Wrong, evidence.clone());
    }
}

/// A code has one subject, a subject one code, and a rank one of both.
///
/// Codes are not shown in evidence: the rank says which one it is.
fn owners(record: &Record, found: &mut Found) {
    let mut by_code: HashMap<&str, &str> = HashMap::new();
    let mut by_rank: HashMap<u64, &str> = HashMap::new();
    for issued in &record.answers.issued {
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
