//! What requests ask for, and answers as they are sent.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AREA, Hold, Part, State};

/// Returns the units that a request names, and places of the area.
pub(super) fn named(body: &Value) -> BTreeMap<String, u32> {
    let mut wish = BTreeMap::new();
    for pick in body["picks"].as_array().map_or(&[][..], Vec::as_slice) {
        for unit in pick["units"].as_array().into_iter().flatten() {
            wish.insert(unit.as_str().unwrap().to_owned(), 1);
        }
        if let Some(quantity) = pick["quantity"].as_u64() {
            wish.insert(AREA.to_owned(), quantity as u32);
        }
    }
    wish
}

pub(super) fn time(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros).unwrap().to_string()
}

/// Returns so much of a part as answers show it, with more about it.
pub(super) fn with(part: &Part, count: u32, mut more: Value) -> Value {
    more["pool"] = "main".into();
    if part.unit == AREA {
        (more["area"], more["quantity"]) = (AREA.into(), count.into());
    } else {
        more["unit"] = part.unit.clone().into();
    }
    more
}

pub(super) fn held(outcome: &str, id: &str, hold: &Hold) -> Value {
    let units: Vec<Value> =
        hold.parts.iter().map(|part| with(part, part.count, json!({}))).collect();
    json!({"outcome": outcome, "hold": id, "subject": hold.subject, "units": units, "expires_at": time(hold.until)})
}

/// Returns a hold as it is looked at.
pub(super) fn shown(id: &str, hold: &Hold, now: i64) -> Value {
    let mut units = Vec::new();
    for part in &hold.parts {
        match &part.state {
            State::Confirmed(ranks) => {
                let more = |rank: &u64| with(part, 1, json!({"state": "confirmed", "rank": rank}));
                units.extend(ranks.iter().map(more));
            }
            state => {
                let state = match state {
                    State::Held if now < hold.until => "held",
                    State::Held => "expired",
                    State::Released => "released",
                    _ => "refund_due",
                };
                units.push(with(part, part.count, json!({"state": state})));
            }
        }
    }
    json!({"hold": id, "subject": hold.subject, "started_at": time(hold.began), "units": units})
}
