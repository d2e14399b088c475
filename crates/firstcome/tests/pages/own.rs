//! What a subject has, as events of its streams.

use crate::scene::{DESK, Scene, has, nothing_wrong};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A stream of events that is read event by event.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(scene: &Scene, path: &str, token: Option<&str>) -> Self {
        let address = scene.server.as_ref().unwrap().address;
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let key = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n{key}\r\n").unwrap();
        let mut events = Self(BufReader::new(stream));
        let mut first = String::new();
        events.0.read_line(&mut first).unwrap();
        assert!(first.starts_with("HTTP/1.1 200"), "{first}");
        events
    }

    /// Waits for the next event of this name.
    fn next(&mut self, name: &str) -> Value {
        let mut found = false;
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            let line = line.trim_end();
            match line.split_once(": ") {
                Some(("event", event)) => found = event == name,
                Some(("data", data)) if found => return serde_json::from_str(data).unwrap(),
                Some(_) | None => {}
            }
        }
    }
}

#[test]
fn a_stream_of_a_subject_says_what_it_has_and_nobody_else_hears_it() {
    let scene = Scene::open();
    let mut talk = scene.talk();
    let pools =
        json!([{"name": "main", "capacity": 2}, {"name": "code", "kind": "coded", "capacity": 2}]);
    scene.put(
        "spring",
        &json!({"title": "Spring", "opens_at": "now", "public": true, "pools": pools}),
    );
    let path = "/v1/campaigns/spring/events";
    let token = scene.token("spring", "ann", 600);
    let mut own = Events::open(&scene, path, Some(&token));
    assert_eq!(own.next("own")["claims"], json!([]));
    let mut anybody = Events::open(&scene, path, None);
    anybody.next("reset");
    let mut claim = |subject: &str, pool: &str, wait: bool| {
        talk.post(
            "/v1/campaigns/spring/claims",
            &json!({"subject": subject, "pool": pool, "wait": wait}),
        )
        .json()
    };
    claim("ann", "code", false);
    let has = own.next("own");
    assert_eq!(
        (&has["claims"][0]["rank"], &has["claims"][0]["pool"]),
        (&json!(1), &json!("code")),
        "{has}"
    );
    // A ticket stands in an address: its stream never has a code.
    assert!(has["claims"][0].get("code").is_none(), "{has}");
    claim("bob", "main", false);
    claim("cem", "main", false);
    claim("dan", "main", true);
    claim("ann", "main", true);
    let has = own.next("own");
    assert_eq!(
        (&has["places"][0]["state"], &has["places"][0]["ahead"]),
        (&json!("waits"), &json!(1)),
        "{has}"
    );
    let cancel = |rank: u32, subject: &str| {
        let path =
            format!("/v1/campaigns/spring/claims/{subject}?pool=main&rank={rank}&by=subject");
        scene.talk().try_ask("DELETE", &path, None).unwrap().says(200, "cancelled");
    };
    // What everybody hears: counts and the state, and no name.
    let mut heard = anybody.next("standing");
    while heard["pools"][0]["waiting"] != json!(2) {
        heard = anybody.next("standing");
        assert!(!heard.to_string().contains("ann"), "{heard}");
    }
    cancel(1, "bob");
    assert_eq!(own.next("own")["places"][0]["ahead"], json!(0));
    cancel(2, "cem");
    let has = own.next("own");
    assert_eq!(has["places"][0]["state"], json!("offered"), "{has}");
    assert_eq!(has["holds"][0]["offer"], json!(true), "{has}");
    while heard["pools"][0]["waiting"] == json!(2) {
        heard = anybody.next("standing");
        assert!(!heard.to_string().contains("ann"), "{heard}");
    }
    scene.talk().post("/v1/campaigns/spring/pause", &json!({})).says(200, "changed");
    assert_eq!(anybody.next("campaign")["state"], json!("paused"));
}

/// The thousand and first claim was never shown, though it was the only one that stood.
#[test]
fn a_page_without_a_stream_shows_what_stands_behind_a_long_history() {
    let scene = Scene::with(&[("RATE_SUBJECT", "none")]);
    scene.put_with_history("spring", "ann");
    let claim = json!({"subject": "ann", "pool": "side"});
    scene.talk().post("/v1/campaigns/spring/claims", &claim).says(201, "won");
    // As many streams of hers are open as may be: her page has none.
    let token = scene.token("spring", "ann", 600);
    let open = || Events::open(&scene, "/v1/campaigns/spring/events", Some(&token));
    let _streams: Vec<Events> = (0..4).map(|_| open()).collect();
    let Some(mut browser) = scene.browse(&DESK, &scene.link("spring", "ann")) else { return };
    browser.until(&has("#link", "Updated every few seconds."));
    browser.until("document.querySelector('#claims .rank:not(.gone)')");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#claims .rank').length").unwrap(),
        json!(1_001)
    );
    nothing_wrong(&mut browser);
}
