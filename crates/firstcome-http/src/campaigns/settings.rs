//! A campaign's settings, out of what an operator asks for.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::clock_text;
use crate::seats;
use crate::seats::rows::Row;
use firstcome_api::campaign::{CampaignRequest, HoldsRequest, PoolKind, PoolRequest};
use firstcome_api::code::{CodeSource as Source, CodesRequest};
use firstcome_core::Settings;
use firstcome_core::limits::{CAPACITY, WAITLIST};
use firstcome_core::settings::{
    BadSettings, CodeSettings, CodeSource, GradeLimit, HoldSettings, HoldsEach, Opens, PoolSettings,
};
use serde_json::json;

/// Takes the seats that are to be added once the campaign is there, with their pools.
pub(crate) fn take_seats(ask: &mut CampaignRequest) -> Result<Vec<(String, Vec<Row>)>, Problem> {
    let is_seated =
        |pool: &&mut PoolRequest| pool.kind == PoolKind::Seated && !pool.seats.is_empty();
    let seated = ask.pools.iter_mut().filter(is_seated);
    let taken = seated.map(|pool| {
        let seats = std::mem::take(&mut pool.seats);
        let rows = (1..).zip(seats).map(|(line, seat)| Row { line, seat });
        let rows: Vec<Row> = rows.collect();
        seats::chunk(&rows).map_err(|problem| problem.with("pool", json!(pool.name)))?;
        Ok((pool.name.clone(), rows))
    });
    taken.collect()
}

/// Returns the settings that are asked for; [`check`] says whether they are acceptable.
pub(crate) fn settings(ask: CampaignRequest) -> Result<Settings, Problem> {
    let bad = |detail: String| Problem::new(Code::InvalidSettings, detail);
    let opens = match ask.opens_at.as_deref() {
        None => Opens::Undecided,
        Some("now") => Opens::Now,
        Some(text) => {
            Opens::At(clock_text::parse(text).map_err(|why| bad(format!("opens_at: {why}")))?)
        }
    };
    let closes_at = match ask.closes_at.as_deref() {
        None => None,
        Some(text) => {
            Some(clock_text::parse(text).map_err(|why| bad(format!("closes_at: {why}")))?)
        }
    };
    let pool = |pool: PoolRequest| pool_settings(pool).map_err(bad);
    let plain = HoldSettings::default();
    let max_us = ask.hold_max_ms.map_or(plain.max_us, micros);
    let each = match ask.holds {
        HoldsRequest::One => HoldsEach::One,
        HoldsRequest::Many => HoldsEach::Many,
    };
    let grade = |(grade, limit): (String, u32)| GradeLimit { grade: grade.into(), limit };
    let holding = HoldSettings {
        offer_us: ask.offer_ms.map_or(plain.offer_us, micros),
        ttl_us: ask.hold_ttl_ms.map_or(plain.ttl_us.min(max_us), micros),
        max_us,
        each,
        per_hour: ask.holds_per_hour.unwrap_or(plain.per_hour),
        allow_orphans: ask.allow_orphans,
        grades: ask.limits.grades.into_iter().map(grade).collect(),
    };
    Ok(Settings {
        title: ask.title.into(),
        opens,
        closes_at,
        limit: ask.limits.campaign,
        claim_again: ask.claim_again,
        units_return: ask.units_return,
        public: ask.public,
        holding,
        pools: ask.pools.into_iter().map(pool).collect::<Result<_, _>>()?,
    })
}

/// Accepts settings, each coded pool with its key.
pub(crate) fn check(settings: &Settings) -> Result<(), Problem> {
    let bad = |why: BadSettings| Problem::new(Code::InvalidSettings, why.to_string());
    settings.check().map_err(bad)
}

fn micros(ms: i64) -> i64 {
    ms.saturating_mul(1_000)
}

fn pool_settings(ask: PoolRequest) -> Result<PoolSettings, String> {
    let PoolRequest { name, kind, capacity, limit, waitlist, seats, codes } = ask;
    // What is meant where nothing is said: so what a campaign shows can be sent back.
    let waitlist = waitlist.filter(|most| *most != WAITLIST);
    if !seats.is_empty() && kind != PoolKind::Seated {
        return Err(format!("seats of pool {name:?}: only a seated pool has them"));
    }
    if codes.is_some() && kind != PoolKind::Coded {
        return Err(format!("codes of pool {name:?}: only a coded pool has them"));
    }
    let pool = match kind {
        PoolKind::Seated => match capacity {
            None => PoolSettings::seated(&name),
            Some(capacity) => {
                return Err(format!(
                    "capacity of pool {name:?}: {capacity} is for a counted pool; a seated one has as many \
                     units as seats are added to it"
                ));
            }
        },
        PoolKind::Counted => PoolSettings::counted(&name, whole(&name, capacity)?),
        PoolKind::Coded => {
            let codes = code_settings(codes.unwrap_or_default())
                .map_err(|why| format!("codes of pool {name:?}: {why}"))?;
            let capacity = match (codes.source, capacity) {
                (CodeSource::Imported, None) => 0,
                (CodeSource::Imported | CodeSource::Generated, given) => whole(&name, given)?,
            };
            PoolSettings::coded(&name, capacity, codes)
        }
    };
    Ok(PoolSettings { limit, waitlist, ..pool })
}

fn whole(pool: &str, capacity: Option<serde_json::Number>) -> Result<u32, String> {
    let Some(capacity) = capacity else {
        return Err(format!("capacity of pool {pool:?} is missing"));
    };
    let whole = capacity.as_u64().and_then(|capacity| u32::try_from(capacity).ok());
    whole.ok_or_else(|| format!("capacity of pool {pool:?}: {capacity} is outside 1 to {CAPACITY}"))
}

/// Returns the settings of codes; without an id of a key, the server's or the pool's is put in later.
fn code_settings(ask: CodesRequest) -> Result<CodeSettings, String> {
    let source = match ask.source {
        Source::Generated => CodeSource::Generated,
        Source::Imported => CodeSource::Imported,
    };
    let valid_until = match ask.valid_until.as_deref() {
        None => None,
        Some(text) => Some(clock_text::parse(text).map_err(|why| format!("valid_until: {why}"))?),
    };
    if ask.key.as_deref() == Some("") {
        return Err("key: 1 to 64 bytes without control characters".to_owned());
    }
    Ok(CodeSettings {
        uses: ask.uses.unwrap_or(1),
        uses_per_subject: ask.uses_per_subject,
        valid_until,
        valid_for_us: ask.valid_for_ms.map(micros),
        only_by_holder: ask.only_by_holder,
        ..CodeSettings::new(source, ask.key.as_deref().unwrap_or_default())
    })
}
