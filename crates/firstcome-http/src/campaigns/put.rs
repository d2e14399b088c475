//! Creates and changes campaigns.

use super::done::done;
use super::settings::{check, settings, take_seats};
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::tagged;
use crate::app::App;
use crate::asks::yes;
use crate::request;
use crate::request::call::Call;
use crate::seats;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use firstcome_api::campaign::{CampaignRequest, OperatorDone};
use firstcome_api::key::Role;
use firstcome_core::campaign::Campaign;
use firstcome_core::command::{Expect, Order};
use firstcome_core::limits::NAME_BYTES;
use firstcome_core::settings::Sizes;
use firstcome_core::{Command, Outcome, Refusal, Settings, State};
use firstcome_node::Decided;
use serde_json::json;

/// Creates a campaign, or changes it to the given settings.
#[utoipa::path(put, path = "/v1/campaigns/{campaign}", tag = "campaigns", operation_id = "put_campaign",
    params(("If-Match" = Option<String>, Header, description = "Only at this version"),
           ("If-None-Match" = Option<String>, Header, description = "*: only if there is none yet")),
    request_body = CampaignRequest, responses((status = "2XX", body = OperatorDone)))]
pub(crate) async fn put(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    let key = app.keys.allow(headers, Role::Operator, campaign)?;
    firstcome_core::names::check_name(campaign)
        .map_err(|why| Problem::new(Code::InvalidSettings, format!("the campaign's name {why}")))?;
    let mut asked: CampaignRequest = call.json(body).await?;
    let seats = take_seats(&mut asked)?;
    let mut settings = settings(asked)?;
    let expect = expectation(headers)?;
    let id = request::command_id(headers)?;
    call.reach().await?;
    with_keys(app, campaign, &mut settings)?;
    check(&settings)?;
    fits_memory(app, campaign, &settings)?;
    if let Some(done) = unchanged(app, campaign, &settings, expect, id.is_some()).await {
        seats::add_all(app, campaign, &seats, &key.name, false).await?;
        app.metrics.answered("unchanged");
        return Ok(tagged(StatusCode::OK, done.version, &done));
    }
    let order = Order { id: id.as_deref(), who: &key.name };
    let put = Command::Put { campaign, settings, expect, order };
    let answer = yes(app.node.intake.decide(&put).await, campaign)
        .map_err(|problem| with_a_free_name(app, problem, campaign))?;
    let changed = !matches!(answer.outcome, Outcome::Unchanged { .. });
    seats::add_all(app, campaign, &seats, &key.name, changed).await?;
    Ok(done(app, campaign, &answer))
}

/// Gives each coded pool the id of its key.
fn with_keys(app: &App, campaign: &str, settings: &mut Settings) -> Result<(), Problem> {
    if settings.pools.iter().all(|pool| pool.codes.is_none()) {
        return Ok(());
    }
    let completed = app.node.replica.look(|state: &State| {
        app.node.intake.codes.complete(settings, state.campaign(campaign).ok())
    });
    completed
        .map_err(|missing| Problem::new(Code::NoCodeKey, format!("{missing}; nothing changed")))
}

/// Names a campaign's name that is free, where the one that was asked for is used up.
fn with_a_free_name(app: &App, problem: Problem, taken: &str) -> Problem {
    if problem.outcome() != Refusal::Archived.as_str() {
        return problem;
    }
    let is_free = |name: &String| {
        let found = app.node.replica.look(|state: &State| state.campaign(name).err());
        matches!(found, Some(Refusal::NotFound(_)))
    };
    // With a number behind it the name is no longer than a name may be.
    let begin: String = taken.chars().take(NAME_BYTES - 4).collect();
    let free = (2..1_000).map(|number| format!("{begin}-{number}")).find(is_free);
    let Some(free) = free else { return problem };
    let detail = format!(
        "a campaign {taken:?} was archived, and a name with results is never used again: {free:?} is free"
    );
    problem.saying(detail).with("free_name", json!(free))
}

/// Answers a put that asks for what is there already; nothing is appended then.
///
/// A command with an id goes to the journal all the same, so that its id is remembered.
async fn unchanged(
    app: &App,
    name: &str,
    wanted: &Settings,
    expect: Expect,
    has_id: bool,
) -> Option<OperatorDone> {
    if has_id || !app.node.intake.catches_up().await || app.is_stale() {
        return None;
    }
    let (done, position) = app.node.replica.look(|state| {
        let campaign = state.campaign(name).ok()?;
        let expected = match expect {
            Expect::Anything => true,
            Expect::Absent => false,
            Expect::Version(version) => version == campaign.version(),
        };
        if !expected || campaign.settings() != *wanted {
            return None;
        }
        let done = OperatorDone {
            outcome: "unchanged".into(),
            campaign: name.to_owned(),
            version: campaign.version(),
            clamped: Vec::new(),
            position: state.token().to_string(),
            decided: Decided::Replica.as_str().into(),
        };
        Some((done, state.token()))
    })?;
    // The state it was read from must be durable; else the journal decides.
    app.node.intake.endures(position).await.then_some(done)
}

/// Refuses a campaign that could not be given out completely within this node's memory limit.
fn fits_memory(app: &App, name: &str, wanted: &Settings) -> Result<(), Problem> {
    let (all, own) = app.node.replica.look(|state: &State| {
        let own = state.campaign(name).map_or(Sizes::default(), Campaign::sizes);
        (state.sizes(), own)
    });
    let limit = app.node.intake.memory_limit();
    let sizes = wanted.sizes();
    // The codes that were imported stay, whatever the settings say.
    let sizes = Sizes { imported: sizes.imported.max(own.imported), ..sizes };
    let (ours, others) = (sizes.bytes(), all.minus(own).bytes());
    if ours.saturating_add(others) <= limit {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let detail = format!(
        "{} would take about {} MiB, the other campaigns take {} MiB and this node may use {} MiB \
         (memory_limit_mib)",
        said(&sizes),
        mib(ours),
        mib(others),
        limit >> 20
    );
    let problem = Problem::new(Code::TooBigForMemory, detail);
    Err(problem.with("needed_bytes", ours.into()).with("limit_bytes", limit.into()))
}

/// Says what takes the memory.
fn said(sizes: &Sizes) -> String {
    let Sizes { units, waiting, codes, imported, uses } = *sizes;
    let more = [
        (waiting, "people on waitlists"),
        (codes.saturating_add(imported), "codes"),
        (uses, "uses of codes"),
    ];
    let more = more.into_iter().filter(|(count, _)| *count > 0);
    let more: String = more.map(|(count, what)| format!(", {count} {what}")).collect();
    format!("{units} units{more}")
}

fn expectation(headers: &HeaderMap) -> Result<Expect, Problem> {
    if let Some(value) = headers.get(header::IF_NONE_MATCH) {
        return match value.as_bytes() {
            b"*" => Ok(Expect::Absent),
            _ => Err(Problem::invalid("If-None-Match takes * here: only if there is none yet")),
        };
    }
    let Some(value) = headers.get(header::IF_MATCH) else {
        return Ok(Expect::Anything);
    };
    let version = value.to_str().ok().map(|text| text.trim().trim_matches('"'));
    match version.and_then(|text| text.parse().ok()) {
        Some(version) if version > 0 => Ok(Expect::Version(version)),
        Some(_) | None => Err(Problem::invalid(
            "If-Match takes the version this server gave as ETag, such as \"3\"",
        )),
    }
}
