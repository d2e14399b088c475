//! Real ShedLock as a neighbour, in both directions.

use std::process::Stdio;

use firstcome_shedlock::{ShedLock, Unlocked};
use firstcome_testbed::{MariaDb, Postgres, shedlock};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::scene::{Scene, fresh, on, on_mariadb, table, take, try_take, until_taken};
use crate::stage::{SECOND, ms};

const HOUR: u64 = 3_600_000;

/// A process with real ShedLock in it.
struct Java {
    _child: Child,
    hears: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
}

impl Java {
    async fn start(time_zone: &'static str) -> Option<Self> {
        let java = tokio::task::spawn_blocking(|| shedlock(time_zone)).await.unwrap()?;
        let mut child = tokio::process::Command::from(java)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap()).lines();
        let hears = child.stdin.take().unwrap();
        Some(Self { _child: child, hears, says })
    }

    async fn ask(&mut self, what: &str) -> String {
        self.hears.write_all(format!("{what}\n").as_bytes()).await.unwrap();
        let line = tokio::time::timeout(60 * SECOND, self.says.next_line()).await;
        line.expect(what).unwrap().unwrap_or_else(|| panic!("{what}: it has ended"))
    }

    async fn does(&mut self, what: &str) {
        assert_eq!(self.ask(what).await, "done", "{what}");
    }

    async fn opens(&mut self, side: &Side) {
        self.does(&format!("open {} {} {}", side.mode, side.mode, side.place())).await;
    }

    /// Tries to take a lock, for a handle of the same name.
    async fn takes(&mut self, mode: &str, name: &str, at_most: u64, at_least: u64) -> bool {
        let answer = self.ask(&format!("lock {mode} {name} {name} {at_most} {at_least}")).await;
        answer.parse().unwrap_or_else(|_| panic!("{answer}"))
    }

    async fn until_taken(&mut self, mode: &str, name: &str) {
        for _ in 0..2000 {
            if self.takes(mode, name, HOUR, 0).await {
                return;
            }
            tokio::time::sleep(ms(5)).await;
        }
        panic!("not within 10 s: {name}");
    }

    async fn extends(&mut self, name: &str, at_most: u64, at_least: u64) -> String {
        self.ask(&format!("extend {name} {name} {at_most} {at_least}")).await
    }

    async fn unlocks(&mut self, name: &str) -> String {
        self.ask(&format!("unlock {name}")).await
    }
}

/// A store, and how Java uses it.
struct Side {
    mode: &'static str,
    scene: Scene,
}

impl Side {
    /// How Java and this side keep to the same clock, by its mode.
    fn of(mode: &'static str, scene: Scene) -> Self {
        Self { mode, scene }
    }

    /// The ways that are recommended, and on Redis the default as well.
    fn all() -> Option<Vec<Self>> {
        Some(vec![
            Self::of("db-time", Scene::db_time()?),
            Self::of("client-time-utc", Scene::client_time()?),
            Self::of("db-time", Scene::mariadb()?),
            Self::of("client-time-utc", Scene::mariadb_client_time()?),
            Self::of("redis-safe", Scene::redis()?),
            Self::of("redis", Scene::redis()?),
        ])
    }

    fn place(&self) -> String {
        match &self.scene {
            Scene::Redis(redis) => format!("127.0.0.1:{}", redis.port()),
            Scene::Postgres { server, .. } => jdbc(server),
            Scene::MariaDb { url, .. } => jdbc_mariadb(url),
        }
    }
}

/// Returns the URL as Java has it.
fn jdbc(server: &Postgres) -> String {
    let url = server.url();
    let (login, place) = url.trim_start_matches("postgres://").split_once('@').unwrap();
    let (user, password) = login.split_once(':').unwrap();
    format!("jdbc:postgresql://{place}&user={user}&password={password}")
}

fn jdbc_mariadb(url: &str) -> String {
    let (login, place) = url.trim_start_matches("mysql://").split_once('@').unwrap();
    let (user, password) = login.split_once(':').unwrap();
    format!("jdbc:mariadb://{place}?user={user}&password={password}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_exclude_each_other() {
    let Some(sides) = Side::all() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    for side in &sides {
        let ours = side.scene.client().await;
        java.opens(side).await;
        let x = fresh("x");
        for _ in 0..3 {
            assert!(java.takes(side.mode, &x, HOUR, 0).await, "{}", side.mode);
            assert!(try_take(&ours, &x).await.is_none());
            assert_eq!(java.unlocks(&x).await, "done");
            let lock = take(&ours, &x).await;
            assert!(!java.takes(side.mode, &x, HOUR, 0).await);
            // Its handle was used up by unlock; ours cannot be used twice at all.
            assert!(java.unlocks(&x).await.starts_with("problem IllegalStateException"));
            assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
        }
        // Both at once: exactly one gets it.
        for _ in 0..20 {
            let y = fresh("y");
            let (theirs, lock) =
                tokio::join!(java.takes(side.mode, &y, HOUR, 0), try_take(&ours, &y));
            assert!(theirs != lock.is_some(), "{}: {theirs} {lock:?}", side.mode);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_and_at_least_mean_the_same() {
    let Some(sides) = Side::all() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    for side in &sides {
        let ours = side.scene.client().await;
        java.opens(side).await;
        let hour = 3600 * SECOND;
        let [a, b, c, d, e, f] = ["a", "b", "c", "d", "e", "f"].map(fresh);
        // At most: each takes over from the other, and cannot extend what is another's.
        assert!(java.takes(side.mode, &a, 4000, 0).await);
        assert!(try_take(&ours, &a).await.is_none());
        let lock = until_taken(&ours, &a).await;
        if side.mode == "redis" {
            // Where Java does not compare, it puts its own value over ours.
            assert_eq!(java.extends(&a, HOUR, 0).await, "true");
            assert_eq!(lock.unlock().await.unwrap(), Unlocked::AlreadyLost);
        } else {
            assert_eq!(java.extends(&a, HOUR, 0).await, "false", "{}", side.mode);
            assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
        }
        let lock = ours.lock(&b, 4 * SECOND, ms(0)).await.unwrap().expect("it is free");
        assert!(!java.takes(side.mode, &b, HOUR, 0).await);
        java.until_taken(side.mode, &b).await;
        assert!(lock.extend(hour, ms(0)).await.unwrap().is_none());
        assert_eq!(java.unlocks(&b).await, "done");
        // At least: given back, and still taken; and free when it was taken long enough.
        assert!(java.takes(side.mode, &c, HOUR, HOUR).await);
        assert_eq!(java.unlocks(&c).await, "done");
        assert!(try_take(&ours, &c).await.is_none() && side.scene.is_long(&c));
        let lock = ours.lock(&d, hour, hour).await.unwrap().expect("it is free");
        assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
        assert!(!java.takes(side.mode, &d, HOUR, 0).await);
        assert!(java.takes(side.mode, &e, HOUR, 1000).await);
        assert_eq!(java.unlocks(&e).await, "done");
        drop(until_taken(&ours, &e).await);
        let lock = ours.lock(&f, hour, SECOND).await.unwrap().expect("it is free");
        assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
        java.until_taken(side.mode, &f).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_counts_for_both() {
    let Some(sides) = Side::all() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    for side in &sides {
        let ours = side.scene.client().await;
        java.opens(side).await;
        let (x, y) = (fresh("x"), fresh("y"));
        assert!(java.takes(side.mode, &x, 60_000, 0).await && !side.scene.is_long(&x));
        assert_eq!(java.extends(&x, HOUR, HOUR).await, "true", "{}", side.mode);
        assert!(try_take(&ours, &x).await.is_none() && side.scene.is_long(&x));
        assert_eq!(java.unlocks(&x).await, "done");
        assert!(side.scene.is_long(&x), "at least, as the extension said");
        let lock = ours.lock(&y, 60 * SECOND, ms(0)).await.unwrap().expect("it is free");
        let lock = lock.extend(3600 * SECOND, 3600 * SECOND).await.unwrap().expect("it is held");
        assert!(!java.takes(side.mode, &y, HOUR, 0).await && side.scene.is_long(&y));
        assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
        assert!(side.scene.is_long(&y));
    }
}

/// What an unlock of Java's frees after its lock ran out and ours began.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_unlock_of_theirs_frees_ours_only_where_it_does_not_compare() {
    let Some(sides) = Side::all() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    for side in &sides {
        let ours = side.scene.client().await;
        java.opens(side).await;
        let x = fresh("x");
        assert!(java.takes(side.mode, &x, 1000, 0).await);
        let lock = until_taken(&ours, &x).await;
        assert_eq!(java.unlocks(&x).await, "done");
        // The contrast is Redis without `safeUpdate`.
        let left = if side.mode == "redis" { Unlocked::AlreadyLost } else { Unlocked::Yes };
        assert_eq!(side.scene.is_long(&x), left == Unlocked::Yes, "{}", side.mode);
        assert_eq!(lock.unlock().await.unwrap(), left);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_write_the_same() {
    let Some(sides) = Side::all() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    for side in &sides {
        let ours = side.scene.client().await;
        java.opens(side).await;
        let (x, y) = (fresh("x"), fresh("y"));
        assert!(java.takes(side.mode, &x, 1_234_567, 0).await);
        let lock = ours.lock(&y, ms(1_234_567), ms(0)).await.unwrap().expect("it is free");
        let seen = [&x, &y].map(|name| match &side.scene {
            Scene::Redis(redis) => {
                let value = redis.ask(&format!("GET job-lock:test:{name}"));
                let left = redis.ask(&format!("PTTL job-lock:test:{name}"));
                let left: i64 = left.trim_start_matches(':').parse().unwrap();
                assert!((1_200_000..=1_234_567).contains(&left));
                shape(value.lines().last().unwrap())
            }
            Scene::Postgres { server, .. } => {
                // Java reads its clock once more between the two.
                let span =
                    "lock_until - locked_at BETWEEN interval '1200 s' AND interval '1234.567 s'";
                let asked = format!(
                    "SELECT {span}, locked_at <= timezone('utc', now()), \
                    locked_at > timezone('utc', now()) - interval '1 minute'"
                );
                server.sql("ledger", &format!("{asked} FROM shedlock WHERE name = '{name}'"))
            }
            Scene::MariaDb { server, url, .. } => {
                let (_, database) = url.rsplit_once('/').unwrap();
                let span = "TIMESTAMPDIFF(MICROSECOND, locked_at, lock_until) \
                    BETWEEN 1200000000 AND 1234567000";
                let asked = format!(
                    "SELECT {span}, locked_at <= utc_timestamp(3), \
                    locked_at > utc_timestamp(3) - INTERVAL 1 MINUTE"
                );
                let row = format!("{asked} FROM {database}.shedlock WHERE name = '{name}'");
                server.sql(&row).replace('1', "t").replace('\t', " | ")
            }
        });
        assert_eq!(seen[0], seen[1], "{}", side.mode);
        let expected = if side.mode.starts_with("redis") {
            "AAAAA:9999-99-99A99:99:99.999A@HOST:ffffffff-ffff-4fff-ffff-ffffffffffff"
        } else {
            "t | t | t"
        };
        assert_eq!(seen[0], expected);
        lock.unlock().await.unwrap();
    }
}

/// Returns a value with its digits and letters replaced, and the host's name, which both have from the same place.
fn shape(value: &str) -> String {
    let (head, tail) = value.split_once('@').unwrap();
    let (host, id) = tail.split_once(':').unwrap();
    assert!(!host.is_empty());
    let head = head.replace(|c: char| c.is_ascii_digit(), "9");
    let head = head.replace(|c: char| c.is_ascii_uppercase(), "A");
    let id: String =
        id.char_indices().map(|(at, c)| if c == '-' || at == 14 { c } else { 'f' }).collect();
    format!("{head}@HOST:{id}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_have_the_same_limit() {
    let Some(server) = Postgres::shared() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    let side = Side { mode: "db-time", scene: Scene::Postgres { server, client_time: false } };
    let ours = side.scene.client().await;
    java.opens(&side).await;
    let longest = format!("{:ä<64}", fresh("long"));
    assert!(java.takes(side.mode, &longest, HOUR, 0).await);
    assert!(try_take(&ours, &longest).await.is_none());
    assert_eq!(java.unlocks(&longest).await, "done");
    take(&ours, &longest).await.unlock().await.unwrap();
    let refused = java.ask(&format!("lock db-time h {longest}x {HOUR} 0")).await;
    assert!(refused.starts_with("problem LockException"), "{refused}");
    assert!(ours.lock(&format!("{longest}x"), SECOND, ms(0)).await.is_err());
    // A row that was deleted by hand: ours is made again, theirs is not.
    let x = fresh("x");
    assert!(java.takes(side.mode, &x, HOUR, 0).await);
    assert_eq!(java.unlocks(&x).await, "done");
    server.sql("ledger", &format!("DELETE FROM shedlock WHERE name = '{x}'"));
    assert!(!java.takes(side.mode, &x, HOUR, 0).await);
    take(&ours, &x).await.unlock().await.unwrap();
    assert!(java.takes(side.mode, &x, HOUR, 0).await);
    // Where Java cuts a name short, it takes another lock: the one of the first 64 characters.
    let Some(scene) = Scene::mariadb() else { return };
    let side = Side::of("db-time", scene);
    let ours = side.scene.client().await;
    java.opens(&side).await;
    assert!(java.takes(side.mode, &format!("{longest}x"), HOUR, 0).await);
    assert!(try_take(&ours, &longest).await.is_none());
    let refused = ours.lock(&format!("{longest}x"), SECOND, ms(0)).await.unwrap_err();
    assert!(refused.to_string().contains("65 characters"), "{refused}");
}

/// The zone of Java's process, and of the database, changes nothing where both keep to UTC; where Java writes its own
/// time, it excludes nobody elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zones_do_not_matter_in_utc() {
    let Some(server) = Postgres::shared() else { return };
    for (zone, excluded) in [("America/New_York", false), ("Asia/Seoul", true)] {
        let Some(mut java) = Java::start(zone).await else { return };
        for (mode, client_time) in
            [("db-time", false), ("client-time-utc", true), ("client-time-local", true)]
        {
            let side = Side { mode, scene: Scene::Postgres { server, client_time } };
            let ours = on(server, table(client_time)).await;
            java.opens(&side).await;
            let (x, y) = (fresh("x"), fresh("y"));
            assert!(java.takes(mode, &x, HOUR, 0).await);
            let lock = try_take(&ours, &x).await;
            if mode == "client-time-local" {
                // In contrast: west of Greenwich its locks are over before they begin, east of it they last too long.
                assert_eq!(lock.is_none(), excluded);
                assert_eq!(java.unlocks(&x).await, "done");
                assert!(try_take(&ours, &x).await.is_none(), "held by us, or for hours by nobody");
                continue;
            }
            assert!(lock.is_none(), "{zone} {mode}");
            assert_eq!(java.unlocks(&x).await, "done");
            take(&ours, &x).await.unlock().await.unwrap();
            let lock = take(&ours, &y).await;
            assert!(!java.takes(mode, &y, HOUR, 0).await, "{zone} {mode}");
            lock.unlock().await.unwrap();
            assert!(java.takes(mode, &y, HOUR, 0).await, "{zone} {mode}");
        }
    }
}

/// On MariaDB the columns are read in the session's zone: ours is the server's, as Java's is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_zone_of_a_mariadb_is_that_of_both() {
    let Some(mut java) = Java::start("America/New_York").await else { return };
    for zone in ["-08:00", "+05:30"] {
        let Some(server) = MariaDb::with(&[&format!("--default-time-zone={zone}")]) else { return };
        for (mode, client_time) in [("db-time", false), ("client-time-utc", true)] {
            let url = server.new_database();
            let ours = on_mariadb(&url, table(client_time)).await;
            java.does(&format!("open {mode} {mode} {}", jdbc_mariadb(&url))).await;
            assert!(java.takes(mode, "x", 600_000, 0).await);
            assert!(try_take(&ours, "x").await.is_none(), "{zone} {mode}");
            assert_eq!(java.unlocks("x").await, "done");
            let lock = ours.lock("x", 600 * SECOND, ms(0)).await.unwrap().expect("it is free");
            assert!(!java.takes(mode, "x", 600_000, 0).await, "{zone} {mode}");
            // In contrast: to a session in UTC it lasts for hours more, or is over.
            let (_, database) = url.rsplit_once('/').unwrap();
            let held = format!(
                "SET time_zone = '+00:00'; \
                SELECT lock_until > utc_timestamp(3), \
                lock_until > utc_timestamp(3) + INTERVAL 1 HOUR FROM {database}.shedlock"
            );
            let seen = if zone == "-08:00" { "1\t1" } else { "0\t0" };
            assert_eq!(server.sql(&held), seen, "{zone} {mode}");
            assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
            assert!(java.takes(mode, "x", 600_000, 0).await, "{zone} {mode}");
        }
    }
}

/// A clock of Java's that is an hour and more ahead is nothing to the database's, and takes what is held by the clients'.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_ahead_matters_only_in_client_time() {
    let Some(server) = Postgres::shared() else { return };
    let Some(mut java) = Java::start("UTC").await else { return };
    for (mode, client_time) in [("db-time", false), ("client-time-utc", true)] {
        let side = Side { mode, scene: Scene::Postgres { server, client_time } };
        let ours: ShedLock = side.scene.client().await;
        java.opens(&side).await;
        let x = fresh("x");
        let lock = take(&ours, &x).await;
        assert!(!java.takes(mode, &x, HOUR, 0).await);
        java.does(&format!("clock {}", 2 * HOUR)).await;
        assert_eq!(java.takes(mode, &x, HOUR, 0).await, client_time, "{mode}");
        java.does("clock 0").await;
        let left = if client_time { Unlocked::AlreadyLost } else { Unlocked::Yes };
        assert_eq!(lock.unlock().await.unwrap(), left);
    }
}
