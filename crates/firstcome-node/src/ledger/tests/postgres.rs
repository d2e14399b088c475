//! What only a server, or the way to it, can do wrong.

use super::*;
use firstcome_testbed::{Certificates, PostgresSettings, Proxy, ProxyFault};
use std::time::Duration;

/// A ledger whose connection goes through a proxy.
struct Far {
    server: &'static Postgres,
    proxy: Proxy,
    name: String,
}

impl Far {
    async fn new() -> Option<Self> {
        let server = Postgres::shared()?;
        let proxy = Proxy::start(server.port()).await;
        Some(Self { server, proxy, name: fresh_space() })
    }

    async fn ledger(&self) -> Ledger {
        let url = self.server.url_through(self.proxy.port());
        let ledger = Ledger::postgres(&url, &self.name, SPACE).unwrap();
        ledger.ready().await.unwrap();
        ledger
    }

    /// A ledger of the same space that does not go through the proxy.
    async fn near(&self) -> Ledger {
        let ledger = Ledger::postgres(&self.server.url(), &self.name, SPACE).unwrap();
        ledger.ready().await.unwrap();
        ledger
    }

    fn numbers(&self) -> Vec<u64> {
        let sql = format!("SELECT number FROM firstcome_{}.results ORDER BY 1", self.name);
        self.server.sql("ledger", &sql).lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// Settles as the leader does until everything up to a number is there: a new term after each failure, and a look after
/// an answer that was lost.
async fn settle_up_to(ledger: &Ledger, last: u64) -> u32 {
    let mut failures = 0;
    for _ in 0..50 {
        let Ok(Standing { mut through, term }) = ledger.mint_term().await else {
            failures += 1;
            continue;
        };
        while through < last {
            let rows = claims(through + 1..=last.min(through + 7));
            let to = rows.last().unwrap().number;
            match ledger.settle(Batch { after: through, term, rows }).await {
                Ok(_) => through = to,
                Err(LedgerError::Unknown(_)) => match ledger.standing().await {
                    Ok(now) if now == (Standing { through: to, term }) => through = to,
                    _ => break,
                },
                Err(_) => break,
            }
        }
        if through >= last {
            return failures;
        }
        failures += 1;
    }
    panic!("it does not settle");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_cut_anywhere_leaves_each_row_once() {
    let Some(far) = Far::new().await else { return };
    let ledger = far.ledger().await;
    settle_up_to(&ledger, 7).await;
    let (mut last, mut heard) = (7, 0);
    // A transaction is BEGIN, the statements in one or several pieces, and COMMIT.
    for piece in 1..=8 {
        for cut in [ProxyFault::CutAtRequestNumber, ProxyFault::CutAtReplyToNumber] {
            let term = ledger.mint_term().await.unwrap().term;
            far.proxy.set(cut(far.proxy.requests() + piece));
            let rows = claims(last + 1..=last + 7);
            let settled = ledger.settle(Batch { after: last, term, rows }).await;
            far.proxy.set(ProxyFault::None);
            last += 7;
            if let Err(failure) = &settled {
                assert!(failure.passes_by_itself(), "{failure}");
                heard += 1;
            }
            settle_up_to(&ledger, last).await;
            assert_eq!(far.numbers(), (1..=last).collect::<Vec<_>>());
        }
    }
    assert!(heard >= 4, "the cuts were felt: {heard}");
}

/// The answer of every COMMIT is lost: what it was is looked up, and nothing is written twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_of_a_commit_is_unknown_and_looked_up() {
    let Some(far) = Far::new().await else { return };
    let ledger = far.ledger().await;
    let term = ledger.mint_term().await.unwrap().term;
    // The commit waits for a lock that the test holds, so that its answer can be kept back for sure.
    let hold = format!(
        "CREATE FUNCTION firstcome_{0}.wait() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON firstcome_{0}.results
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION firstcome_{0}.wait()",
        far.name
    );
    far.server.sql("ledger", &hold);
    let (holder, held) = hold_lock(far.server, 77).await;
    let settling = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.settle(Batch { after: 0, term, rows: claims(1..=7) }).await }
    });
    let waits =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted";
    while far.server.sql("ledger", waits) != "1" {}
    far.proxy.cut();
    let failure = settling.await.unwrap().unwrap_err();
    assert!(matches!(failure, LedgerError::Unknown(_)), "{failure}");
    // Looking waits until the commit whose answer was lost has ended, one way or the other.
    let looking = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.standing().await }
    });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'";
    while far.server.sql("ledger", waits) == "0" {}
    drop(holder);
    held.await.unwrap();
    assert_eq!(looking.await.unwrap().unwrap(), Standing { through: 7, term });
    assert_eq!(far.numbers(), (1..=7).collect::<Vec<_>>());
    settle_up_to(&ledger, 20).await;
    assert_eq!(far.numbers(), (1..=20).collect::<Vec<_>>());
}

/// Holds an advisory lock until the client that is given is dropped.
async fn hold_lock(
    server: &Postgres,
    key: i64,
) -> (tokio_postgres::Client, tokio::task::JoinHandle<()>) {
    let config: tokio_postgres::Config = server.url().parse().unwrap();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    let (client, connection) = config.connect_raw(stream, tokio_postgres::NoTls).await.unwrap();
    let held = tokio::spawn(async move { connection.await.unwrap() });
    client.batch_execute(&format!("SELECT pg_advisory_lock({key})")).await.unwrap();
    (client, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_leaders_at_once_write_each_row_once() {
    let Some(far) = Far::new().await else { return };
    let (one, other) = (far.ledger().await, far.near().await);
    let tasks =
        [one, other].map(|ledger| tokio::spawn(async move { settle_up_to(&ledger, 150).await }));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(far.numbers(), (1..=150).collect::<Vec<_>>());
}

/// A leader that stands still inside its transaction is ended by the server, and the next one gets on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stops_inside_its_transaction_holds_nobody_up() {
    let Some(far) = Far::new().await else { return };
    let (old, new) = (far.ledger().await, far.near().await);
    let term = old.mint_term().await.unwrap().term;
    old.settle(Batch { after: 0, term, rows: claims(1..=7) }).await.unwrap();
    // The rows get through, and the COMMIT behind them does not: the rows wait for a lock until the way is closed.
    let waiting = format!(
        "CREATE FUNCTION firstcome_{0}.wait() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN PERFORM pg_advisory_xact_lock(78); RETURN NULL; END';
         CREATE TRIGGER wait AFTER INSERT ON firstcome_{0}.results
         FOR EACH STATEMENT EXECUTE FUNCTION firstcome_{0}.wait()",
        far.name
    );
    far.server.sql("ledger", &waiting);
    let (holder, held) = hold_lock(far.server, 78).await;
    let settling = tokio::spawn({
        let old = old.clone();
        async move { old.settle(Batch { after: 7, term, rows: claims(8..=14) }).await }
    });
    let waits =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 78 AND NOT granted";
    while far.server.sql("ledger", waits) != "1" {}
    far.proxy.stall_existing();
    drop(holder);
    held.await.unwrap();
    let minted = loop {
        // The first try may be the one that gives up at the very moment the old transaction is ended.
        if let Ok(minted) = new.mint_term().await {
            break minted;
        }
    };
    assert_eq!(minted, Standing { through: 7, term: term + 1 }, "nothing of it counts");
    settle_up_to(&new, 30).await;
    far.proxy.let_go();
    // The COMMIT arrives where nobody is any more.
    let failure = settling.await.unwrap().unwrap_err();
    assert!(matches!(failure, LedgerError::Unknown(_)), "{failure}");
    let failure = old.settle(Batch { after: 7, term, rows: claims(8..=14) }).await.unwrap_err();
    assert_eq!(failure, LedgerError::OldTerm { ours: term, theirs: term + 2 });
    assert_eq!(far.numbers(), (1..=30).collect::<Vec<_>>());
}

/// The twin: a leader that does not compare writes what it likes, though another took over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twin_without_the_comparison_an_old_leader_leaves_a_gap() {
    let Some(far) = Far::new().await else { return };
    for careless in [false, true] {
        let name = fresh_space();
        let leader = || Ledger::postgres(&far.server.url(), &name, SPACE).unwrap();
        let (old, new) = (leader(), leader());
        let Ledger::Postgres(inside) = &old else { unreachable!() };
        inside.compare_nothing(careless);
        let term = old.mint_term().await.unwrap().term;
        settle_up_to(&new, 7).await;
        let late = old.settle(Batch { after: 10, term, rows: claims(11..=13) }).await;
        let sql = format!("SELECT max(number), count(*) FROM firstcome_{name}.results");
        let found = far.server.sql("ledger", &sql);
        if careless {
            assert_eq!(late.unwrap(), Standing { through: 13, term });
            assert_eq!(found, "13 | 10", "a gap, and the ledger says it has all up to 13");
        } else {
            let over = LedgerError::OldTerm { ours: term, theirs: term + 1 };
            assert_eq!(late.unwrap_err(), over);
            assert_eq!(found, "7 | 7");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_for_a_while_is_found_again() {
    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let Some(mut server) = Postgres::with(settings) else { return };
    let ledger = Ledger::postgres(&server.url(), "main", SPACE).unwrap();
    settle_up_to(&ledger, 20).await;
    for round in 1..=3 {
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
    // One that answers nothing at all, not even with an end.
    server.pause();
    let asking = ledger.results(0, 10, None);
    let waited = tokio::time::timeout(Duration::from_millis(200), asking).await;
    assert!(waited.is_err(), "a server that stands still answers nothing");
    server.resume();
    settle_up_to(&ledger, 100).await;
    ledger.close().await;
    let failure = ledger.standing().await.unwrap_err();
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_spaces_share_a_database_and_see_nothing_of_each_other() {
    let Some(one) = Stage::postgres().await else { return };
    let other = Stage::postgres().await.unwrap();
    for (stage, last) in [(&one, 5), (&other, 9)] {
        assert_eq!(stage.ledger.mint_term().await.unwrap(), Standing { through: 0, term: 1 });
        stage.settle(1, 0, claims(1..=last)).await.unwrap();
    }
    assert_eq!((one.numbers().len(), other.numbers().len()), (5, 9));
    assert_eq!(other.ledger.claim_counts("spring", "main").await.unwrap(), (9, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_something_else_are_left_alone() {
    let Some(server) = Postgres::shared() else { return };
    let name = fresh_space();
    let schema = format!("firstcome_{name}");
    server.sql("ledger", &format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.results (a int)"));
    let ledger = Ledger::postgres(&server.url(), &name, SPACE).unwrap();
    let failure = ledger.ready().await.unwrap_err();
    assert!(
        matches!(&failure, LedgerError::Broken(why) if why.contains("something else: results"))
    );
    // A schema that somebody made for us, empty, is fine; and so is making it at the same time as others do.
    server.sql("ledger", &format!("DROP TABLE {schema}.results"));
    let all = (0..6).map(|_| {
        let ledger = Ledger::postgres(&server.url(), &name, SPACE).unwrap();
        tokio::spawn(async move { ledger.ready().await })
    });
    for ready in all {
        ready.await.unwrap().unwrap();
    }
    let long = "x".repeat(54);
    let failure = Ledger::postgres(&server.url(), &long, SPACE).unwrap_err();
    assert!(matches!(&failure, LedgerError::Broken(why) if why.contains("53 bytes")), "{failure}");
}

/// What `ready` says of a URL, which must not be yes.
async fn refused(url: &str) -> LedgerError {
    Ledger::postgres(url, "main", SPACE).unwrap().ready().await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_has_its_sentence_and_its_advice() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url();
    let says = |failure: LedgerError, words: &[&str]| {
        let text = failure.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.contains("secret-of"), "{text}");
        failure
    };
    let failure = refused(&url.replace("secret-of", "wrong")).await;
    let failure = says(failure, &["password authentication failed", "check user and password"]);
    assert!(matches!(failure, LedgerError::Denied(_)) && !failure.passes_by_itself());
    let failure = refused(&url.replace("/ledger", "/nothing")).await;
    says(failure, &["database \"nothing\" does not exist", "CREATE DATABASE"]);
    let failure = refused(&url.replace("sslmode=disable", "sslmode=require")).await;
    says(failure, &["speaks no TLS", "sslmode=disable"]);
    server.sql("postgres", "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'");
    says(
        refused(&url.replace("/ledger", "/latin")).await,
        &["encoding is LATIN1", "ENCODING 'UTF8'"],
    );
    server.sql("postgres", "CREATE DATABASE calm");
    server.sql("postgres", "ALTER DATABASE calm SET default_transaction_read_only = on");
    let failure = refused(&url.replace("/ledger", "/calm")).await;
    let failure = says(failure, &["read-only", "default_transaction_read_only off"]);
    assert!(matches!(failure, LedgerError::ReadOnly(_)));
    server.sql("postgres", "CREATE USER guest PASSWORD 'secret-of-a-guest'");
    let guest = url.replace("firstcome:secret-of-the-tests", "guest:secret-of-a-guest");
    says(refused(&guest).await, &["permission denied for database", "rights"]);
    let failure = Ledger::postgres("postgres://localhost/x", "main", SPACE).unwrap_err();
    says(failure, &["no user", "write postgres://"]);
    let nobody = firstcome_testbed::free_port();
    let failure = refused(&server.url_through(nobody)).await;
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
}

/// A server of long ago, as far as its greeting goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_too_old_is_refused() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let old = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let length = stream.read_u32().await.unwrap();
        let mut startup = vec![0; length as usize - 4];
        stream.read_exact(&mut startup).await.unwrap();
        stream.write_all(b"R\0\0\0\x08\0\0\0\0").await.unwrap();
        stream.write_all(b"S\0\0\0\x1aserver_version\x009.6.24\0").await.unwrap();
        stream.write_all(b"Z\0\0\0\x05I").await.unwrap();
        // Until the other side has seen enough.
        drop(stream.read_u8().await);
    });
    let failure = refused(&format!("postgres://a:b@127.0.0.1:{port}/x")).await;
    let text = failure.to_string();
    assert!(text.contains("version 9.6.24") && text.contains("at least 12"), "{text}");
    assert!(matches!(failure, LedgerError::Denied(_)));
    old.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_spoken_and_the_certificate_is_checked() {
    let settings = PostgresSettings { tls: Some(Certificates::new()), ..Default::default() };
    let Some(server) = Postgres::with(settings) else { return };
    let authority = server.authority_file().unwrap();
    let url = server.url().replace("127.0.0.1", "localhost");
    let trusting = format!("sslmode=verify-full&sslrootcert={}", authority.display());
    let ledger =
        Ledger::postgres(&url.replace("sslmode=disable", &trusting), "main", SPACE).unwrap();
    settle_up_to(&ledger, 9).await;
    let secured = "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE ssl AND application_name = 'firstcome'";
    assert_eq!(server.sql("ledger", secured), "t");
    let failure = refused(&url.replace("sslmode=disable", "sslmode=require")).await;
    assert!(failure.to_string().contains("no TLS connection"), "{failure}");
}

/// Time-outs and isolation are ours, whatever the database is set to; a commit is always forced to the disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_is_set_to_changes_nothing() {
    let Some(server) = Postgres::shared() else { return };
    server.sql("postgres", "CREATE DATABASE odd");
    for setting in [
        "default_transaction_isolation = 'serializable'",
        "synchronous_commit = off",
        "search_path = nowhere",
        "TimeZone = 'Asia/Seoul'",
        "DateStyle = 'German'",
        "lock_timeout = 1",
        "statement_timeout = 1",
        "standard_conforming_strings = off",
    ] {
        server.sql("postgres", &format!("ALTER DATABASE odd SET {setting}"));
    }
    let url = server.url().replace("/ledger", "/odd");
    let ledger = Ledger::postgres(&url, "main", SPACE).unwrap();
    settle_up_to(&ledger, 40).await;
    assert_eq!(ledger.results(0, 100, None).await.unwrap(), claims(1..=40));
}
