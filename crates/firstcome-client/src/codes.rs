//! Coupon codes: reserved, redeemed, rolled back, looked up, marked.

pub(crate) mod imports;

use std::time::Duration;

use crate::answer::Answer;
use crate::campaigns::command_id;
use crate::client::Client;
use crate::error::Error;
use crate::routes::Ask;
use firstcome_api::code::{
    CodeLookUpRequest, CodeStep, CodeStepRequest, CodesFound, CodesMarked, MarkCodesRequest,
    RedeemRequest, ReissueRequest, Reissued, ReserveRequest,
};
use firstcome_api::hidden::Hidden;

/// A code and what it is used for.
///
/// Code and reference are the identity of each step: sent again, it is answered as the first time.
#[derive(Clone)]
pub struct UseCode {
    code: String,
    reference: String,
    pool: Option<String>,
    subject: Option<String>,
    customer: Option<String>,
}

impl std::fmt::Debug for UseCode {
    /// Does not show the code.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("UseCode");
        shown.field("reference", &self.reference).field("pool", &self.pool);
        shown.field("subject", &self.subject).field("customer", &self.customer);
        shown.finish_non_exhaustive()
    }
}

impl UseCode {
    /// This code, as it was typed, for this reference: 1 to 64 bytes, such as the id of an order.
    pub fn new(code: impl Into<String>, reference: impl Into<String>) -> Self {
        let (code, reference) = (code.into(), reference.into());
        Self { code, reference, pool: None, subject: None, customer: None }
    }

    /// Sets the pool; every coded pool of the campaign is tried, if not set.
    #[must_use]
    pub fn pool(self, pool: impl Into<String>) -> Self {
        Self { pool: Some(pool.into()), ..self }
    }

    /// Sets who uses the code. Needed where only its holder may.
    #[must_use]
    pub fn subject(self, subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..self }
    }

    /// Sets the customer who typed the code, 1 to 255 bytes: the server counts wrong codes for it.
    #[must_use]
    pub fn customer(self, customer: impl Into<String>) -> Self {
        Self { customer: Some(customer.into()), ..self }
    }

    fn step(&self) -> CodeStepRequest<'_> {
        let part = |part: &'_ Option<String>| part.clone().map(Into::into);
        CodeStepRequest {
            code: Hidden(self.code.as_str().into()),
            reference: self.reference.as_str().into(),
            pool: part(&self.pool),
            r#for: part(&self.customer),
        }
    }
}

/// What an operator decides about codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeVerdict {
    /// Never to be redeemed again. Final.
    Revoke,
    /// Not to be redeemed until somebody decided about it.
    Suspend,
    /// To be redeemed again after it was suspended.
    Restore,
}

impl CodeVerdict {
    /// Returns the word of the route.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revoke => "revoke",
            Self::Suspend => "suspend",
            Self::Restore => "restore",
        }
    }
}

impl Client {
    /// Sets a use of a code aside, 1 s to 24 h; 15 minutes if not said. A live reservation can be redeemed whatever happens to the
    /// cap and to the code's validity meanwhile.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn reserve_code(
        &self,
        campaign: &str,
        code: &UseCode,
        lasts: Option<Duration>,
    ) -> Result<Answer<CodeStep>, Error> {
        let CodeStepRequest { code: text, reference, pool, r#for } = code.step();
        let subject = code.subject.as_deref().map(Into::into);
        let ttl_ms = lasts.map(|lasts| i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX));
        let body = ReserveRequest { code: text, reference, pool, subject, ttl_ms, r#for };
        self.call(Ask::code_step(campaign, "reserve", body)).await
    }

    /// Uses a code, reserved before or not.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn redeem_code(
        &self,
        campaign: &str,
        code: &UseCode,
    ) -> Result<Answer<CodeStep>, Error> {
        let CodeStepRequest { code: text, reference, pool, r#for } = code.step();
        let subject = code.subject.as_deref().map(Into::into);
        let body = RedeemRequest { code: text, reference, pool, subject, r#for };
        self.call(Ask::code_step(campaign, "redeem", body)).await
    }

    /// Undoes a redemption: the use comes back, unless the code has expired meanwhile ([`CodeStep::expired`]).
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn roll_back_code(
        &self,
        campaign: &str,
        code: &UseCode,
    ) -> Result<Answer<CodeStep>, Error> {
        self.call(Ask::code_step(campaign, "roll-back", code.step())).await
    }

    /// Returns a reservation back.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn release_code(
        &self,
        campaign: &str,
        code: &UseCode,
    ) -> Result<Answer<CodeStep>, Error> {
        self.call(Ask::code_step(campaign, "release", code.step())).await
    }

    /// Reads how a code stands, whose it is, and what was done with it.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn look_up_code(
        &self,
        campaign: &str,
        code: &str,
        pool: Option<&str>,
    ) -> Result<Answer<CodesFound>, Error> {
        let (code, pool) = (Some(Hidden(code.into())), pool.map(Into::into));
        let body = CodeLookUpRequest { code, pool, ..CodeLookUpRequest::default() };
        self.call(Ask::code_step(campaign, "look-up", body)).await
    }

    /// Reads the codes of a subject, with what was done with them.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn codes_of(
        &self,
        campaign: &str,
        subject: &str,
        pool: Option<&str>,
    ) -> Result<Answer<CodesFound>, Error> {
        let (subject, pool) = (Some(subject.into()), pool.map(Into::into));
        let body = CodeLookUpRequest { subject, pool, ..CodeLookUpRequest::default() };
        self.call(Ask::code_step(campaign, "look-up", body)).await
    }

    /// Revokes, suspends or restores up to 4,000 codes, or revokes all codes of an import.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn mark_codes(
        &self,
        campaign: &str,
        verdict: CodeVerdict,
        which: &MarkCodesRequest,
    ) -> Result<Answer<CodesMarked>, Error> {
        self.call(Ask::operate_codes(campaign, verdict.as_str(), which, &command_id())).await
    }

    /// Replaces the code of a claim by another one; the old one is revoked.
    ///
    /// Without an issue number the present one is looked up first, in a request with a deadline of its own; so a call replaces the
    /// code once, however often it is sent.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn reissue_code(
        &self,
        campaign: &str,
        which: &ReissueRequest,
    ) -> Result<Answer<Reissued>, Error> {
        let mut which = which.clone();
        if which.issue.is_none() {
            match self.codes_of(campaign, &which.subject, which.pool.as_deref()).await? {
                Answer::Yes(found) => {
                    let mut codes = found.codes.iter().filter(|code| code.rank == which.rank);
                    // Two pools may have the rank: then the server says that a pool is to be named.
                    if let (Some(code), None) = (codes.next(), codes.next()) {
                        which.issue = Some(code.issue.saturating_add(1));
                    }
                }
                Answer::No(refusal, problem) => return Ok(Answer::No(refusal, problem)),
            }
        }
        self.call(Ask::operate_codes(campaign, "reissue", &which, &command_id())).await
    }
}
