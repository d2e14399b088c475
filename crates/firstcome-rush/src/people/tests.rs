//! What the tests of all kinds of visits share: a plan, and every fault with the promise that it breaks.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use firstcome_client::Server;
use tokio::task::JoinSet;

use super::{Plan, Promises, Report, Visit, run};
use crate::faulty_server::{FaultyServer, broken, start};

/// Returns a plan of people who come to a server.
pub(crate) fn plan<V>(server: impl FaultyServer, visit: V) -> Plan<V> {
    Plan {
        servers: vec![Server::parse(&start(server).to_string()).unwrap()],
        key: None,
        campaign: "spring".to_owned(),
        pool: "main".to_owned(),
        visit,
        people: 120,
        per_second: Some(300.0),
        think: Duration::from_millis(10),
        cut: 0.0,
        prefix: "guest-".to_owned(),
        connections: 16,
        seed: 1,
        patience: Duration::from_secs(30),
        slack: Duration::from_secs(1),
        alone: true,
    }
}

/// Runs a plan whose server answers everything.
pub(crate) async fn report<V: Visit>(plan: Plan<V>) -> Report<V::Totals> {
    let report = run(plan, &mut |_| ControlFlow::Continue(())).await;
    report.expect("this server answers everything")
}

/// Every fault is seen, and every promise has one that breaks it.
pub(crate) async fn every_fault_is_seen<V: Visit, F: std::fmt::Debug + Copy + Send + 'static>(
    faults: &[(F, &'static str)],
    plan: fn(F) -> Plan<V>,
) where
    V::Totals: Send,
{
    let names: BTreeSet<_> = faults.iter().map(|(_, promise)| *promise).collect();
    let shown: BTreeSet<_> = V::Promised::SHOWN.iter().map(|promise| promise.name()).collect();
    assert_eq!(names, shown, "every promise has a fault against it");
    // Not all at once: they share one thread.
    for some in faults.chunks(5) {
        let mut rushes = JoinSet::new();
        for (fault, promise) in some.iter().copied() {
            rushes.spawn(async move { assert_seen(fault, promise, plan).await });
        }
        while let Some(ended) = rushes.join_next().await {
            ended.unwrap();
        }
    }
}

/// How many crowds a fault has to show itself: on a machine with other work, few people of one may come to meet it.
const CROWDS: u64 = 3;

async fn assert_seen<V: Visit, F: std::fmt::Debug + Copy>(
    fault: F,
    promise: &str,
    plan: fn(F) -> Plan<V>,
) {
    let mut last = None;
    for seed in 1..=CROWDS {
        let report = report(Plan { seed, ..plan(fault) }).await;
        if broken(&report.promises).contains(&promise) {
            return;
        }
        last = Some(report.promises);
    }
    panic!("{fault:?}: {last:?}");
}
