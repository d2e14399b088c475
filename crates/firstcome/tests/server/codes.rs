//! Coupon codes: issued, reserved, redeemed, rolled back, marked; and each refusal on the way.

use crate::inside::{Inside, Setup};
use crate::process::Server;
use crate::settling::settled;
use crate::wire::Answer;
use firstcome_http::guard::Guards;
use firstcome_http::guard::token::{TokenKey, TokenKeys};
use serde_json::{Value, json};

impl Inside {
    pub(crate) async fn coded(&self, campaign: &str, pool: Value) {
        let mut pool = pool;
        (pool["name"], pool["kind"]) = (json!("main"), json!("coded"));
        let settings = json!({"opens_at": "now", "pools": [pool]});
        self.put(campaign, &settings).await.says(201, "created");
    }

    /// Claims a code, and gives it.
    pub(crate) async fn issue(&self, campaign: &str, subject: &str) -> String {
        let won = self.claim(campaign, subject).await.says(201, "won");
        won["code"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn codes(&self, verb: &str, body: Value) -> Answer {
        self.codes_of("sale", verb, body).await
    }

    pub(crate) async fn codes_of(&self, campaign: &str, verb: &str, body: Value) -> Answer {
        let path = format!("/v1/campaigns/{campaign}/codes/{verb}");
        self.ask_with("POST", &path, &[], body.to_string()).await
    }
}

fn step(code: &str, reference: &str) -> Value {
    json!({"code": code, "reference": reference})
}

#[tokio::test(start_paused = true)]
async fn a_code_lives_through_each_step_and_each_step_repeats_its_answer() {
    let node = Inside::new().await;
    node.coded("sale", json!({"capacity": 10})).await;
    let code = node.issue("sale", "ann").await;
    assert_eq!((code.len(), code.matches('-').count()), (19, 3), "groups of four");
    assert_eq!(node.claim("sale", "ann").await.says(200, "already_won")["code"], json!(code));
    assert_ne!(node.issue("sale", "bob").await, code);

    let reserved = node.codes("reserve", step(&code, "o1")).await.says(201, "reserved");
    assert_eq!((&reserved["rank"], &reserved["pool"]), (&json!(1), &json!("main")));
    let again = node.codes("reserve", step(&code, "o1")).await.says(200, "already_reserved");
    assert_eq!(again["expires_at"], reserved["expires_at"]);
    node.codes("reserve", step(&code, "o2")).await.refuses("code_reserved", "sale");
    node.codes("redeem", step(&code, "o2")).await.refuses("code_reserved", "");
    node.codes("release", step(&code, "o2")).await.refuses("not_reserved", "");
    node.codes("roll-back", step(&code, "o1")).await.refuses("not_redeemed", "");
    node.codes("release", step(&code, "o1")).await.says(200, "reservation_ended");
    node.codes("release", step(&code, "o1")).await.says(200, "reservation_ended");

    // As people type it.
    let typed = format!("  {} ", code.to_lowercase().replace('-', " "));
    let redeemed = node.codes("redeem", step(&typed, "o1")).await.says(200, "redeemed");
    let again = node.codes("redeem", step(&code, "o1")).await.says(200, "redeemed");
    assert_eq!(again["at"], redeemed["at"]);
    node.codes("reserve", step(&code, "o1")).await.refuses("already_redeemed", "");
    node.codes("release", step(&code, "o1")).await.refuses("already_redeemed", "");
    node.codes("redeem", step(&code, "o2")).await.refuses("code_used", "");
    let back = node.codes("roll-back", step(&code, "o1")).await.says(200, "rolled_back");
    let again = node.codes("roll-back", step(&code, "o1")).await.says(200, "rolled_back");
    assert_eq!((&again["at"], &again["expired"]), (&back["at"], &json!(false)));
    node.codes("redeem", step(&code, "o1")).await.refuses("already_rolled_back", "");
    node.codes("redeem", step(&code, "o2")).await.says(200, "redeemed");
    // Cancelled, used by another, and the first order is opened again.
    node.codes("reserve", step(&code, "o1")).await.refuses("reused_since", "");

    let found = node.codes("look-up", json!({ "code": code })).await.json();
    let found = &found["codes"][0];
    assert_eq!((&found["code"], &found["standing"]), (&json!(code), &json!("redeemed")));
    let states: Vec<_> = found["references"].as_array().unwrap().iter().collect();
    assert_eq!((&states[0]["reference"], &states[0]["state"]), (&json!("o2"), &json!("redeemed")));
    assert_eq!(
        (&states[1]["state"], &states[1]["redeemed_at"]),
        (&json!("rolled_back"), &redeemed["at"])
    );
    let of_ann = node.codes("look-up", json!({"subject": "ann"})).await.json();
    assert_eq!(of_ann["codes"][0], *found);
    node.codes("look-up", json!({"subject": "zed"})).await.refuses("no_such_claim", "");
    node.codes("look-up", json!({})).await.refuses("invalid_request", "give one of them");
}

#[tokio::test(start_paused = true)]
async fn a_typing_error_is_no_guess_and_a_code_of_elsewhere_is_none_here() {
    let node = Inside::new().await;
    node.coded("sale", json!({"capacity": 10})).await;
    node.coded("other", json!({"capacity": 10})).await;
    node.open("plain", 5).await.says(201, "created");
    let (code, elsewhere) = (node.issue("sale", "ann").await, node.issue("other", "ann").await);
    let mut wrong = code.clone();
    let last = wrong.pop().unwrap();
    wrong.push(if last == '2' { '3' } else { '2' });
    for typed in [&*wrong, "", "4F2K", "not a code at all"] {
        let refused = node.codes("redeem", step(typed, "o1")).await;
        refused.refuses("malformed", "a typing error");
    }
    node.codes("redeem", step(&elsewhere, "o1")).await.refuses("no_such_code", "sale");
    node.codes_of("plain", "redeem", step(&code, "o1")).await.refuses("not_coded", "");
    node.codes_of("none", "redeem", step(&code, "o1")).await.refuses("not_found", "none");
    let mut nowhere = step(&code, "o1");
    nowhere["pool"] = json!("elsewhere");
    node.codes("redeem", nowhere).await.refuses("not_found", "no such pool");
    for (body, why) in [
        (json!({"code": code}), "the body is not right"),
        (json!({"code": code, "reference": ""}), "the reference"),
        (json!({"code": code, "reference": "x".repeat(65)}), "the reference"),
        (json!({"code": code, "reference": "o1", "ttl_ms": 999}), "ttl_ms is outside"),
    ] {
        let refused = node.codes("reserve", body).await.refuses("invalid_request", why);
        assert!(!refused.to_string().contains(&code), "{refused}");
    }
    let hold = json!({"id": "h1", "subject": "ann", "picks": [{"pool": "main", "quantity": 1}]});
    let held = node.ask_with("POST", "/v1/campaigns/sale/holds", &[], hold.to_string()).await;
    held.refuses("claim_required", "");
}

#[tokio::test(start_paused = true)]
async fn who_may_use_a_code_and_when() {
    let node = Inside::new().await;
    let own = json!({"capacity": 9, "codes": {"only_by_holder": true}});
    node.coded("sale", own).await;
    let code = node.issue("sale", "ann").await;
    let by = |subject: &str| json!({"code": code, "reference": "o1", "subject": subject});
    node.codes("redeem", step(&code, "o1")).await.refuses("subject_required", "");
    node.codes("redeem", by("bob")).await.refuses("not_yours", "");
    node.codes("redeem", by("ann")).await.says(200, "redeemed");

    node.coded("open", json!({"capacity": 9, "codes": {"uses": 5, "uses_per_subject": 1}})).await;
    let code = node.issue("open", "ann").await;
    let by = |reference: &str, subject: &str| json!({"code": code, "reference": reference, "subject": subject});
    node.codes_of("open", "reserve", by("o1", "bob")).await.says(201, "reserved");
    node.codes_of("open", "redeem", by("o1", "cem")).await.refuses("id_reused", "");
    node.codes_of("open", "redeem", by("o2", "bob")).await.refuses("limit_reached", "");
    let bar = json!({"subject": "cem", "reason": "sold on"}).to_string();
    node.ask_with("POST", "/v1/campaigns/open/bars", &[], bar).await.says(200, "bar_set");
    node.codes_of("open", "redeem", by("o3", "cem")).await.refuses("barred", "sold on");

    // A live reservation wins over expiry; without one it is too late.
    let until = json!({"capacity": 9, "codes": {"uses": 2, "valid_until": "2027-03-01T00:00:10Z"}});
    node.coded("short", until).await;
    let code = node.issue("short", "ann").await;
    node.codes_of("short", "reserve", step(&code, "o1")).await.says(201, "reserved");
    node.clock(11_000_000);
    node.codes_of("short", "redeem", step(&code, "o2")).await.refuses("code_expired", "");
    node.codes_of("short", "redeem", step(&code, "o1")).await.says(200, "redeemed");
    let back = node.codes_of("short", "roll-back", step(&code, "o1")).await;
    assert_eq!(back.says(200, "rolled_back")["expired"], json!(true));
}

#[tokio::test(start_paused = true)]
async fn operators_suspend_restore_replace_and_revoke() {
    let node = Inside::new().await;
    node.coded("sale", json!({"capacity": 9})).await;
    let code = node.issue("sale", "ann").await;
    let marks = json!({"codes": [code, "garbage", "AAAA-AAAA-AAAA-AAAA"], "reason": "leaked"});
    let marked = node.codes("suspend", marks).await.says(200, "codes_marked");
    assert_eq!((&marked["changed"], &marked["unknown"]), (&json!(1), &json!([1, 2])));
    node.codes("redeem", step(&code, "o1")).await.refuses("code_suspended", "");
    let restored = node.codes("restore", json!({"ranks": [1, 7]})).await.says(200, "codes_marked");
    assert_eq!((&restored["changed"], &restored["unknown"]), (&json!(1), &json!([1])));
    node.codes("reserve", step(&code, "o1")).await.says(201, "reserved");
    node.cancel("sale", "ann", "rank=1&reason=x").await.refuses("code_in_use", "");

    let replace = json!({"subject": "ann", "rank": 1, "issue": 2, "reason": "lost"});
    let new = node.codes("reissue", replace.clone()).await.says(200, "reissued");
    assert_ne!(new["code"], json!(code));
    let again = node.codes("reissue", replace.clone()).await.says(200, "reissued");
    assert_eq!((&again["code"], &again["issue"]), (&new["code"], &json!(2)));
    node.codes("redeem", step(&code, "o9")).await.refuses("code_revoked", "");
    let third = node.codes("reissue", json!({"subject": "ann", "rank": 1})).await;
    let third = third.says(200, "reissued");
    assert_eq!(third["issue"], json!(3));
    let stale = node.codes("reissue", replace).await.refuses("reissued_since", "");
    assert_eq!(stale["issue"], json!(3));
    let missing = json!({"subject": "bob", "rank": 1});
    node.codes("reissue", missing).await.refuses("no_such_claim", "");

    let now = third["code"].as_str().unwrap();
    node.codes("revoke", json!({"codes": [now]})).await.says(200, "codes_marked");
    node.codes("redeem", step(now, "o3")).await.refuses("code_revoked", "");
    let found = node.codes("look-up", json!({"code": now})).await.json();
    let what: Vec<_> = found["codes"][0]["marks"].as_array().unwrap().iter().collect();
    let what: Vec<_> = what.iter().map(|mark| mark["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["suspend", "restore", "reissue", "reissue", "revoke"]);
    for (body, why) in [
        (json!({}), "give one of"),
        (json!({"codes": [now], "ranks": [1]}), "give one of"),
        (json!({"ranks": [1], "reason": "x".repeat(257)}), "a reason has up to 256 bytes"),
    ] {
        node.codes("revoke", body).await.refuses("invalid_request", why);
    }
    let many: Vec<u32> = (0..4_001).collect();
    node.codes("revoke", json!({"ranks": many})).await.refuses("too_large", "4001 codes");
}

#[test]
fn a_campaign_stays_in_memory_while_its_codes_can_be_redeemed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let (mut talk, none) = (server.talk(), json!({}));
    let pools = json!([{"name": "main", "kind": "coded", "capacity": 9}]);
    let settings = json!({"opens_at": "now", "pools": pools});
    talk.put("/v1/campaigns/sale", &settings).says(201, "created");
    talk.claim("sale", "ann").says(201, "won");
    talk.post("/v1/campaigns/sale/close", &none).says(200, "changed");
    settled(&mut talk);
    talk.post("/v1/campaigns/sale/archive", &none).refuses("codes_valid", "");
    // Everything is settled: what is dropped is the codes.
    let dropped = json!({"drop_unsettled": true});
    talk.post("/v1/campaigns/sale/archive", &dropped).says(200, "changed");
}

#[tokio::test(start_paused = true)]
async fn a_code_remembers_so_many_references_and_no_more() {
    let node = Inside::new().await;
    node.coded("sale", json!({"capacity": 9})).await;
    let code = node.issue("sale", "ann").await;
    for n in 0..1_001 {
        let step = step(&code, &format!("o{n}"));
        node.codes("reserve", step.clone()).await.says(201, "reserved");
        node.codes("release", step).await.says(200, "reservation_ended");
    }
    node.codes("redeem", step(&code, "new")).await.refuses("too_many_references", "");
    node.codes("redeem", step(&code, "o7")).await.says(200, "redeemed");
    let found = node.codes("look-up", json!({ "code": code })).await.json();
    assert_eq!(found["codes"][0]["references"].as_array().unwrap().len(), 1_000);
    assert_eq!(found["more"], json!(true));
}

#[tokio::test(start_paused = true)]
async fn a_code_is_shown_to_its_subject_to_keys_that_redeem_and_in_the_export() {
    let mut tokens = TokenKeys::default();
    tokens.add("main", TokenKey::secret(&"s".repeat(40)).unwrap());
    let guards = Guards { tokens, ..Guards::default() };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.coded("sale", json!({"capacity": 9})).await;
    let code = node.issue("sale", "ann").await;
    let claims = "/v1/campaigns/sale/claims/ann";
    let ask = async |key: &str, path: &str| {
        let bearer = format!("Bearer {key}");
        node.ask_with("GET", path, &[("authorization", &bearer), ("content-type", "")], "").await
    };
    for (key, sees) in
        [("a-reading-key---", false), ("a-redeeming-key-", true), ("a-backend-key---", true)]
    {
        for path in [claims, "/v1/subjects/ann"] {
            let answer = ask(key, path).await;
            assert_eq!((answer.status, answer.text().contains(&code)), (200, sees), "{key} {path}");
        }
        let plain = ask(key, "/v1/campaigns/sale/winners").await;
        assert!(!plain.text().contains(&code), "nobody asked for codes");
        for format in ["json", "ndjson", "csv"] {
            let path = format!("/v1/campaigns/sale/winners?with_codes=true&format={format}");
            let export = ask(key, &path).await;
            assert_eq!(export.text().contains(&code), sees, "{key} {format}: {}", export.text());
            assert_eq!(export.status, if sees { 200 } else { 403 });
        }
    }
    let mint = json!({"subject": "ann", "campaign": "sale"}).to_string();
    let token = node.ask_with("POST", "/v1/tokens", &[], mint).await.says(201, "minted");
    let token = token["token"].as_str().unwrap();
    assert!(ask(token, claims).await.text().contains(&code));
    // A browser reserves for its subject; the rest is the back end's.
    let bearer = format!("Bearer {token}");
    let tell = async |verb: &str, body: Value| {
        let path = format!("/v1/campaigns/sale/codes/{verb}");
        node.ask_with("POST", &path, &[("authorization", &bearer)], body.to_string()).await
    };
    tell("reserve", step(&code, "o1")).await.says(201, "reserved");
    let other = json!({"code": code, "reference": "o1", "subject": "bob"});
    tell("reserve", other).await.refuses("forbidden", "another subject");
    for verb in ["redeem", "roll-back", "release", "look-up"] {
        tell(verb, step(&code, "o1")).await.refuses("forbidden", "a subject token");
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_codes_are_counted_and_slow_a_customer_and_a_token_down_but_never_a_key() {
    let mut tokens = TokenKeys::default();
    tokens.add("main", TokenKey::secret(&"s".repeat(40)).unwrap());
    let guards = Guards { tokens, ..Guards::default() };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.coded("sale", json!({"capacity": 9})).await;
    node.coded("other", json!({"capacity": 9})).await;
    let (code, wrong) = (node.issue("sale", "ann").await, node.issue("other", "ann").await);
    for _ in 0..30 {
        node.codes("redeem", step(&wrong, "o1")).await.refuses("no_such_code", "");
    }
    let by = |code: &str, customer: &str| json!({"code": code, "reference": "o1", "for": customer});
    for _ in 0..30 {
        node.codes("redeem", by("a typing error", "eve")).await.refuses("malformed", "");
    }
    for _ in 0..10 {
        node.codes("redeem", by(&wrong, "eve")).await.refuses("no_such_code", "");
    }
    let slowed = |answer: &Answer| {
        let said =
            (answer.status, answer.outcome(), answer.header("retry-after").unwrap().to_owned());
        assert_eq!(said, (429, "too_many_wrong_codes".to_owned(), "60".to_owned()));
        assert_eq!(answer.json()["limit"], json!("for"), "too_many_wrong_codes");
    };
    for code in [&wrong, &code] {
        slowed(&node.codes("redeem", by(code, "eve")).await);
    }
    node.codes("look-up", by(&code, "dan")).await.refuses("invalid_request", "");
    let mut look = json!({"code": wrong, "for": "eve"});
    slowed(&node.codes("look-up", look.clone()).await);
    look["for"] = json!("dan");
    node.codes("look-up", look).await.refuses("no_such_code", "");
    node.codes("reserve", by(&code, "dan")).await.says(201, "reserved");
    // A minute later she may try again.
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    node.codes("redeem", by(&code, "eve")).await.says(200, "redeemed");

    let mint = json!({"subject": "eve", "campaign": "sale"}).to_string();
    let token = node.ask_with("POST", "/v1/tokens", &[], mint).await.says(201, "minted");
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let mut answers = Vec::new();
    for _ in 0..12 {
        let path = "/v1/campaigns/sale/codes/reserve";
        let headers = [("authorization", bearer.as_str())];
        let answer = node.ask_with("POST", path, &headers, step(&wrong, "o2").to_string()).await;
        answers.push(answer.status);
    }
    assert_eq!(answers, [vec![404; 10], vec![429; 2]].concat());
    let counts = node.get("/metrics").await.text();
    assert!(counts.contains("firstcome_wrong_codes_total{key=\"admin\"} 41"), "{counts}");
    assert!(counts.contains("firstcome_wrong_codes_total{key=\"subject_token\"} 10"), "{counts}");
}

#[tokio::test(start_paused = true)]
async fn two_servers_redeem_at_one_instant_and_one_of_them_does() {
    let (one, two) = Inside::two().await;
    one.coded("sale", json!({"capacity": 100})).await;
    for n in 0..50 {
        let code = one.issue("sale", &format!("s{n}")).await;
        let min = format!("?min_position={}", one.app.node.replica.look(|state| state.token()));
        let verb = format!("redeem{min}");
        let (first, second) =
            tokio::join!(one.codes(&verb, step(&code, "o1")), two.codes(&verb, step(&code, "o2")));
        let mut said = [first.outcome(), second.outcome()];
        said.sort();
        assert_eq!(said, ["code_used", "redeemed"], "round {n}");
        // One order, sent to both: both say the same.
        let code = one.issue("sale", &format!("t{n}")).await;
        let min = format!("?min_position={}", one.app.node.replica.look(|state| state.token()));
        let verb = format!("redeem{min}");
        let (first, second) =
            tokio::join!(one.codes(&verb, step(&code, "o1")), two.codes(&verb, step(&code, "o1")));
        let at = |answer: &Answer| answer.says(200, "redeemed")["at"].clone();
        assert_eq!(at(&first), at(&second), "round {n}");
        let verb = format!("roll-back{min}");
        let (first, second) =
            tokio::join!(one.codes(&verb, step(&code, "o1")), two.codes(&verb, step(&code, "o1")));
        let at = |answer: &Answer| answer.says(200, "rolled_back")["at"].clone();
        assert_eq!(at(&first), at(&second), "round {n}");
    }
}

/// What issued a code may be lost until it is durable, and the code may go to somebody else then.
#[tokio::test(start_paused = true)]
async fn no_code_is_shown_before_it_is_durable() {
    let node = Inside::confirmed_later().await;
    node.coded("sale", json!({"capacity": 10})).await;
    node.issue("sale", "ann").await;
    node.journal.hold_confirms();
    node.claim("sale", "bob").await.refuses("unknown", "");
    let paths = ["/v1/campaigns/sale/claims/bob", "/v1/subjects/bob"];
    let code = |claims: &Value| claims["claims"][0]["code"].clone();
    for path in paths {
        let shown = node.get(path).await.json();
        let claims = if shown["campaigns"].is_array() { &shown["campaigns"][0] } else { &shown };
        assert_eq!((&shown["durable"], &claims["claims"][0]["rank"]), (&json!(false), &json!(2)));
        assert_eq!(code(claims), Value::Null, "{path}");
    }
    let why = "what issued these codes is not durable yet";
    node.codes("look-up", json!({"subject": "bob"})).await.refuses("unavailable", why);
    let winners = "/v1/campaigns/sale/winners?with_codes=true";
    node.get(winners).await.refuses("unavailable", why);
    node.journal.confirm();
    let bobs = code(&node.get(paths[0]).await.json());
    assert!(bobs.is_string());
    assert_eq!(code(&node.get(paths[1]).await.json()["campaigns"][0]), bobs);
    assert_eq!(node.get(winners).await.json()["winners"][1]["code"], bobs);
    let found = node.codes("look-up", json!({"subject": "bob"})).await.json();
    assert_eq!(found["codes"][0]["code"], bobs);
}
