//! Opens a journal: looks at the server, and makes the tables where they are not there.

use super::append::{CALL, FUNCTION, cell};
use super::fitness::{ServerSettings, check_version};
use super::names::Names;
use super::{ANSWER_WITHIN, CONNECTIONS, IDLE_WITHIN, Inner, LOCK_WITHIN, Postgres};
use crate::archive::Archiving;
use crate::database::{
    DatabaseOptions, Durability, OwnerColumns, PollPace, Run, TABLES, refused, unchanged,
};
use crate::entry::Sealer;
use crate::error::JournalError;
use crate::journal::promise::Promise;
use crate::name::Name;
use firstcome_core::LEVEL;
use firstcome_core::names::SpaceId;
use firstcome_inject::{Mistake, inject};
use firstcome_store::postgres::{Access, PostgresOptions, PostgresPool, ToSql, Type, Work};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::Notify;

/// What is asked of a server before anything else; the last two say whether tables and function are there.
const LOOK: &str = "SELECT pg_is_in_recovery(), current_setting('fsync') = 'on', \
    current_setting('synchronous_commit'), current_setting('full_page_writes') = 'on', \
    current_setting('synchronous_standby_names'), \
    (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, \
    to_regclass('head') IS NOT NULL, to_regproc('append_3') IS NOT NULL";

pub(super) async fn open(
    store: PostgresOptions,
    options: DatabaseOptions,
) -> Result<Postgres, JournalError> {
    let names = Names::of(&options.space_name)?;
    let pool = pool(store, &names, options.durability)?;
    check_version(&pool.version().await.map_err(refused)?)?;
    let pooled = pool.is_pooled().await.map_err(refused)?;
    let looked = look(&pool).await?;
    looked.settings.check(options.durability)?;
    if !(looked.has_tables && looked.has_function) {
        if !looked.has_tables {
            options.without_a_space(None)?;
        }
        make_tables(&pool, &names).await?;
    }
    let space = enter(&pool, &names, &options).await?;
    let append = match inject(Mistake::PredecessorIgnored) {
        true => without_names(&pool).await?,
        false => CALL,
    };
    let mut note = RandomState::new().build_hasher();
    note.write_u128(u128::from_be_bytes(options.fresh.0));
    let sealer = Sealer { space };
    Ok(Postgres {
        inner: Arc::new(Inner {
            run: Run::new(looked.run),
            listener: OnceLock::new(),
            note: format!("{:016x}", note.finish()),
            told: Mutex::default(),
            others: Mutex::default(),
            pace: PollPace::new(),
            archiving: Archiving::new(options.archive.clone(), sealer),
            warnings: looked.settings.warnings(options.durability, pooled),
            promise: looked.settings.promise(options.durability),
            refusals: Notify::new(),
            pool,
            names,
            space,
            options,
            pooled,
            append,
        }),
    })
}

/// Makes the connections of a journal; nothing is sent yet.
pub(super) fn pool(
    store: PostgresOptions,
    names: &Names,
    durability: Durability,
) -> Result<PostgresPool, JournalError> {
    let store = store
        .schema(&names.schema)
        .connections(CONNECTIONS)
        .answer_within(ANSWER_WITHIN)
        .lock_within(LOCK_WITHIN)
        .idle_within(IDLE_WITHIN);
    let store = match durability {
        Durability::Memory => store.forget_at_crash(),
        Durability::Fsync => store,
    };
    PostgresPool::new(store).map_err(refused)
}

impl Postgres {
    /// Asks the server what it promises by its settings as they are now.
    pub(crate) async fn look_at_promise(&self) -> Result<Promise, JournalError> {
        let Inner { pool, options, pooled, .. } = &*self.inner;
        let settings = look(pool).await.map_err(unchanged)?.settings;
        if settings.is_standby {
            return Err(JournalError::Unavailable("a standby answers".to_owned()));
        }
        let less = settings.less(options.durability).map(|found| options.less_durable(found));
        let promised = if less.is_some() { Durability::Memory } else { options.durability };
        let warnings = settings.warnings(options.durability, *pooled);
        Ok(Promise { sentence: settings.promise(promised), less, warnings })
    }

    /// Makes the step that appends again, where that alone is not there; says what became of the append, which stored nothing.
    pub(super) async fn make_function_again(&self) -> JournalError {
        let Inner { pool, names, space, .. } = &*self.inner;
        match look(pool).await.map_err(unchanged) {
            Ok(looked) if looked.has_tables => {}
            Ok(_) => return JournalError::Gone(*space),
            Err(failure) => return failure,
        }
        match make_tables(pool, names).await.map_err(unchanged) {
            Ok(()) => {
                JournalError::Unavailable("its function was dropped, and is there again".into())
            }
            Err(failure) => failure,
        }
    }
}

struct Looked {
    settings: ServerSettings,
    run: i64,
    has_tables: bool,
    has_function: bool,
}

async fn look(pool: &PostgresPool) -> Result<Looked, JournalError> {
    let rows = pool.step(LOOK, &[]).await.map_err(refused)?;
    let row =
        rows.first().ok_or_else(|| JournalError::Broken("it says nothing of itself".into()))?;
    let settings = ServerSettings {
        is_standby: cell(row, 0)?,
        fsync: cell(row, 1)?,
        synchronous_commit: cell(row, 2)?,
        full_page_writes: cell(row, 3)?,
        standbys: cell(row, 4)?,
    };
    Ok(Looked {
        settings,
        run: cell(row, 5)?,
        has_tables: cell(row, 6)?,
        has_function: cell(row, 7)?,
    })
}

/// Makes schema, tables and function, as far as they are not there.
pub(super) async fn make_tables(pool: &PostgresPool, names: &Names) -> Result<(), JournalError> {
    let mut session = pool.session().await.map_err(refused)?;
    let work = session.begin(Access::Usual).await.map_err(refused)?;
    let made = async {
        // Two servers that begin at once would get in each other's way.
        lock(&work, names).await?;
        let sql = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
        if work.query(sql, &[(&names.schema, Type::NAME)]).await?.is_empty() {
            work.batch(&format!("CREATE SCHEMA \"{}\"", names.schema)).await?;
        }
        work.batch(include_str!("schema.sql")).await?;
        work.batch(FUNCTION).await
    };
    match made.await {
        Ok(()) => work.commit().await.map_err(refused),
        Err(failure) => {
            work.roll_back().await;
            Err(refused(failure))
        }
    }
}

/// Removes the schema with everything in it: the tables of the journal, and those of the leader's lock.
pub(super) async fn remove(pool: &PostgresPool, names: &Names) -> Result<(), JournalError> {
    let mut session = pool.session().await.map_err(refused)?;
    let work = session.begin(Access::Usual).await.map_err(refused)?;
    let removed = work.batch(&format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", names.schema)).await;
    match removed {
        Ok(()) => work.commit().await.map_err(refused),
        Err(failure) => {
            work.roll_back().await;
            Err(refused(failure))
        }
    }
}

async fn lock(work: &Work<'_>, names: &Names) -> Result<(), firstcome_store::StoreError> {
    let key = [(&names.order_lock as &(dyn ToSql + Sync), Type::INT8)];
    work.query("SELECT pg_advisory_xact_lock($1)", &key).await.map(drop)
}

/// Opens a space, or makes it where nothing is stored of it; gives its identity.
async fn enter(
    pool: &PostgresPool,
    names: &Names,
    options: &DatabaseOptions,
) -> Result<SpaceId, JournalError> {
    let mut session = pool.session().await.map_err(refused)?;
    let work = session.begin(Access::Usual).await.map_err(refused)?;
    let entered = try_enter(&work, names, options).await;
    match entered {
        Ok(space) => work.commit().await.map_err(refused).map(|()| space),
        Err(failure) => {
            work.roll_back().await;
            Err(failure)
        }
    }
}

async fn try_enter(
    work: &Work<'_>,
    names: &Names,
    options: &DatabaseOptions,
) -> Result<SpaceId, JournalError> {
    let sql = "SELECT tables, space, level, mark FROM head";
    let mut rows = work.query(sql, &[]).await.map_err(refused)?;
    if rows.is_empty() {
        lock(work, names).await.map_err(refused)?;
        rows = work.query(sql, &[]).await.map_err(refused)?;
    }
    if let Some(row) = rows.first()
        && let Some(space) = cell(row, 1)?
    {
        let (tables, level) = (cell::<i32>(row, 0)?.into(), cell(row, 2)?);
        return OwnerColumns { tables, space, level }.check(options);
    }
    let mark = rows.first().map(|row| cell(row, 3)).transpose()?.flatten();
    match options.without_a_space(mark)? {
        Some(space) => Ok(space),
        None => make_space(work, options).await.map(|()| options.fresh),
    }
}

async fn make_space(work: &Work<'_>, options: &DatabaseOptions) -> Result<(), JournalError> {
    let left = work.query("SELECT 1 FROM entries LIMIT 1", &[]).await.map_err(refused)?;
    if !left.is_empty() {
        return Err(JournalError::Broken("it has entries and no head".to_owned()));
    }
    let sql = "INSERT INTO head (tables, space, level, epoch, term, base_position, base_name) \
        VALUES ($1, $2, $3, 0, 0, 0, $4)";
    let values: [(&(dyn ToSql + Sync), Type); 4] = [
        (&TABLES, Type::INT4),
        (&&options.fresh.0[..], Type::BYTEA),
        (&i64::from(LEVEL), Type::INT8),
        (&&Name::default().to_bytes()[..], Type::BYTEA),
    ];
    work.execute(sql, &values).await.map_err(refused).map(drop)
}

/// Makes a step for [`Mistake::PredecessorIgnored`] that compares the height alone; gives what calls it.
async fn without_names(pool: &PostgresPool) -> Result<&'static str, JournalError> {
    let blind = FUNCTION
        .replace("append_3", "append_blind")
        .replace("top.found_name IS DISTINCT FROM applied_name", "false");
    let mut session = pool.session().await.map_err(refused)?;
    let work = session.begin(Access::Usual).await.map_err(refused)?;
    work.batch(&blind).await.map_err(refused)?;
    work.commit().await.map_err(refused)?;
    Ok("SELECT * FROM append_blind($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)")
}
