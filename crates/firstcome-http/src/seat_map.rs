//! Seat maps and the events that follow them: read from the state a few times a second, once for all who watch.
//!
//! While a client reads the map of a campaign or follows its changes, one task reads its pools after
//! each batch of entries. A change is written once and sent to every subscriber. A subscriber that cannot keep up
//! is asked to fetch the map again; nobody waits for anybody. Only durable state is shown.

pub(crate) mod events;
mod gzip;
pub(crate) mod layout;
mod own;
pub(crate) mod show;
pub(crate) mod streams;

use axum::body::Bytes;
use firstcome_core::campaign::Phase;
use firstcome_core::hall::Standings;
use firstcome_core::names::Position;
use firstcome_core::{Refusal, State};
use firstcome_node::{Intake, Replica, Task};
use futures_util::FutureExt;
use gzip::Deflated;
use layout::Layout;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use streams::Streams;
use tokio::sync::{OnceCell, broadcast, watch};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The shortest time between two reads: changes in between come together.
const BATCH: Duration = Duration::from_millis(25);
/// How long a campaign is read after the last request about it.
const INTEREST: Duration = Duration::from_secs(60);
/// Past reads that a subscriber can resume from.
const PAST: usize = 4_096;
/// Events a subscriber may be late by.
const BEHIND: usize = 256;

/// The campaigns that are watched on this node, by name.
#[derive(Debug, Default)]
pub struct SeatMaps {
    watched: Mutex<BTreeMap<String, Arc<Watched>>>,
    /// The streams that are open.
    streams: Streams,
}

/// One campaign that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    shared: Arc<Shared>,
    task: Task<()>,
}

#[derive(Debug)]
struct Shared {
    campaign: String,
    seen: watch::Sender<Arc<Seen>>,
    events: broadcast::Sender<Event>,
    past: Mutex<Past>,
    /// Cancelled where the task panicked: streams end, and their pages come back to a new one.
    broken: CancellationToken,
}

#[derive(Debug)]
struct Past {
    reads: VecDeque<(Position, Option<Event>)>,
    asked: Instant,
    /// Whether the task has ended.
    over: bool,
}

/// The changes found by one read, as they are sent.
#[derive(Clone, Debug)]
pub(super) struct Event {
    text: Bytes,
}

/// The pools of a campaign as of a position.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) position: Position,
    /// Which branch of the journal it is of.
    branch: u64,
    /// The state of the campaign, and its version.
    phase: (Phase, u32),
    pub(super) pools: Vec<WatchedPool>,
}

/// One pool.
#[derive(Debug)]
pub(super) struct WatchedPool {
    pub(super) name: String,
    left: u32,
    /// How many wait for its units.
    waiting: u64,
    /// Of a seated pool.
    pub(super) seats: Option<Seats>,
}

/// A seated pool: the status of its seats and areas.
#[derive(Debug)]
pub(super) struct Seats {
    status: Standings,
    /// Free and for sale, held, confirmed, blocked, of each area.
    areas: Vec<[u32; 4]>,
    layout: Arc<Layout>,
    /// The members of the map with the status of all seats, after the first request.
    status_members: OnceLock<Bytes>,
    /// The same, compressed.
    packed_status: OnceCell<Deflated>,
    /// The whole map, compressed, after the first request, and its tag.
    packed: OnceCell<Bytes>,
    tag: OnceLock<String>,
}

impl Seen {
    /// Reads the pools: short, since entries wait meanwhile. Seats with the status of before are shared with that read.
    fn read(
        state: &State,
        branch: u64,
        campaign: &str,
        before: Option<&Self>,
    ) -> Result<Self, Refusal> {
        let campaign = state.campaign(campaign)?;
        let phase = (campaign.phase(state.at()), campaign.version());
        let pools = campaign.pools().iter().enumerate().map(|(index, pool)| {
            // On another branch other seats may have been added.
            let old = before
                .filter(|before| before.branch == branch)
                .and_then(|before| before.pools.get(index)?.seats.as_ref());
            let seats = pool.hall().map(|hall| Seats {
                status: hall.standings(),
                areas: (0..hall.areas())
                    .map(|area| {
                        let counts = hall.area_counts(area);
                        [counts.left, counts.held, counts.confirmed, counts.blocked]
                    })
                    .collect(),
                layout: match old.map(|old| &old.layout) {
                    Some(layout) if layout.is_of(campaign, hall) => Arc::clone(layout),
                    Some(_) | None => Arc::new(Layout::of(campaign, index, hall)),
                },
                status_members: OnceLock::new(),
                packed_status: OnceCell::new(),
                packed: OnceCell::new(),
                tag: OnceLock::new(),
            });
            WatchedPool {
                name: pool.name().to_owned(),
                left: pool.left(),
                waiting: pool.waiters(),
                seats,
            }
        });
        Ok(Self { position: state.token(), branch, phase, pools: pools.collect() })
    }

    /// Writes what changed since an earlier read; `None` if the map has to be fetched again.
    fn changes(&self, before: &Self) -> Option<Option<Event>> {
        if self.branch != before.branch || self.pools.len() != before.pools.len() {
            return None;
        }
        let mut pools = String::new();
        for (new, old) in self.pools.iter().zip(&before.pools) {
            let mut text = String::new();
            if let (Some(new), Some(old)) = (&new.seats, &old.seats) {
                if !Arc::ptr_eq(&new.layout, &old.layout) {
                    return None;
                }
                new.changes(old, &mut text);
            }
            if new.waiting != old.waiting {
                put(&mut text, format_args!(r#","waiting":{}"#, new.waiting));
            }
            if new.left == old.left && text.is_empty() {
                continue;
            }
            let comma = if pools.is_empty() { "" } else { "," };
            let (name, left) = (&new.name, new.left);
            put(&mut pools, format_args!(r#"{comma}{{"pool":"{name}","left":{left}{text}}}"#));
        }
        let position = self.position;
        let mut text = String::new();
        if self.phase != before.phase {
            let (phase, version) = (self.phase.0.as_str(), self.phase.1);
            put(
                &mut text,
                format_args!(
                    "id: {position}\nevent: campaign\ndata: {{\"position\":\"{position}\",\"state\":\"{phase}\",\"version\":{version}}}\n\n"
                ),
            );
        }
        if !pools.is_empty() {
            put(
                &mut text,
                format_args!(
                    "id: {position}\nevent: standing\ndata: {{\"position\":\"{position}\",\"pools\":[{pools}]}}\n\n"
                ),
            );
        }
        Some((!text.is_empty()).then(|| Event { text: text.into() }))
    }

    fn reset(&self) -> Event {
        let position = self.position;
        let text = format!("event: reset\ndata: {{\"position\":\"{position}\"}}\n\n").into();
        Event { text }
    }
}

impl Seats {
    fn changes(&self, before: &Self, text: &mut String) {
        let mut by_letter = BTreeMap::<u8, String>::new();
        for (seat, kind) in self.status.changes_since(&before.status) {
            let seats = by_letter.entry(self.layout.letter(seat, kind)).or_default();
            let comma = if seats.is_empty() { "" } else { "," };
            put(seats, format_args!("{comma}{seat}"));
        }
        if !by_letter.is_empty() {
            text.push_str(r#","seats":{"#);
            for (index, (letter, seats)) in by_letter.iter().enumerate() {
                let (comma, letter) = (if index == 0 { "" } else { "," }, char::from(*letter));
                put(text, format_args!(r#"{comma}"{letter}":[{seats}]"#));
            }
            text.push('}');
        }
        if self.areas != before.areas {
            text.push_str(r#","areas":["#);
            let changed = self.areas.iter().zip(&before.areas).enumerate();
            for (nth, (area, (counts, _))) in changed.filter(|(_, (n, o))| n != o).enumerate() {
                let [left, held, confirmed, blocked] = counts;
                let comma = if nth == 0 { "" } else { "," };
                put(text, format_args!("{comma}[{area},{left},{held},{confirmed},{blocked}]"));
            }
            text.push(']');
        }
    }
}

fn put(text: &mut String, words: std::fmt::Arguments<'_>) {
    text.write_fmt(words).expect("writing to a string does not fail");
}

impl SeatMaps {
    /// Returns how many streams of events are open.
    pub(super) fn watchers(&self) -> usize {
        let all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().map(|watched| watched.shared.events.receiver_count()).sum()
    }

    /// Returns a campaign that is watched from now on, if it was not yet.
    pub(super) fn watch(
        &self,
        intake: &Arc<Intake>,
        campaign: &str,
    ) -> Result<Arc<Watched>, (Refusal, Position)> {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, watched| !watched.task.has_ended());
        if let Some(watched) = all.get(campaign) {
            let mut past = watched.shared.past();
            past.asked = Instant::now();
            let over = past.over;
            drop(past);
            if !over {
                return Ok(Arc::clone(watched));
            }
        }
        let replica = &intake.replica;
        let seen = replica.look(|state| {
            let branch = replica.durable().branch;
            Seen::read(state, branch, campaign, None).map_err(|why| (why, state.token()))
        })?;
        let reads = VecDeque::from([(seen.position, None)]);
        let shared = Arc::new(Shared {
            campaign: campaign.to_owned(),
            seen: watch::Sender::new(Arc::new(seen)),
            events: broadcast::Sender::new(BEHIND),
            past: Mutex::new(Past { reads, asked: Instant::now(), over: false }),
            broken: CancellationToken::new(),
        });
        let reading = read_on(Arc::clone(&shared), Arc::clone(intake));
        let task = Task::spawn(guarded(Arc::clone(&shared), reading));
        let watched = Arc::new(Watched { shared, task });
        all.insert(campaign.to_owned(), Arc::clone(&watched));
        Ok(watched)
    }
}

impl Watched {
    /// Returns the pools as of a position or a later one.
    pub(super) async fn seen(&self, position: Position) -> Arc<Seen> {
        let mut seen = self.shared.seen.subscribe();
        let there = |seen: &Arc<Seen>| {
            seen.position.epoch > position.epoch || seen.position.position >= position.position
        };
        match timeout(Duration::from_secs(5), seen.wait_for(there)).await {
            Ok(Ok(seen)) => Arc::clone(&seen),
            Ok(Err(_)) | Err(_) => Arc::clone(&self.shared.seen.borrow()),
        }
    }
}

impl Shared {
    fn past(&self) -> std::sync::MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what one read found to every subscriber.
    fn publish(&self, seen: Arc<Seen>) {
        let before = Arc::clone(&self.seen.borrow());
        let changes = seen.changes(&before);
        let mut past = self.past();
        if changes.is_none() {
            past.reads.clear();
        }
        let event = changes.unwrap_or_else(|| Some(seen.reset()));
        if past.reads.len() == PAST {
            past.reads.pop_front();
        }
        past.reads.push_back((seen.position, event.clone()));
        self.seen.send_replace(seen);
        if let Some(event) = event {
            // Nobody may be watching.
            drop(self.events.send(event));
        }
    }
}

/// Works where nobody else waits for it; gives nothing where the process is ending.
///
/// A panic goes on in who asked, so that nothing half done is kept for others.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => Some(done),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => None,
    }
}

/// Reads, and ends the streams where that panics: the next request begins anew, so the server stays ready.
async fn guarded(shared: Arc<Shared>, reading: impl Future<Output = ()>) {
    // What it may have left half done is used by nobody afterwards.
    if AssertUnwindSafe(reading).catch_unwind().await.is_err() {
        shared.past().over = true;
        shared.broken.cancel();
    }
}

/// Reads the pools after each batch of entries, until nobody is interested or the campaign is gone.
async fn read_on(shared: Arc<Shared>, intake: Arc<Intake>) {
    let replica: Arc<Replica> = Arc::clone(&intake.replica);
    let mut applied = replica.watch();
    loop {
        sleep(BATCH).await;
        applied.borrow_and_update();
        let before = Arc::clone(&shared.seen.borrow());
        let read = |state: &State| {
            // The branch changes together with the state.
            let branch = replica.durable().branch;
            let same = state.token() == before.position && branch == before.branch;
            (!same).then(|| Seen::read(state, branch, &shared.campaign, Some(&before)))
        };
        // What a broken rule left half done is shown to nobody.
        let Some(read) = replica.look_whole(read) else { continue };
        match read {
            None => {}
            Some(Err(_)) => {
                // It has left memory: a caller that fetches the map is told so.
                shared.past().over = true;
                drop(shared.events.send(before.reset()));
                return;
            }
            Some(Ok(seen)) => {
                // State that is not durable yet is shown by a later read.
                if intake.endures(seen.position).await {
                    shared.publish(Arc::new(seen));
                } else {
                    continue;
                }
            }
        }
        // It wakes with the next entry, or to see whether anybody is interested still.
        if timeout(INTEREST, applied.changed()).await.is_err()
            || shared.events.receiver_count() == 0
        {
            let mut past = shared.past();
            if past.asked.elapsed() >= INTEREST && shared.events.receiver_count() == 0 {
                past.over = true;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::on_thread;

    /// A map that was packed by half would be given to everybody.
    #[tokio::test]
    async fn a_panic_on_a_thread_is_one_of_who_asked() {
        assert_eq!(on_thread(|| 7).await, Some(7));
        let has_a_bug = true;
        let asking = tokio::spawn(on_thread(move || assert!(!has_a_bug, "a bug")));
        assert!(asking.await.is_err_and(|why| why.is_panic()));
    }
}
