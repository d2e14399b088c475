//! Holds: units set aside, paid for, given back.

pub(crate) mod picks;

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::answer::Answer;
use crate::client::Client;
use crate::documents::{Ended, Extended, Held};
use crate::error::Error;
use crate::holds::picks::{HoldStep, Picks};
use crate::routes::Ask;
use firstcome_api::hold::HoldLookup;

/// A hold that is asked for.
#[derive(Debug, Clone)]
pub struct TakeHold {
    campaign: String,
    subject: String,
    picks: Picks,
    id: Option<String>,
    wait: Duration,
}

impl TakeHold {
    /// These units of a campaign for this subject: all of them or none.
    pub fn new(campaign: impl Into<String>, subject: impl Into<String>, picks: Picks) -> Self {
        let (campaign, subject) = (campaign.into(), subject.into());
        Self { campaign, subject, picks, id: None, wait: Duration::ZERO }
    }

    /// Sets the hold's id, 1 to 64 bytes, which makes it the same when it is asked for again; drawn for each call, if not
    /// set.
    ///
    /// Set one that is stored with the order where the answer must be found again after this process ended. Where browsers
    /// hold, too, it must not be guessable.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Sets how long to wait for named seats that somebody has: at most 3 s by default (the server's `hold_wait_ms`); not
    /// at all, if not set. The deadline of the call counts all the same.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }
}

/// A hold that was taken, now or before.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Taken {
    /// Its units are set aside.
    Held(Held),
    /// It was taken before, and its units are confirmed already.
    Confirmed(Ended),
}

impl<'de> Deserialize<'de> for Taken {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let document = Value::deserialize(from)?;
        let confirmed = document["outcome"] == "confirmed";
        let read = match confirmed {
            true => serde_json::from_value(document).map(Self::Confirmed),
            false => serde_json::from_value(document).map(Self::Held),
        };
        read.map_err(de::Error::custom)
    }
}

/// What becomes of a confirm that comes after its hold expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Late {
    /// It is refused: [`Refusal::HoldExpired`](crate::Refusal::HoldExpired).
    #[default]
    Refuse,
    /// The same units are taken again if all of them are free; otherwise it is
    /// [`Refusal::RefundDue`](crate::Refusal::RefundDue): for whoever has taken the money already.
    Retake,
}

impl Client {
    /// Sets units aside until a deadline: all of them or none.
    ///
    /// What the subject holds just so already is a yes with [`Held::again`], under whichever id.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]. After [`Error::Unknown`] the units may be held until the deadline of the hold.
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn take_hold(&self, take: &TakeHold) -> Result<Answer<Taken>, Error> {
        let id = take.id.clone().unwrap_or_else(|| format!("hold-{:032x}", fastrand::u128(..)));
        let wait_ms = u64::try_from(take.wait.as_millis()).unwrap_or(u64::MAX);
        let ask = Ask::hold(&take.campaign, &id, &take.subject, take.picks.requests(), wait_ms);
        self.call_for(ask, take.wait).await
    }

    /// Reads a hold as it stands, until 24 h after it ended.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn hold(&self, campaign: &str, hold: &str) -> Result<Answer<HoldLookup>, Error> {
        self.call(Ask::hold_of(campaign, hold, None)).await
    }

    /// Adds units to a hold: all of them or none.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn add_to_hold(&self, step: &HoldStep, picks: &Picks) -> Result<Answer<Held>, Error> {
        self.call(step.add(picks)).await
    }

    /// Gives some units of a hold back; one unit at least is picked, and none as one of the best.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn drop_from_hold(
        &self,
        step: &HoldStep,
        picks: &Picks,
    ) -> Result<Answer<Held>, Error> {
        self.call(step.drop(picks)).await
    }

    /// Moves the deadline of a hold to so long from now, 1 ms to 24 h; by the campaign's time for a hold, if no time is
    /// given. Never to an earlier time, and not beyond the campaign's `hold_max_ms`: look at `expires_at`.
    ///
    /// Extend before the customer is charged, and charge only after a yes.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn extend_hold(
        &self,
        step: &HoldStep,
        by: Option<Duration>,
    ) -> Result<Answer<Extended>, Error> {
        self.call(step.extend(by)).await
    }

    /// Makes units of a hold the subject's for good; all of them, if nothing is picked. For whoever took the money: a
    /// subject token may not.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn confirm_hold(
        &self,
        step: &HoldStep,
        picks: &Picks,
        late: Late,
    ) -> Result<Answer<Ended>, Error> {
        self.call(step.confirm(picks, late == Late::Retake)).await
    }

    /// Gives units of a hold back; all of them, if nothing is picked.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn release_hold(
        &self,
        step: &HoldStep,
        picks: &Picks,
    ) -> Result<Answer<Ended>, Error> {
        self.call(step.release(picks)).await
    }
}
