//! Bars: who is kept out of a campaign.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::asks::yes;
use crate::clock_text;
use crate::request;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::bar::{BarLifted, BarLine, BarPage, BarRequest, BarSet};
use firstcome_api::key::Role;
use firstcome_core::command::Order;
use firstcome_core::{Command, Outcome, State};
use firstcome_node::Decided;
use serde_json::json;

/// Bars a subject from a campaign: it gets no new units.
///
/// Its live holds end; its confirmed claims stay. A second bar changes nothing.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/bars", tag = "bars", operation_id = "bar_subject",
    request_body = BarRequest, responses((status = "2XX", body = BarSet)))]
pub(crate) async fn bar(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    let id = request::command_id(headers)?;
    let BarRequest { subject, reason } = call.json(body).await?;
    request::subject(&app.options, &subject)?;
    request::reason(&reason)?;
    call.reach().await?;
    let order = Order { id: id.as_deref(), who: &key.name };
    let bar = Command::Bar { campaign, subject: &subject, reason: &reason, order };
    let answer = yes(app.node.intake.decide(&bar).await, campaign)?;
    let Outcome::BarSet { at, holds } = answer.outcome else {
        unreachable!("a bar is not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let answer = BarSet {
        outcome: answer.outcome.as_str().into(),
        campaign: campaign.clone(),
        subject,
        at: clock_text::rfc3339(at),
        holds,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}

/// Removes a bar. Holds that it ended do not come back.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/bars/{subject}", tag = "bars", operation_id = "unbar_subject",
    responses((status = "2XX", body = BarLifted)))]
pub(crate) async fn unbar(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, subject), headers, .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    request::subject(&app.options, subject)?;
    let id = request::command_id(headers)?;
    call.reach().await?;
    let order = Order { id: id.as_deref(), who: &key.name };
    let unbar = Command::Unbar { campaign, subject, order };
    let answer = yes(app.node.intake.decide(&unbar).await, campaign)?;
    let Outcome::BarLifted { was_barred } = answer.outcome else {
        unreachable!("an end of a bar is not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let answer = BarLifted {
        outcome: answer.outcome.as_str().into(),
        campaign: campaign.clone(),
        subject: subject.clone(),
        was_barred,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}

/// Lists the barred subjects of a campaign, each with time, reason and key.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/bars", tag = "bars", operation_id = "list_bars",
    params(("after" = Option<u32>, Query, description = "Only numbers after this one"),
           ("limit" = Option<usize>, Query, description = "1 to 10000, 1000 if left out")),
    responses((status = "2XX", body = BarPage)))]
pub(crate) async fn list(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, .. } = &call;
    call.key(Role::Operator, campaign)?;
    let query = call.query(&["after", "limit"])?;
    let after = query.number::<u32>("after")?.unwrap_or(0);
    let limit = query.limit()?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let (mut bars, count, position) = app.node.replica.look(|state: &State| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        // One more than asked for, to know whether there is anything to come back for.
        let bars = found.bars_after(after).take(limit + 1).map(|(number, bar)| BarLine {
            number,
            subject: bar.subject.to_string(),
            at: clock_text::rfc3339(bar.at),
            reason: bar.reason.to_string(),
            who: bar.who.to_string(),
        });
        Ok::<_, Problem>((bars.collect::<Vec<_>>(), found.barred_subjects(), position))
    })?;
    let more = bars.len() > limit;
    bars.truncate(limit);
    let next = bars.last().filter(|_| more).map(|bar| u64::from(bar.number));
    let durable = app.node.intake.endures(position).await;
    let position = position.to_string();
    Ok(json(StatusCode::OK, &BarPage { bars, next, count, position, durable }))
}

impl App {
    /// Says of a subject that is refused as barred who barred it, when and why; to a subject token only that it is so.
    pub(crate) fn says_who_barred(
        &self,
        problem: Problem,
        bearer: &Bearer,
        campaign: &str,
        subject: &str,
    ) -> Problem {
        if problem.outcome() != "barred" || matches!(bearer, Bearer::Subject(_)) {
            return problem;
        }
        let bar = self.node.replica.look(|state: &State| {
            state.campaign(campaign).ok().and_then(|found| found.bar_of(subject)).cloned()
        });
        let Some(bar) = bar else { return problem };
        let at = clock_text::rfc3339(bar.at);
        let detail = format!(
            "{subject:?} was barred from campaign {campaign:?} with the key {:?} at {at}: {}",
            bar.who, bar.reason
        );
        problem
            .saying(detail)
            .with("barred_at", json!(at))
            .with("barred_by", json!(bar.who))
            .with("reason", json!(bar.reason))
    }
}
