//! Changing seats that are there, over HTTP.

use crate::inside::Inside;
use serde_json::{Value, json};

const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";

impl Inside {
    async fn change(&self, seats: Value) -> crate::wire::Answer {
        self.ask_with("PATCH", SEATS, &[], seats.to_string()).await
    }
}

#[tokio::test(start_paused = true)]
async fn free_seats_are_changed_and_the_map_shows_it() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let before = node.get(SEATS).await;
    let done = node
        .change(json!([
            {"name": "A1", "grade": "VIP", "price_minor": 20000, "currency": "EUR"},
            {"name": "A2", "new_name": "A2-old"}
        ]))
        .await
        .says(200, "seats_changed");
    assert_eq!((&done["seats"], &done["pool"]), (&json!(2), &json!("main")));
    let after = node.get(SEATS).await;
    assert_ne!(before.header("etag"), after.header("etag"));
    let row = &after.json()["rows"][0];
    assert_eq!(row["grade"][0], json!("VIP"), "{row}");
    assert_eq!(row["price_minor"][0], json!(20000));
    let held = node.hold("h1", "ann", &["A1", "A2-old"]).await.says(201, "held");
    assert_eq!(held["units"][0]["price_minor"], json!(20000));
    node.hold("h2", "bob", &["A2"]).await.refuses("no_such_unit", "");
    let taken =
        node.change(json!([{"name": "A3", "grade": "X"}, {"name": "A1", "grade": "X"}])).await;
    let taken = taken.refuses("unit_taken", "");
    assert_eq!(taken["units"], json!([{"pool": "main", "unit": "A1"}]), "all or nothing");
    node.change(json!([{"name": "A9", "grade": "X"}])).await.refuses("no_such_unit", "");
    node.change(json!([{"name": "A3", "new_name": "A4"}]))
        .await
        .refuses("bad_seat", "is given already");
    let wrong = json!([{"name": "A3", "price_minor": -1, "currency": "EUR"}, {"name": "A4", "price_minor": 1}]);
    let wrong = node.change(wrong).await.refuses("bad_seat", "seat 1: price_minor -1");
    assert_eq!(wrong["errors"].as_array().unwrap().len(), 2, "{wrong}");
    node.change(json!([])).await.refuses("invalid_request", "a request changes 1 to 4000");
    node.change(json!([{"name": "A3", "row": "9"}]))
        .await
        .refuses("invalid_request", "unknown field `row`");
}

#[tokio::test(start_paused = true)]
async fn a_seat_that_is_given_its_own_name_is_not_out_of_the_way_of_one_alike() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let alike = [json!({"name": "A1", "new_name": "A1"}), json!({"name": "A2", "new_name": "a1"})];
    let refused = node.change(json!(alike)).await;
    refused.refuses("bad_seat", "line 2: \"a1\" is \"A1\", which is there, spelled otherwise");
    let away = [json!({"name": "A1", "new_name": "Z1"}), json!({"name": "A2", "new_name": "a1"})];
    node.change(json!(away)).await.says(200, "seats_changed");
}

#[tokio::test(start_paused = true)]
async fn a_price_below_0_is_not_taken_in_anywhere() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let seat = json!([{"name": "N1", "price_minor": -5, "currency": "EUR"}]).to_string();
    let refused = node.ask_with("POST", SEATS, &[], seat).await.refuses("bad_seat", "-5");
    assert_eq!(refused["errors"][0]["line"], json!(1));
}
