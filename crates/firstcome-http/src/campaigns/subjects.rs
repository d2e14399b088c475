//! The holds and claims of a subject over all campaigns.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::claims::get::claims_of;
use crate::holds::view;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::subject::{Subject, SubjectIn};

/// Returns the live holds and the claims of a subject over all campaigns.
#[utoipa::path(get, path = "/v1/subjects/{subject}", tag = "holds", operation_id = "show_subject",
    responses((status = "2XX", body = Subject)))]
pub(crate) async fn show(call: Call<String>) -> HandlerResult {
    let Call { app, path: subject, headers, .. } = &call;
    let bearer = app.bearer_at_large(headers, Role::Read)?;
    app.may_ask_about(&bearer, subject)?;
    call.reach().await?;
    app.all_readable()?;
    let (stale, sees_codes) = (app.is_stale(), bearer.sees_codes());
    let (campaigns, position) = app.node.replica.look(|state| {
        let seen = state.campaigns().filter(|campaign| bearer.sees(campaign.name()));
        let campaigns = seen.map(|campaign| {
            let holds = campaign.holds_of(subject);
            Ok(SubjectIn {
                campaign: campaign.name().to_owned(),
                holds: holds.map(|hold| view::hold(state, campaign, hold)).collect(),
                claims: claims_of(app, state, campaign, (subject, sees_codes))?,
            })
        });
        let has = |of: &Result<SubjectIn, Problem>| {
            of.as_ref().map_or(true, |of| !of.holds.is_empty() || !of.claims.is_empty())
        };
        let campaigns = campaigns.filter(has).collect::<Result<_, _>>()?;
        Ok::<_, Problem>((campaigns, state.token()))
    })?;
    let durable = app.node.intake.endures(position).await;
    let (subject, position) = (subject.clone(), position.to_string());
    let answer = Subject { subject, campaigns, position, stale, durable };
    Ok(json(StatusCode::OK, &answer))
}
