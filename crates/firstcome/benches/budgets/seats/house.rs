//! A house of rows of fifty, as it is put into a server.

use crate::server::tell;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// Seats of a pool.
const POOL: usize = 100_000;
/// Seats of a row.
const ROW: usize = 50;
/// Seats of a request that imports them.
const CHUNK: usize = 4_000;

/// So many seats in pools of a hundred thousand.
pub(super) struct House {
    pub(super) campaign: &'static str,
    seats: usize,
}

impl House {
    pub(super) fn new(campaign: &'static str, seats: usize) -> Self {
        Self { campaign, seats }
    }

    /// Returns the pool and the name of a seat. Its number in its pool is the number modulo a hundred thousand.
    pub(super) fn seat(&self, number: usize) -> (String, String) {
        let (pool, at) = (number / POOL, number % POOL);
        (format!("p{pool}"), format!("R{:04}-{}", at / ROW, at % ROW + 1))
    }

    /// Creates the campaign and brings its seats.
    pub(super) fn build(&self, address: &str) -> Result<()> {
        let pools: Vec<Value> = (0..self.seats.div_ceil(POOL))
            .map(|pool| json!({"name": format!("p{pool}"), "kind": "seated"}))
            .collect();
        let settings = json!({"opens_at": "now", "allow_orphans": false, "pools": pools});
        let settings = settings.to_string();
        let path = format!("/v1/campaigns/{}", self.campaign);
        let answer = tell(address, "PUT", &path, &settings)?;
        ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        for first in (0..self.seats).step_by(CHUNK) {
            let (pool, _) = self.seat(first);
            let seats: Vec<Value> =
                (first..(first + CHUNK).min(self.seats)).map(|seat| self.row_of(seat)).collect();
            let path = format!("{path}/pools/{pool}/seats");
            let answer = tell(address, "POST", &path, &Value::from(seats).to_string())?;
            ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        Ok(())
    }

    fn row_of(&self, seat: usize) -> Value {
        let (_, name) = self.seat(seat);
        let (row, place) = (seat % POOL / ROW, seat % ROW);
        json!({
            "name": name, "section": "A", "row": format!("R{row:04}"), "number": (place + 1).to_string(),
            "x": place * 20, "y": row * 20 % 60_000, "grade": "S", "price_minor": 9_000, "currency": "EUR",
        })
    }
}
