//! Winners: the claims of a pool that stand, by rank, from the state.

use crate::answer::problem::{HandlerResult, Problem};
use crate::app::App;
use crate::clock_text;
use crate::request;
use crate::request::call::Call;
use crate::request::format::{Format, csv, ndjson};
use firstcome_api::hidden::Hidden;
use firstcome_api::key::Role;
use firstcome_api::winner::{WINNER_COLUMNS, WINNER_COLUMNS_WITH_CODES, WinnerLine, WinnerPage};
use firstcome_core::campaign::{Campaign, Winner};
use firstcome_core::names::Position;
use firstcome_core::outcome::Missing;
use firstcome_core::pool::Pool;
use firstcome_core::{Refusal, State};
use firstcome_node::Decided;

/// Ranks read under one lock: entries wait meanwhile.
const LOOK: u32 = 10_000;
/// The same where codes are shown, each of which takes some microseconds.
const LOOK_WITH_CODES: u32 = 256;
/// Ranks that one request looks through: some milliseconds of one core. Where more of them are cancelled than that, the page
/// ends there, short or empty, and `next` says from where to go on.
pub const RANKS_LOOKED_THROUGH: u32 = 200_000;

/// Returns the current claims of a pool, by rank.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/winners", tag = "results", operation_id = "list_winners",
    params(("pool" = Option<String>, Query, description = "May be left out if the campaign has one"),
           ("after" = Option<u32>, Query, description = "Only ranks after this one"),
           ("limit" = Option<usize>, Query, description = "1 to 10000, 1000 if left out"),
           ("format" = Option<String>, Query, description = "json, ndjson or csv; otherwise by Accept"),
           ("with_codes" = Option<bool>, Query, description = "true: with the code of each, for a key with the role redeem"),
           ("raw" = Option<String>, Query, description = "1: do not add a ' to CSV cells that begin with = + - @ tab or CR")),
    responses((status = "2XX", body = WinnerPage)))]
pub(crate) async fn winners(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    let key = call.key(Role::Read, campaign)?;
    let names = ["pool", "after", "limit", "format", "raw", "with_codes"];
    let query = call.query(&names)?;
    let with_codes = query.number("with_codes")?.unwrap_or(false);
    if with_codes {
        key.at_least(Role::Redeem)?;
    }
    let pool = query.get("pool");
    if let Some(pool) = pool {
        request::pool(campaign, pool)?;
    }
    let after = query.number::<u32>("after")?.unwrap_or(0);
    let limit = query.limit()?;
    let format = Format::of(&query, headers)?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let Found { rows, next, last_rank, position } =
        rows(app, (campaign, pool), with_codes, after, limit)?;
    let durable = app.node.intake.endures(position).await;
    if with_codes {
        app.may_show_codes(durable)?;
    }
    let next = next.map(u64::from);
    let body = match format {
        Format::Json => {
            let position = position.to_string();
            let page = WinnerPage { winners: rows, next, last_rank, position, durable };
            serde_json::to_vec(&page).expect("what we answer can be written as JSON")
        }
        Format::Ndjson => ndjson(&rows),
        Format::Csv { raw } if with_codes => {
            let cells = rows.into_iter().map(WinnerLine::cells_with_code);
            csv(&WINNER_COLUMNS_WITH_CODES, cells, raw)
        }
        Format::Csv { raw } => csv(&WINNER_COLUMNS, rows.into_iter().map(WinnerLine::cells), raw),
    };
    Ok(format.response(body, next, durable))
}

/// Winners of a pool, as far as one request looks.
struct Found {
    rows: Vec<WinnerLine>,
    /// The rank that was looked at last, where there are more.
    next: Option<u32>,
    last_rank: u32,
    position: Position,
}

fn rows(
    app: &App,
    (campaign, pool): (&str, Option<&str>),
    with_codes: bool,
    after: u32,
    limit: usize,
) -> Result<Found, Problem> {
    let (mut rows, mut seen) = (Vec::new(), after);
    let mut looked = 0;
    let at_once = if with_codes { LOOK_WITH_CODES } else { LOOK };
    loop {
        let (last_rank, position) = app.node.replica.look(|state: &State| {
            let (found, pool) = find(state, campaign, pool)?;
            let last_rank = pool.last_rank();
            for rank in (seen.saturating_add(1)..=last_rank).take(at_once as usize) {
                if rows.len() == limit {
                    break;
                }
                if let Some(winner) = found.winner(pool, rank) {
                    let mut line = line(found, pool, winner);
                    if with_codes {
                        line.code = code(app, state, found, (pool, rank))?.map(Hidden);
                    }
                    rows.push(line);
                }
                seen = rank;
            }
            Ok::<_, Problem>((last_rank, state.token()))
        })?;
        looked += at_once;
        let more = seen < last_rank;
        if !more || rows.len() == limit || looked >= RANKS_LOOKED_THROUGH {
            // A page that is full may be the last one: what follows it may all be cancelled.
            let next = more.then_some(seen);
            return Ok(Found { rows, next, last_rank, position });
        }
    }
}

/// Finds the pool, or says why it cannot be asked about.
fn find<'a>(
    state: &'a State,
    campaign: &str,
    pool: Option<&str>,
) -> Result<(&'a Campaign, &'a Pool), Problem> {
    let refused = |refusal| Problem::refused(refusal, campaign).at(state.token(), Decided::Replica);
    let found = match state.campaign(campaign) {
        Ok(found) => found,
        Err(Refusal::Archived) => {
            let how = format!(
                "campaign {campaign:?} has left memory: ask the ledger who has what, SELECT pool, rank, subject, unit, \
                 at_utc, hold FROM claims_utc WHERE campaign = '{campaign}' AND cancelled_at IS NULL ORDER BY pool, rank"
            );
            return Err(refused(Refusal::Archived).saying(how));
        }
        Err(refusal) => return Err(refused(refusal)),
    };
    let pool = match (pool, found.pools()) {
        (Some(name), _) => found.pool(name).ok_or(Refusal::NotFound(Missing::Pool)),
        (None, [only]) => Ok(only),
        (None, []) => Err(Refusal::NotFound(Missing::Pool)),
        (None, _) => Err(Refusal::PoolRequired),
    };
    Ok((found, pool.map_err(refused)?))
}

/// Writes the code of a rank; none of a pool without codes.
fn code(
    app: &App,
    state: &State,
    campaign: &Campaign,
    (pool, rank): (&Pool, u32),
) -> Result<Option<String>, Problem> {
    let index = campaign.pools().iter().position(|known| known.name() == pool.name());
    let now = (state.at(), state.service());
    let Some(index) = index else { return Ok(None) };
    let Some(view) = campaign.code_at(index, rank, now) else { return Ok(None) };
    let written = app.node.intake.codes.write(state.space(), (campaign, index), view.unit);
    written.map(Some).map_err(|missing| Problem::failed(&missing.into()))
}

fn line(campaign: &Campaign, pool: &Pool, winner: Winner<'_>) -> WinnerLine {
    WinnerLine {
        campaign: campaign.name().to_owned(),
        pool: pool.name().to_owned(),
        rank: winner.rank,
        subject: winner.subject.to_owned(),
        unit: winner.unit.map(str::to_owned),
        at: clock_text::rfc3339(winner.at),
        hold: winner.hold.map(str::to_owned),
        code: None,
    }
}
