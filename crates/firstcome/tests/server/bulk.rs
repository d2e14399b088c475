//! Many commands in one request: each line is answered as its own route would, in order, and for itself.

use crate::eligibility::{later, terms};
use crate::inside::{Inside, Setup, one_pool};
use crate::rates::subjects;
use crate::team::{Mood, Team};
use crate::wire::Answer;
use axum::body::Body;
use axum::http::Request;
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_http::guard::Guards;
use firstcome_http::guard::eligibility::{Check, Checks, CountsOfAll};
use firstcome_inject::Mistake;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::Duration;
use tower_service::Service;

const PATH: &str = "/v1/commands";

/// Reads the lines of an answer.
#[track_caller]
pub(crate) fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let text = answer.text();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn send_as(node: &Inside, key: &str, body: impl Into<Body>) -> Answer {
    let (key, kind) = (format!("Bearer {key}"), "application/x-ndjson");
    node.ask_with("POST", PATH, &[("authorization", &key), ("content-type", kind)], body).await
}

async fn send(node: &Inside, commands: &[Value]) -> Vec<Value> {
    let body: String = commands.iter().map(|command| format!("{command}\n")).collect();
    lines(&send_as(node, crate::process::KEY, body).await)
}

fn claim(campaign: &str, subject: &str) -> Value {
    json!({"do": "claim", "campaign": campaign, "subject": subject})
}

/// Returns the outcome of each line, with its number.
fn outcomes(lines: &[Value]) -> Vec<String> {
    lines.iter().map(|line| format!("{} {}", line["line"], text(line, "outcome"))).collect()
}

fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_default()
}

/// Sends the command of a line by its own route.
async fn alone(node: &Inside, line: &Value) -> Answer {
    let mut body = line.clone();
    let members = body.as_object_mut().unwrap();
    let mut take = |name: &str| {
        members.remove(name).map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
    };
    let (verb, campaign) = (take("do").unwrap(), take("campaign").unwrap());
    let path = format!("/v1/campaigns/{}", campaign.replace(' ', "%20"));
    match &*verb {
        "claim" => node.ask_with("POST", &format!("{path}/claims"), &[], body.to_string()).await,
        "cancel" => {
            let subject = take("subject").unwrap();
            let query = ["rank", "pool", "by", "reason"]
                .into_iter()
                .filter_map(|name| take(name).map(|value| format!("{name}={value}")));
            let query = query.collect::<Vec<_>>().join("&");
            node.cancel(&campaign, &subject, &query).await
        }
        "hold" => node.ask_with("POST", &format!("{path}/holds"), &[], body.to_string()).await,
        step => {
            let (hold, id) = (take("hold").unwrap(), take("id").unwrap_or_default());
            let path = format!("{path}/holds/{hold}/{step}");
            let id = ("idempotency-key", &*id);
            node.ask_with("POST", &path, &[id], body.to_string()).await
        }
    }
}

/// Every kind of command, with every kind of answer, is the same as a line and by its own route.
#[tokio::test(start_paused = true)]
async fn a_line_is_answered_as_its_own_route_answers() {
    let node = Inside::new().await;
    for name in ["lines", "route"] {
        let hall = json!({"opens_at": "now", "allow_orphans": true, "hold_ttl_ms": 60_000, "pools": [
            {"name": "main", "kind": "seated"}, {"name": "standing", "capacity": 2}]});
        node.put(&format!("hall-{name}"), &hall).await.says(201, "created");
        let seats = json!([{"name": "A1"}, {"name": "A2"}, {"name": "A3", "grade": "R",
            "price_minor": 900, "currency": "KRW"}]);
        let path = format!("/v1/campaigns/hall-{name}/pools/main/seats");
        node.ask_with("POST", &path, &[], seats.to_string()).await.says(200, "imported");
        node.open(&format!("drop-{name}"), 2).await.says(201, "created");
    }
    let script = r#"
        {"do":"claim","campaign":"drop","subject":"ann"} -> 201 won
        {"do":"claim","campaign":"drop","subject":"ann"} -> 200 already_won
        {"do":"claim","campaign":"drop","subject":"bob","pool":"main"} -> 201 won
        {"do":"claim","campaign":"drop","subject":"cem"} -> 409 sold_out
        {"do":"claim","campaign":"drop","subject":"cem","pool":"side"} -> 404 not_found
        {"do":"claim","campaign":"drop","subject":"cem","pool":"Side!"} -> 404 not_found
        {"do":"claim","campaign":"none","subject":"cem"} -> 404 not_found
        {"do":"claim","campaign":"no such name","subject":"cem"} -> 404 not_found
        {"do":"claim","campaign":"drop","subject":""} -> 422 invalid_subject
        {"do":"claim","campaign":"hall","subject":"ann"} -> 400 pool_required
        {"do":"claim","campaign":"hall","subject":"ann","pool":"main"} -> 409 hold_required
        {"do":"cancel","campaign":"drop","subject":"ann"} -> 400 invalid_request
        {"do":"cancel","campaign":"drop","subject":"ann","rank":1} -> 400 invalid_request
        {"do":"cancel","campaign":"drop","subject":"ann","rank":1,"by":"me"} -> 400 invalid_request
        {"do":"cancel","campaign":"drop","subject":"ann","rank":7,"by":"subject"} -> 404 no_such_claim
        {"do":"cancel","campaign":"drop","subject":"ann","rank":1,"by":"subject"} -> 200 cancelled
        {"do":"cancel","campaign":"drop","subject":"ann","rank":1,"by":"operator","reason":"fraud","pool":"main"} -> 200 cancelled
        {"do":"cancel","campaign":"drop","subject":"bob","rank":2,"by":"operator","reason":"fraud"} -> 200 cancelled
        {"do":"claim","campaign":"drop","subject":"ann"} -> 409 already_cancelled
        {"do":"hold","campaign":"hall","subject":"ann","id":"h1","picks":[{"pool":"main","units":["A1","A2"]}]} -> 201 held
        {"do":"hold","campaign":"hall","subject":"ann","id":"h1","picks":[{"pool":"main","units":["A1","A2"]}]} -> 200 already_held
        {"do":"hold","campaign":"hall","subject":"bob","id":"h2","picks":[{"pool":"main","units":["A2"]}]} -> 409 unit_taken
        {"do":"hold","campaign":"hall","subject":"bob","id":"h2","picks":[{"pool":"main","units":["Z9"]}]} -> 404 no_such_unit
        {"do":"hold","campaign":"hall","subject":"bob","id":"h2","picks":[]} -> 400 invalid_request
        {"do":"hold","campaign":"hall","subject":"bob","id":"","picks":[{"pool":"standing","quantity":1}]} -> 400 invalid_request
        {"do":"hold","campaign":"hall","subject":"bob","id":"h2","picks":[{"pool":"main","best":1,"grade":"R"}]} -> 201 held
        {"do":"extend","campaign":"hall","subject":"ann","hold":"h1","ttl_ms":120000} -> 200 extended
        {"do":"extend","campaign":"hall","subject":"ann","hold":"h1","ttl_ms":0} -> 400 invalid_request
        {"do":"extend","campaign":"hall","subject":"bob","hold":"h1"} -> 403 not_yours
        {"do":"extend","campaign":"hall","subject":"bob","hold":"h9"} -> 404 no_such_hold
        {"do":"release","campaign":"hall","subject":"ann","hold":"h1","id":"s1","units":["A2"],"pool":"main"} -> 200 released
        {"do":"release","campaign":"hall","subject":"ann","hold":"h1","id":"s1","units":["A2"],"pool":"main"} -> 200 released
        {"do":"confirm","campaign":"hall","subject":"ann","hold":"h1","late":"retake"} -> 200 confirmed
        {"do":"confirm","campaign":"hall","subject":"ann","hold":"h1"} -> 200 confirmed
        {"do":"release","campaign":"hall","subject":"ann","hold":"h1"} -> 200 released
        {"do":"confirm","campaign":"hall","subject":"bob","hold":"h2","picks":[{"pool":"main","best":1}]} -> 400 invalid_request
        {"do":"release","campaign":"hall","subject":"bob","hold":"h2"} -> 200 released
        {"do":"confirm","campaign":"hall","subject":"bob","hold":"h2"} -> 410 hold_released
    "#;
    let script = script.lines().map(str::trim).filter(|line| !line.is_empty());
    for step in script {
        let (line, expected) = step.rsplit_once(" -> ").unwrap();
        let mut command: Value = serde_json::from_str(line).unwrap();
        let campaign = text(&command, "campaign").to_owned();
        let of = |name: &str| match &*campaign {
            "drop" | "hall" => format!("{campaign}-{name}"),
            other => other.to_owned(),
        };
        command["campaign"] = of("route").into();
        let by_route = alone(&node, &command).await;
        command["campaign"] = of("lines").into();
        command["ref"] = "r".into();
        let mut answers = send(&node, &[command]).await;
        let mut by_line = answers.remove(0);
        assert!(answers.is_empty(), "{step}");
        let members = by_line.as_object_mut().unwrap();
        assert_eq!(members.remove("line"), Some(json!(1)));
        assert_eq!(members.remove("ref"), Some(json!("r")));
        if by_route.status < 300 {
            assert_eq!(members.remove("status"), Some(json!(by_route.status)), "{step}");
        }
        assert_eq!(format!("{} {}", by_route.status, by_route.outcome()), expected, "{step}");
        let alike = |mut document: Value| {
            let mut texts = document.to_string();
            for name in ["lines", "route"] {
                texts = texts.replace(&format!("-{name}"), "");
            }
            document = serde_json::from_str(&texts).unwrap();
            let position = document.as_object_mut().unwrap().remove("position");
            (document, position.is_some())
        };
        assert_eq!(alike(by_line), alike(by_route.json()), "{step}");
    }
}

#[tokio::test(start_paused = true)]
async fn commands_of_one_request_are_decided_in_their_order() {
    let node = Inside::new().await;
    let mut drop = one_pool("now", 1);
    drop["limits"] = json!({"campaign": 1});
    drop["claim_again"] = json!(true);
    node.put("drop", &drop).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    // What memory knows of the last two is over once the first is decided.
    let cancel =
        json!({"do": "cancel", "campaign": "drop", "subject": "ann", "rank": 1, "by": "subject"});
    let answers = send(&node, &[cancel, claim("drop", "ann"), claim("drop", "bob")]).await;
    assert_eq!(outcomes(&answers), ["1 cancelled", "2 won", "3 sold_out"], "{answers:?}");
    assert_eq!(answers[1]["rank"], 2);

    node.open("many", 5_000).await.says(201, "created");
    let subjects: Vec<Value> = (1..=5_000).map(|n| claim("many", &format!("s{n}"))).collect();
    let begin = node.position();
    let answers = send(&node, &subjects).await;
    for (number, answer) in (1..).zip(&answers) {
        assert_eq!((&answer["line"], &answer["rank"]), (&json!(number), &json!(number)));
        assert_eq!(answer["subject"], format!("s{number}"));
    }
    let entries = node.position() - begin;
    assert!(entries < 100, "5,000 lines share batches, and there were {entries}");
}

#[tokio::test(start_paused = true)]
async fn a_bad_line_answers_for_itself() {
    let node = Inside::new().await;
    node.open("drop", 100).await.says(201, "created");
    let long = format!("{{\"do\":\"claim\",\"ref\":\"{}\"}}", "x".repeat(65_536));
    let bad: [(&[u8], &str, &str, Option<&str>); 16] = [
        (b"no json", "invalid_request", "the line is not right: expected", None),
        (b"{\"do\":\"claim\"", "invalid_request", "EOF while parsing", None),
        (b"[]", "invalid_request", "the line is not right", None),
        (b"{}", "invalid_request", "missing field `do`", None),
        (br#"{"do":"take","ref":"7"}"#, "invalid_request", "unknown variant `take`, expected one of `claim`", Some("7")),
        (br#"{"do":"claim","ref":"7"}"#, "invalid_request", "missing field `campaign`", Some("7")),
        (br#"{"do":"claim","campaign":"drop","subject":"x","ref":"7","size":1}"#, "invalid_request", "unknown field `size`", Some("7")),
        (br#"{"do":"claim","campaign":"drop","subject":"x","ref":7}"#, "invalid_request", "invalid type", None),
        (br#"{"do":"claim","campaign":"drop","subject":"x","rank":7}"#, "invalid_request", "`rank` does not go with this command; it takes pool", None),
        (br#"{"do":"hold","campaign":"drop","subject":"x","picks":[{"quantity":1}],"wait_ms":5}"#, "invalid_request", "unknown field `wait_ms`", None),
        (br#"{"do":"hold","campaign":"drop","subject":"x","picks":[{"quantity":1}]}"#, "invalid_request", "id is required", None),
        (br#"{"do":"release","campaign":"drop","subject":"x"}"#, "invalid_request", "hold is required", None),
        (b"{\"do\":\"claim\",\"campaign\":\"drop\",\"subject\":\"\xff\"}", "invalid_request", "the line is not right", None),
        (b"{\"do\":\"claim\",\"campaign\":\"drop\",\"subject\":\"a\\u0007\"}", "invalid_subject", "not allowed there", None),
        (long.as_bytes(), "too_large", "more than 65536 bytes (body_bytes)", None),
        (b"\x00\x01\x02", "invalid_request", "the line is not right", None),
    ];
    let mut body = Vec::new();
    for (number, (line, ..)) in bad.iter().enumerate() {
        body.extend_from_slice(claim("drop", &format!("s{number}")).to_string().as_bytes());
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(line);
        body.extend_from_slice(b"\n");
    }
    // Empty lines have a number and no answer; the last line needs no end.
    body.extend_from_slice(b"\n  \n");
    body.extend_from_slice(claim("drop", "last").to_string().as_bytes());
    let chunks: Vec<Vec<u8>> = body.chunks(777).map(<[u8]>::to_vec).collect();
    let chunks = stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
    let answers = lines(&send_as(&node, crate::process::KEY, Body::from_stream(chunks)).await);
    assert_eq!(answers.len(), 2 * bad.len() + 1);
    for (number, pair) in answers.chunks_exact(2).enumerate() {
        let (_, outcome, detail, reference) = bad[number];
        assert_eq!((text(&pair[0], "outcome"), &pair[0]["rank"]), ("won", &json!(number + 1)));
        let refused = &pair[1];
        assert_eq!(refused["line"], json!(2 * number + 2), "{refused}");
        assert_eq!(text(refused, "outcome"), outcome, "{refused}");
        assert!(text(refused, "detail").contains(detail), "{detail:?} is not in {refused}");
        assert_eq!(refused.get("ref").and_then(Value::as_str), reference, "{refused}");
        assert_eq!(
            (&refused["changed"], text(refused, "type")),
            (&json!("no"), &*format!("/problems/{outcome}"))
        );
    }
    let last = answers.last().unwrap();
    assert_eq!((&last["line"], &last["rank"]), (&json!(2 * bad.len() + 3), &json!(bad.len() + 1)));
}

#[tokio::test(start_paused = true)]
async fn who_may_not_is_told_for_the_request_or_for_the_line() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.open("spring-1", 9).await.says(201, "created");
    let body = || format!("{}\n{}\n", claim("drop", "ann"), claim("spring-1", "ann"));
    send_as(&node, "of-bad-news", body()).await.refuses("unauthorized", "does not know that key");
    send_as(&node, "a-reading-key---", body()).await.refuses("forbidden", "this needs backend");
    let token = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImsifQ.e30.AA";
    send_as(&node, token, body()).await.refuses("forbidden", "and nothing else");
    let answers = lines(&send_as(&node, "a-key-for-spring", body()).await);
    assert_eq!(outcomes(&answers), ["1 forbidden", "2 won"]);
    assert!(text(&answers[0], "detail").contains("campaigns that begin with \"spring\""));
    // A back end cancels on the subject's word; the name of its key is recorded, as by the route.
    let cancel = |by: &str| json!({"do": "cancel", "campaign": "spring-1", "subject": "ann", "rank": 1, "by": by, "reason": "x"});
    let body = format!("{}\n{}\n", cancel("operator"), cancel("subject"));
    let answers = lines(&send_as(&node, "a-backend-key---", body).await);
    assert_eq!(outcomes(&answers), ["1 forbidden", "2 cancelled"]);
    assert_eq!(answers[1]["by"], "subject");
}

#[tokio::test(start_paused = true)]
async fn a_body_of_another_form_is_refused_whole() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    let body = || format!("{}\n", claim("drop", "ann"));
    let kinds = [
        ("application/json", "not \"application/json\""),
        ("", "send Content-Type: application/x-ndjson"),
    ];
    for (kind, said) in kinds {
        let answer = node.ask_with("POST", PATH, &[("content-type", kind)], body()).await;
        answer.refuses("unsupported_media_type", said);
    }
    let kind = ("content-type", "application/x-ndjson");
    let packed = node.ask_with("POST", PATH, &[kind, ("content-encoding", "gzip")], body()).await;
    packed.refuses("unsupported_media_type", "without Content-Encoding: gzip");
    let query = format!("{PATH}?wait=1");
    node.ask_with("POST", &query, &[kind], body())
        .await
        .refuses("invalid_request", "does not take");
    let ahead = format!("{PATH}?min_position=0.900");
    node.ask_with("POST", &ahead, &[kind], body())
        .await
        .refuses("unavailable", "not known here yet");
    node.get(PATH).await.refuses("method_not_allowed", "does not take GET");
    assert_eq!(
        lines(&send_as(&node, crate::process::KEY, "").await),
        Vec::<serde_json::Value>::new()
    );
    assert_eq!(node.claim("drop", "ann").await.says(201, "won")["rank"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_subject_that_asks_too_often_is_told_and_a_key_waits() {
    let guards = subjects("6/m burst 2");
    let node =
        Inside::with(Setup { guards, key_rate: Some("10/s burst 5"), ..Setup::default() }).await;
    node.open("drop", 100).await.says(201, "created");
    let mut commands = vec![claim("drop", "ann"); 3];
    commands.extend((0..40).map(|n| claim("drop", &format!("s{n}"))));
    let body: String = commands.iter().map(|command| format!("{command}\n")).collect();
    let begun = tokio::time::Instant::now();
    let answers = lines(&send_as(&node, "a-backend-key---", body).await);
    assert_eq!(outcomes(&answers)[..4], ["1 won", "2 already_won", "3 too_many_requests", "4 won"]);
    assert_eq!((&answers[2]["limit"], text(&answers[2], "ref")), (&json!("subject"), ""));
    assert!(answers[2]["retry_after_ms"].as_u64().unwrap() <= 10_000);
    // Each line counts as a request of the key, which is not refused but waits for its turn.
    assert!(answers[3..].iter().all(|line| text(line, "outcome") == "won"));
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(3_500) && took < Duration::from_secs(6), "{took:?}");
}

/// It was ended as one whose client sends too little.
#[tokio::test(start_paused = true)]
async fn a_paced_request_is_not_slow() {
    let node = Inside::with(Setup { key_rate: Some("8/s burst 200"), ..Setup::default() }).await;
    node.open("drop", 10_000).await.says(201, "created");
    let body = |of: usize| -> String {
        (0..250).map(|n| format!("{}\n", claim("drop", &format!("s{of}-{n}")))).collect()
    };
    let all = join_all((0..8).map(|of| send_as(&node, "a-backend-key---", body(of))));
    let another = async {
        // By then 320 of 2,000 lines had their turn.
        tokio::time::sleep(Duration::from_secs(15)).await;
        send_as(&node, "a-backend-key-2-", "").await.refuses("busy", "8 requests of many commands");
    };
    let (all, ()) = tokio::join!(all, another);
    for answer in all {
        let answers = lines(&answer);
        assert_eq!(answers.len(), 250, "{:?}", answers.last());
        assert!(answers.iter().all(|line| text(line, "outcome") == "won"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answers_is_slow() {
    let node = Inside::new().await;
    node.open("drop", 50_000).await.says(201, "created");
    let lines_of = |count: usize| {
        (0..count).map(|n| format!("{}\n", claim("drop", &format!("s{n}")))).collect::<String>()
    };
    let mut bodies = Vec::new();
    for _ in 0..8 {
        let request = Request::post(PATH).header("authorization", "Bearer a-backend-key---");
        let request = request.header("content-type", "application/x-ndjson");
        let request = request.body(Body::from(lines_of(5_000))).unwrap();
        let mut body = node.router().call(request).await.unwrap().into_body();
        // It takes the first answers, while other lines are in the queue.
        body.frame().await.unwrap().unwrap();
        bodies.push(body);
    }
    tokio::time::sleep(Duration::from_secs(21)).await;
    send_as(&node, "a-backend-key---", "").await.refuses("busy", "8 requests of many commands");
    for body in bodies {
        let answers = body.collect().await.unwrap().to_bytes();
        let last = answers.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap();
        let last: Value = serde_json::from_slice(last).unwrap();
        assert_eq!((text(&last, "outcome"), &last["ends"]), ("busy", &json!(true)), "{last}");
    }
}

#[tokio::test]
async fn the_teams_own_service_is_asked_for_many_lines_at_a_time_and_the_order_stays() {
    let team = Team::start(Mood::Hangs).await;
    let terms = terms("drop", &team.url());
    let counts = CountsOfAll::default().of("drop");
    let checks = Checks::new(vec![Check::new(terms, counts).unwrap()]);
    let node =
        Inside::with(Setup { guards: Guards { checks, ..Guards::default() }, ..Setup::default() })
            .await;
    node.open("drop", 100).await.says(201, "created");
    let commands: Vec<Value> = (1..=40).map(|n| claim("drop", &format!("s{n}"))).collect();
    let asked = async {
        team.called(16).await;
        later(Duration::from_millis(1)).await;
        assert_eq!(team.calls(), 16, "so many at one time");
        team.lets_go(40);
    };
    let (answers, ()) = tokio::join!(send(&node, &commands), asked);
    for (number, answer) in (1..).zip(&answers) {
        assert_eq!(
            (&answer["line"], &answer["rank"]),
            (&json!(number), &json!(number)),
            "{answer}"
        );
    }
    team.turns(Mood::no());
    let answers = send(&node, &[claim("drop", "s1"), claim("drop", "new")]).await;
    assert_eq!(outcomes(&answers), ["1 already_won", "2 not_eligible"]);
    assert_eq!(answers[1]["reason"], "members only");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_means_waiting_and_a_single_claim_still_finds_room() {
    let node = Inside::with(Setup { queue: 8, ..Setup::default() }).await;
    node.open("drop", 2_000).await.says(201, "created");
    let commands: Vec<Value> = (1..=1_000).map(|n| claim("drop", &format!("s{n}"))).collect();
    let alone = async {
        for n in 0..50 {
            node.claim("drop", &format!("alone{n}")).await.says(201, "won");
        }
    };
    let (answers, ()) = tokio::join!(send(&node, &commands), alone);
    let won = answers.iter().filter(|line| text(line, "outcome") == "won").count();
    assert_eq!(won, 1_000, "{:?}", answers.iter().find(|line| text(line, "outcome") != "won"));
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_does_not_answer_is_unknown_or_unavailable_line_by_line() {
    let node = Inside::with(Setup { queue: 8, ..Setup::default() }).await;
    node.open("drop", 2_000).await.says(201, "created");
    node.journal.hold();
    let begun = tokio::time::Instant::now();
    let commands: Vec<Value> = (1..=20).map(|n| claim("drop", &format!("s{n}"))).collect();
    let answers = send(&node, &commands).await;
    let all: Vec<&str> = answers.iter().map(|line| text(line, "outcome")).collect();
    assert!(all.contains(&"unknown") && all.contains(&"unavailable"), "{all:?}");
    let known = |outcome: &&str| ["unknown", "unavailable", "busy"].contains(outcome);
    node.journal.let_go();
    assert!(all.iter().all(known), "{all:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(
        answers
            .iter()
            .filter(|line| text(line, "outcome") == "unavailable")
            .all(|line| line["retry_after_ms"] == 1_000)
    );
}

/// A claim reaches the journal behind the campaign, whose codes its server did not know yet. It is refused, and the store
/// does not take it once more. Gives what its line says.
async fn sent_once_only() -> Vec<String> {
    let node = Inside::new().await;
    let appends = node.journal.appends();
    node.journal.hold();
    let creates = async {
        let pool = json!({"name": "main", "kind": "coded", "capacity": 10});
        let settings = json!({"opens_at": "now", "pools": [pool]}).to_string();
        let id = [("idempotency-key", "once")];
        let answer = node.ask_with("PUT", "/v1/campaigns/sale", &id, settings).await;
        answer.says(201, "created");
    };
    let claims = async {
        // By then the server's state is too old to say that there is no such campaign.
        tokio::time::sleep(Duration::from_secs(2)).await;
        send(&node, &[claim("sale", "ann")]).await
    };
    let goes_on = async {
        node.journal.asked(appends + 1).await;
        while node.app.node.waiting() < 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.journal.fault(JournalCall::Append, 2, Fault::Refuse);
        node.journal.let_go();
    };
    let ((), answers, ()) = tokio::join!(creates, claims, goes_on);
    assert_eq!(outcomes(&send(&node, &[claim("sale", "ann")]).await), ["1 won"]);
    outcomes(&answers)
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_a_code_that_cannot_be_sent_twice_is_unknown() {
    assert_eq!(sent_once_only().await, ["1 unknown"]);
    firstcome_inject::set(Some(Mistake::FirstTryForgotten));
    let wrong = sent_once_only().await;
    firstcome_inject::set(None);
    assert_eq!(wrong, ["1 unavailable"], "the story is blind");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_answer_is_not_silent_meanwhile() {
    let node = Inside::new().await;
    node.open("drop", 100).await.says(201, "created");
    let (journal, appends) = (node.journal.clone(), node.journal.appends());
    journal.hold();
    let next = move |n: u32| {
        let (journal, line) = (journal.clone(), format!("{}\n", claim("drop", &format!("s{n}"))));
        async move {
            if n == 2 {
                // The first answer takes longer than a client may be silent, which is a second here.
                journal.asked(appends + 1).await;
                tokio::time::sleep(Duration::from_secs(3)).await;
                journal.let_go();
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            Ok::<_, std::io::Error>(line)
        }
    };
    let body = Body::from_stream(stream::iter(1..=2).then(next));
    let answers = lines(&send_as(&node, crate::process::KEY, body).await);
    assert_eq!(outcomes(&answers), ["1 won", "2 won"]);
}
