//! A store whose clock is set forward and back.

use crate::flood::Flood;
use crate::scene::{Scene, Setup};
use firstcome_testbed::RedisSettings;
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stores_clock_jumps_and_time_never_goes_back_along_the_journal() {
    let redis = RedisSettings { movable_clock: true, ..RedisSettings::default() };
    let Some(mut scene) = Scene::set(Setup { redis, ..Setup::default() }).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let now: jiff::Timestamp = {
        let said = scene.nodes[0].talk().get("/v1/time").await;
        said["now"].as_str().unwrap().parse().unwrap()
    };
    let later = now + jiff::SignedDuration::from_secs(300);
    let pools = json!([{"name": "main", "capacity": 5}]);
    let settings = json!({"opens_at": later.to_string(), "pools": pools});
    scene.nodes[1].talk().put("later", settings).await;
    assert_eq!(scene.nodes[2].talk().claim("later", "ann").await["outcome"], "not_open");

    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(60).await;
    scene.redis().set_clock(600);
    flood.goes_on(60).await;
    for node in &scene.nodes {
        // What a node last heard may be from before; the journal decides then.
        let mut said = node.talk().claim("later", "ann").await;
        for _ in 0..100 {
            if said["outcome"] != "not_open" {
                break;
            }
            sleep(Duration::from_millis(20)).await;
            said = node.talk().claim("later", "ann").await;
        }
        assert_eq!(said["rank"], 1, "{said}");
    }
    scene.redis().set_clock(-600);
    flood.goes_on(60).await;
    assert_eq!(scene.nodes[0].talk().wins("later", "bob").await, 2, "once open it stays open");
    scene.redis().set_clock(0);
    flood.goes_on(60).await;
    flood.ends().await;
    let agreed = scene.agrees("spring").await;
    let times = agreed.results.iter().map(|line| line["at"].as_str().unwrap());
    assert!(times.is_sorted(), "time goes back along the journal");
}
