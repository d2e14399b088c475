//! Campaigns: created, changed, steered; as they stand: [`standing`].

pub(super) mod standing;

use super::claims::{json, path};
use super::problem::{Problem, yes};
use super::request;
use super::seats::{self, SeatRow};
use crate::app::App;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::command::{Expect, Steer};
use firstcome_core::limits::CAPACITY;
use firstcome_core::settings::{GradeLimit, HoldSettings, HoldsEach, Opens, PoolSettings};
use firstcome_core::{Outcome, Settings, State};
use firstcome_node::{Answer, Ask, Decided, Ordered, OwnChunk};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// What an operator chooses for a campaign.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CampaignRequest {
    /// A title for people: up to 256 bytes.
    #[serde(default)]
    title: String,
    /// RFC 3339 with an offset, a local time with its zone, or `now`; left out or null for a draft.
    #[serde(default)]
    opens_at: Option<String>,
    /// RFC 3339 with an offset, or a local time with its zone; left out or null for never.
    #[serde(default)]
    closes_at: Option<String>,
    #[serde(default)]
    limits: LimitsRequest,
    /// Whether a subject that cancelled may claim again.
    #[serde(default)]
    claim_again: bool,
    /// Whether a cancelled unit goes back to its pool.
    #[serde(default = "yes_by_default")]
    units_return: bool,
    /// How long a hold lasts, 1,000 to `hold_max_ms`; 480,000 (8 minutes), or `hold_max_ms` if that is less, if left out.
    #[serde(default)]
    hold_ttl_ms: Option<i64>,
    /// How long after its start a hold can be extended to, up to 86,400,000; 1,800,000 (30 minutes) if left out.
    #[serde(default)]
    hold_max_ms: Option<i64>,
    /// How many live holds one subject may have.
    #[serde(default)]
    #[schema(inline)]
    holds: Each,
    /// How many holds one subject may start in an hour, 1 to 1,000; 60 if left out.
    #[serde(default)]
    holds_per_hour: Option<u32>,
    /// Whether a hold may leave a single free seat between taken ones.
    #[serde(default)]
    allow_orphans: bool,
    /// One pool at least.
    pools: Vec<PoolRequest>,
}

fn yes_by_default() -> bool {
    true
}

/// How much one subject may have.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsRequest {
    /// Units over all pools of the campaign, held and live claims together; if left out, only the other limits count.
    #[serde(default)]
    campaign: Option<u32>,
    /// Units of a grade, held and live claims together, over all pools.
    #[serde(default)]
    grades: BTreeMap<String, u32>,
}

/// How many live holds one subject may have.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Each {
    /// One at a time.
    #[default]
    One,
    /// Any number.
    Many,
}

/// A pool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolRequest {
    name: String,
    #[serde(default)]
    #[schema(inline)]
    kind: Kind,
    /// How many units: 1 to 4294967294. Not of a seated pool, which has as many as seats and places are added.
    #[serde(default)]
    #[schema(value_type = Option<u32>)]
    capacity: Option<serde_json::Number>,
    /// How many units of it one subject may have, held and live claims together; as many as there are, if left out.
    #[serde(default)]
    limit: Option<u32>,
    /// Seats and areas to begin with, of a seated pool: up to 4,000. More are imported.
    #[serde(default)]
    seats: Vec<SeatRow>,
}

/// What a pool consists of.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Places that are alike.
    #[default]
    Counted,
    /// Seats with names, and areas.
    Seated,
}

impl CampaignRequest {
    /// Takes the seats that are to be added once the campaign is there, with their pools.
    fn take_seats(&mut self) -> Result<Vec<(String, OwnChunk)>, Problem> {
        let seated = self
            .pools
            .iter_mut()
            .filter(|pool| matches!(pool.kind, Kind::Seated) && !pool.seats.is_empty());
        seated
            .map(|pool| Ok((pool.name.clone(), seats::chunk(&std::mem::take(&mut pool.seats))?)))
            .collect()
    }

    fn settings(self) -> Result<Settings, Problem> {
        let bad = |detail: String| Problem::new(Code::InvalidSettings, detail);
        let opens = match self.opens_at.as_deref() {
            None => Opens::Undecided,
            Some("now") => Opens::Now,
            Some(text) => {
                Opens::At(clock_text::parse(text).map_err(|why| bad(format!("opens_at: {why}")))?)
            }
        };
        let closes_at = match self.closes_at.as_deref() {
            None => None,
            Some(text) => {
                Some(clock_text::parse(text).map_err(|why| bad(format!("closes_at: {why}")))?)
            }
        };
        let pool = |pool: PoolRequest| pool.settings().map_err(bad);
        let plain = HoldSettings::default();
        let max_us = self.hold_max_ms.map_or(plain.max_us, micros);
        let each = match self.holds {
            Each::One => HoldsEach::One,
            Each::Many => HoldsEach::Many,
        };
        let grade = |(grade, limit): (String, u32)| GradeLimit { grade: grade.into(), limit };
        let holding = HoldSettings {
            ttl_us: self.hold_ttl_ms.map_or(plain.ttl_us.min(max_us), micros),
            max_us,
            each,
            per_hour: self.holds_per_hour.unwrap_or(plain.per_hour),
            allow_orphans: self.allow_orphans,
            grades: self.limits.grades.into_iter().map(grade).collect(),
        };
        let settings = Settings {
            title: self.title.into(),
            opens,
            closes_at,
            limit: self.limits.campaign,
            claim_again: self.claim_again,
            units_return: self.units_return,
            holding,
            pools: self.pools.into_iter().map(pool).collect::<Result<_, _>>()?,
        };
        settings.check().map_err(|why| bad(why.to_string()))?;
        Ok(settings)
    }
}

fn micros(ms: i64) -> i64 {
    ms.saturating_mul(1_000)
}

impl PoolRequest {
    fn settings(self) -> Result<PoolSettings, String> {
        let limit = self.limit;
        match (self.kind, self.capacity) {
            (Kind::Seated, None) => Ok(PoolSettings { limit, ..PoolSettings::seated(&self.name) }),
            (Kind::Seated, Some(capacity)) => Err(format!(
                "capacity of pool {:?}: {capacity} is for a counted pool; a seated one has as many \
                 units as seats are added to it",
                self.name
            )),
            (Kind::Counted, _) if !self.seats.is_empty() => {
                Err(format!("seats of pool {:?}: only a seated pool has them", self.name))
            }
            (Kind::Counted, None) => Err(format!("capacity of pool {:?} is missing", self.name)),
            (Kind::Counted, Some(capacity)) => match capacity.as_u64().map(u32::try_from) {
                Some(Ok(capacity)) => {
                    Ok(PoolSettings { limit, ..PoolSettings::counted(&self.name, capacity) })
                }
                Some(Err(_)) | None => Err(format!(
                    "capacity of pool {:?}: {capacity} is outside 1 to {CAPACITY}",
                    self.name
                )),
            },
        }
    }
}

/// What became of a campaign.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Put {
    /// `created`, `changed` or `unchanged`.
    outcome: &'static str,
    campaign: String,
    version: u32,
    /// Pools whose capacity could not go down as far as asked, with how far it got.
    clamped: Vec<ClampedView>,
    position: String,
    decided: &'static str,
}

/// A pool whose capacity could not go down as far as asked.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClampedView {
    pool: String,
    capacity: u32,
}

/// Creates a campaign, or changes it to what is given.
#[utoipa::path(put, path = "/v1/campaigns/{campaign}", tag = "campaigns",
    params(("campaign" = String, Path, description = "[a-z0-9][a-z0-9_-]{0,63}"),
           ("If-Match" = Option<String>, Header, description = "Only at this version"),
           ("If-None-Match" = Option<String>, Header, description = "*: only if there is none yet"),
           ("Idempotency-Key" = Option<String>, Header, description = "The same id gives the same answer")),
    request_body = CampaignRequest,
    responses((status = 201, description = "created", body = Put), (status = 200, description = "changed, unchanged", body = Put),
        (status = 409, description = "not_changeable"), (status = 410, description = "closed, archived"), (status = 412, description = "version_mismatch"),
        (status = 413, description = "too_large"),
        (status = 422, description = "invalid_settings, closes_too_early, too_big_for_memory, id_reused; bad_seat, and what was done before stays (`changed`)")))]
pub(super) async fn put(
    Extract(app): Extract<Arc<App>>,
    campaign: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let Path(campaign) = path(campaign)?;
        let key = app.keys.allow(&headers, Role::Operator, &campaign)?;
        firstcome_core::names::check_name(&campaign).map_err(|why| {
            Problem::new(Code::InvalidSettings, format!("the campaign's name {why}"))
        })?;
        let bytes = request::body(&app, &headers, body).await?;
        let mut asked = request::json::<CampaignRequest>(&bytes)?;
        let seats = asked.take_seats()?;
        let settings = asked.settings()?;
        let expect = expectation(&headers)?;
        let ordered = Ordered { id: request::command_id(&headers)?, who: key.name.clone() };
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        fits_memory(&app, &campaign, &settings)?;
        if let Some(view) = unchanged(&app, &campaign, &settings, expect, &ordered).await {
            seats::add_all(&app, &campaign, seats, &key.name, false).await?;
            app.metrics.answered("unchanged");
            return Ok(tagged(StatusCode::OK, view.version, &view));
        }
        let settings = Box::new(settings);
        let ask = Ask::Put { campaign: campaign.as_str().into(), settings, expect, ordered };
        let answer = yes(app.node.intake.decide(ask).await, &campaign)?;
        let changed = !matches!(answer.outcome, Outcome::Unchanged { .. });
        seats::add_all(&app, &campaign, seats, &key.name, changed).await?;
        Ok(put_view(&app, campaign, &answer))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

fn put_view(app: &App, campaign: String, answer: &Answer) -> Response<Body> {
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
    let view = Put {
        outcome: answer.outcome.as_str(),
        campaign,
        version,
        clamped: clamped
            .map(|c| ClampedView { pool: c.pool.to_string(), capacity: c.capacity })
            .collect(),
        position: answer.position.to_string(),
        decided: answer.decided.as_str(),
    };
    tagged(status, version, &view)
}

/// Answers a put that asks for what is there already; nothing is appended then.
///
/// A command with an id goes to the journal all the same, so that its id is remembered.
async fn unchanged(
    app: &App,
    name: &str,
    wanted: &Settings,
    expect: Expect,
    ordered: &Ordered,
) -> Option<Put> {
    if ordered.id.is_some() || !app.node.intake.catches_up().await || app.is_stale() {
        return None;
    }
    let (view, position) = app.node.replica.look(|state| {
        let campaign = state.campaign(name).ok()?;
        let expected = match expect {
            Expect::Anything => true,
            Expect::Absent => false,
            Expect::Version(version) => version == campaign.version(),
        };
        if !expected || campaign.settings() != *wanted {
            return None;
        }
        let view = Put {
            outcome: "unchanged",
            campaign: name.to_owned(),
            version: campaign.version(),
            clamped: Vec::new(),
            position: state.token().to_string(),
            decided: Decided::Replica.as_str(),
        };
        Some((view, state.token()))
    })?;
    // What it rests on must not be lost either: else the journal says it.
    app.node.intake.endures(position).await.then_some(view)
}

/// What a unit takes in memory once it is given, subject and all, about.
const BYTES_PER_UNIT: u64 = 50 + 32;

/// Refuses a campaign that could not be given out completely within this node's memory limit.
fn fits_memory(app: &App, name: &str, wanted: &Settings) -> Result<(), Problem> {
    let units = |settings: &Settings| -> u64 {
        settings.pools.iter().map(|pool| u64::from(pool.capacity)).sum()
    };
    let others: u64 = app.node.replica.look(|state: &State| {
        let others = state.campaigns().filter(|campaign| campaign.name() != name);
        others.map(|campaign| units(&campaign.settings())).sum()
    });
    let limit = app.node.intake.memory_limit();
    let (ours, others) = (units(wanted) * BYTES_PER_UNIT, others * BYTES_PER_UNIT);
    if ours + others <= limit {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let detail = format!(
        "{} units would take about {} MiB, the other campaigns take {} MiB and this node may use {} MiB \
         (memory_limit_mib)",
        units(wanted),
        mib(ours),
        mib(others),
        limit >> 20
    );
    let problem = Problem::new(Code::TooBigForMemory, detail);
    Err(problem.with("needed_bytes", ours.into()).with("limit_bytes", limit.into()))
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

fn tagged(status: StatusCode, version: u32, view: &impl Serialize) -> Response<Body> {
    let mut response = json(status, view);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// How to archive.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ArchiveRequest {
    /// Whether results that no ledger has may go.
    #[serde(default)]
    drop_unsettled: bool,
}

macro_rules! steer {
    ($name:ident, $path:literal, $doc:literal, $steer:expr) => {
        #[doc = $doc]
        #[utoipa::path(post, path = $path, tag = "campaigns",
            params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
            responses((status = 200, description = "changed, unchanged", body = Put),
                (status = 404, description = "not_found"), (status = 410, description = "closed, archived")))]
        pub(super) async fn $name(
            Extract(app): Extract<Arc<App>>,
            campaign: Result<Path<String>, PathRejection>,
            RawQuery(query): RawQuery,
            headers: HeaderMap,
        ) -> Response<Body> {
            steer(&app, campaign, query, &headers, $steer).await
        }
    };
}

steer!(pause, "/v1/campaigns/{campaign}/pause", "Accepts no claims until resumed.", Steer::Pause);
steer!(resume, "/v1/campaigns/{campaign}/resume", "Accepts claims again.", Steer::Resume);
steer!(close, "/v1/campaigns/{campaign}/close", "Ends the campaign for good.", Steer::Close);

/// Lets a closed and settled campaign leave memory.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/archive", tag = "campaigns",
    params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Option<ArchiveRequest>,
    responses((status = 200, description = "changed, unchanged", body = Put),
        (status = 409, description = "not_closed, unsettled"), (status = 404, description = "not_found")))]
pub(super) async fn archive(
    Extract(app): Extract<Arc<App>>,
    campaign: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let asked = async {
        // Who may not steer it has no body read.
        if let Ok(Path(campaign)) = &campaign {
            app.keys.allow(&headers, Role::Operator, campaign)?;
        }
        if !headers.contains_key(header::CONTENT_TYPE) {
            return Ok(ArchiveRequest::default());
        }
        let bytes = request::body(&app, &headers, body).await?;
        if bytes.is_empty() { Ok(ArchiveRequest::default()) } else { request::json(&bytes) }
    };
    match asked.await {
        Ok(ArchiveRequest { drop_unsettled }) => {
            steer(&app, campaign, query, &headers, Steer::Archive { drop_unsettled }).await
        }
        Err(problem) => app.problem(problem),
    }
}

async fn steer(
    app: &App,
    campaign: Result<Path<String>, PathRejection>,
    query: Option<String>,
    headers: &HeaderMap,
    steer: Steer,
) -> Response<Body> {
    let answered = async {
        let Path(campaign) = path(campaign)?;
        let key = app.keys.allow(headers, Role::Operator, &campaign)?;
        request::campaign(&campaign)?;
        let ordered = Ordered { id: request::command_id(headers)?, who: key.name.clone() };
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        let ask = Ask::Steer { campaign: campaign.as_str().into(), steer, ordered };
        let answer = yes(app.node.intake.decide(ask).await, &campaign)?;
        Ok(put_view(app, campaign, &answer))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}
