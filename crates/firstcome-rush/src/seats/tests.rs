#[expect(clippy::wildcard_enum_match_arm, reason = "each fault is in one place, and nowhere else")]
pub(super) mod faulty_server;

use std::ops::ControlFlow;

use super::*;
use crate::faulty_server::{broken, start_on};
use crate::people::tests::{every_fault_is_seen, report};
use faulty_server::{Fault, FaultyServer, HOLD, LIMIT};
use firstcome_client::Server;

fn plan(fault: Fault) -> Plan {
    let visit = Seats {
        rows: faulty_server::rows(8),
        limit: Some(LIMIT),
        hold: HOLD,
        all_pay_after: None,
        hall: None,
        shares: Shares { late: 0.2, greedy: 0.2, repeat: 0.5, ..Shares::default() },
    };
    people::tests::plan(FaultyServer::new(fault), visit)
}

#[tokio::test]
async fn an_honest_server_keeps_every_promise() {
    let report = report(plan(Fault::None)).await;
    assert!(report.kept(), "{:?}", report.promises);
    let count = |outcome: &str| report.answers.get(outcome).copied().unwrap_or(0);
    assert!(count("held") > 0 && count("confirmed") > 0, "{:?}", report.answers);
    assert!(count("unit_taken") > 0 && count("limit_reached") > 0, "{:?}", report.answers);
    assert!(report.results > 0 && report.results <= 160, "{report:?}");
}

/// Each promise with the fault that breaks it.
const FAULTS: [(Fault, &str); 15] = [
    (Fault::ConfirmsForTwo, "seats"),
    (Fault::HoldsHalf, "baskets"),
    (Fault::ConfirmsHalf, "baskets"),
    (Fault::Gap, "ranks"),
    (Fault::LosesConfirmed, "kept"),
    (Fault::ChangesRepeats, "kept"),
    (Fault::NamesFree, "taken"),
    (Fault::NamesOthers, "taken"),
    (Fault::IgnoresLimit, "limits"),
    (Fault::RefusesLate, "late"),
    (Fault::EndsEarly, "late"),
    (Fault::ForgetsRefunds, "late"),
    (Fault::KeepsExpired, "late"),
    (Fault::Miscounts, "counts"),
    (Fault::Mislays, "counts"),
];

#[tokio::test]
async fn every_fault_breaks_a_promise_and_is_seen() {
    every_fault_is_seen(&FAULTS, plan).await;
}

#[tokio::test]
async fn requests_that_were_cut_off_cost_nobody_a_seat() {
    let mut plan = plan(Fault::None);
    plan.cut = 0.3;
    let report = report(plan).await;
    assert!(report.kept(), "{:?}", report.promises);
    assert!(report.again.get("cut").copied().unwrap_or(0) > 0, "{:?}", report.again);
}

/// The owner of seats held them all the time, whether or not there was an answer.
#[tokio::test]
async fn a_hold_that_was_over_before_its_answer_is_no_fault() {
    let report = report(plan(Fault::AnswersLate)).await;
    assert!(report.kept(), "{:?}", report.promises);
    assert!(report.answers.get("hold_expired").copied().unwrap_or(0) > 0, "{:?}", report.answers);
    let taken = report.promises.iter().find(|promise| promise.name == "taken").unwrap();
    assert!(!taken.words.contains("nobody here can say"), "{taken:?}");
}

/// Whoever was about to pay when it ended held seats, and those named as taken were.
#[tokio::test]
async fn a_server_that_is_gone_for_good_breaks_no_promise() {
    for seed in 1..=3 {
        let mut plan = plan(Fault::GoesAway);
        (plan.patience, plan.seed) = (Duration::from_millis(300), seed);
        plan.think = Duration::from_millis(200);
        let ended = run(plan, &mut |_| ControlFlow::Continue(())).await;
        let ended = ended.map(|report| broken(&report.promises));
        assert!(matches!(ended, Err(LoadError::NoAnswer(_))), "{ended:?}");
    }
}

#[tokio::test]
async fn how_long_the_server_was_away_is_told() {
    let mut plan = plan(Fault::None);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    plan.servers = vec![Server::parse(&gone.to_string()).unwrap()];
    (plan.people, plan.connections) = (1, 1);
    let long = Duration::from_millis(100);
    let mut back = false;
    let mut look = |now: &Progress| {
        if now.outage.is_some_and(|outages| outages > long) && !back {
            back = true;
            let listener = std::net::TcpListener::bind(gone).unwrap();
            start_on(listener, FaultyServer::new(Fault::None));
        }
        ControlFlow::Continue(())
    };
    let report = run(plan, &mut look).await.unwrap();
    assert!(report.kept() && back, "{:?}", report.promises);
    assert!(report.outages.iter().any(|outages| *outages > long), "{report:?}");
}
