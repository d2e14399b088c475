//! A ticket opens streams of events, and nothing else; a page that may not call is told why.

use crate::process::{KEY, Server};
use crate::tokens::{SECRET, claim, node};
use crate::wire::Talk;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower_service::Service;

const EVENTS: &str = "/v1/campaigns/spring/events";

#[tokio::test(start_paused = true)]
async fn a_ticket_opens_events_as_often_as_it_is_asked_and_nothing_else() {
    let node = node().await;
    let begin = node.position();
    let ask = json!({"subject": "ann", "campaign": "spring", "expires_in_s": 60, "cancel": true});
    let minted = node.mint(KEY, ask).await.says(201, "minted");
    let token = minted["token"].as_str().unwrap();
    let answer = node.browser(token, "POST", "/v1/tickets", "").await.says(201, "minted");
    assert_eq!(answer["expires_at"], minted["expires_at"], "a ticket ends with its token");
    assert_eq!(answer["campaign"], json!("spring"));
    let ticket = answer["ticket"].as_str().unwrap();
    assert_eq!(node.position(), begin, "a ticket is in no journal");

    let events = format!("{EVENTS}?ticket={ticket}");
    let none = [("authorization", ""), ("content-type", "")];
    let mut streams = Vec::new();
    for _ in 0..4 {
        let request = Request::builder().uri(&events).body(Body::empty()).unwrap();
        let response = node.router().call(request).await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut body = response.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(first.starts_with(b"event: reset\n"), "{first:?}");
        streams.push(body);
    }
    // They are streams of the subject, whoever opened them.
    let fifth = node.ask_with("GET", &events, &none, "").await;
    fifth.refuses("too_many_streams", "subject \"ann\" has 4 streams open");
    drop(streams);

    let claims = "/v1/campaigns/spring/claims";
    for (method, path, body) in [
        ("GET", "/v1/campaigns/spring", String::new()),
        ("GET", EVENTS, String::new()),
        ("GET", "/v1/subjects/ann", String::new()),
        ("POST", "/v1/tickets", String::new()),
        ("POST", claims, claim("ann")),
        ("POST", "/v1/campaigns/spring/holds", json!({"picks": [{"quantity": 1}]}).to_string()),
        ("DELETE", "/v1/campaigns/spring/claims/ann?rank=1", String::new()),
    ] {
        let answer = node.browser(ticket, method, path, &body).await;
        answer.refuses("unauthorized", "this is a ticket: it opens GET");
        // In the address it is as good as nothing there.
        if path != EVENTS {
            let mark = if path.contains('?') { '&' } else { '?' };
            let with = format!("{path}{mark}ticket={ticket}");
            let headers: &[(&str, &str)] = if body.is_empty() { &none } else { &none[..1] };
            let answer = node.ask_with(method, &with, headers, body).await;
            answer.refuses("unauthorized", "give a key");
        }
    }
    for path in ["/v1/campaigns", "/v1/nodes"] {
        node.browser(ticket, "GET", path, "").await.refuses("forbidden", "and nothing else");
    }
    let ask = async |query: &str, headers: &[(&str, &str)]| {
        node.ask_with("GET", &format!("{EVENTS}?{query}"), headers, "").await
    };
    let as_ticket = format!("ticket={token}");
    ask(&as_ticket, &none).await.refuses("unauthorized", "this is no ticket");
    ask("ticket=", &none).await.refuses("unauthorized", "it has not three parts");
    ask(&format!("ticket={}", &ticket[..ticket.len() - 1]), &none)
        .await
        .refuses("unauthorized", "");
    let both = [("content-type", "")];
    ask(&format!("ticket={ticket}"), &both).await.refuses("invalid_request", "not both");
    let unknown = format!("ticket={ticket}&key=x");
    ask(&unknown, &none).await.refuses("unauthorized", "give a key");
    let other = format!("/v1/campaigns/summer/events?ticket={ticket}");
    let other = node.ask_with("GET", &other, &none, "").await;
    other.refuses("forbidden", "this token is for spring, not for \"summer\"");
    node.clock(60_000_000);
    ask(&format!("ticket={ticket}"), &none).await.refuses("token_expired", "get another one");
    assert_eq!(node.position(), begin, "nothing was appended");
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_for_whoever_has_a_token() {
    let node = node().await;
    let none = [("authorization", ""), ("content-type", "")];
    node.ask_with("POST", "/v1/tickets", &none, "").await.refuses("unauthorized", "give a key");
    for key in [KEY, "a-backend-key---"] {
        let refused = node.browser(key, "POST", "/v1/tickets", "").await;
        refused.refuses("forbidden", "a ticket is for a subject token");
    }
    let token = node.token(json!({"subject": "ann", "campaign": "spr*"})).await;
    let answer = node.browser(&token, "POST", "/v1/tickets", "").await.says(201, "minted");
    assert_eq!(answer["campaign"], json!("spr*"));
}

#[tokio::test(start_paused = true)]
async fn a_token_says_itself_whom_a_request_is_for() {
    let node = node().await;
    let ann = node.token(json!({"subject": "ann", "campaign": "spring"})).await;
    let claims = "/v1/campaigns/spring/claims";
    let won = node.browser(&ann, "POST", claims, "{}").await.says(201, "won");
    assert_eq!(won["subject"], json!("ann"));
    let holds = "/v1/campaigns/spring/holds";
    let hold = json!({"id": "h1", "picks": [{"quantity": 2}]}).to_string();
    let held = node.browser(&ann, "POST", holds, &hold).await.says(201, "held");
    assert_eq!(held["subject"], json!("ann"));
    let of = |step: &str| format!("{holds}/h1/{step}");
    let one = json!({"picks": [{"quantity": 1}]}).to_string();
    node.browser(&ann, "POST", &of("add"), &one).await.says(201, "held");
    node.browser(&ann, "POST", &of("drop"), &one).await.says(201, "held");
    node.browser(&ann, "POST", &of("extend"), "{}").await.says(200, "extended");
    node.browser(&ann, "POST", &of("release"), "{}").await.says(200, "released");
    // Somebody else's name is refused as before, and so is no name with a key, which may act for anybody.
    let other = node.browser(&ann, "POST", claims, &claim("bob")).await;
    other.refuses("forbidden", "this token is for another subject");
    node.browser(&ann, "POST", claims, &claim("")).await.refuses("invalid_subject", "");
    for (path, body) in [(claims, "{}"), (holds, &*hold), (&*of("add"), &*one)] {
        let answer = node.ask_with("POST", path, &[], body.to_owned()).await;
        answer.refuses("invalid_request", "the body has no `subject`");
    }
}

#[test]
fn a_stream_by_ticket_ends_with_it_and_no_ticket_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("TOKEN_SECRET", SECRET), ("LOG_LEVEL", "debug")];
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    talk.open_campaign("spring", 9);
    let ask = json!({"subject": "ann", "campaign": "spring", "expires_in_s": 6});
    let minted = talk.post("/v1/tokens", &ask).says(201, "minted");
    let token = minted["token"].as_str().unwrap();
    let mut browser = Talk::to(server.address, token).unwrap();
    let minted = browser.post("/v1/tickets", &json!({})).says(201, "minted");
    let ticket = minted["ticket"].as_str().unwrap();
    let events = format!("{EVENTS}?ticket={ticket}");
    let request = format!("GET {events} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    browser.send(request).unwrap();
    assert_eq!(browser.hear().unwrap().status, 200);
    let rest = browser.rest().unwrap();
    assert!(rest.contains("event: end\n") && rest.contains("token_expired"), "{rest}");
    let mut again = Talk::to(server.address, "nobody's").unwrap();
    for path in [
        &events,
        &format!("/v1/campaigns/spring?ticket={ticket}"),
        &format!("/nothing?ticket={ticket}"),
    ] {
        again.send(format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n")).unwrap();
        let answer = again.hear().unwrap();
        assert!(answer.status >= 400 && !answer.text().contains(ticket), "{answer:?}");
    }
    drop((talk, browser, again));
    server.terminate();
    let (_, log) = server.ended();
    assert!(log.contains("\"event\":\"request\""), "the log has requests: {log}");
    assert!(!log.contains(ticket) && !log.contains(token), "{log}");
}

#[test]
fn a_page_that_may_not_call_is_told_why_and_the_log_names_it_once() {
    for known in [&[][..], &[("CORS_ORIGINS", "https://shop.example")]] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::with(folder.path(), known);
        let own = format!("http://{}", server.address);
        let mut talk = server.talk();
        let mut ask = |method: &str, headers: &[(&str, &str)]| {
            let request = talk.request(method, "/v1/time", headers, None);
            let request = request.replace("host: test", &format!("host: {}", server.address));
            talk.send(request).unwrap();
            talk.hear().unwrap()
        };
        let other = ("origin", "https://elsewhere.example");
        let asks = ("access-control-request-method", "GET");
        for _ in 0..2 {
            let refused = ask("OPTIONS", &[other, asks, ("authorization", "")]);
            refused.refuses("origin_not_allowed", "lacks \"https://elsewhere.example\"");
            assert_eq!(refused.header("access-control-allow-origin"), None);
        }
        // A request that asks for no leave is answered, and no browser shows that to the page.
        assert_eq!(ask("GET", &[other]).header("access-control-allow-origin"), None);
        // The server's own pages are no others, and neither is a client that is no browser.
        assert_eq!(ask("GET", &[("origin", &own)]).status, 200);
        ask("OPTIONS", &[asks]).refuses("method_not_allowed", "OPTIONS");
        server.terminate();
        drop(talk);
        let (_, log) = server.ended();
        let said: Vec<Value> = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|line: &Value| line["event"] == "origin_refused")
            .collect();
        assert_eq!(said.len(), 1, "{log}");
        assert_eq!(said[0]["origin"], json!("https://elsewhere.example"));
    }
}
