//! What a server may answer from its own state: each row of the table, on a server that hears nothing.
//!
//! Its link to the store is held back, so whatever it answers it answers by itself, as long as its
//! state is fresh. What it must not answer by itself gets no answer at all.

use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use firstcome_client::Ask;
use firstcome_testbed::ProxyFault;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is expected of a server that hears nothing.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// It answers by itself.
    Answers(&'static str),
    /// It does not.
    Silent,
}

async fn scene() -> Option<Scene> {
    let settings = [("COMMAND_WAIT_MS", "2000")];
    Scene::set(Setup { settings: &settings, ..Setup::default() }).await
}

/// Brings a server to all that another one knows.
async fn catch_up(scene: &Scene) {
    let said = scene.nodes[0].talk().get("/v1/time").await;
    let min = said["position"].as_str().unwrap();
    scene.nodes[2].talk().get(&format!("/v1/time?min_position={min}")).await;
}

/// Holds the third server back, runs `meanwhile` on the first, and asks the third for each row at once. What `before` asks for
/// is so when that begins, also when it begins again.
async fn hold_back(scene: &Scene, rows: &[(&str, &str, Row)], before: &[Ask], meanwhile: &[Ask]) {
    let held = &scene.nodes[2];
    for attempt in 0.. {
        for ask in before {
            scene.nodes[0].talk().tell(ask.clone()).await.unwrap();
        }
        catch_up(scene).await;
        held.ready().await;
        held.store.set(ProxyFault::StallReplies);
        let asked = Instant::now();
        let asks = rows.iter().map(|(campaign, who, _)| async move {
            held.talk().try_claim(campaign, who).await.unwrap()
        });
        // The first ask finds the state as fresh as it will be.
        for ask in meanwhile {
            scene.nodes[0].talk().tell(ask.clone()).await.unwrap();
        }
        let said = futures_util::future::join_all(asks).await;
        held.store.set(ProxyFault::None);
        // A machine that was busy elsewhere lets the state grow old meanwhile: that is another story.
        let slow = asked.elapsed() > Duration::from_millis(3_500);
        let wrong: Vec<_> =
            rows.iter().zip(&said).filter(|(row, said)| !fits(row.2, said)).collect();
        if wrong.is_empty() {
            return;
        }
        let only_silent = wrong.iter().all(|(_, said)| said["decided"] != "replica");
        assert!(only_silent && attempt < 5, "{wrong:#?} slow: {slow}");
        sleep(Duration::from_millis(300)).await;
    }
}

fn fits(row: Row, said: &Value) -> bool {
    match row {
        Row::Answers(outcome) => said["outcome"] == outcome && said["decided"] == "replica",
        Row::Silent => {
            let outcome = said["outcome"].as_str().unwrap_or_default();
            ["unknown", "unavailable"].contains(&outcome) && said["decided"].is_null()
        }
    }
}

async fn put(scene: &Scene, campaign: &str, settings: Value) {
    let said = scene.nodes[0].talk().put(campaign, settings).await;
    assert_eq!(said["outcome"], "created", "{said}");
}

fn pool(capacity: u32) -> Value {
    json!([{"name": "main", "capacity": capacity}])
}

async fn cancel(node: &Server, campaign: &str, who: &str, rank: u64) {
    let path = format!("/v1/campaigns/{campaign}/claims/{who}?rank={rank}&by=subject");
    let said = node.talk().tell(Ask::change("DELETE", path)).await.unwrap();
    assert_eq!(said["outcome"], "cancelled", "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn already_won_sold_out_closed_and_paused_are_answered_as_of_the_position() {
    let Some(scene) = scene().await else { return };
    let first = || scene.nodes[0].talk();
    put(&scene, "full", json!({"opens_at": "now", "pools": pool(1)})).await;
    put(&scene, "over", json!({"opens_at": "now", "pools": pool(9)})).await;
    put(&scene, "held", json!({"opens_at": "now", "pools": pool(9)})).await;
    assert_eq!(first().wins("full", "ann").await, 1);
    first().post("/v1/campaigns/over/close", None).await;
    first().post("/v1/campaigns/held/pause", None).await;
    let rows = [
        ("full", "ann", Row::Answers("already_won")),
        ("full", "bob", Row::Answers("sold_out")),
        ("over", "bob", Row::Answers("closed")),
        ("held", "bob", Row::Answers("paused")),
    ];
    // That it goes on elsewhere meanwhile changes nothing: the answer is as of a position.
    let pause = Ask::change("POST", "/v1/campaigns/held/pause");
    let resume = Ask::change("POST", "/v1/campaigns/held/resume");
    hold_back(&scene, &rows, &[], &[]).await;
    hold_back(&scene, &rows, &[pause], &[resume]).await;
    catch_up(&scene).await;
    assert_eq!(scene.nodes[2].talk().wins("held", "bob").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_else_about_a_subject_is_answered_by_a_server_alone() {
    let Some(scene) = scene().await else { return };
    put(&scene, "spring", json!({"opens_at": "now", "pools": pool(9)})).await;
    put(&scene, "again", json!({"opens_at": "now", "claim_again": true, "pools": pool(9)})).await;
    assert_eq!(scene.nodes[0].talk().wins("spring", "ann").await, 1);
    cancel(&scene.nodes[0], "spring", "ann", 1).await;
    assert_eq!(scene.nodes[0].talk().wins("again", "ann").await, 1);
    let rows = [
        // A yes is never given away from memory.
        ("spring", "new", Row::Silent),
        // Its own cancelled claim.
        ("spring", "ann", Row::Silent),
        // Where one may cancel and claim again, the same yes holds as of the head only.
        ("again", "ann", Row::Silent),
        // Somebody may have created it a moment ago.
        ("unheard-of", "ann", Row::Silent),
    ];
    hold_back(&scene, &rows, &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_open_is_answered_until_the_stores_clock_may_be_there() {
    let Some(scene) = scene().await else { return };
    let later = now_of(&scene.nodes[0]).await + jiff::SignedDuration::from_secs(600);
    put(&scene, "later", json!({"opens_at": later.to_string(), "pools": pool(9)})).await;
    put(&scene, "draft", json!({"pools": pool(9)})).await;
    let rows =
        [("later", "ann", Row::Answers("not_open")), ("draft", "ann", Row::Answers("not_open"))];
    hold_back(&scene, &rows, &[], &[]).await;

    let soon = now_of(&scene.nodes[0]).await + jiff::SignedDuration::from_secs(5);
    put(&scene, "soon", json!({"opens_at": soon.to_string(), "pools": pool(9)})).await;
    catch_up(&scene).await;
    assert_eq!(scene.nodes[2].talk().claim("soon", "ann").await["outcome"], "not_open");
    // Held back a moment before it opens: when it may have, the server says nothing by itself. What
    // it takes the store's clock for may be ahead by the time that one question for news takes.
    let held = &scene.nodes[2];
    while now_of(held).await + jiff::SignedDuration::from_millis(250) < soon {
        sleep(Duration::from_millis(10)).await;
    }
    held.store.set(ProxyFault::StallReplies);
    sleep(Duration::from_millis(650)).await;
    let said = held.talk().claim("soon", "ann").await;
    assert!(fits(Row::Silent, &said), "{said}");
    held.store.set(ProxyFault::None);
    assert_eq!(held.talk().wins("soon", "ann").await, 1);
}

async fn now_of(node: &Server) -> jiff::Timestamp {
    let said = node.talk().get("/v1/time").await;
    said["now"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_found_is_answered_after_one_shared_look_at_the_store() {
    let Some(scene) = scene().await else { return };
    for number in 0..10 {
        // Created on one server, claimed at once on another.
        let campaign = format!("fresh-{number}");
        scene.nodes[0].talk().open(&campaign, 5).await;
        assert_eq!(scene.nodes[1 + number % 2].talk().claim(&campaign, "ann").await["rank"], 1);
    }
    catch_up(&scene).await;
    let node = &scene.nodes[2];
    for attempt in 0.. {
        let before = scene.redis().calls_of("xrange");
        let asks = (0..40).map(|_| async { node.talk().claim("unheard-of", "ann").await });
        let said = futures_util::future::join_all(asks).await;
        let looks = scene.redis().calls_of("xrange") - before;
        let told = (json!("not_found"), json!("replica"));
        let is_told = |said: &Value| (&said["outcome"], &said["decided"]) == (&told.0, &told.1);
        if said.iter().all(is_told) && looks <= 20 {
            break;
        }
        // On a busy machine they may come one after the other, or the look may be late.
        assert!(attempt < 5, "40 who waited for the same cost {looks} looks: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_brought_along_is_seen_on_every_server_and_an_old_state_is_not_answered_from() {
    let Some(scene) = scene().await else { return };
    put(&scene, "spring", json!({"opens_at": "now", "pools": pool(1_000)})).await;
    for number in 0..60 {
        let who = format!("s{number}");
        let won = scene.nodes[number % 3].talk().claim("spring", &who).await;
        let min = won["position"].as_str().unwrap();
        let path = format!("/v1/campaigns/spring/claims/{who}?min_position={min}");
        let seen = scene.nodes[(number + 1) % 3].talk().get(&path).await;
        assert_eq!(seen["claims"][0]["rank"], won["rank"], "{seen}");
        let again = scene.nodes[(number + 2) % 3].talk().claim_past("spring", &who, min).await;
        assert_eq!(again["outcome"], "already_won", "{again}");
    }
    let held = &scene.nodes[2];
    held.store.set(ProxyFault::StallReplies);
    sleep(Duration::from_millis(1_700)).await;
    let said = held.talk().claim("spring", "s0").await;
    assert!(fits(Row::Silent, &said), "more than a second old: {said}");
    let read = held.talk().get("/v1/campaigns/spring/claims/s0").await;
    assert_eq!((&read["stale"], &read["claims"][0]["rank"]), (&true.into(), &1.into()));
    held.store.set(ProxyFault::None);
    held.ready().await;
    let end = Instant::now() + PATIENCE;
    while held.talk().claim("spring", "s0").await["decided"] != "replica" {
        assert!(Instant::now() < end, "nothing is answered by itself any more");
    }
}
