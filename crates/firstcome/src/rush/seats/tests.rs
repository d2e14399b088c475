#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "each lie is told in one place, and nowhere else"
)]
mod liar;

use super::*;
use liar::{LIMIT, Lie, SEATS};

async fn plan(lie: Lie) -> SeatsPlan {
    let address = liar::start(lie).await;
    let rows: Vec<String> = liar::names().collect();
    SeatsPlan {
        servers: vec![Server::parse(&address.to_string()).unwrap()],
        key: None,
        campaign: "gala".to_owned(),
        pool: "main".to_owned(),
        rows: rows.chunks(10).map(<[String]>::to_vec).collect(),
        limit: Some(LIMIT),
        hold: liar::HOLD,
        people: 120,
        per_second: Some(300.0),
        think: Duration::from_millis(10),
        shares: Shares { late: 0.2, greedy: 0.2, repeat: 0.5, ..Shares::default() },
        prefix: "guest-".to_owned(),
        connections: 16,
        seed: 1,
        patience: Duration::from_secs(30),
    }
}

async fn report(lie: Lie) -> SeatsReport {
    run(plan(lie).await, &mut |_| {}).await.expect("this server answers everything")
}

/// The names of the broken promises.
fn broken(report: &SeatsReport) -> Vec<&'static str> {
    report.promises.iter().filter(|promise| !promise.kept()).map(|promise| promise.name).collect()
}

#[tokio::test]
async fn an_honest_house_keeps_every_promise() {
    let report = report(Lie::None).await;
    assert!(report.kept(), "{:?}", report.promises);
    let count = |outcome: &str| report.answers.get(outcome).copied().unwrap_or(0);
    assert!(count("held") > 0 && count("confirmed") > 0, "{:?}", report.answers);
    assert!(count("unit_taken") > 0 && count("limit_reached") > 0, "{:?}", report.answers);
    assert!(report.results > 0 && report.results <= u64::from(SEATS) * 2, "{report:?}");
}

/// Each promise with the lie that breaks it.
const LIES: [(Lie, &str); 13] = [
    (Lie::ConfirmsForTwo, "seats"),
    (Lie::HoldsHalf, "baskets"),
    (Lie::ConfirmsHalf, "baskets"),
    (Lie::Gap, "ranks"),
    (Lie::LosesConfirmed, "kept"),
    (Lie::ChangesRepeats, "kept"),
    (Lie::NamesFree, "taken"),
    (Lie::NamesOthers, "taken"),
    (Lie::IgnoresLimit, "limits"),
    (Lie::RefusesLate, "late"),
    (Lie::EndsEarly, "late"),
    (Lie::ForgetsRefunds, "late"),
    (Lie::Miscounts, "counts"),
];

#[tokio::test]
async fn every_lie_is_seen() {
    let mut rushes = JoinSet::new();
    for (lie, promise) in LIES {
        rushes.spawn(async move { (lie, promise, report(lie).await) });
    }
    while let Some(ended) = rushes.join_next().await {
        let (lie, promise, report) = ended.unwrap();
        assert!(broken(&report).contains(&promise), "{lie:?}: {:?}", report.promises);
    }
}

#[tokio::test]
async fn requests_that_were_cut_off_cost_nobody_a_seat() {
    let mut plan = plan(Lie::None).await;
    plan.shares.cut = 0.3;
    let report = run(plan, &mut |_| {}).await.unwrap();
    assert!(report.kept(), "{:?}", report.promises);
    assert!(report.again.get("cut").copied().unwrap_or(0) > 0, "{:?}", report.again);
}

#[test]
fn a_report_says_every_promise_once() {
    let names: std::collections::BTreeSet<_> = LIES.iter().map(|(_, promise)| *promise).collect();
    assert_eq!(names.len(), checker::Promise::ALL.len(), "every promise has a lie against it");
}
