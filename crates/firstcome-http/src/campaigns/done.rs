//! The answer to an operator's command on a campaign.

use crate::answer::respond::tagged;
use crate::app::App;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use firstcome_api::campaign::{Clamped, OperatorDone};
use firstcome_core::Outcome;
use firstcome_node::Answer;

/// Returns the answer to an operator's command on a campaign.
pub(super) fn done(app: &App, campaign: &str, answer: &Answer) -> Response<Body> {
    let (status, version, clamped) = if let Outcome::Created { version } = &answer.outcome {
        (StatusCode::CREATED, *version, &[][..])
    } else if let Outcome::Changed { version, clamped } = &answer.outcome {
        (StatusCode::OK, *version, &clamped[..])
    } else if let Outcome::Unchanged { version } = &answer.outcome {
        (StatusCode::OK, *version, &[][..])
    } else {
        unreachable!("an operator command is not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let clamped = clamped.iter();
    let done = OperatorDone {
        outcome: answer.outcome.as_str().into(),
        campaign: campaign.to_owned(),
        version,
        clamped: clamped
            .map(|c| Clamped { pool: c.pool.to_string(), capacity: c.capacity })
            .collect(),
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    tagged(status, version, &done)
}
