//! The team's own service says how many units a subject may have: so many, and not one more.

use crate::eligibility::{LONG, later, node, terms};
use crate::process::{Server, serve};
use crate::team::{Mood, Team};
use serde_json::json;

fn within(limit: u32) -> Mood {
    Mood::Says(200, json!({"eligible": true, "limit": limit}).to_string())
}

#[tokio::test]
async fn two_seats_may_be_had_and_no_third_whichever_way_it_is_asked_for() {
    let team = Team::start(within(2)).await;
    let node = node(terms("hall", &team.url())).await;
    node.hall(json!({"holds": "many", "pools": [{"name": "main", "kind": "seated"}]})).await;
    node.hold("h1", "ann", &["A1", "A2", "A3"]).await.refuses("limit_reached", "");
    node.hold("h1", "ann", &["A1", "A2"]).await.says(201, "held");
    node.hold("h2", "ann", &["B1"]).await.refuses("limit_reached", "");
    let more = json!({"subject": "ann", "units": ["B1"]});
    node.tell("holds/h1/add", more.clone()).await.refuses("limit_reached", "");
    node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    node.hold("h2", "ann", &["B1"]).await.refuses("limit_reached", "");
    assert_eq!(team.calls(), 1, "a limit is kept with its yes");
    // Who may more, may more from then on; who may less has what they have.
    team.turns(within(3));
    later(LONG * 2).await;
    node.hold("h2", "ann", &["B1"]).await.says(201, "held");
    team.turns(within(1));
    later(LONG * 2).await;
    node.hold("h3", "ann", &["B2"]).await.refuses("limit_reached", "");
    node.hold("h2", "ann", &["B1"]).await.says(200, "already_held");
    node.confirm("h2", "ann", "refuse").await.says(200, "confirmed");
    // Everybody has a limit of their own, and nobody asks for one who gives back.
    node.hold("h4", "bob", &["A3"]).await.says(201, "held");
    node.tell("holds/h4/add", json!({"subject": "bob", "units": ["A4"]}))
        .await
        .refuses("limit_reached", "");
    let calls = team.calls();
    node.tell("holds/h4/release", json!({"subject": "bob"})).await.says(200, "released");
    assert_eq!(team.calls(), calls);
    // The twin: the same answer without a limit sets none.
    team.turns(Mood::yes());
    later(LONG * 2).await;
    node.hold("h5", "bob", &["A3", "A4", "B3"]).await.says(201, "held");
}

#[tokio::test]
async fn who_waits_for_a_seat_is_held_to_the_limit_when_it_comes_free() {
    let team = Team::start(within(1)).await;
    let node = node(terms("hall", &team.url())).await;
    node.hall(json!({"holds": "many"})).await;
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    node.hold("h2", "bob", &["A2"]).await.says(201, "held");
    let waits =
        json!({"id": "h3", "subject": "bob", "picks": [{"units": ["A1"]}], "wait_ms": 3000});
    let (waited, ()) = tokio::join!(node.tell("holds", waits), async {
        while node.app.node.intake.in_line() == 0 {
            tokio::task::yield_now().await;
        }
        node.tell("holds/h1/release", json!({"subject": "ann"})).await.says(200, "released");
    });
    waited.refuses("limit_reached", "");
}

#[tokio::test]
async fn a_limit_counts_claims_over_the_pools_and_a_limit_of_none_is_a_no() {
    let team = Team::start(within(1)).await;
    let node = node(terms("two", &team.url())).await;
    let pools = json!([{"name": "red", "capacity": 9}, {"name": "blue", "capacity": 9}]);
    node.put("two", &json!({"opens_at": "now", "pools": pools})).await.says(201, "created");
    let claim = async |subject: &str, pool: &str| {
        let body = json!({"subject": subject, "pool": pool}).to_string();
        node.ask_with("POST", "/v1/campaigns/two/claims", &[], body).await
    };
    claim("ann", "red").await.says(201, "won");
    claim("ann", "blue").await.refuses("limit_reached", "");
    claim("ann", "red").await.says(200, "already_won");
    team.turns(within(2));
    later(LONG * 2).await;
    claim("ann", "blue").await.says(201, "won");
    let none = json!({"eligible": true, "limit": 0, "reason": "had enough"});
    team.turns(Mood::Says(200, none.to_string()));
    let calls = team.calls();
    claim("bob", "red").await.refuses("not_eligible", "had enough");
    claim("bob", "red").await.refuses("not_eligible", "had enough");
    assert_eq!(team.calls() - calls, 1, "it is kept like any other no");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_in_the_journal_and_a_replay_asks_nobody() {
    let team = Team::start(within(2)).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstcome.toml");
    let entry = format!(
        "[[eligibility]]\ncampaign = \"*\"\nurl = \"{}\"\nwhen_down = \"refuse\"\ntimeout_ms = 30000\n",
        team.url()
    );
    std::fs::write(&file, entry).unwrap();
    let start = || {
        let mut command = serve(folder.path(), &[]);
        command.arg("--config").arg(&file);
        Server::of(command)
    };
    let hold =
        |id: &str, count: u32| json!({"id": id, "subject": "ann", "picks": [{"quantity": count}]});
    let server = start();
    let mut talk = server.talk();
    talk.put(
        "/v1/campaigns/drop",
        &json!({"opens_at": "now", "holds": "many",
        "pools": [{"name": "main", "capacity": 9}]}),
    )
    .says(201, "created");
    let path = "/v1/campaigns/drop/holds";
    talk.post(path, &hold("h1", 2)).says(201, "held");
    talk.post(path, &hold("h2", 1)).refuses("limit_reached", "");
    talk.post(&format!("{path}/h1/release"), &json!({"subject": "ann"})).says(200, "released");
    talk.post(path, &hold("h2", 3)).refuses("limit_reached", "");
    talk.post(path, &hold("h3", 1)).says(201, "held");
    let position: u64 = talk.position()[2..].parse().unwrap();
    let audit = format!("/v1/audit?position={position}");
    let digest = talk.get(&audit).json()["digest"].clone();
    assert!(digest.is_string());
    server.kill();
    // Whoever answered is not there any more.
    let calls = team.calls();
    drop(team);
    let server = start();
    let mut talk = server.talk();
    assert_eq!(talk.get(&audit).json()["digest"], digest);
    assert_eq!(talk.get(&format!("{path}/h3?subject=ann")).json()["held"], json!(1));
    talk.post(path, &hold("h4", 1)).refuses("eligibility_unknown", "cannot be reached");
    assert_eq!(calls, 1);
    server.kill();
}
