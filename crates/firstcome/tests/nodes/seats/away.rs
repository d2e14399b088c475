//! A store that is away for nine minutes, by its own clock: holds keep what was left of them.

use super::house::{CAMPAIGN, House, micros, position};
use crate::scene::{Scene, Setup};
use firstcome_api::hold::PickRequest;
use firstcome_client::Ask;
use firstcome_testbed::RedisSettings;
use serde_json::{Value, json};
use std::time::Instant;

const SECOND: i64 = 1_000_000;
/// How long a hold lasts.
const TTL: i64 = 480 * SECOND;
/// How long the store is away.
const AWAY: i64 = 540;
/// What service time counts of a step at most.
const STEP: i64 = 15 * SECOND;

async fn holds(scene: &Scene, node: usize, who: &str, seat: &str) -> Value {
    let picks = vec![PickRequest::names(None, vec![seat.to_owned()])];
    let ask = Ask::hold(CAMPAIGN, &format!("of-{who}"), who, picks, 0);
    scene.nodes[node].talk().tell(ask).await.unwrap()
}

/// Returns how a hold is shown by each server, at or past a position.
async fn shown(scene: &Scene, who: &str, min: u64) -> Vec<Value> {
    let mut all = Vec::new();
    for node in &scene.nodes {
        let mut ask = Ask::hold_of(CAMPAIGN, &format!("of-{who}"), None);
        ask.path.push_str(&format!("?min_position=0.{min}"));
        all.push(node.talk().tell(ask).await.unwrap());
    }
    all
}

/// What two holds came to while the store was away, as each server shows them.
struct After {
    scene: Scene,
    ann: Vec<Value>,
    cem: Vec<Value>,
    /// When they were to be over, as it was said before.
    before: i64,
    /// When it was looked, in journal time.
    now: i64,
}

/// Two people hold seats; the store stands still, and nine minutes later it goes on; a server dies meanwhile.
async fn away(settings: &[(&str, &str)]) -> Option<After> {
    let redis = RedisSettings { movable_clock: true, ..RedisSettings::default() };
    let mut scene = Scene::set(Setup { redis, settings, ..Setup::default() }).await?;
    House::open(&scene, 1, 4, TTL / 1_000).await;
    let ann = holds(&scene, 0, "ann", "1-1").await;
    let cem = holds(&scene, 1, "cem", "1-2").await;
    let before = micros(&cem["expires_at"]).unwrap();
    assert_eq!((&ann["outcome"], &cem["outcome"]), (&json!("held"), &json!("held")));
    scene.redis().pause();
    for node in &scene.nodes {
        node.not_ready().await;
    }
    scene.nodes[1].kill().await;
    scene.redis().set_clock(AWAY);
    scene.redis().resume();
    scene.nodes[1].start().await;
    scene.all_ready().await;
    // Whoever comes now says by their own end what the time is.
    let zoe = holds(&scene, 1, "zoe", "1-4").await;
    let now = micros(&zoe["expires_at"]).unwrap() - TTL;
    let min = position(&zoe);
    let (ann, cem) = (shown(&scene, "ann", min).await, shown(&scene, "cem", min).await);
    Some(After { scene, ann, cem, before, now })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nine_minutes_without_the_store_take_nothing_from_a_hold_of_eight() {
    let begun = Instant::now();
    let Some(After { mut scene, ann, cem, before, now }) = away(&[]).await else { return };
    let elapsed = begun.elapsed().as_micros() as i64;
    assert!(now > before, "the time it was to be over is over");
    for shown in ann.iter().chain(&cem) {
        assert_eq!((&shown["state"], &shown["held"]), (&json!("live"), &json!(1)), "{shown}");
        let left = micros(&shown["expires_at"]).unwrap() - now;
        assert!((TTL - STEP - elapsed..TTL).contains(&left), "{left} µs are left: {shown}");
    }
    assert!(cem.windows(2).all(|pair| pair[0]["expires_at"] == pair[1]["expires_at"]), "{cem:?}");
    let ask = Ask::hold_step(CAMPAIGN, "of-ann", "confirm", json!({"subject": "ann"}), None);
    let paid = scene.nodes[2].talk().tell(ask).await.unwrap();
    assert_eq!((&paid["outcome"], &paid["retaken"]), (&json!("confirmed"), &json!(false)));

    // Time goes on, in steps that count; the other hold is over when it says so now, not before.
    let over = micros(&cem[0]["expires_at"]).unwrap();
    let mut ahead = AWAY;
    let mut refused = 0;
    let dan = loop {
        let said = holds(&scene, refused % 3, "dan", "1-2").await;
        if said["outcome"] == "held" {
            break said;
        }
        assert_eq!(said["outcome"], "unit_taken", "{said}");
        refused += 1;
        assert!(refused < 1_000, "it is never over");
        // An entry of its own for each step.
        ahead += 12;
        scene.redis().set_clock(ahead);
        let eve = holds(&scene, refused % 3, &format!("eve-{refused}"), "floor").await;
        assert_eq!(eve["outcome"], "held", "{eve}");
    };
    let from = micros(&dan["expires_at"]).unwrap() - TTL;
    assert!(
        (over..over + STEP).contains(&from),
        "free at {from}, {} µs after its end",
        from - over
    );
    let last = shown(&scene, "cem", position(&dan)).await;
    assert!(last.iter().all(|shown| shown["state"] == "expired"), "{last:?}");
    scene.says_the_same(CAMPAIGN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_bound_on_what_counts_nine_minutes_end_everybodys_hold() {
    let Some(after) = away(&[("INJECT", "service_time_unbounded")]).await else { return };
    let over = after.ann.iter().chain(&after.cem).all(|shown| shown["state"] == "expired");
    assert!(over, "the story is blind: {:?}", after.ann);
    drop(after.scene);
}
