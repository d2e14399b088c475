//! Which units a request is about, and steps on a hold.

use std::time::Duration;

use firstcome_api::hold::{
    ChangeRequest, ConfirmRequest, ExtendRequest, Held, LateRequest, PickRequest,
};
use serde::Serialize;

use crate::routes::Ask;

/// Which units of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picks {
    /// The pool; may be left out where the campaign has one.
    pub pool: Option<String>,
    /// Seats, groups and areas by their names.
    pub units: Vec<String>,
    /// So many places of an area, or units of a counted pool.
    pub quantity: Option<u32>,
    /// The area that `quantity` is of.
    pub area: Option<String>,
    /// So many of the best seats.
    pub best: Option<u32>,
    /// The best of this grade only.
    pub grade: Option<String>,
    /// The best at this price only: minor units and currency.
    pub price: Option<(i64, String)>,
    /// The best wherever they are, not next to each other.
    pub apart: bool,
    /// The best of those marked as accessible.
    pub accessible: bool,
    /// For whom the seller acts.
    pub channel: Option<String>,
}

impl Picks {
    /// Picks seats by name.
    pub fn named(pool: Option<&str>, units: Vec<String>) -> Self {
        Self { pool: pool.map(str::to_owned), units, ..Self::default() }
    }

    /// Picks seats by name in a campaign of one pool.
    pub fn seats(units: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::named(None, units.into_iter().map(Into::into).collect())
    }

    /// Picks so many units of a counted pool: 1 to 500.
    pub fn quantity(pool: Option<&str>, quantity: u32) -> Self {
        Self { pool: pool.map(str::to_owned), quantity: Some(quantity), ..Self::default() }
    }

    /// Picks so many places of an area of a seated pool: 1 to 500.
    pub fn places(pool: Option<&str>, area: impl Into<String>, quantity: u32) -> Self {
        Self { area: Some(area.into()), ..Self::quantity(pool, quantity) }
    }

    /// Picks the best seats next to each other: 1 to 100.
    pub fn best(pool: Option<&str>, best: u32) -> Self {
        Self { pool: pool.map(str::to_owned), best: Some(best), ..Self::default() }
    }

    /// Whether nothing is picked.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.quantity.is_none() && self.best.is_none()
    }

    /// Returns the picks as a request has them.
    pub fn requests(&self) -> Vec<PickRequest> {
        let pick = PickRequest {
            pool: self.pool.clone(),
            channel: self.channel.clone(),
            ..PickRequest::default()
        };
        let mut picks = Vec::new();
        if !self.units.is_empty() {
            picks.push(PickRequest { units: Some(self.units.clone()), ..pick.clone() });
        }
        if self.quantity.is_some() {
            let (quantity, area) = (self.quantity, self.area.clone());
            picks.push(PickRequest { quantity, area, ..pick.clone() });
        }
        if self.best.is_some() {
            let (price_minor, currency) = self.price.clone().unzip();
            picks.push(PickRequest {
                best: self.best,
                grade: self.grade.clone(),
                price_minor,
                currency,
                adjacent: self.apart.then_some(false),
                accessible: self.accessible.then_some(true),
                ..pick
            });
        }
        picks
    }
}

/// A step on a hold.
#[derive(Debug, Clone)]
pub struct HoldStep {
    /// The campaign.
    pub campaign: String,
    /// The hold's id.
    pub hold: String,
    /// Whose hold it is.
    pub subject: String,
}

impl HoldStep {
    /// A step on this hold of this subject.
    pub fn new(
        campaign: impl Into<String>,
        hold: impl Into<String>,
        subject: impl Into<String>,
    ) -> Self {
        Self { campaign: campaign.into(), hold: hold.into(), subject: subject.into() }
    }

    /// A step on a hold that was taken.
    pub fn on(held: &Held<'_>) -> Self {
        Self::new(&*held.campaign, &*held.hold, &*held.subject)
    }

    fn ask(&self, verb: &str, picks: &Picks, body: &impl Serialize) -> Ask {
        // Steps that name their units, or all of them, are the same when they are sent again. A quantity is not, and a time
        // is from another moment.
        let counts = picks.quantity.is_some() || picks.best.is_some() || verb == "extend";
        let id = counts.then(|| format!("step-{:032x}", fastrand::u128(..)));
        let ask = Ask::hold_step(&self.campaign, &self.hold, verb, body, id.as_deref());
        ask.repeatable()
    }

    fn change(&self, verb: &str, picks: &Picks) -> Ask {
        let subject = Some(self.subject.clone());
        let body = ChangeRequest { subject, picks: picks.requests(), ..ChangeRequest::default() };
        self.ask(verb, picks, &body)
    }

    /// Adds units.
    pub fn add(&self, picks: &Picks) -> Ask {
        self.change("add", picks)
    }

    /// Gives some units back.
    pub fn drop(&self, picks: &Picks) -> Ask {
        self.change("drop", picks)
    }

    /// Gives units back; all of them, if nothing is picked.
    pub fn release(&self, picks: &Picks) -> Ask {
        self.change("release", picks)
    }

    /// Moves the deadline; by the campaign's time for a hold, if no time is given.
    pub fn extend(&self, by: Option<Duration>) -> Ask {
        let ttl_ms = by.map(|by| i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
        let body = ExtendRequest { subject: Some(self.subject.clone()), ttl_ms };
        self.ask("extend", &Picks::default(), &body)
    }

    /// Makes units the subject's for good; all of them, if nothing is picked.
    ///
    /// With `retake`, units of a hold that has expired are taken again if all of them are free; otherwise it is `refund_due`.
    pub fn confirm(&self, picks: &Picks, retake: bool) -> Ask {
        let body = ConfirmRequest {
            subject: self.subject.clone(),
            picks: picks.requests(),
            late: if retake { LateRequest::Retake } else { LateRequest::Refuse },
            ..ConfirmRequest::default()
        };
        self.ask("confirm", picks, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn picks_are_written_as_requests_have_them() {
        let mut picks = Picks::best(Some("main"), 2);
        picks.price = Some((9_000, "EUR".to_owned()));
        picks.units = vec!["A1".to_owned()];
        let written = json!([
            {"pool": "main", "units": ["A1"]},
            {"pool": "main", "best": 2, "price_minor": 9000, "currency": "EUR"},
        ]);
        assert_eq!(serde_json::to_value(picks.requests()).unwrap(), written);
        assert!(Picks::default().is_empty());
    }
}
