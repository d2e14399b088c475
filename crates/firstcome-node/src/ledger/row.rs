//! One result as a ledger keeps it.

use super::{Details, LedgerError};
use firstcome_core::Timestamp;
use firstcome_core::campaign::ResultRow;
use firstcome_core::codes::Use;
use firstcome_core::outcome::By;
use firstcome_core::results::{Kind, fingerprint};
use std::fmt;

/// One result as a ledger keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number: 1, 2, 3 over the whole space.
    pub number: u64,
    /// Its number among the results of its campaign: 1, 2, 3.
    pub in_campaign: u32,
    /// What happened.
    pub kind: Kind,
    pub campaign: Box<str>,
    /// The number that the campaign has in the space.
    pub campaign_number: u32,
    pub pool: Box<str>,
    /// The place of the pool among those of the campaign, from 0.
    pub pool_number: u16,
    /// To the claim of which rank; 0 where it is about no claim.
    pub rank: u32,
    /// Whose claim it is.
    pub subject: Box<str>,
    /// When the unit was won, or the claim undone.
    pub at: Timestamp,
    /// On whose word a claim was undone.
    pub by: Option<By>,
    /// Why a claim was undone, if somebody said.
    pub reason: Option<Box<str>>,
    /// The name of the key a claim was undone with or a unit moved, if there was one.
    pub who: Option<Box<str>>,
    /// Which unit of a seated pool; of a move the new one.
    pub unit: Option<Box<str>>,
    /// The id of the hold it came from, if it came from one.
    pub hold: Option<Box<str>>,
    /// Of a move the old seat.
    pub moved_from: Option<Box<str>>,
    /// What it says of a code or of a waitlist.
    pub details: Option<Box<Details>>,
}

impl Row {
    /// Returns its [fingerprint].
    pub fn fingerprint(&self) -> u64 {
        let of = (&*self.campaign, self.in_campaign, &*self.pool);
        fingerprint(self.kind, of, (self.rank, &self.subject))
    }

    /// Says whether it has more to say than each result: what stands in the table of details.
    pub(super) fn has_details(&self) -> bool {
        let Self { by, reason, who, moved_from, details, .. } = self;
        let texts = [reason, who, moved_from].into_iter().any(Option::is_some);
        texts || by.is_some() || details.is_some()
    }

    /// Says whether this is the same result, with the same content.
    pub fn is_same_result(&self, other: &Self) -> bool {
        self == other
    }
}

impl From<ResultRow<'_>> for Row {
    fn from(result: ResultRow<'_>) -> Self {
        let moved_from = result.moved_from();
        let details = Details::of(&result);
        let ResultRow { number, in_campaign, kind, campaign, pool, place, .. } = result;
        let ResultRow { claim, unit, hold, moved, used, mark, unserved, .. } = result;
        // A claim's own result says how it was won, whatever became of it later.
        let cancel = claim.cancel.filter(|_| kind == Kind::Cancel);
        let reason = cancel.map(|c| &c.reason).or(moved.map(|moved| &moved.reason));
        let why = unserved.map(|gone| gone.why.as_str().into());
        let reason = reason.or(mark.map(|mark| &mark.reason));
        let who = cancel.map(|c| &c.who).or(moved.map(|moved| &moved.who));
        let who = who.or(mark.map(|mark| &mark.who));
        // A redemption's own result says when it was, whatever became of it later.
        let redeemed = |used: &Use| used.redeemed_at().filter(|_| kind == Kind::Redeemed);
        let of_use = used.map(|used| redeemed(used).unwrap_or(used.at));
        let at = of_use.or(mark.map(|mark| mark.at)).unwrap_or(claim.at);
        let some = |text: &str| (!text.is_empty()).then(|| text.into());
        Self {
            number,
            in_campaign,
            kind,
            campaign: campaign.name().into(),
            campaign_number: campaign.number(),
            pool: pool.into(),
            pool_number: place,
            rank: claim.rank,
            subject: claim.subject.into(),
            at: cancel.map_or(at, |cancel| cancel.at),
            by: cancel.map(|cancel| cancel.by),
            reason: reason.and_then(|reason| some(reason)).or(why),
            who: who.and_then(|who| some(who)),
            unit: unit.map(Into::into),
            hold: hold.map(Into::into),
            moved_from: moved_from.map(Into::into),
            details,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, kind, campaign, pool, rank, subject, at, by, reason, who, .. } = self;
        let (kind, at) = (kind.as_str(), at.as_micros());
        write!(f, "{number}: {kind} {campaign}/{pool} rank {rank} of {subject:?} at {at}")?;
        if let Some(unit) = &self.unit {
            write!(f, " unit {unit:?}")?;
        }
        if let Some(from) = &self.moved_from {
            write!(f, " from {from:?}")?;
        }
        if let Some(hold) = &self.hold {
            write!(f, " of hold {hold:?}")?;
        }
        if let Some(details) = &self.details {
            write!(f, "{details}")?;
        }
        if let Some(by) = by {
            write!(f, " by {}", by.as_str())?;
        }
        if let Some(who) = who {
            write!(f, " with key {who:?}")?;
        }
        if let Some(reason) = reason {
            write!(f, " because {reason:?}")?;
        }
        Ok(())
    }
}

/// Returns the kind that is stored under a number.
pub(super) fn kind_of(number: i64) -> Result<Kind, LedgerError> {
    let kind = u64::try_from(number).ok().and_then(Kind::of);
    kind.ok_or_else(|| LedgerError::Broken(format!("{number} is no kind of result")))
}

/// Returns whose word it was, as it is stored.
pub(super) fn by_of(text: Option<&str>) -> Result<Option<By>, LedgerError> {
    let Some(text) = text else { return Ok(None) };
    let by = [By::Subject, By::Operator].into_iter().find(|by| by.as_str() == text);
    by.map(Some).ok_or_else(|| LedgerError::Broken(format!("{text:?} is not known")))
}

/// Returns a whole number that fits what it is of.
pub(super) fn fitting<T: TryFrom<i64>>(number: i64) -> Result<T, LedgerError> {
    let wrong = |_| LedgerError::Broken(format!("{number} is out of its range"));
    T::try_from(number).map_err(wrong)
}
