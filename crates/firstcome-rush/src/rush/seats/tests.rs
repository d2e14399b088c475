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
        slack: Duration::from_secs(1),
        alone: true,
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
const LIES: [(Lie, &str); 15] = [
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
    (Lie::KeepsExpired, "late"),
    (Lie::Miscounts, "counts"),
    (Lie::Mislays, "counts"),
];

#[tokio::test]
async fn every_lie_is_seen() {
    // Not all at once: they share one thread.
    for some in LIES.chunks(5) {
        let mut rushes = JoinSet::new();
        for (lie, promise) in some.iter().copied() {
            rushes.spawn(async move { (lie, promise, report(lie).await) });
        }
        while let Some(ended) = rushes.join_next().await {
            let (lie, promise, report) = ended.unwrap();
            assert!(broken(&report).contains(&promise), "{lie:?}: {:?}", report.promises);
        }
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

/// Who held seats all the time held them, whether or not anybody was told so.
#[tokio::test]
async fn a_hold_that_was_over_before_its_answer_makes_no_liar() {
    let report = report(Lie::AnswersLate).await;
    assert!(report.kept(), "{:?}", report.promises);
    assert!(report.answers.get("hold_expired").copied().unwrap_or(0) > 0, "{:?}", report.answers);
    let taken = report.promises.iter().find(|promise| promise.name == "taken").unwrap();
    assert!(!taken.words.contains("nobody here can say"), "{taken:?}");
}

/// Whoever was about to pay when it ended held seats, and those named as taken were.
#[tokio::test]
async fn a_server_that_is_gone_for_good_is_no_liar() {
    for seed in 1..=3 {
        let mut plan = plan(Lie::GoesAway).await;
        (plan.patience, plan.seed) = (Duration::from_millis(300), seed);
        plan.think = Duration::from_millis(200);
        let ended = run(plan, &mut |_| {}).await;
        let ended = ended.map(|report| broken(&report));
        assert!(matches!(ended, Err(RushError::NoAnswer(_))), "{ended:?}");
    }
}

#[tokio::test]
async fn how_long_the_server_was_away_is_told() {
    let mut plan = plan(Lie::None).await;
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    plan.servers = vec![Server::parse(&gone.to_string()).unwrap()];
    (plan.people, plan.connections) = (1, 1);
    let long = Duration::from_millis(100);
    let mut back = false;
    let mut look = |now: &SeatsProgress| {
        if now.away.is_some_and(|away| away > long) && !back {
            back = true;
            liar::start_on(std::net::TcpListener::bind(gone).unwrap(), Lie::None);
        }
    };
    let report = run(plan, &mut look).await.unwrap();
    assert!(report.kept() && back, "{:?}", report.promises);
    assert!(report.away.iter().any(|away| *away > long), "{report:?}");
}

#[test]
fn a_report_says_every_promise_once() {
    let names: std::collections::BTreeSet<_> = LIES.iter().map(|(_, promise)| *promise).collect();
    assert_eq!(names.len(), checker::Promise::ALL.len(), "every promise has a lie against it");
}
