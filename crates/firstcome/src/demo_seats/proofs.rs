//! The proofs: what people were told against what the node knows, the ledger, and the journal recomputed.

use std::collections::{BTreeMap, BTreeSet};

use super::book::{Book, Heard, LateAnswer};
use super::stage::Known;
use super::{Frame, Proof, Recomputed};
use crate::offline::audit::Difference;
use firstcome_core::hall::Counts;

/// What is wrong, if something is: the first of it.
type Evidence = Option<String>;

/// Holds everything against everything.
pub(super) fn all(
    book: &Book,
    last: &Frame,
    known: &Known,
    audit: &Recomputed,
    sold_out: bool,
) -> Vec<Proof> {
    let heard = book.read();
    let Counts { free, held, confirmed, blocked, left } = last.counts;
    let all = last.counts.all();
    let late = heard.late.len();
    let with_seats =
        heard.late.values().filter(|answer| matches!(answer, LateAnswer::Seats { .. })).count();
    let refunds = known.refunds.len();
    let proof = |name, words: String, evidence: Evidence| Proof {
        name,
        words,
        kept: evidence.is_none(),
        evidence,
    };
    vec![
        proof(
            "sold_out",
            format!("sold out: {confirmed} of {all} paid for, {blocked} kept back"),
            (!sold_out || left > 0 || held > 0)
                .then(|| format!("{left} are left and {held} are held at the end")),
        ),
        proof(
            "seats",
            format!("no seat is two people's: {} confirmed seats", heard.confirmed.len()),
            heard.twice.first().cloned().or_else(|| whose(&heard, known)),
        ),
        proof(
            "ranks",
            format!("ranks are gap-free and nobody shares one: 1 to {}", known.last_rank),
            ranks(&heard, known),
        ),
        proof(
            "baskets",
            format!("no half basket: {} holds, each whole to its end", known.holds.len()),
            heard.halves.first().cloned().or_else(|| halves(&heard, known)),
        ),
        proof(
            "counts",
            format!(
                "free + held + confirmed + blocked = all: {free} + {held} + {confirmed} + {blocked} = {all}, and so at all {} looks",
                heard.looks
            ),
            heard.miscounted.first().cloned(),
        ),
        proof(
            "late",
            format!(
                "who paid too late has the same seats or gets the money back: {late} people, {with_seats} with seats, {refunds} refunds due"
            ),
            late_payers(&heard, known),
        ),
        proof(
            "taken",
            format!("every seat named as taken was: {}", heard.named_as_taken.len()),
            named_as_taken(&heard),
        ),
        proof(
            "repeats",
            format!("all {} repeated answers are identical", heard.repeats),
            heard.changed.first().cloned(),
        ),
        digest(audit),
        ledger(audit),
    ]
}

/// The node must know the same owner and rank for every seat that somebody was told is theirs, and no other.
fn whose(heard: &Heard, known: &Known) -> Evidence {
    let known: BTreeMap<_, _> =
        known.ranks.iter().map(|(rank, seat, subject)| (seat, (subject, *rank))).collect();
    for (seat, (guest, rank)) in &heard.confirmed {
        match known.get(seat) {
            Some((subject, ranked)) if *subject == guest && ranked == rank => {}
            other => return Some(format!("{guest} was told {seat} with rank {rank}: {other:?}")),
        }
    }
    let unheard = known.keys().find(|seat| !heard.confirmed.contains_key(**seat));
    unheard.map(|seat| format!("{seat} is confirmed, and nobody was told"))
}

fn ranks(heard: &Heard, known: &Known) -> Evidence {
    let ranks: BTreeSet<u32> = heard.confirmed.values().map(|(_, rank)| *rank).collect();
    if ranks.len() != heard.confirmed.len() {
        return Some("two seats have one rank".to_owned());
    }
    let missing = (1..=known.last_rank).find(|rank| !ranks.contains(rank));
    missing.map(|rank| format!("nobody was told rank {rank}"))
}

fn halves(heard: &Heard, known: &Known) -> Evidence {
    known.holds.iter().find_map(|hold| {
        let told = heard.held.get(&hold.id).map(Vec::len);
        let whole = hold.fates.len() == 1 && told == Some(hold.units);
        (!whole).then(|| format!("{hold:?}, told were {told:?} seats"))
    })
}

fn late_payers(heard: &Heard, known: &Known) -> Evidence {
    let due: BTreeSet<&String> = known.refunds.iter().collect();
    for (hold, answer) in &heard.late {
        let right = match answer {
            LateAnswer::Seats { retaken } => *retaken && !due.contains(hold),
            LateAnswer::Refund => due.contains(hold),
            LateAnswer::Other(_) => false,
        };
        if !right {
            return Some(format!("hold {hold} was answered {answer:?}"));
        }
    }
    let strange = due.iter().find(|hold| !heard.late.contains_key(**hold));
    strange.map(|hold| format!("a refund is due for {hold}, whose owner was told nothing of it"))
}

fn named_as_taken(heard: &Heard) -> Evidence {
    let ever: BTreeSet<&String> = heard.held.values().flatten().collect();
    let free = heard.named_as_taken.iter().find(|seat| !ever.contains(seat));
    free.map(|seat| format!("{seat} was named as taken, and nobody ever held it"))
}

fn digest(audit: &Recomputed) -> Proof {
    // What differs in the ledger is the next proof's.
    let journal = |difference: &&Difference| !["results", "claims"].contains(&difference.what);
    let differs = audit.differences.iter().find(journal);
    let same = audit.digest_live.as_ref() == Some(&audit.digest_recomputed);
    let evidence = match differs {
        Some(difference) => Some(difference.detail.clone()),
        None => (!same).then(|| format!("the node says {:?}", audit.digest_live)),
    };
    let kept = evidence.is_none();
    let recomputed = &audit.digest_recomputed;
    let words = format!("state recomputed from the journal has the same digest: {recomputed}");
    Proof { name: "digest", words, kept, evidence }
}

fn ledger(audit: &Recomputed) -> Proof {
    let through = audit.ledger_through;
    let kept = audit.ledger_equal == Some(true) && through == Some(audit.last_result);
    let ledgers = |difference: &&Difference| ["results", "claims"].contains(&difference.what);
    let evidence = (!kept).then(|| match audit.differences.iter().find(ledgers) {
        Some(difference) => difference.detail.clone(),
        None => format!("it has {through:?} of {}", audit.last_result),
    });
    let words = format!("the ledger has exactly these results: {}", audit.last_result);
    Proof { name: "ledger", words, kept, evidence }
}

#[cfg(test)]
mod tests;
