//! One person: claims a code, and then uses it, gives it up, rolls back, or tries what is not theirs.
//!
//! Waiting for a code that comes free: `waiting`.

mod waiting;

use std::time::Instant;

use super::plan::CodesPlan;
use super::record::{Cancelled, GivenCode, Step, Verb};
use crate::error::LoadError;
use crate::people::{Answer, Person, text};
use firstcome_api::code::{CodeStepRequest, RedeemRequest, ReserveRequest};
use firstcome_client::{Ask, CancelAsk, Hidden};

/// What a person does with a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Cancels,
    Abandons,
    Releases,
    RollsBack,
    Redeems,
}

/// One person, and what they do.
pub(super) struct CodeHolder {
    person: Person<CodesPlan>,
    nature: Nature,
    /// What they do besides.
    direct: bool,
    crowd: bool,
    repeats: bool,
    tries_wrong: bool,
    /// Whether they wait where all codes are gone.
    waits: bool,
}

/// The letters of codes.
const LETTERS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Orders for which a code is redeemed at once, beyond its uses.
const CROWD: u32 = 3;

impl CodeHolder {
    /// Draws what somebody does.
    pub(super) fn new(mut person: Person<CodesPlan>) -> Self {
        let (shares, random) = (person.plan.visit.shares, &mut person.random);
        let mut drawn = random.f64();
        let natures = [
            (shares.cancel, Nature::Cancels),
            (shares.abandon, Nature::Abandons),
            (shares.release, Nature::Releases),
            (shares.roll_back, Nature::RollsBack),
        ];
        let mut nature = Nature::Redeems;
        for (share, this) in natures {
            if drawn < share {
                nature = this;
                break;
            }
            drawn -= share;
        }
        let mut is = |share: f64| random.f64() < share;
        let (direct, crowd) = (is(shares.direct), is(shares.crowd));
        let (repeats, tries_wrong) = (is(shares.repeat), is(shares.wrong));
        let waits = is(shares.wait);
        Self { person, nature, direct, crowd, repeats, tries_wrong, waits }
    }

    /// Comes when due, and goes home.
    pub(super) async fn visit(mut self, due: Instant) -> Result<(), LoadError> {
        if self.tries_wrong {
            self.guess(due).await?;
        }
        if let Some(issued) = self.claim(due).await? {
            self.person.recorder.issued(issued.clone());
            self.person.think(1).await;
            match self.nature {
                Nature::Cancels => self.cancel(issued).await?,
                Nature::Abandons => drop(self.step(Verb::Reserve, &issued, "1").await?),
                Nature::Releases => self.release(&issued).await?,
                Nature::RollsBack => self.roll_back(&issued).await?,
                Nature::Redeems if self.crowd => self.redeem_at_once(&issued).await?,
                Nature::Redeems => self.redeem(&issued).await?,
            }
        }
        Ok(())
    }

    /// Claims until there is a code, or none for long enough.
    async fn claim(&mut self, mut due: Instant) -> Result<Option<GivenCode>, LoadError> {
        let pool = self.person.plan.pool.clone();
        let ask = Ask::claim(&self.person.plan.campaign, &self.person.subject, Some(&pool));
        for attempt in 0..self.person.plan.visit.tries {
            let answer = self.person.ask(ask.clone(), due).await?;
            match answer.outcome() {
                "won" | "already_won" => {
                    let issued = self.issued(&answer);
                    if answer.outcome() == "won"
                        && let Some(at) = waiting::position(&answer)
                    {
                        self.person.recorder.claimed(self.person.subject.clone(), at);
                    }
                    if self.repeats {
                        let again = self.person.ask(ask, Instant::now()).await?;
                        let same =
                            again.outcome() == "already_won" && self.issued(&again) == issued;
                        let difference = || {
                            let (rank, then) = (issued.rank, again.outcome());
                            format!("{} won rank {rank}, then {then}", self.person.subject)
                        };
                        self.person.recorder.repeated((!same).then(difference));
                    }
                    return Ok(Some(issued));
                }
                "sold_out" if self.waits => return self.wait_for_code().await,
                // What others give up comes free again; and they may have come too early.
                "sold_out" | "not_open" if attempt + 1 < self.person.plan.visit.tries => {
                    self.person.think(1).await
                }
                _ => break,
            }
            due = Instant::now();
        }
        Ok(None)
    }

    fn issued(&self, answer: &Answer) -> GivenCode {
        let document = answer.document();
        let code = text(&document["code"]);
        let rank = document["rank"].as_u64().unwrap_or_default();
        GivenCode { subject: self.person.subject.clone(), code, rank }
    }

    /// Cancels the claim, and then tries the code all the same.
    async fn cancel(&mut self, issued: GivenCode) -> Result<(), LoadError> {
        let ask = Ask::cancel(&CancelAsk {
            campaign: self.person.plan.campaign.clone(),
            subject: self.person.subject.clone(),
            pool: Some(self.person.plan.pool.clone()),
            rank: u32::try_from(issued.rank).unwrap_or(u32::MAX),
            reason: None,
            by_subject: true,
        });
        let answer = self.person.ask(ask, Instant::now()).await?;
        if answer.outcome() != "cancelled" {
            return Ok(());
        }
        let GivenCode { subject, code, rank } = issued;
        let redeem = self.body(Verb::Redeem, &code, &format!("{subject}-late"));
        self.person.recorder.cancelled(Cancelled { subject, code, rank });
        self.expect_refusal(redeem, "a code whose claim is cancelled").await
    }

    async fn release(&mut self, issued: &GivenCode) -> Result<(), LoadError> {
        if self.step(Verb::Reserve, issued, "1").await?.is_done() {
            self.person.think(1).await;
            self.step(Verb::Release, issued, "1").await?;
        }
        Ok(())
    }

    async fn redeem(&mut self, issued: &GivenCode) -> Result<(), LoadError> {
        if !self.direct && self.step(Verb::Reserve, issued, "1").await?.is_done() {
            self.person.think(1).await;
        }
        self.step(Verb::Redeem, issued, "1").await.map(drop)
    }

    /// Redeems, rolls back, and uses the code again.
    async fn roll_back(&mut self, issued: &GivenCode) -> Result<(), LoadError> {
        self.redeem(issued).await?;
        self.person.think(1).await;
        if self.step(Verb::RollBack, issued, "1").await?.is_done() && self.person.random.bool() {
            self.step(Verb::Redeem, issued, "2").await?;
        }
        Ok(())
    }

    /// Reserves for one order, and then redeems for it and for several others at the same time.
    async fn redeem_at_once(&mut self, issued: &GivenCode) -> Result<(), LoadError> {
        if !self.direct {
            self.step(Verb::Reserve, issued, "1").await?;
        }
        let mut orders = tokio::task::JoinSet::new();
        for order in 1..=self.person.plan.visit.uses.saturating_add(CROWD).min(8) {
            let (mut friend, issued) =
                (Self { person: self.person.companion(), ..*self }, issued.clone());
            orders.spawn(async move {
                friend.step(Verb::Redeem, &issued, &order.to_string()).await.map(drop)
            });
        }
        while let Some(ended) = orders.join_next().await {
            ended.expect("a person does not panic")?;
        }
        Ok(())
    }

    /// Tries a code that was made up.
    async fn guess(&mut self, due: Instant) -> Result<(), LoadError> {
        let letters =
            (0..16).map(|_| char::from(LETTERS[self.person.random.usize(..LETTERS.len())]));
        let code: String = letters.collect();
        let reference = format!("{}-guess", self.person.subject);
        let redeem = self.body(Verb::Redeem, &code, &reference);
        tokio::time::sleep_until(due.into()).await;
        self.expect_refusal(redeem, "a code that was made up").await
    }

    /// Sends a code that does not count.
    async fn expect_refusal(&mut self, redeem: Ask, what: &str) -> Result<(), LoadError> {
        let answer = self.person.ask(redeem, Instant::now()).await?;
        let refused = matches!(
            answer.outcome(),
            "malformed" | "no_such_code" | "not_issued" | "code_revoked" | "too_many_wrong_codes"
        );
        let evidence =
            || format!("{what} was answered {}, to {}", answer.outcome(), self.person.subject);
        self.person.recorder.wrong((!refused).then(evidence));
        Ok(())
    }

    /// Takes a step and records its answer; people who repeat themselves take it twice.
    async fn step(
        &mut self,
        verb: Verb,
        issued: &GivenCode,
        order: &str,
    ) -> Result<Step, LoadError> {
        let reference = format!("{}-{order}", self.person.subject);
        let first = self.take(verb, issued, &reference).await?;
        self.person.recorder.step(first.clone(), false);
        if self.repeats && first.is_done() {
            let again = self.take(verb, issued, &reference).await?;
            let same = again.is_done() && (again.rank, &again.at) == (first.rank, &first.at);
            // A reservation that is over meanwhile is made anew.
            let over = verb == Verb::Reserve
                && again.answered.saturating_sub(first.sent) >= self.person.plan.visit.reservation;
            let difference = || {
                let (verb, first, again) = (verb.as_str(), &first.outcome, &again.outcome);
                format!("{verb} for {reference} was answered {first}, then {again}")
            };
            self.person.recorder.repeated((!same && !over).then(difference));
            self.person.recorder.step(again, true);
        }
        Ok(first)
    }

    async fn take(
        &mut self,
        verb: Verb,
        issued: &GivenCode,
        reference: &str,
    ) -> Result<Step, LoadError> {
        let ask = self.body(verb, &issued.code, reference);
        let sent = self.person.recorder.now();
        let answer = self.person.ask(ask, Instant::now()).await?;
        let document = answer.document();
        let when = if verb == Verb::Reserve { &document["expires_at"] } else { &document["at"] };
        Ok(Step {
            verb,
            code: issued.code.clone(),
            reference: reference.to_owned(),
            outcome: answer.outcome().to_owned(),
            rank: document["rank"].as_u64(),
            at: when.as_str().map(str::to_owned),
            expired: document["expired"] == true,
            sent,
            answered: self.person.recorder.now(),
        })
    }

    fn body(&self, verb: Verb, code: &str, reference: &str) -> Ask {
        let (campaign, pool) =
            (&*self.person.plan.campaign, Some(self.person.plan.pool.as_str().into()));
        let (code, reference) = (Hidden(code.into()), reference.into());
        let (subject, r#for) = (Some(self.person.subject.as_str().into()), None);
        match verb {
            Verb::Reserve => {
                let ttl_ms = i64::try_from(self.person.plan.visit.reservation.as_millis()).ok();
                let body = ReserveRequest { code, reference, pool, subject, ttl_ms, r#for };
                Ask::code_step(campaign, verb.as_str(), body)
            }
            Verb::Redeem => {
                let body = RedeemRequest { code, reference, pool, subject, r#for };
                Ask::code_step(campaign, verb.as_str(), body)
            }
            Verb::RollBack | Verb::Release => {
                let body = CodeStepRequest { code, reference, pool, r#for };
                Ask::code_step(campaign, verb.as_str(), body)
            }
        }
    }
}
