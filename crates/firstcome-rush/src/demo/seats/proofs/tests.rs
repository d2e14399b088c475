use super::super::super::proofs::tests::honest_audit;
use super::*;
use crate::people::{Promises, Violation};
use crate::seats::Totals;

/// What was found in a venue of four seats: two are paid for and two kept back.
struct Evidence {
    report: Report,
    counts: SeatCounts,
    looks: Looks,
    sold_out: bool,
    audit: Value,
}

const COUNTS: SeatCounts = SeatCounts { free: 0, held: 0, confirmed: 2, blocked: 2 };

impl Evidence {
    fn honest() -> Self {
        let totals = Totals { holds: 1, confirmed: 2, ..Totals::default() };
        let report = Report { totals, ..Report::default() };
        let mut looks = Looks::default();
        looks.add(4, COUNTS, COUNTS, true);
        // Read at two positions, they may differ.
        looks.add(4, COUNTS, SeatCounts { held: 1, confirmed: 1, ..COUNTS }, false);
        Self { report, counts: COUNTS, looks, sold_out: true, audit: honest_audit() }
    }

    fn violate(&mut self, promise: Promised) {
        self.report.violations.push(Violation::new(promise, "doctored".to_owned()));
    }

    /// The names of the proofs that do not hold.
    fn broken(&self) -> Vec<&'static str> {
        let Self { report, counts, looks, sold_out, audit } = self;
        let found = Found { report, counts: *counts, looks, sold_out: *sold_out, audit };
        let proofs = all(&found);
        assert!(proofs.iter().all(|proof| proof.kept == proof.evidence.is_none()), "{proofs:?}");
        proofs.iter().filter(|proof| !proof.kept).map(|proof| proof.name).collect()
    }
}

fn broken(doctor: &dyn Fn(&mut Evidence)) -> Vec<&'static str> {
    let mut evidence = Evidence::honest();
    doctor(&mut evidence);
    evidence.broken()
}

#[test]
fn every_violation_breaks_the_proof_of_its_promise() {
    let expected = [
        (Promised::Seats, "seats"),
        (Promised::Kept, "seats"),
        (Promised::Baskets, "baskets"),
        (Promised::Ranks, "ranks"),
        (Promised::Repeats, "repeats"),
        (Promised::Taken, "taken"),
        (Promised::Limits, "late"),
        (Promised::Late, "late"),
        (Promised::Counts, "counts"),
    ];
    for (promise, name) in expected {
        assert_eq!(broken(&|evidence| evidence.violate(promise)), [name]);
    }
    let all: Vec<_> = expected.into_iter().map(|(promise, _)| promise).collect();
    assert!(Promised::SHOWN.iter().all(|promise| all.contains(promise)));
}

#[test]
fn a_venue_that_is_not_sold_out_or_miscounted_or_audited_otherwise_is_seen() {
    assert_eq!(broken(&|_| {}), [""; 0]);
    assert_eq!(broken(&|e| e.sold_out = false), ["sold_out"]);
    assert_eq!(broken(&|e| e.counts.free = 1), ["sold_out"]);
    assert_eq!(broken(&|e| e.counts.held = 1), ["sold_out"]);
    // A seat that is nowhere, one too many, and one that is counted as another.
    let lost = SeatCounts { blocked: 1, ..COUNTS };
    assert_eq!(broken(&|e| e.looks.add(4, lost, COUNTS, false)), ["counts"]);
    assert_eq!(broken(&|e| e.looks.add(4, COUNTS, lost, false)), ["counts"]);
    let more = SeatCounts { free: 1, ..COUNTS };
    assert_eq!(broken(&|e| e.looks.add(4, more, more, true)), ["counts"]);
    let other = SeatCounts { held: 1, confirmed: 1, ..COUNTS };
    assert_eq!(broken(&|e| e.looks.add(4, COUNTS, other, true)), ["counts"]);
    assert_eq!(broken(&|e| e.audit["digest_live"] = "0".into()), ["digest"]);
    assert_eq!(broken(&|e| e.audit["ledger_through"] = 3.into()), ["ledger"]);
    assert_eq!(broken(&|e| e.report.cut_short = Some("gone".to_owned())), ["complete"]);
}
