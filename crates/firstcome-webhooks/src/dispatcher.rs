//! All endpoints: results are delivered to them while this server leads; and what operators ask of them at any server.

use crate::address::Allowed;
use crate::clock::now;
use crate::counts::Counts;
use crate::endpoint::{Endpoint, PARKED_MOST, Wanted};
use crate::event::Event;
use crate::post::{Answer, Post, Target, tls};
use crate::signature::Secret;
use crate::stored::{ENDPOINTS, Failure, Stored, read_one};
use crate::takeover::text_of;
use crate::worker::{DeliveryWorker, Settled, sign};
use firstcome_node::ledger::{Ledger, LedgerError};
use firstcome_node::log;
use ring::digest::{SHA256, digest};
use rustls::ClientConfig;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// How often it is looked whether this server leads, and whether endpoints changed at other servers.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a secret counts that was replaced, in microseconds: a day.
const OLD_SECRET: i64 = 86_400_000_000;
/// How often a change is made again that somebody else's change was in the way of.
const TRIES: usize = 20;

/// What an operator says of an endpoint that is added.
#[derive(Clone, Debug)]
pub struct New {
    pub url: String,
    pub wanted: Wanted,
    /// Whether a result that fails holds back those behind it.
    pub ordered: bool,
    pub note: String,
    /// The number of the result after which it begins; those that come from now on, if none.
    pub after: Option<u64>,
}

/// What came of a test event.
#[derive(Clone, Debug)]
pub struct Tested {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// What it said, cut short; or why there was none.
    pub said: String,
    pub took: Duration,
    pub taken: bool,
}

/// The endpoints of a space.
pub struct Dispatcher {
    ledger: Ledger,
    allowed: Arc<Allowed>,
    tls: Option<Arc<ClientConfig>>,
    counts: Counts,
    settled: Settled,
    changed: Notify,
}

/// A row of the table: its id, and what it says if it can be read.
type Read = (String, Result<Stored, LedgerError>);

/// Returns the number that the id of an endpoint has by the id of the request that adds it.
fn number_of(request_id: &str) -> u64 {
    let hash = digest(&SHA256, request_id.as_bytes());
    hash.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns an endpoint to the request that added it.
fn added_before(stored: Stored, new: &New) -> Result<(String, Endpoint, Secret), Failure> {
    let Stored { id, endpoint, .. } = stored;
    let Endpoint { url, wanted, ordered, note, .. } = &endpoint;
    if (url, wanted, ordered, note) != (&new.url, &new.wanted, &new.ordered, &new.note) {
        return Err(Failure::Reused);
    }
    let secret = endpoint.secrets(now()).next().expect("it has one").clone();
    Ok((id, endpoint, secret))
}

/// The task that delivers to an endpoint. It ends when this is dropped.
struct Delivering {
    ledger_id: String,
    task: JoinHandle<()>,
    seen: watch::Sender<u64>,
}

impl Drop for Delivering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Dispatcher {
    /// Delivers to nobody yet; `settled` returns the number of the last result that is in the ledger.
    ///
    /// # Errors
    ///
    /// TLS cannot be used.
    pub fn new(
        ledger: Ledger,
        allowed: Allowed,
        counts: Counts,
        settled: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<Arc<Self>, rustls::Error> {
        let (allowed, tls, settled) = (Arc::new(allowed), tls()?, Arc::new(settled));
        Ok(Arc::new(Self { ledger, allowed, tls, counts, settled, changed: Notify::new() }))
    }

    /// Delivers to all endpoints while `leads` says so.
    pub async fn run(self: Arc<Self>, leads: impl Fn() -> bool + Send) {
        let (mut delivering, mut trouble) = (BTreeMap::new(), None);
        loop {
            let said = if leads() {
                self.look(&mut delivering).await.err()
            } else {
                self.forget(&mut delivering, |_| false);
                None
            };
            let said = said.map(|why| why.to_string());
            if let Some(why) = said.as_ref().filter(|_| said != trouble) {
                log!(WebhookFailing, "webhooks cannot be read: {why}");
            }
            trouble = said;
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Reads all endpoints, and has a worker for each one that can be read; one that cannot be read now goes on as it was.
    async fn look(&self, delivering: &mut BTreeMap<String, Delivering>) -> Result<(), LedgerError> {
        let (ledger_id, rows) = self.read_all().await?;
        self.forget(delivering, |id| rows.iter().any(|(row, _)| row == id));
        let mut start = |row: Result<Stored, LedgerError>| self.start(delivering, row?, &ledger_id);
        rows.into_iter().map(|(_, row)| start(row)).fold(Ok(()), Result::and)
    }

    /// Reads the id of the ledger and all endpoints, each by its id.
    async fn read_all(&self) -> Result<(String, Vec<Read>), LedgerError> {
        let rows = self.ledger.webhooks().await?;
        let rows = rows.into_iter().map(|row| (row.id.clone(), Stored::read(row))).collect();
        Ok((text_of(self.ledger.id().await?), rows))
    }

    fn forget(
        &self,
        delivering: &mut BTreeMap<String, Delivering>,
        is_there: impl Fn(&String) -> bool,
    ) {
        delivering.retain(|id, _| {
            let stays = is_there(id);
            if !stays {
                self.counts.forget(id);
            }
            stays
        });
    }

    /// Starts the worker of an endpoint, or says to the one that runs which version is stored.
    fn start(
        &self,
        delivering: &mut BTreeMap<String, Delivering>,
        stored: Stored,
        ledger_id: &str,
    ) -> Result<(), LedgerError> {
        let known = delivering.get(&stored.id).filter(|known| {
            // One that sends results of another ledger is stopped.
            !known.task.is_finished() && known.ledger_id == ledger_id
        });
        if let Some(known) = known {
            known
                .seen
                .send_if_modified(|seen| std::mem::replace(seen, stored.version) < stored.version);
            return Ok(());
        }
        let target = Target::read(&stored.endpoint.url);
        let broken = |why| LedgerError::Broken(format!("the URL of webhook {}: {why}", stored.id));
        let target = target.map_err(broken)?;
        let (seen, sees) = watch::channel(stored.version);
        let id = stored.id.clone();
        let worker = DeliveryWorker {
            ledger: self.ledger.clone(),
            ledger_id: ledger_id.to_owned(),
            stored,
            post: self.post(target),
            counts: self.counts.clone(),
            settled: Arc::clone(&self.settled),
            seen: sees,
            saved: Instant::now(),
            steps_back: false,
        };
        let task = tokio::spawn(worker.run());
        delivering.insert(id, Delivering { ledger_id: ledger_id.to_owned(), task, seen });
        Ok(())
    }

    fn post(&self, target: Target) -> Post {
        Post::new(target, Arc::clone(&self.allowed), self.tls.clone())
    }
}

/// What operators ask. Each is cancel safe: it happens, or nothing does.
impl Dispatcher {
    /// Returns all endpoints by their ids.
    ///
    /// # Errors
    ///
    /// [`Failure::Ledger`].
    pub async fn list(&self) -> Result<Vec<(String, Endpoint)>, Failure> {
        let (_, rows) = self.read_all().await?;
        let shown = |row: Result<Stored, LedgerError>| match row {
            Ok(stored) => stored.endpoint,
            Err(why) => Endpoint::unreadable(why.to_string()),
        };
        Ok(rows.into_iter().map(|(id, row)| (id, shown(row))).collect())
    }

    /// Returns an endpoint.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Ledger`].
    pub async fn show(&self, id: &str) -> Result<Endpoint, Failure> {
        Ok(read_one(&self.ledger, id).await?.ok_or(Failure::NoSuch)?.endpoint)
    }

    /// Adds an endpoint; returns its id and its secret. A request that comes again with its `request_id` gets the endpoint
    /// that it added, as it is now.
    ///
    /// # Errors
    ///
    /// [`Failure::Bad`], [`Failure::TooMany`], [`Failure::Reused`], [`Failure::Ledger`].
    pub async fn add(
        &self,
        new: New,
        request_id: Option<&str>,
    ) -> Result<(String, Endpoint, Secret), Failure> {
        let id = format!("wh_{:016x}", request_id.map_or_else(|| fastrand::u64(..), number_of));
        if request_id.is_some()
            && let Some(there) = read_one(&self.ledger, &id).await?
        {
            return added_before(there, &new);
        }
        let target = Target::read(&new.url).map_err(|why| Failure::Bad(format!("url: {why}")))?;
        target.check(&self.allowed).map_err(|why| Failure::Bad(format!("url: {why}")))?;
        if let Some(kind) = new.wanted.unknown_type() {
            return Err(Failure::Bad(format!("types: no event is of the type {kind:?}")));
        }
        if self.ledger.webhooks().await?.len() >= ENDPOINTS {
            return Err(Failure::TooMany);
        }
        // A ledger that was made anew may not have all results yet.
        let through = self.ledger.standing().await?.through.max((self.settled)());
        let from = (text_of(self.ledger.id().await?), new.after.unwrap_or(through).min(through));
        let New { url, wanted, ordered, note, .. } = new.clone();
        let endpoint = Endpoint::new(url, wanted, ordered, note, from);
        let mut stored = Stored { id, version: 0, endpoint: endpoint.clone() };
        if !stored.write(&self.ledger, endpoint).await? {
            // The same request was sent twice, and the other one was faster.
            let there = read_one(&self.ledger, &stored.id).await?.ok_or(Failure::Changing)?;
            return added_before(there, &new);
        }
        // Others may have been added since they were counted.
        if self.ledger.webhooks().await?.len() > ENDPOINTS {
            self.ledger.remove_webhook(&stored.id).await?;
            return Err(Failure::TooMany);
        }
        self.changed.notify_one();
        added_before(stored, &new)
    }

    /// Removes an endpoint with all that is parked for it.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Ledger`].
    pub async fn remove(&self, id: &str) -> Result<(), Failure> {
        let removed = self.ledger.remove_webhook(id).await?;
        self.changed.notify_one();
        if removed { Ok(()) } else { Err(Failure::NoSuch) }
    }

    /// Draws another secret; the one before counts for a day more.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Changing`], [`Failure::Ledger`].
    pub async fn rotate(&self, id: &str) -> Result<(Endpoint, Secret), Failure> {
        let now = now();
        self.change(id, |endpoint| {
            let secret = endpoint.rotate(now, now + OLD_SECRET);
            Ok((endpoint.clone(), secret))
        })
        .await
    }

    /// Sends an endpoint nothing more until it is switched on.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Changing`], [`Failure::Ledger`].
    pub async fn switch_off(&self, id: &str, why: &str) -> Result<Endpoint, Failure> {
        self.change(id, |endpoint| {
            if endpoint.off.is_none() {
                endpoint.switch_off(now(), why);
            }
            Ok(endpoint.clone())
        })
        .await
    }

    /// Delivers to an endpoint again, from where it was.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Changing`], [`Failure::Ledger`].
    pub async fn switch_on(&self, id: &str) -> Result<Endpoint, Failure> {
        self.change(id, |endpoint| {
            endpoint.switch_on(now());
            Ok(endpoint.clone())
        })
        .await
    }

    /// Sends results again under their ids: those with these numbers, or all that are parked. Returns how many.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Bad`] where a number is that of no result up to where it is,
    /// [`Failure::Changing`], [`Failure::Ledger`].
    pub async fn send_again(&self, id: &str, numbers: Option<Vec<u64>>) -> Result<usize, Failure> {
        self.change(id, |endpoint| {
            let (before, most) = (endpoint.again.len(), endpoint.cursor);
            match &numbers {
                Some(numbers) => {
                    if let Some(wrong) = numbers.iter().find(|it| !(1..=most).contains(*it)) {
                        let why =
                            format!("numbers: {wrong} is not between 1 and {most}, where it is");
                        return Err(Failure::Bad(why));
                    }
                    endpoint.again.extend(numbers);
                }
                None => endpoint.again.extend(&endpoint.parked),
            }
            endpoint.again.sort_unstable();
            endpoint.again.dedup();
            if endpoint.again.len() > PARKED_MOST {
                let why = format!("numbers: at most {PARKED_MOST} are sent again at a time");
                return Err(Failure::Bad(why));
            }
            Ok(endpoint.again.len() - before)
        })
        .await
    }

    /// Sends an event at once that says nothing. It is allowed while the endpoint is off, and is not kept.
    ///
    /// # Errors
    ///
    /// [`Failure::NoSuch`], [`Failure::Bad`], [`Failure::Ledger`].
    pub async fn test(&self, id: &str) -> Result<Tested, Failure> {
        let endpoint = self.show(id).await?;
        let target = Target::read(&endpoint.url).map_err(Failure::Bad)?;
        let (at, mut post) = (now(), self.post(target));
        let (event, seconds) = (Event::test(at), at / 1_000_000);
        let answer = post.send(&event, seconds, &sign(&endpoint, &event, seconds)).await;
        let taken = answer.is_taken();
        let Answer { status, said, took, .. } = answer;
        Ok(Tested { status, said, took, taken })
    }

    /// Changes an endpoint; again, where somebody else changed it meanwhile.
    async fn change<R>(
        &self,
        id: &str,
        change: impl Fn(&mut Endpoint) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        for _ in 0..TRIES {
            let mut stored = read_one(&self.ledger, id).await?.ok_or(Failure::NoSuch)?;
            let mut endpoint = stored.endpoint.clone();
            let changed = change(&mut endpoint)?;
            if stored.write(&self.ledger, endpoint).await? {
                self.changed.notify_one();
                return Ok(changed);
            }
        }
        Err(Failure::Changing)
    }
}
