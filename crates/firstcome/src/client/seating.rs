//! Requests about holds and seats, one each, and their answers as the server writes them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Ask;
use super::address::encode_segment;
use super::routes::campaign_path;

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

    /// Picks the best seats next to each other.
    pub fn best(pool: Option<&str>, best: u32) -> Self {
        Self { pool: pool.map(str::to_owned), best: Some(best), ..Self::default() }
    }

    /// Whether nothing is picked.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.quantity.is_none() && self.best.is_none()
    }

    /// Each of what is picked as a request has it.
    fn json(&self) -> Vec<Value> {
        let pick = |more: Value| {
            let mut pick = more;
            if let Some(pool) = &self.pool {
                pick["pool"] = pool.as_str().into();
            }
            if let Some(channel) = &self.channel {
                pick["channel"] = channel.as_str().into();
            }
            pick
        };
        let mut picks = Vec::new();
        if !self.units.is_empty() {
            picks.push(pick(json!({"units": self.units})));
        }
        if let Some(quantity) = self.quantity {
            let mut places = json!({"quantity": quantity});
            if let Some(area) = &self.area {
                places["area"] = area.as_str().into();
            }
            picks.push(pick(places));
        }
        if let Some(best) = self.best {
            let mut seats = json!({"best": best});
            if let Some(grade) = &self.grade {
                seats["grade"] = grade.as_str().into();
            }
            if let Some((minor, currency)) = &self.price {
                seats["price_minor"] = (*minor).into();
                seats["currency"] = currency.as_str().into();
            }
            if self.apart {
                seats["adjacent"] = false.into();
            }
            if self.accessible {
                seats["accessible"] = true.into();
            }
            picks.push(pick(seats));
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
    fn ask(&self, verb: &str, more: Value) -> Ask {
        let path = campaign_path(&self.campaign);
        let mut ask =
            Ask::change("POST", format!("{path}/holds/{}/{verb}", encode_segment(&self.hold)));
        let mut body = more;
        body["subject"] = self.subject.as_str().into();
        ask.body = Some(body);
        ask
    }
}

fn some(picks: &Picks) -> Value {
    if picks.is_empty() { json!({}) } else { json!({"picks": picks.json()}) }
}

impl Ask {
    /// Sets units aside for a subject. The id makes the hold the same when it is asked for again.
    pub fn hold(
        campaign: &str,
        subject: &str,
        picks: &Picks,
        id: &str,
        wait: std::time::Duration,
    ) -> Self {
        let mut ask = Self::change("POST", format!("{}/holds", campaign_path(campaign)));
        let mut body = json!({"id": id, "subject": subject, "picks": picks.json()});
        if !wait.is_zero() {
            body["wait_ms"] = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).into();
        }
        ask.body = Some(body);
        ask
    }

    /// Reads a hold as it stands.
    pub fn hold_shown(campaign: &str, hold: &str, subject: Option<&str>) -> Self {
        let path = campaign_path(campaign);
        let mut path = format!("{path}/holds/{}", encode_segment(hold));
        if let Some(subject) = subject {
            path.push_str(&format!("?subject={}", encode_segment(subject)));
        }
        Self::get(path)
    }

    /// Adds units to a hold.
    pub fn hold_add(step: &HoldStep, picks: &Picks) -> Self {
        step.ask("add", some(picks))
    }

    /// Gives some units of a hold back.
    pub fn hold_drop(step: &HoldStep, picks: &Picks) -> Self {
        step.ask("drop", some(picks))
    }

    /// Gives units of a hold back; all of them, if nothing is picked.
    pub fn hold_release(step: &HoldStep, picks: &Picks) -> Self {
        step.ask("release", some(picks))
    }

    /// Moves a hold's deadline; by the campaign's time for a hold, if no time is given.
    pub fn hold_extend(step: &HoldStep, by: Option<std::time::Duration>) -> Self {
        let ms = by.map(|by| u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        step.ask("extend", ms.map_or(json!({}), |ms| json!({"ttl_ms": ms})))
    }

    /// Makes units of a hold the subject's for good; all of them, if nothing is picked.
    pub fn hold_confirm(step: &HoldStep, picks: &Picks, retake: bool) -> Self {
        let mut body = some(picks);
        if retake {
            body["late"] = "retake".into();
        }
        step.ask("confirm", body)
    }

    /// Adds seats and areas to a pool: at most 4,000, all of them or none.
    pub fn import_seats(campaign: &str, pool: &str, seats: Vec<Value>) -> Self {
        let mut ask = Self::change("POST", pool_path(campaign, pool, "seats"));
        ask.body = Some(seats.into());
        ask
    }

    /// Reads the map of a pool.
    pub fn seat_map(campaign: &str, pool: &str) -> Self {
        Self::get(pool_path(campaign, pool, "seats"))
    }

    /// Takes units out of sale, or puts them back.
    pub fn block(
        campaign: &str,
        pool: &str,
        units: &[String],
        blocked: bool,
        reason: &str,
        id: &str,
    ) -> Self {
        let verb = if blocked { "block" } else { "unblock" };
        let mut ask = Self::change("POST", pool_path(campaign, pool, verb));
        ask.body = Some(json!({"units": units, "reason": reason}));
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Exchanges a seat that is held or confirmed for a free one.
    pub fn move_seat(
        campaign: &str,
        pool: &str,
        (from, to): (&str, &str),
        reason: &str,
        id: &str,
    ) -> Self {
        let mut ask = Self::change("POST", pool_path(campaign, pool, "move"));
        ask.body = Some(json!({"from": from, "to": to, "reason": reason}));
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }
}

fn pool_path(campaign: &str, pool: &str, verb: &str) -> String {
    format!("{}/pools/{}/{verb}", campaign_path(campaign), encode_segment(pool))
}

/// A unit of a hold; units that are not told apart come together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HoldUnit {
    /// The pool.
    pub pool: String,
    /// The seat.
    #[serde(default)]
    pub unit: Option<String>,
    /// The area.
    #[serde(default)]
    pub area: Option<String>,
    /// How many, where they are not told apart.
    #[serde(default)]
    pub quantity: Option<u32>,
    /// What became of it.
    #[serde(default)]
    pub state: Option<String>,
    /// Its rank, once it is confirmed.
    #[serde(default)]
    pub rank: Option<u64>,
    /// Its grade.
    #[serde(default)]
    pub grade: Option<String>,
    /// The price of one, in the smallest unit of its currency.
    #[serde(default)]
    pub price_minor: Option<i64>,
    /// The currency.
    #[serde(default)]
    pub currency: Option<String>,
}

impl HoldUnit {
    /// Its name, with how many where they are not told apart.
    pub fn words(&self) -> String {
        let name = self.unit.as_deref().or(self.area.as_deref()).unwrap_or(&self.pool);
        match self.quantity {
            Some(count) => format!("{count} of {name}"),
            None => name.to_owned(),
        }
    }
}

/// The answer to a hold, or to a step on one.
#[derive(Debug, Clone, Deserialize)]
pub struct HoldAnswer {
    /// `held`, `already_held`, `extended`, `confirmed` or `released`.
    pub outcome: String,
    /// The hold's id.
    pub hold: String,
    /// Whose hold it is.
    pub subject: String,
    /// The units it is about.
    #[serde(default)]
    pub units: Vec<HoldUnit>,
    /// When they are free again.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// Whether they were taken again after the hold had expired.
    #[serde(default)]
    pub retaken: bool,
    /// How many units the hold has set aside still.
    #[serde(default)]
    pub left: Option<u64>,
    /// The position this is as of.
    #[serde(default)]
    pub position: Option<String>,
}

/// A hold as it stands.
#[derive(Debug, Clone, Deserialize)]
pub struct HoldShown {
    /// Its id.
    pub hold: String,
    /// Whose it is.
    pub subject: String,
    /// `live`, `confirmed`, `expired`, `released` or `refund_due`.
    pub state: String,
    /// When its units are free again, if it is live.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// Its units, whatever became of them.
    pub units: Vec<HoldUnit>,
}

/// What one request of an import added.
#[derive(Debug, Clone, Deserialize)]
pub struct Imported {
    /// Seats that were not there before.
    pub seats: u64,
    /// Areas that were not there before.
    #[serde(default)]
    pub areas: u64,
    /// Units of the pool now.
    #[serde(default)]
    pub capacity: u64,
}

/// What a block changed.
#[derive(Debug, Clone, Deserialize)]
pub struct BlockDone {
    /// `blocked` or `unblocked`.
    pub outcome: String,
    /// How many units stand otherwise now.
    pub units: u64,
}

/// A seat that was exchanged.
#[derive(Debug, Clone, Deserialize)]
pub struct SeatMoved {
    /// The seat that is free now.
    pub from: String,
    /// The seat in its place.
    pub to: String,
    /// The rank of its claim; none if it is held.
    #[serde(default)]
    pub rank: Option<u64>,
}
