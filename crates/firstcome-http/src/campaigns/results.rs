//! Results by number: those a ledger has from the ledger, the others from the state.

use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::app::App;
use crate::clock_text;
use crate::request::call::Call;
use crate::request::format::{Format, csv, ndjson};
use axum::body::Body;
use axum::http::Response;
use firstcome_api::key::Role;
use firstcome_api::result::{RESULT_COLUMNS, ResultLine, ResultPage};
use firstcome_core::State;
use firstcome_node::Decided;
use firstcome_node::ledger::Row;

/// Unsettled results read under one lock: entries wait meanwhile.
const LOOK: usize = 20_000;
/// Unsettled results, of all campaigns, that one request looks through: some milliseconds of one core. Where there are more,
/// the page ends there, short or empty, and `next` says from where to go on.
pub const RESULTS_LOOKED_THROUGH: usize = 200_000;

/// Returns results of a campaign in the order of their numbers.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/results", tag = "results", operation_id = "list_results",
    params(("after" = Option<u64>, Query, description = "Only numbers after this one"),
           ("limit" = Option<usize>, Query, description = "1 to 10000, 1000 if left out"),
           ("format" = Option<String>, Query, description = "json, ndjson or csv; otherwise by Accept"),
           ("raw" = Option<String>, Query, description = "1: do not add a ' to CSV cells that begin with = + - @ tab or CR")),
    responses((status = "2XX", body = ResultPage)))]
pub(crate) async fn results(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    call.key(Role::Read, campaign)?;
    let query = call.query(&["after", "limit", "format", "raw"])?;
    let after = query.number("after")?.unwrap_or(0);
    let limit = query.limit()?;
    let format = Format::of(&query, headers)?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    // One more than asked for, to know whether there is anything to come back for.
    let found = rows(app, campaign, after, limit + 1).await?;
    let position = app.node.replica.look(State::token);
    let durable = app.node.intake.endures(position).await;
    Ok(write(app, format, found, limit, durable))
}

/// Results of a campaign, as far as one request looks.
struct Found {
    rows: Vec<Row>,
    /// The number that was looked at last, where there are more.
    looked_to: Option<u64>,
}

/// Returns up to `limit` results of a campaign beyond a number.
///
/// The state is looked at first: whatever is settled meanwhile is in the ledger by then.
async fn rows(app: &App, campaign: &str, after: u64, limit: usize) -> Result<Found, Problem> {
    let (settled, waiting) = app.node.replica.look(|state| {
        let refused =
            |refusal| Problem::refused(refusal, campaign).at(state.token(), Decided::Replica);
        let known = state.campaign(campaign).map(firstcome_core::campaign::Campaign::unsettled);
        let archived_with_ledger =
            known == Err(firstcome_core::Refusal::Archived) && app.ledger.is_some();
        // Of one that has left memory some may wait still.
        let waiting = if archived_with_ledger { u64::MAX } else { known.map_err(refused)? };
        Ok::<_, Problem>((state.settled(), waiting))
    })?;
    let mut unsettled: Vec<Row> = Vec::new();
    let mut from = after.max(settled);
    let (mut looked, mut looked_to) = (0, None);
    while unsettled.len() < limit && (unsettled.len() as u64) < waiting {
        if looked >= RESULTS_LOOKED_THROUGH {
            looked_to = Some(from);
            break;
        }
        looked += LOOK;
        let (rows, seen) = app.node.replica.look(|state: &State| {
            let mut seen = from;
            let rows = state.results_after(from).take(LOOK).inspect(|row| seen = row.number);
            let rows: Vec<Row> =
                rows.filter(|row| row.campaign.name() == campaign).map(Row::from).collect();
            (rows, seen)
        });
        unsettled.extend(rows);
        if seen == from {
            break;
        }
        from = seen;
    }
    let mut rows = match &app.ledger {
        Some(ledger) if after < settled => {
            ledger.results(after, limit, Some(campaign)).await.map_err(|why| {
                Problem::new(Code::Unavailable, format!("the ledger cannot be read: {why}"))
            })?
        }
        _ => Vec::new(),
    };
    let last = rows.last().map_or(0, |row| row.number);
    rows.extend(unsettled.into_iter().filter(|row| row.number > last));
    // A page that is full says itself from where to go on.
    let looked_to = looked_to.filter(|_| rows.len() < limit);
    rows.truncate(limit);
    Ok(Found { rows, looked_to })
}

fn write(
    app: &App,
    format: Format,
    Found { mut rows, looked_to }: Found,
    limit: usize,
    durable: bool,
) -> Response<Body> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = if more { rows.last().map(|row| row.number) } else { looked_to };
    let (last, position) = app.node.replica.look(|state| (state.last_result(), state.token()));
    let results: Vec<ResultLine> = rows.into_iter().map(line).collect();
    let body = match format {
        Format::Json => {
            let page = ResultPage { results, next, last, position: position.to_string(), durable };
            serde_json::to_vec(&page).expect("what we answer can be written as JSON")
        }
        Format::Ndjson => ndjson(&results),
        Format::Csv { raw } => {
            csv(&RESULT_COLUMNS, results.into_iter().map(ResultLine::cells), raw)
        }
    };
    format.response(body, next, durable)
}

fn line(row: Row) -> ResultLine {
    let details = row.details.map(|details| *details).unwrap_or_default();
    ResultLine {
        number: row.number,
        kind: row.kind.as_str().into(),
        campaign: row.campaign.into(),
        pool: row.pool.into(),
        rank: row.rank,
        subject: row.subject.into(),
        at: clock_text::rfc3339(row.at),
        by: row.by.map(|by| by.as_str().into()),
        reason: row.reason.map(Into::into),
        unit: row.unit.map(Into::into),
        hold: row.hold.map(Into::into),
        moved_from: row.moved_from.map(Into::into),
        reference: details.reference.map(Into::into),
        used_by: details.used_by.map(Into::into),
        verdict: details.verdict.map(|verdict| String::from(verdict).into()),
        issue: details.issue.map(u32::from),
        import: details.import.map(Into::into),
        quantity: details.quantity,
    }
}
