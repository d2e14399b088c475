//! Two nodes on a PostgreSQL: one order, one leader, one ledger, all in the same database, which crashes in between.

use crate::leading::{SECOND, is_settled, leads, until};
use crate::several::{Seat, agree, clock};
use firstcome_core::SpaceId;
use firstcome_journal::postgres::{DatabaseOptions, Durability, Postgres};
use firstcome_journal::{Clock, Journal};
use firstcome_lock::Locks;
use firstcome_node::Metrics;
use firstcome_node::leader::{Election, Leadership};
use firstcome_node::ledger::Ledger;
use firstcome_store::postgres::PostgresOptions;
use firstcome_testbed::{Postgres as Server, PostgresSettings};
use std::sync::Arc;

const SPACE: SpaceId = SpaceId([7; 16]);

/// A node with all that it has in a database.
struct Whole {
    seat: Seat,
    leader: Leadership,
    ledger: Ledger,
    locks: Locks,
}

async fn whole(url: &str, clock: &Clock, number: u64) -> Whole {
    let mut options = DatabaseOptions::new(SPACE, Durability::Fsync);
    options.clock = Some(clock.clone());
    let journal = Postgres::open(PostgresOptions::new(url), options).await.unwrap();
    let schema = journal.schema().to_owned();
    let mut drawn = number * 1_000_000;
    let seat = Seat::on(Journal::Postgres(journal), move || {
        drawn += 1;
        drawn
    });
    let seat = seat.await;
    let locks = firstcome_lock::PostgresOptions::new(url).schema(schema);
    let locks = Locks::builder().postgres(locks).await.unwrap();
    let election = firstcome_lock::Election::new(&locks, "leader").unwrap().lease(SECOND);
    let candidate = election.node(seat.node.id.to_string());
    let watch = candidate.watch().await.unwrap();
    let ledger = Ledger::postgres(url, "main", SPACE).unwrap();
    let metrics = Arc::new(Metrics::default());
    let leader = leads(&seat, ledger.clone(), Election::Among { candidate, watch }, &metrics);
    Whole { seat, leader, ledger, locks }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_order_leader_and_ledger_and_go_on_after_a_crash() {
    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let Some(mut server) = Server::with(settings) else { return };
    let (url, clock) = (server.url(), clock());
    let (one, two) = (whole(&url, &clock, 1).await, whole(&url, &clock, 2).await);
    until("one of them leads", || one.leader.leads() != two.leader.leads()).await;
    one.seat.opens("spring", 10).await;
    let mut ranks = Vec::new();
    for (number, who) in ["ann", "bob", "cem", "dan"].into_iter().enumerate() {
        let seat = if number % 2 == 0 { &two.seat } else { &one.seat };
        ranks.push(seat.claims(who).await);
    }
    assert_eq!(ranks, [1, 2, 3, 4]);
    assert_eq!(two.seat.claims("bob").await, 2, "who asks again at the other one");
    until("results are settled", || is_settled(&one.seat) && is_settled(&two.seat)).await;

    tokio::task::block_in_place(|| server.restart());
    let again = async |seat: &Seat, who: &str| {
        let end = std::time::Instant::now() + 30 * SECOND;
        loop {
            // Until it found the server again, whether it happened is not known: the same is asked again.
            match seat.tries(who, None).await {
                Ok(_) => return seat.claims(who).await,
                Err(failure) => assert!(std::time::Instant::now() < end, "{failure:?}"),
            }
        }
    };
    assert_eq!(again(&one.seat, "eve").await, 5);
    assert_eq!(again(&two.seat, "ann").await, 1, "it forgot nothing");
    until("one of them leads", || one.leader.leads() != two.leader.leads()).await;
    until("results are settled", || is_settled(&one.seat) && is_settled(&two.seat)).await;
    agree(&[&one.seat, &two.seat]).await;
    let count = "SELECT count(*), max(rank) FROM firstcome_main.claims";
    assert_eq!(server.sql("ledger", count), "5 | 5");

    // Who leads is told to stop, and the other one leads.
    let (first, second) = if one.leader.leads() { (one, two) } else { (two, one) };
    let Whole { leader, ledger, locks, .. } = first;
    leader.stop().await;
    until("the other one leads", || second.leader.leads()).await;
    second.leader.stop().await;
    for (ledger, locks) in [(ledger, locks), (second.ledger, second.locks)] {
        ledger.close().await;
        locks.close().await;
    }
}
