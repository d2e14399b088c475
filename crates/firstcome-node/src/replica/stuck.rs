//! A node before an entry that it cannot apply: it stays up, can be read, and goes on once the entry is skipped.
//!
//! A rule that breaks leaves the campaigns half changed, so the state is put together anew as of the entry before.
//! Commands are refused meanwhile with the sentence that says which entry it is and what to do.

use crate::appender::Appender;
use crate::appender::batch::reject_all;
use crate::event::{Event, log};
use crate::heal::fork::entry_in_store;
use crate::replica::load;
use crate::replica::{Stop, Stuck};
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::Skip;
use firstcome_journal::{JournalError, Name};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often requests that wait are answered.
const ANSWER_EVERY: Duration = Duration::from_millis(100);
/// How often it is looked whether the entry is skipped.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why a node that was stuck need not wait any longer.
enum GoOn {
    /// The entry is skipped.
    Skipped(Vec<Skip>),
    /// Somebody applied it and wrote a snapshot, or the store has another branch: this node goes over to what it has.
    SwitchBranch,
    /// The store may have another history.
    Look,
}

impl Appender {
    /// Waits before an entry that cannot be applied until this node can go on.
    ///
    /// # Errors
    ///
    /// This node is to stop.
    pub(crate) async fn wait_before(&mut self, stuck: Stuck) -> Result<(), Stop> {
        let stop = Stop::Stuck(stuck.clone());
        let why = stop.to_string();
        let failure = stop.of_commands();
        self.applier.health.stopped(failure.clone(), why.clone());
        (self.says)(Event::StuckAtEntry, &why);
        let position = stuck.broke.position;
        let mut is_whole = stuck.is_whole;
        let mut look_at = Instant::now();
        loop {
            reject_all(&self.applier.queue, &failure);
            if self.applier.queue.is_over() {
                return Err(stop);
            }
            if look_at <= Instant::now() {
                let mut go_on = None;
                if !is_whole {
                    (is_whole, go_on) = self.load_before(position).await;
                }
                if is_whole {
                    go_on = self.may_go_on(position).await;
                }
                if let Some(go_on) = go_on
                    && self.go_on(go_on).await
                {
                    return Ok(());
                }
                look_at = Instant::now() + LOOK_EVERY;
            }
            sleep(ANSWER_EVERY).await;
        }
    }

    /// Puts the state together as of the entry before; says whether that worked, or what to go on with instead.
    async fn load_before(&mut self, position: u64) -> (bool, Option<GoOn>) {
        let before = position.saturating_sub(1);
        let loaded = load::state(&self.applier.journal, |_, _| {}, |_, _| {}, before);
        let loaded = self.applier.until_answer_or_shutdown(None, async { Ok(loaded.await) }).await;
        let Ok(Ok((state, _))) = loaded else { return (false, None) };
        let stamp = state.stamp();
        let ours = self.applier.retransmit.name_at(before);
        if stamp.position != before || ours.is_some_and(|ours| ours != stamp.name()) {
            // Of a snapshot beyond it, or of another branch: what this node had applied may not be there.
            return (false, Some(GoOn::SwitchBranch));
        }
        drop(self.applier.replica.restore(state));
        (true, None)
    }

    /// Looks whether anything changed.
    async fn may_go_on(&self, position: u64) -> Option<GoOn> {
        if self.several.as_ref().is_some_and(|several| several.healer.may_have_lost()) {
            return Some(GoOn::Look);
        }
        self.applier.until_answer_or_shutdown(None, self.find_skip(position)).await.ok().flatten()
    }

    async fn find_skip(&self, position: u64) -> Result<Option<GoOn>, JournalError> {
        let journal = &self.applier.journal;
        if journal.head().await?.skips > 0 {
            let skips = journal.skips().await?;
            let entry = entry_in_store(journal, position).await?;
            let name = entry.map(|entry| entry.name()).transpose()?;
            let is_it = |skip: &Skip| {
                skip.position == position
                    && name == Some(Name { node: skip.node, number: skip.number })
            };
            if skips.iter().any(is_it) {
                return Ok(Some(GoOn::Skipped(skips)));
            }
        }
        let newest = journal.newest_snapshot().await?.map(|bytes| Manifest::decode(&bytes));
        let beyond = newest
            .is_some_and(|newest| newest.is_ok_and(|newest| newest.stamp.position >= position));
        Ok(beyond.then_some(GoOn::SwitchBranch))
    }

    /// Goes on; says whether that worked.
    async fn go_on(&mut self, go_on: GoOn) -> bool {
        match go_on {
            GoOn::Look => {}
            GoOn::Skipped(skips) => self.applier.replica.learn_skips(skips),
            GoOn::SwitchBranch if self.switch_branch().await => {}
            GoOn::SwitchBranch => return false,
        }
        self.applier.replica.go_on();
        self.applier.health.goes_on();
        log!(WentOn, "this node goes on beyond the entry it was stuck at");
        // What happened to the journal meanwhile is looked at before anything is appended.
        self.applier.signals.suspect();
        self.applier.signals.look();
        true
    }
}
