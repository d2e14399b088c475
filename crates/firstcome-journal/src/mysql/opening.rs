//! Opens a journal: looks at the server, and makes the tables where they are not there.

use super::fitness::{ServerSettings, check_version, promise, warnings};
use super::load::{RUN, cell, run_of};
use super::{ANSWER_WITHIN, CONNECTIONS, IDLE_WITHIN, Inner, LOCK_WITHIN, MySql, Tables};
use crate::archive::Archiving;
use crate::database::{
    DatabaseOptions, Durability, OwnerColumns, PollPace, Run, TABLES, is_missing, refused, strange,
    unchanged,
};
use crate::entry::Sealer;
use crate::error::JournalError;
use crate::journal::promise::Promise;
use crate::name::Name;
use firstcome_core::LEVEL;
use firstcome_core::names::SpaceId;
use firstcome_inject::{Mistake, inject};
use firstcome_store::mysql::{MySqlOptions, MySqlPool, bytes, text};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use tokio::sync::Notify;

pub(super) async fn open(
    store: MySqlOptions,
    options: DatabaseOptions,
) -> Result<MySql, JournalError> {
    let tables = Tables::of(&options.space_name)?;
    let pool = pool(store)?;
    let settings = look(&pool).await?;
    settings.check(options.durability)?;
    let head = tables.sql("SELECT 1 FROM `~head` LIMIT 1");
    match pool.step(&head).await {
        Ok(_) => {}
        Err(missing) if is_missing(&missing) => {
            options.without_a_space(None)?;
            make_tables(&pool, &tables).await?;
        }
        Err(failure) => return Err(refused(failure)),
    }
    let space = enter(&pool, &tables, &options).await?;
    make_token(&pool, &tables).await.map_err(refused)?;
    let run = current_run(&pool, &tables).await?;
    let sealer = Sealer { space };
    Ok(MySql {
        inner: Arc::new(Inner {
            run: Run::new(run),
            pace: PollPace::new(),
            archiving: Archiving::new(options.archive.clone(), sealer),
            warnings: warnings(options.durability),
            pool,
            tables,
            space,
            options,
            refusals: Notify::new(),
            blind: inject(Mistake::PredecessorIgnored),
        }),
    })
}

impl MySql {
    /// Asks the server what it promises by its settings as they are now.
    pub(crate) async fn look_at_promise(&self) -> Result<Promise, JournalError> {
        let Inner { pool, options, .. } = &*self.inner;
        let settings = look(pool).await.map_err(unchanged)?;
        if settings.is_read_only() {
            return Err(JournalError::Unavailable("a replica answers".to_owned()));
        }
        let less = settings.less(options.durability).map(|found| options.less_durable(found));
        let promised = if less.is_some() { Durability::Memory } else { options.durability };
        let warnings = warnings(options.durability);
        Ok(Promise { sentence: promise(promised).to_owned(), less, warnings })
    }
}

/// Makes the connections of a journal; nothing is sent yet.
pub(super) fn pool(store: MySqlOptions) -> Result<MySqlPool, JournalError> {
    let store = store
        .connections(CONNECTIONS)
        .answer_within(ANSWER_WITHIN)
        .lock_within(LOCK_WITHIN)
        .idle_within(IDLE_WITHIN);
    MySqlPool::new(store).map_err(refused)
}

/// Refuses what is not MariaDB, and gives its settings.
pub(super) async fn look(pool: &MySqlPool) -> Result<ServerSettings, JournalError> {
    let version = pool.step("SELECT version()").await.map_err(refused)?;
    let version = version.first().and_then(|rows| rows.first()).ok_or_else(|| strange("no row"))?;
    check_version(&cell::<String>(version, 0)?)?;
    let names: Vec<String> = ServerSettings::NAMES.iter().map(|name| text(name)).collect();
    let names = names.join(", ");
    let sql = format!(
        "SELECT variable_name, variable_value FROM information_schema.global_variables WHERE variable_name IN ({names})"
    );
    let found = pool.step(&sql).await.map_err(refused)?;
    let pair = |row| Ok((cell(row, 0)?, cell(row, 1)?));
    let pairs: Vec<_> = found.iter().flatten().map(pair).collect::<Result<_, JournalError>>()?;
    Ok(ServerSettings::new(pairs.into_iter()))
}

/// Makes the tables, as far as they are not there.
pub(super) async fn make_tables(pool: &MySqlPool, tables: &Tables) -> Result<(), JournalError> {
    pool.step(&tables.sql(include_str!("schema.sql"))).await.map_err(refused)?;
    Ok(())
}

/// Returns this run of the server a token, if it has none.
pub(super) async fn make_token(
    pool: &MySqlPool,
    tables: &Tables,
) -> Result<(), firstcome_store::StoreError> {
    let token = RandomState::new().build_hasher().finish() >> 1;
    let text = format!("INSERT IGNORE INTO `~run` VALUES (1, {token})");
    pool.step(&tables.sql(&text)).await.map(drop)
}

/// Returns the number of this run of the server; one that nobody has where it has no token.
pub(super) async fn current_run(pool: &MySqlPool, tables: &Tables) -> Result<i64, JournalError> {
    let found = pool.step(&tables.sql(RUN)).await.map_err(refused)?;
    Ok(run_of(found.first().ok_or_else(|| strange("no run"))?)?.unwrap_or(0))
}

/// Opens a space, or makes it where nothing is stored of it; gives its identity.
async fn enter(
    pool: &MySqlPool,
    tables: &Tables,
    options: &DatabaseOptions,
) -> Result<SpaceId, JournalError> {
    let head = tables.sql("SELECT tables, space, level, mark FROM `~head` WHERE one = 1");
    let mut found = pool.step(&head).await.map_err(refused)?;
    if found.first().is_none_or(Vec::is_empty) {
        if let Some(space) = options.without_a_space(None)? {
            return Ok(space);
        }
        make_space(pool, tables, options).await?;
        found = pool.step(&head).await.map_err(refused)?;
    }
    let row = found.first().and_then(|rows| rows.first()).ok_or_else(|| strange("no head"))?;
    let Some(space) = cell::<Option<Vec<u8>>>(row, 1)? else {
        let mark: Vec<u8> = cell(row, 3)?;
        return options.without_a_space(Some(&mark))?.ok_or_else(|| strange("no space"));
    };
    OwnerColumns { tables: cell(row, 0)?, space: &space, level: cell(row, 2)? }.check(options)
}

/// Makes the row of the head; whoever comes second finds that of the first.
async fn make_space(
    pool: &MySqlPool,
    tables: &Tables,
    options: &DatabaseOptions,
) -> Result<(), JournalError> {
    let left = pool.step(&tables.sql("SELECT 1 FROM `~entries` LIMIT 1")).await.map_err(refused)?;
    if left.first().is_some_and(|rows| !rows.is_empty()) {
        return Err(JournalError::Broken("it has entries and no head".to_owned()));
    }
    let name = bytes(&Name::default().to_bytes());
    let statement = tables.sql(&format!(
        "INSERT IGNORE INTO `~head` VALUES (1, {TABLES}, {}, {LEVEL}, 0, 0, 0, {name}, NULL, 0, {name}, NULL, NULL)",
        bytes(&options.fresh.0)
    ));
    pool.step(&statement).await.map_err(refused).map(drop)
}
