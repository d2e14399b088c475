//! The recipe for a guarded row in SQL, as the documentation prints it, in real databases.

use firstcome_lock::{Election, Term};
use firstcome_store::mysql::{self, MySqlPool};
use firstcome_testbed::{Folder, MariaDb, Postgres, RedisServer};
use rusqlite::{Connection, named_params};

use crate::processes::Actor;
use crate::stage::{SECOND, client_of, take, until_free};

const PAGE: &str = include_str!("../../docs/locks.md");

/// The table that is protected.
const TABLE: &str = "CREATE TABLE stock (id bigint PRIMARY KEY, quantity bigint NOT NULL);
                     INSERT INTO stock VALUES (1, 0);";

/// Returns the statements of the recipe: those that prepare the table, and the guarded write.
fn recipe() -> (String, String) {
    let mut blocks = PAGE.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.next().expect("the page has a recipe");
    assert!(blocks.next().is_none(), "one recipe");
    let at = block.find("UPDATE").expect("the recipe has a guarded write");
    (block[..at].to_owned(), block[at..].trim().to_owned())
}

/// A guarded row, wherever it is.
trait Row {
    /// Writes as the documentation says, and tells whether a row was changed.
    fn write(&self, quantity: u64, fence: u64, owner: &str) -> bool;
    /// Writes with the condition left out.
    fn write_unguarded(&self, quantity: u64, fence: u64, owner: &str) -> bool;
    fn quantity(&self) -> u64;
}

/// The guarded write without its condition on the fence.
fn unguarded() -> String {
    let (_, write) = recipe();
    let at = write.find("AND (fence").expect("the condition is there");
    write[..at].to_owned()
}

struct Lite(Connection);

impl Lite {
    fn open(path: &std::path::Path) -> Self {
        let row = Self(Connection::open(path).unwrap());
        row.0.busy_timeout(5 * SECOND).unwrap();
        row
    }

    fn create(path: &std::path::Path) -> Self {
        let row = Self::open(path);
        row.0.execute_batch(TABLE).unwrap();
        row.0.execute_batch(&recipe().0).unwrap();
        row
    }

    fn run(&self, sql: &str, quantity: u64, fence: u64, owner: &str) -> bool {
        let fence = i64::try_from(fence).unwrap();
        let quantity = i64::try_from(quantity).unwrap();
        let values = named_params! {
            ":id": 1, ":quantity": quantity, ":fence": fence, ":owner": owner
        };
        self.0.execute(sql, values).unwrap() == 1
    }
}

impl Row for Lite {
    fn write(&self, quantity: u64, fence: u64, owner: &str) -> bool {
        self.run(&recipe().1, quantity, fence, owner)
    }

    fn write_unguarded(&self, quantity: u64, fence: u64, owner: &str) -> bool {
        self.run(&unguarded(), quantity, fence, owner)
    }

    fn quantity(&self) -> u64 {
        let quantity = self.0.query_row("SELECT quantity FROM stock", [], |row| row.get(0));
        let quantity: i64 = quantity.unwrap();
        quantity.unsigned_abs()
    }
}

struct Post(Postgres);

impl Post {
    fn create(postgres: Postgres) -> Self {
        postgres.run(TABLE, &[]);
        postgres.run(&recipe().0, &[]);
        Self(postgres)
    }

    fn run(&self, sql: &str, quantity: u64, fence: u64, owner: &str) -> bool {
        let values = [
            ("id", "1".to_owned()),
            ("quantity", quantity.to_string()),
            ("fence", fence.to_string()),
            ("owner", format!("'{owner}'")),
        ];
        match self.0.run(sql, &values).as_str() {
            "UPDATE 1" => true,
            "UPDATE 0" => false,
            other => panic!("{other}"),
        }
    }
}

impl Row for Post {
    fn write(&self, quantity: u64, fence: u64, owner: &str) -> bool {
        self.run(&recipe().1, quantity, fence, owner)
    }

    fn write_unguarded(&self, quantity: u64, fence: u64, owner: &str) -> bool {
        self.run(&unguarded(), quantity, fence, owner)
    }

    fn quantity(&self) -> u64 {
        self.0.run("SELECT quantity FROM stock", &[]).parse().unwrap()
    }
}

/// Only a higher fence, or the same one from the same owner, changes the row.
fn refuses_the_old(row: &dyn Row) {
    // As large as those that are minted: the clock in microseconds.
    let now = 1_800_000_000_000_000;
    assert!(row.write(10, now, "ann:1"));
    assert!(row.write(11, now, "ann:1"), "again by the same owner");
    assert!(row.write(11, now, "ann:1"), "the very same write again");
    assert!(row.write(20, now + 1, "bob:2"));
    assert!(!row.write(12, now, "ann:1"), "an older owner");
    assert!(!row.write(30, now + 1, "eve:3"), "the same number from somebody else");
    assert_eq!(row.quantity(), 20);
    // In contrast: without the condition the old one writes over the new one.
    assert!(row.write_unguarded(12, now, "ann:1"));
    assert_eq!(row.quantity(), 12);
}

#[test]
fn sqlite_refuses_the_old() {
    let folder = Folder::new("guard");
    refuses_the_old(&Lite::create(&folder.path().join("stock.sqlite")));
}

#[test]
fn postgres_refuses_the_old() {
    let Some(postgres) = Postgres::start() else { return };
    refuses_the_old(&Post::create(postgres));
}

/// What the actor does: it holds the lock, is paused, and writes when it goes on, without looking at anything.
pub(crate) async fn write_when_told(locks: &firstcome_lock::Locks, path: &str) {
    let lease = take(&locks.mutex("x").unwrap()).await;
    let row = Lite::open(std::path::Path::new(path));
    assert!(row.write(1, lease.fence().get(), lease.owner()));
    println!("\nheld {} {}", lease.fence(), lease.owner());
    // It hears this when it goes on, and writes at once: the worst of all times to have been paused.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("\nwrote {}", row.write(13, lease.fence().get(), lease.owner()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_was_paused_beyond_its_lease_changes_no_row() {
    let Some(redis) = RedisServer::start() else { return };
    let folder = Folder::new("guard");
    let path = folder.path().join("stock.sqlite");
    let row = Lite::create(&path);
    let bob = client_of(&redis).await;
    let role = format!("write:{}", path.display());
    let mut actor = Actor::start(&role, &redis);
    let held = actor.hear("held").await;
    let (old, owner) = held.split_once(' ').unwrap();
    let old: u64 = old.parse().unwrap();
    actor.signal("-STOP").await;
    let lease = bob.mutex("x").unwrap().lock().await.unwrap();
    assert!(row.write(2, lease.fence().get(), lease.owner()));
    actor.tell("go on").await;
    actor.signal("-CONT").await;
    assert_eq!(actor.hear("wrote").await, "false");
    assert_eq!(row.quantity(), 2);
    assert!(lease.is_valid());
    lease.release().await.unwrap();
    until_free(&bob, "x").await;
    // In contrast: the same write without its condition.
    assert!(row.write_unguarded(13, old, owner));
    assert_eq!(row.quantity(), 13);
}

/// The guarded row in a MariaDB, over connections that do not say "found rows": a column that each write raises makes the
/// one that changes nothing else count, too.
struct Maria(MySqlPool);

impl Maria {
    fn open(url: &str) -> Self {
        Self(MySqlPool::new(firstcome_store::mysql::MySqlOptions::new(url)).unwrap())
    }

    async fn create(url: &str) -> Self {
        let row = Self::open(url);
        row.0.step(TABLE).await.unwrap();
        row.0.step(&recipe().0).await.unwrap();
        let version = "ALTER TABLE stock ADD COLUMN version bigint NOT NULL DEFAULT 0";
        row.0.step(version).await.unwrap();
        row
    }

    async fn run(&self, sql: &str, quantity: u64, fence: u64, owner: &str) -> bool {
        let sql = sql
            .trim_end_matches(';')
            .replacen("SET ", "SET version = version + 1, ", 1)
            .replace(":quantity", &quantity.to_string())
            .replace(":fence", &fence.to_string())
            .replace(":owner", &mysql::text(owner))
            .replace(":id", "1");
        let sets = self.0.step(&format!("{sql}; SELECT ROW_COUNT()")).await.unwrap();
        mysql::cell::<i64>(&sets[0][0], 0).unwrap() == 1
    }

    async fn write(&self, quantity: u64, fence: u64, owner: &str) -> bool {
        self.run(&recipe().1, quantity, fence, owner).await
    }

    async fn quantity(&self) -> u64 {
        let sets = self.0.step("SELECT quantity FROM stock").await.unwrap();
        mysql::cell(&sets[0][0], 0).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_refuses_the_old() {
    let Some(server) = MariaDb::shared() else { return };
    let row = Maria::create(&server.new_database()).await;
    let now = 1_800_000_000_000_000;
    assert!(row.write(10, now, "ann:1").await);
    assert!(row.write(11, now, "ann:1").await, "again by the same owner");
    assert!(row.write(11, now, "ann:1").await, "the very same write again");
    assert!(row.write(20, now + 1, "bob:2").await);
    assert!(!row.write(12, now, "ann:1").await, "an older owner");
    assert!(!row.write(30, now + 1, "eve:3").await, "the same number from somebody else");
    assert_eq!(row.quantity().await, 20);
    // In contrast: without the condition the old one writes over the new one.
    assert!(row.run(&unguarded(), 12, now, "ann:1").await);
    assert_eq!(row.quantity().await, 12);
}

/// What the actor does: it leads, is paused, and writes when it goes on, without looking at anything.
pub(crate) async fn lead_and_write(locks: &firstcome_lock::Locks, url: &str) {
    let election = Election::new(locks, "boss").unwrap().lease(SECOND);
    let row = Maria::open(url);
    let row = &row;
    let work = |term: Term| async move {
        let (fence, owner) = (term.fence().get(), term.lease().owner().to_owned());
        assert!(row.write(1, fence, &owner).await);
        println!("\nheld {fence} {owner}");
        // No step of it can be cancelled: it writes before anything else runs here when it goes on.
        tokio::task::block_in_place(|| {
            std::io::stdin().read_line(&mut String::new()).unwrap();
            let wrote = row.write(13, fence, &owner);
            println!("\nwrote {}", tokio::runtime::Handle::current().block_on(wrote));
        });
    };
    election.run(work).await.ok();
}

/// The lock and the row in the same MariaDB; the leader is paused beyond its term, and its late write changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_paused_changes_no_row_in_mariadb() {
    let Some(server) = MariaDb::shared() else { return };
    let url = server.new_database();
    let row = Maria::create(&url).await;
    let bob = firstcome_lock::Locks::connect(&url).await.unwrap();
    let mut actor = Actor::start_at("write in MariaDB", &url);
    let held = actor.hear("held").await;
    let (old, owner) = held.split_once(' ').unwrap();
    let old: u64 = old.parse().unwrap();
    actor.signal("-STOP").await;
    let lease = bob.mutex("boss").unwrap().lock().await.unwrap();
    assert!(lease.fence().get() > old);
    assert!(row.write(2, lease.fence().get(), lease.owner()).await);
    actor.tell("go on").await;
    actor.signal("-CONT").await;
    assert_eq!(actor.hear("wrote").await, "false");
    assert_eq!(row.quantity().await, 2);
    assert!(lease.is_valid());
    // In contrast: the same write without its condition.
    assert!(row.run(&unguarded(), 13, old, owner).await);
    assert_eq!(row.quantity().await, 13);
}

/// PostgreSQL's page names the statements, and says that the columns are the same everywhere.
#[test]
fn the_statements_that_the_documentation_names_are_those_that_run() {
    use firstcome_lock::Database;
    let page = include_str!("../../../../docs/reference/in-postgresql.md");
    let columns = |database: Database| -> Vec<&'static str> {
        let lines = database.create_tables().lines().map(str::trim);
        let lines = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        lines.filter_map(|line| line.split(' ').next()).collect()
    };
    for (database, file, text) in [
        (Database::Postgres, "postgres", include_str!("../../src/sql/postgres/create.sql")),
        (Database::MySql, "mysql", include_str!("../../src/sql/mysql/create.sql")),
        (Database::Sqlite, "sqlite", include_str!("../../src/sql/sqlite/create.sql")),
    ] {
        assert!(page.contains(&format!("src/sql/{file}/create.sql")), "{file} is not on the page");
        assert_eq!(database.create_tables().trim(), text.trim(), "{file}");
        assert_eq!(columns(database), columns(Database::Postgres), "{file}");
    }
}
