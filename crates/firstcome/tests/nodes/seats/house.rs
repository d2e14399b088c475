//! The hall of the stories: rows of seats, some of them behind pillars, and a floor to stand on.

use super::heard::Count;
use crate::scene::Scene;
use firstcome_client::Ask;
use serde_json::{Value, json};

pub(crate) const CAMPAIGN: &str = "hall";
const POOL: &str = "main";
/// The area.
pub(crate) const FLOOR: &str = "floor";

/// What there is, and the rules of holding it.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) rows: Vec<Vec<String>>,
    /// Seats nobody may have.
    pub(crate) pillars: Vec<String>,
    /// Places on the floor.
    pub(crate) floor: u32,
    /// How long a hold lasts, in microseconds.
    pub(crate) ttl: i64,
    /// How long it can be extended to, in microseconds.
    pub(crate) most: i64,
}

impl House {
    /// Opens it, and waits until every server knows of it.
    pub(crate) async fn open(scene: &Scene, rows: usize, width: usize, ttl_ms: i64) -> Self {
        let name = |row: usize| (1..=width).map(move |seat| format!("{row}-{seat}")).collect();
        let rows: Vec<Vec<String>> = (1..=rows).map(name).collect();
        let house = Self {
            pillars: rows.iter().skip(1).step_by(4).map(|row| row[width / 2].clone()).collect(),
            floor: 150,
            ttl: ttl_ms * 1_000,
            most: ttl_ms * 3_000,
            rows,
        };
        let settings = json!({"opens_at": "now", "hold_ttl_ms": ttl_ms, "hold_max_ms": ttl_ms * 3,
            "allow_orphans": true, "pools": [{"name": POOL, "kind": "seated"}]});
        let mut talk = scene.nodes[0].talk();
        let said = talk.put(CAMPAIGN, settings).await;
        assert_eq!(said["outcome"], "created", "{said}");
        let mut seats = vec![json!({"name": FLOOR, "capacity": house.floor})];
        for (number, row) in house.rows.iter().enumerate() {
            let row_name = format!("{}", number + 1);
            seats.extend(row.iter().enumerate().map(|(seat, name)| {
                json!({"name": name, "row": row_name, "number": format!("{}", seat + 1)})
            }));
        }
        let said = talk.tell(Ask::import_seats(CAMPAIGN, POOL, Value::Array(seats))).await.unwrap();
        assert_eq!(said["seats"], house.seats().count(), "{said}");
        if !house.pillars.is_empty() {
            let why = json!({"units": house.pillars, "reason": "a pillar"});
            let ask = Ask::operate_seats(CAMPAIGN, POOL, "block", why, "pillars");
            let said = talk.tell(ask).await.unwrap();
            assert_eq!(said["units"], house.pillars.len(), "{said}");
        }
        counts(scene).await;
        house
    }

    /// Returns all seats, as the map has them.
    pub(crate) fn seats(&self) -> impl Iterator<Item = &String> {
        self.rows.iter().flatten()
    }

    /// Returns how many units there are.
    pub(crate) fn capacity(&self) -> u64 {
        self.seats().count() as u64 + u64::from(self.floor)
    }
}

/// Asks how the seats stand.
pub(crate) fn glance() -> Ask {
    Ask::seats(CAMPAIGN, POOL, true)
}

/// Reads how a server counts the pool.
pub(crate) fn count(said: &Value) -> Count {
    let pool = &said["pools"][0];
    let of = |name: &str| pool[name].as_u64().unwrap_or_else(|| panic!("no {name}: {said}"));
    Count {
        capacity: of("capacity"),
        left: of("left"),
        taken: of("taken"),
        held: of("held"),
        blocked: of("blocked"),
    }
}

/// Returns how each server that runs counts the pool, at or past what the first one knows.
pub(crate) async fn counts(scene: &Scene) -> Vec<Count> {
    let said = scene.nodes[0].talk().get("/v1/time").await;
    let path =
        format!("/v1/campaigns/{CAMPAIGN}?min_position={}", said["position"].as_str().unwrap());
    let mut counts = Vec::new();
    for node in scene.nodes.iter().filter(|node| node.runs()) {
        counts.push(count(&node.talk().get(&path).await));
    }
    counts
}
