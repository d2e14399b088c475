//! Changes of seats that are there: names, grades and prices.

use super::alike;
use super::operate::{decided, read};
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::request;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::seat::{SeatChangeRequest, SeatsChanged};
use firstcome_core::hall::SeatChange;
use firstcome_core::limits::CHUNK_SEATS;
use firstcome_core::{Command, Outcome, Refusal};
use serde_json::json;

/// Changes names, price categories and prices of seats: all of a request or none; at most 4,000 in one.
///
/// Before the opening any seat can be changed; after it only seats that never had an owner.
#[utoipa::path(patch, path = "/v1/campaigns/{campaign}/pools/{pool}/seats", tag = "seats", operation_id = "change_seats",
    request_body = Vec<SeatChangeRequest>, responses((status = "2XX", body = SeatsChanged)))]
pub(crate) async fn change(call: Call<(String, String)>, body: Body) -> HandlerResult {
    let Call { app, path: (campaign, pool), .. } = &call;
    let asked = read::<Vec<SeatChangeRequest>>(&call, body).await?;
    let (seats, order) = (seats(&asked.body)?, asked.order());
    // A seat that is given its own name keeps it.
    let renamed = || {
        let lines = (1..).zip(&seats);
        let named = lines.filter_map(|(line, seat)| Some((line, seat.name, seat.new_name?)));
        named.filter(|(_, name, new_name)| name != new_name)
    };
    let names = || renamed().map(|(line, _, new_name)| (line, new_name));
    super::unlike(&alike::among(names()))?;
    let old = renamed().map(|(_, name, _)| name).collect();
    super::unlike(&alike::with_hall(app, (campaign, pool), names(), &old).await)?;
    let answer = decided(app, &Command::ChangeSeats { campaign, pool, seats, order }).await?;
    let Outcome::SeatsChanged { seats } = answer.outcome else {
        unreachable!("changed seats are not answered with {}", answer.outcome.as_str())
    };
    let answer = SeatsChanged {
        outcome: answer.outcome.as_str().into(),
        campaign: campaign.clone(),
        pool: pool.clone(),
        seats,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}

/// Puts the changes into the form a command has them in; every wrong one is reported, by its number.
fn seats(asked: &[SeatChangeRequest]) -> Result<Vec<SeatChange<'_>>, Problem> {
    if asked.is_empty() || asked.len() > CHUNK_SEATS {
        let detail = format!("{} seats: a request changes 1 to {CHUNK_SEATS}", asked.len());
        return Err(Problem::invalid(detail));
    }
    let (mut seats, mut errors) = (Vec::new(), Vec::new());
    for (number, change) in (1..).zip(asked) {
        let SeatChangeRequest { name, new_name, grade, price_minor, currency } = change;
        let price = request::price(*price_minor, currency.as_deref());
        let checked = price.map_err(|why| why.detail().to_owned()).and_then(|price| {
            let (new_name, grade) = (new_name.as_deref(), grade.as_deref());
            let seat = SeatChange { name, new_name, grade, price };
            seat.check().map(|()| seats.push(seat)).map_err(|why| why.to_string())
        });
        if let Err(why) = checked
            && errors.len() < super::rows::ERRORS
        {
            errors.push(json!({"line": number, "why": why}));
        }
    }
    let Some(first) = errors.first() else { return Ok(seats) };
    let why = first["why"].as_str().unwrap_or_default();
    let problem =
        Problem::new(Code::Refused(Refusal::BadSeat), format!("seat {}: {why}", first["line"]));
    Err(problem.with("errors", errors.into()))
}
