//! This node's state, and the one place where entries are applied to it.

pub(crate) mod divergence;
pub(crate) mod load;
pub(crate) mod remains;
pub(crate) mod stuck;

use crate::error::CommandError;
use crate::minutes::Minutes;
use crate::wait_queue::WaitQueue;
use firstcome_core::command::{BadBody, Mark};
use firstcome_core::names::Position;
use firstcome_core::state::{Broke, EntryEffect, Skip};
use firstcome_core::{Command, NodeId, Outcome, State};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Entry, Name};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// The state as of what was applied last.
#[derive(Debug)]
pub struct Replica {
    current: RwLock<Current>,
    applied: watch::Sender<u64>,
    /// Whether the entry applied last left work on waitlists; not in `applied`, so that one that left none wakes nobody for it.
    list_work: watch::Sender<bool>,
    /// Up to where the journal is known to be durable, and in which history.
    durable: watch::Sender<Durable>,
    /// Whether what can be read is durable.
    at_once: bool,
    /// Bytes of all bodies applied since the start.
    bytes: AtomicU64,
    /// The callers that wait for a seat: an entry may free it.
    pub(crate) wait_queue: Arc<WaitQueue>,
    /// How campaigns went in the last minutes.
    pub minutes: Minutes,
}

#[derive(Debug)]
struct Current {
    state: State,
    /// The name of the entry applied last.
    name: Name,
    stuck: Option<Stuck>,
}

/// Up to where the journal is known to be durable as the store's setting has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// How many times this node switched to another branch: what was known of an older one says nothing.
    pub branch: u64,
    pub position: u64,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AppliedEntry {
    pub(crate) name: Name,
    /// The name of its batch.
    pub(crate) batch: Name,
    pub(crate) position: Position,
    /// Up to where its writer knew the journal to be durable.
    pub(crate) durable: u64,
    /// A digest its writer had and this node has not.
    pub(crate) differs: Option<Difference>,
}

/// What another node said of a position, and what this one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) node: NodeId,
    pub(crate) position: u64,
    pub(crate) theirs: u64,
    pub(crate) ours: u64,
}

/// An entry this node cannot apply because a rule's own invariant broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{broke}; {}", .broke.advice())]
pub struct Stuck {
    /// The entry, and what broke.
    pub broke: Broke,
    /// Whether the state is that of the entry before; until then it is half changed and good for nothing.
    pub is_whole: bool,
}

/// Why a node applies nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The entry was written by a newer build, or its bytes are not what was written.
    #[error("entry {position} {why}")]
    Unreadable {
        /// The entry.
        position: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The entry does not follow the one applied last.
    #[error("entry {position} does not follow: {why}")]
    NotNext {
        /// The entry.
        position: u64,
        /// In which way.
        why: String,
    },
    /// A rule broke.
    #[error(transparent)]
    Stuck(Stuck),
    /// The entry ends the space here.
    #[error("entry {position} ends the space here: it was moved to another store")]
    Moved {
        /// The entry.
        position: u64,
    },
}

impl Stop {
    /// Returns what became of a batch that was not seen before the entry at which this node stopped.
    pub(crate) fn of_batch(&self) -> CommandError {
        match self {
            // Wherever behind the end it is stored: nobody ever applies it.
            Self::Moved { .. } => CommandError::SpaceMoved,
            Self::Unreadable { .. } | Self::NotNext { .. } | Self::Stuck(_) => {
                CommandError::Unknown
            }
        }
    }

    /// Returns what commands get from a node that stopped.
    pub(crate) fn of_commands(&self) -> CommandError {
        match self {
            Self::Moved { .. } => CommandError::SpaceMoved,
            Self::Unreadable { .. } | Self::NotNext { .. } | Self::Stuck(_) => {
                CommandError::Unavailable(self.to_string())
            }
        }
    }
}

impl Replica {
    /// Begins with a state and the name of the entry it is as of.
    ///
    /// `at_once` says whether everything that can be read is durable.
    pub fn new(state: State, at_once: bool) -> Self {
        let stamp = state.stamp();
        let name = stamp.name();
        let applied = watch::Sender::new(state.position());
        let position = if at_once { state.position() } else { 0 };
        let list_work = watch::Sender::new(state.has_list_work());
        Self {
            current: RwLock::new(Current { state, name, stuck: None }),
            applied,
            list_work,
            durable: watch::Sender::new(Durable { branch: 0, position }),
            at_once,
            bytes: AtomicU64::new(0),
            wait_queue: Arc::default(),
            minutes: Minutes::default(),
        }
    }

    /// Returns the state.
    pub(crate) fn into_state(self) -> State {
        self.current.into_inner().unwrap_or_else(PoisonError::into_inner).state
    }

    /// Looks at the state.
    ///
    /// `look` must be short: entries wait while it runs.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.current.read().unwrap_or_else(PoisonError::into_inner).state)
    }

    /// Returns what an append rests on: the position and the name of the entry applied last.
    pub(crate) fn applied(&self) -> (u64, Name) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (current.state.position(), current.name)
    }

    /// Takes the entry applied last for one of another name: see [`Mistake::HeightForName`].
    pub(crate) fn rename(&self, name: Name) {
        self.current.write().unwrap_or_else(PoisonError::into_inner).name = name;
    }

    /// Says whether this node is stuck, and where.
    pub fn stuck(&self) -> Option<Stuck> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).stuck.clone()
    }

    /// Notes that this node stops before an entry, unless that is known.
    pub(crate) fn stop_before(&self, stuck: Stuck) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.stuck.is_none() {
            // It was met on another branch, or at the start: this node's own state was not touched.
            current.stuck = Some(Stuck { is_whole: true, ..stuck });
        }
    }

    /// Replaces the state that a broken rule left half changed by that of the entry before; returns it.
    pub(crate) fn restore(&self, state: State) -> State {
        let stamp = state.stamp();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.name = stamp.name();
        if let Some(stuck) = &mut current.stuck {
            stuck.is_whole = true;
        }
        self.note_list_work(state.has_list_work());
        std::mem::replace(&mut current.state, state)
    }

    /// Has entries skipped that are still to come.
    pub(crate) fn learn_skips(&self, skips: Vec<Skip>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.state.learn_skips(skips);
    }

    /// Tries again to apply the entry that this node is stuck before.
    pub(crate) fn go_on(&self) {
        self.current.write().unwrap_or_else(PoisonError::into_inner).stuck = None;
    }

    /// Looks at the state, unless a broken rule left it half changed: then it is about to be put together anew.
    ///
    /// `look` must be short: entries wait while it runs.
    pub fn look_whole<T>(&self, look: impl FnOnce(&State) -> T) -> Option<T> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let is_whole = current.stuck.as_ref().is_none_or(|stuck| stuck.is_whole);
        is_whole.then(|| look(&current.state))
    }

    /// Returns the bytes of all bodies applied since the start.
    pub(crate) fn applied_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Watches the position of the entry applied last.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.applied.subscribe()
    }

    /// Watches whether the entry applied last left work on waitlists.
    pub(crate) fn watch_list_work(&self) -> watch::Receiver<bool> {
        self.list_work.subscribe()
    }

    fn note_list_work(&self, is_there: bool) {
        self.list_work.send_if_modified(|was| std::mem::replace(was, is_there) != is_there);
    }

    /// Waits until the entry at a position is applied.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn reach(&self, position: u64) {
        // The sender lives in this replica, so waiting ends with the position or with the caller.
        drop(self.watch().wait_for(|applied| *applied >= position).await);
    }

    /// Says that the journal is durable up to a position, in the history that was current when that
    /// was learned.
    pub(crate) fn confirm(&self, branch: u64, position: u64) {
        self.durable.send_if_modified(|durable| {
            let more = durable.branch == branch && durable.position < position;
            if more {
                durable.position = position;
            }
            more
        });
    }

    /// Returns up to where the journal is known to be durable.
    pub fn durable(&self) -> Durable {
        *self.durable.borrow()
    }

    /// Watches up to where the journal is known to be durable.
    pub fn watch_durable(&self) -> watch::Receiver<Durable> {
        self.durable.subscribe()
    }

    /// Says whether everything that can be read is durable.
    pub(crate) fn endures_at_once(&self) -> bool {
        self.at_once
    }

    /// Waits until the journal is durable up to a position; `false` if this node's history was
    /// replaced before it was.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn endures(&self, branch: u64, position: u64) -> bool {
        let mut durable = self.durable.subscribe();
        let over = |durable: &Durable| durable.branch != branch || durable.position >= position;
        // The sender lives in this replica, so waiting ends with the position or with the caller.
        durable.wait_for(over).await.is_ok_and(|durable| durable.branch == branch)
    }

    /// Goes on with another history; gives the state of the one that is over.
    pub(crate) fn replace(&self, state: State) -> State {
        let stamp = state.stamp();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.name = stamp.name();
        current.stuck = None;
        self.note_list_work(state.has_list_work());
        let over = std::mem::replace(&mut current.state, state);
        self.durable.send_modify(|durable| {
            durable.branch += 1;
            durable.position = if self.at_once { stamp.position } else { 0 };
        });
        drop(current);
        self.minutes.forget();
        self.wait_queue.switched_branch();
        self.applied.send_replace(stamp.position);
        over
    }

    /// Applies an entry; its outcomes are added to `outcomes`, none if it is a copy.
    ///
    /// An entry at or below the position applied last is skipped.
    pub(crate) fn apply(
        &self,
        entry: &Entry,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<Option<AppliedEntry>, Stop> {
        let position = entry.position;
        let unreadable = |why: String| Stop::Unreadable { position, why };
        let opened = entry.open().map_err(|why| match why == BadBody::Moved {
            true => Stop::Moved { position },
            false => unreadable(why.to_string()),
        });
        let read = opened.and_then(|(stamp, body)| {
            let commands = body.commands().map_err(|why| unreadable(why.to_string()))?;
            Ok((stamp, body, commands))
        });
        let (mut stamp, body, commands) = match read {
            Ok(read) => read,
            Err(stop) => return self.stopped_by(entry, stop),
        };
        let name = stamp.name();
        let (batch, durable) = (body.head.batch(), body.head.durable);

        if inject(Mistake::CopiesRunTwice) {
            stamp.again_of = Some(Name { node: stamp.node, number: position });
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(stuck) = &current.stuck {
            return Err(Stop::Stuck(stuck.clone()));
        }
        if position <= current.state.position() {
            return Ok(None);
        }
        current.follows(entry)?;
        let before = outcomes.len();
        let differs =
            commands.iter().find_map(|command| differs(&current.state, name.node, command));
        let state = &mut current.state;
        // A rule that breaks must stop this node here and nothing else: see `stuck`.
        let ran = match state.try_apply(stamp, &commands, outcomes) {
            Ok(ran) => ran,
            Err(broke) => {
                let stuck = Stuck { broke, is_whole: false };
                current.stuck = Some(stuck.clone());
                return Err(Stop::Stuck(stuck));
            }
        };
        debug_assert!(ran == EntryEffect::Ran || outcomes.len() == before);
        current.name = name;
        let token = current.state.token();
        self.note_list_work(current.state.has_list_work());
        self.minutes.note(&current.state);
        let calls = self.wait_queue.freed(&current.state);
        let remains = current.state.take_remains();
        drop(current);
        calls.make();
        remains::free(remains);
        let branch = self.durable().branch;
        self.confirm(branch, if self.at_once { position } else { durable.min(position) });
        self.bytes.fetch_add(entry.body.len() as u64, Ordering::Relaxed);
        self.applied.send_replace(position);
        Ok(Some(AppliedEntry { name, batch, position: token, durable, differs }))
    }
}

impl Replica {
    /// Says what an entry that cannot be applied comes to: one of another history, or of another space, stops nobody.
    fn stopped_by(&self, entry: &Entry, stop: Stop) -> Result<Option<AppliedEntry>, Stop> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        if entry.position <= current.state.position() {
            return Ok(None);
        }
        current.follows(entry)?;
        Err(stop)
    }
}

/// Compares the digest a tick or a settle mark carries with this node's.
fn differs(state: &State, node: NodeId, command: &Command<'_>) -> Option<Difference> {
    let Mark { position, digest: theirs } = command.mark()?;
    let ours = state.digest_at(position)?;
    (ours != theirs).then_some(Difference { node, position, theirs, ours })
}

impl Current {
    fn follows(&self, entry: &Entry) -> Result<(), Stop> {
        let position = entry.position;
        let not_next = |why: String| Err(Stop::NotNext { position, why });
        if position != self.state.position() + 1 {
            return not_next(format!("entry {} was applied last", self.state.position()));
        }
        if inject(Mistake::PredecessorIgnored) {
            return Ok(());
        }
        if entry.before != self.name && !inject(Mistake::HeightForName) {
            return not_next(format!("it names {} before it, not {}", entry.before, self.name));
        }
        if entry.at < self.state.at() {
            return not_next("its time lies before that of the entry before it".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::Timestamp;
    use firstcome_core::command::{BodyWriter, moved};
    use firstcome_core::names::SpaceId;

    #[test]
    fn an_end_in_another_history_stops_nobody() {
        let replica = Replica::new(State::new(SpaceId([7; 16])), true);
        let other = Name { node: NodeId([9; 16]), number: 1 };
        let end = |position, before| {
            let at = Timestamp::from_micros(1);
            let body = moved(other.node, other.number, position - 1).into();
            Entry { position, at, epoch: 0, before, body }
        };
        let applied = |entry| replica.apply(&entry, &mut Vec::new());
        assert!(matches!(applied(end(1, other)), Err(Stop::NotNext { .. })));
        assert!(matches!(applied(end(2, other)), Err(Stop::NotNext { .. })));
        assert!(matches!(applied(end(1, Name::default())), Err(Stop::Moved { position: 1 })));
    }

    #[test]
    fn an_entry_that_leaves_no_work_on_waitlists_wakes_nobody_who_waits_for_that() {
        let replica = Replica::new(State::new(SpaceId([7; 16])), true);
        let (work, applied) = (replica.watch_list_work(), replica.watch());
        let mut body = BodyWriter::new(NodeId([9; 16]), 1, 0);
        body.push(&Command::claim("spring", None, "ann"));
        let (at, before) = (Timestamp::from_micros(1), Name::default());
        let entry = Entry { position: 1, at, epoch: 0, before, body: body.finish().into() };
        replica.apply(&entry, &mut Vec::new()).unwrap();
        assert!(applied.has_changed().unwrap() && !work.has_changed().unwrap());
    }
}
