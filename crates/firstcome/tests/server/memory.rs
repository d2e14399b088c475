//! What a node answers from its own state, and when it does not.

use crate::inside::{Inside, Setup, one_pool};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

fn decided(answer: &Value) -> &str {
    answer["decided"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_row_of_the_table_says_where_it_was_decided() {
    let node = Inside::new().await;
    node.open("drop", 1).await.says(201, "created");
    let won = node.claim("drop", "ann").await.says(201, "won");
    assert_eq!(
        (decided(&won), &won["rank"], &won["position"]),
        ("journal", &json!(1), &json!("0.2"))
    );

    let again = node.claim("drop", "ann").await.says(200, "already_won");
    assert_eq!(
        (decided(&again), &again["rank"], &again["at"]),
        ("replica", &won["rank"], &won["at"])
    );

    let settings = json!({"opens_at": "now", "limits": {"campaign": 1},
        "pools": [{"name": "one", "capacity": 5}, {"name": "two", "capacity": 5}]});
    node.put("both", &settings).await.says(201, "created");
    for name in ["paused", "over", "gone"] {
        node.open(name, 9).await.says(201, "created");
    }
    node.open("mine", 9).await.says(201, "created");
    node.put("draft", &json!({"pools": [{"name": "main", "capacity": 1}]}))
        .await
        .says(201, "created");
    node.put("later", &one_pool("2027-03-01T00:00:01Z", 1)).await.says(201, "created");
    node.post("/v1/campaigns/paused/pause").await.says(200, "changed");
    node.post("/v1/campaigns/over/close").await.says(200, "changed");
    node.post("/v1/campaigns/gone/close").await.says(200, "changed");
    node.post("/v1/campaigns/gone/archive").await.says(200, "changed");
    let to = |pool| json!({"subject": "ann", "pool": pool}).to_string();
    node.ask_with("POST", "/v1/campaigns/both/claims", &[], to("one")).await.says(201, "won");
    for subject in ["bea", "cem"] {
        node.claim("mine", subject).await.says(201, "won");
    }
    node.cancel("mine", "bea", "rank=1&by=subject").await.says(200, "cancelled");
    node.cancel("mine", "cem", "rank=2&reason=bot").await.says(200, "cancelled");
    // Who is barred hears so in the place of what they would hear else.
    let again =
        json!({"opens_at": "now", "claim_again": true, "pools": [{"name": "main", "capacity": 5}]});
    node.put("again", &again).await.says(201, "created");
    node.claim("again", "dan").await.says(201, "won");
    node.cancel("again", "dan", "rank=1&reason=bot").await.says(200, "cancelled");
    let bar = json!({"subject": "dan", "reason": "bot"}).to_string();
    node.ask_with("POST", "/v1/campaigns/again/bars", &[], bar).await.says(200, "bar_set");

    // Everything asked below changes nothing. What the journal decides costs an entry.
    for (campaign, subject, pool, outcome, from) in [
        ("drop", "bob", None, "sold_out", "replica"),
        ("paused", "bob", None, "paused", "replica"),
        ("over", "bob", None, "closed", "replica"),
        ("gone", "bob", None, "archived", "replica"),
        ("nowhere", "bob", None, "not_found", "replica"),
        ("drop", "bob", Some("side"), "not_found", "replica"),
        ("both", "bob", None, "pool_required", "replica"),
        ("draft", "bob", None, "not_open", "replica"),
        ("later", "bob", None, "not_open", "replica"),
        ("both", "ann", Some("two"), "limit_reached", "journal"),
        ("mine", "bea", None, "already_cancelled", "journal"),
        ("mine", "cem", None, "already_cancelled", "journal"),
        ("again", "dan", None, "barred", "replica"),
    ] {
        let before = (node.position(), node.journal.appends());
        let body = json!({"subject": subject, "pool": pool}).to_string();
        let path = format!("/v1/campaigns/{campaign}/claims");
        let answer = node.ask_with("POST", &path, &[], body).await.refuses(outcome, campaign);
        assert_eq!(decided(&answer), from, "{answer}");
        let cost = u64::from(from == "journal");
        assert_eq!((node.position(), node.journal.appends()), (before.0 + cost, before.1 + cost));
        assert_eq!(answer["position"], json!(format!("0.{}", node.position())));
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_come_too_late_or_again_cost_the_store_nothing() {
    let node = Inside::new().await;
    node.open("drop", 3).await.says(201, "created");
    for subject in ["ann", "bob", "cem"] {
        node.claim("drop", subject).await.says(201, "won");
    }
    let (position, appends) = (node.position(), node.journal.appends());
    for n in 0..5_000 {
        node.claim("drop", &format!("late-{n}")).await.refuses("sold_out", "drop");
        node.claim("drop", ["ann", "bob", "cem"][n % 3]).await.says(200, "already_won");
    }
    assert_eq!((node.position(), node.journal.appends()), (position, appends));
    let counts = node.get("/metrics").await.text();
    for count in ["from_memory_total 10000", "answers_total{outcome=\"sold_out\"} 5000"] {
        assert!(counts.contains(count), "{count}: {counts}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hears_nothing_from_its_journal_answers_nothing_from_memory() {
    let node = Inside::new().await;
    node.open("drop", 3).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.journal.hold();
    let silent = async {
        sleep(Duration::from_millis(500)).await;
        // Half a second of silence is no reason yet.
        let again = node.claim("drop", "ann").await.says(200, "already_won");
        assert_eq!(
            (decided(&again), node.show("drop").await["stale"].clone()),
            ("replica", json!(false))
        );
        sleep(Duration::from_millis(600)).await;
        assert_eq!(node.show("drop").await["stale"], json!(true));
        let claims = node.get("/v1/campaigns/drop/claims/ann").await.json();
        assert_eq!((&claims["stale"], &claims["claims"][0]["rank"]), (&json!(true), &json!(1)));
        let reasons = node.get("/readyz").await;
        assert_eq!((reasons.status, &reasons.json()["status"]), (503, &json!("not_ready")));
        let reasons = reasons.json()["reasons"].to_string();
        assert!(reasons.starts_with("[\"the journal does not answer: see that"), "{reasons}");
        // Ann's repeat could be answered from memory a moment ago. Now it waits behind Bob's claim.
        let begun = Instant::now();
        node.claim("drop", "ann").await.refuses("unavailable", "nothing changed");
        assert!(begun.elapsed() >= Duration::from_secs(5), "it was queued, so it waited its time");
        // Silent for more than six seconds by now: nobody is kept waiting any more.
        let begun = Instant::now();
        node.claim("drop", "ann").await.refuses("unavailable", "nothing changed");
        node.claim("drop", "cem").await.refuses("unavailable", "the journal does not answer");
        node.post("/v1/campaigns/drop/pause").await.refuses("unavailable", "nothing changed");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(node.show("drop").await["stale"], json!(true));
    };
    let (bob, ()) = tokio::join!(node.claim("drop", "bob"), silent);
    bob.refuses("unknown", "send it again");

    let position = node.position();
    node.journal.let_go();
    node.beyond(position).await;
    // Nobody but Bob was sent, and he won what he did not hear of.
    let bob = node.claim("drop", "bob").await.says(200, "already_won");
    assert_eq!((decided(&bob), &bob["rank"]), ("replica", &json!(2)));
    let shown = node.show("drop").await;
    assert_eq!((&shown["stale"], &shown["pools"][0]["taken"]), (&json!(false), &json!(2)));
    assert_eq!(node.get("/readyz").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_position_brought_along_is_waited_for() {
    let node = Inside::with(Setup { wait: Duration::from_secs(2), ..Setup::default() }).await;
    node.open("drop", 9).await.says(201, "created");
    let won = node.claim("drop", "ann").await.says(201, "won");
    assert_eq!(won["position"], json!("0.2"));
    // Behind: at once.
    for query in ["?min_position=0.0", "?min_position=0.2"] {
        node.claim_at("drop", "ann", query).await.says(200, "already_won");
    }
    // Ahead and reached: the answer is as of then.
    let ahead = node.claim_at("drop", "ann", "?min_position=0.3");
    let (ahead, _) = tokio::join!(ahead, async {
        tokio::task::yield_now().await;
        node.claim("drop", "bob").await.says(201, "won")
    });
    assert_eq!(ahead.says(200, "already_won")["position"], json!("0.3"));
    // Ahead and not reached: nothing changed, on every route that reads or decides.
    let routes = [
        ("GET", "/v1/campaigns/drop"),
        ("GET", "/v1/campaigns"),
        ("GET", "/v1/campaigns/drop/claims/ann"),
        ("GET", "/v1/campaigns/drop/results"),
        ("GET", "/v1/time"),
        ("GET", "/v1/nodes"),
        ("GET", "/v1/audit"),
        ("POST", "/v1/campaigns/drop/pause"),
        ("POST", "/v1/campaigns/drop/archive"),
    ];
    for (method, path) in routes {
        let ask = |query: &'static str| {
            let path = format!("{path}?min_position={query}");
            let node = &node;
            async move { node.ask_with(method, &path, &[("content-type", "")], "").await }
        };
        ask("0.99").await.refuses("unavailable", "0.99 is not known here yet");
        ask("1.2").await.refuses("stale_position", "nothing changed");
        ask("3:0.2").await.refuses("invalid_request", "such as 0.42");
        ask("yesterday").await.refuses("invalid_request", "such as 0.42");
    }
    node.claim_at("drop", "cem", "?min_position=0.99").await.refuses("unavailable", "0.99");
    node.claim_at("drop", "cem", "?min_position=1.2").await.refuses("stale_position", "");
    assert_eq!(node.position(), 3);
}
