//! Time passes without anybody asking, to the microsecond, and a clock that jumps breaks nothing.

use crate::inside::{Inside, Setup, one_pool};
use serde_json::json;
use std::time::Duration;

const SECOND: i64 = 1_000_000;

#[tokio::test(start_paused = true)]
async fn an_opening_and_a_closing_become_visible_without_a_command() {
    let node = Inside::new().await;
    let settings = json!({"opens_at": "2027-03-01T00:00:02Z", "closes_at": "2027-03-01T00:00:05Z",
        "pools": [{"name": "main", "capacity": 9}]});
    node.put("drop", &settings).await.says(201, "created");
    let shown = node.show("drop").await;
    assert_eq!((&shown["state"], &shown["opens_in_ms"]), (&json!("scheduled"), &json!(2_000)));
    assert_eq!(
        (&shown["closes_in_ms"], &shown["now"]),
        (&json!(5_000), &json!("2027-03-01T00:00:00.000000Z"))
    );
    assert_eq!(shown["ask_again_ms"], json!(2_000));
    let position = node.position();
    node.clock(2 * SECOND);
    node.beyond(position).await;
    let shown = node.show("drop").await;
    assert_eq!((&shown["state"], &shown["opens_in_ms"]), (&json!("open"), &json!(0)));
    node.claim("drop", "ann").await.says(201, "won");
    let position = node.position();
    node.clock(5 * SECOND);
    node.beyond(position).await;
    let shown = node.show("drop").await;
    assert_eq!((&shown["state"], &shown["closes_in_ms"]), (&json!("closed"), &json!(0)));
    assert_eq!(shown["closed_at"], json!("2027-03-01T00:00:05.000000Z"));
    assert_eq!(
        node.claim("drop", "bob").await.refuses("closed", "drop")["decided"],
        json!("replica")
    );
    // What was won stays won, and nothing ticks any more.
    node.claim("drop", "ann").await.says(200, "already_won");
    let position = node.position();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(node.position(), position);
}

#[tokio::test(start_paused = true)]
async fn the_opening_is_exact_to_the_microsecond_from_memory_and_from_the_journal() {
    let node = Inside::new().await;
    node.put("drop", &one_pool("2027-03-01T00:00:02Z", 9)).await.says(201, "created");
    let (position, appends) = (node.position(), node.journal.appends());
    for micros in [0, SECOND, 2 * SECOND - 1] {
        node.clock(micros);
        let early =
            node.claim("drop", "ann").await.refuses("not_open", "opens at 2027-03-01T00:00:02");
        assert_eq!((&early["decided"], &early["retry"]), (&json!("replica"), &json!(true)));
        assert_eq!(early["opens_at"], json!("2027-03-01T00:00:02.000000Z"));
    }
    assert_eq!((node.position(), node.journal.appends()), (position, appends));
    node.clock(2 * SECOND);
    let won = node.claim("drop", "ann").await.says(201, "won");
    assert_eq!((&won["at"], &won["rank"]), (&json!("2027-03-01T00:00:02.000000Z"), &json!(1)));

    // The journal has the last word: its clock may be behind the one the node looked at.
    node.put("late", &one_pool("2027-03-01T00:00:04Z", 9)).await.says(201, "created");
    node.journal.hold();
    node.clock(4 * SECOND);
    let (early, ()) = tokio::join!(node.claim("late", "ann"), async {
        node.journal.asked(node.journal.appends() + 1).await;
        node.clock(4 * SECOND - 1);
        node.journal.let_go();
    });
    assert_eq!(early.refuses("not_open", "late")["decided"], json!("journal"));
    node.clock(4 * SECOND);
    node.claim("late", "ann").await.says(201, "won");
}

#[tokio::test(start_paused = true)]
async fn the_closing_is_exact_to_the_microsecond() {
    let node = Inside::new().await;
    let settings = json!({"opens_at": "now", "closes_at": "2027-03-01T00:00:02Z",
        "pools": [{"name": "main", "capacity": 9}]});
    node.put("drop", &settings).await.says(201, "created");
    node.clock(2 * SECOND - 1);
    node.claim("drop", "ann").await.says(201, "won");
    node.clock(2 * SECOND);
    // No entry has passed the closing yet: the journal decides.
    assert_eq!(
        node.claim("drop", "bob").await.refuses("closed", "drop")["decided"],
        json!("journal")
    );
    assert_eq!(
        node.claim("drop", "bob").await.refuses("closed", "drop")["decided"],
        json!("replica")
    );
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_neither_reopens_nor_reorders_anything() {
    let node = Inside::new().await;
    node.clock(3_600 * SECOND);
    node.put("drop", &one_pool("2027-03-01T01:00:00Z", 9)).await.says(201, "created");
    let ann = node.claim("drop", "ann").await.says(201, "won");
    node.clock(0);
    let bob = node.claim("drop", "bob").await.says(201, "won");
    assert_eq!(
        (&bob["rank"], &bob["at"]),
        (&json!(2), &ann["at"]),
        "time stands, it never goes back"
    );
    assert_eq!(node.show("drop").await["state"], json!("open"));
    node.claim("drop", "ann").await.says(200, "already_won");
    node.clock(3_601 * SECOND);
    let cem = node.claim("drop", "cem").await.says(201, "won");
    assert_eq!(cem["at"], json!("2027-03-01T01:00:01.000000Z"));
}

#[tokio::test(start_paused = true)]
async fn a_clock_ten_minutes_forward_opens_what_is_due_and_eats_nobodys_time() {
    let node = Inside::new().await;
    node.put("drop", &one_pool("2027-03-01T00:05:00Z", 9)).await.says(201, "created");
    let (position, service) =
        (node.position(), node.app.node.replica.look(|state| state.service()));
    node.clock(600 * SECOND);
    node.beyond(position).await;
    assert_eq!(node.show("drop").await["state"], json!("open"));
    let served = node.app.node.replica.look(|state| state.service()) - service;
    assert_eq!(served, 15 * SECOND, "a jump counts as fifteen seconds of service");
    let won = node.claim("drop", "ann").await.says(201, "won");
    assert_eq!(won["at"], json!("2027-03-01T00:10:00.000000Z"));
}

#[tokio::test(start_paused = true)]
async fn a_finished_campaign_leaves_memory_after_its_time() {
    let keep_for = Some(Duration::from_secs(20));
    let node = Inside::with(Setup { keep_for, ..Setup::default() }).await;
    node.open("drop", 9).await.says(201, "created");
    node.open("live", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.post("/v1/campaigns/drop/close").await.says(200, "changed");
    node.clock(19 * SECOND);
    tokio::time::sleep(Duration::from_secs(45)).await;
    assert_eq!(node.show("drop").await["state"], json!("closed"));
    let position = node.position();
    node.clock(20 * SECOND);
    node.beyond(position).await;
    node.get("/v1/campaigns/drop").await.refuses("archived", "drop");
    node.claim("drop", "ann").await.refuses("archived", "drop");
    let list = node.get("/v1/campaigns").await.json();
    assert_eq!(list["archived"][0]["campaign"], json!("drop"));
    assert_eq!(list["archived"][0]["archived_at"], json!("2027-03-01T00:00:20.000000Z"));
    assert_eq!(list["campaigns"][0]["campaign"], json!("live"));
}
