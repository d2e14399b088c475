//! Settings of a store that are turned down while a journal is open: nothing is stored that they do not keep any more.

use crate::postgres_opening::SCHEMA;
use crate::world::{Player, SPACE, all, patiently};
use crate::{mariadb_opening, postgres_opening};
use firstcome_journal::postgres::{DatabaseOptions, Durability};
use firstcome_journal::redis::{self, Redis};
use firstcome_journal::{Confirm, Journal, JournalError, Promise, WhenLessDurable};
use firstcome_store::RedisOptions;
use firstcome_testbed::{
    MariaDb, Postgres, PostgresSettings, Proxy, ProxyFault, RedisServer, RedisSettings,
};
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn fsync(options: &mut DatabaseOptions) {
    options.durability = Durability::Fsync;
}

fn warn(options: &mut DatabaseOptions) {
    fsync(options);
    options.when_less_durable = WhenLessDurable::Warn;
}

/// Appends what must be refused for the store's settings, which is told; nothing is stored.
async fn is_refused(journal: &Journal, words: &[&str]) {
    let before = all(journal, 0).await.len();
    let mut player = Player::new(b'r');
    player.apply(&all(journal, 0).await);
    for number in 0..5 {
        let append = player.next(&format!("refused-{number}"));
        let failure = journal.append(append).await.unwrap_err();
        let JournalError::LessDurable { what, fix } = &failure else { panic!("{failure:?}") };
        let said = format!("{what}; {fix}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(failure.with_cure().contains(fix), "{failure:?}");
    }
    assert_eq!(all(journal, 0).await.len(), before, "a refusal stores nothing");
    timeout(Duration::from_secs(1), journal.less_durable()).await.expect("it was told");
}

/// Appends a claim behind all there is.
async fn is_stored(journal: &Journal, letter: u8) {
    let mut player = Player::new(letter);
    let before = all(journal, 0).await;
    player.apply(&before);
    player.number = before.len() as u64;
    player.claims(journal, "ann").await.unwrap();
    assert_eq!(all(journal, 0).await.len(), before.len() + 1);
}

async fn promise(journal: &Journal) -> Promise {
    journal.look_at_promise().await.unwrap().unwrap()
}

/// Looks at what is promised: less than what was chosen, and whether commands are refused for it.
async fn promises_less(journal: &Journal, refuses: bool, name: &str) {
    let found = promise(journal).await;
    assert!(found.sentence.starts_with(name), "{found:?}");
    assert!(found.less.as_ref().is_some_and(|less| less.refuses == refuses), "{found:?}");
}

async fn promises_all(journal: &Journal, name: &str) {
    let found = promise(journal).await;
    assert!(found.sentence.starts_with(name) && found.less.is_none(), "{found:?}");
}

/// Changes a setting of a PostgreSQL, for every session that is there.
async fn set(server: &Postgres, name: &str, value: &str) {
    server.sql("postgres", &format!("ALTER SYSTEM SET {name} = {value}"));
    server.sql("postgres", "SELECT pg_reload_conf()");
    while server.sql("postgres", &format!("SHOW {name}")) != value.trim_matches('\'') {
        sleep(Duration::from_millis(5)).await;
    }
    // The others are told at the same time, and may hear it a moment later.
    sleep(Duration::from_millis(100)).await;
}

fn with_fsync() -> PostgresSettings {
    PostgresSettings { fsync: true, ..PostgresSettings::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_whose_fsync_is_turned_off_stores_nothing_until_it_is_on_again() {
    let Some(server) = Postgres::with(with_fsync()) else { return };
    let open = async |change: fn(&mut DatabaseOptions)| {
        postgres_opening::open(&server.url(), change).await.unwrap()
    };
    let journal = Journal::Postgres(open(fsync).await);
    let warned = Journal::Postgres(open(warn).await);
    let memory = Journal::Postgres(open(|_| {}).await);
    is_stored(&journal, b'a').await;
    promises_all(&journal, "fsync: ").await;
    for _ in 0..2 {
        set(&server, "fsync", "off").await;
        is_refused(&journal, &["fsync is off", "ALTER SYSTEM SET fsync = on", "`sync`"]).await;
        promises_less(&journal, true, "memory: ").await;
        is_stored(&warned, b'w').await;
        promises_less(&warned, false, "memory: ").await;
        is_stored(&memory, b'm').await;
        promises_all(&memory, "memory: ").await;
        set(&server, "fsync", "on").await;
        is_stored(&journal, b'a').await;
        promises_all(&journal, "fsync: ").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_postgresql_says_of_its_standbys_follows_and_refuses_nothing() {
    let Some(server) = Postgres::with(with_fsync()) else { return };
    let open = postgres_opening::open(&server.url(), fsync).await;
    let journal = Journal::Postgres(open.unwrap());
    is_stored(&journal, b'a').await;
    let alone = promise(&journal).await;
    set(&server, "synchronous_standby_names", "'ANY 1 (east)'").await;
    let waiting = promise(&journal).await;
    assert!(waiting.sentence.contains("ANY 1 (east)") && waiting.less.is_none(), "{waiting:?}");
    assert!(alone.warnings.len() > waiting.warnings.len(), "{alone:?}");
    set(&server, "synchronous_standby_names", "''").await;
    assert_eq!(promise(&journal).await, alone);
    is_stored(&journal, b'a').await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_in_postgresql_waits_for_the_disk_whatever_is_set_for_everybody_later() {
    let Some(server) = Postgres::with(with_fsync()) else { return };
    let open = postgres_opening::open(&server.url(), fsync).await;
    let journal = Journal::Postgres(open.unwrap());
    is_stored(&journal, b'a').await;
    let waits = format!(
        "CREATE FUNCTION {SCHEMA}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; \
         CREATE TABLE {SCHEMA}.noted (value text); \
         CREATE TRIGGER note AFTER INSERT ON {SCHEMA}.entries EXECUTE FUNCTION {SCHEMA}.note()"
    );
    server.sql("ledger", &waits);
    set(&server, "synchronous_commit", "off").await;
    for _ in 0..3 {
        is_stored(&journal, b'a').await;
    }
    let noted = server.sql("ledger", &format!("SELECT DISTINCT value FROM {SCHEMA}.noted"));
    assert_eq!(noted, "on");
    promises_all(&journal, "fsync: ").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_whose_settings_are_turned_down_stores_nothing_until_they_are_back() {
    let settings = ["--innodb-flush-log-at-trx-commit=1", "--log-bin", "--sync-binlog=1"];
    let Some(server) = MariaDb::with(&settings) else { return };
    let url = server.new_database();
    let open =
        async |change: fn(&mut DatabaseOptions)| mariadb_opening::open(&url, change).await.unwrap();
    let journal = Journal::MySql(open(fsync).await);
    let warned = Journal::MySql(open(warn).await);
    let memory = Journal::MySql(open(|_| {}).await);
    is_stored(&journal, b'a').await;
    promises_all(&journal, "fsync: ").await;
    for (setting, down) in [
        ("innodb_flush_log_at_trx_commit", 0),
        ("innodb_flush_log_at_trx_commit", 2),
        ("sync_binlog", 0),
    ] {
        server.sql(&format!("SET GLOBAL {setting} = {down}"));
        let fix = format!("SET GLOBAL {setting} = 1");
        is_refused(&journal, &[&format!("{setting} is not 1"), &fix]).await;
        promises_less(&journal, true, "memory: ").await;
        is_stored(&warned, b'w').await;
        promises_less(&warned, false, "memory: ").await;
        is_stored(&memory, b'm').await;
        server.sql(&fix);
        is_stored(&journal, b'a').await;
        promises_all(&journal, "fsync: ").await;
    }
    // One that became a replica takes nothing, also of a user who may write there.
    server.sql("SET GLOBAL read_only = 1");
    let mut player = Player::new(b'r');
    player.apply(&all(&journal, 0).await);
    for journal in [&journal, &warned, &memory] {
        let failure = journal.append(player.next("bob")).await.unwrap_err();
        crate::world::says(&failure, &["read-only replica", "address of the primary"]);
        journal.look_at_promise().await.unwrap_err();
    }
    server.sql("SET GLOBAL read_only = 0");
    is_stored(&journal, b'a').await;
}

fn syncing() -> RedisSettings {
    let more = ["--appendonly", "yes", "--appendfsync", "always"].map(str::to_owned).into();
    RedisSettings { more, ..RedisSettings::default() }
}

async fn open(
    port: u16,
    durability: redis::Durability,
    when_less_durable: WhenLessDurable,
) -> Journal {
    let options = redis::Options { when_less_durable, ..redis::Options::new(SPACE, durability) };
    let store = RedisOptions::new(format!("redis://127.0.0.1:{port}"));
    Journal::Redis(Redis::open(store, options).await.unwrap())
}

#[tokio::test]
async fn redis_whose_settings_are_turned_down_gets_nothing_after_the_next_look_until_they_are_back()
{
    let Some(server) = RedisServer::with(syncing()) else { return };
    let (port, durability) = (server.port(), redis::Durability::Fsync);
    let journal = open(port, durability, WhenLessDurable::Refuse).await;
    let warned = open(port, durability, WhenLessDurable::Warn).await;
    is_stored(&journal, b'a').await;
    promises_all(&journal, "fsync: ").await;
    for (down, fix) in [
        ("CONFIG SET appendfsync everysec", "CONFIG SET appendfsync always"),
        ("CONFIG SET appendfsync no", "CONFIG SET appendfsync always"),
        ("CONFIG SET no-appendfsync-on-rewrite yes", "CONFIG SET no-appendfsync-on-rewrite no"),
        ("CONFIG SET appendonly no", "CONFIG SET appendonly yes"),
        ("CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory-policy noeviction"),
    ] {
        assert_eq!(server.ask(down), "+OK");
        promises_less(&journal, true, "memory: ").await;
        is_refused(&journal, &[fix]).await;
        promises_less(&warned, false, "memory: ").await;
        is_stored(&warned, b'w').await;
        assert_eq!(server.ask(fix), "+OK", "the fix is a command that works");
        promises_all(&journal, "fsync: ").await;
        is_stored(&journal, b'a').await;
    }
    // What is in memory anyway needs no file, but it must stay there.
    let memory = open(port, redis::Durability::Memory, WhenLessDurable::Refuse).await;
    assert_eq!(server.ask("CONFIG SET appendonly no"), "+OK");
    promises_all(&memory, "memory: ").await;
    assert_eq!(server.ask("CONFIG SET maxmemory-policy allkeys-lru"), "+OK");
    promises_less(&memory, true, "memory: ").await;
    is_refused(&memory, &["allkeys-lru", "noeviction"]).await;
}

#[tokio::test]
async fn redis_that_does_not_tell_its_settings_any_more_is_not_believed() {
    let Some(server) = RedisServer::with(syncing()) else { return };
    let journal = open(server.port(), redis::Durability::Fsync, WhenLessDurable::Refuse).await;
    is_stored(&journal, b'a').await;
    assert_eq!(server.ask("ACL SETUSER default -config"), "+OK");
    promises_less(&journal, true, "memory: ").await;
    assert_eq!(server.ask("ACL SETUSER default +config"), "+OK");
    promises_all(&journal, "fsync: ").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_is_silent_or_another_one_is_asked_before_anything_is_appended() {
    let Some(server) = RedisServer::with(syncing()) else { return };
    let way = Proxy::start(server.port()).await;
    let journal = open(way.port(), redis::Durability::Fsync, WhenLessDurable::Refuse).await;
    is_stored(&journal, b'a').await;
    // Silence says nothing of its settings.
    way.set(ProxyFault::Refuse);
    journal.look_at_promise().await.unwrap_err();
    way.set(ProxyFault::None);
    patiently(async || journal.read(0).await).await.unwrap();
    is_stored(&journal, b'a').await;
    // Another server takes its place, which has the same entries and forces none to its disk.
    let settings = RedisSettings { replica_of: Some(server.port()), ..RedisSettings::default() };
    let second = RedisServer::with(settings).unwrap();
    crate::redis_failing::until(|| server.ask("INFO replication").contains("state=online")).await;
    crate::redis_failing::until(|| second.ask("EXISTS fc:{main}:head") == ":1").await;
    assert_eq!(second.ask("REPLICAOF NO ONE"), "+OK");
    way.lead_to(second.port());
    way.cut();
    let mut player = Player::new(b'r');
    player.apply(&patiently(async || journal.read(0).await).await.unwrap().entries);
    player.number = 9;
    let append = async || journal.append(player.again("bob")).await.map(drop);
    let failure = patiently(append).await.unwrap_err();
    let JournalError::LessDurable { fix, .. } = &failure else { panic!("{failure:?}") };
    assert_eq!(fix, "CONFIG SET appendonly yes");
}

#[tokio::test]
async fn copies_that_are_gone_are_named_and_each_entry_waits_for_them() {
    let Some(server) = RedisServer::start() else { return };
    let settings = RedisSettings { replica_of: Some(server.port()), ..RedisSettings::default() };
    let mut replica = RedisServer::with(settings).unwrap();
    let is_online = || server.ask("INFO replication").contains("state=online");
    crate::redis_failing::until(is_online).await;
    let journal = open(server.port(), redis::Durability::Copies(1), WhenLessDurable::Warn).await;
    promises_all(&journal, "copies=1: ").await;
    replica.kill();
    crate::redis_failing::until(|| !is_online()).await;
    promises_less(&journal, true, "copies=1: ").await;
    let mut player = Player::new(b'a');
    let answer = player.claims(&journal, "ann").await.unwrap();
    let Confirm::Later(confirmed) = answer.confirm else { panic!("nobody has a copy") };
    replica.restart();
    crate::redis_failing::until(is_online).await;
    confirmed.await.unwrap();
    promises_all(&journal, "copies=1: ").await;
}
