//! The server kills a connection just when a step waits on it; others keep rows, or snapshots, meanwhile.

use std::process::Stdio;

use firstcome_lock::{Lock, Locks, Released, Remaining};
use firstcome_testbed::{MariaDb, Postgres};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::stage::{SECOND, Stage, ms, take, until};

/// A database whose connections can be killed.
struct Scene {
    server: Server,
    database: String,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Server {
    Postgres(&'static Postgres),
    MariaDb(&'static MariaDb),
}

impl Scene {
    fn postgres() -> Option<Self> {
        let server = Postgres::shared()?;
        Some(Self::new(Server::Postgres(server), server.new_database()))
    }

    fn mariadb() -> Option<Self> {
        let server = MariaDb::shared()?;
        Some(Self::new(Server::MariaDb(server), server.new_database()))
    }

    fn new(server: Server, url: String) -> Self {
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        Self { server, database, stage: Stage::Database(url) }
    }

    /// Runs statements over a connection of their own.
    async fn sql(&self, statements: String) -> String {
        let (server, database) = (self.server, self.database.clone());
        let ran = tokio::task::spawn_blocking(move || match server {
            Server::Postgres(server) => server.sql(&database, &statements),
            Server::MariaDb(server) => server.sql(&format!("USE {database}; {statements}")),
        });
        ran.await.unwrap()
    }

    /// Somebody else's session, which has begun a transaction with `statement` and stays as it is.
    async fn neighbour(&self, statement: &str) -> Child {
        let (mut client, ready) = match self.server {
            Server::Postgres(_) => {
                let mut client = Command::new("psql");
                client.args(["--no-psqlrc", "--quiet", "--dbname", &self.stage.url()]);
                (client, "\\echo ready")
            }
            Server::MariaDb(server) => {
                let url = self.stage.url();
                let word = url.split(['/', ':', '@']).nth(4).unwrap();
                let mut client = Command::new("mariadb");
                client.args(["--no-defaults", "--batch", "--unbuffered", "--host=127.0.0.1"]);
                client.args(["--user=firstcome", &format!("--password={word}")]);
                client.arg(format!("--port={}", server.port())).arg(&self.database);
                (client, "SELECT 'ready';")
            }
        };
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut client = client.spawn().unwrap();
        let input = client.stdin.as_mut().unwrap();
        input.write_all(format!("BEGIN; {statement};\n{ready}\n").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == "ready" {
                return client;
            }
        }
        panic!("the client ended");
    }

    /// Returns the connections of this database that wait for somebody's row.
    async fn waiting(&self) -> Vec<String> {
        let waiting = match self.server {
            Server::Postgres(_) => {
                "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                 AND datname = current_database()"
            }
            Server::MariaDb(_) => {
                // The table of InnoDB's transactions is not up to date where it is read often.
                "SELECT id FROM information_schema.processlist WHERE db = database() \
                 AND id <> connection_id() AND info LIKE '%firstcome_%' AND time_ms > 50"
            }
        };
        self.sql(waiting.to_owned()).await.lines().map(str::to_owned).collect()
    }

    /// Waits until somebody waits for a row, and kills who does.
    async fn kill_who_waits(&self) {
        until("somebody waits for the row", async || !self.waiting().await.is_empty()).await;
        for id in self.waiting().await {
            self.kill(&id).await;
        }
    }

    async fn kill(&self, id: &str) {
        match self.server {
            Server::Postgres(_) => {
                self.sql(format!("SELECT pg_terminate_backend({id})")).await;
            }
            Server::MariaDb(server) => {
                let kill = format!("KILL {id}");
                // It may have ended by itself.
                tokio::task::spawn_blocking(move || server.try_sql(&kill).ok()).await.unwrap();
            }
        }
    }

    /// Kills every connection of the database but the one that asks.
    async fn kill_all(&self) {
        let all = match self.server {
            Server::Postgres(_) => {
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
                 AND pid <> pg_backend_pid()"
            }
            Server::MariaDb(_) => {
                "SELECT id FROM information_schema.processlist \
                 WHERE db = database() AND id <> connection_id()"
            }
        };
        for id in self.sql(all.to_owned()).await.lines() {
            self.kill(id).await;
        }
    }
}

/// What is taken in the tests: a lock, and one of the things with permits; and the row it is in.
#[derive(Clone, Copy)]
struct What {
    of: fn(&Locks) -> Lock,
    row: &'static str,
}

const ALL: [What; 2] = [
    What {
        of: |locks| locks.mutex("x").unwrap(),
        row: "SELECT name FROM firstcome_locks WHERE name = 'x' FOR UPDATE",
    },
    What {
        of: |locks| locks.write("x").unwrap(),
        row: "SELECT name FROM firstcome_permits WHERE name = 'rw:x' FOR UPDATE",
    },
];

impl What {
    /// Waits until nobody has it.
    async fn until_free(self, locks: &Locks) {
        let lease = (self.of)(locks).lock_within(10 * SECOND).await.unwrap().acquired();
        lease.expect("nobody has it").release().await.unwrap();
    }
}

async fn an_acquire_that_is_killed_leaves_nothing(scene: Scene) {
    let (ann, bob) = (scene.stage.client().await, scene.stage.client().await);
    for what in ALL {
        // The row is there, and free.
        what.until_free(&ann).await;
        let neighbour = scene.neighbour(what.row).await;
        let lock = (what.of)(&ann).lease(600 * SECOND);
        let asking = tokio::spawn(async move { lock.try_lock().await });
        scene.kill_who_waits().await;
        let failure = asking.await.unwrap().unwrap_err();
        assert!(matches!(failure, firstcome_lock::Error::Store(_)), "{failure}");
        drop(neighbour);
        what.until_free(&bob).await;
        what.until_free(&ann).await;
    }
}

async fn a_release_that_is_killed_is_carried_out(scene: Scene) {
    let (ann, bob) = (scene.stage.client().await, scene.stage.client().await);
    for what in ALL {
        let lease = take(&(what.of)(&ann).lease(600 * SECOND)).await;
        let neighbour = scene.neighbour(what.row).await;
        let release = tokio::spawn(async move { lease.release().await });
        scene.kill_who_waits().await;
        drop(neighbour);
        assert_eq!(release.await.unwrap().unwrap(), Released::Free);
        what.until_free(&bob).await;
    }
}

/// Connections are killed again and again, for longer than a lease, and in MariaDB those that wait for the row, too.
async fn a_renewal_that_is_killed_is_sent_again(scene: Scene) {
    let bob = scene.stage.client().await;
    let ann = scene.stage.client_with(Locks::builder().watchdog(6 * SECOND)).await;
    for what in ALL {
        let lock = (what.of)(&ann);
        let lease = lock.lock_within(10 * SECOND).await.unwrap().acquired().expect("it is free");
        let begun = tokio::time::Instant::now();
        // The row of a lock that somebody has is not waited for: the renewal passes over it.
        let waits = what.row.contains("firstcome_permits");
        if waits && matches!(scene.server, Server::MariaDb(_)) {
            let neighbour = scene.neighbour(what.row).await;
            scene.kill_who_waits().await;
            drop(neighbour);
        }
        while begun.elapsed() < 8 * SECOND {
            scene.kill_all().await;
            tokio::time::sleep(ms(500)).await;
        }
        assert!(lease.is_valid(), "{:?}", lease.remaining());
        let asked = (what.of)(&bob).lock_within(ms(100)).await;
        assert!(!asked.is_ok_and(|asked| asked.acquired().is_some()));
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
}

async fn one_who_waits_and_is_killed_comes_all_the_same(scene: Scene) {
    let (ann, bob) = (scene.stage.client().await, scene.stage.client().await);
    for what in ALL {
        // Its connections may have been killed before, and it does not know yet.
        let lock = (what.of)(&ann).lease(600 * SECOND);
        let lease = lock.lock_within(10 * SECOND).await.unwrap().acquired().expect("it is free");
        let lock = (what.of)(&bob);
        let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
        for _ in 0..4 {
            tokio::time::sleep(ms(fastrand::u64(20..150))).await;
            scene.kill_all().await;
        }
        // Whoever waits has no connection; word of the release may be said before there is one.
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        let next = tokio::time::timeout(20 * SECOND, waiter).await.expect("it comes").unwrap();
        assert_eq!(next.release().await.unwrap(), Released::Free);
    }
}

/// An acquire that waited behind a row has its lease from the moment on at which it got the row.
async fn an_acquire_that_waited_counts_from_its_end(scene: Scene) {
    let (ann, bob) = (scene.stage.client().await, scene.stage.client().await);
    for what in ALL {
        what.until_free(&ann).await;
        let neighbour = scene.neighbour(what.row).await;
        let lock = (what.of)(&ann).lease(10 * SECOND);
        let asking = tokio::spawn(async move { lock.try_lock().await });
        until("it waits for the row", async || !scene.waiting().await.is_empty()).await;
        let waited = tokio::time::Instant::now();
        tokio::time::sleep(ms(400)).await;
        let waited = waited.elapsed();
        drop(neighbour);
        let lease = asking.await.unwrap().unwrap().acquired().expect("it is free");
        let tried = (what.of)(&bob).try_lock().await.unwrap();
        let firstcome_lock::TryLock::Held { remaining: Remaining::AtMost(left), .. } = tried else {
            panic!("it is held: {tried:?}");
        };
        // Trust counts from before the request, less a tenth; the lease at the store from when it had the row.
        assert!(left > lease.remaining() + SECOND + waited - ms(50), "{left:?} after {waited:?}");
        lease.release().await.unwrap();
    }
}

/// A snapshot that somebody keeps open makes rows longer to find, and changes nothing else.
async fn a_snapshot_that_stays_open_changes_nothing(scene: Scene) {
    let ann = scene.stage.client().await;
    for what in ALL {
        what.until_free(&ann).await;
        let look = what.row.replace(" FOR UPDATE", "");
        let snapshot = match scene.server {
            Server::Postgres(_) => {
                format!("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; {look}")
            }
            // The default there.
            Server::MariaDb(_) => look,
        };
        let _neighbour = scene.neighbour(&snapshot).await;
        let mut last = None;
        for _ in 0..300 {
            let lease = take(&(what.of)(&ann)).await;
            assert!(Some(lease.fence()) > last);
            last = Some(lease.fence());
            lease.release().await.unwrap();
        }
    }
}

macro_rules! on_each_server {
    ($($name:ident)+) => {
        mod on_postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(scene) = super::Scene::postgres() { super::$name(scene).await }
            }
        )+ }
        mod on_mariadb { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(scene) = super::Scene::mariadb() { super::$name(scene).await }
            }
        )+ }
    };
}

on_each_server! {
    an_acquire_that_is_killed_leaves_nothing
    a_release_that_is_killed_is_carried_out
    a_renewal_that_is_killed_is_sent_again
    one_who_waits_and_is_killed_comes_all_the_same
    an_acquire_that_waited_counts_from_its_end
    a_snapshot_that_stays_open_changes_nothing
}
