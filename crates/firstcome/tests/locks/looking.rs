//! What an operator sees and does.

use crate::scene::Scene;
use rustix::process::Signal;

#[test]
fn held_locks_are_listed_inspected_and_freed() {
    let Some(scene) = Scene::new() else { return };
    assert_eq!(scene.run(&["locks", "list", "--json"]).json()["locks"], serde_json::json!([]));
    assert_eq!(scene.run(&["locks", "inspect", "user:{42}"]).ends(1), "user:{42} is free");
    let mut shells = Vec::new();
    for name in ["report", "user:{42}", "{7}"] {
        let stay = "echo $FIRSTCOME_FENCE; exec sleep 600";
        let mut shell = scene.start(&["lock", name, "--", "sh", "-c", stay]);
        let fence: u64 = shell.line().parse().unwrap();
        let seen = scene.run(&["locks", "inspect", name, "--json"]).json();
        assert_eq!((&seen["name"], &seen["held"]), (&name.into(), &true.into()));
        assert_eq!(seen["fence"], fence);
        assert!(seen["remaining_ms"].as_u64().unwrap() <= 30_000 && seen["leader"].is_null());
        shells.push(shell);
    }
    // One that is free again is on record, but not held.
    scene.run(&["lock", "done", "--", "true"]).ends(0);
    let listed = scene.run(&["locks", "list", "--json"]).json();
    let names: Vec<&str> = listed["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| lock["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["report", "user:{42}", "{7}"]);
    let table = scene.run(&["locks", "list"]).ends(0);
    assert!(table.contains("user:{42}") && table.contains("ends in"), "{table}");
    assert!(scene.run(&["locks", "inspect", "report"]).ends(0).contains("report is held by"));

    assert_eq!(scene.run(&["locks", "release", "{7}"]).ends(0), "{7} was held and is free");
    assert_eq!(scene.run(&["locks", "release", "{7}"]).ends(1), "{7} was free already");
    let freed = scene.run(&["locks", "release", "report", "--json"]).json();
    assert_eq!(freed, serde_json::json!({"name": "report", "released": true}));
    scene.run(&["lock", "report", "--wait", "0s", "--", "true"]).ends(0);
    shells.iter().for_each(|shell| shell.tell(Signal::TERM));
}

#[test]
fn a_key_of_another_kind_is_no_lock() {
    let Some(scene) = Scene::new() else { return };
    assert_eq!(scene.redis.ask("RPUSH queue a"), ":1");
    let said = scene.run(&["locks", "inspect", "queue"]);
    said.complains(3, "a key holds a value of another kind", "another name");
    let said = scene.run(&["lock", "queue", "--", "true"]);
    said.complains(125, "a key holds a value of another kind", "another name");
}
