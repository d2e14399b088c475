//! What can go wrong with PostgreSQL in particular.

use std::process::Stdio;

use firstcome_lock::{Error, Locks};
use firstcome_store::StoreError;
use firstcome_testbed::Postgres;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::databases::visits_while;
use crate::stage::{SECOND, Stage, is_held, take, until};

struct Scene {
    server: &'static Postgres,
    database: String,
    stage: Stage,
}

impl Scene {
    fn new() -> Option<Self> {
        let server = Postgres::shared()?;
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        Some(Self { server, database, stage: Stage::Database(url) })
    }

    fn sql(&self, statements: &str) -> String {
        self.server.sql(&self.database, statements)
    }

    /// Somebody else's session, which has begun with `statement` and stays as it is.
    async fn neighbour(&self, statement: &str) -> Child {
        let mut psql = Command::new("psql")
            .args(["--no-psqlrc", "--quiet", "--dbname", &self.stage.url()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = psql.stdin.as_mut().unwrap();
        input.write_all(format!("{statement};\n\\echo ready\n").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(psql.stdout.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == "ready" {
                return psql;
            }
        }
        panic!("psql ended");
    }
}

/// Somebody else's transaction has the row: who asks for that lock waits or is told so, and nobody else is held up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_somebody_keeps_holds_up_nobody_else() {
    let Some(scene) = Scene::new() else { return };
    let ann = scene.stage.client_with(Locks::builder().watchdog(4 * SECOND)).await;
    let mut leases = Vec::new();
    for number in 0..20 {
        leases.push(take(&ann.mutex(&format!("n{number}")).unwrap()).await);
    }
    take(&ann.mutex("free").unwrap()).await.release().await.unwrap();
    let row = "BEGIN; SELECT FROM firstcome_locks WHERE name IN ('free', 'n7') FOR UPDATE";
    let neighbour = scene.neighbour(row).await;
    // More of them than there are connections.
    let asking: Vec<_> = (0..12)
        .map(|_| {
            let lock = ann.mutex("free").unwrap();
            tokio::spawn(async move { lock.try_lock().await })
        })
        .collect();
    for asked in asking {
        let refused = asked.await.unwrap().unwrap_err();
        let told = matches!(
            refused,
            Error::Store(StoreError::Held { .. } | StoreError::Unreachable { .. })
        );
        assert!(told, "{refused}");
    }
    // Renewed beyond their first lease, all but the one whose row is kept.
    tokio::time::sleep(3 * SECOND).await;
    for (number, lease) in leases.iter().enumerate() {
        assert_eq!(lease.is_valid(), number != 7, "{number}");
    }
    drop(neighbour);
    until("it can be had", async || {
        ann.mutex("free").unwrap().try_lock().await.is_ok_and(|tried| tried.acquired().is_some())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_isolation_that_is_set_elsewhere_does_not_matter() {
    let Some(scene) = Scene::new() else { return };
    for level in ["serializable", "repeatable read"] {
        scene.server.sql(
            "postgres",
            &format!(
                "ALTER DATABASE {} SET default_transaction_isolation = '{level}'",
                scene.database
            ),
        );
        let while_it_runs = tokio::time::sleep(3 * SECOND);
        let (visits, most) = visits_while(&scene.stage, while_it_runs).await;
        assert!(visits > 20 && most == 1, "{visits} visits, {most} together");
    }
}

/// NOTIFY takes a lock of the whole server: it is sent where somebody waits, and nowhere else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_told_where_nobody_waits() {
    let Some(scene) = Scene::new() else { return };
    let mut said = Command::new("psql")
        .args(["--no-psqlrc", "--quiet", "--dbname", &scene.stage.url()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = said.stdin.take().unwrap();
    let mut lines = BufReader::new(said.stdout.take().unwrap()).lines();
    input.write_all(b"LISTEN firstcome_locks;\n\\echo ready\n").await.unwrap();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "ready");
    let (ann, bob) = (scene.stage.client().await, scene.stage.client().await);
    for _ in 0..10 {
        take(&ann.mutex("quiet").unwrap()).await.release().await.unwrap();
        take(&ann.semaphore("quiet", 1).unwrap()).await.release().await.unwrap();
    }
    for (loud, table) in [
        (ann.mutex("loud").unwrap(), "firstcome_locks"),
        (ann.semaphore("loud", 1).unwrap(), "firstcome_permits"),
    ] {
        let lease = take(&loud).await;
        let lock = match table {
            "firstcome_locks" => bob.mutex("loud").unwrap(),
            _ => bob.semaphore("loud", 1).unwrap(),
        };
        let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
        let waits = format!("SELECT count(*) FROM {table} WHERE waiting_until > 0");
        until("somebody waits", async || scene.sql(&waits) == "1").await;
        lease.release().await.unwrap();
        waiter.await.unwrap().release().await.unwrap();
        // Said once: word of those who waited does not stay.
        take(&loud).await.release().await.unwrap();
    }
    input.write_all(b"SELECT 1;\n\\echo end\n").await.unwrap();
    let mut notes = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap().filter(|line| line != "end") {
        notes.extend(line.contains("Asynchronous notification").then_some(line));
    }
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("lock loud") && notes[1].contains("permits semaphore:loud"));
}

/// Rows that nobody has used for a day are removed, a few at a time, and no others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_rows_go_after_a_day() {
    let Some(scene) = Scene::new() else { return };
    let ann = scene.stage.client().await;
    let kept = take(&ann.mutex("kept").unwrap().lease(600 * SECOND)).await;
    scene.sql(
        "INSERT INTO firstcome_locks (name, owner, holds, fence, expires_at, acquired_at, request) \
         SELECT 'old' || n, 'x', n % 2, 1, (extract(epoch FROM now() - interval '25 hours') * 1000000)::bigint, 0, 2 \
         FROM generate_series(1, 700) AS n; \
         INSERT INTO firstcome_locks (name, owner, holds, fence, expires_at, acquired_at, request) \
         SELECT 'young' || n, 'x', 0, 1, (extract(epoch FROM now() - interval '23 hours') * 1000000)::bigint, 0, 2 \
         FROM generate_series(1, 10) AS n",
    );
    scene.sql(
        "INSERT INTO firstcome_permits (name, fence, holders, ends_at, request) \
         SELECT 'semaphore:' || n, 1, '[]', (extract(epoch FROM now() - interval '1 hour' * n) * 1000000)::bigint, 2 \
         FROM generate_series(20, 30) AS n",
    );
    let count = || scene.sql("SELECT count(*) FROM firstcome_locks").parse::<u32>().unwrap();
    let permits = || scene.sql("SELECT count(*) FROM firstcome_permits");
    assert_eq!((count(), permits().as_str()), (711, "11"));
    // Each client looks at once when it is new, or a little later: at most 500 rows for each.
    until("they go", async || {
        let bob = scene.stage.client_with(Locks::builder().sweep_at_once()).await;
        take(&bob.mutex("young1").unwrap()).await.release().await.unwrap();
        bob.close().await;
        count() == 11 && permits() == "4"
    })
    .await;
    assert!(is_held(&ann, "kept").await);
    assert!(kept.is_valid());
}

/// A lock as it is often written by hand: a row and a timestamp, compared with the client's clock, no owner, no fence.
struct ByHand<'a> {
    scene: &'a Scene,
    /// How far the client's clock is ahead, in seconds.
    ahead: i64,
}

impl ByHand<'_> {
    fn take(&self) -> bool {
        let now = format!("now() + interval '{} seconds'", self.ahead);
        let taken = format!(
            "INSERT INTO by_hand VALUES ('x', {now} + interval '60 seconds') ON CONFLICT (name) DO UPDATE \
             SET until = excluded.until WHERE by_hand.until <= {now} RETURNING 1"
        );
        self.scene.sql(&taken) == "1"
    }

    fn give_back(&self) {
        self.scene.sql("UPDATE by_hand SET until = '-infinity' WHERE name = 'x'");
    }
}

/// In contrast: what is done here about clocks, owners and fences is needed, because without each there are two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_by_hand_has_two_owners() {
    let Some(scene) = Scene::new() else { return };
    scene.sql("CREATE TABLE by_hand (name text PRIMARY KEY, until timestamptz, value text)");
    let (ann, bob) = (ByHand { scene: &scene, ahead: 0 }, ByHand { scene: &scene, ahead: 3600 });
    let eve = ByHand { scene: &scene, ahead: 3600 };
    assert!(ann.take() && bob.take(), "an hour ahead, it is over for him");
    ann.give_back();
    assert!(eve.take(), "she was given what was bob's");
    scene.sql("UPDATE by_hand SET value = 'eve'; UPDATE by_hand SET value = 'ann'");
    assert_eq!(scene.sql("SELECT value FROM by_hand"), "ann", "who has not had it for long");

    let (ann, bob) = (scene.stage.client().await, scene.stage.client().await);
    let guard = ann.fenced_value("value").unwrap();
    let old = take(&ann.mutex("x").unwrap().lease(2 * SECOND)).await;
    until("it is over", async || !is_held(&bob, "x").await).await;
    let new = take(&bob.mutex("x").unwrap()).await;
    assert_eq!(guard.write(&new, b"bob").await.unwrap(), firstcome_lock::FencedWrite::Written);
    assert_ne!(guard.write(&old, b"ann").await.unwrap(), firstcome_lock::FencedWrite::Written);
    assert_eq!(old.release().await.unwrap(), firstcome_lock::Released::AlreadyLost);
    assert!(is_held(&ann, "x").await && new.is_valid());
}
