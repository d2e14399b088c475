//! Codes looked up: by their text or by their holder, with what was done with them.

use super::tries::Trier;
use super::{json, unread};
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond;
use crate::app::App;
use crate::clock_text;
use crate::request;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::code::{CodeLookUpRequest, CodeMark, CodeUse, CodesFound, IssuedCode};
use firstcome_api::hidden::Hidden;
use firstcome_api::key::Role;
use firstcome_core::campaign::{Campaign, CodeView};
use firstcome_core::codes::{CodeVerdict, Use, UseState};
use firstcome_core::names::Position;
use firstcome_core::{Refusal, State, codes};
use firstcome_node::Decided;
use firstcome_node::codes::ReadCode;
use std::collections::{BTreeMap, BTreeSet};

/// Codes of one answer.
const CODES: usize = 100;
/// References, and marks, of one answer.
pub const CODE_HISTORY: usize = 1_000;

/// Looks codes up, by the text of one or by their holder: how they stand, and what was done with them.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/look-up", tag = "codes", operation_id = "look_up_codes",
    request_body = CodeLookUpRequest, responses((status = "2XX", body = CodesFound)))]
pub(crate) async fn look_up(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, origin, .. } = &call;
    let bearer = Bearer::Key(call.key(Role::Redeem, campaign)?);
    let bytes = call.body(body).await?;
    let members = "either `code` or `subject`, and optionally `pool`, `for`";
    let asked: CodeLookUpRequest<'_> = json(&bytes, members)?;
    let pool = asked.pool.as_deref();
    if let Some(pool) = pool {
        request::pool(campaign, pool)?;
    }
    let query = call.query(&[])?;
    app.readable(campaign)?;
    let stale = app.is_stale();
    let customer = asked.r#for.as_deref();
    let trier = Trier { bearer: &bearer, origin: *origin, campaign, customer };
    let found = match (asked.code.as_deref(), asked.subject.as_deref()) {
        (Some(code), None) => {
            let tries = app.tries(&trier)?;
            let found = by_code(app, (campaign, pool), code, query.min_position()?).await;
            app.tried(tries, &trier, found.as_ref().err());
            found
        }
        (None, Some(subject)) => {
            app.may_ask_about(&bearer, subject)?;
            app.reach(&query).await?;
            by_subject(app, (campaign, pool), subject)
        }
        (None, None) | (Some(_), Some(_)) => {
            let detail = "look codes up by `code` or by `subject`: give one of them";
            return Err(Problem::invalid(detail));
        }
    };
    let Found { codes, more, position } = found?;
    let durable = app.node.intake.endures(position).await;
    app.may_show_codes(durable)?;
    let (campaign, position) = (campaign.clone(), position.to_string());
    let answer = CodesFound { campaign, codes, more, position, stale, durable };
    Ok(respond::json(StatusCode::OK, &answer))
}

struct Found {
    codes: Vec<IssuedCode>,
    more: bool,
    position: Position,
}

async fn by_code(
    app: &App,
    (campaign, pool): (&str, Option<&str>),
    typed: &str,
    min: Option<Position>,
) -> Result<Found, Problem> {
    let read = app.node.intake.read_code((campaign, pool), typed, min).await;
    let ReadCode { pool, code } = read.map_err(|not| unread(not, campaign))?;
    app.node.replica.look(|state: &State| {
        let refused =
            |refusal| Problem::refused(refusal, campaign).at(state.token(), Decided::Replica);
        let found = state.campaign(campaign).map_err(refused)?;
        let now = (state.at(), state.service());
        let view = found.code(Some(&pool), code, now).map_err(refused)?;
        shown(app, state, found, vec![view], false)
    })
}

fn by_subject(
    app: &App,
    (campaign, pool): (&str, Option<&str>),
    subject: &str,
) -> Result<Found, Problem> {
    app.node.replica.look(|state: &State| {
        let refused =
            |refusal| Problem::refused(refusal, campaign).at(state.token(), Decided::Replica);
        let found = state.campaign(campaign).map_err(refused)?;
        let now = (state.at(), state.service());
        let codes = found.codes_of(subject, now);
        let codes = codes.filter(|code| pool.is_none_or(|pool| pool == code.pool));
        let mut codes: Vec<_> = codes.take(CODES + 1).collect();
        if codes.is_empty() {
            return Err(refused(Refusal::NoSuchClaim));
        }
        let more = codes.len() > CODES;
        codes.truncate(CODES);
        shown(app, state, found, codes, more)
    })
}

/// Shows codes with their history. Costs a step for each mark of their pools.
fn shown(
    app: &App,
    state: &State,
    campaign: &Campaign,
    codes: Vec<CodeView<'_>>,
    mut more: bool,
) -> Result<Found, Problem> {
    let mut left = CODE_HISTORY;
    let mut marks = marks_of(campaign, &codes);
    let mut shown = Vec::with_capacity(codes.len());
    for code in codes {
        let pools = campaign.pools();
        let index = pools.iter().position(|pool| pool.name() == code.pool);
        let Some(index) = index else { continue };
        let written = app.node.intake.codes.write(state.space(), (campaign, index), code.unit);
        let written = written.map_err(|missing| Problem::failed(&missing.into()))?;
        let mut references: Vec<CodeUse> = campaign
            .uses_of(index, code.rank)
            .take(left + 1)
            .map(|(_, used)| reference(state, used))
            .collect();
        more |= references.len() > left;
        references.truncate(left);
        left -= references.len();
        let mut marked: Vec<CodeMark> = marks.remove(&(index, code.rank)).unwrap_or_default();
        more |= marked.len() > left;
        marked.drain(..marked.len().saturating_sub(left));
        left -= marked.len();
        shown.push(issued(code, written, references, marked));
    }
    Ok(Found { codes: shown, more, position: state.token() })
}

fn issued(
    code: CodeView<'_>,
    written: String,
    references: Vec<CodeUse>,
    marks: Vec<CodeMark>,
) -> IssuedCode {
    IssuedCode {
        pool: code.pool.to_owned(),
        rank: code.rank,
        subject: code.subject.to_owned(),
        code: Hidden(written),
        standing: code.status.as_str().into(),
        issue: code.issue,
        issued_at: clock_text::rfc3339(code.issued_at),
        expires_at: code.expires_at.map(clock_text::rfc3339),
        uses: code.uses,
        redeemed: code.used,
        reserved: code.reserved,
        references,
        marks,
    }
}

fn reference(state: &State, used: &Use) -> CodeUse {
    let mut shown = CodeUse {
        reference: used.reference.to_string(),
        subject: used.user.as_ref().map(ToString::to_string),
        state: "released".into(),
        at: clock_text::rfc3339(used.at),
        expires_at: None,
        redeemed_at: None,
        expired: None,
    };
    match used.state {
        UseState::Reserved { deadline } if deadline > state.service() => {
            shown.state = "reserved".into();
            shown.expires_at = Some(clock_text::rfc3339(state.moment(deadline)));
        }
        UseState::Reserved { .. } => shown.state = "over".into(),
        UseState::Released => {}
        UseState::Redeemed => shown.state = "redeemed".into(),
        UseState::RolledBack { redeemed_at, expired } => {
            shown.state = "rolled_back".into();
            shown.redeemed_at = Some(clock_text::rfc3339(redeemed_at));
            shown.expired = Some(expired);
        }
    }
    shown
}

/// Returns what operators did to these codes, by the index of the pool and by rank: each pool's marks are gone through once.
fn marks_of(campaign: &Campaign, codes: &[CodeView<'_>]) -> BTreeMap<(usize, u32), Vec<CodeMark>> {
    let mut marks = BTreeMap::new();
    for (index, pool) in campaign.pools().iter().enumerate() {
        let ranks: BTreeSet<u32> =
            codes.iter().filter(|code| code.pool == pool.name()).map(|code| code.rank).collect();
        let Some(of_pool) = pool.codes().filter(|_| !ranks.is_empty()) else { continue };
        for mark in of_pool.marks().iter().filter(|mark| ranks.contains(&mark.rank)) {
            let of_code: &mut Vec<_> = marks.entry((index, mark.rank)).or_default();
            of_code.push(mark_view(mark));
        }
    }
    marks
}

fn mark_view(mark: &codes::CodeMark) -> CodeMark {
    CodeMark {
        what: mark.verdict.map_or("reissue", CodeVerdict::as_str).into(),
        issue: mark.issue,
        at: clock_text::rfc3339(mark.at),
        reason: mark.reason.to_string(),
        who: mark.who.to_string(),
    }
}
