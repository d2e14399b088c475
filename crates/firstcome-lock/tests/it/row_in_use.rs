//! A row that somebody else's transaction keeps, and locks beside it.

use std::time::Duration;

use firstcome_lock::{Lease, Locks};
use firstcome_testbed::{MariaDb, Postgres};

use crate::stage::{Stage, take, until};

/// A database, and a way to keep one of its rows for a while.
struct Scene {
    stage: Stage,
    keep: Box<dyn FnOnce(&str) + Send>,
}

/// How long a row is kept, in seconds: long enough for two renewals, too short for a lease to run out.
const WHILE: u64 = 13;
/// Renewed each sixth of it.
const LEASE: Duration = Duration::from_secs(30);

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
        let keep = self.keep;
        let neighbour = std::thread::spawn(move || keep(select));
        let mut left = [kept.remaining(), other.remaining()];
        let mut renewed_alone = 0;
        until("the other is renewed twice while the kept one is not", || {
            let before = std::mem::replace(&mut left, [kept.remaining(), other.remaining()]);
            if left[0] > before[0] {
                renewed_alone = 0;
            }
            renewed_alone += u32::from(left[1] > before[1]);
            std::future::ready(renewed_alone == 2)
        })
        .await;
        assert!(!neighbour.is_finished(), "its row is still kept");
        assert!(kept.is_valid() && other.is_valid());
        neighbour.join().unwrap();
        let mut renewed = [false, false];
        until("both are renewed", || {
            let before = std::mem::replace(&mut left, [kept.remaining(), other.remaining()]);
            for (is, (now, before)) in renewed.iter_mut().zip(left.iter().zip(before)) {
                *is |= *now > before;
            }
            std::future::ready(renewed == [true, true])
        })
        .await;
    }
}

async fn of_locks(scene: Scene) {
    let ann = scene.stage.client_with(Locks::builder().watchdog(LEASE)).await;
    let leases =
        [take(&ann.mutex("kept").unwrap()).await, take(&ann.mutex("other").unwrap()).await];
    let row = "SELECT name FROM firstcome_locks WHERE name = 'kept'";
    scene.the_other_lives_on(row, leases).await;
}

async fn of_permits(scene: Scene) {
    let ann = scene.stage.client_with(Locks::builder().watchdog(LEASE)).await;
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
