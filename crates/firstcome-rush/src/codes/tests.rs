#[expect(clippy::wildcard_enum_match_arm, reason = "each fault is in one place, and nowhere else")]
mod faulty_server;

use super::*;
use crate::people::tests::{every_fault_is_seen, report};
use faulty_server::{CODES, Fault, FaultyServer, RESERVATION};

fn plan_of(fault: Fault, uses: u32) -> Plan {
    let shares = Shares {
        cancel: 0.25,
        crowd: 0.4,
        repeat: 0.5,
        wrong: 0.2,
        wait: 0.4,
        let_go: 0.1,
        ..Shares::default()
    };
    let waits = Duration::from_secs(2);
    let visit = CodesPlan { uses, reservation: RESERVATION, tries: 2, waits, shares };
    let plan = people::tests::plan(FaultyServer::new(fault, uses), visit);
    Plan { people: 150, think: Duration::from_millis(150), ..plan }
}

fn plan(fault: Fault) -> Plan {
    plan_of(fault, 1)
}

#[tokio::test]
async fn an_honest_server_keeps_every_promise() {
    for uses in [1, 3] {
        let report = report(plan_of(Fault::None, uses)).await;
        assert!(report.kept(), "{:?}", report.promises);
        let totals = &report.totals;
        assert!(totals.issued > u64::from(CODES), "what came free was issued again: {totals:?}");
        let all = [totals.cancelled, totals.reserved, totals.redeemed, totals.rolled_back];
        assert!(all.iter().all(|count| *count > 0), "{totals:?}");
        assert!(totals.refused > 0 && totals.wrong > 0 && totals.repeats > 0, "{totals:?}");
        assert!(totals.waited > totals.offered && totals.offered > 1, "{totals:?}");
        assert!(report.results > 0 && report.answers.contains_key("sold_out"), "{report:?}");
    }
}

/// Each promise with the fault that breaks it.
const FAULTS: [(Fault, &str); 18] = [
    (Fault::SameCodeForTwo, "codes"),
    (Fault::IssuesNoCode, "codes"),
    (Fault::Gap, "ranks"),
    (Fault::ForgetsUses, "uses"),
    (Fault::MiscountsUses, "uses"),
    (Fault::OwnReservationRefuses, "reservations"),
    (Fault::ChangesRepeats, "repeats"),
    (Fault::LosesRedemption, "kept"),
    (Fault::InventsRedemption, "kept"),
    (Fault::LooksUpAnother, "kept"),
    (Fault::RefusesUnused, "refusals"),
    (Fault::AcceptsMadeUp, "wrong"),
    (Fault::AcceptsCancelled, "wrong"),
    (Fault::Miscounts, "counts"),
    (Fault::OffersToTheLast, "turns"),
    (Fault::SellsPastTheList, "turns"),
    (Fault::LedgerLacksOne, "ledger"),
    (Fault::LedgerDiffers, "ledger"),
];

#[tokio::test]
async fn every_fault_breaks_a_promise_and_is_seen() {
    every_fault_is_seen(&FAULTS, plan).await;
}

#[tokio::test]
async fn requests_that_were_cut_off_break_no_promise() {
    let mut plan = plan(Fault::None);
    plan.cut = 0.3;
    let report = report(plan).await;
    assert!(report.kept(), "{:?}", report.promises);
    assert!(report.again.get("cut").copied().unwrap_or(0) > 0, "{:?}", report.again);
}
