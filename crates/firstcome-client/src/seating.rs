//! Which units a request is about, and steps on a hold, as the command line and a rush have them.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, HeldUnit};

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
    pub fn json(&self) -> Value {
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
        picks.into()
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
    fn ask(&self, verb: &str, picks: &Picks, more: Value) -> Ask {
        let mut body = more;
        body["subject"] = self.subject.as_str().into();
        if !picks.is_empty() {
            body["picks"] = picks.json();
        }
        // Steps that name their units, or all of them, are the same when they are sent again; a quantity is not.
        let again = picks.quantity.is_some() || picks.best.is_some();
        let id = again.then(|| format!("step-{:032x}", fastrand::u128(..)));
        Ask::hold_step(&self.campaign, &self.hold, verb, body, id.as_deref())
    }

    /// Adds units.
    pub fn add(&self, picks: &Picks) -> Ask {
        self.ask("add", picks, json!({}))
    }

    /// Gives some units back.
    pub fn drop(&self, picks: &Picks) -> Ask {
        self.ask("drop", picks, json!({}))
    }

    /// Gives units back; all of them, if nothing is picked.
    pub fn release(&self, picks: &Picks) -> Ask {
        self.ask("release", picks, json!({}))
    }

    /// Moves the deadline; by the campaign's time for a hold, if no time is given.
    pub fn extend(&self, by: Option<Duration>) -> Ask {
        let ms = by.map(|by| u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        self.ask("extend", &Picks::default(), ms.map_or(json!({}), |ms| json!({"ttl_ms": ms})))
    }

    /// Makes units the subject's for good; all of them, if nothing is picked.
    pub fn confirm(&self, picks: &Picks, retake: bool) -> Ask {
        self.ask("confirm", picks, if retake { json!({"late": "retake"}) } else { json!({}) })
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
    pub units: Vec<HeldUnit>,
    /// When they are free again.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// Whether they were taken again after the hold had expired.
    #[serde(default)]
    pub retaken: bool,
    /// How many units the hold has set aside still.
    #[serde(default)]
    pub left: Option<u64>,
}

/// The map of a seated pool: its rows and areas, and how they stand.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SeatMap {
    /// A letter for each seat, in the order of adding: `.` free, `-` not for sale, `h` held, `c` confirmed, `b` blocked.
    pub standing: String,
    /// Left, held, confirmed and blocked of each area.
    #[serde(default)]
    pub area_standing: Vec<[u64; 4]>,
    /// Its rows.
    #[serde(default)]
    pub rows: Vec<MapRow>,
    /// Its areas.
    #[serde(default)]
    pub areas: Vec<MapArea>,
}

/// A row of a map.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MapRow {
    /// The section it is in.
    #[serde(default)]
    pub section: String,
    /// Its name.
    #[serde(default)]
    pub row: String,
    /// The number of its first seat, where all follow each other.
    #[serde(default)]
    pub first: Option<usize>,
    /// The numbers of its seats, where they do not.
    #[serde(default)]
    pub seats: Vec<usize>,
    /// What all its seats' names begin with.
    #[serde(default)]
    pub prefix: String,
    /// The rest of their names.
    #[serde(default)]
    pub names: Vec<String>,
}

/// An area of a map.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MapArea {
    /// Its name.
    pub name: String,
    /// Its places.
    #[serde(default)]
    pub capacity: u64,
}

impl MapRow {
    /// The names of its seats.
    pub fn seat_names(&self) -> Vec<String> {
        self.names.iter().map(|rest| format!("{}{rest}", self.prefix)).collect()
    }

    /// How its seats stand, a letter each; a seat the map says nothing of counts as not for sale.
    pub fn letters(&self, standing: &str) -> String {
        let numbers: Vec<usize> = match self.first {
            Some(first) => (first..first + self.names.len()).collect(),
            None => self.seats.clone(),
        };
        let letter =
            |number: &usize| standing.as_bytes().get(*number).map_or('-', |l| char::from(*l));
        numbers.iter().map(letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_gives_names_and_letters_of_its_rows() {
        let map: SeatMap = serde_json::from_value(json!({
            "standing": ".hcb-", "position": "0.1",
            "rows": [
                {"section": "L", "row": "1", "first": 1, "prefix": "L1-", "names": ["1", "2"]},
                {"section": "R", "row": "1", "seats": [0, 4, 9], "prefix": "", "names": ["A", "B", "C"]},
            ],
        }))
        .unwrap();
        let read: Vec<_> =
            map.rows.iter().map(|row| (row.seat_names(), row.letters(&map.standing))).collect();
        assert_eq!(read[0], (vec!["L1-1".to_owned(), "L1-2".to_owned()], "hc".to_owned()));
        assert_eq!(read[1].1, ".--");
    }

    #[test]
    fn picks_are_written_as_requests_have_them() {
        let mut picks = Picks::best(Some("main"), 2);
        picks.price = Some((9_000, "EUR".to_owned()));
        picks.units = vec!["A1".to_owned()];
        let written = json!([
            {"pool": "main", "units": ["A1"]},
            {"pool": "main", "best": 2, "price_minor": 9000, "currency": "EUR"},
        ]);
        assert_eq!(picks.json(), written);
        assert!(Picks::default().is_empty());
    }
}
