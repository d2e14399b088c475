//! Opens a journal in a stream: the checks of the server and of the stream, and making a new space.

use super::change::first_head;
use super::log::Log;
use super::stored::{HeadRecord, LEAST_PAYLOAD};
use super::subjects::Subjects;
use super::view::{Remembered, Streams, View, run_of};
use super::{ANSWER_WITHIN, Inner, Nats, denied};
use crate::archive::Archiving;
use crate::database::{DatabaseError, DatabaseOptions, Durability, Run, refused};
use crate::entry::Sealer;
use crate::error::JournalError;
use crate::journal::warning::Warning;
use firstcome_core::names::SpaceId;
use firstcome_core::{LEVEL, newest_level};
use firstcome_inject::{Mistake, inject};
use firstcome_store::StoreError;
use firstcome_store::nats::{Info, NatsConnection, NatsOptions, Put, Stream};
use parking_lot::Mutex;
use serde_json::Value;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// On how many servers of a cluster a stream is.
const COPIES: u32 = 3;
/// How long a stream that is not ready is tried to be entered, and the pause in between.
const ENTER_WITHIN: Duration = Duration::from_secs(30);
const ENTER_PAUSE: Duration = Duration::from_millis(50);
/// The oldest version: batches that are stored together came with it.
const OLDEST: (i64, i64) = (2, 12);

/// Connects to a server that can hold a journal.
pub(super) async fn connect(store: NatsOptions) -> Result<NatsConnection, JournalError> {
    let connection =
        NatsConnection::connect(store.answer_within(ANSWER_WITHIN)).await.map_err(about)?;
    let (major, minor) = OLDEST;
    if !connection.is_at_least(major, minor) {
        return Err(JournalError::Unfit {
            why: format!(
                "the server runs NATS {}, a journal needs {major}.{minor}",
                connection.version()
            ),
            fix: "use a newer server".to_owned(),
        });
    }
    let payload = connection.max_payload();
    if payload < LEAST_PAYLOAD {
        return Err(JournalError::Unfit {
            why: format!(
                "its messages have at most {payload} bytes, a journal needs {LEAST_PAYLOAD}"
            ),
            fix: "set `max_payload: 1MB` in the server's configuration, its default, or more"
                .to_owned(),
        });
    }
    Ok(connection)
}

pub(super) async fn open(
    store: NatsOptions,
    options: DatabaseOptions,
) -> Result<Nats, JournalError> {
    let subjects = Subjects::of(&options.space_name)?;
    let connection = connect(store).await?;
    let streams = streams_of(&connection, subjects);
    let (space, table, log) = enter(&streams, &options).await?;
    super::rights::check(&streams, &log).await.map_err(about)?;
    let replicas = check(&table, 1)?.min(check(&log, -1)?);
    let archiving = Archiving::new(options.archive.clone(), Sealer { space });
    let run = Run::new(run_of(&streams.log.stream, &log));
    let inner = Inner {
        streams,
        space,
        options,
        run,
        remembered: Mutex::new(Remembered::default()),
        nonces: AtomicU64::new(RandomState::new().hash_one(space.0)),
        archiving,
        replicas,
        everything: inject(Mistake::PredecessorIgnored),
    };
    Ok(Nats { inner: Arc::new(inner) })
}

/// Names the streams of a journal; nothing is asked yet.
pub(super) fn streams_of(connection: &NatsConnection, subjects: Subjects) -> Streams {
    let stream = |name: String| Stream::new(connection.clone(), name);
    let everything = inject(Mistake::PredecessorIgnored);
    let log = Log::new(stream(subjects.log()), subjects.all_of_log(), everything);
    Streams { table: stream(subjects.table()), log, subjects }
}

/// Opens a space, or makes it where nothing is stored of it; gives its identity and what the streams say of themselves.
///
/// A stream that was just made has no leader for a moment, and others make it at the same time: what passes is tried again.
async fn enter(
    streams: &Streams,
    options: &DatabaseOptions,
) -> Result<(SpaceId, Info, Info), JournalError> {
    let end = Instant::now() + ENTER_WITHIN;
    loop {
        let failure = match try_enter(streams, options).await {
            Ok(Some(entered)) => return Ok(entered),
            Ok(None) => continue,
            Err(DatabaseError::Own(failure)) => return Err(failure),
            Err(DatabaseError::Store(failure)) => failure,
        };
        let made_elsewhere = matches!(failure, StoreError::JetStream { .. });
        if Instant::now() >= end || !(made_elsewhere || failure.passes_by_itself()) {
            return Err(about(failure));
        }
        sleep(ENTER_PAUSE).await;
    }
}

/// Opens a space that is there; makes a part of it where there is none, and gives nothing then.
async fn try_enter(
    streams: &Streams,
    options: &DatabaseOptions,
) -> Result<Option<(SpaceId, Info, Info)>, DatabaseError> {
    let found = match streams.look().await {
        Ok(found) => Some(found),
        Err(DatabaseError::Store(StoreError::NoDatabase { .. })) => None,
        Err(broken) => return Err(broken),
    };
    let copies = if streams.table.nats().is_clustered() { COPIES } else { 1 };
    let row = found.as_ref().and_then(|(View { head: HeadRecord { row, .. }, .. }, _)| *row);
    if let Some(row) = &row {
        check_row(row, options)?;
    } else {
        let mark = found.as_ref().and_then(|(view, _)| view.head.mark.as_deref());
        options.without_a_space(mark)?;
    }
    let Some((view, table)) = found else {
        streams.make_table(copies).await?;
        return Ok(None);
    };
    let Some(log) = view.log.clone() else {
        streams.mend_log(&view, copies).await?;
        return Ok(None);
    };
    if let Some(space) = row.map(|row| row.space).or(options.wanted) {
        return Ok(Some((space, table, log)));
    }
    if log.last > 0 {
        // Somebody else may have made the space since, and have appended.
        let head = streams.table.last(&streams.subjects.head()).await?;
        let head = head.map(|stored| HeadRecord::read(&stored.bytes)).transpose()?;
        if head.is_some_and(|head| head.row.is_some() || head.mark.is_some()) {
            return Ok(None);
        }
        let why = "its log has entries, and the table beside it is lost".to_owned();
        return Err(JournalError::Broken(why).into());
    }
    let head = first_head(options.fresh, LEVEL).write();
    let rests_on = Some((streams.subjects.head(), view.head_sequence));
    // Whoever comes second finds that of the first.
    streams.table.put(vec![Put { rests_on, ..Put::new(streams.subjects.head(), head) }]).await?;
    Ok(None)
}

fn check_row(
    row: &crate::database::HeadRow,
    options: &DatabaseOptions,
) -> Result<(), JournalError> {
    if row.level > newest_level() {
        return Err(JournalError::TooNew(row.level));
    }
    if options.vacant {
        return Err(JournalError::HasSpace(row.space));
    }
    if let Some(wanted) = options.wanted.filter(|wanted| *wanted != row.space) {
        return Err(JournalError::OtherSpace { found: row.space, wanted });
    }
    Ok(())
}

/// Refuses a stream that drops messages by itself, has another number of messages for a subject, or lacks what steps need;
/// gives on how many servers it is.
fn check(info: &Info, most: i64) -> Result<u32, JournalError> {
    let config = |name: &str| info.config.get(name).cloned().unwrap_or_default();
    let unfit = |why: String| {
        JournalError::Unfit {
        why,
        fix: "change it with `nats stream edit`, or remove the stream if nothing is in it: a server makes it as it must be"
            .to_owned(),
    }
    };
    for name in ["allow_direct", "allow_atomic"] {
        if config(name) != Value::Bool(true) {
            return Err(unfit(format!("its stream has {name} off")));
        }
    }
    if config("deny_purge") == Value::Bool(true) {
        return Err(unfit("its stream may not be trimmed (deny_purge)".to_owned()));
    }
    if config("max_msgs_per_subject").as_i64() != Some(most) {
        return Err(unfit(format!("its stream has another max_msgs_per_subject than {most}")));
    }
    if config("max_age").as_u64().is_some_and(|age| age > 0) {
        return Err(unfit("its stream drops messages by their age (max_age)".to_owned()));
    }
    let limited = |name: &str| config(name).as_i64().is_some_and(|most| most > 0);
    if (limited("max_msgs") || limited("max_bytes")) && config("discard") != "new" {
        return Err(unfit("its stream drops old messages where it is full (discard)".to_owned()));
    }
    Ok(config("num_replicas").as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(1))
}

pub(super) fn warnings(
    connection: &NatsConnection,
    durability: Durability,
    replicas: u32,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if durability == Durability::Memory {
        warnings.push(Warning {
            what: "quorum-memory: an answer leaves before its entry is on a disk, if servers do not sync each write; a power \
                   cut that takes several of them may lose the last minutes, and servers that run write them again"
                .to_owned(),
            fix: "set `sync_interval: always` in the jetstream block of each NATS server, and name their monitoring addresses \
                  with --nats-monitor"
                .to_owned(),
        });
    }
    if replicas == 1 && connection.is_clustered() {
        warnings.push(Warning {
            what: "the stream is on one server of the cluster only".to_owned(),
            fix: "nats stream edit --replicas 3".to_owned(),
        });
    }
    warnings
}

/// Says in one sentence what an accepted claim has survived.
pub(super) fn promise(durability: Durability, replicas: u32) -> String {
    let (most, lost) = match replicas {
        0 | 1 => ("its server".to_owned(), "the server's disk"),
        copies => (format!("{} of {copies} servers", copies / 2 + 1), "most of their disks"),
    };
    match durability {
        Durability::Memory => format!(
            "quorum-memory: an answer leaves after {most} took its entry; a killed process loses none, a power cut may lose \
             what was not on a disk yet"
        ),
        Durability::Fsync => format!(
            "fsync: an answer leaves after its entry is on the disk of {most}; a power cut loses none, the loss of {lost} \
             loses all"
        ),
    }
}

/// Says why a journal cannot be opened.
fn about(failure: StoreError) -> JournalError {
    if let StoreError::Denied { detail, .. } = &failure {
        return denied(detail);
    }
    refused(failure)
}
