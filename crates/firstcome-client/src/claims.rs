//! Claims: won, looked up, cancelled.

use crate::answer::Answer;
use crate::client::Client;
use crate::documents::Won;
use crate::error::Error;
use crate::routes::{Ask, CancelAsk};
use firstcome_api::claim::{Cancelled, Claim, SubjectClaims};
use firstcome_api::subject::Subject;

/// On whose word a claim is cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelBy {
    /// The subject wishes it.
    Subject,
    /// The operator decides it, for this reason: 1 to 256 bytes. It needs an operator's key.
    Operator(String),
}

/// Which claims of a subject are cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Which {
    /// The one with this rank, in a campaign of one pool.
    Rank(u32),
    /// The one with this rank in this pool.
    RankIn {
        /// The pool.
        pool: String,
        /// The rank.
        rank: u32,
    },
    /// Those of this seat or area that stand.
    Unit(String),
    /// Those that came from this hold and stand.
    Hold(String),
    /// All that stand.
    All,
}

impl Client {
    /// Claims a unit for a subject, in a campaign of one pool.
    ///
    /// A claim is known by its campaign, pool and subject. Asked for again it is a yes with [`Won::again`], with the same
    /// rank and time.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn claim(&self, campaign: &str, subject: &str) -> Result<Answer<Won>, Error> {
        self.call(Ask::claim(campaign, subject, None)).await
    }

    /// Claims a unit of a pool for a subject; otherwise as [`Client::claim`].
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn claim_in(
        &self,
        campaign: &str,
        pool: &str,
        subject: &str,
    ) -> Result<Answer<Won>, Error> {
        self.call(Ask::claim(campaign, subject, Some(pool))).await
    }

    /// Reads the claims of a subject in a campaign, the latest first in each pool, with those that are cancelled.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn claims_of(
        &self,
        campaign: &str,
        subject: &str,
    ) -> Result<Answer<SubjectClaims>, Error> {
        let mut all: SubjectClaims = match self.call(Ask::claims_of(campaign, subject, 0)).await? {
            Answer::Yes(first) => first,
            no @ Answer::No(..) => return Ok(no),
        };
        while let Some(after) = all.next.take() {
            let page: SubjectClaims = self.read(Ask::claims_of(campaign, subject, after)).await?;
            all.claims.extend(page.claims);
            (all.next, all.position) = (page.next, page.position);
            all.stale |= page.stale;
            all.durable &= page.durable;
        }
        Ok(Answer::Yes(all))
    }

    /// Reads the live holds and the claims of a subject over all campaigns; where one has more than 1,000 claims of the
    /// subject, `next` says so, and [`Client::claims_of`] has all of them.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn subject(&self, subject: &str) -> Result<Subject, Error> {
        let mut all: Subject = self.read(Ask::subject(subject, 0)).await?;
        while let Some(after) = all.next.take() {
            let page: Subject = self.read(Ask::subject(subject, after)).await?;
            all.campaigns.extend(page.campaigns);
            (all.next, all.position) = (page.next, page.position);
            all.stale |= page.stale;
            all.durable &= page.durable;
        }
        Ok(all)
    }

    /// Cancels claims of a subject, and gives them; none where none of them stands.
    ///
    /// A rank is cancelled as it is named: sent again, it is answered as the first time. For the other ways to name claims,
    /// those that stand are looked up first, and then each is cancelled by its rank. If one of them fails, the call ends,
    /// and those before it stay cancelled; call again to cancel the rest. Each of these requests has a deadline of its own.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn cancel(
        &self,
        campaign: &str,
        subject: &str,
        which: &Which,
        by: &CancelBy,
    ) -> Result<Answer<Vec<Cancelled>>, Error> {
        let ranks = match which {
            Which::Rank(rank) => vec![(None, *rank)],
            Which::RankIn { pool, rank } => vec![(Some(pool.clone()), *rank)],
            Which::Unit(_) | Which::Hold(_) | Which::All => {
                match self.claims_of(campaign, subject).await? {
                    Answer::Yes(found) => {
                        let meant = found.claims.into_iter().filter(|claim| which.means(claim));
                        meant.map(|claim| (Some(claim.pool), claim.rank)).collect()
                    }
                    Answer::No(refusal, problem) => return Ok(Answer::No(refusal, problem)),
                }
            }
        };
        let (reason, by_subject) = match by {
            CancelBy::Subject => (None, true),
            CancelBy::Operator(reason) => (Some(reason.clone()), false),
        };
        let mut cancelled = Vec::with_capacity(ranks.len());
        for (pool, rank) in ranks {
            let (campaign, subject) = (campaign.to_owned(), subject.to_owned());
            let reason = reason.clone();
            let ask = CancelAsk { campaign, subject, pool, rank, reason, by_subject };
            match self.call(Ask::cancel(&ask)).await? {
                Answer::Yes(done) => cancelled.push(done),
                Answer::No(refusal, problem) => return Ok(Answer::No(refusal, problem)),
            }
        }
        Ok(Answer::Yes(cancelled))
    }
}

impl Which {
    /// Whether a claim is meant that stands.
    fn means(&self, claim: &Claim) -> bool {
        claim.cancelled.is_none()
            && match self {
                Self::Rank(rank) => claim.rank == *rank,
                Self::RankIn { pool, rank } => claim.pool == *pool && claim.rank == *rank,
                Self::Unit(unit) => claim.unit.as_ref() == Some(unit),
                Self::Hold(hold) => claim.hold.as_ref() == Some(hold),
                Self::All => true,
            }
    }
}
