//! What a subject has over all campaigns.

use super::claims::{ClaimView, json, path, view};
use super::holds::view::HoldView;
use super::problem::Problem;
use super::request;
use crate::app::App;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Response, StatusCode};
use firstcome_api::key::Role;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What a subject has in one campaign.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct InCampaign {
    campaign: String,
    /// Its live holds, in the order they began.
    holds: Vec<HoldView>,
    /// Its claims, the latest first in each pool.
    claims: Vec<ClaimView>,
}

/// What a subject has over all campaigns in memory that the key is for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SubjectView {
    subject: String,
    /// Those in which it has something.
    campaigns: Vec<InCampaign>,
    position: String,
    /// Whether this node's state may be out of date.
    stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    durable: bool,
}

/// Gives the live holds and the claims of a subject over all campaigns.
#[utoipa::path(get, path = "/v1/subjects/{subject}", tag = "holds",
    params(("subject" = String, Path), ("min_position" = Option<String>, Query)),
    responses((status = 200, body = SubjectView), (status = 422, description = "invalid_subject")))]
pub(super) async fn show(
    Extract(app): Extract<Arc<App>>,
    subject: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        let Path(subject) = path(subject)?;
        let bearer = app.bearer_at_large(&headers, Role::Read)?;
        request::subject(&subject)?;
        bearer.acts_for(&subject)?;
        app.paced_subject(&subject)?;
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        let stale = app.is_stale();
        let (campaigns, position) = app.node.replica.look(|state| {
            let seen = state.campaigns().filter(|campaign| bearer.sees(campaign.name()));
            let campaigns = seen.map(|campaign| InCampaign {
                campaign: campaign.name().to_owned(),
                holds: campaign
                    .holds_of(&subject)
                    .map(|hold| HoldView::of(state, campaign, hold))
                    .collect(),
                claims: campaign
                    .pools()
                    .iter()
                    .flat_map(|pool| {
                        pool.claims_of(&subject).map(|claim| view(pool.name(), &claim))
                    })
                    .collect(),
            });
            let has = |of: &InCampaign| !of.holds.is_empty() || !of.claims.is_empty();
            (campaigns.filter(has).collect(), state.token())
        });
        let durable = app.node.intake.endures(position).await;
        let position = position.to_string();
        let view = SubjectView { subject, campaigns, position, stale, durable };
        Ok::<_, Problem>(json(StatusCode::OK, &view))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}
