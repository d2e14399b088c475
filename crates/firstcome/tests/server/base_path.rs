//! A server that a proxy shows under a path.

use crate::process::{KEY, Server, cannot_serve, serve, verb};
use crate::wire::{Answer, Talk};
use serde_json::json;

const BASE: (&str, &str) = ("BASE_PATH", "/queue");

/// Asks as a browser does, without a key.
fn anybody(server: &Server, path: &str, accept: &str) -> Answer {
    let mut talk = Talk::to(server.address, "").unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n\r\n");
    talk.send(request).unwrap();
    talk.hear().unwrap()
}

#[test]
fn every_route_is_there_with_the_path_and_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[BASE, ("RATE_SUBJECT", "none")]);
    assert!(server.said.contains("/queue/docs\n"), "{}", server.said);
    let mut talk = server.talk();
    let pools = json!([{"name": "main", "capacity": 9}]);
    let settings = json!({"opens_at": "now", "public": true, "pools": pools});
    talk.put("/queue/v1/campaigns/drop", &settings).says(201, "created");
    // Claims do not go through the router; looks and cancels do.
    talk.post("/queue/v1/campaigns/drop/claims", &json!({"subject": "ann"})).says(201, "won");
    talk.claim("drop", "ann").says(200, "already_won");
    assert_eq!(talk.get("/queue/v1/campaigns/drop/claims/ann?min_position=0.2").status, 200);
    assert_eq!(talk.get("/v1/campaigns/drop/claims/ann").status, 200);
    for path in
        ["/livez", "/readyz", "/docs", "/console", "/c/drop", "/c/-/page.js", "/problems/busy"]
    {
        for base in ["", "/queue"] {
            assert_eq!(
                anybody(&server, &format!("{base}{path}"), "*/*").status,
                200,
                "{base}{path}"
            );
        }
    }
    assert_eq!(talk.get("/queue/metrics").status, 200);
    for path in ["/queues/docs", "/Queue/docs", "/queue/queue/docs", "/queuedocs"] {
        let said = anybody(&server, path, "*/*").json();
        assert_eq!(said["outcome"], "no_such_route", "{path}");
        assert!(said["detail"].as_str().unwrap().ends_with("see /queue/docs"), "{said}");
    }
    // The minute of the campaign has what came under the path: two claims.
    let minute = talk.get("/v1/campaigns/drop/minute").text();
    assert!(minute.contains("\"claims\":1") && minute.contains("\"here_successes\":2"), "{minute}");
}

#[test]
fn what_an_answer_points_to_is_under_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[BASE]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 1);
    let is_under = |answer: &Answer, outcome: &str| {
        let document = answer.json();
        assert_eq!(document["outcome"], outcome, "{document}");
        assert_eq!(document["type"], format!("/queue/problems/{outcome}"), "{document}");
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("application/problem+json"), "{answer:?}");
        anybody(&server, document["type"].as_str().unwrap(), "*/*").text()
    };
    // Of the router, beside it, without a route, without a key, and of one line among many.
    talk.claim("drop", "ann").says(201, "won");
    let page = is_under(&talk.claim("drop", "bob"), "sold_out");
    assert!(
        page.contains("href=../docs#problems") && page.contains("href=../docs/docs.css"),
        "{page}"
    );
    is_under(&talk.get("/queue/v1/campaigns/none"), "not_found");
    is_under(&talk.get("/nothing"), "no_such_route");
    let refused = anybody(&server, "/queue/v1/campaigns", "*/*");
    is_under(&refused, "unauthorized");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let line = r#"{"do":"claim","campaign":"drop","subject":"cem"}"#;
    let request = format!(
        "POST /queue/v1/commands HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n\
         content-type: application/x-ndjson\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{line}",
        line.len()
    );
    talk.send(request).unwrap();
    let lines = talk.rest().unwrap();
    assert!(lines.contains(r#""type":"/queue/problems/sold_out""#), "{lines}");
    // Descriptions, and the page that says where to go.
    let description = server.talk().get("/queue/openapi.json").json();
    assert_eq!(description["servers"], json!([{"url": "/queue"}]));
    let places = anybody(&server, "/queue", "*/*").json();
    assert_eq!(
        (&places["docs"], &places["campaigns"]),
        (&json!("/queue/docs"), &json!("/queue/v1/campaigns"))
    );
    let page = anybody(&server, "/queue", "text/html").text();
    assert!(
        page.contains("href=/queue/console>") && page.contains("href=/queue/docs/docs.css>"),
        "{page}"
    );
}

#[test]
fn the_command_line_and_the_probes_find_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[BASE, ("OPS_LISTEN", "127.0.0.1:0")]);
    let url = format!("http://{}/queue/", server.address);
    let ask = |args: &[&str]| verb(folder.path(), &[("URL", &url)], args);
    let (code, out, talk) = ask(&["campaign", "create", "drop", "--places", "1", "--opens", "now"]);
    assert!(code == 0 && out.contains("created"), "{code} {out} {talk}");
    assert_eq!(ask(&["claim", "drop", "ann"]).0, 0);
    let (code, _, talk) = ask(&["claim", "drop", "ann", "--verbose"]);
    assert!(code == 0 && talk.contains("/queue/v1/campaigns/drop/claims"), "{talk}");
    let (code, _, talk) = ask(&["rush", "--url", &url, "--create", "5"]);
    assert!(code == 2 && talk.contains("has a path"), "{talk}");
    // Probes are at the other address only, with the path and without.
    let (_, line) = server.said.split_once("metrics http://").unwrap();
    let operations = line.split('/').next().unwrap();
    for (url, code) in [
        (format!("http://{operations}"), 0),
        (format!("http://{operations}/queue"), 0),
        (format!("http://{}/queue", server.address), 1),
    ] {
        let (ended, out, _) = verb(folder.path(), &[], &["health", "--url", &url]);
        assert_eq!(ended, code, "{url}: {out}");
    }
}

#[test]
fn a_path_that_cannot_be_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (path, why) in [
        ("queue", "must be a path"),
        ("/queue/", "without `/` at its end"),
        ("/v1", "may not begin"),
    ] {
        let said = cannot_serve(serve(folder.path(), &[("BASE_PATH", path)]));
        assert!(
            said.contains("environment FIRSTCOME_BASE_PATH: `base_path` ") && said.contains(why),
            "{said}"
        );
    }
}
