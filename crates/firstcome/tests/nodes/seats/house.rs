//! The hall of the stories: rows of seats, some of them behind pillars, and a floor to stand on.

use crate::scene::Scene;
use firstcome_client::Ask;
use firstcome_rush::seats::HallPlan;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const CAMPAIGN: &str = "hall";
pub(crate) const POOL: &str = "main";
/// The name of the area.
const FLOOR: &str = "floor";

/// Places in the area.
const PLACES: u32 = 150;

/// What there is, and how long a hold lasts.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) hall: HallPlan,
    pub(crate) hold: Duration,
}

impl House {
    /// Opens it, and waits until every server knows of it.
    pub(crate) async fn open(scene: &Scene, rows: usize, width: usize, ttl_ms: i64) -> Self {
        let name = |row: usize| (1..=width).map(move |seat| format!("{row}-{seat}")).collect();
        let rows: Vec<Vec<String>> = (1..=rows).map(name).collect();
        let blocked: Vec<String> =
            rows.iter().skip(1).step_by(4).map(|row| row[width / 2].clone()).collect();
        let settings = json!({"opens_at": "now", "hold_ttl_ms": ttl_ms, "hold_max_ms": ttl_ms * 3,
            "allow_orphans": true, "pools": [{"name": POOL, "kind": "seated"}]});
        let mut talk = scene.nodes[0].talk();
        let said = talk.put(CAMPAIGN, settings).await;
        assert_eq!(said["outcome"], "created", "{said}");
        let mut seats = vec![json!({"name": FLOOR, "capacity": PLACES})];
        for (number, row) in rows.iter().enumerate() {
            let row_name = format!("{}", number + 1);
            seats.extend(row.iter().enumerate().map(|(seat, name)| {
                json!({"name": name, "row": row_name, "number": format!("{}", seat + 1)})
            }));
        }
        let said = talk.tell(Ask::import_seats(CAMPAIGN, POOL, Value::Array(seats))).await.unwrap();
        assert_eq!(said["seats"], rows.len() * width, "{said}");
        if !blocked.is_empty() {
            let why = json!({"units": blocked, "reason": "a pillar"});
            let ask = Ask::operate_seats(CAMPAIGN, POOL, "block", why, "pillars");
            let said = talk.tell(ask).await.unwrap();
            assert_eq!(said["units"], blocked.len(), "{said}");
        }
        counts(scene).await;
        let hold = Duration::from_millis(ttl_ms.unsigned_abs());
        let hall = HallPlan { rows, blocked, area: (FLOOR.to_owned(), PLACES), longest: hold * 3 };
        Self { hall, hold }
    }
}

/// Returns the pool as each server that runs counts it, at or past what the first one knows.
pub(crate) async fn counts(scene: &Scene) -> Vec<Value> {
    let said = scene.nodes[0].talk().get("/v1/time").await;
    let path =
        format!("/v1/campaigns/{CAMPAIGN}?min_position={}", said["position"].as_str().unwrap());
    let mut counts = Vec::new();
    for node in scene.nodes.iter().filter(|node| node.runs()) {
        counts.push(node.talk().get(&path).await["pools"][0].clone());
    }
    counts
}

/// Returns the position of an answer.
pub(crate) fn position(said: &Value) -> u64 {
    let text = said["position"].as_str().unwrap_or_else(|| panic!("no position: {said}"));
    text.split_once('.').unwrap().1.parse().unwrap()
}

/// Returns a moment in microseconds.
pub(crate) fn micros(said: &Value) -> Option<i64> {
    Some(said.as_str()?.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}
