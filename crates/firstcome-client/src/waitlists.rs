//! Waitlists: joining, the place, leaving.

use crate::answer::Answer;
use crate::client::Client;
use crate::documents::{Held, LeftWaitlist, Waitlisted, Won};
use crate::error::Error;
use crate::routes::Ask;
use firstcome_api::waitlist::{Place, Wish};
use serde::Deserialize;

/// What a claim that waits came to.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "serde_json::Value")]
#[non_exhaustive]
pub enum Joined {
    /// One unit was free and is the subject's, now or before.
    Won(Won),
    /// The units are held for the subject until a deadline: confirm or release the hold.
    Offered(Held),
    /// The subject waits.
    Waits(Waitlisted),
}

impl TryFrom<serde_json::Value> for Joined {
    type Error = serde_json::Error;

    fn try_from(document: serde_json::Value) -> Result<Self, Self::Error> {
        match document["outcome"].as_str() {
            Some("waitlisted") => serde_json::from_value(document).map(Self::Waits),
            Some("offered") => serde_json::from_value(document).map(Self::Offered),
            Some(_) | None => serde_json::from_value(document).map(Self::Won),
        }
    }
}

impl Client {
    /// Claims units of a pool for a subject, and joins its waitlist if they are not free; the pool may be left out where there
    /// is one.
    ///
    /// One unit of a counted pool, and a code, is won at once if it is free; more units, and seats, are offered at once: a
    /// hold to confirm or to release. Who has an offer of a code takes it by joining again. A subject has one place in a pool: asked for again the answer is as it stands then, whatever is
    /// wished for.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn join(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
        wish: &Wish,
    ) -> Result<Answer<Joined>, Error> {
        self.call(Ask::join(campaign, subject, pool, wish)).await
    }

    /// Reads where a subject stands with the waitlist of a pool: how many are in front, or its offer.
    ///
    /// A subject that is not on it is a no, [`Refusal::NotOnWaitlist`](super::Refusal::NotOnWaitlist).
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn place(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
    ) -> Result<Answer<Place>, Error> {
        self.call(Ask::place(campaign, subject, pool)).await
    }

    /// Takes a subject off the waitlist of a pool. An offer that it has ends, and goes to the next one.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn leave(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
    ) -> Result<Answer<LeftWaitlist>, Error> {
        self.call(Ask::leave(campaign, subject, pool)).await
    }
}
