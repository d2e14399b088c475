//! The proofs of the demonstration of seats.

use serde_json::Value;

use super::super::proofs::{Proof, equal_ledger, same_digest};
use super::frame::SeatCounts;
use super::watch::Looks;
use crate::seats::{Promised, Report};

/// Everything that was found.
pub(super) struct Found<'a> {
    /// By the load test.
    pub(super) report: &'a Report,
    /// At the last look.
    pub(super) counts: SeatCounts,
    /// At all looks.
    pub(super) looks: &'a Looks,
    /// Whether it was ever sold out.
    pub(super) sold_out: bool,
    /// By `audit`.
    pub(super) audit: &'a Value,
}

/// Compares everything that was found with what was promised.
pub(super) fn all(found: &Found<'_>) -> Vec<Proof> {
    let Found { report, counts, looks, sold_out, audit } = *found;
    let totals = &report.totals;
    let SeatCounts { free, held, confirmed, blocked } = counts;
    let (all, count) = (counts.all(), looks.count);
    let (with_seats, refunds) = (totals.late_with_seats, totals.late_with_refund);
    let late = with_seats + refunds;
    let unsold = !sold_out || !counts.sold_out();
    let mut proofs = vec![
        Proof::new(
            "sold_out",
            format!("sold out: {confirmed} of {all} paid for, {blocked} kept back"),
            unsold.then(|| format!("{free} are left and {held} are held at the end")),
        ),
        Proof::new(
            "seats",
            format!("no seat is two people's: {} confirmed seats", totals.confirmed),
            report.evidence(&[Promised::Seats, Promised::Kept]),
        ),
        Proof::new(
            "ranks",
            format!("ranks are gap-free and nobody shares one: 1 to {}", totals.confirmed),
            report.evidence(&[Promised::Ranks]),
        ),
        Proof::new(
            "baskets",
            format!("no half basket: {} holds, each whole to its end", totals.holds),
            report.evidence(&[Promised::Baskets]),
        ),
        Proof::new(
            "counts",
            format!(
                "free + held + confirmed + blocked = all: {free} + {held} + {confirmed} + {blocked} = {all}, and so at all {count} looks"
            ),
            looks.miscounted.clone().or_else(|| report.evidence(&[Promised::Counts])),
        ),
        Proof::new(
            "late",
            format!(
                "who paid too late has the same seats or gets the money back: {late} people, {with_seats} with seats, {refunds} refunds due"
            ),
            report.evidence(&[Promised::Late, Promised::Limits]),
        ),
        Proof::new(
            "taken",
            format!("every seat named as taken was: {} refusals", totals.taken),
            report.evidence(&[Promised::Taken]),
        ),
        Proof::new(
            "repeats",
            format!("all {} repeated answers are identical", totals.repeats),
            report.evidence(&[Promised::Repeats]),
        ),
        same_digest(audit),
        equal_ledger(audit),
    ];
    if let Some(reason) = &report.cut_short {
        let words = "everything could be checked".to_owned();
        proofs.push(Proof::new("complete", words, Some(reason.clone())));
    }
    proofs
}

#[cfg(test)]
mod tests;
