//! What a user of Redis needs the right to: what the README lists, and nothing else.

use std::time::Duration;

use firstcome_lock::{Failure, Locks, Options};
use firstcome_store::Failure as Store;
use firstcome_testbed::Redis;

use crate::stage::{client_of, ms, take, until};

/// Gives what is written in backticks after `from` in the README, up to the next semicolon.
fn listed(from: &str) -> Vec<&'static str> {
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once(from).expect("the README has this paragraph");
    let part = rest.split(';').next().unwrap_or_default();
    part.split('`').skip(1).step_by(2).collect()
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

fn with_rights(redis: &Redis, name: &str, without: &[&str]) -> String {
    let said = redis.ask(&rule(name, without));
    assert_eq!(said, "+OK", "{}", rule(name, without));
    format!("redis://{name}:pw@127.0.0.1:{}", redis.port())
}

/// Makes a user who has the documented rights and no other, and gives the URL.
pub(crate) fn limited_user(redis: &Redis) -> String {
    with_rights(redis, "limited", &[])
}

/// Makes the tables in a new database, then a role that may only read and write them, and gives the URL for that.
pub(crate) async fn limited_role(url: &str, run: impl Fn(&str, &str)) -> String {
    Locks::connect(url).await.unwrap().close().await;
    let (scheme, rest) = url.split_once("://").unwrap();
    let (_, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let database = place.split('/').nth(1).unwrap().split('?').next().unwrap();
    let role = format!("limited_{database}");
    run(
        database,
        &match scheme {
            "postgres" => format!("CREATE ROLE {role} LOGIN PASSWORD 'pw'"),
            _ => format!("CREATE USER {role} IDENTIFIED BY 'pw'"),
        },
    );
    for table in ["firstcome_locks", "firstcome_guards", "firstcome_permits"] {
        run(database, &format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}"));
    }
    format!("{scheme}://{role}:pw@{place}")
}

/// Without a right that is needed the release is refused and says why; the client goes on, and works when it has the right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_is_refused_leaves_a_client_that_works() {
    let Some(redis) = Redis::start() else { return };
    for missing in ["MULTI", "COPY", "HDEL", "PUBLISH"] {
        let url = with_rights(&redis, "ann", &[missing]);
        let ann = Locks::builder().connect(Options::new(&url)).await.unwrap();
        let bob = client_of(&redis).await;
        let lease = take(&ann.lock("x").unwrap().lease(ms(20_000))).await;
        let refused = tokio::time::timeout(Duration::from_secs(10), lease.release()).await.unwrap();
        let Err(Failure::Store(Store::Denied { detail, .. })) = refused else {
            panic!("{missing}: {refused:?}");
        };
        assert!(detail.to_uppercase().contains(missing) || missing == "PUBLISH", "{detail}");
        bob.force_release("x").await.unwrap();
        limited_again(&redis, &ann).await;
    }
}

async fn limited_again(redis: &Redis, ann: &Locks) {
    with_rights(redis, "ann", &[]);
    until("it works again", async || {
        let lock = ann.lock("x").unwrap();
        let Ok(Some(lease)) = lock.try_lock().await.map(firstcome_lock::Tried::got) else {
            return false;
        };
        lease.release().await.is_ok()
    })
    .await;
}
