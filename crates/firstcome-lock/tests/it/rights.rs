//! What a user of Redis needs the right to: what the README lists, and nothing else.

use std::time::Duration;

use firstcome_lock::{Election, Error, Locks, RedisOptions};
use firstcome_store::StoreError;
use firstcome_testbed::{MariaDb, Nats, NatsRights, Postgres, RedisServer};

use crate::stage::{client_of, ms, take, until};

const README: &str = include_str!("../../README.md");
const POSTGRESQL: &str = include_str!("../../../../docs/reference/in-postgresql.md");
const MARIADB: &str = include_str!("../../../../docs/reference/in-mariadb.md");
const NATS: &str = include_str!("../../../../docs/reference/in-nats.md");
const SERVER: &str = include_str!("../../../../docs/reference/in-redis.md");

/// Returns what is written in backticks after `from` in the README, up to the next semicolon.
fn listed(from: &str) -> Vec<&'static str> {
    let (_, rest) = README.split_once(from).expect("the README has this paragraph");
    let part = rest.split(';').next().unwrap_or_default();
    part.split('`').skip(1).step_by(2).collect()
}

/// Returns the statements that a database's page has for a user who only takes locks.
fn documented(scheme: &str) -> Vec<&'static str> {
    let page = if scheme == "postgres" { POSTGRESQL } else { MARIADB };
    let block = page.split("```sql\n").find(|block| block.contains("locks_user"));
    let block = block.and_then(|block| block.split("```").next()).expect("the page has it");
    let (_, statements) = block.split_once('\n').expect("a comment, then statements");
    statements.split(';').map(str::trim).filter(|statement| !statement.is_empty()).collect()
}

/// The locks that the tests of every store take, which stand for a user's own.
const NAMES: [&str; 9] = ["x", "t", "mine", "y", "other", "chain", "job", "beat", "value"];

/// The words of a rule for a user with the listed rights, without some commands.
fn rule(name: &str, without: &[&str]) -> String {
    let mut words = vec![format!("ACL SETUSER {name} on >pw resetkeys resetchannels -@all")];
    words.extend(NAMES.map(|name| format!("~{name}")));
    let keys = listed("The user of the connection needs the keys");
    words.extend(keys.iter().map(|key| format!("~{key}")));
    words.extend(listed("the channels").iter().map(|channel| format!("&{channel}")));
    for command in listed("and the commands") {
        if !without.contains(&command) {
            words.push(format!("+{}", command.to_lowercase().replace(' ', "|")));
        }
    }
    words.join(" ")
}

fn with_rights(redis: &RedisServer, name: &str, without: &[&str]) -> String {
    let said = redis.ask(&rule(name, without));
    assert_eq!(said, "+OK", "{}", rule(name, without));
    format!("redis://{name}:pw@127.0.0.1:{}", redis.port())
}

/// Makes a user who has the documented rights and no other, and gives the URL.
pub(crate) fn limited_user(redis: &RedisServer) -> String {
    with_rights(redis, "limited", &[])
}

/// Makes the tables in a new database, then a role that has the documented grants and no other, and gives the URL for that.
pub(crate) async fn limited_role(url: &str, run: impl Fn(&str, &str)) -> String {
    Locks::connect(url).await.unwrap().close().await;
    let (scheme, rest) = url.split_once("://").unwrap();
    let (_, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let database = place.split('/').nth(1).unwrap().split('?').next().unwrap();
    let role = role_of(database);
    for statement in documented(scheme) {
        run(database, &statement.replace("locks_user", &role).replace("'PASSWORD'", "'pw'"));
    }
    format!("{scheme}://{role}:pw@{place}")
}

fn role_of(database: &str) -> String {
    format!("limited_{database}")
}

/// What the store says to who connects and lacks a right.
async fn refused(url: &str, what: &str) -> String {
    match Locks::connect(url).await {
        Err(Error::Store(StoreError::Denied { detail, .. })) => detail,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("one without {what} may connect"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_lacks_a_command_is_refused_when_it_connects() {
    let Some(redis) = RedisServer::start() else { return };
    let optional = ["PING", "INFO", "ROLE"];
    for command in listed("and the commands") {
        let url = with_rights(&redis, "ann", &[command]);
        if optional.contains(&command) {
            Locks::connect(&url).await.unwrap().close().await;
            continue;
        }
        let said = refused(&url, command).await;
        let alone = format!("this user has no right to {command}; ");
        assert!(said.starts_with(&alone) && said.contains("README"), "{command}: {said}");
    }
    let three = with_rights(&redis, "ann", &["COPY", "HDEL", "SUBSCRIBE"]);
    let said = refused(&three, "three commands").await;
    assert!(said.contains("no right to COPY, HDEL, SUBSCRIBE; "), "{said}");
    assert!(redis.ask("KEYS *").starts_with("*0"), "asking leaves nothing");
    assert_eq!(redis.calls_of("publish") + redis.calls_of("subscribe"), 0, "and says nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_lacks_keys_or_channels_is_refused_when_it_connects() {
    let Some(redis) = RedisServer::start() else { return };
    let rights = "ACL SETUSER ann on >pw +@all resetkeys resetchannels";
    let url = format!("redis://ann:pw@127.0.0.1:{}", redis.port());
    let asked = async |more: &str| {
        assert_eq!(redis.ask(&format!("{rights} {more}")), "+OK");
        refused(&url, more).await
    };
    let said = asked("~x ~fc:* &*").await;
    assert!(said.contains("no right to the keys redisson_*; "), "{said}");
    let said = asked("~* &fc:leader:*").await;
    let channels = "the channels redisson_lock__channel:*, the channels redisson_rwlock:*; ";
    assert!(said.contains(channels), "{said}");

    // One who is limited to some locks is told when it takes another.
    assert_eq!(
        redis.ask(&format!("{rights} ~x* ~fc:fence:{{x* ~redisson_unlock_latch:{{x* &*")),
        "+OK"
    );
    let ann = Locks::connect(&url).await.unwrap();
    take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
    let other = ann.mutex("other").unwrap().try_lock().await.unwrap_err();
    assert!(matches!(other, Error::Store(StoreError::Denied { .. })), "{other}");
}

/// What the page of the server's keys grants is enough for the lock of its leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_user_may_lock() {
    let Some(redis) = RedisServer::start() else { return };
    let rule = SERVER.lines().find(|line| line.starts_with("ACL SETUSER")).unwrap();
    assert_eq!(redis.ask(rule), "+OK");
    let url = format!("redis://firstcome:PASSWORD@127.0.0.1:{}", redis.port());
    let locks = Locks::connect(&url).await.unwrap();
    take(&locks.mutex("fc:{main}:leader").unwrap()).await.release().await.unwrap();
    locks.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_of_postgres_that_lacks_a_right_is_refused_when_it_connects() {
    let Some(server) = Postgres::shared() else { return };
    let run = |database: &str, statements: &str| drop(server.sql(database, statements));
    lacks_each(&server.new_database(), run, "", "in-postgresql.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_mariadb_that_lacks_a_right_is_refused_when_it_connects() {
    let Some(server) = MariaDb::shared() else { return };
    let run = |database: &str, statements: &str| {
        drop(server.sql(&format!("USE {database}; {statements}")));
    };
    lacks_each(&server.new_database(), run, " command denied", "in-mariadb.md").await;
}

async fn lacks_each(url: &str, run: impl Fn(&str, &str), more: &str, page: &str) {
    let limited = limited_role(url, &run).await;
    let database = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    let role = role_of(database);
    for table in ["firstcome_locks", "firstcome_permits"] {
        for verb in ["INSERT", "UPDATE", "DELETE"] {
            run(database, &format!("REVOKE {verb} ON {table} FROM {role}"));
            let said = refused(&limited, verb).await;
            assert!(said.contains(verb) && said.contains(table), "{said}");
            assert!(said.contains(more) && said.contains(page), "{said}");
            run(database, &format!("GRANT {verb} ON {table} TO {role}"));
        }
    }
    // One who has no right to permits at all has no use for them.
    run(
        database,
        &format!("REVOKE SELECT, INSERT, UPDATE, DELETE ON firstcome_permits FROM {role}"),
    );
    let locks = Locks::connect(&limited).await.unwrap();
    take(&locks.mutex("x").unwrap()).await.release().await.unwrap();
    locks.close().await;
}

/// The rights that the page of the subjects lists for locks; those to the streams of a space are of no use for them.
fn listed_for_nats() -> NatsRights {
    let mut rights = NatsRights::of_page(NATS, "main");
    rights.publish.retain(|right| right.contains("locks"));
    rights
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_nats_with_the_rights_of_the_page_may_lock_and_without_one_it_is_refused() {
    let full = listed_for_nats();
    let mut users = vec![("full".to_owned(), full.clone())];
    let less = |(number, (_, rest))| (format!("less{number}"), rest);
    users.extend(full.without_each().into_iter().enumerate().map(less));
    let Some(server) = Nats::with_users(&users) else { return };
    // The one with all rights makes the stream.
    let locks = Locks::connect(&server.url_of("full")).await.unwrap();
    take(&locks.mutex("x").unwrap()).await.release().await.unwrap();
    let election = Election::new(&locks, "job").unwrap();
    election.run(|term| async move { assert!(term.is_valid()) }).await.unwrap();
    assert_eq!(locks.held().await.unwrap().map(|held| held.len()), Some(0));
    for (number, (right, _)) in full.without_each().into_iter().enumerate() {
        let said = refused(&server.url_of(&format!("less{number}")), &right).await;
        let begin = right.split(['*', '>']).next().unwrap();
        assert!(said.contains(begin) && said.contains("in-nats.md"), "{right}: {said}");
    }
    locks.close().await;
}

/// Without a right that was taken away later the release is refused and says why; the client goes on, and works when it has
/// the right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_is_refused_leaves_a_client_that_works() {
    let Some(redis) = RedisServer::start() else { return };
    for missing in ["MULTI", "COPY", "HDEL", "PUBLISH"] {
        let url = with_rights(&redis, "ann", &[]);
        let ann = Locks::builder().connect(RedisOptions::new(&url)).await.unwrap();
        let bob = client_of(&redis).await;
        let lease = take(&ann.mutex("x").unwrap().lease(ms(20_000))).await;
        assert_eq!(redis.ask(&format!("ACL SETUSER ann -{}", missing.to_lowercase())), "+OK");
        let refused = tokio::time::timeout(Duration::from_secs(10), lease.release()).await.unwrap();
        let Err(Error::Store(StoreError::Denied { detail, .. })) = refused else {
            panic!("{missing}: {refused:?}");
        };
        assert!(detail.to_uppercase().contains(missing) || missing == "PUBLISH", "{detail}");
        bob.force_release("x").await.unwrap();
        limited_again(&redis, &ann).await;
    }
}

async fn limited_again(redis: &RedisServer, ann: &Locks) {
    with_rights(redis, "ann", &[]);
    until("it works again", async || {
        let lock = ann.mutex("x").unwrap();
        let Ok(Some(lease)) = lock.try_lock().await.map(firstcome_lock::TryLock::acquired) else {
            return false;
        };
        lease.release().await.is_ok()
    })
    .await;
}
