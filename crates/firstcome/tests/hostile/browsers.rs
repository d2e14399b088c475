//! Browsers with a subject token: they ask too often, take ids of others, and write formulas.

use crate::siege::{Siege, ask, key};
use serde_json::json;

const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";
const HOLDS: &str = "/v1/campaigns/hall/holds";

#[test]
fn a_token_that_reads_too_much_is_told_to_wait() {
    let siege = Siege::begin(&[("RATE_SUBJECT", "1/h burst 2")]);
    siege.talk().post(SEATS, &json!([{"name": "A1"}])).says(200, "imported");
    for (subject, path) in [
        ("eve", SEATS.to_owned()),
        ("eva", format!("{SEATS}?standing=1")),
        ("evi", "/v1/campaigns/hall".to_owned()),
        ("evo", format!("{HOLDS}/x")),
    ] {
        let mut browser = siege.browser(subject);
        let statuses: Vec<u16> = (0..30).map(|_| browser.get(&path).status).collect();
        assert!(!statuses[..2].contains(&429), "{path}: {statuses:?}");
        assert!(statuses[2..].iter().all(|status| *status == 429), "{path}: {statuses:?}");
    }
    siege.ends();
}

#[test]
fn a_formula_that_a_browser_wrote_is_text_in_a_table() {
    let siege = Siege::begin(&[]);
    let mut shop = siege.talk();
    shop.post(SEATS, &json!([{"name": "A1"}])).says(200, "imported");
    let formula = "=cmd|'/C calc'!A0";
    let mut mallory = siege.browser("mallory");
    let hold = json!({"id": formula, "subject": "mallory", "picks": [{"units": ["A1"]}]});
    mallory.post(HOLDS, &hold).says(201, "held");
    let confirm = format!("{HOLDS}/%3Dcmd%7C%27%2FC%20calc%27%21A0/confirm");
    shop.post(&confirm, &json!({"subject": "mallory"})).says(200, "confirmed");
    let table = shop.get("/v1/campaigns/hall/results?format=csv").text();
    assert!(table.contains(&format!("'{formula}")), "{table}");
    assert!(!table.contains(&format!(",{formula}")), "{table}");
    drop((shop, mallory));
    siege.ends();
}

#[test]
fn a_token_acts_for_its_subject_alone() {
    let siege = Siege::begin(&[]);
    siege.talk().post(SEATS, &json!([{"name": "A1"}, {"name": "A2"}])).says(200, "imported");
    let hold = |id: &str, subject: &str, seat: &str| json!({"id": id, "subject": subject, "picks": [{"units": [seat]}]});
    let (mut ann, mut eve) = (siege.browser("ann"), siege.browser("eve"));
    ann.post(HOLDS, &hold("h1", "ann", "A1")).says(201, "held");
    // What is somebody else's she neither takes, gives back, sees, nor pays for.
    eve.post(HOLDS, &hold("h2", "ann", "A2")).refuses("forbidden", "for another subject");
    let of_ann = json!({"subject": "ann"});
    let of_eve = json!({"subject": "eve"});
    eve.post(&format!("{HOLDS}/h1/release"), &of_ann).refuses("forbidden", "for another subject");
    eve.post(&format!("{HOLDS}/h1/release"), &of_eve).refuses("no_such_hold", "");
    eve.post(&format!("{HOLDS}/h1/confirm"), &of_eve).refuses("forbidden", "cannot");
    eve.get(&format!("{HOLDS}/h1?subject=ann")).refuses("forbidden", "for another subject");
    eve.claim("beside", "eve").refuses("forbidden", "this token is for");
    // Nor does she do what only keys do.
    let minted = json!({"subject": "ann", "campaign": "hall"});
    eve.post("/v1/tokens", &minted).refuses("forbidden", "and nothing else");
    eve.get("/v1/campaigns").refuses("forbidden", "and nothing else");
    eve.post("/v1/campaigns/hall/close", &json!({})).refuses("forbidden", "and nothing else");
    drop((ann, eve));
    siege.ends();
}

#[test]
fn an_answer_is_what_it_says_it_is() {
    let siege = Siege::begin(&[("CORS_ORIGINS", "https://shop.example")]);
    let mut talk = siege.talk();
    for origin in ["https://shop.example", "https://evil.example"] {
        let headers = [key(), ("origin", origin.to_owned())];
        let answer = ask(&mut talk, "GET", "/v1/campaigns/hall", &headers, None);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("vary"), Some("origin"));
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed.is_some(), origin.contains("shop"), "{allowed:?}");
    }
    drop(talk);
    siege.ends();
}
