#[expect(clippy::wildcard_enum_match_arm, reason = "each fault is in one place, and nowhere else")]
mod faulty_server;

use super::*;
use crate::faulty_server::{broken, start};
use faulty_server::{Fault, FaultyServer};
use firstcome_client::Server;

const PLACES: u64 = 40;

fn plan(fault: Fault) -> Plan {
    let address = start(FaultyServer::new(fault, PLACES));
    Plan {
        servers: vec![Server::parse(&address.to_string()).unwrap()],
        key: None,
        campaign: "spring".to_owned(),
        pool: None,
        requests: 600,
        subjects: 120,
        prefix: "guest-".to_owned(),
        connections: 8,
        pace: Arc::new(Pace::new(Speed::Free)),
        repeat: 0.7,
        cut: 0.0,
        seed: 1,
        duration: None,
        patience: Duration::from_secs(30),
        tally: Arc::new(Tally::default()),
    }
}

async fn report(fault: Fault) -> Report {
    run(plan(fault), &mut ()).await.expect("this server answers everything")
}

#[tokio::test]
async fn an_honest_server_keeps_every_promise() {
    let report = report(Fault::None).await;
    assert!(report.kept(), "{:?}", report.violations);
    assert_eq!(
        (report.winners, report.places, report.counts.acknowledged),
        (PLACES, PLACES, PLACES)
    );
    assert_eq!(report.counts.answered, 600);
    assert_eq!(report.counts.of(Kind::Won), PLACES);
    assert!(report.counts.of(Kind::SoldOut) > 0 && report.counts.of(Kind::AlreadyWon) > 0);
    assert_eq!(report.first[0].rank, 1);
    assert_eq!(report.last.last().map(|line| line.rank), Some(PLACES));
    assert_eq!(report.latency.count(), 600);
}

#[tokio::test]
async fn refunds_and_moves_among_the_results_are_nobodys_rank() {
    let report = report(Fault::SellsSeatsToo).await;
    assert!(report.kept(), "{:?}", report.violations);
    assert_eq!((report.winners, report.results), (PLACES, 3 * PLACES));
}

#[tokio::test]
async fn a_rank_given_twice_is_seen() {
    let report = report(Fault::DuplicateRank).await;
    assert!(broken(&report.promises).contains(&"ranks"), "{:?}", report.violations);
    let evidence = report
        .violations
        .kept()
        .iter()
        .any(|b| matches!(b, Violation::DuplicateRank { rank: 4, .. }));
    assert!(evidence, "{:?}", report.violations);
}

#[tokio::test]
async fn a_gap_is_seen() {
    let report = report(Fault::Gap).await;
    assert_eq!(broken(&report.promises), ["ranks"], "{:?}", report.violations);
    let gap = Violation::Gap { pool: "main".to_owned(), after: 4, found: 6 };
    assert_eq!(report.violations.kept(), [gap]);
}

#[tokio::test]
async fn one_winner_too_many_is_seen() {
    let report = report(Fault::Oversells).await;
    assert_eq!(broken(&report.promises), ["places"], "{:?}", report.violations);
    assert_eq!(report.violations.kept()[0].to_string(), "pool main has 40 places and 41 winners");
}

#[tokio::test]
async fn a_repeat_answered_otherwise_is_seen() {
    let report = report(Fault::ChangesRepeats).await;
    assert_eq!(broken(&report.promises), ["repeats"], "{:?}", report.violations);
    assert!(matches!(report.violations.kept()[0], Violation::ChangedAnswer { .. }));
}

#[tokio::test]
async fn a_winner_told_sold_out_is_seen() {
    let report = report(Fault::RefusesWinners).await;
    assert_eq!(broken(&report.promises), ["repeats"], "{:?}", report.violations);
    assert!(matches!(report.violations.kept()[0], Violation::RefusedWinner { .. }));
}

#[tokio::test]
async fn an_acknowledged_claim_that_is_gone_is_seen() {
    let report = report(Fault::LosesAcknowledged).await;
    assert_eq!(broken(&report.promises), ["kept"], "{:?}", report.violations);
    assert!(report.violations.kept()[0].to_string().ends_with("which is not in the results"));
}

#[tokio::test]
async fn somebody_with_two_ranks_is_seen() {
    let report = report(Fault::ShowsTwice).await;
    assert!(broken(&report.promises).contains(&"once"), "{:?}", report.violations);
}

#[tokio::test]
async fn an_answer_meant_for_somebody_else_is_seen() {
    let report = report(Fault::AnswersForOthers).await;
    assert_eq!(broken(&report.promises), ["repeats"], "{:?}", report.violations);
    assert!(report.violations.kept()[0].to_string().contains("somebody-else"));
}

#[tokio::test]
async fn unknown_is_counted_apart_and_asked_again_until_answered() {
    let report = report(Fault::UnknownFirst).await;
    assert!(report.kept(), "{:?}", report.violations);
    assert_eq!(report.counts.unknown, PLACES);
    assert_eq!(report.counts.acknowledged, PLACES);
    // Each was told only when asked again.
    assert_eq!(report.counts.of(Kind::Won), 0);
}

#[tokio::test]
async fn cut_connections_cost_nobody_a_place() {
    let mut plan = plan(Fault::CutsAnswers);
    plan.cut = 0.2;
    let report = run(plan, &mut ()).await.unwrap();
    assert!(report.kept(), "{:?}", report.violations);
    assert_eq!(report.counts.acknowledged, PLACES);
    assert!(report.counts.cut > 0 && report.counts.broken > 0, "{:?}", report.counts);
    assert_eq!(report.counts.answered, 600);
}

#[tokio::test]
async fn requests_of_an_open_loop_are_due_at_even_times() {
    let mut plan = plan(Fault::None);
    plan.pace = Arc::new(Pace::new(Speed::PerSecond(20_000.0)));
    let report = run(plan, &mut ()).await.unwrap();
    assert!(report.kept(), "{:?}", report.violations);
    assert_eq!(report.latency.count(), 600);
}

#[tokio::test]
async fn the_next_server_is_asked_when_one_is_gone() {
    let mut plan = plan(Fault::None);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    plan.servers.insert(0, Server::parse(&gone.to_string()).unwrap());
    let report = run(plan, &mut ()).await.unwrap();
    assert!(report.kept(), "{:?}", report.violations);
    assert!(report.outages.is_empty());
}

#[tokio::test]
async fn the_same_seed_draws_the_same_sequence() {
    let plan = plan(Fault::None);
    let (mut one, mut two) = (Sequence::new(&plan), Sequence::new(&plan));
    let first: Vec<_> = std::iter::from_fn(|| one.next()).collect();
    let second: Vec<_> = std::iter::from_fn(|| two.next()).collect();
    assert_eq!(first, second);
    assert_eq!(first.len(), 600);
    let met: std::collections::BTreeSet<_> = first.iter().map(|turn| turn.subject).collect();
    assert_eq!(met.len(), 120, "everybody gets a turn");
}
