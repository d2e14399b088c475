//! What several nodes on one journal need, in memory.

use super::Memory;
use super::state::{Manifest, State};
use crate::cluster::{GONE_FOR, GONE_NODES, MEMBER_FOR};
use crate::entry::{Entry, Head};
use crate::failure::Failure;
use crate::name::Name;
use crate::shared::{Membership, News, NodeStatus, Seed};
use firstcome_core::{NodeId, Timestamp};
use firstcome_inject::{Mistake, inject};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

impl Memory {
    pub(crate) fn incarnations(&self) -> watch::Receiver<u64> {
        self.incarnation.subscribe()
    }

    pub(crate) fn confirms_at_once(&self) -> bool {
        self.unconfirmed().is_none()
    }

    pub(crate) async fn follow(&self, after: u64, timeout: Duration) -> Result<News, Failure> {
        let mut head = self.head.subscribe();
        // Running out of time is an answer here, and the sender lives as long as this journal.
        drop(tokio::time::timeout(timeout, head.wait_for(|head| *head > after)).await);
        let entries = self.read(after).await?;
        Ok(News { entries, now: self.clock.now() })
    }

    pub(crate) async fn announce(&self, me: NodeStatus, level: u32) -> Result<Membership, Failure> {
        let now = self.clock.now();
        self.with(|state| {
            state.check_there()?;
            state.level = state.level.max(level);
            let own = me.address.clone();
            state.nodes.insert(me.node, (me, now));
            state.nodes.retain(|_, (node, seen)| {
                let age = now.micros_since(*seen);
                age < MEMBER_FOR || age < GONE_FOR && node.address != own
            });
            let is_live =
                |(_, seen): &(NodeStatus, Timestamp)| now.micros_since(*seen) < MEMBER_FOR;
            let (nodes, mut gone): (Vec<_>, Vec<_>) =
                state.nodes.values().cloned().partition(is_live);
            gone.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
            for (forgotten, _) in gone.drain(gone.len().min(GONE_NODES)..) {
                state.nodes.remove(&forgotten.node);
            }
            Ok(Membership { head: state.head(now), nodes, gone })
        })
    }

    pub(crate) async fn leave(&self, node: NodeId) -> Result<(), Failure> {
        self.with(|state| state.nodes.remove(&node));
        Ok(())
    }

    pub(crate) async fn put_back(
        &self,
        head: u64,
        name: Name,
        entries: Vec<Entry>,
    ) -> Result<(), Failure> {
        self.with(|state| {
            state.check_there()?;
            let checked = state.check_end(head, name);
            if !inject(Mistake::BackfillAnywhere) {
                checked?;
            }
            for entry in entries {
                let name = entry.name()?;
                state.epoch = state.epoch.max(entry.epoch);
                Arc::make_mut(&mut state.entries).push((entry, name));
            }
            self.head.send_replace(state.position());
            Ok(())
        })
    }

    pub(crate) async fn raise_epoch(&self, seen: Head) -> Result<u32, Failure> {
        self.with(|state| {
            state.check_there()?;
            state.check_seen(seen)?;
            state.epoch += 1;
            Ok(state.epoch)
        })
    }

    pub(crate) async fn reseed(&self, seen: Option<Head>, seed: Seed) -> Result<(), Failure> {
        self.with(|state| {
            match seen {
                Some(seen) => {
                    state.check_there()?;
                    state.check_seen(seen)?;
                }
                None if state.gone => {}
                None => return Err(state.moved()),
            }
            state.check_pieces(&seed.pieces)?;
            if state.gone {
                // Terms were lost, and go on from the clock: nobody's was ever that high.
                state.term = u64::try_from(self.clock.now().as_micros() / 1_000_000).unwrap_or(0);
            }
            state.gone = false;
            state.entries = Arc::default();
            state.base = (seed.position, seed.name, Some(seed.at));
            state.epoch = seed.epoch;
            state.level = seed.level;
            state.manifests.clear();
            let Seed { position, manifest: bytes, pieces, .. } = seed;
            state.add_manifest(Manifest { position, bytes, pieces }, self.clock.now());
            self.head.send_replace(state.position());
            Ok(())
        })
    }

    pub(crate) async fn report(
        &self,
        epoch: u32,
        node: NodeId,
        text: String,
    ) -> Result<(), Failure> {
        self.with(|state| state.reports.insert((epoch, node), text));
        Ok(())
    }

    pub(crate) async fn reports(&self) -> Result<Vec<(u32, NodeId, String)>, Failure> {
        Ok(self.with(|state| {
            let reports = state.reports.iter();
            reports.map(|((epoch, node), text)| (*epoch, *node, text.clone())).collect()
        }))
    }
}

impl State {
    fn check_end(&self, head: u64, name: Name) -> Result<(), Failure> {
        if self.position() == head && self.name_at(head) == Some(name) {
            return Ok(());
        }
        Err(self.moved())
    }

    fn check_seen(&self, seen: Head) -> Result<(), Failure> {
        self.check_end(seen.position, seen.name)?;
        if self.epoch == seen.epoch { Ok(()) } else { Err(self.moved()) }
    }

    fn moved(&self) -> Failure {
        let head = self.position();
        Failure::Moved { head, name: self.name_at(head).unwrap_or_default() }
    }
}
