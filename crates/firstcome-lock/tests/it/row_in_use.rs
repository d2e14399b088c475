//! A row that somebody else's transaction keeps, and locks beside it.

use firstcome_lock::{Lease, Locks};
use firstcome_testbed::{MariaDb, Postgres};

use crate::stage::{SECOND, Stage, ms, take};

/// A database, and a way to keep one of its rows for a while.
struct Scene {
    stage: Stage,
    keep: Box<dyn FnOnce(&str) + Send>,
}

/// How long a row is kept.
const WHILE: u64 = 7;

impl Scene {
    fn postgres() -> Option<Self> {
        let server = Postgres::shared()?;
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        let keep = move |row: &str| {
            server.sql(&database, &format!("BEGIN; {row} FOR UPDATE; SELECT pg_sleep({WHILE})"));
        };
        Some(Self { stage: Stage::Database(url), keep: Box::new(keep) })
    }

    fn mariadb() -> Option<Self> {
        let server = MariaDb::shared()?;
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        let keep = move |row: &str| {
            let kept = format!("USE {database}; BEGIN; {row} FOR UPDATE; SELECT SLEEP({WHILE})");
            server.sql(&kept);
        };
        Some(Self { stage: Stage::Database(url), keep: Box::new(keep) })
    }

    /// Keeps the row that `select` finds, which is that of the first lease, and looks whether the second one lives on.
    async fn the_other_lives_on(self, select: &'static str, [kept, other]: [Lease; 2]) {
        // Its renewal is tried for all of this time.
        kept.extend(20 * SECOND).await.unwrap();
        let keep = self.keep;
        let neighbour = std::thread::spawn(move || keep(select));
        tokio::time::sleep(ms(WHILE * 1000 - 500)).await;
        assert!(other.is_valid(), "nobody touched its row");
        assert!(kept.is_valid());
        neighbour.join().unwrap();
        tokio::time::sleep(ms(1500)).await;
        assert!(kept.is_valid() && other.is_valid());
    }
}

async fn of_locks(scene: Scene) {
    let ann = scene.stage.client_with(Locks::builder().watchdog(3 * SECOND)).await;
    let leases =
        [take(&ann.mutex("kept").unwrap()).await, take(&ann.mutex("other").unwrap()).await];
    let row = "SELECT name FROM firstcome_locks WHERE name = 'kept'";
    scene.the_other_lives_on(row, leases).await;
}

async fn of_permits(scene: Scene) {
    let ann = scene.stage.client_with(Locks::builder().watchdog(3 * SECOND)).await;
    let permit = |name| ann.semaphore(name, 2).unwrap();
    let leases = [take(&permit("kept")).await, take(&permit("other")).await];
    let row = "SELECT name FROM firstcome_permits WHERE name = 'semaphore:kept'";
    scene.the_other_lives_on(row, leases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_beside_it_is_renewed_in_postgres() {
    if let Some(scene) = Scene::postgres() {
        of_locks(scene).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_beside_it_is_renewed_in_mariadb() {
    if let Some(scene) = Scene::mariadb() {
        of_locks(scene).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permit_beside_it_is_renewed_in_postgres() {
    if let Some(scene) = Scene::postgres() {
        of_permits(scene).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permit_beside_it_is_renewed_in_mariadb() {
    if let Some(scene) = Scene::mariadb() {
        of_permits(scene).await;
    }
}
