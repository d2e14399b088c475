//! Compares what people were told, the results and the counts with the promises: plain functions over plain values.

mod by_results;
mod crossing;
mod times;
mod walk;

use std::collections::HashMap;

use super::promised::Promised;
use super::record::Record;
use super::{Plan, Read};
use crate::people::{Found, Violation};
use crossing::Crossing;
use times::Times;
use walk::{End, Walk};

/// Compares the answers with each other and, if they could be read, with the results, the counts of the campaign and
/// the holds as they are shown.
pub(super) fn check(plan: &Plan, record: &Record, read: Option<&Read>) -> Vec<Violation> {
    let mut found = Found::default();
    confirmed_once(plan, record, &mut found);
    let ends = holds(plan, record, read, &mut found);
    if let Some(Read { counts, results, .. }) = read {
        by_results::compare(plan, record, (results, &ends), &mut found);
        by_results::campaign_counts(plan, record, (counts, results), &mut found);
    }
    found.0
}

/// A seat is confirmed for one, and so is a rank.
fn confirmed_once(plan: &Plan, record: &Record, found: &mut Found) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    let mut ranked: HashMap<u64, &str> = HashMap::new();
    for hold in &record.answers.holds {
        let confirmed = hold.decided().filter(|heard| heard.outcome == "confirmed");
        for (unit, ranks) in confirmed.flat_map(|heard| &heard.ranks) {
            let who = hold.subject.as_str();
            if plan.visit.most(unit) == 1
                && let Some(other) = owners.insert(unit, who)
            {
                let evidence = format!("{unit} was confirmed for {other} and for {who}");
                found.add(Promised::Seats, evidence);
            }
            for rank in ranks {
                if let Some(other) = ranked.insert(*rank, unit) {
                    found.add(Promised::Ranks, format!("{other} and {unit} both have rank {rank}"));
                }
            }
        }
    }
}

/// Compares each hold with itself, with the others, and with what was seen of all; returns what each came to.
fn holds(plan: &Plan, record: &Record, read: Option<&Read>, found: &mut Found) -> Vec<End> {
    let answers = &record.answers;
    let times = Times::of(&plan.visit, answers, found);
    let (mut spans, mut refusals, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut incomplete = record.incomplete;
    for hold in &answers.holds {
        let shown = read.and_then(|read| read.shown.get(&hold.hold));
        // It was over before anybody was told of it, and nothing is known of it any more.
        incomplete |= hold.was_missed() && !matches!(shown, Some(Some(_)));
        let walked = Walk::along(plan, &times, (hold, shown), found);
        spans.extend(walked.spans);
        refusals.extend(walked.refusals);
        ends.push(walked.end);
    }
    let crossing = Crossing::of(&plan.visit, &spans);
    crossing.owners(found);
    crossing.refusals(&refusals, (incomplete, plan.alone), found);
    if let Some(hall) = &plan.visit.hall {
        crossing.map(hall, &times, &answers.glances, found);
    }
    ends
}

#[cfg(test)]
mod tests;
