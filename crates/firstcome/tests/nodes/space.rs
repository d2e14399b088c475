//! One space, one truth: servers that are set up differently, servers that went, and servers that are told to stop.

use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use crate::talk::condition;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

/// Asks a server until what it says fits; gives that.
pub(crate) async fn until(node: &Server, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let said = node.talk().try_get(path).await;
        if let Ok(said) = &said
            && fits(said)
        {
            return said.clone();
        }
        assert!(Instant::now() < end, "{path}: {said:?}\n{}", node.errors());
        sleep(Duration::from_millis(20)).await;
    }
}

fn is_ready(said: &Value) -> bool {
    said["status"] == "ready"
}

/// Waits until a server has written a line of an event.
pub(crate) async fn logged(node: &Server, event: &str) {
    let (end, event) = (Instant::now() + PATIENCE, format!("\"event\":\"{event}\""));
    while !node.errors().contains(&event) {
        assert!(Instant::now() < end, "{event}: {}", node.errors());
        sleep(Duration::from_millis(20)).await;
    }
}

/// Asks a Redis for what nodes announce, without what stands before it in binary.
const WORDS: &str = "EVAL \"local t = '' for _, v in ipairs(redis.call('HVALS', KEYS[1])) do \
     t = t .. string.sub(v, 57) .. '|' end return t\" 1 fc:{main}:nodes";

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_other_settings_is_named_and_one_without_the_ledger_does_not_lead_over_one_that_has_it()
 {
    let Some(mut scene) =
        Scene::without_nodes(Setup { settings: &[("LEADER_LEASE_MS", "500")], ..Setup::default() })
            .await
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let ledger = format!("sqlite:{}", folder.path().join("ledger.sqlite").display());
    // The one without is there first, and leads while it is alone.
    scene.change("LEDGER", "none");
    scene.add().await.ready().await;
    assert_eq!(scene.leader().await, 0);
    scene.nodes[0].talk().open("spring", 100).await;
    assert_eq!(until(&scene.nodes[0], "/readyz", is_ready).await["differs"], json!([]));
    scene.change("LEDGER", &ledger);
    scene.add().await.ready().await;
    scene.add().await.ready().await;
    let has = |said: &Value| {
        let led =
            said["nodes"].as_array().into_iter().flatten().find(|node| node["leader"] == true);
        led.is_some_and(|led| led["ledger"] != "none" && led["ledger"] != "unknown")
    };
    until(&scene.nodes[0], "/v1/nodes", has).await;
    let won = scene.nodes[0].talk().wins("spring", "ann").await;
    assert_eq!(won, 1);
    until(&scene.nodes[0], "/readyz", |said| said["settled"] == 1).await;

    // Each says which server differs and what to do; all of them are ready.
    let differs = |said: &Value| is_ready(said) && said["differs"] != json!([]);
    let said = until(&scene.nodes[1], "/readyz", differs).await;
    let differs = texts(&said["differs"]).join("\n");
    let without = format!(":{}", scene.nodes[0].port());
    assert!(differs.starts_with("ledger: ") && differs.contains(&without), "{differs}");
    assert!(differs.contains("has none") && differs.contains("set `ledger` alike"), "{differs}");
    let nodes = scene.nodes[1].talk().get("/v1/nodes").await;
    let named: Vec<_> = nodes["nodes"].as_array().unwrap().iter().collect();
    for node in named {
        let is_it = node["address"].as_str().unwrap().ends_with(&without);
        assert_eq!(node["differs"], if is_it { json!(["ledger"]) } else { json!([]) }, "{node}");
    }
    assert_eq!(scene.nodes[1].talk().count("firstcome_settings_differing").await, 1);
    logged(&scene.nodes[1], "settings_differ").await;

    // Both that have it are killed: the one without leads, settles nothing, and says so.
    scene.nodes[1].kill().await;
    scene.nodes[2].kill().await;
    scene.nodes[0].talk().wins("spring", "bob").await;
    let trouble =
        |said: &Value| said["settle_trouble"].as_str().is_some_and(|s| s.starts_with("no_ledger"));
    let said = until(&scene.nodes[0], "/readyz", trouble).await;
    assert_eq!(
        (&said["status"], &said["settled"], &said["lag"]),
        (&json!("ready"), &json!(1), &json!(1))
    );
    // Both are listed as gone, and as expected.
    let gone = |said: &Value| said["gone"].as_array().is_some_and(|gone| gone.len() == 2);
    let said = until(&scene.nodes[0], "/v1/nodes", gone).await;
    assert_eq!(
        (&said["expected"], &said["gone"][0]["state"]),
        (&json!(3), &json!("gone")),
        "{said}"
    );
    assert_eq!(scene.nodes[0].talk().count("firstcome_nodes_gone").await, 2);
    // One comes back under its address, leads, and settles what waited.
    scene.nodes[1].start().await;
    until(&scene.nodes[0], "/readyz", |said| said["settled"] == 2).await;
    let said = until(&scene.nodes[0], "/v1/nodes", |said| {
        said["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2)
    })
    .await;
    assert_eq!(
        (&said["expected"], said["gone"].as_array().map(Vec::len)),
        (&json!(3), Some(1)),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_keys_and_checks_are_named_without_a_word_of_them() {
    let Some(mut scene) = Scene::without_nodes(Setup::default()).await else { return };
    scene.add().await.ready().await;
    // Of 256 keys one has the same eight bits, so there are some to choose from.
    let secrets = ["1", "2", "3"].map(|digit| digit.repeat(40));
    let mut differing = Vec::new();
    for secret in &secrets {
        scene.change("TOKEN_SECRET", secret);
        scene.add().await.ready().await;
        let port = format!(":{}", scene.nodes.last().unwrap().port());
        let has = |said: &Value| said["nodes"].to_string().contains(&port);
        until(&scene.nodes[0], "/v1/nodes", has).await;
        let said = until(&scene.nodes[0], "/readyz", is_ready).await;
        differing.extend(texts(&said["differs"]).into_iter().map(str::to_owned));
        scene.nodes.last_mut().unwrap().ends().await;
    }
    assert!(differing.iter().any(|differs| differs.starts_with("tokens: ")), "{differing:?}");
    assert!(
        differing.iter().all(|d| secrets.iter().all(|s| !d.contains(&s[..8]))),
        "{differing:?}"
    );
    let stored = scene.redis().ask(WORDS);
    assert!(stored.contains(" tokens=none") && !stored.contains("11111111"), "{stored}");
    // Who was stopped is not missed.
    let alone = |said: &Value| said["nodes"].as_array().is_some_and(|nodes| nodes.len() == 1);
    let said = until(&scene.nodes[0], "/v1/nodes", alone).await;
    assert_eq!((&said["expected"], &said["gone"]), (&json!(1), &json!([])), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_told_to_stop_is_shown_as_leaving_and_answers_meanwhile() {
    let setup = Setup { settings: &[("LEADER_LEASE_MS", "500")], ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.change("LEAVE_MS", "600000");
    let last = scene.nodes.len();
    scene.add().await.ready().await;
    scene.nodes[0].talk().open("spring", 10).await;
    scene.nodes[last].terminate();
    let leaves = |said: &Value| said["nodes"].to_string().contains("\"leaving\"");
    until(&scene.nodes[0], "/v1/nodes", leaves).await;
    scene.nodes[last].not_ready().await;
    let said = condition(scene.nodes[last].port()).await;
    assert!(said.contains("\"reasons\":[") && said.contains("\"shutting down\""), "{said}");
    assert_eq!(scene.nodes[last].talk().wins("spring", "ann").await, 1);
    assert!(scene.nodes[last].ends().await.success(), "a second signal ends the wait");
    let three = |said: &Value| said["nodes"].as_array().is_some_and(|nodes| nodes.len() == 3);
    let said = until(&scene.nodes[0], "/v1/nodes", three).await;
    assert_eq!(said["gone"], json!([]), "it left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_store_that_was_emptied_needs_is_named_to_everybody() {
    let Some(scene) = Scene::set(Setup::default()).await else { return };
    scene.nodes[0].talk().open("spring", 10).await;
    let _emptied = scene.redis().ask("FLUSHALL");
    let named = |text: &str| text.contains("`firstcome nodes reseed`");
    let end = Instant::now() + PATIENCE;
    while !named(&condition(scene.nodes[0].port()).await) {
        assert!(Instant::now() < end, "{}", scene.nodes[0].errors());
        sleep(Duration::from_millis(20)).await;
    }
    loop {
        let said = scene.nodes[0].talk().claim("spring", "ann").await;
        if said["detail"].as_str().is_some_and(named) {
            assert_eq!(said["changed"], "no", "{said}");
            break;
        }
        assert!(Instant::now() < end, "{said}");
    }
    while !named(&scene.nodes[0].errors()) {
        assert!(Instant::now() < end, "{}", scene.nodes[0].errors());
        sleep(Duration::from_millis(20)).await;
    }
}
