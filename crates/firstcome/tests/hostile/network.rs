//! Neighbours on the network: they choose their address, and look where they have no key.

use crate::siege::{Siege, ask};
use serde_json::json;

#[test]
fn nobody_chooses_the_address_they_are_counted_by() {
    let siege = Siege::begin(&[
        ("TRUSTED_PROXIES", "::ffff:127.0.0.1"),
        ("PROXY_HEADER", "forwarded"),
        ("RATE_ADDRESS", "2/h"),
    ]);
    let mut talk = siege.talk();
    // What a proxy passes on of the client's Host, with an address in it.
    let before = |n| format!("proto=http;host=\"x;for=6.6.6.{n}\";for=2.2.2.2");
    let behind = |n| format!("for=3.3.3.3;host=\"x,for=7.7.7.{n}\"");
    for forwarded in [&before as &dyn Fn(u32) -> String, &behind] {
        let status = |n| {
            let headers = [("forwarded", forwarded(n))];
            ask(&mut talk, "GET", "/v1/time", &headers, None).status
        };
        let statuses: Vec<u16> = (1..=4).map(status).collect();
        assert_eq!(statuses, [200, 200, 429, 429], "{}", forwarded(1));
    }
    drop(talk);
    siege.ends();
}

#[test]
fn whoever_has_no_key_learns_nothing_through_a_proxy() {
    let siege = Siege::begin(&[("LEDGER", "postgres://nobody@127.0.0.1:1/none")]);
    let nobody = || ("authorization", String::new());
    let mut talk = siege.talk();
    for told in
        [("x-forwarded-for", "1.1.1.1"), ("forwarded", "for=1.1.1.1"), ("host", "evil.example")]
    {
        let headers = [nobody(), (told.0, told.1.to_owned())];
        let mut talk = siege.talk();
        ask(&mut talk, "GET", "/metrics", &headers, None).refuses("unauthorized", "give a key");
    }
    let ready = ask(&mut talk, "GET", "/readyz", &[nobody()], None).text();
    assert!(!ready.contains("127.0.0.1"), "{ready}");
    for path in ["/v1/nodes", "/v1/forks", "/v1/audit", "/v1/campaigns", "/v1/subjects/ann"] {
        ask(&mut talk, "GET", path, &[nobody()], None).refuses("unauthorized", "give a key");
    }
    drop(talk);
    siege.ends();
}

#[test]
fn bytes_that_are_no_request_end_their_own_connection_only() {
    let siege = Siege::begin(&[("HEADER_MS", "1000")]);
    let claim = "POST /v1/campaigns/beside/claims HTTP/1.1\r\nhost: x\r\n";
    let long = "x".repeat(64 << 10);
    for bytes in [
        "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("{claim}content-length: 5\r\ncontent-length: 6\r\n\r\n12345"),
        format!("{claim}transfer-encoding: nonsense\r\n\r\n0\r\n\r\n"),
        format!("{claim}content-length: 99999999999\r\nexpect: 100-continue\r\n\r\n"),
        claim.to_owned(),
    ] {
        let mut talk = siege.talk();
        talk.send(&bytes).unwrap();
        // It is refused or cut; nothing of it is taken for a claim.
        if let Ok(answer) = talk.hear() {
            assert!(answer.status >= 400 || answer.status == 100, "{bytes:?}: {answer:?}");
        }
        siege.still_answers();
    }
    siege.ends();
}

#[test]
fn an_operator_of_some_campaigns_does_not_reach_the_others() {
    let siege = Siege::begin(&[]);
    let mut talk = siege.talk();
    let odd = ["/v1/campaigns/..%2Fbeside", "/v1/campaigns/beside%00", "/v1/campaigns/BESIDE"];
    for path in odd {
        talk.get(path).refuses("not_found", "there is no campaign");
    }
    // Whose key is for the hall neither changes, looks at, nor stops what is beside it.
    let mut desk = siege.desk();
    let settings = json!({"pools": [{"name": "main", "capacity": 1}]});
    let other = "is for campaigns that begin with";
    desk.put("/v1/campaigns/beside", &settings).refuses("forbidden", other);
    desk.post("/v1/campaigns/beside/close", &json!({})).refuses("forbidden", other);
    desk.get("/v1/campaigns/beside/results").refuses("forbidden", other);
    for path in ["/v1/forks", "/v1/nodes", "/v1/settling", "/v1/audit"] {
        desk.get(path).refuses("forbidden", other);
    }
    let list = desk.get("/v1/campaigns").text();
    assert!(list.contains("hall") && !list.contains("beside"), "{list}");
    // Nor can it by seats that nobody can count.
    let seats = json!([{"name": "a", "capacity": u32::MAX}, {"name": "b", "capacity": 1}]);
    let seated = "/v1/campaigns/hall/pools/main/seats";
    let refused = desk.post(seated, &seats);
    assert_eq!(refused.status, 422, "{}", refused.text());
    drop((talk, desk));
    siege.ends();
}
