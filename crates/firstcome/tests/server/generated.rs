//! Requests that nobody would think of, drawn from the description of the routes: right in most parts and wrong in some.
//!
//! None is answered with a fault of the server, and every answer is one that its operation describes.

use crate::documented::description;
use crate::inside::Inside;
use crate::process::KEY;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Requests that are sent.
const REQUESTS: u32 = 3_000;
/// How deep lists and objects may lie in each other.
const DEPTH: u32 = 6;

/// A request as it was drawn.
#[derive(Clone, Debug)]
struct Drawn {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

/// Names that are known to the server in some part, and some that nobody has.
fn name() -> BoxedStrategy<String> {
    let known =
        ["drop", "hall", "main", "ann", "bob", "h1", "A1", "A2", "A9", "floor", "t1", "now"];
    let known = select(known.to_vec()).prop_map(str::to_owned);
    proptest::prop_oneof![8 => known, 2 => odd_text()].boxed()
}

fn odd_text() -> BoxedStrategy<String> {
    let odd = [
        "",
        " ",
        "..",
        "a/b",
        "%2F",
        "\u{0}",
        "\u{202e}ann",
        "\u{1F3AB}",
        "=1+1",
        "null",
        "0",
        "-1",
        "0.1",
        "9.9",
        "0.99999999999999999999",
        "1e400",
        "\"3\"",
        "*",
    ];
    let odd = select(odd.to_vec()).prop_map(str::to_owned);
    let long = (1_usize..400).prop_map(|length| "x".repeat(length));
    proptest::prop_oneof![4 => odd, 1 => long, 1 => any::<String>()].boxed()
}

fn number() -> BoxedStrategy<Value> {
    let odd = [
        json!(-1),
        json!(0),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(1.5),
        json!(1e300),
    ];
    let small = (1_u32..6).prop_map(|number| json!(number));
    proptest::prop_oneof![6 => small, 2 => select(odd.to_vec()), 1 => any::<i64>().prop_map(|n| json!(n))].boxed()
}

fn anything() -> BoxedStrategy<Value> {
    let text = odd_text().prop_map(Value::from);
    let nested = json!({"a": [{"b": null}]});
    proptest::prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        Just(nested),
        any::<bool>().prop_map(Value::from),
        number(),
        text
    ]
    .boxed()
}

/// Returns values that a schema allows, and now and then one that it does not.
fn of_schema(schema: &Value, depth: u32) -> BoxedStrategy<Value> {
    if let Some(to) = schema["$ref"].as_str() {
        return of_schema(description().pointer(&to[1..]).unwrap(), depth);
    }
    let kinds = schema["type"].as_array();
    let kind = kinds.map_or(&schema["type"], |kinds| &kinds[0]).as_str().unwrap_or_default();
    let right = match kind {
        _ if schema["enum"].is_array() => {
            select(schema["enum"].as_array().unwrap().clone()).boxed()
        }
        "string" => name().prop_map(Value::from).boxed(),
        "integer" => number(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "array" if depth > 0 => {
            vec(of_schema(&schema["items"], depth - 1), 0..4).prop_map(Value::from).boxed()
        }
        "object" if depth > 0 => object(schema, depth),
        _ => anything(),
    };
    let wrong = anything();
    proptest::prop_oneof![30 => right, 1 => wrong].boxed()
}

fn object(schema: &Value, depth: u32) -> BoxedStrategy<Value> {
    let mut members = Just(Map::new()).boxed();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let often = if required.contains(&json!(name)) { 0.97 } else { 0.3 };
        let member = option::weighted(often, of_schema(schema, depth - 1));
        let name = name.clone();
        members = (members, member)
            .prop_map(move |(mut members, member)| {
                members.extend(member.map(|member| (name.clone(), member)));
                members
            })
            .boxed();
    }
    members.prop_map(Value::from).boxed()
}

/// Returns text for a parameter.
fn parameter() -> BoxedStrategy<String> {
    let number = number().prop_map(|number| number.to_string());
    let right = select(vec!["1", "0.1", "\"1\"", "subject", "operator", "json", "csv"])
        .prop_map(str::to_owned);
    proptest::prop_oneof![4 => name(), 2 => right, 2 => number].boxed()
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns requests for one operation.
fn request(method: &str, path: &str, operation: &'static Value) -> BoxedStrategy<Drawn> {
    let drawn = Drawn {
        method: method.to_uppercase(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: None,
    };
    let mut request = Just(drawn).boxed();
    for given in operation["parameters"].as_array().into_iter().flatten() {
        let (at, name) =
            (given["in"].as_str().unwrap(), given["name"].as_str().unwrap().to_owned());
        let value = match at {
            "path" => self::name().prop_map(Some).boxed(),
            _ => option::weighted(0.3, parameter()).boxed(),
        };
        request = (request, value)
            .prop_map(move |(mut drawn, value)| {
                let Some(value) = value else { return drawn };
                match at {
                    "path" => {
                        drawn.path = drawn.path.replace(&format!("{{{name}}}"), &encoded(&value))
                    }
                    "query" => {
                        let join = if drawn.path.contains('?') { '&' } else { '?' };
                        drawn.path += &format!("{join}{name}={}", encoded(&value));
                    }
                    _ => drawn.headers.push((name.to_lowercase(), value)),
                }
                drawn
            })
            .boxed();
    }
    for (kind, media) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        // Of lines, one.
        let schema = media.get("x-line-data").unwrap_or(&media["schema"]);
        let kind = kind.clone();
        let document = of_schema(schema, DEPTH).prop_map(|document| document.to_string());
        let body = proptest::prop_oneof![20 => document, 1 => odd_text(), 1 => Just(String::new())];
        // Of several media types the last one that is drawn counts.
        let body = option::weighted(0.8, body);
        request = (request, body)
            .prop_map(move |(mut drawn, body)| {
                if body.is_some() {
                    drawn.headers.retain(|(name, _)| name != "content-type");
                    drawn.headers.push(("content-type".to_owned(), kind.clone()));
                    drawn.body = body;
                }
                drawn
            })
            .boxed();
    }
    let keys =
        [KEY, KEY, KEY, KEY, KEY, KEY, "a-reading-key---", "a-key-for-spring", "nobody's", "a.b.c"];
    (request, select(keys.to_vec()))
        .prop_map(|(mut drawn, key)| {
            drawn.headers.push(("authorization".to_owned(), format!("Bearer {key}")));
            drawn
        })
        .boxed()
}

#[test]
fn no_request_that_is_drawn_from_the_description_is_answered_otherwise_than_described() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let node = runtime.block_on(async {
        let node = Inside::new().await;
        node.open("drop", 50).await.says(201, "created");
        let seats = ["A1", "A2", "A3", "A4"].map(|name| json!({"name": name, "row": "1", "grade": "R"}));
        let pools = json!([{"name": "main", "kind": "seated", "seats": seats}, {"name": "drop", "capacity": 9}]);
        node.put("hall", &json!({"opens_at": "now", "holds": "many", "pools": pools})).await.says(201, "created");
        node.claim("drop", "bob").await.says(201, "won");
        let hold = json!({"id": "h1", "subject": "ann", "picks": [{"pool": "main", "units": ["A1"]}]});
        let holds = "/v1/campaigns/hall/holds";
        node.ask_with("POST", holds, &[], hold.to_string()).await.says(201, "held");
        node
    });
    let operations = description()["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method, path, operation))
    });
    // A stream of events goes on for as long as somebody listens.
    let operations =
        operations.filter(|(.., operation)| operation["operationId"] != "follow_seats");
    let requests: Vec<_> =
        operations.map(|(method, path, operation)| request(method, path, operation)).collect();
    let all =
        select((0..requests.len()).collect::<Vec<_>>()).prop_flat_map(move |n| requests[n].clone());
    let (yes, no) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: REQUESTS, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let done = runner.run(&all, |drawn| {
        let mut request = Request::builder().method(&*drawn.method).uri(&drawn.path);
        for (name, value) in &drawn.headers {
            // What no header can carry is left out.
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                request = request.header(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
            }
        }
        let request = request.body(Body::from(drawn.body.clone().unwrap_or_default())).unwrap();
        // It is held against the description where it is sent.
        let answer = runtime.block_on(node.send(request));
        let waited = drawn.path.contains("min_position") && answer.status == 503;
        proptest::prop_assert!(answer.status < 500 || waited, "{:?}: {}", drawn, answer.text());
        let count = if answer.status < 300 { &yes } else { &no };
        count.set(count.get() + 1);
        Ok(())
    });
    assert!(done.is_ok(), "{done:?}");
    // Both kinds were tried.
    assert!(yes.get() > REQUESTS / 10 && no.get() > REQUESTS / 10, "{yes:?} {no:?}");
}
