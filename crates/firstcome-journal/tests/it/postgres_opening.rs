//! Which PostgreSQL holds a journal, and what is in it then.

use crate::world::{MINUTE, Player, SPACE, all, install, name_of, name_of_database, says};
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_journal::postgres::{self, DatabaseOptions, Durability, Postgres};
use firstcome_journal::{Journal, JournalError, Reading};
use firstcome_store::postgres::PostgresOptions;
use firstcome_testbed::{Postgres as Server, PostgresSettings};

/// The schema of the journal of the tests.
pub(crate) const SCHEMA: &str = "fc_journal_main";

/// A journal in a database of its own, by the clock of the server, and how it was opened.
pub(crate) struct Own {
    pub(crate) server: &'static Server,
    pub(crate) url: String,
    pub(crate) journal: Journal,
}

impl Own {
    pub(crate) async fn start() -> Option<Self> {
        let server = Server::shared()?;
        let url = server.new_database();
        let journal = Journal::Postgres(open(&url, |_| {}).await.unwrap());
        Some(Self { server, url, journal })
    }

    /// Opens the same journal as another node does.
    pub(crate) async fn again(&self) -> Journal {
        Journal::Postgres(open(&self.url, |_| {}).await.unwrap())
    }

    pub(crate) fn sql(&self, statements: &str) -> String {
        self.server.sql(&name_of_database(&self.url), statements)
    }
}

pub(crate) async fn open(
    url: &str,
    change: impl FnOnce(&mut DatabaseOptions),
) -> Result<Postgres, JournalError> {
    let mut options = DatabaseOptions::new(SPACE, Durability::Memory);
    change(&mut options);
    Postgres::open(PostgresOptions::new(url), options).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_is_made_once_and_is_that_of_whoever_came_first() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=8 {
        let url = url.clone();
        tasks.spawn(async move {
            open(&url, |options| options.fresh = SpaceId([number; 16])).await.unwrap().space()
        });
    }
    let spaces = tasks.join_all().await;
    assert!(spaces.iter().all(|space| *space == spaces[0]), "{spaces:?}");
    let other = SpaceId([99; 16]);
    let failure = open(&url, |options| options.wanted = Some(other)).await.unwrap_err();
    assert!(
        matches!(failure, JournalError::OtherSpace { wanted, .. } if wanted == other),
        "{failure}"
    );
    open(&url, |options| options.wanted = Some(spaces[0])).await.unwrap();
    // Another space of the same database is another journal.
    let second = open(&url, |options| options.space_name = "second".to_owned()).await.unwrap();
    assert_eq!(second.space(), SPACE);
    let long = "x".repeat(53);
    says(&open(&url, |options| options.space_name = long).await.unwrap_err(), &["at most 52"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_somebody_knows_is_not_made_again() {
    let Some(own) = Own::start().await else { return };
    let wanted = |options: &mut DatabaseOptions| options.wanted = Some(SPACE);
    own.sql(&format!("TRUNCATE {SCHEMA}.head"));
    let failure = open(&own.url, wanted).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let failure = own.journal.append(Player::new(b'a').next("ann")).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    own.sql(&format!("DROP SCHEMA {SCHEMA} CASCADE"));
    let failure = open(&own.url, wanted).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    for failure in [
        own.journal.append(Player::new(b'a').next("ann")).await.unwrap_err(),
        own.journal.read(0).await.unwrap_err(),
        own.journal.head().await.unwrap_err(),
        own.journal.mint_term().await.unwrap_err(),
    ] {
        assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    }
    let made = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'fc%'";
    assert_eq!(own.sql(made), "0", "looking makes nothing");
}

/// The tables are there, so nothing is lost: an operator dropped what he did not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_that_is_dropped_is_made_again_and_appends_go_on() {
    let Some(own) = Own::start().await else { return };
    let (journal, mut ann) = (&own.journal, Player::new(b'a'));
    ann.claims(journal, "ann").await.unwrap();
    let drop_it = || own.sql(&format!("DROP FUNCTION {SCHEMA}.append_3"));
    drop_it();
    let failure = ann.claims(journal, "bob").await.unwrap_err();
    assert!(
        matches!(&failure, JournalError::Unavailable(why) if why.contains("dropped")),
        "{failure}"
    );
    ann.claims(journal, "bob").await.unwrap();
    assert_eq!(journal.head().await.unwrap().position, 2);
    // Where the tables are gone as well, the space is lost.
    own.sql(&format!("DROP SCHEMA {SCHEMA} CASCADE"));
    let failure = ann.claims(journal, "cid").await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_a_newer_build_and_newer_levels_are_refused() {
    let Some(own) = Own::start().await else { return };
    own.sql(&format!("UPDATE {SCHEMA}.head SET level = 99"));
    let failure = open(&own.url, |_| {}).await.unwrap_err();
    assert!(matches!(failure, JournalError::TooNew(99)), "{failure}");
    own.sql(&format!("UPDATE {SCHEMA}.head SET level = 1, tables = 2"));
    says(&open(&own.url, |_| {}).await.unwrap_err(), &["version 2", "version 1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_forced_to_the_disk_is_memory_and_never_durable() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    let fsync = |options: &mut DatabaseOptions| options.durability = Durability::Fsync;
    says(&open(&url, fsync).await.unwrap_err(), &["fsync is off", "`sync`", "--durability memory"]);
    let memory = open(&url, |_| {}).await.unwrap();
    assert!(memory.promise().starts_with("memory: "), "{}", memory.promise());
    assert!(memory.warnings().iter().any(|warning| warning.what.contains("not on its disk")));

    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let more = vec!["synchronous_commit = off".to_owned()];
    let Some(server) = Server::with(PostgresSettings { more, ..settings }) else { return };
    let durable = open(&server.url(), fsync).await.unwrap();
    assert!(durable.promise().starts_with("fsync: "), "{}", durable.promise());
    // What was set for everybody is not what holds for the journal: its commits wait.
    let journal = Journal::Postgres(durable);
    Player::new(b'a').claims(&journal, "ann").await.unwrap();
    let waits = format!(
        "CREATE FUNCTION {SCHEMA}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; \
         CREATE TABLE {SCHEMA}.noted (value text); \
         CREATE TRIGGER note AFTER INSERT ON {SCHEMA}.entries EXECUTE FUNCTION {SCHEMA}.note()"
    );
    server.sql("ledger", &waits);
    let mut bob = Player::new(b'b');
    bob.claims(&journal, "bob").await.unwrap();
    let memory = Journal::Postgres(open(&server.url(), |_| {}).await.unwrap());
    bob.claims(&memory, "bob").await.unwrap();
    assert_eq!(server.sql("ledger", &format!("SELECT value FROM {SCHEMA}.noted")), "on\noff");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_rights_is_told_and_one_with_those_of_the_page_is_enough() {
    let Some(own) = Own::start().await else { return };
    let name = name_of_database(&own.url);
    let user = format!("clerk_{name}");
    own.sql(&format!("CREATE ROLE {user} LOGIN PASSWORD 'word'"));
    let url = own.url.replace("firstcome:secret-of-the-tests", &format!("{user}:word"));
    let elsewhere = |options: &mut DatabaseOptions| options.space_name = "other".to_owned();
    let failure = open(&url, elsewhere).await.unwrap_err();
    says(&failure, &["permission denied", "in-postgresql.md"]);
    // What the page tells an administrator to run, for tables that are there.
    let page = include_str!("../../../../docs/reference/in-postgresql.md");
    let grants = page.split("```sql\n").find(|block| block.starts_with("GRANT"));
    let grants = grants.unwrap().split("```").next().unwrap();
    own.sql(&grants.replace("fc_journal_SPACE", SCHEMA).replace("USER", &user));
    let journal = Journal::Postgres(open(&url, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    for _ in 0..3 {
        ann.claims(&journal, "ann").await.unwrap();
    }
    let term = journal.mint_term().await.unwrap();
    install(&journal, 2, vec![2], Vec::new(), term).await.unwrap();
    install(&journal, 3, vec![3], Vec::new(), term).await.unwrap();
    assert_eq!(journal.trim(term).await.unwrap(), 1);
    own.sql(&format!("UPDATE {SCHEMA}.entries SET at = at - {}", 20 * MINUTE));
    assert_eq!(journal.trim(term).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_the_database_do_not_reach_the_journal() {
    let Some(server) = Server::shared() else { return };
    let url = server.new_database();
    let name = name_of_database(&url);
    for setting in [
        "timezone = 'Asia/Seoul'",
        "default_transaction_isolation = 'serializable'",
        "datestyle = 'German'",
        "intervalstyle = 'sql_standard'",
        "bytea_output = 'escape'",
        "search_path = 'nowhere'",
        "standard_conforming_strings = off",
    ] {
        server.sql("postgres", &format!("ALTER DATABASE {name} SET {setting}"));
    }
    let journal = Journal::Postgres(open(&url, |_| {}).await.unwrap());
    let others: Vec<Journal> =
        vec![journal.clone(), Journal::Postgres(open(&url, |_| {}).await.unwrap())];
    let mut writers = tokio::task::JoinSet::new();
    for (letter, journal) in (b'a'..).zip(others) {
        writers.spawn(async move {
            let mut player = Player::new(letter);
            for _ in 0..50 {
                player.claims(&journal, "someone").await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let entries = all(&journal, 0).await;
    assert_eq!(entries.len(), 100);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let off = now.as_micros() as i64 - entries[99].at.as_micros();
    assert!((0..MINUTE).contains(&off), "{off} µs off: a time of another zone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_what_the_nodes_wrote_and_makes_nothing() {
    let Some(own) = Own::start().await else { return };
    let (mut ann, journal) = (Player::new(b'a'), &own.journal);
    for number in 0..70 {
        ann.claims(journal, &format!("ann{number}")).await.unwrap();
    }
    let term = journal.mint_term().await.unwrap();
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes.clone()).await.unwrap();
    install(journal, 60, b"a manifest".to_vec(), vec![name], term).await.unwrap();
    journal.skip(crate::skips::skip(65, b'a', 65)).await.unwrap();
    let (entries, head) = (all(journal, 0).await, journal.head().await.unwrap());
    let url = own.url.clone();
    let read = tokio::task::spawn_blocking(move || {
        let open = |space| postgres::open_read_only(PostgresOptions::new(&*url), space, Vec::new());
        let failure = open("other").unwrap_err();
        assert!(matches!(&failure, JournalError::NoSpace { name } if name == "other"), "{failure}");
        let reading = Reading::Database(open("main").unwrap());
        let found: Result<Vec<_>, _> = reading.entries(1).collect();
        let found: Vec<_> = found.unwrap().into_iter().map(|(entry, _)| entry).collect();
        assert_eq!(found, entries);
        assert_eq!(reading.head().unwrap().name, head.name);
        assert_eq!(reading.newest_snapshot().unwrap(), Some(b"a manifest".to_vec()));
        assert_eq!(
            (reading.piece(name).unwrap(), reading.pieces().unwrap()),
            (Some(bytes), vec![name])
        );
        assert_eq!(reading.skips().unwrap().len(), 1);
        assert_eq!(reading.first().unwrap(), 1);
        reading
    });
    let reading = read.await.unwrap();
    own.sql(&format!("UPDATE {SCHEMA}.entries SET body = 'torn' WHERE position = 7"));
    own.sql(&format!("DELETE FROM {SCHEMA}.entries WHERE position = 20"));
    let ends = tokio::task::spawn_blocking(move || {
        let of = |from: u64| reading.entries(from).last().unwrap().unwrap_err();
        assert!(matches!(of(1), JournalError::Damaged { position: 7, .. }));
        assert!(matches!(of(10), JournalError::Damaged { position: 20, .. }), "{:?}", of(10));
    });
    ends.await.unwrap();
    let failure = own.journal.read(6).await.unwrap_err();
    assert!(matches!(failure, JournalError::Damaged { position: 7, .. }), "{failure}");
    let good = own.journal.read(0).await.unwrap().entries;
    assert_eq!((good.len(), name_of(&good[5]).number), (6, 6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_and_column_is_on_the_page() {
    let Some(own) = Own::start().await else { return };
    let page = include_str!("../../../../docs/reference/in-postgresql.md");
    let sql = format!(
        "SELECT table_name, column_name FROM information_schema.columns \
         WHERE table_schema = '{SCHEMA}' ORDER BY 1, 2"
    );
    let columns = own.sql(&sql);
    assert!(columns.lines().count() > 15, "{columns}");
    for line in columns.lines() {
        let (table, column) = line.split_once(" | ").unwrap();
        let section = page.split(&format!("### `{table}`")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{table} is not on the page"));
        let section = section.split("\n#").next().unwrap();
        assert!(section.contains(&format!("`{column}`")), "{table}.{column} is not on the page");
    }
}
