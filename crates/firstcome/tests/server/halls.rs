//! Maps and their changes: what a page that draws a hall lives on.

use crate::inside::Inside;
use axum::body::Body;
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::io::Read;
use std::time::Duration;

const MAP: &str = "/v1/campaigns/hall/pools/main/seats";

fn unpacked(bytes: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the next event's name and data.
async fn next(events: &mut Body) -> (String, Value) {
    let frame = events.frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.to_vec()).unwrap();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let data = field("data: ").map_or(Value::Null, |data| serde_json::from_str(data).unwrap());
    (field("event: ").unwrap_or_default().to_owned(), data)
}

#[tokio::test(start_paused = true)]
async fn a_map_shows_where_seats_are_and_how_they_stand() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let free = node.get(MAP).await;
    let tag = free.header("etag").unwrap().to_owned();
    let map = free.json();
    assert_eq!(map["standing"], json!("........"));
    let row = &map["rows"][0];
    assert_eq!((&row["section"], &row["prefix"]), (&json!("stalls"), &json!("A")));
    assert_eq!((&row["names"], &row["first"]), (&json!(["1", "2", "3", "4"]), &json!(0)));
    assert_eq!((&row["grade"], &row["price_minor"]), (&json!("R"), &json!(9000)));
    assert_eq!(map["areas"][0]["name"], json!("floor"));
    node.hold("h1", "ann", &["A2", "floor"]).await.says(201, "held");
    let packed = node.ask_with("GET", MAP, &[("accept-encoding", "br, gzip")], "").await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let map = unpacked(&packed.body);
    assert_eq!(map["standing"], json!(".h......"));
    assert_eq!(map["area_standing"], json!([[9, 1, 0, 0]]));
    let tag_now = packed.header("etag").unwrap().to_owned();
    assert_ne!(tag, tag_now);
    let known = [("if-none-match", tag_now.as_str())];
    assert_eq!(node.ask_with("GET", MAP, &known, "").await.status, 304);
    let letters = node.get(&format!("{MAP}?standing=1")).await;
    assert_eq!(letters.json()["standing"], json!(".h......"));
    assert!(letters.json().get("rows").is_none());
    let position = letters.json()["position"].as_str().unwrap().to_owned();
    assert_eq!(letters.header("etag"), Some(format!("\"{position}\"").as_str()));
    node.get("/v1/campaigns/hall/pools/none/seats").await.refuses("not_found", "");
}

#[tokio::test(start_paused = true)]
async fn who_follows_hears_what_changed_and_can_resume() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let map = node.get(MAP).await.json();
    let after = map["position"].as_str().unwrap();
    let mut events = node.follow(&format!("/v1/campaigns/hall/events?after={after}")).await;
    node.hold("h1", "ann", &["A2", "A3", "floor"]).await.says(201, "held");
    let (name, first) = next(&mut events).await;
    assert_eq!(name, "standing");
    let pool = &first["pools"][0];
    assert_eq!((&pool["pool"], &pool["left"]), (&json!("main"), &json!(15)));
    assert_eq!(
        (&pool["seats"], &pool["areas"]),
        (&json!({"h": [1, 2]}), &json!([[0, 9, 1, 0, 0]]))
    );
    node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    let (_, second) = next(&mut events).await;
    assert_eq!(second["pools"][0]["seats"], json!({"c": [1, 2]}));
    // Another one resumes behind the first.
    let at = first["position"].as_str().unwrap();
    let mut late = node.follow(&format!("/v1/campaigns/hall/events?after={at}")).await;
    assert_eq!(next(&mut late).await, ("standing".to_owned(), second));
    // One who brings nothing, or a position nobody looked at, has to fetch the map.
    for query in ["", "?after=0.1", "?after=nonsense"] {
        let mut lost = node.follow(&format!("/v1/campaigns/hall/events{query}")).await;
        assert_eq!(next(&mut lost).await.0, "reset");
    }
    // So has everybody when there are new seats.
    let more = json!([{"name": "C1"}]).to_string();
    node.ask_with("POST", MAP, &[], more).await.says(200, "imported");
    assert_eq!(next(&mut events).await.0, "reset");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_who_is_slow_is_told_so_and_nobody_waits_for_it() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let mut slow = node.follow("/v1/campaigns/hall/events").await;
    let mut quick = node.follow("/v1/campaigns/hall/events").await;
    assert_eq!(next(&mut slow).await.0, "reset");
    assert_eq!(next(&mut quick).await.0, "reset");
    for round in 0..150 {
        let id = format!("h{round}");
        let subject = format!("s{round}");
        node.hold(&id, &subject, &["A1"]).await.says(201, "held");
        assert_eq!(next(&mut quick).await.0, "standing");
        let body = json!({"subject": subject});
        node.tell(&format!("holds/{id}/release"), body).await.says(200, "released");
        assert_eq!(next(&mut quick).await.0, "standing");
    }
    assert_eq!(next(&mut slow).await.0, "reset");
}

#[tokio::test(start_paused = true)]
async fn the_map_of_a_hundred_thousand_seats_is_small() {
    let node = Inside::new().await;
    let pools = json!([{"name": "main", "kind": "seated"}]);
    let settings =
        json!({"opens_at": "now", "holds": "many", "allow_orphans": true, "pools": pools});
    node.put("hall", &settings).await.says(201, "created");
    let mut random = fastrand::Rng::with_seed(8);
    for section in 0..25 {
        let mut seats = Vec::new();
        for row in 1..=80 {
            for seat in 1..=50 {
                let name = format!("S{section:02}-R{row:02}-{seat}");
                let (section, row) = (format!("S{section:02}"), format!("R{row:02}"));
                seats.push(
                    json!({"name": name, "section": section, "row": row, "number": seat.to_string(),
                    "x": seat * 10, "y": 12, "grade": if seat < 20 { "R" } else { "S" },
                    "price_minor": 50_000 + section.len() as i64, "currency": "KRW"}),
                );
            }
        }
        let body = Value::from(seats).to_string();
        node.ask_with("POST", MAP, &[], body).await.says(200, "imported");
        // About half of them are somebody's, here and there.
        let mut units: Vec<String> = Vec::new();
        for row in 1..=80 {
            for seat in (1..=50).filter(|_| random.bool()) {
                units.push(format!("S{section:02}-R{row:02}-{seat}"));
            }
        }
        for (n, units) in units.chunks(500).enumerate() {
            let units: Vec<&str> = units.iter().map(String::as_str).collect();
            let id = format!("h{section}-{n}");
            node.hold(&id, &id, &units).await.says(201, "held");
            if n % 2 == 0 {
                node.confirm(&id, &id, "refuse").await.says(200, "confirmed");
            }
        }
    }
    let whole = node.ask_with("GET", MAP, &[("accept-encoding", "gzip")], "").await;
    let standing = format!("{MAP}?standing=1");
    let letters = node.ask_with("GET", &standing, &[("accept-encoding", "gzip")], "").await;
    println!("map {} B, standing {} B, compressed", whole.body.len(), letters.body.len());
    let map = unpacked(&whole.body);
    assert_eq!(map["standing"].as_str().unwrap().len(), 100_000);
    // All seats are in it once, and whoever does not take it compressed has the same.
    let rows = map["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 25 * 80);
    for (nth, row) in rows.iter().enumerate() {
        assert_eq!(row["first"], json!(nth * 50));
        assert_eq!(row["names"].as_array().unwrap().len(), 50);
    }
    assert_eq!(node.get(MAP).await.json(), map);
    assert_eq!(unpacked(&letters.body)["standing"], map["standing"]);
    assert!(whole.body.len() <= 300_000, "{} bytes", whole.body.len());
}

#[tokio::test(start_paused = true)]
async fn people_in_line_for_a_seat_get_it_in_the_order_they_came() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    node.hold("h0", "zoe", &["A1"]).await.says(201, "held");
    let wait = |id: &'static str, wait_ms: u64| {
        let picks = json!([{"units": ["A1"]}]);
        node.tell("holds", json!({"id": id, "subject": id, "picks": picks, "wait_ms": wait_ms}))
    };
    let first = async {
        let held = wait("ann", 3_000).await.says(201, "held");
        tokio::time::sleep(Duration::from_millis(100)).await;
        let body = json!({"subject": "ann"});
        node.tell("holds/ann/release", body).await.says(200, "released");
        held["position"].clone()
    };
    let second = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        wait("bob", 3_000).await.says(201, "held")
    };
    // Cem waits as well, but not for long enough, and whoever asks for a minute waits for three seconds.
    let third = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        wait("cem", 500).await.refuses("unit_taken", "")
    };
    let gives_back = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let before = node.position();
        let body = json!({"subject": "zoe"});
        node.tell("holds/h0/release", body).await.says(200, "released");
        before
    };
    let begin = node.position();
    let (_, _, _, before) = tokio::join!(first, second, third, gives_back);
    assert_eq!(before, begin, "waiting costs no entry");
    let asked = tokio::time::Instant::now();
    wait("dan", 60_000).await.refuses("unit_taken", "");
    assert_eq!(asked.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_subject_sees_what_it_has_everywhere() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    node.open("drop", 3).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    let has = node.get("/v1/subjects/ann").await.json();
    assert_eq!(has["campaigns"][0]["holds"][0]["hold"], json!("h1"));
    assert_eq!(has["campaigns"][1]["claims"][0]["rank"], json!(1));
    assert_eq!(node.get("/v1/subjects/bob").await.json()["campaigns"], json!([]));
}
