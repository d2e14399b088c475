//! The holds and claims of a subject over all campaigns.

use crate::app::App;
use crate::claims;
use crate::holds::view;
use crate::problem::Answered;
use crate::request::{self, InPath, Query};
use crate::respond::json;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::key::Role;
use firstcome_api::subject::{Subject, SubjectIn};
use std::sync::Arc;

/// Gives the live holds and the claims of a subject over all campaigns.
#[utoipa::path(get, path = "/v1/subjects/{subject}", tag = "holds",
    params(("subject" = String, Path), ("min_position" = Option<String>, Query)),
    responses((status = 200, body = Subject)))]
pub(crate) async fn show(
    Extract(app): Extract<Arc<App>>,
    subject: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let subject = request::path(subject)?;
    let bearer = app.bearer_at_large(&headers, Role::Read)?;
    app.may_ask_about(&bearer, &subject)?;
    app.reach(&Query::parse(query.as_deref(), &[])?).await?;
    app.all_readable()?;
    let stale = app.is_stale();
    let (campaigns, position) = app.node.replica.look(|state| {
        let seen = state.campaigns().filter(|campaign| bearer.sees(campaign.name()));
        let campaigns = seen.map(|campaign| SubjectIn {
            campaign: campaign.name().to_owned(),
            holds: campaign
                .holds_of(&subject)
                .map(|hold| view::hold(state, campaign, hold))
                .collect(),
            claims: campaign
                .pools()
                .iter()
                .flat_map(|pool| pool.claims_of(&subject).map(|claim| claims::view(pool, &claim)))
                .collect(),
        });
        let has = |of: &SubjectIn| !of.holds.is_empty() || !of.claims.is_empty();
        (campaigns.filter(has).collect(), state.token())
    });
    let durable = app.node.intake.endures(position).await;
    let position = position.to_string();
    let answer = Subject { subject, campaigns, position, stale, durable };
    Ok(json(StatusCode::OK, &answer))
}
