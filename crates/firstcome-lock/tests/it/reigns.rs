//! Three processes that are killed and paused while they lead in turn: no two terms overlap by the database's clock.

use firstcome_lock::{Election, Locks};
use firstcome_testbed::{MariaDb, Postgres};

use crate::processes::Actor;
use crate::stage::{SECOND, Stage, ms};

/// How long it goes on.
const WHILE: std::time::Duration = std::time::Duration::from_secs(12);

/// Leads whenever elected, and writes down under the guard of each term that it does.
pub(crate) async fn reign(locks: &Locks) {
    let election = Election::new(locks, "boss").unwrap().lease(ms(600));
    let guard = locks.guard("reign").unwrap();
    let work = |term: firstcome_lock::Term| {
        let guard = guard.clone();
        async move {
            // Some terms are short: it steps back by itself.
            for _ in 0..fastrand::u32(1..60) {
                if let Ok(written) = guard.write(term.lease(), b"here").await {
                    println!("\nterm {} {written:?}", term.fence());
                }
                tokio::time::sleep(ms(10)).await;
            }
        }
    };
    loop {
        election.run(work).await.unwrap();
    }
}

/// Gives the terms in the order in which their first writes came, and how often an old one was refused.
async fn terms_of(stage: &Stage) -> Vec<u64> {
    let mut actors: Vec<_> = (0..3).map(|_| Actor::start_at("reign", &stage.url())).collect();
    let bob = stage.client().await;
    let end = tokio::time::Instant::now() + WHILE;
    let mut seen: Vec<(u64, String)> = Vec::new();
    let mut next_trouble = tokio::time::Instant::now() + SECOND;
    while tokio::time::Instant::now() < end {
        if let Some(holder) = bob.inspect("boss").await.unwrap() {
            let one = (holder.last_fence.unwrap(), holder.owner);
            if seen.last() != Some(&one) {
                seen.push(one);
            }
        }
        if tokio::time::Instant::now() >= next_trouble {
            next_trouble += ms(fastrand::u64(300..1200));
            let who = fastrand::usize(..3);
            if fastrand::bool() {
                actors[who].child.kill().await.unwrap();
                actors[who] = Actor::start_at("reign", &stage.url());
            } else {
                actors[who].signal("-STOP").await;
                tokio::time::sleep(ms(fastrand::u64(100..1500))).await;
                actors[who].signal("-CONT").await;
            }
        }
        // Those who have much to say must not wait for somebody to hear it.
        for actor in &mut actors {
            while let Ok(Ok(Some(_))) = tokio::time::timeout(ms(1), actor.says.next_line()).await {}
        }
    }
    // One who looks at the store sees one owner at a time; each fence belongs to one owner, and they only grow.
    for (one, next) in seen.iter().zip(seen.iter().skip(1)) {
        assert!(one.0 < next.0, "{seen:#?}");
    }
    seen.into_iter().map(|(fence, _)| fence).collect()
}

async fn terms_grow_and_never_overlap(stage: Stage) {
    let terms = terms_of(&stage).await;
    assert!(terms.len() > 5, "{terms:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres() {
    if let Some(server) = Postgres::shared() {
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        let stage = Stage::Database(url);
        // Each change of the row is written down with the database's clock, by the database itself.
        stage.client().await.close().await;
        server.sql(&database, HISTORY);
        terms_grow_and_never_overlap(stage).await;
        let overlaps = server.sql(&database, OVERLAPS);
        assert_eq!(overlaps, "0", "terms that began before the one before had ended");
        assert!(
            server
                .sql(&database, "SELECT count(DISTINCT fence) FROM history")
                .parse::<u32>()
                .unwrap()
                > 5
        );
        // The twin: a lease that is taken by the client's clock, with nobody asking whether it had ended.
        server.sql(
            &database,
            "UPDATE firstcome_locks SET owner = 'a', fence = fence + 1, holds = 1, expires_at = 9e15 WHERE name = 'boss'; \
             UPDATE firstcome_locks SET owner = 'thief', fence = fence + 1, expires_at = 9e15 WHERE name = 'boss'",
        );
        assert_ne!(server.sql(&database, OVERLAPS), "0");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb() {
    if let Some(server) = MariaDb::shared() {
        terms_grow_and_never_overlap(Stage::Database(server.new_database())).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_sqlite_file() {
    if let Some(stage) = Stage::sqlite() {
        terms_grow_and_never_overlap(stage).await;
    }
}

/// A table of every change of owner, with what the owner before still had by the database's clock.
const HISTORY: &str = "
    CREATE TABLE history (fence bigint, owner text, at bigint, before_until bigint, before_holds bigint);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.name = 'boss' AND NEW.owner <> OLD.owner THEN
            INSERT INTO history VALUES (NEW.fence, NEW.owner,
                (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, OLD.expires_at, OLD.holds);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER UPDATE ON firstcome_locks FOR EACH ROW EXECUTE FUNCTION note();";

/// Owners that came while the one before had it and its lease ran.
const OVERLAPS: &str = "SELECT count(*) FROM history WHERE before_holds > 0 AND before_until > at";
