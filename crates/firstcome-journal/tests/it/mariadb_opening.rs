//! Which MariaDB holds a journal, and what is in it then.

use crate::world::{MINUTE, Player, SPACE, all, install, name_of_database, says};
use firstcome_core::names::SpaceId;
use firstcome_journal::mysql::{DatabaseOptions, Durability, MySql};
use firstcome_journal::{Journal, JournalError};
use firstcome_store::mysql::MySqlOptions;
use firstcome_testbed::MariaDb as Server;

/// What the names of the tables of the tests begin with.
pub(crate) const PREFIX: &str = "fc_journal_main_";

/// A journal in a database of its own, by the clock of the server, and how it was opened.
pub(crate) struct Own {
    pub(crate) server: &'static Server,
    pub(crate) url: String,
    pub(crate) journal: Journal,
}

impl Own {
    pub(crate) async fn start() -> Option<Self> {
        let server = Server::shared()?;
        let url = server.new_database();
        let journal = Journal::MySql(open(&url, |_| {}).await.unwrap());
        Some(Self { server, url, journal })
    }

    /// Runs statements in the database, in which `~` stands before the names of the tables.
    pub(crate) fn sql(&self, statements: &str) -> String {
        self.try_sql(statements).unwrap_or_else(|said| panic!("{statements}: {said}"))
    }

    pub(crate) fn try_sql(&self, statements: &str) -> Result<String, String> {
        let name = name_of_database(&self.url);
        self.server.try_sql(&format!("USE {name}; {}", statements.replace('~', PREFIX)))
    }
}

pub(crate) async fn open(
    url: &str,
    change: impl FnOnce(&mut DatabaseOptions),
) -> Result<MySql, JournalError> {
    let mut options = DatabaseOptions::new(SPACE, Durability::Memory);
    change(&mut options);
    MySql::open(MySqlOptions::new(url), options).await
}

fn fsync(options: &mut DatabaseOptions) {
    options.durability = Durability::Fsync;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_is_made_once_and_is_that_of_whoever_came_first() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=8 {
        let url = url.clone();
        tasks.spawn(async move {
            open(&url, |options| options.fresh = SpaceId([number; 16])).await.unwrap().space()
        });
    }
    let spaces = tasks.join_all().await;
    assert!(spaces.iter().all(|space| *space == spaces[0]), "{spaces:?}");
    let other = SpaceId([99; 16]);
    let failure = open(&url, |options| options.wanted = Some(other)).await.unwrap_err();
    assert!(
        matches!(failure, JournalError::OtherSpace { wanted, .. } if wanted == other),
        "{failure}"
    );
    open(&url, |options| options.wanted = Some(spaces[0])).await.unwrap();
    // Another space of the same database is another journal.
    let second = open(&url, |options| options.space_name = "second".to_owned()).await.unwrap();
    assert_eq!(second.space(), SPACE);
    let long = "x".repeat(44);
    says(&open(&url, |options| options.space_name = long).await.unwrap_err(), &["at most 43"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_somebody_knows_is_not_made_again() {
    let Some(own) = Own::start().await else { return };
    let wanted = |options: &mut DatabaseOptions| options.wanted = Some(SPACE);
    own.sql("TRUNCATE `~head`");
    let failure = open(&own.url, wanted).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let failure = own.journal.append(Player::new(b'a').next("ann")).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let tables = ["head", "entries", "manifests", "pieces", "cells", "run"];
    own.sql(&format!("DROP TABLE {}", tables.map(|table| format!("`~{table}`")).join(", ")));
    let failure = open(&own.url, wanted).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    for failure in [
        own.journal.append(Player::new(b'a').next("ann")).await.unwrap_err(),
        own.journal.read(0).await.unwrap_err(),
        own.journal.head().await.unwrap_err(),
        own.journal.mint_term().await.unwrap_err(),
    ] {
        assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    }
    assert_eq!(own.sql("SHOW TABLES"), "", "looking makes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_a_newer_build_and_newer_levels_are_refused() {
    let Some(own) = Own::start().await else { return };
    own.sql("UPDATE `~head` SET level = 99");
    let failure = open(&own.url, |_| {}).await.unwrap_err();
    assert!(matches!(failure, JournalError::TooNew(99)), "{failure}");
    own.sql("UPDATE `~head` SET level = 1, tables = 2");
    says(&open(&own.url, |_| {}).await.unwrap_err(), &["version 2", "version 1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_forced_to_the_disk_is_memory_and_never_durable() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    // The servers of the tests run with innodb_flush_log_at_trx_commit = 2.
    says(&open(&url, fsync).await.unwrap_err(), &["trx_commit is not 1", "--durability memory"]);
    let memory = open(&url, |_| {}).await.unwrap();
    assert!(memory.promise().starts_with("memory: "), "{}", memory.promise());
    assert!(memory.warnings().iter().any(|warning| warning.what.contains("not be on its disk")));

    let forced = "--innodb-flush-log-at-trx-commit=1";
    let Some(server) = Server::with(&[forced, "--log-bin", "--sync-binlog=0"]) else { return };
    let url = server.new_database();
    says(&open(&url, fsync).await.unwrap_err(), &["sync_binlog is not 1"]);
    server.sql("SET GLOBAL sync_binlog = 1");
    let durable = open(&url, fsync).await.unwrap();
    assert!(durable.promise().starts_with("fsync: "), "{}", durable.promise());
    assert!(durable.warnings().is_empty());
    // With a binary log it stores, too.
    let journal = Journal::MySql(durable);
    Player::new(b'a').claims(&journal, "ann").await.unwrap();
    server.sql("SET GLOBAL binlog_format = STATEMENT");
    says(&open(&url, |_| {}).await.unwrap_err(), &["binlog_format is STATEMENT"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_refused_by_name() {
    let Some(server) = Server::with(&[]) else { return };
    let url = server.new_database();
    // Whoever may set it may write all the same, so nothing but the look notices.
    server.sql("SET GLOBAL read_only = 1");
    says(&open(&url, |_| {}).await.unwrap_err(), &["read-only replica", "primary"]);
    let (_, name) = url.rsplit_once('/').unwrap();
    assert_eq!(server.sql(&format!("SHOW TABLES IN {name}")), "", "nothing was made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_rights_is_told_and_one_with_those_of_the_page_is_enough() {
    let Some(own) = Own::start().await else { return };
    let name = name_of_database(&own.url);
    let user = format!("clerk_{name}");
    own.sql(&format!("CREATE USER {user}@'127.0.0.1' IDENTIFIED BY 'word'"));
    own.sql(&format!("GRANT SELECT ON {name}.* TO {user}@'127.0.0.1'"));
    let url = own.url.replace("firstcome:secret-of-the-tests", &format!("{user}:word"));
    let elsewhere = |options: &mut DatabaseOptions| options.space_name = "other".to_owned();
    says(&open(&url, elsewhere).await.unwrap_err(), &["denied", "in-mariadb.md"]);
    // What the page tells an administrator to run.
    let page = include_str!("../../../../docs/reference/in-mariadb.md");
    let grant = page.split("```sql\n").find(|block| block.contains("ON DATABASE.*"));
    let grant = grant.unwrap().split("```").next().unwrap();
    own.sql(
        &grant
            .replace("DATABASE.*", &format!("{name}.*"))
            .replace("USER", &format!("{user}@'127.0.0.1'")),
    );
    open(&url, elsewhere).await.unwrap();
    let journal = Journal::MySql(open(&url, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    for _ in 0..3 {
        ann.claims(&journal, "ann").await.unwrap();
    }
    let term = journal.mint_term().await.unwrap();
    install(&journal, 2, vec![2], Vec::new(), term).await.unwrap();
    install(&journal, 3, vec![3], Vec::new(), term).await.unwrap();
    assert_eq!(journal.trim(term).await.unwrap(), 1);
    own.sql(&format!("UPDATE `~entries` SET at = at - {}", 20 * MINUTE));
    assert_eq!(journal.trim(term).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_the_server_do_not_reach_the_journal() {
    let settings = [
        "--default-time-zone=+09:00",
        "--transaction-isolation=SERIALIZABLE",
        "--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT",
        "--character-set-server=latin1",
        "--autocommit=0",
        "--sysdate-is-now",
    ];
    let Some(server) = Server::with(&settings) else { return };
    let url = server.new_database();
    let journal = Journal::MySql(open(&url, |_| {}).await.unwrap());
    let others = vec![journal.clone(), Journal::MySql(open(&url, |_| {}).await.unwrap())];
    let mut writers = tokio::task::JoinSet::new();
    for (letter, journal) in (b'a'..).zip(others) {
        writers.spawn(async move {
            let mut player = Player::new(letter);
            for _ in 0..50 {
                player.claims(&journal, "someone").await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let entries = all(&journal, 0).await;
    assert_eq!(entries.len(), 100);
    assert!(entries.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let off = now.as_micros() as i64 - entries[99].at.as_micros();
    assert!((0..MINUTE).contains(&off), "{off} µs off: a time of another zone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_and_column_is_on_the_page() {
    let Some(own) = Own::start().await else { return };
    let page = include_str!("../../../../docs/reference/in-mariadb.md");
    let sql = format!(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '{}' ORDER BY 1, 2",
        name_of_database(&own.url)
    );
    let columns = own.sql(&sql);
    assert!(columns.lines().count() > 20, "{columns}");
    for line in columns.lines() {
        let (table, column) = line.split_once('\t').unwrap();
        let table = table.strip_prefix(PREFIX).unwrap();
        let section = page.split(&format!("### `…_{table}`")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{table} is not on the page"));
        let section = section.split("\n#").next().unwrap();
        assert!(section.contains(&format!("`{column}`")), "{table}.{column} is not on the page");
    }
}
