//! The place of one subject: read from memory, and left.

use super::pool;
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::{self, json};
use crate::app::App;
use crate::asks::{self, Ask, Known, ReadOptions};
use crate::clock_text;
use crate::holds::view;
use crate::request;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::key::Role;
use firstcome_api::waitlist::{LeftWaitlist, Place};
use firstcome_core::campaign::{Campaign, OnList};
use firstcome_core::{Command, Outcome, State};
use firstcome_node::{Answer, Decided};
use serde_json::json as value;
use std::borrow::Cow;

/// Returns the place of a subject on the waitlist of a pool, or its offer.
///
/// It is answered from the memory of the server, however many wait.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/waitlist/{subject}", tag = "waitlists", operation_id = "show_place",
    params(("pool" = Option<String>, Query, description = "May be left out if the campaign has one")),
    responses((status = "2XX", body = Place)))]
pub(crate) async fn show(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, subject), headers, .. } = &call;
    let bearer = app.bearer(headers, Role::Read, campaign)?;
    app.may_act(&bearer, campaign, subject)?;
    let query = call.query(&["pool"])?;
    let named = query.get("pool");
    if let Some(pool) = named {
        request::pool(campaign, pool)?;
    }
    app.reach(&query).await?;
    app.readable(campaign)?;
    let stale = app.is_stale();
    let (mut place, position) = app.node.replica.look(|state: &State| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        let pool = pool(found, named).map_err(problem)?.name();
        let standing = found.waiting(Some(pool), subject).map_err(problem)?;
        let standing = standing.ok_or_else(|| {
            let detail =
                format!("{subject:?} does not wait for pool {pool:?} of campaign {campaign:?}");
            let missing = Problem::new(Code::NotOnWaitlist, detail).at(position, Decided::Replica);
            missing.with("campaign", value!(campaign)).with("subject", value!(subject))
        })?;
        Ok::<_, Problem>((place(state, found, (pool, subject), standing), position))
    })?;
    place.stale = stale;
    place.durable = app.node.intake.endures(position).await;
    Ok(json(StatusCode::OK, &place))
}

pub(crate) fn place(
    state: &State,
    campaign: &Campaign,
    (pool, subject): (&str, &str),
    standing: OnList<'_>,
) -> Place {
    let empty = Place {
        state: "".into(),
        campaign: campaign.name().to_owned(),
        pool: pool.to_owned(),
        subject: subject.to_owned(),
        ahead: None,
        quantity: 0,
        grade: None,
        channel: None,
        area: None,
        adjacent: None,
        passed_over: None,
        offers_not_taken: 0,
        since: String::new(),
        hold: None,
        units: Vec::new(),
        expires_at: None,
        position: state.token().to_string(),
        stale: false,
        durable: true,
    };
    match standing {
        OnList::Waits(place) => Place {
            state: "waits".into(),
            ahead: Some(place.ahead),
            quantity: place.wish.quantity,
            grade: place.wish.grade.map(str::to_owned),
            channel: place.wish.channel.map(str::to_owned),
            area: place.wish.area.map(str::to_owned),
            adjacent: Some(place.wish.adjacent),
            passed_over: Some(place.passed_over),
            offers_not_taken: place.missed,
            since: clock_text::rfc3339(place.since),
            ..empty
        },
        OnList::Offered(offer) => {
            let shown = view::hold(state, campaign, offer);
            Place {
                state: "offered".into(),
                quantity: offer.held(),
                offers_not_taken: offer.offers_not_taken().unwrap_or(0),
                since: shown.started_at,
                hold: Some(shown.hold),
                units: shown.units,
                expires_at: shown.expires_at,
                ..empty
            }
        }
    }
}

/// Takes a subject off the waitlist of a pool. An offer that it has ends, and goes to the next one.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/waitlist/{subject}", tag = "waitlists", operation_id = "leave_waitlist",
    params(("pool" = Option<String>, Query, description = "May be left out if the campaign has one")),
    responses((status = "2XX", body = LeftWaitlist)))]
pub(crate) async fn leave(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, subject), headers, .. } = &call;
    let bearer = app.bearer(headers, Role::Backend, campaign)?;
    let query = call.query(&["pool"])?;
    let pool = query.get("pool").map(Cow::from);
    let ask = LeaveAsk { campaign: campaign.into(), pool, subject: subject.into() };
    let reply = asks::run(ask, app, &bearer, query.min_position()?).await?;
    Ok(reply.response(HeaderMap::new()).map(Body::new))
}

/// The end of a wait as it is asked for.
#[derive(Debug)]
pub(crate) struct LeaveAsk<'a> {
    pub(crate) campaign: Cow<'a, str>,
    pub(crate) pool: Option<Cow<'a, str>>,
    pub(crate) subject: Cow<'a, str>,
}

impl Ask for LeaveAsk<'_> {
    fn whose(&self) -> (&str, &str) {
        (&self.campaign, &self.subject)
    }

    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer,
        options: ReadOptions,
    ) -> Result<Known, Problem> {
        let Self { campaign, pool, subject } = self;
        app.may_act(bearer, campaign, subject)?;
        if let Some(pool) = pool {
            request::pool(campaign, pool)?;
        }
        app.node.intake.reach(options.min).await.map_err(|failure| Problem::failed(&failure))?;
        Ok(None)
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        let Self { campaign, pool, subject } = self;
        Ok(Command::Leave { campaign, pool: pool.as_deref(), subject })
    }

    fn write_yes(&self, _app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        let Self { campaign, subject, .. } = self;
        let Outcome::LeftWaitlist { was_on } = answer.outcome else {
            unreachable!("an end of a wait is not answered with {}", answer.outcome.as_str())
        };
        let left = LeftWaitlist {
            outcome: answer.outcome.as_str().into(),
            campaign: (&**campaign).into(),
            subject: (&**subject).into(),
            was_on,
            position: answer.position.to_string().into(),
            decided: answer.decided.as_str().into(),
        };
        respond::write(&left, out);
        Ok(StatusCode::OK.as_u16())
    }
}
