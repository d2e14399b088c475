use super::means;
use crate::ms;
use firstcome_store::mysql::MySqlPool;
use firstcome_store::postgres::PostgresPool;
use firstcome_store::sqlite::Sqlite;
use firstcome_store::{Meaning, Passes, StoreError, mysql, postgres, sqlite};
use firstcome_testbed::{Folder, MariaDb, Postgres as Server, PostgresSettings};

fn postgres(url: &str) -> PostgresPool {
    PostgresPool::new(postgres::PostgresOptions::new(url).lock_within(ms(200))).unwrap()
}

fn mysql(url: &str) -> MySqlPool {
    MySqlPool::new(mysql::MySqlOptions::new(url)).unwrap()
}

#[tokio::test]
async fn a_postgres_that_is_set_read_only_takes_writes_once_it_no_longer_is() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    server.sql(name, "CREATE TABLE t (x int)");
    let insert = "INSERT INTO t VALUES (1)";
    postgres(&url).step(insert, &[]).await.unwrap();
    server
        .sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let failure = postgres(&url).step(insert, &[]).await.unwrap_err();
    means(&failure, Meaning::ReadOnly);
    assert!(matches!(failure, StoreError::ReadOnlySession { .. }), "{failure:?}");
    server.sql("postgres", &format!("ALTER DATABASE {name} RESET default_transaction_read_only"));
    postgres(&url).step(insert, &[]).await.unwrap();
}

#[tokio::test]
async fn a_postgres_whose_connections_are_all_in_use_is_not_ready() {
    let settings =
        PostgresSettings { more: vec!["max_connections=5".to_owned()], ..Default::default() };
    let Some(server) = Server::with(settings) else { return };
    let pools: Vec<_> = (0..5).map(|_| postgres(&server.url())).collect();
    for pool in &pools {
        // The connection by which the server was seen to be there may not be gone yet.
        until_served(pool).await;
    }
    let failure = postgres(&server.url()).step("SELECT 1", &[]).await.unwrap_err();
    means(&failure, Meaning::NotReady);
    assert!(matches!(failure, StoreError::Unreachable { .. }), "{failure:?}");
    pools[0].close().await;
    until_served(&postgres(&server.url())).await;
}

/// Asks until there is a connection: the server is not told at once that another one is gone.
async fn until_served(pool: &PostgresPool) {
    let mut tries = 0;
    while let Err(failure) = pool.step("SELECT 1", &[]).await {
        means(&failure, Meaning::NotReady);
        tries += 1;
        assert!(tries < 200, "{failure}");
        tokio::time::sleep(ms(20)).await;
    }
}

#[tokio::test]
async fn a_postgres_says_by_code_what_is_in_the_way() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    let (user, rest) = url.split_once('@').unwrap();
    let wrong = format!("{}:wrong@{rest}", user.rsplit_once(':').unwrap().0);
    let failure = postgres(&wrong).step("SELECT 1", &[]).await.unwrap_err();
    means(&failure, Meaning::NoAccess);
    assert!(matches!(&failure, StoreError::Denied { code, .. } if code == "28P01"), "{failure:?}");
    let away = url.replace('?', "_is_not_there?");
    means(&postgres(&away).step("SELECT 1", &[]).await.unwrap_err(), Meaning::NoDatabase);
    let one = postgres(&url);
    one.step("CREATE TABLE t (x int PRIMARY KEY)", &[]).await.unwrap();
    one.step("INSERT INTO t VALUES (1)", &[]).await.unwrap();
    let mut session = one.session().await.unwrap();
    let holds = session.begin(postgres::Access::Usual).await.unwrap();
    holds.batch("UPDATE t SET x = 1").await.unwrap();
    let failure = postgres(&url).step("UPDATE t SET x = 2", &[]).await.unwrap_err();
    means(&failure, Meaning::InUse);
    holds.roll_back().await;
    let failure = one.step("SELECT y FROM t", &[]).await.unwrap_err();
    assert!(
        matches!(&failure, StoreError::Statement { code, .. } if code == "42703"),
        "{failure:?}"
    );
    assert_eq!(failure.passes(), Passes::Never);
}

#[tokio::test]
async fn a_mariadb_says_by_number_what_is_in_the_way() {
    let Some(server) = MariaDb::with(&["--max-connections=10"]) else { return };
    let url = server.new_database();
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    // One who has no right to write where everybody only reads.
    server.sql(&format!(
        "CREATE TABLE {name}.t (x int); CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'pw'; \
         GRANT SELECT, INSERT ON {name}.* TO ann@'127.0.0.1'"
    ));
    let (_, place) = url.split_once('@').unwrap();
    let ann = mysql(&format!("mysql://ann:pw@{place}"));
    ann.step("INSERT INTO t VALUES (1)").await.unwrap();
    server.sql("SET GLOBAL read_only = 1");
    let failure = ann.step("INSERT INTO t VALUES (2)").await.unwrap_err();
    means(&failure, Meaning::ReadOnly);
    server.sql("SET GLOBAL read_only = 0");
    ann.step("INSERT INTO t VALUES (2)").await.unwrap();
    let failure = ann.step("DELETE FROM t").await.unwrap_err();
    assert!(matches!(&failure, StoreError::Denied { code, .. } if code == "1142"), "{failure:?}");
    let failure = mysql(&format!("mysql://ann:wrong@{place}")).step("SELECT 1").await.unwrap_err();
    assert!(matches!(&failure, StoreError::Denied { code, .. } if code == "1045"), "{failure:?}");
    means(&failure, Meaning::NoAccess);
    let failure = ann.step("SELECT y FROM t").await.unwrap_err();
    assert_eq!(failure.passes(), Passes::Never, "{failure:?}");
    // All connections: those of one who is no administrator, who has one more.
    let pools: Vec<_> = (0..10).map(|_| mysql(&format!("mysql://ann:pw@{place}"))).collect();
    let mut refused = None;
    for pool in &pools {
        if let Err(failure) = pool.step("SELECT 1").await {
            refused = Some(failure);
        }
    }
    let failure = refused.expect("one too many");
    means(&failure, Meaning::NotReady);
    assert!(matches!(failure, StoreError::Unreachable { .. }), "{failure:?}");
}

#[tokio::test]
async fn what_a_mariadb_cannot_read_as_a_table_is_just_made_is_read_again() {
    let Some(server) = MariaDb::with(&[]) else { return };
    let url = server.new_database();
    let (one, other) = (mysql(&url), mysql(&url));
    let made = async {
        tokio::time::sleep(ms(200)).await;
        other.step("CREATE TABLE t (x int); INSERT INTO t VALUES (7)").await.unwrap();
    };
    // The moment at which it reads is before the table was there.
    let (found, ()) = tokio::join!(one.snapshot("SELECT SLEEP(0.6); SELECT count(*) FROM t"), made);
    let count: i64 = mysql::cell(&found.unwrap()[1][0], 0).unwrap();
    assert_eq!(count, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_says_by_code_what_is_in_the_way() {
    let folder = Folder::new("codes");
    let file = folder.path().join("a.db");
    let open = |within| Sqlite::open(sqlite::SqliteOptions::new(&file).answer_within(ms(within)));
    let one = open(10_000).await.unwrap();
    one.write(|file| file.execute_batch("CREATE TABLE t (x)")).await.unwrap();
    let other = sqlite::rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let hasty = open(500).await.unwrap();
    let insert = "INSERT INTO t VALUES (1)";
    let failure = hasty.write(|file| file.execute(insert, [])).await.unwrap_err();
    means(&failure, Meaning::InUse);
    drop(hasty);
    other.execute_batch("ROLLBACK").unwrap();
    one.write(|file| file.execute(insert, [])).await.unwrap();
    one.read(|file| file.execute_batch("PRAGMA max_page_count = 2")).await.unwrap();
    let fill = "INSERT INTO t VALUES (zeroblob(100000))";
    let failure = one.write(move |file| file.execute(fill, [])).await.unwrap_err();
    means(&failure, Meaning::NoRoom);
    one.read(|file| file.execute_batch("PRAGMA max_page_count = 100000")).await.unwrap();
    one.write(move |file| file.execute(fill, [])).await.unwrap();
    one.read(|file| file.execute_batch("PRAGMA query_only = 1")).await.unwrap();
    let failure = one.write(move |file| file.execute(fill, [])).await.unwrap_err();
    assert!(
        matches!(&failure, StoreError::Denied { code, .. } if code == "SQLITE_READONLY"),
        "{failure:?}"
    );
    means(&failure, Meaning::NoAccess);
    let failure =
        open(10_000).await.unwrap().read(|file| file.execute_batch("SELECT y FROM t")).await;
    assert_eq!(failure.unwrap_err().passes(), Passes::Never);
    let nowhere = sqlite::SqliteOptions::new(folder.path().join("no").join("a.db"));
    means(&Sqlite::open(nowhere).await.unwrap_err(), Meaning::NoDatabase);
    let other = folder.path().join("text");
    std::fs::write(
        &other,
        "no database, but text that is long enough for a header, and some more, and more",
    )
    .unwrap();
    means(&Sqlite::open(sqlite::SqliteOptions::new(other)).await.unwrap_err(), Meaning::WrongKind);
}
