//! Semaphores and read/write locks in a database: a row for each, with everybody who has a permit in it.
//!
//! A step changes that one row, and looks at all who are in it while it has the row; so whoever comes at the same moment
//! waits for the row, and counts anew.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::{SqlBackend, TRIES, micros, name, number, pause, request};
use crate::Failure;
use crate::backend::{Answer, Kept, Left, NotAfter, Renewal, Return, Undone, in_use};
use crate::keys::Keys;
use crate::protection::Protection;

/// One request about who has permits.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "nobody else says anything to those who wait")
)]
pub(super) enum Step {
    /// Only look.
    Look,
    /// Take one where fewer than `most` are out, and nobody is alone; with 0 where nobody has any, and be alone. `waits`:
    /// leave word that somebody wants to be told when one is given back.
    Acquire { lease: i64, not_after: i64, most: i64, waits: bool },
    /// Give back this owner's.
    Return,
}

/// Who has permits of one name.
#[derive(Debug)]
pub(super) struct Out {
    /// The fence of the owner who asked, if it has one.
    pub(super) mine: Option<i64>,
    pub(super) count: i64,
    /// Somebody is alone.
    pub(super) alone: bool,
    /// When the first and the last of them end, by the store's clock in µs.
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    /// The last request that changed it.
    pub(super) request: Option<i64>,
    /// The store's clock in µs.
    pub(super) now: i64,
    /// The step changed the row, even if the row does not show it: see [`Seen`](super::Seen).
    pub(super) carried_out: bool,
}

impl Out {
    /// Tells whether this request, which was to give one back, did.
    fn was_changed_by(&self, request: i64) -> bool {
        self.carried_out || self.request == Some(request)
    }

    /// Tells how long it takes at most until there may be one for who wants to be one of `most`; `None` where there is one.
    pub(super) fn taken_for(&self, most: i64) -> Option<Duration> {
        let (free, until) = match most {
            0 => (self.count == 0, self.last),
            most => (self.count < most && !self.alone, self.first),
        };
        let left = until.map_or(0, |until| until.saturating_sub(self.now));
        (!free && self.mine.is_none())
            .then(|| Duration::from_micros(u64::try_from(left).unwrap_or(0)))
    }
}

impl SqlBackend {
    pub(super) async fn acquire_permit(
        &self,
        keys: &Keys,
        most: i64,
        owner: &str,
        lease: Duration,
        waits: bool,
    ) -> Result<Answer, (Failure, NotAfter)> {
        let mut late = false;
        for _ in 0..TRIES {
            let not_after = self.not_after();
            let last = NotAfter(not_after.saturating_add(micros(self.answer_within())));
            let mut step = Step::Acquire { lease: micros(lease), not_after, most, waits };
            if self.protections.lack(Protection::CountInStep) {
                let seen = self.permit(keys, owner, 0, Step::Look).await;
                let seen = seen.map_err(|failure| (failure, last))?;
                if let Some(remaining) = seen.taken_for(most) {
                    return Ok(Answer::Held { remaining: Some(remaining) });
                }
                step =
                    Step::Acquire { lease: micros(lease), not_after, most: i64::MAX, waits: false };
            }
            let seen = self.permit(keys, owner, request(), step).await;
            let seen = seen.map_err(|failure| (failure, last))?;
            if let Some(fence) = seen.mine {
                return Ok(Answer::Yes { holds: 1, fence: super::unsigned(fence) });
            }
            if let Some(remaining) = seen.taken_for(most) {
                return Ok(Answer::Held { remaining: Some(remaining) });
            }
            if seen.now > not_after {
                // By what was known of the clock it was in time: that was another server's, or long ago.
                if late {
                    return Ok(Answer::Late);
                }
                late = true;
            } else {
                // One was given back meanwhile.
                pause().await;
            }
        }
        Err((in_use(&keys.name), NotAfter(0)))
    }

    pub(super) async fn undo_permit(
        &self,
        keys: &Keys,
        owner: &str,
        not_after: NotAfter,
    ) -> Result<Undone, Failure> {
        let request = request();
        let seen = self.returned(keys, owner, request).await?;
        Ok(match seen.was_changed_by(request) {
            true => Undone::TakenBack,
            false => Undone::nothing_by(seen.now, not_after),
        })
    }

    pub(super) async fn release_permit(&self, asked: Return<'_>) -> Result<Left, Failure> {
        let request = number(asked.request);
        let seen = self.returned(asked.keys, asked.owner, request).await?;
        Ok(if seen.was_changed_by(request) { Left::Free } else { Left::Nothing })
    }

    /// Sends a return until it was carried out, or until there was nothing for it to do.
    async fn returned(&self, keys: &Keys, owner: &str, request: i64) -> Result<Out, Failure> {
        for _ in 0..TRIES {
            let seen = self.permit(keys, owner, request, Step::Return).await?;
            if seen.was_changed_by(request) || seen.mine.is_none() {
                return Ok(seen);
            }
            pause().await;
        }
        Err(in_use(&keys.name))
    }

    /// Renews permits, those of one name together.
    pub(super) async fn renew_permits(
        &self,
        holds: &[Renewal<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<Kept>, Failure> {
        let lease = lease.map_or(0, micros);
        let mut rows: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, (keys, _)) in holds.iter().enumerate() {
            rows.entry(name::stored(&keys.line.row()).into_owned()).or_default().push(place);
        }
        let renewing = rows.into_iter().map(async |(name, places)| {
            let owners: Vec<String> =
                places.iter().map(|place| holds[*place].1.to_owned()).collect();
            let kept = self.table.renew_permits(name, owners, lease).await;
            (places, kept)
        });
        let mut answers = vec![Kept::NotRenewed; holds.len()];
        for (places, kept) in join_all(renewing).await {
            match kept {
                Ok(kept) => {
                    for place in places {
                        answers[place] = kept.iter().any(|owner| owner == holds[place].1).into();
                    }
                }
                // One row that somebody else's transaction has must not hold up the others.
                Err(Failure::Store(firstcome_store::Failure::Held { .. })) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(answers)
    }

    pub(super) async fn permit_taken_for(
        &self,
        keys: &Keys,
        most: i64,
    ) -> Result<Option<Option<Duration>>, Failure> {
        let seen = self.permit(keys, "", 0, Step::Look).await?;
        Ok(seen.taken_for(most).map(Some))
    }

    async fn permit(
        &self,
        keys: &Keys,
        owner: &str,
        request: i64,
        step: Step,
    ) -> Result<Out, Failure> {
        let asked = Instant::now();
        let name = name::stored(&keys.line.row()).into_owned();
        let seen = self.table.permit(&name, owner, request, step).await?;
        self.clock.note(seen.now, asked);
        Ok(seen)
    }
}
