//! Locks in a stream of NATS JetStream: a message for each lock, which is replaced on the condition that it is still the last
//! one of its subject.
//!
//! The clock is that of the server that leads the stream.

use std::time::Duration;

use firstcome_store::StoreError;
use firstcome_store::nats::{Keeps, NatsConnection, NatsOptions, Put, Stored, Stream};
use serde_json::{Value, json};
use tokio::time::Instant;

#[cfg(feature = "permits")]
use super::permit_row::{PermitStep, Permits};
use super::retry::{TRIES, pause};
use super::row::{Row, Rows, Seen, Step};
use crate::error::Error;

/// The stream, and what its subjects begin with.
const STREAM: &str = "firstcome_locks";
const SUBJECTS: &str = "fc-locks.>";
const LOCKS: &str = "fc-locks.lock.";
const GUARDS: &str = "fc-locks.guard.";
/// A subject to which nothing is stored.
const PROBED: &str = "fc-locks.probe";

/// How long a stream that is not ready is looked for.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// On how many servers of a cluster the stream is.
const COPIES: u32 = 3;

/// How much of a node's id is kept.
const LONGEST_NODE: usize = 255;

/// How long a lock that nobody uses is kept, in µs: a day.
const OLD: i64 = 86_400_000_000;

/// How many bytes are read at once.
const PAGE_BYTES: usize = 4 << 20;

/// A stream with a message for each lock.
#[derive(Debug)]
pub(crate) struct NatsTable {
    stream: Stream,
}

/// The message of a lock, and when its server read its clock.
struct Found {
    sequence: u64,
    row: Option<Row>,
    now: i64,
}

impl NatsTable {
    /// Connects, and makes the stream where it is missing and may be made.
    pub(crate) async fn connect(options: NatsOptions, make_tables: bool) -> Result<Self, Error> {
        let nats = NatsConnection::connect(options).await?;
        if !nats.is_at_least(2, 12) {
            let (version, needed) = (nats.version(), "2.12");
            return Err(StoreError::TooOld { version, needed, feature: "locks" }.into());
        }
        let copies = if nats.is_clustered() { COPIES } else { 1 };
        let stream = Stream::new(nats, STREAM.to_owned());
        let end = Instant::now() + CONNECT_WITHIN;
        // A stream that was just made has no leader for a moment, and others make it at the same time.
        while let Err(failure) = is_ready(&stream).await {
            let failure = with_page(failure);
            let missing = matches!(failure, StoreError::NoDatabase { .. });
            let passes = missing || failure.passes_by_itself();
            if Instant::now() >= end || !passes || missing && !make_tables {
                return Err(failure.into());
            }
            if missing
                && let Err(failure) = stream.create(SUBJECTS, copies, Keeps::LastOfEach).await
            {
                let made_elsewhere = matches!(failure, StoreError::JetStream { .. });
                if !(made_elsewhere || failure.passes_by_itself()) {
                    return Err(with_page(failure).into());
                }
            }
            pause().await;
        }
        check_rights(&stream).await?;
        Ok(Self { stream })
    }

    async fn find(&self, subject: &str) -> Result<Found, Error> {
        let (info, stored) = tokio::join!(self.stream.info(), self.stream.last(subject));
        let (info, stored) = (info?, stored?);
        let row = stored.as_ref().map(read).transpose()?;
        let sequence = stored.map_or(0, |stored| stored.sequence);
        Ok(Found { sequence, row: row.map(|(_, row)| row), now: info.now })
    }

    /// Replaces the message of a subject if it is the one that was found; gives whether it was.
    async fn replace(&self, subject: &str, found: u64, text: &Value) -> Result<bool, Error> {
        let rests_on = Some((subject.to_owned(), found));
        let put = Put { rests_on, ..Put::new(subject.to_owned(), text.to_string().into_bytes()) };
        match self.stream.put(vec![put]).await {
            Ok(_) => Ok(true),
            Err(StoreError::Held { .. }) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn step(
        &self,
        name: &str,
        request: i64,
        step: &Step<'_>,
    ) -> Result<Seen, Error> {
        let subject = format!("{LOCKS}{}", token(name));
        let mut tries = 1;
        loop {
            let Found { sequence, row, now } = self.find(&subject).await?;
            let Some(next) = carry_out(row.clone(), request, now, step) else {
                return Ok(Seen { row, now, carried_out: false });
            };
            if self.replace(&subject, sequence, &write(name, &next)).await? {
                return Ok(Seen { row: Some(next), now, carried_out: true });
            }
            if tries == TRIES {
                return Ok(Seen { row, now, carried_out: false });
            }
            tries += 1;
            pause().await;
        }
    }

    pub(super) async fn renew(
        &self,
        names: Vec<String>,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<i32>, Error> {
        let renewals =
            names.iter().zip(&owners).map(|(name, owner)| self.renew_one(name, owner, lease));
        futures_util::future::try_join_all(renewals).await
    }

    /// Returns 2 for renewed, 1 for held, 0 for gone.
    async fn renew_one(&self, name: &str, owner: &str, lease: i64) -> Result<i32, Error> {
        let subject = format!("{LOCKS}{}", token(name));
        for _ in 0..TRIES {
            let Found { sequence, row, now } = self.find(&subject).await?;
            let held =
                row.filter(|row| row.owner == owner && row.holds > 0 && row.expires_at > now);
            let Some(row) = held else { return Ok(0) };
            if lease == 0 {
                return Ok(1);
            }
            let next = Row { expires_at: now + lease, ..row };
            if self.replace(&subject, sequence, &write(name, &next)).await? {
                return Ok(2);
            }
            pause().await;
        }
        Ok(1)
    }

    pub(super) async fn guard(
        &self,
        name: &str,
        fence: i64,
        owner: &str,
        value: &[u8],
    ) -> Result<Option<(i64, bool)>, Error> {
        let subject = format!("{GUARDS}{}", token(name));
        let found = self.stream.last(&subject).await?;
        let (mut highest, mut last, mut sequence) = (i64::MIN, String::new(), 0);
        if let Some(stored) = found {
            let guard = parse(&stored)?;
            highest = guard["fence"].as_i64().ok_or_else(|| Error::unexpected("a fence"))?;
            last = guard["owner"].as_str().unwrap_or_default().to_owned();
            sequence = stored.sequence;
        }
        if fence < highest || (fence == highest && last != owner) {
            return Ok(Some((highest, false)));
        }
        let hex = value.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let guard = json!({ "name": name, "fence": fence, "owner": owner, "value": hex });
        let written = self.replace(&subject, sequence, &guard).await?;
        Ok(if written { Some((fence, true)) } else { None })
    }

    /// Removes old locks among the next `count` by their sequence.
    pub(super) async fn sweep(
        &self,
        rows: Rows,
        after: String,
        count: i64,
    ) -> Result<Option<String>, Error> {
        match rows {
            Rows::Locks => {}
            #[cfg(feature = "permits")]
            Rows::Permits => return Ok(None),
        }
        let now = self.stream.info().await?.now;
        let from = after.parse::<u64>().map_or(1, |last| last + 1);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let page = self.stream.next(&format!("{LOCKS}>"), from, count, PAGE_BYTES).await?;
        for stored in &page {
            // One that was used meanwhile has another sequence, and stays.
            if read(stored)?.1.expires_at < now - OLD {
                self.stream.purge(&stored.subject, stored.sequence + 1).await?;
            }
        }
        Ok(page.last().map(|stored| stored.sequence.to_string()))
    }

    pub(super) async fn held(
        &self,
        after: String,
        count: i64,
    ) -> Result<Vec<(String, Row, i64)>, Error> {
        let now = self.stream.info().await?.now;
        let (mut held, mut from) = (Vec::new(), 1);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        loop {
            let page = self.stream.next(&format!("{LOCKS}>"), from, count, PAGE_BYTES).await?;
            let Some(last) = page.last() else { break };
            from = last.sequence + 1;
            for stored in &page {
                let (name, row) = read(stored)?;
                if name > after && row.holds > 0 && row.expires_at > now {
                    held.push((name, row, now));
                }
            }
        }
        held.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        held.truncate(count);
        Ok(held)
    }

    #[cfg(feature = "permits")]
    #[expect(clippy::unused_async, reason = "the same shape as in databases")]
    pub(super) async fn permit(
        &self,
        _name: &str,
        _owner: &str,
        _request: i64,
        _step: PermitStep,
    ) -> Result<Permits, Error> {
        Err(Error::unexpected("a store that has permits"))
    }

    #[cfg(feature = "permits")]
    #[expect(clippy::unused_async, reason = "the same shape as in databases")]
    pub(super) async fn renew_permits(
        &self,
        _name: String,
        _owners: Vec<String>,
        _lease: i64,
    ) -> Result<Vec<String>, Error> {
        Err(Error::unexpected("a store that has permits"))
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.stream.nats().answer_within()
    }

    pub(super) async fn close(&self) {
        self.stream.nats().close().await;
    }
}

/// Looks whether the stream is there and takes messages.
async fn is_ready(stream: &Stream) -> Result<(), StoreError> {
    stream.info().await?;
    stream.probe(PROBED.to_owned()).await
}

/// Refuses a user that lacks a right to read the stream: it would show when a lock is taken.
async fn check_rights(stream: &Stream) -> Result<(), Error> {
    let locks = format!("{LOCKS}>");
    let last = async { stream.last(PROBED).await.map(drop) };
    let page = async { stream.next(&locks, 1, 1, PAGE_BYTES).await.map(drop) };
    let (last, page) = tokio::join!(last, page);
    for tried in [last, page] {
        // Whatever else is wrong passes, or is told to whoever takes a lock.
        if let Err(denied @ StoreError::Denied { .. }) = tried {
            return Err(with_page(denied).into());
        }
    }
    Ok(())
}

/// Says with a denial where the rights are listed.
fn with_page(failure: StoreError) -> StoreError {
    let StoreError::Denied { code, detail } = failure else { return failure };
    let detail = format!("{detail}; docs/reference/in-nats.md lists what locks need");
    StoreError::Denied { code, detail }
}

/// Returns the row after a step; `None` where it changes nothing.
fn carry_out(row: Option<Row>, request: i64, now: i64, step: &Step<'_>) -> Option<Row> {
    let held = |row: &Row| row.holds > 0 && row.expires_at > now;
    match *step {
        Step::Look => None,
        Step::Acquire { owner, lease, not_after, .. } => {
            if now > not_after {
                return None;
            }
            let expires_at = now + lease;
            match row {
                Some(row) if held(&row) => {
                    let holds = row.holds + 1;
                    (row.owner == owner).then_some(Row { holds, expires_at, request, ..row })
                }
                old => Some(fresh(old.as_ref(), owner, now, lease, request)),
            }
        }
        Step::Release { owner, all, lease } => {
            let row =
                row.filter(held).filter(|row| row.owner == owner && row.request != request)?;
            let holds = if all { 0 } else { row.holds - 1 };
            let expires_at = if holds == 0 { now } else { now + lease };
            Some(Row { holds, expires_at, request, ..row })
        }
        Step::Pass { owner, next, lease, .. } => {
            let row = row.filter(held).filter(|row| row.owner == owner && row.holds == 1)?;
            Some(fresh(Some(&row), next, now, lease, request))
        }
        Step::Undo { owner, keep } => {
            let keep = u64::try_from(keep).unwrap_or(0);
            let row = row.filter(held).filter(|row| row.owner == owner && row.holds > keep)?;
            let expires_at = if keep > 0 { row.expires_at } else { now };
            Some(Row { holds: keep, expires_at, request, ..row })
        }
        Step::Force => {
            let row = row.filter(held)?;
            Some(Row { holds: 0, expires_at: now, request, ..row })
        }
        Step::Announce { owner, term, node } => {
            let of_term = |row: &Row| i64::try_from(row.fence) == Ok(term) && row.holds > 0;
            let row = row.filter(|row| row.owner == owner && of_term(row))?;
            let metadata = Some(node.chars().take(LONGEST_NODE).collect());
            Some(Row { metadata, ..row })
        }
    }
}

/// Returns the row of a new owner, with the next fence.
fn fresh(old: Option<&Row>, owner: &str, now: i64, lease: i64, request: i64) -> Row {
    let clock = u64::try_from(now).unwrap_or(0);
    let fence = old.map_or(clock, |old| clock.max(old.fence + 1));
    let owner = owner.to_owned();
    Row { owner, holds: 1, fence, expires_at: now + lease, request, metadata: None }
}

fn write(name: &str, row: &Row) -> Value {
    json!({
        "name": name,
        "owner": row.owner,
        "holds": row.holds,
        "fence": row.fence,
        "expires_at": row.expires_at,
        "request": row.request,
        "node": row.metadata,
    })
}

fn parse(stored: &Stored) -> Result<Value, Error> {
    serde_json::from_slice(&stored.bytes).map_err(|_| Error::unexpected("the message of a lock"))
}

fn read(stored: &Stored) -> Result<(String, Row), Error> {
    let found = parse(stored)?;
    let text = |name: &str| found[name].as_str().map(str::to_owned);
    let row = || {
        Some(Row {
            owner: text("owner")?,
            holds: found["holds"].as_u64()?,
            fence: found["fence"].as_u64()?,
            expires_at: found["expires_at"].as_i64()?,
            request: found["request"].as_i64()?,
            metadata: text("node"),
        })
    };
    let read = text("name").zip(row());
    read.ok_or_else(|| Error::unexpected("the message of a lock"))
}

/// Writes a name as a part of a subject: what is no letter, digit, - or _ as = and two hexadecimal digits.
fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => token.push(char::from(byte)),
            other => token.push_str(&format!("={other:02x}")),
        }
    }
    // A look for the clock alone names no lock.
    if token.is_empty() { "=".to_owned() } else { token }
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn names_that_differ_have_subjects_that_differ() {
        assert_eq!(token("fc:{main}:leader"), "fc=3a=7bmain=7d=3aleader");
        assert_eq!(token("a.b >*"), "a=2eb=20=3e=2a");
        assert_ne!(token("a=2e"), token("a."));
        assert_eq!(token(""), "=");
    }
}
