//! The page docs/how-to/live-map.html, as it stands there, in a real browser.

use crate::process::{KEY, Server};
use crate::tokens::SECRET;
use firstcome_testbed::Browser;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Streams that were opened.
const STREAMS: &str = "firstcome_http_request_duration_seconds_count{route=\"/v1/campaigns/{campaign}/events\",method=\"GET\",status=\"2xx\"} ";
const PAGE: &str = include_str!("../../../../docs/how-to/live-map.html");

/// A shop that has one customer: it serves the page, and gives it a token. It ends with the test process.
fn shop(listener: TcpListener, server: SocketAddr) {
    let answer = move |path: &str| match path {
        "/" => Some(("text/html; charset=utf-8", PAGE.to_owned())),
        "/session" => {
            let mut talk = crate::wire::Talk::to(server, KEY).unwrap();
            let ask = json!({"subject": "ann", "campaign": "hall"});
            let minted = talk.post("/v1/tokens", &ask).says(201, "minted");
            let session = json!({"server": format!("http://{server}"), "campaign": "hall", "pool": "main",
                "subject": "ann", "token": minted["token"]});
            Some(("application/json", session.to_string()))
        }
        _ => None,
    };
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            // A browser may open connections on which it asks nothing.
            std::thread::spawn(move || drop(serve(stream, &*answer)));
        }
    });
}

fn serve(
    mut stream: TcpStream,
    answer: &impl Fn(&str) -> Option<(&'static str, String)>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, (kind, body)) = match answer(path) {
        Some(found) => ("200 OK", found),
        None => ("404 Not Found", ("text/plain", String::new())),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The forms of `/docs` work under its own policy, and the answer stands where the reader looks.
#[test]
fn the_forms_of_the_docs_send_what_they_show() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let Some(mut browser) = Browser::open(&format!("http://{}/docs#put_campaign", server.address))
    else {
        return;
    };
    browser.until("document.querySelector('#put_campaign').open");
    browser.evaluate(&format!("document.querySelector('#key').value = '{KEY}'")).unwrap();
    let send = |id: &str| format!("document.querySelector('#{id} button').click()");
    let shows = |id: &str, text: &str| {
        format!("document.querySelector('#{id} form pre').textContent.includes('{text}')")
    };
    browser.evaluate(&send("put_campaign")).unwrap();
    browser.until(&shows("put_campaign", "201 Created"));
    browser.until(&shows("put_campaign", "created"));
    browser.evaluate(&send("claim")).unwrap();
    browser.until(&shows("claim", "\"outcome\": \"won\""));
    browser.evaluate("document.querySelector('#key').value = ''").unwrap();
    browser.evaluate(&send("claim")).unwrap();
    browser.until(&shows("claim", "401"));
    assert_eq!(server.talk().get("/v1/campaigns/spring").json()["left"], json!(1));
}

#[test]
fn the_page_of_the_document_shows_and_holds_seats_in_a_real_browser() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    // Streams end after a second: the browser comes back by itself and brings what it saw last.
    let settings =
        [("TOKEN_SECRET", SECRET), ("CORS_ORIGINS", origin.as_str()), ("STREAM_MAX_MS", "1000")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    let seats: Vec<Value> = ["A1", "A2", "A3", "A4", "B1", "B2"]
        .iter()
        .map(|name| json!({"name": name, "section": "S", "row": name[..1]}))
        .collect();
    let pools = json!([{"name": "main", "kind": "seated", "seats": seats}]);
    let hall = json!({"opens_at": "now", "allow_orphans": true, "holds": "many", "pools": pools});
    talk.put("/v1/campaigns/hall", &hall).says(201, "created");
    let holds = "/v1/campaigns/hall/holds";
    let hold =
        |id: &str, seat: &str| json!({"id": id, "subject": "bob", "picks": [{"units": [seat]}]});
    talk.post(holds, &hold("b1", "B2")).says(201, "held");
    shop(listener, server.address);

    let Some(mut browser) = Browser::open(&format!("{origin}/")) else { return };
    let is = |seat: &str, class: &str| {
        format!("document.querySelector('[data-seat={seat}]').className === '{class}'")
    };
    let click = |seat: &str| format!("document.querySelector('[data-seat={seat}]').click()");
    browser.until("document.body.dataset.live === 'yes'");
    browser.until(&is("B2", "taken"));
    browser.until(&is("A1", "free"));

    // She takes a seat by click, adds one, and gives it back.
    browser.evaluate(&click("A1")).unwrap();
    browser.until(&is("A1", "mine"));
    browser.until("document.querySelector('#status').textContent === 'Held: A1.'");
    browser.evaluate(&click("A2")).unwrap();
    browser.until(&is("A2", "mine"));
    let has = talk.get("/v1/subjects/ann").json();
    assert_eq!(has["campaigns"][0]["holds"][0]["held"], json!(2), "{has}");
    browser.evaluate(&click("A2")).unwrap();
    browser.until(&is("A2", "free"));
    browser.until(&is("A1", "mine"));

    // What others do shows by itself, also after the stream ended and the browser came back.
    for (nth, seat) in ["A3", "A4", "B1"].into_iter().enumerate() {
        let id = format!("h{nth}");
        talk.post(holds, &hold(&id, seat)).says(201, "held");
        browser.until(&is(seat, "taken"));
        // The stream that showed it ends; the next one is there before the seat is free again.
        let (begun, before) = (Instant::now(), talk.metric(STREAMS));
        while talk.metric(STREAMS) == before {
            assert!(begun.elapsed() < Duration::from_secs(60), "the browser does not come back");
            std::thread::sleep(Duration::from_millis(20));
        }
        let release = format!("{holds}/{id}/release");
        talk.post(&release, &json!({"subject": "bob"})).says(200, "released");
        browser.until(&is(seat, "free"));
    }
    let refused = "firstcome_answers_total{outcome=\"unauthorized\"} ";
    assert_eq!(talk.metric(refused), 0, "it came with a ticket each time");

    // New seats: the map is fetched again. Afterwards changes go on.
    let more = json!([{"name": "C1", "section": "S", "row": "C"}]);
    talk.post("/v1/campaigns/hall/pools/main/seats", &more).says(200, "imported");
    browser.until(&is("C1", "free"));
    browser.until(&is("A1", "mine"));
    talk.post(holds, &hold("c1", "C1")).says(201, "held");
    browser.until(&is("C1", "taken"));

    // The page loaded again knows what she holds; the seat is hers by the shop's word only.
    browser.evaluate("location.reload()").unwrap();
    browser.until("document.body.dataset.live === 'yes'");
    browser.until(&is("A1", "mine"));
    let has = talk.get("/v1/subjects/ann").json();
    let id = has["campaigns"][0]["holds"][0]["hold"].as_str().unwrap();
    let confirm = format!("{holds}/{id}/confirm");
    talk.post(&confirm, &json!({"subject": "ann"})).says(200, "confirmed");
}
