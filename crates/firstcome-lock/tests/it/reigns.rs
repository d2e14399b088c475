//! Three processes for each kind of database that are killed, started again and paused for a minute while they lead in
//! turn: no two terms overlap by the database's clock, and fences grow.

use firstcome_lock::{Election, Locks};
use firstcome_testbed::{Folder, MariaDb, Postgres};
use futures_util::future::join_all;
use rusqlite::Connection;

use crate::processes::Actor;
use crate::stage::{SECOND, Stage, ms};

/// How long it goes on.
const WHILE: std::time::Duration = std::time::Duration::from_secs(60);

/// Leads whenever elected, and writes down under the guard of each term that it does.
pub(crate) async fn reign(locks: &Locks) {
    let election = Election::new(locks, "boss").unwrap().lease(ms(600));
    let guard = locks.fenced_value("reign").unwrap();
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

/// Returns the terms in the order in which their first writes came, and how often an old one was refused.
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

/// A database that writes down each change of who leads, with its own clock and by itself.
enum Place {
    Postgres { server: &'static Postgres, url: String },
    MariaDb { server: &'static MariaDb, url: String },
    Sqlite(Folder),
}

impl Place {
    fn stage(self) -> (Stage, Self) {
        match self {
            Self::Postgres { ref url, .. } | Self::MariaDb { ref url, .. } => {
                (Stage::Database(url.clone()), self)
            }
            Self::Sqlite(folder) => {
                let stage =
                    Stage::Database(format!("sqlite://{}/locks.db", folder.path().display()));
                (stage, Self::Sqlite(folder))
            }
        }
    }

    /// Runs statements, and gives the number that the last one asks for, if it does.
    fn sql(&self, statements: &str) -> String {
        match self {
            Self::Postgres { server, url } => server.sql(database(url), statements),
            Self::MariaDb { server, url } => {
                server.sql(&format!("USE {}; {statements}", database(url)))
            }
            Self::Sqlite(folder) => {
                let file = Connection::open(folder.path().join("locks.db")).unwrap();
                file.busy_timeout(10 * SECOND).unwrap();
                if statements.starts_with("SELECT") {
                    let number = file.query_row(statements, [], |row| row.get::<_, i64>(0));
                    return number.unwrap().to_string();
                }
                file.execute_batch(statements).unwrap();
                String::new()
            }
        }
    }

    /// What makes it write down every change of owner, with what the owner before still had by the database's clock.
    fn watch(&self) {
        self.sql("CREATE TABLE history (fence bigint, owner varchar(255), at bigint, before_until bigint, before_holds bigint)");
        self.sql(match self {
            Self::Postgres { .. } => {
                "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NEW.name = 'boss' AND NEW.owner <> OLD.owner THEN
                        INSERT INTO history VALUES (NEW.fence, NEW.owner,
                            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, OLD.expires_at, OLD.holds);
                    END IF;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER note AFTER UPDATE ON firstcome_locks FOR EACH ROW EXECUTE FUNCTION note();"
            }
            Self::MariaDb { .. } => {
                "CREATE TRIGGER note AFTER UPDATE ON firstcome_locks FOR EACH ROW
                INSERT INTO history
                SELECT NEW.fence, NEW.owner, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED), OLD.expires_at, OLD.holds
                FROM DUAL WHERE NEW.name = 'boss' AND NEW.owner <> OLD.owner;"
            }
            Self::Sqlite(_) => {
                "CREATE TRIGGER note AFTER UPDATE ON firstcome_locks
                WHEN NEW.name = 'boss' AND NEW.owner <> OLD.owner
                BEGIN
                    INSERT INTO history VALUES (NEW.fence, NEW.owner,
                        CAST(round(unixepoch('subsec') * 1000000) AS INTEGER), OLD.expires_at, OLD.holds);
                END;"
            }
        });
    }
}

fn database(url: &str) -> &str {
    url.rsplit('/').next().unwrap().split('?').next().unwrap()
}

/// Owners that came while the one before had it and its lease ran.
const OVERLAPS: &str = "SELECT count(*) FROM history WHERE before_holds > 0 AND before_until > at";

/// Fences that are not above that of the change before.
const BACKWARDS: &str =
    "SELECT count(*) FROM history AS a JOIN history AS b ON b.at > a.at AND b.fence <= a.fence";

/// Changes of owner as somebody makes them who asks nobody whether the lease had ended.
const THEFT: [&str; 2] = [
    "UPDATE firstcome_locks SET owner = 'a', fence = fence + 1, holds = 1, expires_at = 9000000000000000 WHERE name = 'boss'",
    "UPDATE firstcome_locks SET owner = 'thief', fence = fence - 1, expires_at = 9000000000000000 WHERE name = 'boss'",
];

async fn terms_grow_and_never_overlap(place: Place) {
    let (stage, place) = place.stage();
    // The tables are there.
    stage.client().await.close().await;
    place.watch();
    let terms = terms_of(&stage).await;
    assert!(terms.len() > 5, "{terms:?}");
    assert_eq!(place.sql(OVERLAPS), "0", "terms that began before the one before had ended");
    assert_eq!(place.sql(BACKWARDS), "0", "fences that did not grow");
    let changes = place.sql("SELECT count(DISTINCT fence) FROM history").parse::<u32>().unwrap();
    assert!(changes > 5, "{changes}");
    // The mistaken is noticed.
    for theft in THEFT {
        place.sql(theft);
    }
    assert_ne!(place.sql(OVERLAPS), "0");
    assert_ne!(place.sql(BACKWARDS), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minute_of_troubles_on_each_kind_of_database() {
    let mut places = vec![Place::Sqlite(Folder::new("reigns"))];
    places.extend(
        Postgres::shared().map(|server| Place::Postgres { server, url: server.new_database() }),
    );
    places.extend(
        MariaDb::shared().map(|server| Place::MariaDb { server, url: server.new_database() }),
    );
    let reigns = places.into_iter().map(|place| tokio::spawn(terms_grow_and_never_overlap(place)));
    for done in join_all(reigns.collect::<Vec<_>>()).await {
        done.unwrap();
    }
}
