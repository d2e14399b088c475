//! Semaphores and read/write locks in a database: a row for each, with everybody who has a permit in it.
//!
//! A step changes that one row, and looks at all who are in it while it has the row; so whoever comes at the same moment
//! waits for the row, and counts anew.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::backend::SqlBackend;
use super::name;
use super::numbers::{micros, request_id, short_id, unsigned};
use super::permit_row::{PermitStep, Permits};
use super::retry::{TRIES, pause};
use crate::backend::requests::{
    AcquireAnswer, NotAfter, ReleaseAnswer, ReleaseRequest, RenewalAnswer, RenewalRequest,
    UndoAnswer,
};
use crate::error::Error;
use crate::inject::Mistake;
use crate::keys::LockKeys;

impl SqlBackend {
    pub(super) async fn acquire_permit(
        &self,
        keys: &LockKeys,
        most: i64,
        owner: &str,
        lease: Duration,
        waits: bool,
    ) -> Result<AcquireAnswer, (Error, NotAfter)> {
        let mut late = false;
        for _ in 0..TRIES {
            let not_after = self.not_after();
            let last = NotAfter(not_after.saturating_add(micros(self.answer_within())));
            let mut step = PermitStep::Acquire { lease: micros(lease), not_after, most, waits };
            if self.mistakes.makes(Mistake::CountPermitsBeforehand) {
                let seen = self.permit(keys, owner, 0, PermitStep::Look).await;
                let seen = seen.map_err(|failure| (failure, last))?;
                if let Some(remaining) = seen.taken_for(most) {
                    return Ok(AcquireAnswer::Held { remaining: Some(remaining) });
                }
                step = PermitStep::Acquire {
                    lease: micros(lease),
                    not_after,
                    most: i64::MAX,
                    waits: false,
                };
            }
            let seen = self.permit(keys, owner, request_id(), step).await;
            let seen = seen.map_err(|failure| (failure, last))?;
            if let Some(fence) = seen.mine {
                return Ok(AcquireAnswer::Yes { holds: 1, fence: unsigned(fence) });
            }
            if let Some(remaining) = seen.taken_for(most) {
                return Ok(AcquireAnswer::Held { remaining: Some(remaining) });
            }
            if seen.now > not_after {
                // By what was known of the clock it was in time: that was another server's, or long ago.
                if late {
                    return Ok(AcquireAnswer::Late);
                }
                late = true;
            } else {
                // One was given back meanwhile.
                pause().await;
            }
        }
        Err((Error::row_in_use(&keys.name), NotAfter(0)))
    }

    pub(super) async fn undo_permit(
        &self,
        keys: &LockKeys,
        owner: &str,
        not_after: NotAfter,
    ) -> Result<UndoAnswer, Error> {
        let request = request_id();
        let seen = self.returned(keys, owner, request).await?;
        Ok(match seen.was_changed_by(request) {
            true => UndoAnswer::TakenBack,
            false => UndoAnswer::nothing_by(seen.now, not_after),
        })
    }

    pub(super) async fn release_permit(
        &self,
        asked: ReleaseRequest<'_>,
    ) -> Result<ReleaseAnswer, Error> {
        let request = short_id(asked.request);
        let seen = self.returned(asked.keys, asked.owner, request).await?;
        Ok(if seen.was_changed_by(request) {
            ReleaseAnswer::Free { receivers: 0 }
        } else {
            ReleaseAnswer::Nothing
        })
    }

    /// Sends a return until it was carried out, or until there was nothing for it to do.
    async fn returned(&self, keys: &LockKeys, owner: &str, request: i64) -> Result<Permits, Error> {
        for _ in 0..TRIES {
            let seen = self.permit(keys, owner, request, PermitStep::Return).await?;
            if seen.was_changed_by(request) || seen.mine.is_none() {
                return Ok(seen);
            }
            pause().await;
        }
        Err(Error::row_in_use(&keys.name))
    }

    /// Renews permits, those of one name together.
    pub(super) async fn renew_permits(
        &self,
        holds: &[RenewalRequest<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<RenewalAnswer>, Error> {
        let lease = lease.map_or(0, micros);
        let mut rows: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, (keys, _)) in holds.iter().enumerate() {
            rows.entry(name::stored(&keys.queue.row()).into_owned()).or_default().push(index);
        }
        let renewing = rows.into_iter().map(async |(name, indexes)| {
            let owners: Vec<String> =
                indexes.iter().map(|index| holds[*index].1.to_owned()).collect();
            let kept = self.table.renew_permits(name, owners, lease).await;
            (indexes, kept)
        });
        let mut answers = vec![RenewalAnswer::NotRenewed; holds.len()];
        for (indexes, kept) in join_all(renewing).await {
            match kept {
                Ok(kept) => {
                    for index in indexes {
                        answers[index] = kept.iter().any(|owner| owner == holds[index].1).into();
                    }
                }
                // One row that somebody else's transaction has must not hold up the others.
                Err(Error::Store(firstcome_store::StoreError::Held { .. })) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(answers)
    }

    pub(super) async fn permit_taken_for(
        &self,
        keys: &LockKeys,
        most: i64,
    ) -> Result<Option<Option<Duration>>, Error> {
        let seen = self.permit(keys, "", 0, PermitStep::Look).await?;
        Ok(seen.taken_for(most).map(Some))
    }

    async fn permit(
        &self,
        keys: &LockKeys,
        owner: &str,
        request: i64,
        step: PermitStep,
    ) -> Result<Permits, Error> {
        let asked = Instant::now();
        let name = name::stored(&keys.queue.row()).into_owned();
        let seen = self.table.permit(&name, owner, request, step).await?;
        self.clock.note(seen.now, asked);
        Ok(seen)
    }
}
