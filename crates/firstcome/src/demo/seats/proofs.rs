//! The proofs: what people were told against what the node knows, the ledger, and the journal recomputed.

use std::collections::{BTreeMap, BTreeSet};

use super::book::{Book, Heard, LateAnswer};
use super::stage::Known;
use super::{Frame, Proof, Recomputed};
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
    let kept = audit.ok && audit.digest_live.as_ref() == Some(&audit.digest_recomputed);
    let evidence = (!kept).then(|| match audit.differences.first() {
        Some(difference) => difference.detail.clone(),
        None => format!("the node says {:?}", audit.digest_live),
    });
    let recomputed = &audit.digest_recomputed;
    let words = format!("state recomputed from the journal has the same digest: {recomputed}");
    Proof { name: "digest", words, kept, evidence }
}

fn ledger(audit: &Recomputed) -> Proof {
    let through = audit.ledger_through;
    let kept = audit.ledger_equal == Some(true) && through == Some(audit.last_result);
    let evidence = (!kept).then(|| format!("it has {through:?} of {}", audit.last_result));
    let words = format!("the ledger has exactly these results: {}", audit.last_result);
    Proof { name: "ledger", words, kept, evidence }
}

#[cfg(test)]
mod tests {
    use super::super::stage::KnownHold;
    use super::*;

    fn told() -> Heard {
        let seats = || vec!["A1".to_owned(), "A2".to_owned()];
        let mut heard = Heard::default();
        heard.held.insert("h1".to_owned(), seats());
        heard.held.insert("h2".to_owned(), seats());
        heard.confirmed.insert("A1".to_owned(), ("ann".to_owned(), 1));
        heard.confirmed.insert("A2".to_owned(), ("ann".to_owned(), 2));
        heard.late.insert("h2".to_owned(), LateAnswer::Refund);
        heard.named_as_taken.insert("A2".to_owned());
        heard
    }

    fn known() -> Known {
        let hold = |id: &str, fate| KnownHold { id: id.to_owned(), units: 2, fates: vec![fate] };
        let rank = |rank, seat: &str| (rank, seat.to_owned(), "ann".to_owned());
        Known {
            holds: vec![hold("h1", "confirmed"), hold("h2", "refunded")],
            last_rank: 2,
            ranks: vec![rank(1, "A1"), rank(2, "A2")],
            refunds: vec!["h2".to_owned()],
        }
    }

    fn found(heard: &Heard, known: &Known) -> Vec<&'static str> {
        let checks = [
            ("seats", whose(heard, known)),
            ("ranks", ranks(heard, known)),
            ("baskets", halves(heard, known)),
            ("late", late_payers(heard, known)),
            ("taken", named_as_taken(heard)),
        ];
        checks
            .into_iter()
            .filter(|(_, evidence)| evidence.is_some())
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn an_honest_evening_has_nothing_against_it() {
        assert_eq!(found(&told(), &known()), Vec::<&str>::new());
    }

    #[test]
    fn every_broken_promise_is_found() {
        let against = |change: &dyn Fn(&mut Heard, &mut Known)| {
            let (mut heard, mut known) = (told(), known());
            change(&mut heard, &mut known);
            found(&heard, &known)
        };
        assert_eq!(against(&|_, known| known.ranks[0].2 = "bob".to_owned()), ["seats"]);
        assert_eq!(against(&|_, known| drop(known.ranks.pop())), ["seats"]);
        assert_eq!(against(&|_, known| known.last_rank = 3), ["ranks"]);
        assert_eq!(
            against(&|_, known| known.holds[0].fates = vec!["confirmed", "expired"]),
            ["baskets"]
        );
        assert_eq!(against(&|_, known| known.holds[1].units = 1), ["baskets"]);
        assert_eq!(against(&|_, known| known.refunds.clear()), ["late"]);
        let early = LateAnswer::Seats { retaken: false };
        let lied = |heard: &mut Heard, known: &mut Known| {
            heard.late.insert("h2".to_owned(), early.clone());
            known.refunds.clear();
        };
        assert_eq!(against(&lied), ["late"]);
        let invented = |heard: &mut Heard, _: &mut Known| {
            heard.named_as_taken.insert("B1".to_owned());
        };
        assert_eq!(against(&invented), ["taken"]);
    }
}
