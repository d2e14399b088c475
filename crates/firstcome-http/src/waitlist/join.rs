//! A claim that waits: what is free at once, or else an offer or a place on the waitlist.

use crate::app::App;
use crate::bearer::Bearer;
use crate::claims::ClaimAsk;
use crate::early::{Early, Look};
use crate::holds;
use crate::problem::{Problem, yes};
use crate::request;
use crate::respond::Yes;
use axum::http::StatusCode;
use firstcome_api::claim::ClaimRequest;
use firstcome_api::waitlist::Waitlisted;
use firstcome_core::campaign::OnList;
use firstcome_core::command::Wish;
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::limits::WISH_UNITS;
use firstcome_core::{Command, Outcome, State};
use firstcome_node::codes::NoCodeKey;
use firstcome_node::{Answer, CommandError};
use std::borrow::Cow;

/// What somebody waits for, as it was sent.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) quantity: Option<u32>,
    pub(crate) grade: Option<Cow<'a, str>>,
    pub(crate) channel: Option<Cow<'a, str>>,
    pub(crate) area: Option<Cow<'a, str>>,
    pub(crate) adjacent: bool,
}

impl<'a> Wanted<'a> {
    /// Takes out of a claim what it waits for, if it waits.
    ///
    /// A claim that does not wait has one unit, whichever it is.
    pub(crate) fn of(asked: &mut ClaimRequest<'a>) -> Result<Option<Self>, Problem> {
        let wanted = Self {
            quantity: asked.quantity,
            grade: asked.grade.take(),
            channel: asked.channel.take(),
            area: asked.area.take(),
            adjacent: asked.adjacent,
        };
        wanted.if_it(asked.wait)
    }

    /// Gives it for a claim that waits; refuses it for another one.
    pub(crate) fn if_it(self, waits: bool) -> Result<Option<Self>, Problem> {
        if !waits {
            let given = [
                ("quantity", self.quantity.is_some()),
                ("grade", self.grade.is_some()),
                ("channel", self.channel.is_some()),
                ("area", self.area.is_some()),
                ("adjacent", self.adjacent),
            ];
            return match given.into_iter().find(|(_, is)| *is) {
                Some((name, _)) => {
                    let detail = format!(
                        "`{name}` goes with \"wait\": true; without it a claim is for one unit, whichever it is"
                    );
                    Err(Problem::invalid(detail))
                }
                None => Ok(None),
            };
        }
        if let Some(quantity) = self.quantity.filter(|count| !(1..=WISH_UNITS).contains(count)) {
            return Err(Problem::invalid(format!("quantity is {quantity}: 1 to {WISH_UNITS}")));
        }
        let names = [("grade", &self.grade), ("channel", &self.channel), ("area", &self.area)];
        for (what, name) in names {
            if let Some(name) = name {
                check_unit_name(name)
                    .map_err(|why| Problem::invalid(format!("{what} {name:?} {why}")))?;
            }
        }
        Ok(Some(self))
    }

    fn wish(&self) -> Wish<'_> {
        Wish {
            quantity: self.quantity.unwrap_or(1),
            grade: self.grade.as_deref(),
            channel: self.channel.as_deref(),
            area: self.area.as_deref(),
            adjacent: self.adjacent,
        }
    }
}

/// A claim that waits as it is asked for.
#[derive(Debug)]
pub(crate) struct JoinAsk<'a> {
    pub(crate) claim: ClaimAsk<'a>,
    pub(crate) wanted: Wanted<'a>,
}

impl JoinAsk<'_> {
    /// Checks it. The journal decides every one: a place is read, not asked for.
    pub(crate) async fn prepare(
        &mut self,
        app: &App,
        bearer: &Bearer<'_>,
        look: Look,
    ) -> Result<Early, Problem> {
        let ClaimAsk { campaign, pool, subject, .. } = &self.claim;
        app.may_act(bearer, campaign, subject)?;
        if let Some(pool) = pool {
            request::pool(campaign, pool)?;
        }
        app.node.intake.reach(look.min).await.map_err(|failure| Problem::failed(&failure))?;
        let limit = app.eligible(campaign, pool.as_deref(), subject).await?;
        // Whoever cannot show a code offers none.
        let shows = self.codes_of_pool(app).map(|_| ());
        shows.map_err(|missing| Problem::failed(&missing.into()))?;
        self.claim.note_only_pool(app);
        Ok(Early::Decide(limit))
    }

    pub(crate) fn command(&self, limit: Option<u32>) -> Command<'_> {
        let ClaimAsk { campaign, pool, subject, .. } = &self.claim;
        let wish = self.wanted.wish();
        Command::Join { campaign, pool: pool.as_deref(), subject, wish, limit }
    }

    /// Says whether the pool has codes, as far as this server knows it; refuses where it lacks their key.
    fn codes_of_pool(&self, app: &App) -> Result<bool, NoCodeKey> {
        let ClaimAsk { campaign, pool, subject, .. } = &self.claim;
        app.node.replica.look(|state: &State| {
            let Ok(found) = state.campaign(campaign) else { return Ok(false) };
            app.node.intake.codes.tag(state.space(), (found, pool.as_deref()), subject, 1)?;
            Ok(match pool {
                Some(name) => found.pool(name).is_some_and(|pool| pool.codes().is_some()),
                None => found.pools().iter().all(|pool| pool.codes().is_some()),
            })
        })
    }

    /// Says whether the subject was offered a code: it asked for a claim, and a claim takes the offer.
    pub(crate) fn is_offered_a_code(
        &self,
        app: &App,
        answer: &Result<Answer, CommandError>,
    ) -> bool {
        let offered = |answer: &Answer| matches!(answer.outcome, Outcome::Offered(_));
        answer.as_ref().is_ok_and(offered) && self.codes_of_pool(app).unwrap_or(false)
    }

    /// Takes the code that the subject was offered. Only a claim has the tag that a code is made with, so this is a second
    /// command; between the two nobody else can have the code.
    pub(crate) async fn take_code(
        &self,
        app: &App,
        offered: Result<Answer, CommandError>,
    ) -> Result<Answer, CommandError> {
        match app.node.intake.decide(&self.claim.command()).await {
            Err(CommandError::Unknown) => Err(CommandError::Unknown),
            // The claim was not sent: the offer stands.
            Err(_) => offered,
            taken => taken,
        }
    }

    pub(crate) fn finish(
        &self,
        app: &App,
        bearer: &Bearer<'_>,
        answer: Result<Answer, CommandError>,
    ) -> Result<Yes, Problem> {
        let ClaimAsk { campaign, subject, .. } = &self.claim;
        match answer.as_ref().map(|answer| &answer.outcome) {
            Ok(Outcome::Waitlisted { .. }) => self.waitlisted(app, answer),
            Ok(Outcome::Offered(_)) => holds::answer::of_hold(app, answer, campaign, subject),
            // Won, or a no: as of any claim.
            Ok(_) | Err(_) => self.claim.finish(app, bearer, answer),
        }
    }

    fn waitlisted(&self, app: &App, answer: Result<Answer, CommandError>) -> Result<Yes, Problem> {
        let ClaimAsk { campaign, pool, subject, .. } = &self.claim;
        let answer = yes(answer, campaign)?;
        let Outcome::Waitlisted { ahead, quantity, passed_over } = answer.outcome else {
            unreachable!("it was looked at which answer it is")
        };
        app.metrics.decided(&answer.outcome);
        let offers_not_taken = app.node.replica.look(|state: &State| {
            let found = state.campaign(campaign).ok()?;
            match found.waiting(pool.as_deref(), subject).ok()?? {
                OnList::Waits(place) => Some(place.missed),
                OnList::Offered(hold) => hold.offers_not_taken(),
            }
        });
        let waitlisted = Waitlisted {
            outcome: answer.outcome.as_str().into(),
            campaign: (&**campaign).into(),
            pool: self.claim.pool_name(app),
            subject: (&**subject).into(),
            ahead,
            quantity,
            passed_over,
            // Who has left since has let none go that counts.
            offers_not_taken: offers_not_taken.unwrap_or(0),
            position: answer.position.to_string().into(),
            decided: answer.decided.as_str().into(),
        };
        Ok(Yes::new(StatusCode::ACCEPTED, &waitlisted))
    }
}
