#[expect(clippy::wildcard_enum_match_arm, reason = "each fault is in one place, and nowhere else")]
mod faulty_server;

use super::*;
use faulty_server::{CODES, Fault};
use firstcome_client::Server;

async fn plan(fault: Fault, uses: u32) -> Plan {
    let address = faulty_server::start(fault, uses).await;
    Plan {
        servers: vec![Server::parse(&address.to_string()).unwrap()],
        key: None,
        campaign: "vouchers".to_owned(),
        pool: "main".to_owned(),
        uses,
        reservation: faulty_server::RESERVATION,
        people: 150,
        per_second: Some(300.0),
        think: Duration::from_millis(150),
        tries: 2,
        waits: Duration::from_secs(1),
        shares: Shares {
            cancel: 0.25,
            crowd: 0.4,
            repeat: 0.5,
            wrong: 0.2,
            wait: 0.4,
            let_go: 0.1,
            ..Shares::default()
        },
        prefix: "guest-".to_owned(),
        connections: 16,
        seed: 1,
        patience: Duration::from_secs(30),
        slack: Duration::from_secs(1),
        alone: true,
    }
}

async fn report(fault: Fault, uses: u32) -> Report {
    run(plan(fault, uses).await, &mut |_| ControlFlow::Continue(()))
        .await
        .expect("this server answers everything")
}

/// The names of the broken promises.
fn broken(report: &Report) -> Vec<&'static str> {
    report.promises.iter().filter(|promise| !promise.kept()).map(|promise| promise.name).collect()
}

#[tokio::test]
async fn an_honest_server_keeps_every_promise() {
    for uses in [1, 3] {
        let report = report(Fault::None, uses).await;
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
async fn every_fault_is_seen() {
    // Not all at once: they share one thread.
    for some in FAULTS.chunks(5) {
        let mut rushes = JoinSet::new();
        for (fault, promise) in some.iter().copied() {
            rushes.spawn(async move { (fault, promise, report(fault, 1).await) });
        }
        while let Some(ended) = rushes.join_next().await {
            let (fault, promise, report) = ended.unwrap();
            assert!(broken(&report).contains(&promise), "{fault:?}: {:?}", report.promises);
        }
    }
}

#[tokio::test]
async fn requests_that_were_cut_off_break_no_promise() {
    let mut plan = plan(Fault::None, 1).await;
    plan.shares.cut = 0.3;
    let report = run(plan, &mut |_| ControlFlow::Continue(())).await.unwrap();
    assert!(report.kept(), "{:?}", report.promises);
    assert!(report.again.get("cut").copied().unwrap_or(0) > 0, "{:?}", report.again);
}

#[test]
fn a_report_says_every_promise_once() {
    let names: std::collections::BTreeSet<_> = FAULTS.iter().map(|(_, promise)| *promise).collect();
    assert_eq!(names.len(), Promised::ALL.len(), "every promise has a fault against it");
}
