//! A campaign's settings, out of what an operator asks for.

use crate::answer::Code;
use crate::clock_text;
use crate::problem::Problem;
use crate::seats;
use crate::seats::rows::Row;
use firstcome_api::campaign::{CampaignRequest, HoldsRequest, PoolKind, PoolRequest};
use firstcome_core::Settings;
use firstcome_core::limits::CAPACITY;
use firstcome_core::settings::{GradeLimit, HoldSettings, HoldsEach, Opens, PoolSettings};
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

/// Gives the settings that are asked for, checked.
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
        offer_us: plain.offer_us,
        ttl_us: ask.hold_ttl_ms.map_or(plain.ttl_us.min(max_us), micros),
        max_us,
        each,
        per_hour: ask.holds_per_hour.unwrap_or(plain.per_hour),
        allow_orphans: ask.allow_orphans,
        grades: ask.limits.grades.into_iter().map(grade).collect(),
    };
    let settings = Settings {
        title: ask.title.into(),
        opens,
        closes_at,
        limit: ask.limits.campaign,
        claim_again: ask.claim_again,
        units_return: ask.units_return,
        holding,
        pools: ask.pools.into_iter().map(pool).collect::<Result<_, _>>()?,
    };
    settings.check().map_err(|why| bad(why.to_string()))?;
    Ok(settings)
}

fn micros(ms: i64) -> i64 {
    ms.saturating_mul(1_000)
}

fn pool_settings(ask: PoolRequest) -> Result<PoolSettings, String> {
    let limit = ask.limit;
    match (ask.kind, ask.capacity) {
        (PoolKind::Seated, None) => Ok(PoolSettings { limit, ..PoolSettings::seated(&ask.name) }),
        (PoolKind::Seated, Some(capacity)) => Err(format!(
            "capacity of pool {:?}: {capacity} is for a counted pool; a seated one has as many \
                 units as seats are added to it",
            ask.name
        )),
        (PoolKind::Counted, _) if !ask.seats.is_empty() => {
            Err(format!("seats of pool {:?}: only a seated pool has them", ask.name))
        }
        (PoolKind::Counted, None) => Err(format!("capacity of pool {:?} is missing", ask.name)),
        (PoolKind::Counted, Some(capacity)) => match capacity.as_u64().map(u32::try_from) {
            Some(Ok(capacity)) => {
                Ok(PoolSettings { limit, ..PoolSettings::counted(&ask.name, capacity) })
            }
            Some(Err(_)) | None => Err(format!(
                "capacity of pool {:?}: {capacity} is outside 1 to {CAPACITY}",
                ask.name
            )),
        },
    }
}
