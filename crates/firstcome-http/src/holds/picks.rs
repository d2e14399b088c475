//! Which units a request is about.

use super::super::problem::Problem;
use super::super::request;
use firstcome_core::hall::Price;
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::limits::{BEST_SEATS, HOLD_UNITS, PICKS};
use firstcome_node::{OwnPick, OwnWanted};
use serde::Deserialize;
use utoipa::ToSchema;

/// Some units of one pool: `units` by name, or a `quantity` (of an `area`, or of a counted pool), or the `best` seats.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PickRequest {
    /// The pool; may be left out where the campaign has one.
    #[serde(default)]
    pool: Option<String>,
    /// Names of seats, of groups as a whole, of areas for one place each.
    #[serde(default)]
    units: Option<Vec<String>>,
    /// How many places of the area, or units of a counted pool: 1 to 500.
    #[serde(default)]
    quantity: Option<u32>,
    /// The area that `quantity` is of.
    #[serde(default)]
    area: Option<String>,
    /// How many of the best seats there are: 1 to 100.
    #[serde(default)]
    best: Option<u32>,
    /// The best of this grade only.
    #[serde(default)]
    grade: Option<String>,
    /// The best at this price only, in the smallest unit of `currency`.
    #[serde(default)]
    price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default)]
    currency: Option<String>,
    /// For whom the seller acts: seats kept for a channel are had by naming it only.
    #[serde(default)]
    channel: Option<String>,
    /// Whether the best are all next to each other; yes if left out.
    #[serde(default)]
    adjacent: Option<bool>,
    /// Whether the best are seats marked as accessible.
    #[serde(default)]
    accessible: Option<bool>,
}

impl PickRequest {
    /// Gives a pick of names.
    pub(crate) fn names(pool: Option<String>, units: Vec<String>) -> Self {
        Self { pool, units: Some(units), ..Self::default() }
    }

    fn own(self, campaign: &str) -> Result<OwnPick, Problem> {
        let about_best = self.grade.is_some()
            || self.price_minor.is_some()
            || self.currency.is_some()
            || self.adjacent.is_some()
            || self.accessible.is_some();
        if about_best && self.best.is_none() {
            let detail = "grade, price_minor, currency, adjacent and accessible go with best";
            return Err(Problem::invalid(detail));
        }
        let wanted = match (self.units, self.quantity, self.best) {
            (Some(names), None, None) if self.area.is_none() => {
                if names.is_empty() || names.len() > HOLD_UNITS {
                    let detail = format!("a pick has {} units: 1 to {HOLD_UNITS}", names.len());
                    return Err(Problem::invalid(detail));
                }
                names.iter().try_for_each(|name| named("unit", name))?;
                OwnWanted::Units(names.into_iter().map(Into::into).collect())
            }
            (None, Some(count), None) => {
                self.area.as_deref().map_or(Ok(()), |area| named("area", area))?;
                let count = counted(count, HOLD_UNITS)?;
                OwnWanted::Quantity { count, area: self.area.map(Into::into) }
            }
            (None, None, Some(count)) if self.area.is_none() => {
                self.grade.as_deref().map_or(Ok(()), |grade| named("grade", grade))?;
                OwnWanted::Best {
                    count: counted(count, BEST_SEATS)?,
                    grade: self.grade.map(Into::into),
                    price: price(self.price_minor, self.currency.as_deref())?,
                    adjacent: self.adjacent.unwrap_or(true),
                    accessible: self.accessible.unwrap_or(false),
                }
            }
            (..) => {
                let detail = "a pick has units, or a quantity with or without an area, or best";
                return Err(Problem::invalid(detail));
            }
        };
        if let Some(pool) = &self.pool {
            request::pool(campaign, pool)?;
        }
        self.channel.as_deref().map_or(Ok(()), |channel| named("channel", channel))?;
        Ok(OwnPick {
            pool: self.pool.map(Into::into),
            wanted,
            channel: self.channel.map(Into::into),
        })
    }
}

/// Accepts the picks of one command: 1 to 64 of them.
pub(crate) fn own(picks: Vec<PickRequest>, campaign: &str) -> Result<Vec<OwnPick>, Problem> {
    if picks.is_empty() || picks.len() > PICKS {
        return Err(Problem::invalid(format!("there are {} picks: 1 to {PICKS}", picks.len())));
    }
    picks.into_iter().map(|pick| pick.own(campaign)).collect()
}

/// Accepts what is named of a hold: it has no best.
pub(crate) fn own_named(picks: Vec<PickRequest>, campaign: &str) -> Result<Vec<OwnPick>, Problem> {
    let picks = own(picks, campaign)?;
    if picks.iter().any(|pick| matches!(pick.wanted, OwnWanted::Best { .. })) {
        return Err(Problem::invalid(
            "name the units: the best is only for what is yet to be held",
        ));
    }
    Ok(picks)
}

/// Reads a price: both of its parts, or neither.
pub(crate) fn price(minor: Option<i64>, currency: Option<&str>) -> Result<Option<Price>, Problem> {
    let (minor, currency) = match (minor, currency) {
        (None, None) => return Ok(None),
        (Some(minor), Some(currency)) => (minor, currency),
        (Some(_), None) | (None, Some(_)) => {
            return Err(Problem::invalid("a price has price_minor and currency"));
        }
    };
    match <[u8; 3]>::try_from(currency.as_bytes()) {
        Ok(letters) if letters.iter().all(u8::is_ascii_uppercase) => {
            Ok(Some(Price { minor, currency: letters }))
        }
        Ok(_) | Err(_) => {
            Err(Problem::invalid(format!("currency {currency:?}: it is three capital letters")))
        }
    }
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
