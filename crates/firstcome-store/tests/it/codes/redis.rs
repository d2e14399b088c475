use super::means;
use crate::ms;
use firstcome_store::{Command, Meaning, Passes, Redis, RedisOptions, Script, StoreError};
use firstcome_testbed::{RedisServer as Server, RedisSettings, free_port};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static WRITES: LazyLock<Script> =
    LazyLock::new(|| Script::new("return redis.call('SET', KEYS[1], ARGV[1])"));

fn set() -> Command {
    Command::new("SET").arg("k").arg("v")
}

async fn client(server: &Server) -> Redis {
    Redis::connect(RedisOptions::new(server.url()).answer_within(ms(5_000))).await.unwrap()
}

fn with(more: &[&str]) -> Option<Server> {
    let more = more.iter().map(|word| (*word).to_owned()).collect();
    Server::with(RedisSettings { more, ..RedisSettings::default() })
}

/// Says that both a command and one inside a script are refused with a code of this meaning.
async fn refuses(redis: &Redis, code: &str, meaning: Meaning) {
    for command in [set(), Command::script(&WRITES, &["k"]).arg("v")] {
        let failure = redis.send(&command).await.unwrap_err();
        means(&failure, meaning);
        assert!(
            matches!(&failure, StoreError::Refused { code: said, detail } if said == code && detail.starts_with(code)),
            "{failure:?}"
        );
    }
}

async fn accepts(redis: &Redis) {
    redis.send(&set()).await.unwrap();
    redis.send(&Command::script(&WRITES, &["k"]).arg("v")).await.unwrap();
}

#[tokio::test]
async fn a_server_that_cannot_save_says_misconf_until_it_can() {
    let Some(server) = Server::start() else { return };
    let redis = client(&server).await;
    server.fail_saving();
    refuses(&redis, "MISCONF", Meaning::NotReady).await;
    server.mend_saving();
    accepts(&redis).await;
}

#[tokio::test]
async fn a_server_without_memory_says_oom_until_it_has_some() {
    let Some(server) = Server::start() else { return };
    let redis = client(&server).await;
    assert_eq!(server.ask("CONFIG SET maxmemory 1"), "+OK");
    refuses(&redis, "OOM", Meaning::NoRoom).await;
    let refused = redis.send(&set()).await.unwrap_err();
    assert!(refused.hint().is_some_and(|hint| hint.contains("maxmemory")));
    // Sent together, the server's own word is heard too, not only that it did nothing.
    let failure = redis.send_together(vec![set(), set()]).await.unwrap_err();
    means(&failure, Meaning::NoRoom);
    assert_eq!(server.ask("CONFIG SET maxmemory 0"), "+OK");
    accepts(&redis).await;
}

#[tokio::test]
async fn a_right_that_is_taken_away_is_denied_until_it_is_given_back() {
    let Some(server) = Server::start() else { return };
    let redis = client(&server).await;
    assert_eq!(server.ask("ACL SETUSER default -set"), "+OK");
    for command in [set(), Command::script(&WRITES, &["k"]).arg("v")] {
        let failure = redis.send(&command).await.unwrap_err();
        means(&failure, Meaning::NoAccess);
        assert_eq!(failure.passes(), Passes::OnceMended);
        assert!(
            matches!(&failure, StoreError::Denied { code, .. } if code == "NOPERM"),
            "{failure:?}"
        );
    }
    assert_eq!(server.ask("ACL SETUSER default +set"), "+OK");
    accepts(&redis).await;
}

#[tokio::test]
async fn without_a_password_or_with_a_wrong_one_it_is_denied() {
    let settings = RedisSettings { password: Some("right".to_owned()), ..RedisSettings::default() };
    let Some(server) = Server::with(settings) else { return };
    for (password, wanted) in [("", "NOAUTH"), (":wrong@", "")] {
        let url = format!("redis://{password}127.0.0.1:{}", server.port());
        let failure = Redis::connect(RedisOptions::new(url)).await.unwrap_err();
        means(&failure, Meaning::NoAccess);
        // The client library keeps the code of a refused log-in to itself.
        assert!(
            matches!(&failure, StoreError::Denied { code, .. } if code == wanted),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn a_replica_is_read_only_and_one_without_its_master_is_not_ready() {
    let replica_of = Some(free_port());
    let more = vec!["--replica-serve-stale-data".to_owned(), "no".to_owned()];
    let Some(server) = Server::with(RedisSettings { replica_of, more, ..RedisSettings::default() })
    else {
        return;
    };
    let redis = client(&server).await;
    let failure = redis.send(&Command::new("GET").arg("k")).await.unwrap_err();
    means(&failure, Meaning::NotReady);
    assert!(
        matches!(&failure, StoreError::Refused { code, .. } if code == "MASTERDOWN"),
        "{failure:?}"
    );
    assert_eq!(server.ask("CONFIG SET replica-serve-stale-data yes"), "+OK");
    for command in [set(), Command::script(&WRITES, &["k"]).arg("v")] {
        let failure = redis.send(&command).await.unwrap_err();
        means(&failure, Meaning::ReadOnly);
        assert!(matches!(failure, StoreError::ReadOnly { .. }), "{failure:?}");
    }
    assert_eq!(server.ask("REPLICAOF NO ONE"), "+OK");
    accepts(&redis).await;
}

#[tokio::test]
async fn a_master_with_too_few_replicas_is_not_ready() {
    let Some(server) = with(&["--min-replicas-to-write", "1"]) else { return };
    let redis = client(&server).await;
    refuses(&redis, "NOREPLICAS", Meaning::NotReady).await;
    assert_eq!(server.ask("CONFIG SET min-replicas-to-write 0"), "+OK");
    accepts(&redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_runs_a_long_script_is_busy_until_it_ends() {
    let Some(server) = with(&["--busy-reply-threshold", "20"]) else { return };
    let (redis, other) = (client(&server).await, client(&server).await);
    let running = tokio::spawn(async move {
        let endless = Command::new("EVAL").arg("while true do end").arg(0);
        other.send(&endless).await
    });
    let failure = until_refused(&redis, "BUSY").await;
    means(&failure, Meaning::NotReady);
    assert_eq!(server.ask("SCRIPT KILL"), "+OK");
    drop(running.await.unwrap().unwrap_err());
    accepts(&redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_reads_its_file_is_loading_until_it_has() {
    let more = ["--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"];
    let Some(server) = with(&more) else { return };
    let redis = client(&server).await;
    for number in 0..100 {
        let key = format!("k{number}");
        redis.send(&Command::new("SET").arg(key).arg("x".repeat(400))).await.unwrap();
    }
    // Fifty milliseconds for each key.
    assert_eq!(server.ask("CONFIG SET rdbcompression no"), "+OK");
    assert_eq!(server.ask("CONFIG SET key-load-delay 50000"), "+OK");
    let other = client(&server).await;
    let loading =
        tokio::spawn(async move { other.send(&Command::new("DEBUG").arg("RELOAD")).await });
    let failure = until_refused(&redis, "LOADING").await;
    means(&failure, Meaning::NotReady);
    assert_eq!(server.ask("CONFIG SET key-load-delay 0"), "+OK");
    drop(loading.await.unwrap());
    accepts(&redis).await;
}

/// Sends until the server refuses; gives the refusal.
async fn until_refused(redis: &Redis, wanted: &str) -> StoreError {
    let begun = Instant::now();
    loop {
        match redis.send(&set()).await {
            Err(failure @ StoreError::Refused { .. }) => {
                assert!(matches!(&failure, StoreError::Refused { code, .. } if code == wanted));
                return failure;
            }
            answer => assert!(begun.elapsed() < Duration::from_secs(30), "{answer:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_wrong_in_what_was_asked_does_not_pass() {
    let Some(server) = Server::start() else { return };
    let redis = client(&server).await;
    let failure = redis.send(&Command::new("NONSENSE")).await.unwrap_err();
    assert!(matches!(&failure, StoreError::Refused { code, .. } if code == "ERR"), "{failure:?}");
    assert_eq!((failure.meaning(), failure.passes()), (None, Passes::Never));
    assert!(server.ask("LPUSH k 1").starts_with(':'));
    let failure = redis.send(&Command::new("INCR").arg("k")).await.unwrap_err();
    means(&failure, Meaning::WrongKind);
    // Words in somebody's own text are not taken for a code.
    let script = "return redis.error_reply('MINE it is not LOADING, OOM or MISCONF')";
    let failure = redis.send(&Command::new("EVAL").arg(script).arg(0)).await.unwrap_err();
    assert_eq!(failure.passes(), Passes::Never, "{failure:?}");
}
