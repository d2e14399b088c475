//! A ledger in a MariaDB that is cut off, killed, set otherwise, or somebody else's.

use super::*;
use firstcome_testbed::{Proxy, ProxyFault};

/// Settles claims up to a number from wherever the ledger stands, whatever happens on the way.
async fn settle_up_to(ledger: &Ledger, last: u64) {
    loop {
        let Ok(minted) = ledger.mint_term().await else { continue };
        let mut standing = minted;
        while standing.through < last {
            let next = (standing.through + 7).min(last);
            let rows = claims(standing.through + 1..=next);
            let batch = Batch { after: standing.through, term: minted.term, rows };
            match ledger.settle(batch).await {
                Ok(now) => standing = now,
                Err(_) => break,
            }
        }
        if standing.through >= last {
            return;
        }
    }
}

/// A space whose ledger one server reaches through a proxy, and another one directly.
struct Far {
    server: &'static MariaDb,
    proxy: Proxy,
    name: String,
}

impl Far {
    async fn new() -> Option<Self> {
        let server = MariaDb::shared()?;
        Some(Self { server, proxy: Proxy::start(server.port()).await, name: fresh_space() })
    }

    fn through(&self) -> Ledger {
        let url = self.server.url_through(self.proxy.port(), "information_schema");
        Ledger::mysql(&url, &self.name, SPACE).unwrap()
    }

    fn directly(&self) -> Ledger {
        Ledger::mysql(&url_of(self.server), &self.name, SPACE).unwrap()
    }

    fn numbers(&self) -> Vec<u64> {
        let sql = format!("SELECT number FROM firstcome_{}.results ORDER BY number", self.name);
        self.server.sql(&sql).lines().map(|line| line.parse().unwrap()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_the_connection_is_cut_each_row_is_there_once() {
    let Some(far) = Far::new().await else { return };
    let ledger = far.through();
    let mut last = 10;
    settle_up_to(&ledger, last).await;
    // A batch takes a handful of round trips: each of them is cut once, before it and after it.
    for number in 1..=8 {
        for before in [true, false] {
            let place = far.proxy.requests() + number;
            far.proxy.set(match before {
                true => ProxyFault::CutAtRequestNumber(place),
                false => ProxyFault::CutAtReplyToNumber(place),
            });
            // The piece that is cut does not count, so the next one would be cut as well.
            if let Ok(standing) = ledger.standing().await {
                let Standing { through, term } = standing;
                let rows = claims(through + 1..=through + 10);
                drop(ledger.settle(Batch { after: through, term, rows }).await);
            }
            far.proxy.set(ProxyFault::None);
            last += 20;
            settle_up_to(&ledger, last).await;
        }
    }
    assert_eq!(far.numbers(), (1..=last).collect::<Vec<_>>());
    assert_eq!(ledger.claim_counts("spring", "main").await.unwrap(), (last, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_unknown_and_through_says_what_became_of_it() {
    let Some(far) = Far::new().await else { return };
    let ledger = far.through();
    let term = ledger.mint_term().await.unwrap().term;
    let compared = far.proxy.requests();
    ledger.settle(Batch { after: 0, term, rows: claims(1..=3) }).await.unwrap();
    let trips = far.proxy.requests() - compared;
    far.proxy.set(ProxyFault::CutAtReplyToNumber(far.proxy.requests() + trips));
    let lost = ledger.settle(Batch { after: 3, term, rows: claims(4..=7) }).await.unwrap_err();
    assert!(matches!(lost, LedgerError::Unknown(_)), "{lost}");
    far.proxy.set(ProxyFault::None);
    assert_eq!(ledger.standing().await.unwrap(), Standing { through: 7, term });
    assert_eq!(far.numbers(), (1..=7).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_leaders_at_once_write_each_row_once() {
    let Some(far) = Far::new().await else { return };
    let tasks = [far.directly(), far.directly()]
        .map(|ledger| tokio::spawn(async move { settle_up_to(&ledger, 150).await }));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(far.numbers(), (1..=150).collect::<Vec<_>>());
}

/// A leader that stands still inside its transaction is ended by the server, and the next one gets on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stops_inside_its_transaction_holds_nobody_up() {
    let Some(far) = Far::new().await else { return };
    let (old, new) = (far.through(), far.directly());
    let term = old.mint_term().await.unwrap().term;
    old.settle(Batch { after: 0, term, rows: claims(1..=7) }).await.unwrap();
    // The comparison gets through and holds the row; nothing comes behind it.
    let before = far.proxy.requests();
    far.proxy.set(ProxyFault::StallReplies);
    let settling = tokio::spawn({
        let old = old.clone();
        async move { old.settle(Batch { after: 7, term, rows: claims(8..=14) }).await }
    });
    while far.proxy.requests() == before {
        tokio::task::yield_now().await;
    }
    let minted = loop {
        // The first try may be the one that gives up at the very moment the old transaction is ended.
        if let Ok(minted) = new.mint_term().await {
            break minted;
        }
    };
    assert_eq!(minted, Standing { through: 7, term: term + 1 }, "nothing of it counts");
    settle_up_to(&new, 30).await;
    far.proxy.set(ProxyFault::None);
    settling.await.unwrap().unwrap_err();
    let failure = old.settle(Batch { after: 7, term, rows: claims(8..=14) }).await.unwrap_err();
    assert_eq!(failure, LedgerError::OldTerm { ours: term, theirs: term + 2 });
    assert_eq!(far.numbers(), (1..=30).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_for_a_while_is_found_again() {
    let Some(mut server) = MariaDb::with(&["--innodb-flush-log-at-trx-commit=1"]) else { return };
    let ledger = Ledger::mysql(&url_of(&server), "main", SPACE).unwrap();
    settle_up_to(&ledger, 20).await;
    for round in 1..=2 {
        server.kill();
        let failure = ledger.mint_term().await.unwrap_err();
        assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
        assert!(failure.passes_by_itself());
        let failure = ledger.results(0, 10, None).await.unwrap_err();
        assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
        server.restart();
        settle_up_to(&ledger, 20 + round * 20).await;
        assert_eq!(ledger.results(0, 1000, None).await.unwrap(), claims(1..=20 + round * 20));
    }
    ledger.close().await;
    let failure = ledger.standing().await.unwrap_err();
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_something_else_are_left_alone_and_many_may_make_ours_at_once() {
    let Some(server) = MariaDb::shared() else { return };
    let name = fresh_space();
    let ledger = || Ledger::mysql(&url_of(server), &name, SPACE).unwrap();
    server.sql(&format!(
        "CREATE DATABASE firstcome_{name}; CREATE TABLE firstcome_{name}.results (a INT)"
    ));
    let failure = ledger().ready().await.unwrap_err();
    assert!(
        matches!(&failure, LedgerError::Broken(why) if why.contains("something else: results")),
        "{failure}"
    );
    server.sql(&format!("DROP TABLE firstcome_{name}.results"));
    let all: Vec<_> = (0..6)
        .map(|_| {
            let ledger = ledger();
            tokio::spawn(async move { ledger.ready().await })
        })
        .collect();
    for ready in all {
        ready.await.unwrap().unwrap();
    }
    let long = "x".repeat(55);
    let failure = Ledger::mysql(&url_of(server), &long, SPACE).unwrap_err();
    assert!(matches!(&failure, LedgerError::Broken(why) if why.contains("54 bytes")), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_compared_byte_by_byte() {
    let Some(stage) = Stage::mariadb().await else { return };
    let term = stage.ledger.mint_term().await.unwrap().term;
    let names = ["spring", "Spring", "spring ", "sprińg"];
    let rows = (1..).zip(names).map(|(number, name)| claim(number, name, 1, "ann")).collect();
    stage.settle(term, 0, rows).await.unwrap();
    for (number, name) in (1..).zip(names) {
        let found = stage.ledger.results(0, 10, Some(name)).await.unwrap();
        assert_eq!(found.iter().map(|row| row.number).collect::<Vec<_>>(), [number], "{name:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_batch_is_one_transaction_of_many_statements() {
    let Some(stage) = Stage::mariadb().await else { return };
    let term = stage.ledger.mint_term().await.unwrap().term;
    let long = "x".repeat(250);
    let rows: Vec<Row> =
        (1..=4_096).map(|n| claim(n, "spring", n as u32, &format!("{long}{n:05}"))).collect();
    let rows: Vec<Row> =
        rows.into_iter().map(|row| Row { reason: Some(long.as_str().into()), ..row }).collect();
    stage.settle(term, 0, rows.clone()).await.unwrap();
    assert_eq!(stage.ledger.results(4_000, 1_000, None).await.unwrap(), rows[4_000..]);
    let mut wrong = claims(4_097..=6_000);
    wrong.push(claim(6_001, "spring", 7, "eve"));
    let failure = stage.settle(term, 4_096, wrong).await.unwrap_err();
    assert!(matches!(failure, LedgerError::Differs { number: 6_001, .. }), "{failure}");
    assert_eq!(stage.numbers().len(), 4_096, "nothing of it was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_is_set_aside_is_readable_there() {
    use crate::ledger::choice::LedgerChoice;
    let Some(server) = MariaDb::shared() else { return };
    let name = fresh_space();
    let named: LedgerChoice = url_of(server).parse().unwrap();
    let ledger = Ledger::mysql(&url_of(server), &name, SPACE).unwrap();
    settle_up_to(&ledger, 20).await;
    ledger.close().await;
    let aside = crate::ledger::set_aside(&named, None, &name).await.unwrap();
    assert_eq!(aside.as_deref(), Some(&*format!("set_aside_1_firstcome_{name}")));
    let count = format!("SELECT COUNT(*) FROM {}.results_utc", aside.unwrap());
    assert_eq!(server.sql(&count), "20");
    assert_eq!(crate::ledger::set_aside(&named, None, &name).await.unwrap(), None);
    let anew = Ledger::mysql(&url_of(server), &name, SpaceId([8; 16])).unwrap();
    anew.ready().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_binary_log_results_are_written_and_triggers_may_be_left_out() {
    let Some(server) = MariaDb::with(&["--log-bin"]) else { return };
    server.sql("CREATE USER guest@'127.0.0.1' IDENTIFIED BY 'word'");
    server.sql("GRANT ALL ON `firstcome\\_%`.* TO guest@'127.0.0.1'");
    let url = url_of(&server).replace("firstcome:secret-of-the-tests", "guest:word");
    let ledger = Ledger::mysql(&url, "main", SPACE).unwrap();
    settle_up_to(&ledger, 20).await;
    assert_eq!(server.sql("SHOW TRIGGERS IN firstcome_main"), "");
    assert_eq!(ledger.results(0, 100, None).await.unwrap(), claims(1..=20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_has_its_sentence() {
    let Some(server) = MariaDb::shared() else { return };
    let refused = async |url: &str| {
        let ledger = Ledger::mysql(url, "main", SPACE).unwrap();
        ledger.ready().await.unwrap_err()
    };
    let url = url_of(server);
    let failure = refused(&url.replace("secret-of", "wrong")).await;
    assert!(matches!(&failure, LedgerError::Denied(why) if why.contains("Access denied")));
    let failure = refused(&url.replace("/information_schema", "/nothing")).await;
    assert!(matches!(&failure, LedgerError::Denied(_)), "{failure}");
    let nobody = firstcome_testbed::free_port();
    let failure = refused(&server.url_through(nobody, "information_schema")).await;
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
    let failure = Ledger::mysql("mysql://localhost/x", "main", SPACE).unwrap_err();
    assert!(matches!(failure, LedgerError::Denied(_)), "{failure}");
}
