//! A browser with a subject token acts for its subject, and for nobody else.

use crate::inside::{Inside, Setup, one_pool};
use crate::process::{KEY, Server, serve, verb};
use crate::wire::{Answer, Talk};
use firstcome_client::{Campaign, SeatMap, Subject};
use firstcome_http::guard::Guards;
use firstcome_http::guard::token::{TokenKey, TokenKeys};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(crate) const SECRET: &str = "a-secret-that-has-thirty-two-bytes";

pub(crate) async fn node() -> Inside {
    let mut tokens = TokenKeys::default();
    tokens.add("main", TokenKey::secret(SECRET).unwrap());
    let guards = Guards { tokens, ..Guards::default() };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.open("spring", 9).await.says(201, "created");
    node.open("summer", 9).await.says(201, "created");
    node
}

impl Inside {
    pub(crate) async fn mint(&self, key: &str, ask: Value) -> Answer {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", authorization.as_str())];
        self.ask_with("POST", "/v1/tokens", &headers, ask.to_string()).await
    }

    pub(crate) async fn token(&self, ask: Value) -> String {
        let minted = self.mint("a-backend-key---", ask).await.says(201, "minted");
        minted["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn browser(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> Answer {
        let authorization = format!("Bearer {token}");
        let mut headers = vec![("authorization", authorization.as_str())];
        if body.is_empty() {
            headers.push(("content-type", ""));
        }
        self.ask_with(method, path, &headers, body.to_owned()).await
    }
}

pub(crate) fn claim(subject: &str) -> String {
    json!({ "subject": subject }).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_browser_acts_for_its_subject_and_for_nobody_else() {
    let node = node().await;
    node.claim("spring", "bob").await.says(201, "won");
    let begin = node.position();
    let ann = node.token(json!({"subject": "ann", "campaign": "spring"})).await;
    assert_eq!(node.position(), begin, "a token is in no journal");
    let claims = "/v1/campaigns/spring/claims";
    node.browser(&ann, "POST", claims, &claim("ann")).await.says(201, "won");
    node.browser(&ann, "POST", claims, &claim("ann")).await.says(200, "already_won");
    let own = node.browser(&ann, "GET", &format!("{claims}/ann"), "").await;
    assert_eq!(own.json()["claims"][0]["rank"], json!(2));
    let position = node.position();

    let elsewhere = node.browser(&ann, "POST", "/v1/campaigns/summer/claims", &claim("ann")).await;
    elsewhere.refuses("forbidden", "this token is for spring, not for \"summer\"");
    let other = "this token is for another subject";
    node.browser(&ann, "POST", claims, &claim("bob")).await.refuses("forbidden", other);
    node.browser(&ann, "GET", &format!("{claims}/bob"), "").await.refuses("forbidden", other);
    let bobs = format!("{claims}/bob?rank=1");
    node.browser(&ann, "DELETE", &bobs, "").await.refuses("forbidden", other);
    let hers = format!("{claims}/ann?rank=2");
    let refused = node.browser(&ann, "DELETE", &hers, "").await;
    refused.refuses("forbidden", "does not let its subject cancel");
    // Everything else there is.
    let put = one_pool("now", 5).to_string();
    let mint = json!({"subject": "ann", "campaign": "spring"}).to_string();
    for (method, path, body) in [
        ("GET", "/v1/campaigns", ""),
        ("PUT", "/v1/campaigns/spring", &*put),
        ("POST", "/v1/campaigns/spring/pause", ""),
        ("POST", "/v1/campaigns/spring/close", ""),
        ("GET", "/v1/campaigns/spring/results", ""),
        ("GET", "/v1/campaigns/spring/winners", ""),
        ("GET", "/v1/nodes", ""),
        ("GET", "/v1/time", ""),
        ("GET", "/v1/audit", ""),
        ("GET", "/v1/forks", ""),
        ("GET", "/v1/settling", ""),
        ("POST", "/v1/reseed", ""),
        ("POST", "/v1/tokens", &*mint),
    ] {
        let answer = node.browser(&ann, method, path, body).await;
        answer.refuses(
            "forbidden",
            "a subject token claims, holds, cancels and looks up for its subject",
        );
    }
    assert_eq!(node.position(), position, "nothing was appended");

    let ask = json!({"subject": "ann", "campaign": "spr*", "cancel": true, "expires_in_s": 60});
    let ann = node.token(ask).await;
    let by_operator = format!("{hers}&by=operator&reason=x");
    node.browser(&ann, "DELETE", &by_operator, "")
        .await
        .refuses("forbidden", "a subject token may cancel on the subject's word only");
    let cancelled = node.browser(&ann, "DELETE", &hers, "").await.says(200, "cancelled");
    assert_eq!(cancelled["by"], json!("subject"));
}

#[tokio::test(start_paused = true)]
async fn a_token_holds_for_its_subject_and_cannot_say_that_it_paid() {
    let node = node().await;
    let ann = node.token(json!({"subject": "ann", "campaign": "spring"})).await;
    let holds = "/v1/campaigns/spring/holds";
    let hold = |subject: &str| {
        json!({"id": "h1", "subject": subject, "picks": [{"quantity": 2}]}).to_string()
    };
    let before = node.position();
    let other = "this token is for another subject";
    node.browser(&ann, "POST", holds, &hold("bob")).await.refuses("forbidden", other);
    assert_eq!(node.position(), before, "a hold for somebody else is in no journal");
    node.browser(&ann, "POST", holds, &hold("ann")).await.says(201, "held");
    let held = node.position();
    let confirm = format!("{holds}/h1/confirm");
    let refused = node.browser(&ann, "POST", &confirm, &claim("ann")).await;
    refused.refuses("forbidden", "whoever took the money confirms");
    let release = format!("{holds}/h1/release");
    node.browser(&ann, "POST", &release, &claim("bob")).await.refuses("forbidden", other);
    assert_eq!(node.position(), held, "what is refused is in no journal");
    node.browser(&ann, "POST", &release, &claim("ann")).await.says(200, "released");
}

/// What a page draws, and no more: what waits for the ledger is nobody's business but the operator's.
#[tokio::test(start_paused = true)]
async fn a_token_shows_its_campaign_as_a_page_needs_it() {
    let node = node().await;
    node.hall(json!({})).await;
    node.hold("h1", "bob", &["A1", "A2"]).await.says(201, "held");
    node.confirm("h1", "bob", "refuse").await.says(200, "confirmed");
    let ann = node.token(json!({"subject": "ann", "campaign": "hall"})).await;
    let shown = node.browser(&ann, "GET", "/v1/campaigns/hall", "").await;
    assert_eq!((shown.status, shown.header("etag")), (200, Some("\"1\"")));
    let (shown, whole) = (shown.json(), node.show("hall").await);
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let hidden = |of: fn(&Value) -> &Value| -> Vec<String> {
        names(of(&whole)).difference(&names(of(&shown))).cloned().collect()
    };
    assert_eq!(hidden(|view| view), ["live_holds", "unsettled"]);
    assert_eq!(
        hidden(|view| &view["pools"][0]),
        ["blocked", "cancelled", "held", "last_rank", "offered"]
    );
    assert_eq!((&shown["state"], &shown["left"]), (&json!("open"), &json!(16)));
    assert_eq!(whole["unsettled"], json!(2));
    let read: Campaign = serde_json::from_value(shown).unwrap();
    assert_eq!((read.pools[0].left, read.pools[0].capacity), (16, 18));
    let map = "/v1/campaigns/hall/pools/main/seats?standing=1";
    let map: SeatMap =
        serde_json::from_value(node.browser(&ann, "GET", map, "").await.json()).unwrap();
    assert_eq!(map.standing, "cc......");
    let other = node.browser(&ann, "GET", "/v1/campaigns/spring", "").await;
    other.refuses("forbidden", "this token is for hall, not for \"spring\"");
    // What she has herself, over all campaigns the token is for, and nobody else's.
    let hold = json!({"id": "h2", "subject": "ann", "picks": [{"units": ["B1"]}]}).to_string();
    node.browser(&ann, "POST", "/v1/campaigns/hall/holds", &hold).await.says(201, "held");
    let has = node.browser(&ann, "GET", "/v1/subjects/ann", "").await.json();
    let has: Subject = serde_json::from_value(has).unwrap();
    assert_eq!((&*has.subject, &*has.campaigns[0].campaign), ("ann", "hall"));
    assert_eq!((&*has.campaigns[0].holds[0].hold, has.campaigns[0].claims.len()), ("h2", 0));
    let other = node.browser(&ann, "GET", "/v1/subjects/bob", "").await;
    other.refuses("forbidden", "this token is for another subject");
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_by_the_stores_clock() {
    let node = node().await;
    let ask = json!({"subject": "ann", "campaign": "spring", "expires_in_s": 60});
    let minted = node.mint(KEY, ask).await.says(201, "minted");
    assert_eq!(minted["expires_at"], json!("2027-03-01T00:01:00.000000Z"));
    let token = minted["token"].as_str().unwrap();
    let path = "/v1/campaigns/spring/claims";
    node.clock(59_999_999);
    node.browser(token, "POST", path, &claim("ann")).await.says(201, "won");
    node.clock(60_000_000);
    let expired = node.browser(token, "POST", path, &claim("ann")).await;
    expired.refuses("token_expired", "get another one");
    assert_eq!(expired.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
}

#[tokio::test(start_paused = true)]
async fn damaged_and_forged_tokens_are_refused_at_every_byte() {
    let node = node().await;
    let begin = node.position();
    let good = node.token(json!({"subject": "ann", "campaign": "spring"})).await;
    let mut elsewhere = TokenKeys::default();
    elsewhere.add("main", TokenKey::secret(&SECRET.replace('a', "b")).unwrap());
    let now = firstcome_core::Timestamp::from_micros(crate::inside::BEGIN);
    let (forged, _) = elsewhere.mint("ann", &"spring".parse().unwrap(), true, now, 900).unwrap();
    let path = "/v1/campaigns/spring/claims";
    let said = "the signature of the token is not that of the key \"main\"";
    node.browser(&forged, "POST", path, &claim("ann")).await.refuses("unauthorized", said);
    for end in 0..good.len() {
        let cut = node.browser(&good[..end], "POST", path, &claim("ann")).await;
        cut.refuses("unauthorized", "");
    }
    for at in 0..good.len() {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let text = String::from_utf8(bytes).unwrap();
        node.browser(&text, "POST", path, &claim("ann")).await.refuses("unauthorized", "");
    }
    assert_eq!(node.position(), begin, "nothing was appended");
}

#[tokio::test(start_paused = true)]
async fn tokens_are_minted_within_what_the_key_may() {
    let node = node().await;
    let ask = |campaign: &str| json!({"subject": "ann", "campaign": campaign});
    for campaign in ["spring", "spring-27", "spring*", "springs-*"] {
        node.mint("a-key-for-spring", ask(campaign)).await.says(201, "minted");
    }
    for campaign in ["summer", "spr*", "*", "spr"] {
        let minted = node.mint("a-key-for-spring", ask(campaign)).await;
        minted.refuses("forbidden", "begin with \"spring\"");
    }
    node.mint("a-reading-key---", ask("spring")).await.refuses("forbidden", "needs backend");
    node.mint(KEY, ask("Spring")).await.refuses("invalid_request", "no campaign's name");
    node.mint(KEY, json!({"subject": "", "campaign": "a"})).await.refuses("invalid_subject", "");
    for (field, value) in [("expires_in_s", json!(0)), ("expires_in_s", json!(2_678_401))] {
        let mut ask = ask("spring");
        ask[field] = value;
        node.mint(KEY, ask).await.refuses("invalid_request", "1 to 2678400");
    }
    // What the rules do not keep is not accepted as if they did.
    for field in ["groups", "limit"] {
        let mut ask = ask("spring");
        ask[field] = json!(1);
        node.mint(KEY, ask).await.refuses("invalid_request", field);
    }
    let without = Inside::new().await;
    let minted = without.mint(KEY, ask("spring")).await;
    minted.refuses("forbidden", "set FIRSTCOME_TOKEN_SECRET");
    let token = node.token(ask("spring")).await;
    let path = "/v1/campaigns/spring/claims";
    let claimed = without.browser(&token, "POST", path, &claim("ann")).await;
    claimed.refuses("unauthorized", "no key to check tokens with");
}

/// Whatever a browser asks with its token counts as its subject's, each request once.
#[tokio::test(start_paused = true)]
async fn a_token_that_asks_too_often_waits_whatever_it_asks_for() {
    let mut tokens = TokenKeys::default();
    tokens.add("main", TokenKey::secret(SECRET).unwrap());
    let guards = Guards { tokens, ..crate::rates::subjects("2/h") };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.hall(json!({})).await;
    let hall = "/v1/campaigns/hall";
    let asked = [
        ("GET", hall.to_owned()),
        ("GET", format!("{hall}/pools/main/seats")),
        ("GET", format!("{hall}/pools/main/seats?standing=1")),
        ("GET", format!("{hall}/holds/x")),
        ("GET", format!("{hall}/holds/x?subject=SUBJECT")),
        ("GET", format!("{hall}/claims/SUBJECT")),
        ("GET", "/v1/subjects/SUBJECT".to_owned()),
        ("POST", format!("{hall}/claims")),
        ("POST", format!("{hall}/holds")),
        ("POST", format!("{hall}/holds/x/release")),
        ("DELETE", format!("{hall}/claims/SUBJECT?rank=1")),
        ("GET", format!("{hall}/events")),
    ];
    for (number, (method, path)) in asked.iter().enumerate() {
        let subject = format!("s{number}");
        let token =
            node.token(json!({"subject": subject, "campaign": "hall", "cancel": true})).await;
        let path = path.replace("SUBJECT", &subject);
        let picks = json!([{"units": ["floor"]}]);
        let body = match *method {
            "POST" if path.ends_with("/holds") => json!({"subject": subject, "picks": picks}),
            _ => json!({"subject": subject}),
        };
        let body = if *method == "POST" { body.to_string() } else { String::new() };
        for _ in 0..2 {
            // A stream of events goes on: it is looked at whether it would begin.
            let path = if path.ends_with("/events") { hall } else { &path };
            let answer = node.browser(&token, method, path, &body).await;
            assert_ne!(answer.status, 429, "{method} {path}: counted twice");
            assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        }
        let answer = node.browser(&token, method, &path, &body).await;
        assert_eq!(answer.status, 429, "{method} {path}: {}", answer.text());
        assert_eq!(answer.json()["limit"], json!("subject"), "{method} {path}");
    }
    // A key looks at whatever it likes, but not too often at one subject.
    for _ in 0..9 {
        assert_eq!(node.get(hall).await.status, 200);
    }
    assert_eq!(node.get("/v1/subjects/s0").await.status, 429);
}

#[test]
fn keys_of_tokens_are_rotated_without_a_token_that_stops() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("TOKEN_SECRET", SECRET)]);
    server.talk().open_campaign("spring", 9);
    let url = format!("http://{}", server.address);
    let args = ["token", "spring", "ann", "--for", "1h", "--url", &url];
    let (code, old, said) = verb(folder.path(), &[], &args);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("valid until "), "{said}");
    server.kill();

    // The old secret checks on, the new one signs.
    let file = folder.path().join("firstcome.toml");
    std::fs::write(&file, format!("[[token_keys]]\nsecret = \"{SECRET}\"\n")).unwrap();
    let new = SECRET.replace("thirty", "THIRTY");
    let mut command = serve(folder.path(), &[("TOKEN_SECRET", &new)]);
    command.arg("--config").arg(&file);
    let server = Server::of(command);
    let url = format!("http://{}", server.address);
    let args = ["token", "spring", "bob", "--json", "--url", &url];
    let (code, minted, said) = verb(folder.path(), &[], &args);
    assert_eq!(code, 0, "{said}");
    let minted: Value = serde_json::from_str(&minted).unwrap();
    for (token, subject) in [(old.trim(), "ann"), (minted["token"].as_str().unwrap(), "bob")] {
        Talk::to(server.address, token).unwrap().claim("spring", subject).says(201, "won");
    }
    server.kill();

    let server = Server::with(folder.path(), &[("TOKEN_SECRET", &new)]);
    let mut talk = Talk::to(server.address, old.trim()).unwrap();
    talk.claim("spring", "ann").refuses("unauthorized", "which this server does not know");
}

#[test]
fn a_page_may_call_where_its_origin_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let origins = "https://shop.example, http://localhost:3000";
    let server = Server::with(folder.path(), &[("CORS_ORIGINS", origins)]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    let mut ask = |method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>| {
        let request = talk.request(method, path, headers, body);
        talk.send(request).unwrap();
        talk.hear().unwrap()
    };
    let claims = "/v1/campaigns/drop/claims";
    let shop = ("origin", "https://shop.example");
    let asks = ("access-control-request-method", "POST");
    let preflight = ask("OPTIONS", claims, &[shop, asks, ("authorization", "")], None);
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some(shop.1));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("authorization"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("last-event-id"));
    // All that the routes take, changing seats included.
    let methods = preflight.header("access-control-allow-methods").unwrap();
    assert_eq!(methods, "GET, POST, PUT, PATCH, DELETE");
    // The claim's own way, a route's, and what is refused.
    let won = ask("POST", claims, &[shop], Some(&claim("ann")));
    won.says(201, "won");
    let read = ask("GET", "/v1/campaigns/drop", &[("origin", "http://localhost:3000")], None);
    assert_eq!(read.header("access-control-allow-origin"), Some("http://localhost:3000"));
    let refused = ask("GET", "/v1/nothing", &[shop], None);
    for answer in [won, refused] {
        assert_eq!(answer.header("access-control-allow-origin"), Some(shop.1));
        assert!(answer.header("access-control-expose-headers").unwrap().contains("retry-after"));
        assert_eq!(answer.header("vary"), Some("origin"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    // A page that is not named reads nothing; neither is whoever is no page told about pages.
    let other = ("origin", "https://elsewhere.example");
    ask("OPTIONS", claims, &[other, asks], None).refuses("origin_not_allowed", other.1);
    for headers in [&[other][..], &[]] {
        let answer = ask("GET", "/v1/campaigns/drop", headers, None);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, None));
        // A cache must not give it to a page that is named.
        assert_eq!(answer.header("vary"), Some("origin"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
}
