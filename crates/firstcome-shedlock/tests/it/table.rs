//! What can be in the way of a table: names, zones, isolation, somebody else's transaction.

use firstcome_shedlock::{
    Error, KeySpace, PostgresOptions, RedisOptions, ShedLock, Table, Unlocked,
};
use firstcome_testbed::{MariaDb, Postgres, RedisServer};

use crate::scene::{fresh, on, take, try_take, until_taken};
use crate::stage::{SECOND, ms, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_as_long_as_the_column() {
    let Some(server) = Postgres::shared() else { return };
    let ann = on(server, Table::default().name(fresh("names"))).await;
    // Characters, not bytes.
    for letter in ["x", "ä", "字", "😀"] {
        let longest = letter.repeat(64);
        take(&ann, &longest).await.unlock().await.unwrap();
        let refused = ann.lock(&format!("{longest}x"), SECOND, ms(0)).await.unwrap_err();
        assert!(refused.to_string().contains("65 characters"), "{refused}");
        assert!(refused.hint().unwrap().contains("1 to 64"));
    }
    assert!(matches!(ann.lock("a\0b", SECOND, ms(0)).await, Err(Error::Unfit { .. })));
    // A key has no column.
    let Some(redis) = RedisServer::start() else { return };
    let bob = ShedLock::redis(RedisOptions::new(redis.url()), KeySpace::default()).await.unwrap();
    take(&bob, &"x".repeat(4096)).await.unlock().await.unwrap();
    assert!(matches!(bob.lock(&"x".repeat(4097), SECOND, ms(0)).await, Err(Error::Unfit { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_cannot_be_are_named() {
    let Some(server) = Postgres::shared() else { return };
    for name in ["", ".", "a.", "a.b.c", "a b", "a;b", "\"a\"", "1a", "ä"] {
        let table = Table::default().name(name);
        let refused = ShedLock::postgres(PostgresOptions::new(server.url()), table).await;
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Unfit { .. }) && refused.hint().is_some(), "{name}");
    }
    for holder in ["".to_owned(), "x".repeat(201), "a\nb".to_owned()] {
        let table = Table::default().locked_by(&holder);
        let refused = ShedLock::postgres(PostgresOptions::new(server.url()), table).await;
        assert!(matches!(refused, Err(Error::Unfit { .. })), "{holder}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_not_there_is_named_and_can_be_made() {
    let Some(server) = Postgres::shared() else { return };
    let schema = fresh("jobs");
    server.sql("ledger", &format!("CREATE SCHEMA {schema}"));
    let name = format!("{schema}.shedlock");
    let table = Table::default().name(&name).locked_by("billing-3");
    let ann = ShedLock::postgres(PostgresOptions::new(server.url()), table).await.unwrap();
    let refused = ann.lock("x", SECOND, ms(0)).await.unwrap_err();
    assert!(matches!(refused, Error::NoTable { .. }) && refused.to_string().contains(&name));
    assert!(refused.hint().unwrap().contains("create_table"));
    ann.create_table().await.unwrap();
    ann.create_table().await.unwrap();
    let lock = take(&ann, "x").await;
    assert!(lock.locked_by().starts_with("billing-3:"));
    let row = format!("SELECT name, locked_by FROM {name}");
    assert_eq!(server.sql("ledger", &row), format!("x | {}", lock.locked_by()));
    // A row that was deleted by hand is made again, also by one who had seen it.
    server.sql("ledger", &format!("DELETE FROM {name}"));
    let next = take(&ann, "x").await;
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::AlreadyLost);
    next.unlock().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_may_make_the_table_at_once() {
    let Some(server) = Postgres::shared() else { return };
    for _ in 0..10 {
        let table = Table::default().name(fresh("made"));
        let mut makers = Vec::new();
        for _ in 0..4 {
            let options = PostgresOptions::new(server.url());
            let maker = ShedLock::postgres(options, table.clone()).await.unwrap();
            makers.push(tokio::spawn(async move { maker.create_table().await }));
        }
        for maker in makers {
            maker.await.unwrap().unwrap();
        }
    }
}

/// Sets something for every new session of a database of its own, and gives a URL that leads there.
fn database_with(server: &Postgres, settings: &[&str]) -> (String, String) {
    let name = fresh("zone");
    server.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
    for setting in settings {
        server.sql("postgres", &format!("ALTER DATABASE {name} SET {setting}"));
    }
    let url = server.url().replace("/ledger?", &format!("/{name}?"));
    (name, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_zone_of_a_session_changes_nothing() {
    let Some(server) = Postgres::shared() else { return };
    for client_time in [false, true] {
        for zone in ["Pacific/Kiritimati", "America/New_York", "Asia/Kolkata"] {
            let (name, url) = database_with(server, &[&format!("timezone TO '{zone}'")]);
            let mut table = Table::default();
            if client_time {
                table = table.client_time();
            }
            let there = ShedLock::postgres(PostgresOptions::new(url), table).await.unwrap();
            there.create_table().await.unwrap();
            let lock = there.lock("x", 600 * SECOND, ms(0)).await.unwrap().expect("it is free");
            // What stands there is UTC: ten minutes from now, whatever this session's zone.
            let left = "SELECT round(extract(epoch FROM lock_until - timezone('utc', now())) / 60) FROM shedlock";
            assert_eq!(server.sql(&name, left), "10");
            assert!(try_take(&there, "x").await.is_none());
            lock.unlock().await.unwrap();
            take(&there, "x").await.unlock().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_isolation_level_will_do() {
    let Some(server) = Postgres::shared() else { return };
    for level in ["serializable", "repeatable read"] {
        let setting = format!("default_transaction_isolation TO '{level}'");
        let (_, url) = database_with(server, &[&setting, "synchronous_commit TO off"]);
        let mut tasks = Vec::new();
        let inside = crate::stage::Inside::default();
        for _ in 0..4 {
            let options = PostgresOptions::new(&url);
            let client = ShedLock::postgres(options, Table::default()).await.unwrap();
            client.create_table().await.unwrap();
            let inside = inside.clone();
            tasks.push(tokio::spawn(async move {
                for _ in 0..25 {
                    let lock = until_taken(&client, "x").await;
                    inside.visit().await;
                    assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(inside.most(), 1);
    }
}

/// Somebody has the row in a transaction that stays open: the request ends in time, and takes nothing later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_waited_behind_a_transaction_takes_nothing_late() {
    let Some(server) = Postgres::shared() else { return };
    let name = fresh("behind");
    let bob = on(server, Table::default().name(&name)).await;
    take(&bob, "x").await.unlock().await.unwrap();
    let options = PostgresOptions::new(server.url()).lock_within(ms(200));
    let ann = ShedLock::postgres(options, Table::default().name(&name)).await.unwrap();
    let store =
        firstcome_store::postgres::PostgresPool::new(PostgresOptions::new(server.url())).unwrap();
    let mut session = store.session().await.unwrap();
    let work = session.begin(firstcome_store::postgres::Access::Usual).await.unwrap();
    work.batch(&format!("SELECT * FROM {name} FOR UPDATE")).await.unwrap();
    let refused = ann.lock("x", 3600 * SECOND, ms(0)).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Store(firstcome_store::StoreError::Held { .. })),
        "{refused}"
    );
    // One with more patience gets it when the way is free, unless it is worth nothing then.
    let (quick, patient) = (bob.clone(), bob.clone());
    let late = tokio::spawn(async move { quick.lock("x", ms(50), ms(0)).await });
    until("it waits", async || waiting(server, &name) == "1").await;
    tokio::time::sleep(ms(60)).await;
    let soon = tokio::spawn(async move { patient.lock("x", 3600 * SECOND, ms(0)).await });
    until("so does the other", async || waiting(server, &name) == "2").await;
    work.roll_back().await;
    let late = late.await.unwrap();
    assert!(matches!(late, Err(Error::Late) | Ok(None)), "{late:?}");
    // Whichever of the two came first: the other was refused, or found what was over.
    drop(soon.await.unwrap().unwrap());
    until_taken(&ann, "x").await.unlock().await.unwrap();
}

fn waiting(server: &Postgres, name: &str) -> String {
    let asked =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE";
    server.sql("ledger", &format!("{asked} '%INTO {name} AS held%' AND pid <> pg_backend_pid()"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_started_again_is_found_again() {
    let Some(mut server) = Postgres::start() else { return };
    let ann = on(&server, Table::default()).await;
    let lock = take(&ann, "x").await;
    let kept = take(&ann, "y").await;
    server.restart();
    assert!(until_answered(&ann, "y").await.is_none(), "what was taken is still taken");
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
    let kept = kept.extend(60 * SECOND, ms(0)).await.unwrap().expect("it is still ours");
    drop(kept);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_has_the_same_manners() {
    let Some(mut server) = MariaDb::start() else { return };
    let url = server.new_database();
    let ann = ShedLock::connect(&url).await.unwrap();
    let refused = ann.lock("x", SECOND, ms(0)).await.unwrap_err();
    assert!(matches!(refused, Error::NoTable { .. }), "{refused}");
    // By everybody at once, and as its documentation has it: the first column of its type may change by itself there.
    let makers: Vec<_> = (0..4).map(|_| ann.clone()).collect();
    let makers = makers.into_iter().map(|maker| async move { maker.create_table().await });
    for made in futures_util::future::join_all(makers).await {
        made.unwrap();
    }
    for letter in ["x", "ä"] {
        take(&ann, &letter.repeat(64)).await.unlock().await.unwrap();
    }
    // A request that is refused changes nothing in the row.
    let lock = take(&ann, "x").await;
    let (_, database) = url.rsplit_once('/').unwrap();
    let row = format!("SELECT * FROM {database}.shedlock WHERE name = 'x'");
    let before = server.sql(&row);
    assert!(before.contains(lock.locked_by()));
    assert!(try_take(&ann, "x").await.is_none());
    assert_eq!(server.sql(&row), before);
    server.restart();
    assert!(until_answered(&ann, "x").await.is_none(), "what was taken is still taken");
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
    take(&ann, "x").await.unlock().await.unwrap();
    // At most and at least of one length: giving it back changes nothing, and it was ours all the same.
    let lock = ann.lock("y", 3600 * SECOND, 3600 * SECOND).await.unwrap().expect("it is free");
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
}

/// Asks until there is an answer.
async fn until_answered(client: &ShedLock, name: &str) -> Option<firstcome_shedlock::SimpleLock> {
    for _ in 0..100 {
        match client.lock(name, 60 * SECOND, ms(0)).await {
            Ok(answer) => return answer,
            Err(_) => tokio::time::sleep(ms(20)).await,
        }
    }
    panic!("no answer");
}
