//! What operators do to codes: revoking, suspending, restoring, and replacing one.

use super::{CODES_IN_REQUEST, body_of_many, cipher, coded_pool, json, of_codes};
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond;
use crate::app::App;
use crate::asks::yes;
use crate::request;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::code::{CodesMarked, MarkCodesRequest, ReissueRequest, Reissued};
use firstcome_api::hidden::Hidden;
use firstcome_api::key::Role;
use firstcome_core::codes::{CodeKey, CodeVerdict};
use firstcome_core::command::{CodeCommand, Order};
use firstcome_core::limits::REASON_BYTES;
use firstcome_core::names::{check_command_id, check_text};
use firstcome_core::settings::CodeSource;
use firstcome_core::{CodeOutcome, Command, State};
use firstcome_node::codes::CodePool;

/// Revokes codes, or all codes of an import: they can never be redeemed again.
///
/// A live reservation does not keep a code from being revoked. What was redeemed stays redeemed, and can be rolled back.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/revoke", tag = "codes", operation_id = "revoke_codes",
    request_body = MarkCodesRequest, responses((status = "2XX", body = CodesMarked)))]
pub(crate) async fn revoke(call: Call<String>, body: Body) -> HandlerResult {
    mark(&call, body, CodeVerdict::Revoke).await
}

/// Suspends codes: they cannot be redeemed until an operator restores or revokes them.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/suspend", tag = "codes", operation_id = "suspend_codes",
    request_body = MarkCodesRequest, responses((status = "2XX", body = CodesMarked)))]
pub(crate) async fn suspend(call: Call<String>, body: Body) -> HandlerResult {
    mark(&call, body, CodeVerdict::Suspend).await
}

/// Restores codes that are suspended.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/restore", tag = "codes", operation_id = "restore_codes",
    request_body = MarkCodesRequest, responses((status = "2XX", body = CodesMarked)))]
pub(crate) async fn restore(call: Call<String>, body: Body) -> HandlerResult {
    mark(&call, body, CodeVerdict::Restore).await
}

async fn mark(call: &Call<String>, body: Body, verdict: CodeVerdict) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = call;
    let key = call.key(Role::Operator, campaign)?;
    let id = request::command_id(headers)?;
    let order = Order { id: id.as_deref(), who: &key.name };
    let bytes = body_of_many(call, body).await?;
    let members = "one of `codes`, `ranks` and `import`, and optionally `pool`, `reason`";
    let asked: MarkCodesRequest = json(&bytes, members)?;
    check(&asked, verdict)?;
    let query = call.query(&[])?;
    let pool = coded_pool(app, campaign, asked.pool.as_deref(), &query).await?;
    let (codes, reason) = (keys(app, &pool, &asked)?, &*asked.reason);
    let command = match &asked.import {
        Some(import) => {
            CodeCommand::RevokeImport { campaign, pool: &pool.name, import, reason, order }
        }
        None => CodeCommand::Mark { campaign, pool: &pool.name, codes, verdict, reason, order },
    };
    let answer = yes(app.node.intake.decide(&Command::Code(command)).await, campaign)?;
    let Some(CodeOutcome::Marked { changed, unknown, .. }) = of_codes(&answer.outcome) else {
        unreachable!("marks are not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let marked = CodesMarked {
        outcome: answer.outcome.as_str().into(),
        pool: pool.name.to_string(),
        verdict: verdict.as_str().into(),
        changed: *changed,
        unknown: unknown.clone(),
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
        campaign: campaign.clone(),
    };
    Ok(respond::json(StatusCode::OK, &marked))
}

/// Accepts a request that says in one way which codes are meant.
fn check(asked: &MarkCodesRequest, verdict: CodeVerdict) -> Result<(), Problem> {
    reason(&asked.reason)?;
    let named = asked.codes.len().max(asked.ranks.len());
    let ways = [!asked.codes.is_empty(), !asked.ranks.is_empty(), asked.import.is_some()];
    if ways.into_iter().filter(|way| *way).count() != 1 {
        return Err(Problem::invalid("give one of `codes`, `ranks` and `import`"));
    }
    if named > CODES_IN_REQUEST {
        let detail = format!(
            "{named} codes, at most {CODES_IN_REQUEST} in one request: send the rest in others"
        );
        return Err(Problem::new(Code::TooLarge, detail));
    }
    let Some(import) = &asked.import else { return Ok(()) };
    if verdict != CodeVerdict::Revoke {
        let detail = "`import` goes with revoking only: name the codes";
        return Err(Problem::invalid(detail));
    }
    check_command_id(import).map_err(|why| Problem::invalid(format!("the import's id {why}")))
}

/// Accepts an operator's reason, which may be left out.
fn reason(reason: &str) -> Result<(), Problem> {
    if reason.len() > REASON_BYTES {
        return Err(Problem::invalid(format!("a reason has up to {REASON_BYTES} bytes")));
    }
    check_text(reason).map_err(|why| Problem::invalid(format!("the reason {why}")))
}

/// Returns the codes as the rules know them. What cannot be a code is one that nobody has, so that it is named as unknown.
fn keys(app: &App, pool: &CodePool, asked: &MarkCodesRequest) -> Result<Vec<CodeKey>, Problem> {
    const NOBODYS: CodeKey = CodeKey::Rank(u32::MAX);
    if asked.codes.is_empty() {
        return Ok(asked.ranks.iter().copied().map(CodeKey::Rank).collect());
    }
    let cipher = cipher(app, pool)?;
    let key = |code: &String| pool.read(&cipher, code).unwrap_or(NOBODYS);
    Ok(asked.codes.iter().map(key).collect())
}

/// Replaces the code of a claim by another one: the old one is revoked.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/reissue", tag = "codes", operation_id = "reissue_code",
    request_body = ReissueRequest, responses((status = "2XX", body = Reissued)))]
pub(crate) async fn reissue(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    let id = request::command_id(headers)?;
    let bytes = call.body(body).await?;
    let members = "`subject`, `rank` and optionally `pool`, `issue`, `reason`";
    let asked: ReissueRequest = json(&bytes, members)?;
    request::subject(&app.options, &asked.subject)?;
    reason(&asked.reason)?;
    let query = call.query(&[])?;
    let pool = coded_pool(app, campaign, asked.pool.as_deref(), &query).await?;
    // Also where the codes are imported: whoever cannot show the new code must not give it.
    let cipher = cipher(app, &pool)?;
    let now = || current(app, campaign, &pool, (asked.rank, &asked.subject));
    let issue = asked.issue.unwrap_or_else(|| now().map_or(1, |(issue, _)| issue) + 1);
    let generated = pool.source == CodeSource::Generated;
    let command = CodeCommand::Reissue {
        campaign,
        pool: &pool.name,
        subject: &asked.subject,
        rank: asked.rank,
        issue,
        tag: generated.then(|| cipher.tag(&asked.subject, issue)),
        reason: &asked.reason,
        order: Order { id: id.as_deref(), who: &key.name },
    };
    let answer = yes(app.node.intake.decide(&Command::Code(command)).await, campaign)?;
    let Some(&CodeOutcome::Reissued { rank, issue }) = of_codes(&answer.outcome) else {
        unreachable!("a reissue is not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let reissued = Reissued {
        outcome: answer.outcome.as_str().into(),
        pool: pool.name.to_string(),
        subject: asked.subject.clone(),
        rank,
        issue,
        code: now().filter(|(now, _)| *now == issue).and_then(|(_, code)| code).map(Hidden),
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
        campaign: campaign.clone(),
    };
    Ok(respond::json(StatusCode::OK, &reissued))
}

/// Returns the issue number of the code that the rank of a subject has now, and the code.
fn current(
    app: &App,
    campaign: &str,
    pool: &CodePool,
    (rank, subject): (u32, &str),
) -> Option<(u16, Option<String>)> {
    app.node.replica.look(|state: &State| {
        let found = state.campaign(campaign).ok()?;
        let index = found.pools().iter().position(|known| known.name() == &*pool.name)?;
        let view = found.code_at(index, rank, (state.at(), state.service()))?;
        // On another branch it may be somebody else's.
        if view.subject != subject {
            return None;
        }
        let code = app.node.intake.codes.write(state.space(), (found, index), view.unit).ok();
        Some((view.issue, code))
    })
}
