//! Acts: what operators did to a campaign.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::clock_text;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::act::{ActLine, ActPage};
use firstcome_api::key::Role;
use firstcome_core::State;
use firstcome_core::acts::Act;
use firstcome_node::Decided;

/// Lists the last 1,000 commands of operators on a campaign, the newest first: who, what, when, and what came of it.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/acts", tag = "campaigns", operation_id = "list_acts",
    responses((status = "2XX", body = ActPage)))]
pub(crate) async fn list(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, .. } = &call;
    call.key(Role::Operator, campaign)?;
    call.reach().await?;
    app.readable(campaign)?;
    let (acts, position) = app.node.replica.look(|state: &State| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        let acts: Vec<(u32, Act)> =
            found.acts().map(|(number, act)| (number, act.clone())).collect();
        Ok::<_, Problem>((acts, position))
    })?;
    let line = |(number, act): (u32, Act)| ActLine {
        number,
        at: clock_text::rfc3339(act.at),
        who: act.who.into(),
        act: act.deed.as_str().to_owned(),
        about: act.about.into(),
        reason: act.reason.into(),
        outcome: act.outcome.into(),
    };
    let acts = acts.into_iter().map(line).collect();
    let durable = app.node.intake.endures(position).await;
    let (campaign, position) = (campaign.clone(), position.to_string());
    Ok(json(StatusCode::OK, &ActPage { campaign, acts, position, durable }))
}
