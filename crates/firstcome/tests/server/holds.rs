//! Holds over the routes: set aside, paid for, given back, too late.

use crate::inside::Inside;
use crate::wire::Answer;
use firstcome_faults::faulty::{Fault, JournalCall};
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000;
/// A hall of two rows of four seats, and a floor.
const SEATS: &str = "name,section,row,number,grade,price_minor,currency,capacity\n\
    A1,stalls,A,1,R,9000,KRW,\nA2,stalls,A,2,R,9000,KRW,\nA3,stalls,A,3,R,9000,KRW,\nA4,stalls,A,4,R,9000,KRW,\n\
    B1,stalls,B,1,S,5000,KRW,\nB2,stalls,B,2,S,5000,KRW,\nB3,stalls,B,3,S,5000,KRW,\nB4,stalls,B,4,S,5000,KRW,\n\
    floor,,,,G,1000,KRW,10\n";

impl Inside {
    /// Opens a campaign with a hall, where a hold lasts 60 s.
    pub(crate) async fn hall(&self, more: Value) {
        let mut settings = json!({"opens_at": "now", "hold_ttl_ms": 60_000, "allow_orphans": true,
            "pools": [{"name": "main", "kind": "seated"}]});
        for (name, value) in more.as_object().into_iter().flatten() {
            settings[name] = value.clone();
        }
        self.put("hall", &settings).await.says(201, "created");
        let path = "/v1/campaigns/hall/pools/main/seats";
        let csv = [("content-type", "text/csv")];
        let added = self.ask_with("POST", path, &csv, SEATS).await.says(200, "imported");
        assert_eq!((&added["seats"], &added["areas"]), (&json!(8), &json!(1)));
    }

    pub(crate) async fn tell(&self, path: &str, body: Value) -> Answer {
        let path = format!("/v1/campaigns/hall/{path}");
        self.ask_with("POST", &path, &[], body.to_string()).await
    }

    pub(crate) async fn hold(&self, id: &str, subject: &str, units: &[&str]) -> Answer {
        let picks = json!([{ "units": units }]);
        self.tell("holds", json!({"id": id, "subject": subject, "picks": picks})).await
    }

    pub(crate) async fn confirm(&self, id: &str, subject: &str, late: &str) -> Answer {
        self.tell(&format!("holds/{id}/confirm"), json!({"subject": subject, "late": late})).await
    }
}

fn names(answer: &Value) -> Vec<&str> {
    let units = answer["units"].as_array().unwrap();
    units.iter().map(|unit| unit["unit"].as_str().or(unit["area"].as_str()).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn two_seats_are_held_paid_for_and_gone() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let held = node.hold("h1", "ann", &["A1", "A2"]).await.says(201, "held");
    assert_eq!(names(&held), ["A1", "A2"]);
    assert_eq!(held["units"][0]["price_minor"], json!(9000));
    assert_eq!(held["expires_at"], json!("2027-03-01T00:01:00.000000Z"));
    let at = node.position();
    // Her retry, and whoever comes after her, cost no entry.
    let again = node.hold("h1", "ann", &["A1", "A2"]).await.says(200, "already_held");
    assert_eq!((names(&again), &again["decided"]), (vec!["A1", "A2"], &json!("replica")));
    let taken = node.hold("h2", "bob", &["A2", "A3"]).await.refuses("unit_taken", "");
    assert_eq!(taken["units"], json!([{"pool": "main", "unit": "A2"}]));
    assert_eq!(node.position(), at);
    node.hold("h2", "bob", &["Z9"]).await.refuses("no_such_unit", "");
    node.hold("h1", "ann", &["A3"]).await.refuses("id_reused", "");
    let has = node.hold("h3", "ann", &["A3"]).await.refuses("has_hold", "");
    assert_eq!(has["hold"], json!("h1"));
    node.confirm("h1", "bob", "refuse").await.refuses("not_yours", "");
    node.confirm("h9", "ann", "refuse").await.refuses("no_such_hold", "");
    let paid = node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    assert_eq!((&paid["units"][0]["rank"], &paid["units"][1]["rank"]), (&json!(1), &json!(2)));
    assert_eq!((&paid["left"], &paid["retaken"]), (&json!(0), &json!(false)));
    let again = node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    assert_eq!(again["units"], paid["units"]);
    let shown = node.get("/v1/campaigns/hall/holds/h1?subject=ann").await.json();
    assert_eq!((&shown["state"], &shown["held"]), (&json!("confirmed"), &json!(0)));
    node.get("/v1/campaigns/hall/holds/h1?subject=bob").await.refuses("not_yours", "");
    let campaign = node.show("hall").await;
    assert_eq!((&campaign["pools"][0]["kind"], &campaign["left"]), (&json!("seated"), &json!(16)));
}

#[tokio::test(start_paused = true)]
async fn a_hold_grows_shrinks_lasts_longer_and_is_given_back() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    let ann = |more: Value| {
        let mut body = json!({"subject": "ann"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let more = json!({"picks": [{"area": "floor", "quantity": 3}, {"best": 2, "grade": "S"}]});
    let held = node.tell("holds/h1/add", ann(more)).await.says(201, "held");
    let floor = held["units"].as_array().unwrap().iter().find(|u| u["area"] == "floor").unwrap();
    assert_eq!(floor["quantity"], json!(3));
    assert_eq!(held["units"].as_array().unwrap().len(), 4);
    let less = node.tell("holds/h1/drop", ann(json!({"units": ["A1"]}))).await.says(201, "held");
    assert_eq!(less["units"].as_array().unwrap().len(), 3);
    node.hold("h2", "bob", &["A1"]).await.says(201, "held");
    node.clock(30 * SECOND);
    let longer = node.tell("holds/h1/extend", ann(json!({"ttl_ms": 90_000}))).await;
    let longer = longer.says(200, "extended");
    let until = longer["expires_at"].as_str().unwrap();
    assert!(until > "2027-03-01T00:01:00", "{until}");
    let gone = node.tell("holds/h1/release", ann(json!({}))).await.says(200, "released");
    assert_eq!(gone["left"], json!(0));
    node.tell("holds/h1/extend", ann(json!({}))).await.refuses("hold_released", "");
}

#[tokio::test(start_paused = true)]
async fn who_pays_too_late_is_told_what_becomes_of_it() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    for (id, subject, seat) in [("h1", "ann", "A1"), ("h2", "bob", "A2")] {
        node.hold(id, subject, &[seat]).await.says(201, "held");
    }
    // Service time counts at most 15 s a step.
    for step in 1..=5 {
        node.clock(step * 15 * SECOND);
        node.claim("hall", "nobody").await.refuses("hold_required", "");
        node.tell("holds/h9/extend", json!({"subject": "zoe"})).await.refuses("no_such_hold", "");
    }
    node.confirm("h1", "ann", "refuse").await.refuses("hold_expired", "");
    let late = node.confirm("h1", "ann", "retake").await.says(200, "confirmed");
    assert_eq!(late["retaken"], json!(true));
    node.hold("h3", "cem", &["A2"]).await.says(201, "held");
    let due = node.confirm("h2", "bob", "retake").await.refuses("refund_due", "give back");
    assert_eq!((&due["changed"], &due["hold"]), (&json!("yes"), &json!("h2")));
    node.confirm("h2", "bob", "retake").await.refuses("refund_due", "give back");
}

#[tokio::test(start_paused = true)]
async fn a_chunk_with_bad_lines_changes_nothing_and_says_which() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let path = "/v1/campaigns/hall/pools/main/seats";
    let csv = "name,x\nC1,1\nC2,far\nC3,3\n,4\n";
    let headers = [("content-type", "text/csv")];
    let bad = node.ask_with("POST", path, &headers, csv).await.refuses("bad_seat", "line 3");
    assert_eq!(bad["errors"][0]["line"], json!(3));
    let lines = "{\"name\": \"C1\"}\n\n{\"name\": \"A1\", \"row\": \"Q\"}\n";
    let headers = [("content-type", "application/x-ndjson")];
    let bad = node.ask_with("POST", path, &headers, lines).await.refuses("bad_seat", "A1");
    assert_eq!(bad["errors"][0]["line"], json!(3));
    node.hold("h1", "ann", &["C1"]).await.refuses("no_such_unit", "");
    let headers = [("content-type", "text/csv")];
    let twice = "name,x,name\nC1,1,C2\n";
    node.ask_with("POST", path, &headers, twice)
        .await
        .refuses("bad_seat", "line 1: there are two columns name");
    // What is there just so is left out.
    let headers = [("content-type", "text/csv")];
    let again = node.ask_with("POST", path, &headers, SEATS).await.says(200, "imported");
    assert_eq!((&again["seats"], &again["areas"]), (&json!(0), &json!(0)));
}

#[tokio::test(start_paused = true)]
async fn names_that_look_alike_do_not_come_in_and_are_not_taken_for_one_another() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let path = "/v1/campaigns/hall/pools/main/seats";
    let add = async |names: &[&str]| {
        let rows: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        node.ask_with("POST", path, &[], json!(rows).to_string()).await
    };
    let among = add(&["N-1", "N-2", "n\u{2013}1"]).await;
    among.refuses("bad_seat", "line 3: \"n–1\" is \"N-1\" of line 1, spelled otherwise");
    let there = add(&["N-1", "a1"]).await;
    there.refuses("bad_seat", "line 2: \"a1\" is \"A1\", which is there, spelled otherwise");
    add(&["N-1", "N1", "A1 "]).await.refuses("bad_seat", "line 3");
    add(&["N-1", "N1", "A1"]).await.refuses("bad_seat", "is given already");
    let group = json!([{"name": "T1", "group": "n-1"}, {"name": "N-1"}]).to_string();
    node.ask_with("POST", path, &[], group).await.refuses("bad_seat", "line 2");
    let change = json!([{"name": "A1", "new_name": "a2"}]).to_string();
    node.ask_with("PATCH", path, &[], change).await.refuses("bad_seat", "\"A2\", which is there");
    let swap = json!([{"name": "A1", "new_name": "a1"}]).to_string();
    node.ask_with("PATCH", path, &[], swap).await.says(200, "seats_changed");
    node.hold("h1", "ann", &["A1"]).await.refuses("no_such_unit", "");
    node.hold("h1", "ann", &["a1"]).await.says(201, "held");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_packed_or_in_utf_16_is_refused_by_name() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let path = "/v1/campaigns/hall/pools/main/seats";
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let refused = node.ask_with("POST", path, &packed, "x").await;
    refused.refuses("unsupported_media_type", "without Content-Encoding: gzip");
    let claim = r#"{"subject": "ann"}"#;
    let refused = node.ask_with("POST", "/v1/campaigns/hall/claims", &packed, claim).await;
    refused.refuses("unsupported_media_type", "without Content-Encoding: gzip");
    let plain = [("content-type", "application/json"), ("content-encoding", "Identity")];
    node.ask_with("POST", path, &plain, r#"[{"name": "P1"}]"#).await.says(200, "imported");
    let file: Vec<u8> = "\u{feff}name\nP2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let table = [("content-type", "text/csv")];
    node.ask_with("POST", path, &table, file).await.refuses("invalid_request", "UTF-16");
    let other = [("content-type", "text/csv; header=present; Charset=\"ISO-8859-1\"")];
    node.ask_with("POST", path, &other, "name\nP2\n")
        .await
        .refuses("unsupported_media_type", "ISO-8859-1");
    let marked = [("content-type", "application/json; charset=UTF-8")];
    let seat = "\u{feff}[{\"name\": \"P2\"}]";
    node.ask_with("POST", path, &marked, seat).await.says(200, "imported");
}

#[tokio::test(start_paused = true)]
async fn an_operator_blocks_unblocks_and_moves() {
    let node = Inside::new().await;
    node.hall(json!({})).await;
    let why = |units: &[&str]| json!({"units": units, "reason": "a pillar"});
    let blocked = node.tell("pools/main/block", why(&["A1", "A2"])).await.says(200, "blocked");
    assert_eq!(blocked["units"], json!(2));
    node.hold("h1", "ann", &["A1"]).await.refuses("not_for_sale", "");
    node.tell("pools/main/unblock", why(&["A1"])).await.says(200, "unblocked");
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    node.tell("pools/main/block", why(&["A1"])).await.refuses("unit_taken", "");
    let ask = json!({"from": "A1", "to": "B1", "reason": "a broken seat"});
    let moved = node.tell("pools/main/move", ask.clone()).await.says(200, "moved");
    assert_eq!((&moved["to"], &moved["rank"]), (&json!("B1"), &json!(null)));
    node.tell("pools/main/move", ask).await.refuses("not_held", "");
    node.tell("pools/main/block", json!({"units": ["A1"], "reason": ""}))
        .await
        .refuses("invalid_request", "reason");
}

#[tokio::test(start_paused = true)]
async fn seats_may_come_with_their_campaign() {
    let node = Inside::new().await;
    let seats = json!([{"name": "A1", "row": "A"}, {"name": "A2", "row": "A"}]);
    let pools = json!([{"name": "main", "kind": "seated", "seats": seats}]);
    node.put("hall", &json!({"opens_at": "now", "pools": pools})).await.says(201, "created");
    node.hold("h1", "ann", &["A1", "A2"]).await.says(201, "held");
    let pools = json!([{"name": "main", "kind": "seated", "capacity": 5}]);
    node.put("other", &json!({"pools": pools})).await.refuses("invalid_settings", "capacity");
    let pools = json!([{"name": "main", "seats": [{"name": "A1"}], "capacity": 1}]);
    node.put("other", &json!({"pools": pools})).await.refuses("invalid_settings", "seats");
}

/// The campaign and its seats are two commands: whoever asks again has what was left undone between them.
#[tokio::test(start_paused = true)]
async fn a_put_that_got_half_way_is_done_by_the_same_put() {
    let hall = |seats: &[&str]| {
        let seats: Vec<Value> = seats.iter().map(|name| json!({"name": name})).collect();
        let pools = json!([{"name": "main", "kind": "seated", "seats": seats}]);
        json!({"opens_at": "now", "pools": pools})
    };
    let refused = |answer: Answer, outcome: &str, changed: &str| -> String {
        let problem = answer.json();
        assert_eq!((&problem["outcome"], &problem["changed"]), (&json!(outcome), &json!(changed)));
        problem["detail"].as_str().unwrap().to_owned()
    };
    for id in [None, Some("once")] {
        let node = Inside::new().await;
        let put = async |wanted: &Value| {
            let mut headers: Vec<(&str, &str)> =
                id.map(|id| ("idempotency-key", id)).into_iter().collect();
            headers.extend(id.map(|_| ("if-none-match", "*")));
            node.ask_with("PUT", "/v1/campaigns/hall", &headers, wanted.to_string()).await
        };
        node.journal.fault(JournalCall::Append, 2, Fault::Refuse);
        let detail = refused(put(&hall(&["A1", "A2"])).await, "unavailable", "yes");
        assert!(detail.starts_with("the rest is done, the seats of pool \"main\" are not added: "));
        assert!(!detail.contains("nothing changed"), "{detail}");
        assert_eq!(node.show("hall").await["left"], json!(0), "the campaign is there");
        node.hold("h1", "ann", &["A1"]).await.refuses("no_such_unit", "");
        // Asked once more, and twice.
        let said = if id.is_some() { (201, "created") } else { (200, "unchanged") };
        for _ in 0..2 {
            put(&hall(&["A1", "A2"])).await.says(said.0, said.1);
            assert_eq!(node.show("hall").await["left"], json!(2));
        }
    }
    // Where nothing else was done, nothing is said to be.
    let node = Inside::new().await;
    refused(node.put("hall", &hall(&["A1", "A1"])).await, "bad_seat", "yes");
    refused(node.put("hall", &hall(&["A1", "A1"])).await, "bad_seat", "no");
}

#[tokio::test(start_paused = true)]
async fn what_one_cannot_have_is_refused_by_name() {
    let node = Inside::new().await;
    node.hall(json!({"allow_orphans": false, "holds_per_hour": 1})).await;
    let left = node.hold("h1", "ann", &["A2"]).await.refuses("orphan_left", "");
    assert_eq!(left["units"], json!([{"pool": "main", "unit": "A1"}]));
    let floor = json!({"area": "floor", "quantity": 500});
    let ask = json!({"id": "h1", "subject": "ann", "picks": [floor, floor]});
    node.tell("holds", ask).await.refuses("too_many_units", "");
    node.hold("h1", "ann", &["A1"]).await.says(201, "held");
    node.confirm("h1", "ann", "refuse").await.says(200, "confirmed");
    let longer = node.tell("holds/h1/extend", json!({"subject": "ann"})).await;
    longer.refuses("already_confirmed", "");
    let again = node.hold("h2", "ann", &["B1"]).await;
    let said = [again.outcome(), again.header("retry-after").unwrap_or_default().to_owned()];
    assert_eq!(said, ["too_many_holds", "60"]);
    node.open("drop", 3).await.says(201, "created");
    let path = "/v1/campaigns/drop/pools/main/seats";
    let seats = json!([{"name": "A1"}]).to_string();
    node.ask_with("POST", path, &[], seats).await.refuses("not_seated", "");
    node.get(path).await.refuses("not_seated", "");
    // Every form of a pick that is none says so.
    for (pick, why) in [
        (json!({}), "units, or a quantity"),
        (json!({"units": ["A1"], "best": 2}), "units, or a quantity"),
        (json!({"units": []}), "0 units"),
        (json!({"quantity": 0, "area": "floor"}), "0 units"),
        (json!({"units": ["A1"], "grade": "R"}), "go with best"),
        (json!({"best": 101}), "101 units: 1 to 100"),
        (json!({"quantity": 501, "area": "floor"}), "501 units: 1 to 500"),
        (json!({"best": 1, "price_minor": 5}), "price_minor and currency"),
        (json!({"best": 1, "price_minor": 5, "currency": "won"}), "capital"),
    ] {
        let ask = json!({"id": "h3", "subject": "bob", "picks": [pick]});
        node.tell("holds", ask).await.refuses("invalid_request", why);
    }
}
