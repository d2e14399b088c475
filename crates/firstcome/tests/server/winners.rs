//! Who has what now: cancelled claims are gone, moved seats are where they are, page by page.

use crate::inside::Inside;
use serde_json::{Value, json};

fn ranks(page: &Value) -> Vec<u64> {
    page["winners"].as_array().unwrap().iter().map(|w| w["rank"].as_u64().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn who_cancelled_is_no_winner_and_pages_go_on_by_rank() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    let none = node.get("/v1/campaigns/drop/winners").await.json();
    assert_eq!(
        (ranks(&none), &none["next"], &none["last_rank"]),
        (vec![], &json!(null), &json!(0))
    );
    for subject in ["ann", "bob", "cem", "dan", "eve"] {
        node.claim("drop", subject).await.says(201, "won");
    }
    for (rank, subject) in [(1, "ann"), (4, "dan")] {
        node.cancel("drop", subject, &format!("rank={rank}&by=subject"))
            .await
            .says(200, "cancelled");
    }
    let all = node.get("/v1/campaigns/drop/winners").await.json();
    assert_eq!(ranks(&all), [2, 3, 5]);
    assert_eq!((&all["next"], &all["last_rank"]), (&json!(null), &json!(5)));
    assert_eq!(
        all["winners"][0],
        json!({"campaign": "drop", "pool": "main", "rank": 2, "subject": "bob",
            "at": "2027-03-01T00:00:00.000000Z"})
    );
    let page = |query: &'static str| {
        let node = &node;
        async move { node.get(&format!("/v1/campaigns/drop/winners?{query}")).await }
    };
    let one = page("limit=2").await;
    assert_eq!((ranks(&one.json()), &one.json()["next"]), (vec![2, 3], &json!(3)));
    assert_eq!(one.header("firstcome-next"), Some("3"));
    let two = page("limit=2&after=3").await;
    assert_eq!((ranks(&two.json()), &two.json()["next"]), (vec![5], &json!(null)));
    assert_eq!(two.header("firstcome-next"), None);
    assert_eq!(ranks(&page("after=4294967295").await.json()), [0; 0]);
    for (query, why) in [
        ("limit=0", "limit=0 is outside 1 to 10000"),
        ("limit=10001", "limit=10001 is outside"),
        ("after=-1", "after=-1 is not a number"),
        ("format=xml", "it is json, ndjson or csv"),
        ("live=1", "which this route does not take"),
    ] {
        page(query).await.refuses("invalid_request", why);
    }
    page("pool=balcony").await.refuses("not_found", "no such pool");
    node.get("/v1/campaigns/none/winners").await.refuses("not_found", "none");
}

#[tokio::test(start_paused = true)]
async fn the_same_winners_as_lines_and_as_a_table() {
    let node = Inside::new().await;
    node.hall(json!({"holds": "many"})).await;
    node.hold("=h1", "@ann", &["A1", "A2"]).await.says(201, "held");
    node.confirm("=h1", "@ann", "refuse").await.says(200, "confirmed");
    let seat = json!({"from": "A2", "to": "B1", "reason": "a pillar"});
    node.tell("pools/main/move", seat).await.says(200, "moved");
    let path = "/v1/campaigns/hall/winners";
    let json = node.get(path).await.json();
    assert_eq!(json["winners"][1]["unit"], json!("B1"), "where she sits now: {json}");
    let lines = node.get(&format!("{path}?format=ndjson")).await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let read: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json["winners"].as_array(), Some(&read));
    let csv = node.ask_with("GET", path, &[("accept", "text/csv")], "").await;
    assert_eq!(
        csv.text(),
        "campaign,pool,rank,subject,unit,at,hold\n\
         hall,main,1,'@ann,A1,2027-03-01T00:00:00.000000Z,'=h1\n\
         hall,main,2,'@ann,B1,2027-03-01T00:00:00.000000Z,'=h1\n"
    );
    let raw = node.get(&format!("{path}?format=csv&raw=1&after=1")).await.text();
    assert!(raw.ends_with("hall,main,2,@ann,B1,2027-03-01T00:00:00.000000Z,=h1\n"), "{raw}");
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_named_where_there_are_several_and_a_ledger_where_it_is_archived() {
    let node = Inside::new().await;
    let settings = json!({"opens_at": "now", "pools": [{"name": "stalls", "capacity": 2}, {"name": "balcony", "capacity": 2}]});
    node.put("gig", &settings).await.says(201, "created");
    let claim = json!({"subject": "ann", "pool": "balcony"}).to_string();
    node.ask_with("POST", "/v1/campaigns/gig/claims", &[], claim).await.says(201, "won");
    node.get("/v1/campaigns/gig/winners").await.refuses("pool_required", "gig");
    assert_eq!(ranks(&node.get("/v1/campaigns/gig/winners?pool=balcony").await.json()), [1]);
    assert_eq!(ranks(&node.get("/v1/campaigns/gig/winners?pool=stalls").await.json()), [0; 0]);
    node.post("/v1/campaigns/gig/close").await.says(200, "changed");
    let drop = r#"{"drop_unsettled": true}"#;
    node.ask_with("POST", "/v1/campaigns/gig/archive", &[], drop).await.says(200, "changed");
    let why = "SELECT pool, rank, subject, unit, at_utc, hold FROM claims_utc WHERE campaign = 'gig' AND cancelled_at IS NULL";
    node.get("/v1/campaigns/gig/winners?pool=balcony").await.refuses("archived", why);
}
