//! Imports of codes: lines are brought in chunks, and one commit puts them all in stock.
//!
//! The id of an import is a keyed digest of its file: so the same file is the same import, whoever brings it and whenever.

use super::{CODES_IN_REQUEST, body_of_many, cipher, coded_pool, json, of_codes};
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond;
use crate::app::App;
use crate::asks::yes;
use crate::clock_text;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::code::{
    CodeImport, CodeImportLine, CodeImportList, CommitCodesRequest, ImportCodesRequest,
    ImportLinesRequest,
};
use firstcome_api::key::Role;
use firstcome_core::codes::{Codes, Import};
use firstcome_core::command::{CodeCommand, Order, StagedCode};
use firstcome_core::limits::{CODES_IMPORTED, SEAL_BYTES};
use firstcome_core::names::check_command_id;
use firstcome_core::settings::CodeSource;
use firstcome_core::settings::sizes::IMPORTED_BESIDE_TEXT;
use firstcome_core::{CodeOutcome, CodeRefusal, Command, State};
use firstcome_node::codes::CodePool;
use firstcome_node::codes::lines::{self, WrongCode};
use firstcome_node::{Answer, Decided};
use serde_json::json as value;
use std::borrow::Cow;

/// Lines that a file may have: half of them may be duplicates.
const LINES: u32 = 2 * CODES_IMPORTED;
/// Wrong lines that a problem names.
const ERRORS: usize = 100;
/// How the id of an import begins whose codes count only as they are spelled.
const EXACT: &str = "exact-";

/// Begins an import of codes, or says how far the import of the same file is.
///
/// Nothing changes before the first lines are brought.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/imports", tag = "codes", operation_id = "begin_code_import",
    request_body = ImportCodesRequest, responses((status = "2XX", body = CodeImport)))]
pub(crate) async fn begin(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, .. } = &call;
    call.key(Role::Operator, campaign)?;
    let bytes = call.body(body).await?;
    let asked: ImportCodesRequest =
        json(&bytes, "`digest`, `lines` and optionally `pool`, `exact`")?;
    if !(1..=LINES).contains(&asked.lines) {
        return Err(Problem::invalid(format!("lines={}: 1 to {LINES}", asked.lines)));
    }
    let is_digest = (16..=128).contains(&asked.digest.len())
        && asked.digest.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_digest {
        let detail = "digest: 16 to 128 visible characters of ASCII, such as a SHA-256 in hexadecimal digits";
        return Err(Problem::invalid(detail));
    }
    let pool = imported_pool(&call, campaign, asked.pool.as_deref()).await?;
    let mut id = cipher(app, &pool)?.import_id(&asked.digest);
    if asked.exact {
        id.insert_str(0, EXACT);
    }
    let (outcome, position) = app.node.replica.look(|state: &State| {
        let codes = codes_of(state, campaign, &pool);
        let done = codes.and_then(|codes| codes.imports().iter().find(|done| *done.id == *id));
        let open = codes.and_then(Codes::open_import).filter(|(open, _)| *open == id);
        let outcome = match done {
            Some(done) => CodeOutcome::Committed {
                lines: done.lines,
                added: done.added,
                duplicates: done.duplicates.clone(),
            },
            None => CodeOutcome::Staged { next: open.map_or(0, |(_, next)| next) },
        };
        (outcome, state.token())
    });
    let answer = Answer { outcome: outcome.into(), position, decided: Decided::Replica };
    Ok(shown(app, campaign, &pool, &id, &answer))
}

/// Brings lines of an import: up to 4,000, in the order of the file. Lines that were brought before are left alone.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/imports/{import}/lines", tag = "codes", operation_id = "import_code_lines",
    request_body = ImportLinesRequest, responses((status = "2XX", body = CodeImport)))]
pub(crate) async fn lines(call: Call<(String, String)>, body: Body) -> HandlerResult {
    let Call { app, path: (campaign, import), .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    check_import(import)?;
    let bytes = body_of_many(&call, body).await?;
    let asked: ImportLinesRequest<'_> = json(&bytes, "`first`, `codes` and optionally `pool`")?;
    if !(1..=CODES_IN_REQUEST).contains(&asked.codes.len()) {
        let detail = format!("{} codes: 1 to {CODES_IN_REQUEST} in one request", asked.codes.len());
        return Err(Problem::new(Code::TooLarge, detail));
    }
    let pool = imported_pool(&call, campaign, asked.pool.as_deref()).await?;
    let sealed = seal(app, (campaign, &pool, import), &asked)?;
    fits_memory(app, &sealed)?;
    let codes = sealed.iter().map(|(hash, sealed)| StagedCode { hash: *hash, sealed }).collect();
    let command = CodeCommand::Stage {
        campaign,
        pool: &pool.name,
        import,
        first: asked.first,
        codes,
        order: Order { id: None, who: &key.name },
    };
    decided(app, campaign, (&pool, import), command).await
}

/// Puts all codes of an import in stock. Sent again, it is answered as the first time.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/imports/{import}/commit", tag = "codes", operation_id = "commit_code_import",
    request_body = CommitCodesRequest, responses((status = "2XX", body = CodeImport)))]
pub(crate) async fn commit(call: Call<(String, String)>, body: Body) -> HandlerResult {
    let Call { app, path: (campaign, import), .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    check_import(import)?;
    let bytes = call.body(body).await?;
    let asked: CommitCodesRequest = json(&bytes, "`lines` and optionally `pool`")?;
    let pool = imported_pool(&call, campaign, asked.pool.as_deref()).await?;
    let command = CodeCommand::Commit {
        campaign,
        pool: &pool.name,
        import,
        lines: asked.lines,
        order: Order { id: None, who: &key.name },
    };
    decided(app, campaign, (&pool, import), command).await
}

/// Gives up an import that was not committed.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/codes/imports/{import}", tag = "codes", operation_id = "discard_code_import",
    params(("pool" = Option<String>, Query, description = "May be left out if the campaign has one")),
    responses((status = "2XX", body = CodeImport)))]
pub(crate) async fn discard(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, import), .. } = &call;
    let key = call.key(Role::Operator, campaign)?;
    check_import(import)?;
    let query = call.query(&["pool"])?;
    let pool = imported_pool(&call, campaign, query.get("pool")).await?;
    let command = CodeCommand::Discard {
        campaign,
        pool: &pool.name,
        import,
        order: Order { id: None, who: &key.name },
    };
    decided(app, campaign, (&pool, import), command).await
}

/// Lists the imports of a pool.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/codes/imports", tag = "codes", operation_id = "list_code_imports",
    params(("pool" = Option<String>, Query, description = "May be left out if the campaign has one")),
    responses((status = "2XX", body = CodeImportList)))]
pub(crate) async fn list(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, .. } = &call;
    call.key(Role::Operator, campaign)?;
    let query = call.query(&["pool"])?;
    let pool = imported_pool(&call, campaign, query.get("pool")).await?;
    app.readable(campaign)?;
    let (imports, open, position) = app.node.replica.look(|state: &State| {
        let codes = codes_of(state, campaign, &pool);
        let imports: Vec<_> = codes.map_or(&[][..], Codes::imports).iter().map(line).collect();
        let open = codes.and_then(Codes::open_import);
        (imports, open.map(|(id, next)| (id.to_owned(), next)), state.token())
    });
    let (open, next) = open.unzip();
    let durable = app.node.intake.endures(position).await;
    let (pool, position) = (pool.name.to_string(), position.to_string());
    let campaign = campaign.clone();
    let list = CodeImportList { campaign, pool, imports, open, next, position, durable };
    Ok(respond::json(StatusCode::OK, &list))
}

fn line(import: &Import) -> CodeImportLine {
    CodeImportLine {
        import: import.id.to_string(),
        at: clock_text::rfc3339(import.at),
        who: import.who.to_string(),
        lines: import.lines,
        added: import.added,
        revoked: import.revoked,
    }
}

fn check_import(import: &str) -> Result<(), Problem> {
    check_command_id(import).map_err(|why| Problem::invalid(format!("the import's id {why}")))
}

/// Has the journal decide a command of an import, and says how far the import is.
async fn decided(
    app: &App,
    campaign: &str,
    (pool, import): (&CodePool, &str),
    command: CodeCommand<'_>,
) -> HandlerResult {
    let answer = yes(app.node.intake.decide(&Command::Code(command)).await, campaign)?;
    Ok(shown(app, campaign, pool, import, &answer))
}

async fn imported_pool<P>(
    call: &Call<P>,
    campaign: &str,
    pool: Option<&str>,
) -> Result<CodePool, Problem> {
    let pool = coded_pool(&call.app, campaign, pool, &call.query(&["pool"])?).await?;
    match pool.source {
        CodeSource::Imported => Ok(pool),
        CodeSource::Generated => Err(Problem::refused(CodeRefusal::NotImported.into(), campaign)),
    }
}

fn codes_of<'a>(state: &'a State, campaign: &str, pool: &CodePool) -> Option<&'a Codes> {
    state.campaign(campaign).ok()?.pool(&pool.name)?.codes()
}

/// What the rules see of a line: what it is found by, and its sealed text.
type SealedLine = ([u8; 16], Vec<u8>);

/// Seals the lines, or names those that cannot come in by their numbers in the file, without repeating them.
fn seal(
    app: &App,
    (campaign, pool, import): (&str, &CodePool, &str),
    asked: &ImportLinesRequest<'_>,
) -> Result<Vec<SealedLine>, Problem> {
    let exact = import.starts_with(EXACT);
    let codes = || (u64::from(asked.first) + 1..).zip(asked.codes.iter().map(|code| &**code));
    let mut wrong = lines::check(codes(), exact).wrong;
    let mut sealed = Vec::new();
    if wrong.is_empty() {
        let cipher = cipher(app, pool)?;
        for (line, code) in codes() {
            match cipher.seal(code, exact) {
                Ok(code) => sealed.push(code),
                Err(why) => wrong.push((line, why.into())),
            }
        }
        wrong.extend(alike_before(app, (campaign, pool, import), asked.first, &sealed));
    }
    let Some((line, why)) = wrong.first() else { return Ok(sealed) };
    let detail = format!(
        "line {line}: {why}; {} such lines in this request, none of its lines was taken",
        wrong.len()
    );
    let errors = wrong.iter().take(ERRORS);
    let errors = errors.map(|(line, why)| value!({"line": line, "why": why.to_string()}));
    Err(Problem::new(Code::BadCode, detail).with("errors", errors.collect()))
}

/// Returns the lines whose codes an earlier request of the import brought in another spelling. Texts that are sealed alike are
/// the same.
fn alike_before(
    app: &App,
    (campaign, pool, import): (&str, &CodePool, &str),
    first: u32,
    sealed: &[SealedLine],
) -> Vec<(u64, WrongCode)> {
    app.node.replica.look(|state: &State| {
        let codes = codes_of(state, campaign, pool);
        let open = codes.filter(|codes| codes.open_import().is_some_and(|(id, _)| id == import));
        let Some(codes) = open else { return Vec::new() };
        let lines = (u64::from(first) + 1..).zip(sealed);
        let alike = lines.filter_map(|(line, (hash, sealed))| {
            let (before, known) = codes.staged(hash)?;
            (known != *sealed).then(|| (line, WrongCode::Alike(u64::from(before) + 1)))
        });
        alike.collect()
    })
}

/// Refuses codes that this node has no memory for.
fn fits_memory(app: &App, codes: &[SealedLine]) -> Result<(), Problem> {
    let limit = app.node.intake.memory_limit();
    let texts: usize =
        codes.iter().map(|(_, sealed)| sealed.len().saturating_sub(SEAL_BYTES)).sum();
    let new = codes.len() as u64 * IMPORTED_BESIDE_TEXT + texts as u64;
    let needed = app.node.replica.look(State::memory) as u64 + new;
    if needed <= limit {
        return Ok(());
    }
    let detail =
        format!("{needed} bytes would be needed and this node may use {limit} (memory_limit_mib)");
    let problem = Problem::new(Code::TooBigForMemory, detail);
    Err(problem.with("needed_bytes", needed.into()).with("limit_bytes", limit.into()))
}

fn shown(
    app: &App,
    campaign: &str,
    pool: &CodePool,
    import: &str,
    answer: &Answer,
) -> axum::http::Response<Body> {
    app.metrics.decided(&answer.outcome);
    let mut shown = CodeImport {
        outcome: Cow::Borrowed(answer.outcome.as_str()),
        campaign: campaign.to_owned(),
        pool: pool.name.to_string(),
        import: import.to_owned(),
        next: None,
        lines: None,
        added: None,
        duplicates: None,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    let outcome = of_codes(&answer.outcome);
    if let Some(&CodeOutcome::Staged { next }) = outcome {
        shown.next = Some(next);
    } else if let Some(CodeOutcome::Committed { lines, added, duplicates }) = outcome {
        // The rules count lines from 0, people from 1.
        let duplicates = duplicates.iter().map(|line| line.saturating_add(1)).collect();
        (shown.lines, shown.added) = (Some(*lines), Some(*added));
        shown.duplicates = Some(duplicates);
    }
    respond::json(StatusCode::OK, &shown)
}
