//! Public campaigns: read by everybody, changed by nobody.

use crate::scene::{Scene, rows};
use crate::wire::Talk;
use serde_json::json;

#[test]
fn a_public_campaign_is_read_without_a_key_for_a_second_and_no_other_is() {
    let scene = Scene::open();
    let mut talk = scene.talk();
    let settings = |public: bool| json!({"title": "Hall", "opens_at": "now", "public": public, "pools": rows(1)});
    scene.put("hall", &settings(true));
    scene.put("private", &settings(false));
    let ask = |path: &str| {
        let mut anybody = Talk::to(scene.server.as_ref().unwrap().address, "").unwrap();
        anybody.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        anybody.hear().unwrap()
    };
    let seen = ask("/v1/campaigns/hall");
    assert_eq!((seen.status, seen.header("cache-control")), (200, Some("public, max-age=1")));
    assert_eq!(seen.header("vary"), Some("authorization"));
    let document = seen.json();
    assert_eq!((&document["public"], &document["left"]), (&json!(true), &json!(60)));
    // What is for operators is not for everybody.
    assert!(
        document.get("live_holds").is_none() && document["pools"][0].get("held").is_none(),
        "{document}"
    );
    let map = ask("/v1/campaigns/hall/pools/main/seats");
    assert_eq!((map.status, map.header("cache-control")), (200, Some("public, max-age=1")));
    // With a key there is more, and no cache gives it to others.
    let full = talk.get("/v1/campaigns/hall");
    assert!(full.json().get("live_holds").is_some());
    assert_eq!((full.header("cache-control"), full.header("vary")), (None, None));
    for path in [
        "/v1/campaigns/private",
        "/v1/campaigns/private/pools/main/seats",
        "/v1/campaigns/private/events",
        "/v1/campaigns/missing",
        "/v1/campaigns/hall/claims/ann",
        "/v1/campaigns/hall/results",
        "/v1/campaigns/hall/waitlist",
        "/v1/campaigns/hall/bars",
        "/v1/campaigns/hall/holds/x",
        "/v1/campaigns",
        "/v1/subjects/ann",
        "/v1/time",
    ] {
        ask(path).refuses("unauthorized", "give a key");
    }
    // It can be hidden again, also after its end.
    talk.post("/v1/campaigns/hall/close", &json!({})).says(200, "changed");
    let mut hidden = talk.get("/v1/campaigns/hall").json();
    let again = json!({"title": "Hall", "opens_at": hidden["opens_at"].take(), "pools": [{"name": "main", "kind": "seated"}]});
    talk.put("/v1/campaigns/hall", &again).says(200, "changed");
    ask("/v1/campaigns/hall").refuses("unauthorized", "give a key");
}
