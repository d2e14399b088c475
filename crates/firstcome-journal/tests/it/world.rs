//! Folders, clocks and bodies for the tests.

use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::PieceName;
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_faults::faulty::Faulty;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::memory::Memory;
use firstcome_journal::mysql::{self, MySql};
use firstcome_journal::nats::{self, Nats};
use firstcome_journal::postgres::{self, Postgres};
use firstcome_journal::redis::{self, Durability, Redis};
use firstcome_journal::sqlite::{Options, Sqlite};
use firstcome_journal::{Append, AppendAnswer, Clock, Entry, Journal, JournalError, Name};
use firstcome_testbed::{
    MariaDb, Nats as NatsServer, NatsCluster, PgBouncer, Postgres as Database, RedisCluster,
    RedisServer as Server,
};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(crate) const SPACE: SpaceId = SpaceId([7; 16]);
/// Noon of a day in 2027, in microseconds.
pub(crate) const NOON: i64 = 1_803_988_800_000_000;
pub(crate) const MINUTE: i64 = 60_000_000;

/// A folder that goes when this does.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("journal-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind is in the build's own temporary folder.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A clock that stands still until it is set.
#[derive(Clone, Debug)]
pub(crate) struct Hands(Arc<AtomicI64>);

impl Hands {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(NOON)))
    }

    pub(crate) fn clock(&self) -> Clock {
        let hands = Arc::clone(&self.0);
        Clock::of(move || hands.load(Ordering::SeqCst))
    }

    pub(crate) fn turn(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

/// A test of a store that is running. All have this one type, so that the compiler makes each once and not once for each store.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs a test on one of the stores, if its server is installed.
pub(crate) fn run(store: &str, test: for<'a> fn(&'a Stage) -> Running<'a>) {
    let whole: Running<'_> = Box::pin(async move {
        if let Some(stage) = Stage::named(store).await {
            test(&stage).await;
        }
    });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(whole);
}

/// A journal to play on, with its clock.
pub(crate) struct Stage {
    pub(crate) journal: Journal,
    pub(crate) hands: Hands,
    folder: Option<Scratch>,
    server: Option<Server>,
    /// A database of its own in a PostgreSQL, by its URL.
    database: Option<(&'static Database, String)>,
    _pooler: Option<PgBouncer>,
    /// A database of its own in a MariaDB, by its name.
    maria: Option<(&'static MariaDb, String)>,
    /// A stream in a NATS server, by the name of its space.
    nats: Option<(String, String)>,
    /// The memory that the journal is, or is made of.
    beyond: Option<Memory>,
}

impl Stage {
    async fn named(store: &str) -> Option<Self> {
        match store {
            "memory" => Some(Self::memory()),
            "memory_without_conditions" => Some(Self::log()),
            "distant_without_conditions" => Some(Self::distant_log()),
            "distant_without_faults" => Some(Self::distant()),
            "faulty_without_faults" => Some(Self::faulty()),
            "sqlite" => Some(Self::sqlite()),
            "redis" => Self::redis().await,
            "postgres" => Self::postgres().await,
            "postgres_behind_a_pooler" => Self::pooled_postgres().await,
            "mariadb" => Self::mariadb().await,
            "nats" => Self::nats().await,
            "nats_cluster" => Self::nats_cluster().await,
            other => panic!("{other} is no store"),
        }
    }

    fn memory() -> Self {
        let hands = Hands::new();
        let memory = Memory::new(SPACE, hands.clock()).for_several();
        let (journal, beyond) = (Journal::Memory(memory.clone()), Some(memory));
        Self { beyond, ..Self::bare(journal, hands) }
    }

    /// One that takes each append without a condition.
    fn log() -> Self {
        let hands = Hands::new();
        let memory = Memory::new(SPACE, hands.clock()).for_several().without_conditions(1024);
        let (journal, beyond) = (Journal::Memory(memory.clone()), Some(memory));
        Self { beyond, ..Self::bare(journal, hands) }
    }

    /// The same at the end of a way, with an entry that counts only behind the one before it.
    fn distant_log() -> Self {
        let stage = Self::log();
        let memory = stage.beyond.clone().map(|memory| memory.without_conditions(1));
        Self { beyond: memory, ..stage }
            .wrapped(|memory| crate::distant::Road::to(memory).journal())
    }

    /// One at the end of a way on which everything arrives.
    fn distant() -> Self {
        Self::memory().wrapped(|memory| crate::distant::Road::to(memory).journal())
    }

    /// One with faults, of which none is planned.
    fn faulty() -> Self {
        Self::memory().wrapped(|memory| Faulty::new(Journal::Memory(memory.clone())).journal())
    }

    fn wrapped(self, wrap: impl FnOnce(&Memory) -> Journal) -> Self {
        Self { journal: wrap(self.beyond.as_ref().unwrap()), ..self }
    }

    fn sqlite() -> Self {
        let (hands, scratch) = (Hands::new(), Scratch::new());
        let journal = Journal::Sqlite(open(&scratch.data(), &hands));
        Self { folder: Some(scratch), ..Self::bare(journal, hands) }
    }

    /// A server with a clock of ours; `None` where none is installed.
    async fn redis() -> Option<Self> {
        let (hands, server) = (Hands::new(), Server::start()?);
        let mut options = redis::Options::new(SPACE, Durability::Memory);
        options.clock = Some(hands.clock());
        let store = firstcome_store::RedisOptions::new(server.url());
        let journal = Journal::Redis(Redis::open(store, options).await.unwrap());
        Some(Self { server: Some(server), ..Self::bare(journal, hands) })
    }

    /// A space of a Redis Cluster, with a clock of ours.
    pub(crate) async fn in_cluster(cluster: &RedisCluster, space_name: &str) -> Self {
        let hands = Hands::new();
        let mut options = redis::Options::new(SPACE, Durability::Memory);
        (options.clock, options.space_name) = (Some(hands.clock()), space_name.to_owned());
        let store = firstcome_store::RedisOptions::new(cluster.url());
        let journal = Journal::Redis(Redis::open(store, options).await.unwrap());
        Self::bare(journal, hands)
    }

    /// A database in a PostgreSQL, with a clock of ours; `None` where none is installed.
    async fn postgres() -> Option<Self> {
        let server = Database::shared()?;
        let url = server.new_database();
        Self::in_database(server, &url, url.clone()).await
    }

    /// The same behind a pooler that gives each transaction any of two connections.
    async fn pooled_postgres() -> Option<Self> {
        let server = Database::shared()?;
        let pooler = PgBouncer::start(server, 2)?;
        let url = server.new_database();
        let port = |port: u16| format!(":{port}/");
        let through = url.replace(&port(server.port()), &port(pooler.port()));
        let stage = Self::in_database(server, &url, through).await?;
        Some(Self { _pooler: Some(pooler), ..stage })
    }

    async fn in_database(server: &'static Database, url: &str, through: String) -> Option<Self> {
        let hands = Hands::new();
        let mut options = postgres::DatabaseOptions::new(SPACE, postgres::Durability::Memory);
        options.clock = Some(hands.clock());
        let store = firstcome_store::postgres::PostgresOptions::new(through);
        let journal = Journal::Postgres(Postgres::open(store, options).await.unwrap());
        let database = Some((server, name_of_database(url)));
        Some(Self { database, ..Self::bare(journal, hands) })
    }

    /// A database in a MariaDB, with a clock of ours; `None` where none is installed.
    async fn mariadb() -> Option<Self> {
        let server = MariaDb::shared()?;
        let (url, hands) = (server.new_database(), Hands::new());
        let mut options = mysql::DatabaseOptions::new(SPACE, mysql::Durability::Memory);
        options.clock = Some(hands.clock());
        let store = firstcome_store::mysql::MySqlOptions::new(&*url);
        let journal = Journal::MySql(MySql::open(store, options).await.unwrap());
        Some(Self { maria: Some((server, name_of_database(&url))), ..Self::bare(journal, hands) })
    }

    /// A space in a NATS server, with a clock of ours; `None` where none is installed.
    async fn nats() -> Option<Self> {
        Self::in_nats(NatsServer::shared()?.url()).await
    }

    /// A space in three NATS servers that are a cluster.
    async fn nats_cluster() -> Option<Self> {
        Self::in_nats(NatsCluster::shared()?.url()).await
    }

    async fn in_nats(url: String) -> Option<Self> {
        let (space, hands) = (NatsServer::new_space(), Hands::new());
        let mut options = nats::DatabaseOptions::new(SPACE, nats::Durability::Memory);
        (options.clock, options.space_name) = (Some(hands.clock()), space.clone());
        let store = firstcome_store::nats::NatsOptions::new(&*url);
        let journal = Journal::Nats(Nats::open(store, options).await.unwrap());
        Some(Self { nats: Some((url, space)), ..Self::bare(journal, hands) })
    }

    fn bare(journal: Journal, hands: Hands) -> Self {
        let (folder, server, database, beyond) = (None, None, None, None);
        Self {
            journal,
            hands,
            folder,
            server,
            database,
            _pooler: None,
            maria: None,
            nats: None,
            beyond,
        }
    }

    /// Says whether it is in a store that outlives it.
    pub(crate) fn is_in_a_store(&self) -> bool {
        let in_a_database = self.database.is_some() || self.maria.is_some();
        self.server.is_some() || in_a_database || self.nats.is_some()
    }

    /// Has the store lose everything.
    pub(crate) async fn empty(&self) {
        if let Some((url, space)) = &self.nats {
            delete_streams(url, space).await;
            return;
        }
        if let Some((server, name)) = &self.maria {
            server.sql(&format!("DROP DATABASE {name}; CREATE DATABASE {name}"));
            return;
        }
        match (&self.beyond, &self.server, &self.database) {
            (Some(memory), ..) => memory.empty(),
            (_, Some(server), _) => assert_eq!(server.ask("FLUSHALL"), "+OK"),
            (.., Some((server, name))) => {
                server.sql(
                    name,
                    "SET client_min_messages = error; DROP SCHEMA fc_journal_main CASCADE",
                );
            }
            _ => panic!("only a shared store is emptied: {:?}", self.folder),
        }
    }
}

/// Removes the streams of a journal with all that is in them.
pub(crate) async fn delete_streams(url: &str, space: &str) {
    delete_stream(url, &format!("fc_log_{space}"), format!("fc-log.{space}.probe")).await;
    delete_stream(url, &format!("fc_journal_{space}"), format!("fc.{space}.probe")).await;
}

/// Removes a stream; a message to `probed` would be stored in it.
pub(crate) async fn delete_stream(url: &str, name: &str, probed: String) {
    let nats = firstcome_store::nats::NatsConnection::connect(
        firstcome_store::nats::NatsOptions::new(url),
    );
    let nats = nats.await.unwrap();
    nats.ask(&format!("STREAM.DELETE.{name}"), &serde_json::Value::Null).await.unwrap();
    // A cluster may take messages to it for a moment more, and answer nothing.
    let stream = firstcome_store::nats::Stream::new(nats, name.to_owned());
    let gone = || stream.probe(probed.clone());
    while !matches!(gone().await, Err(firstcome_store::StoreError::Unreachable { .. })) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The name of the database that a URL of a [`Database`] names.
pub(crate) fn name_of_database(url: &str) -> String {
    let (_, name) = url.rsplit_once('/').unwrap();
    name.split('?').next().unwrap().to_owned()
}

pub(crate) fn options(hands: &Hands) -> Options {
    Options { clock: hands.clock(), space: Some(SPACE), ..Options::new(SPACE) }
}

pub(crate) fn open(data: &Path, hands: &Hands) -> Sqlite {
    Sqlite::open(&DataFolder::take(data).unwrap(), options(hands)).unwrap()
}

pub(crate) fn node(letter: u8) -> NodeId {
    NodeId([letter; 16])
}

/// A node that appends and remembers what it applied.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub(crate) node: NodeId,
    pub(crate) number: u64,
    pub(crate) applied: u64,
    pub(crate) applied_name: Name,
}

impl Player {
    pub(crate) fn new(letter: u8) -> Self {
        Self { node: node(letter), number: 0, applied: 0, applied_name: Name::default() }
    }

    /// The next batch: a claim of this subject.
    pub(crate) fn next(&mut self, subject: &str) -> Append {
        self.number += 1;
        self.again(subject)
    }

    /// The batch of before, with the same bytes.
    pub(crate) fn again(&self, subject: &str) -> Append {
        let name = Name { node: self.node, number: self.number };
        let body = body(name, subject).into();
        Append { body, name, applied: self.applied, applied_name: self.applied_name }
    }

    /// Appends a claim and applies what comes back.
    pub(crate) async fn claims(
        &mut self,
        journal: &Journal,
        subject: &str,
    ) -> Result<AppendAnswer, JournalError> {
        let append = self.next(subject);
        let exchange = journal.append(append).await?;
        self.apply(&exchange.entries);
        Ok(exchange)
    }

    /// Applies entries: each must follow and name the one before.
    pub(crate) fn apply(&mut self, entries: &[Entry]) {
        for entry in entries {
            assert_eq!(entry.position, self.applied + 1, "entries are dense");
            assert_eq!(entry.before, self.applied_name, "entry {} names another", entry.position);
            self.applied = entry.position;
            self.applied_name = name_of(entry);
        }
    }
}

pub(crate) fn body(name: Name, subject: &str) -> Vec<u8> {
    let mut writer = BodyWriter::new(name.node, name.number, 0);
    assert!(writer.push(&Command::claim("spring", None, subject)));
    writer.finish()
}

pub(crate) fn name_of(entry: &Entry) -> Name {
    let (stamp, _) = entry.open().unwrap();
    Name { node: stamp.node, number: stamp.number }
}

pub(crate) fn subject_of(entry: &Entry) -> String {
    let (_, body) = entry.open().unwrap();
    match &body.commands().unwrap()[..] {
        [Command::Claim { subject, .. }] => (*subject).to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Everything a journal holds from a position on.
pub(crate) async fn all(journal: &Journal, mut after: u64) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let more = journal.read(after).await.unwrap().entries;
        let Some(last) = more.last() else { return entries };
        after = last.position;
        entries.extend(more);
    }
}

/// Installs a manifest of the state after the entry at a position.
pub(crate) async fn install(
    journal: &Journal,
    position: u64,
    manifest: Vec<u8>,
    pieces: Vec<PieceName>,
    term: u64,
) -> Result<(), JournalError> {
    let entry = match position.checked_sub(1) {
        Some(before) => journal.read(before).await.unwrap().entries.into_iter().next(),
        None => None,
    };
    let name = entry.map_or(Name::default(), |entry| entry.name().unwrap());
    journal.install(position, name, manifest, pieces, term).await
}

/// Says that a server is unfit, with these words in the reason or in what to do.
pub(crate) fn says(failure: &JournalError, words: &[&str]) {
    let JournalError::Unfit { why, fix } = failure else { panic!("{failure:?}") };
    let all = format!("{why}; {fix}");
    assert!(words.iter().all(|word| all.contains(word)), "{all}");
}

/// Asks until there is another answer than that the server is out of reach or another one.
pub(crate) async fn patiently<T>(
    ask: impl AsyncFn() -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match ask().await {
            Err(
                JournalError::Unavailable(_) | JournalError::Unknown(_) | JournalError::Changed,
            ) if Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            answer => return answer,
        }
    }
}
