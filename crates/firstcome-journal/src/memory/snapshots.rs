//! Snapshots and trimming of a journal in memory.

use super::Memory;
use super::state::{Manifest, Piece, State};
use crate::failure::Failure;
use crate::name::Tip;
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use firstcome_inject::{Mistake, inject};
use std::sync::Arc;

/// How long entries and pieces are kept that no reader needs, in microseconds.
const KEEP_FOR: i64 = 600_000_000;

impl Memory {
    pub(crate) async fn mint_term(&self) -> Result<u64, Failure> {
        self.with(|state| {
            state.check_there()?;
            state.term += 1;
            Ok(state.term)
        })
    }

    pub(crate) async fn put_piece(&self, name: PieceName, bytes: Vec<u8>) -> Result<(), Failure> {
        let now = self.clock.now();
        self.with(|state| {
            let pieces = Arc::make_mut(&mut state.pieces);
            let piece = pieces.entry(name).or_insert(Piece { bytes, idle: Some(now) });
            piece.idle = piece.idle.map(|_| now);
        });
        Ok(())
    }

    pub(crate) async fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.with(|state| state.pieces.get(&name).map(|piece| piece.bytes.clone())))
    }

    pub(crate) async fn install(
        &self,
        tip: Tip,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), Failure> {
        let now = self.clock.now();
        self.with(|state| {
            state.check_term(term)?;
            let (head, position) = (state.position(), tip.position);
            if position > head {
                return Err(Failure::Behind { head, applied: position });
            }
            let at = position.checked_sub(state.base.0 + 1).and_then(|index| {
                state.entries.get(usize::try_from(index).ok()?).map(|(entry, _)| entry.at)
            });
            let Some(found) = state.name_at(position) else {
                let first = state.base.0 + 1;
                return Err(Failure::Trimmed { wanted: position, first });
            };
            if found != tip.name || at.is_some_and(|at| at != tip.at) {
                return Err(Failure::Forked { position, found, applied: tip.name });
            }
            state.check_pieces(&pieces)?;
            state.add_manifest(Manifest { position, bytes: manifest, pieces }, now);
            Ok(())
        })
    }

    pub(crate) async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.with(|state| state.manifests.first().map(|newest| newest.bytes.clone())))
    }

    pub(crate) async fn trim(&self, term: u64) -> Result<u64, Failure> {
        let now = self.clock.now();
        self.with(|state| {
            state.check_term(term)?;
            let cutoff = state.head(now).at.max(now).plus_micros(-KEEP_FOR);
            let covered = state.manifests.get(1).map_or(0, |before| before.position);
            let covered = if inject(Mistake::TrimPastSnapshot) { u64::MAX } else { covered };
            state.drop_entries(covered, cutoff);
            if inject(Mistake::PiecesDroppedAtOnce) {
                let newest = state.manifests.first().map(|newest| newest.pieces.clone());
                let newest = newest.unwrap_or_default();
                Arc::make_mut(&mut state.pieces).retain(|name, _| newest.contains(name));
            }
            let old = |piece: &Piece| piece.idle.is_some_and(|since| since <= cutoff);
            if state.pieces.values().any(old) {
                Arc::make_mut(&mut state.pieces).retain(|_, piece| !old(piece));
            }
            Ok(state.base.0 + 1)
        })
    }
}

impl State {
    pub(super) fn check_pieces(&self, pieces: &[PieceName]) -> Result<(), Failure> {
        let missing = pieces.iter().find(|name| !self.pieces.contains_key(name));
        missing.map_or(Ok(()), |missing| Err(Failure::PieceMissing(*missing)))
    }

    /// Takes a manifest in, in the place of one at the same position, and forgets all but two.
    pub(super) fn add_manifest(&mut self, manifest: Manifest, now: Timestamp) {
        self.manifests.retain(|other| other.position != manifest.position);
        self.manifests.push(manifest);
        self.manifests.sort_by_key(|manifest| std::cmp::Reverse(manifest.position));
        self.manifests.truncate(2);
        for (name, piece) in Arc::make_mut(&mut self.pieces) {
            let named = self.manifests.iter().any(|manifest| manifest.pieces.contains(name));
            piece.idle = if named { None } else { piece.idle.or(Some(now)) };
        }
    }

    /// Drops the entries up to a position that are no younger than a moment.
    fn drop_entries(&mut self, through: u64, cutoff: Timestamp) {
        let old = |(entry, _): &(crate::Entry, crate::Name)| {
            entry.position <= through && entry.at <= cutoff
        };
        let count = self.entries.iter().take_while(|entry| old(entry)).count();
        if count == 0 {
            return;
        }
        let gone = Arc::make_mut(&mut self.entries).drain(..count).next_back();
        if let Some((last, name)) = gone {
            self.base = (last.position, name, Some(last.at));
        }
    }
}
