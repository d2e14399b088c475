//! Which units a request is about.

use crate::answer::problem::Problem;
use crate::request;
use firstcome_api::hold::PickRequest;
use firstcome_core::command::{BestPick, Pick, Wanted};
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::limits::{BEST_PICKS, BEST_SEATS, HOLD_UNITS, PICKS};

/// Accepts the picks of one command: 1 to 64 of them, at most 4 of the best seats and 500 names in all.
///
/// Each name and each choice of the best costs every node time while nothing else is applied, so the sums are bounded,
/// too.
pub(crate) fn read<'a>(picks: &'a [PickRequest], campaign: &str) -> Result<Vec<Pick<'a>>, Problem> {
    let best = picks.iter().filter(|pick| pick.best.is_some()).count();
    if best > BEST_PICKS {
        let detail = format!(
            "{best} picks ask for the best seats, at most {BEST_PICKS} may: ask for more seats in one pick"
        );
        return Err(Problem::invalid(detail));
    }
    let names: usize = picks.iter().map(|pick| pick.units.as_ref().map_or(0, Vec::len)).sum();
    if names > HOLD_UNITS {
        let detail = format!("the picks name {names} units, at most {HOLD_UNITS} in all");
        return Err(Problem::invalid(detail));
    }
    if picks.is_empty() || picks.len() > PICKS {
        return Err(Problem::invalid(format!("there are {} picks: 1 to {PICKS}", picks.len())));
    }
    picks.iter().map(|pick| read_one(pick, campaign)).collect()
}

/// Accepts what is named of a hold: it has no best.
pub(crate) fn read_named<'a>(
    picks: &'a [PickRequest],
    campaign: &str,
) -> Result<Vec<Pick<'a>>, Problem> {
    let picks = read(picks, campaign)?;
    if picks.iter().any(|pick| matches!(pick.wanted, Wanted::Best(_))) {
        return Err(Problem::invalid(
            "name the units: the best is only for what is yet to be held",
        ));
    }
    Ok(picks)
}

/// Accepts one pick.
fn read_one<'a>(pick: &'a PickRequest, campaign: &str) -> Result<Pick<'a>, Problem> {
    let about_best = pick.grade.is_some()
        || pick.price_minor.is_some()
        || pick.currency.is_some()
        || pick.adjacent.is_some()
        || pick.accessible.is_some();
    if about_best && pick.best.is_none() {
        let detail = "grade, price_minor, currency, adjacent and accessible go with best";
        return Err(Problem::invalid(detail));
    }
    let wanted = match (&pick.units, pick.quantity, pick.best) {
        (Some(names), None, None) if pick.area.is_none() => {
            if names.is_empty() || names.len() > HOLD_UNITS {
                let detail = format!("a pick has {} units: 1 to {HOLD_UNITS}", names.len());
                return Err(Problem::invalid(detail));
            }
            names.iter().try_for_each(|name| named("unit", name))?;
            Wanted::Units(names.iter().map(String::as_str).collect())
        }
        (None, Some(count), None) => {
            pick.area.as_deref().map_or(Ok(()), |area| named("area", area))?;
            let count = counted(count, HOLD_UNITS)?;
            Wanted::Quantity { count, area: pick.area.as_deref() }
        }
        (None, None, Some(count)) if pick.area.is_none() => {
            pick.grade.as_deref().map_or(Ok(()), |grade| named("grade", grade))?;
            Wanted::Best(BestPick {
                count: counted(count, BEST_SEATS)?,
                grade: pick.grade.as_deref(),
                price: request::price(pick.price_minor, pick.currency.as_deref())?,
                adjacent: pick.adjacent.unwrap_or(true),
                accessible: pick.accessible.unwrap_or(false),
            })
        }
        (..) => {
            let detail = "a pick has units, or a quantity with or without an area, or best";
            return Err(Problem::invalid(detail));
        }
    };
    if let Some(pool) = &pick.pool {
        request::pool(campaign, pool)?;
    }
    pick.channel.as_deref().map_or(Ok(()), |channel| named("channel", channel))?;
    Ok(Pick { pool: pick.pool.as_deref(), wanted, channel: pick.channel.as_deref() })
}

fn counted(count: u32, most: usize) -> Result<u32, Problem> {
    if count == 0 || count as usize > most {
        return Err(Problem::invalid(format!("{count} units: 1 to {most}")));
    }
    Ok(count)
}

fn named(what: &str, name: &str) -> Result<(), Problem> {
    check_unit_name(name).map_err(|why| Problem::invalid(format!("the {what} {name:?} {why}")))
}
