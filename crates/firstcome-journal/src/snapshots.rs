//! Snapshots: terms, pieces and manifests, in any store.
//!
//! A snapshot is pieces, each named by its content, and a manifest that names them, installed last and under the
//! latest term. The two that are furthest on are kept. A piece that neither names is idle; `trimming` drops it later.

pub(crate) mod manifest;
pub(crate) mod trimming;

use crate::error::JournalError;
use crate::journal::Journal;
use crate::name::Name;
use crate::snapshots::manifest::{Manifest, check_piece, names};
use crate::transaction::call::JournalCall;
use crate::transaction::{Check, Read, Transaction, Write};
use firstcome_core::names::PieceName;
use std::cmp::Reverse;

/// How many manifests are kept.
const MANIFESTS: usize = 2;
/// How often a step is tried whose ground somebody else changed meanwhile.
pub(crate) const TRIES: u32 = 5;

impl Journal {
    /// Mints the next term for snapshots and trimming; the terms before it are refused from then on.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn mint_term(&self) -> Result<u64, JournalError> {
        // Also without room: trimming, which frees some, needs a term.
        let mint =
            Transaction::new(JournalCall::MintTerm).check(Check::There).write(Write::Term).frees();
        Ok(self.commit(mint).await?.term)
    }

    /// Stores a piece of a snapshot. Storing it twice changes nothing.
    ///
    /// It is also stored where the space was lost, which is made again from its pieces.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach or full.
    pub async fn put_piece(&self, name: PieceName, bytes: Vec<u8>) -> Result<(), JournalError> {
        let put = Transaction::new(JournalCall::PutPiece).write(Write::Piece(name, bytes));
        self.commit(put).await.map(drop)
    }

    /// Returns a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] when its bytes are not what was written; those of the store being out of reach.
    pub async fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        let get = Transaction::new(JournalCall::Piece).read(Read::Piece(name));
        check_piece(name, self.commit(get).await?.piece)
    }

    /// Makes a manifest, of the state after the entry that `tip` names, the newest snapshot.
    ///
    /// # Errors
    ///
    /// [`JournalError::PieceMissing`] when it names a piece the store does not have; [`JournalError::OldTerm`] when a later term
    /// was minted; [`JournalError::Behind`], [`JournalError::Trimmed`] and [`JournalError::Forked`] when it is not of this journal's
    /// history. Nothing was changed then. [`JournalError::Moved`] when others went on installing snapshots meanwhile.
    pub async fn install(
        &self,
        position: u64,
        name: Name,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), JournalError> {
        let manifest = Manifest { position, pieces, bytes: manifest };
        let entry = Check::Entry { position, name };
        let mut tries = 1;
        loop {
            let seen = self.manifests(JournalCall::Look).await?;
            let (named, unnamed, kept) = exchange(&seen, &manifest);
            let install = Transaction::new(JournalCall::Install)
                .check(Check::There)
                .check(Check::Term(term))
                // A leader that followed another history must not have everybody begin with it.
                .check(entry.clone())
                .check(Check::Pieces(manifest.pieces.clone()))
                .check(Check::Manifests(seen))
                .write(Write::Manifests(kept))
                .write(Write::Named(named))
                .write(Write::Unnamed(unnamed));
            match self.commit(install).await {
                Err(JournalError::Moved { .. }) if tries < TRIES => tries += 1,
                done => return done.map(drop),
            }
        }
    }

    /// Returns the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.manifests(JournalCall::Look).await?.into_iter().next().map(|newest| newest.bytes))
    }

    /// Returns the manifests of the kept snapshots, the newest first; one that is damaged as it is.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn kept_snapshots(&self) -> Result<Vec<Vec<u8>>, JournalError> {
        let kept = self.manifests(JournalCall::Look).await?;
        Ok(kept.into_iter().map(|manifest| manifest.bytes).collect())
    }

    /// Returns the manifests that are kept, the newest first.
    pub(crate) async fn manifests(&self, call: JournalCall) -> Result<Vec<Manifest>, JournalError> {
        Ok(self.commit(Transaction::new(call).read(Read::Manifests)).await?.manifests)
    }
}

/// Returns which pieces are named and which no more once a manifest is taken in, and which manifests are kept then.
fn exchange(
    seen: &[Manifest],
    manifest: &Manifest,
) -> (Vec<PieceName>, Vec<PieceName>, Vec<Manifest>) {
    // It takes the place of one at the same position.
    let others = seen.iter().filter(|other| other.position != manifest.position);
    let mut kept: Vec<Manifest> = others.chain([manifest]).cloned().collect();
    kept.sort_by_key(|manifest| Reverse(manifest.position));
    kept.truncate(MANIFESTS);
    let (before, after) = (names(seen), names(&kept));
    let named = after.difference(&before).copied().collect();
    let unnamed = before.difference(&after).copied().collect();
    (named, unnamed, kept)
}
