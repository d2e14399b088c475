//! Seats of a seated pool: imported here; changed: [`change`]; blocked and moved: [`operate`]; read from a body: [`rows`].

mod alike;
pub(crate) mod change;
pub(crate) mod operate;
pub(crate) mod rows;

use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::asks::yes;
use crate::request;
use crate::request::call::Call;
use crate::server::memory::BYTES_PER_SEAT;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::seat::{Imported, SeatRow};
use firstcome_core::command::Order;
use firstcome_core::hall::Chunk;
use firstcome_core::limits::{CHUNK_BYTES, CHUNK_SEATS};
use firstcome_core::settings::sizes::BYTES_PER_UNIT;
use firstcome_core::{Command, Outcome, Refusal, State};
use firstcome_node::Answer;
use rows::{ERRORS, Row};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Bytes of one request that imports seats: what 4,000 seats take as text.
const IMPORT_BYTES: usize = 4 << 20;

/// Adds seats and areas to a seated pool: all of a request or none; at most 4,000 in one.
///
/// The body is a JSON array, one JSON object per line, or CSV with a header. A repeated request adds nothing.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/seats", tag = "seats", operation_id = "import_seats",
    request_body(content = Vec<SeatRow>, description = "Seats and areas. They may also come as `application/x-ndjson`, an \
        object a line, or as `text/csv`, with the names of the members in the first line."),
    responses((status = "2XX", body = Imported)))]
pub(crate) async fn import(call: Call<(String, String)>, body: Body) -> HandlerResult {
    let Call { app, path: (campaign, pool), headers, .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    request::pool(campaign, pool)?;
    let id = request::command_id(headers)?;
    let order = Order { id: id.as_deref(), who: &key.name };
    let kinds = ["application/json", "application/x-ndjson", "text/csv"];
    let most = IMPORT_BYTES.max(app.options.body_bytes);
    let (kind, bytes) = request::body_of(&app.options, headers, body, &kinds, most).await?;
    call.reach().await?;
    let rows = rows::read(kind, &bytes)?;
    let chunk = chunk(&rows)?;
    fits_memory(app, &rows)?;
    unlike(&alike::with_hall(app, (campaign, pool), names(&rows), &BTreeSet::new()).await)?;
    let answer = add(app, campaign, pool, chunk, order).await;
    let answer = answer.map_err(|bad| bad.problem(&rows))?;
    let Outcome::Imported { seats, areas } = answer.outcome else {
        unreachable!("an import is not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let capacity = app.node.replica.look(|state| {
        let campaign = state.campaign(campaign).ok();
        campaign.and_then(|campaign| campaign.pool(pool)).map_or(0, |pool| pool.capacity())
    });
    let imported = Imported {
        outcome: answer.outcome.as_str().into(),
        campaign: campaign.clone(),
        pool: pool.clone(),
        seats,
        areas,
        capacity,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &imported))
}

/// Puts seats and areas into the form a command has them in.
pub(crate) fn chunk(rows: &[Row]) -> Result<Chunk<'_>, Problem> {
    if rows.len() > CHUNK_SEATS {
        let detail = format!(
            "{} seats, at most {CHUNK_SEATS} in one request: send the rest in others",
            rows.len()
        );
        return Err(Problem::new(Code::TooLarge, detail));
    }
    let mut errors = Vec::new();
    let mut wrong = |row: &Row, why: String| {
        if errors.len() < ERRORS {
            errors.push(json!({"line": row.line, "why": why}));
        }
    };
    let mut chunk = Chunk::default();
    for row in rows {
        let checked = match row.price() {
            Err(why) => Err(why),
            Ok(price) => match row.seat.capacity {
                Some(capacity) => {
                    let area = row.area(capacity, price);
                    area.check().map(|()| chunk.areas.push(area)).map_err(|why| why.to_string())
                }
                None => {
                    let seat = row.seat(price);
                    seat.check().map(|()| chunk.seats.push(seat)).map_err(|why| why.to_string())
                }
            },
        };
        if let Err(why) = checked {
            wrong(row, why);
        }
    }
    if !errors.is_empty() {
        return Err(bad(errors));
    }
    unlike(&alike::among(names(rows)))?;
    let mut bytes = Vec::new();
    chunk.encode(&mut bytes);
    if bytes.len() > CHUNK_BYTES {
        let detail = format!(
            "the seats take {} bytes, {CHUNK_BYTES} are the most: send fewer seats in one request",
            bytes.len()
        );
        return Err(Problem::new(Code::TooLarge, detail));
    }
    Ok(chunk)
}

/// Returns the names that the rows give to units.
fn names(rows: &[Row]) -> impl Iterator<Item = alike::Named<'_>> {
    let names =
        rows.iter().flat_map(|row| [(row.line, &*row.seat.name), (row.line, &*row.seat.group)]);
    names.filter(|(_, name)| !name.is_empty())
}

/// Refuses names that people would take for one another.
fn unlike(alike: &[(usize, String)]) -> Result<(), Problem> {
    let errors = alike.iter().take(ERRORS);
    let errors: Vec<_> = errors.map(|(line, why)| json!({"line": line, "why": why})).collect();
    if errors.is_empty() { Ok(()) } else { Err(bad(errors)) }
}

/// Returns the problem of lines that cannot be, of which there is at least one.
fn bad(errors: Vec<Value>) -> Problem {
    let why = errors[0]["why"].as_str().unwrap_or_default();
    let detail = format!("line {}: {why}", errors[0]["line"]);
    Problem::new(Code::Refused(Refusal::BadSeat), detail).with("errors", errors.into())
}

/// Why seats were not added.
enum Bad {
    /// One of them cannot be; which, counted among the seats or the areas.
    Seat {
        index: usize,
        area: bool,
        problem: Problem,
    },
    Other(Problem),
}

impl Bad {
    /// Returns the problem, with the line of the row that cannot be.
    fn problem(self, rows: &[Row]) -> Problem {
        match self {
            Self::Seat { index, area, problem } => {
                let line = rows::line(rows, index, area);
                let errors = json!([{"line": line, "why": problem.detail()}]);
                problem.with("errors", errors)
            }
            Self::Other(problem) => problem,
        }
    }
}

async fn add(
    app: &App,
    campaign: &str,
    pool: &str,
    chunk: Chunk<'_>,
    order: Order<'_>,
) -> Result<Answer, Bad> {
    let answer = app.node.intake.decide(&Command::Seats { campaign, pool, chunk, order }).await;
    let bad = match &answer {
        Ok(Answer { outcome: Outcome::RefusedFor(named), .. }) => {
            named.seat.as_ref().map(|bad| (bad.at, bad.area))
        }
        Ok(_) | Err(_) => None,
    };
    yes(answer, campaign).map_err(|problem| match bad {
        Some((index, area)) => Bad::Seat { index, area, problem },
        None => Bad::Other(problem),
    })
}

/// Adds the seats that came with a campaign, pool by pool; those that are there just so stay as they are.
///
/// It is not one step with what was done to the campaign: the problem says so, where that or a pool before `changed`
/// something. The same request again does what is missing.
pub(crate) async fn add_all(
    app: &App,
    campaign: &str,
    pools: &[(String, Vec<Row>)],
    who: &str,
    mut changed: bool,
) -> Result<(), Problem> {
    for (pool, rows) in pools {
        let chunk = chunk(rows)?;
        let alike = alike::with_hall(app, (campaign, pool), names(rows), &BTreeSet::new()).await;
        let added = match unlike(&alike) {
            Ok(()) => add(app, campaign, pool, chunk, Order { id: None, who }).await,
            Err(problem) => Err(Bad::Other(problem)),
        };
        match added {
            Ok(Answer { outcome, .. }) => {
                changed |= outcome != Outcome::Imported { seats: 0, areas: 0 };
            }
            Err(bad) => {
                let problem = bad.problem(rows).with("pool", json!(pool));
                let what = format!("the rest is done, the seats of pool {pool:?} are not added");
                return Err(if changed { problem.partly(&what) } else { problem });
            }
        }
    }
    Ok(())
}

/// Refuses seats that this node has no memory for.
fn fits_memory(app: &App, rows: &[Row]) -> Result<(), Problem> {
    let limit = app.node.intake.memory_limit();
    // A place of an area takes memory once it is somebody's, as a unit of a counted pool does.
    let places: u64 = rows.iter().map(|row| u64::from(row.seat.capacity.unwrap_or(0))).sum();
    let seats = rows.len() as u64 * BYTES_PER_SEAT;
    let needed = app.node.replica.look(State::memory) as u64 + seats + places * BYTES_PER_UNIT;
    if needed <= limit {
        return Ok(());
    }
    let detail =
        format!("{needed} bytes would be needed and this node may use {limit} (memory_limit_mib)");
    let problem = Problem::new(Code::TooBigForMemory, detail);
    Err(problem.with("needed_bytes", needed.into()).with("limit_bytes", limit.into()))
}
