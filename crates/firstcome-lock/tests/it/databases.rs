//! What can go wrong with any database.

use firstcome_lock::{Locks, Mistake, Released};
use firstcome_testbed::{MariaDb, Postgres};

use crate::crowds::{drop_many, names_held};
use crate::processes::Actor;
use crate::stage::{Inside, SECOND, Stage, ms, take, until, until_free};

on_stores! {
    [postgres mariadb sqlite]
    {
        futures_dropped_at_random_leave_nothing_held
        long_and_odd_names_are_locks_of_their_own
        a_leader_that_slept_is_refused_when_it_wakes
        what_is_held_is_listed
        two_hundred_leases_are_renewed_together
    }
}

async fn futures_dropped_at_random_leave_nothing_held(stage: Stage) {
    let (locks, bob) = (stage.client().await, stage.client().await);
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let locks = locks.clone();
            tokio::spawn(async move { drop_many(&locks, 300).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    until("everything is given back", async || names_held(&bob).await == 0).await;
    locks.close().await;

    // In contrast: without undoing, grants to callers that left stay.
    let careless = stage.client_with(Locks::builder().inject(Mistake::LeaveLostGrants)).await;
    until("some stay", async || {
        drop_many(&careless, 100).await;
        names_held(&bob).await > 0
    })
    .await;
    careless.close().await;
    assert!(names_held(&bob).await > 0);
}

async fn long_and_odd_names_are_locks_of_their_own(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let long = "n".repeat(4000);
    let names = [
        long.clone(),
        format!("{long}2"),
        "a".to_owned(),
        "A".to_owned(),
        "a ".to_owned(),
        " a".to_owned(),
        "a\0".to_owned(),
        "a\0b".to_owned(),
        "ä".to_owned(),
        "a\u{308}".to_owned(),
        "x' OR 1=1 --".to_owned(),
        "{lease}".to_owned(),
        "\u{1F512}".to_owned(),
    ];
    let mut leases = Vec::new();
    for name in &names {
        leases.push(take(&ann.mutex(name).unwrap()).await);
    }
    for (name, lease) in names.iter().zip(leases) {
        assert_eq!(bob.inspect(name).await.unwrap().unwrap().owner, lease.owner(), "{name:?}");
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        assert_eq!(bob.inspect(name).await.unwrap(), None, "{name:?}");
    }
}

/// A holder is stopped for longer than its lease; what it writes when it goes on is refused.
async fn a_leader_that_slept_is_refused_when_it_wakes(stage: Stage) {
    let bob = stage.client().await;
    let mut actor = Actor::start_at("hold", &stage.url());
    let old: u64 = actor.hear("held").await.parse().unwrap();
    actor.signal("-STOP").await;
    let lease = bob.mutex("x").unwrap().lock().await.unwrap();
    assert!(lease.fence().get() > old);
    let written = bob.fenced_value("value").unwrap().write(&lease, b"bob").await.unwrap();
    assert_eq!(written, firstcome_lock::FencedWrite::Written);
    actor.tell("go on").await;
    actor.signal("-CONT").await;
    assert_eq!(actor.hear("valid").await, "false");
    assert_eq!(actor.hear("lost").await, "RanOut");
    assert!(actor.hear("write").await.starts_with("Refused"));
    assert_eq!(actor.hear("released").await, "AlreadyLost");
    assert!(lease.is_valid());
}

async fn what_is_held_is_listed(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let held = [take(&ann.mutex("b").unwrap()).await, take(&ann.mutex("a").unwrap()).await];
    take(&ann.mutex("free").unwrap()).await.release().await.unwrap();
    take(&ann.mutex("over").unwrap().lease(2 * SECOND)).await.leak();
    until("it is over", async || bob.inspect("over").await.unwrap().is_none()).await;
    let list = bob.held().await.unwrap().unwrap();
    let seen: Vec<_> =
        list.iter().map(|(name, holder)| (name.as_str(), holder.owner.as_str())).collect();
    assert_eq!(seen, [("a", held[1].owner()), ("b", held[0].owner())]);
}

async fn two_hundred_leases_are_renewed_together(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(3 * SECOND)).await;
    let mut leases = Vec::new();
    for number in 0..200 {
        leases.push(take(&ann.mutex(&format!("n{number}")).unwrap()).await);
    }
    tokio::time::sleep(4 * SECOND).await;
    assert!(leases.iter().all(firstcome_lock::Lease::is_valid));
    ann.close().await;
    assert!(stage.client().await.held().await.unwrap().unwrap().is_empty());
}

/// Tasks of two clients visit in turn while `trouble` goes on; whoever gets no answer asks again. Gives how many visits
/// there were, and the most that were inside together.
pub(crate) async fn visits_while(stage: &Stage, trouble: impl Future<Output = ()>) -> (u64, i64) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let inside = Inside::default();
    let (over, visits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let locks = stage.client().await;
        for _ in 0..4 {
            let (lock, inside) = (locks.mutex("x").unwrap().lease(2 * SECOND), inside.clone());
            let (over, visits) = (over.clone(), visits.clone());
            tasks.push(tokio::spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    if let Ok(lease) = lock.lock().await
                        && lease.is_valid()
                    {
                        inside.visit().await;
                        visits.fetch_add(1, Ordering::SeqCst);
                        lease.release().await.ok();
                    }
                }
            }));
        }
    }
    trouble.await;
    over.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    (visits.load(Ordering::SeqCst), inside.most())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_server_kills_make_no_second_owner() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    let stage = Stage::Database(url);
    let kills = async {
        for _ in 0..60 {
            let all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";
            let database = database.clone();
            let killed = tokio::task::spawn_blocking(move || server.sql(&database, all));
            killed.await.unwrap();
            tokio::time::sleep(ms(fastrand::u64(..40))).await;
        }
    };
    let (visits, most) = visits_while(&stage, kills).await;
    assert!(visits > 0 && most == 1, "{visits} visits, {most} together");
    until_free(&stage.client().await, "x").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_mariadb_kills_make_no_second_owner() {
    let Some(server) = MariaDb::shared() else { return };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let stage = Stage::Database(url);
    let kills = async {
        for _ in 0..40 {
            let database = database.clone();
            let killed = tokio::task::spawn_blocking(move || {
                let who = "SELECT id FROM information_schema.processlist WHERE db = ";
                for id in server.sql(&format!("{who}'{database}'")).lines() {
                    // It may have ended by itself.
                    server.try_sql(&format!("KILL {id}")).ok();
                }
            });
            killed.await.unwrap();
            tokio::time::sleep(ms(fastrand::u64(..40))).await;
        }
    };
    let (visits, most) = visits_while(&stage, kills).await;
    assert!(visits > 0 && most == 1, "{visits} visits, {most} together");
    until_free(&stage.client().await, "x").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_is_started_again_keeps_what_is_held() {
    let Some(mut server) = Postgres::start() else { return };
    let stage = Stage::Database(server.new_database());
    what_is_held_is_kept_over(&stage, move || {
        server.restart();
        Box::new(server)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_that_is_started_again_keeps_what_is_held() {
    let Some(mut server) = MariaDb::start() else { return };
    let stage = Stage::Database(server.new_database());
    what_is_held_is_kept_over(&stage, move || {
        server.restart();
        Box::new(server)
    })
    .await;
}

/// The server, as it runs after it was started again.
type Running = Box<dyn std::any::Any + Send>;

async fn what_is_held_is_kept_over(
    stage: &Stage,
    restart: impl FnOnce() -> Running + Send + 'static,
) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.mutex("x").unwrap().renewed(30 * SECOND)).await;
    let permit = take(&ann.semaphore("x", 1).unwrap().renewed(30 * SECOND)).await;
    let waiters = [bob.mutex("x").unwrap(), bob.semaphore("x", 1).unwrap()]
        .map(|lock| tokio::spawn(async move { lock.lock().await.unwrap() }));
    let _server = tokio::task::spawn_blocking(restart).await.unwrap();
    until("there are answers again", async || bob.inspect("x").await.is_ok()).await;
    assert!(lease.is_valid() && permit.is_valid());
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    for lease in [lease, permit] {
        let released = lease.release().await;
        assert!(matches!(released, Ok(Released::Free)), "{released:?}");
    }
    for waiter in waiters {
        let next = tokio::time::timeout(25 * SECOND, waiter).await.expect("it comes").unwrap();
        assert!(next.is_valid());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_over_tls() {
    let certificates = firstcome_testbed::Certificates::new();
    let Some(server) = MariaDb::secured(&certificates) else { return };
    let url = server.new_database();
    let authority = certificates.authority_file();
    let url_with = |query: &str| format!("{url}?{query}");
    let trusting = url_with(&format!("sslmode=verify-full&sslrootcert={}", authority.display()));
    let stage = Stage::Database(trusting);
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.mutex("x").unwrap()).await;
    assert!(bob.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none());
    lease.release().await.unwrap();
    let ciphers = "SELECT count(*) FROM information_schema.processlist p WHERE db IS NOT NULL";
    assert_ne!(server.sql(ciphers), "0");

    let unknown = Locks::connect(&url_with("sslmode=verify-full")).await.unwrap_err();
    assert!(unknown.hint().is_some(), "{unknown}");
    let plain = Locks::connect(&url_with("sslmode=disable")).await.unwrap_err();
    assert!(plain.hint().is_some(), "{plain}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_zone_of_server_and_session_do_not_matter() {
    if let Some(server) = Postgres::shared() {
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap();
        let stage = Stage::Database(url.clone());
        let lease = take(&stage.client().await.mutex("x").unwrap().lease(60 * SECOND)).await;
        for zone in ["Asia/Seoul", "America/St_Johns", "UTC"] {
            server.sql("postgres", &format!("ALTER DATABASE {database} SET timezone = '{zone}'"));
            is_held_as_before(&stage, &lease).await;
        }
    }
    if let Some(server) = MariaDb::start() {
        let stage = Stage::Database(server.new_database());
        let lease = take(&stage.client().await.mutex("x").unwrap().lease(60 * SECOND)).await;
        for zone in ["+09:00", "-03:30", "SYSTEM"] {
            server.sql(&format!("SET GLOBAL time_zone = '{zone}'"));
            is_held_as_before(&stage, &lease).await;
        }
    }
}

async fn is_held_as_before(stage: &Stage, lease: &firstcome_lock::Lease) {
    let bob = stage.client().await;
    assert!(bob.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none());
    let left = bob.inspect("x").await.unwrap().unwrap().remaining.unwrap();
    assert!(left > 30 * SECOND && left <= 60 * SECOND, "{left:?}");
    let next = take(&bob.mutex("y").unwrap()).await;
    assert!(next.fence().get().abs_diff(lease.fence().get()) < 600_000_000);
    next.release().await.unwrap();
}

/// A guarded write is told to have been refused only where it did not happen, also where another one overtakes it before the
/// row is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guarded_write_that_was_overtaken_has_happened() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let Some(server) = MariaDb::shared() else { return };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let stage = Stage::Database(url);
    let clients = [stage.client().await, stage.client().await];
    server.sql(&format!(
        "USE {database}; CREATE TABLE history (fence bigint PRIMARY KEY); \
         CREATE TRIGGER note AFTER UPDATE ON firstcome_guards FOR EACH ROW \
         INSERT INTO history SELECT NEW.fence FROM DUAL WHERE NEW.fence <> OLD.fence"
    ));
    let fences = Arc::new(AtomicU64::new(1));
    let tasks = (0..8).map(|task| {
        let (guard, fences) =
            (clients[task % 2].fenced_value("value").unwrap(), Arc::clone(&fences));
        tokio::spawn(async move {
            let mut refused = Vec::new();
            for _ in 0..250 {
                let fence = fences.fetch_add(1, Ordering::SeqCst);
                let owner = format!("owner {fence}");
                let written = guard.write_as(fence.into(), &owner, owner.as_bytes()).await;
                if matches!(written.unwrap(), firstcome_lock::FencedWrite::Refused { .. }) {
                    refused.push(fence.to_string());
                }
            }
            refused
        })
    });
    let mut refused = vec!["0".to_owned()];
    for task in tasks.collect::<Vec<_>>() {
        refused.extend(task.await.unwrap());
    }
    let happened = format!("SELECT count(*) FROM history WHERE fence IN ({})", refused.join(", "));
    let happened = server.sql(&format!("USE {database}; {happened}"));
    assert_eq!(happened, "0", "of {} that were refused", refused.len() - 1);
}
