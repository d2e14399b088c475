//! The list that the clients of all languages keep, run by this one: `clients/README.md` says how it is read.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_client::{Answer, Ask, CancelAsk, Client, Error, Picks, TakeHold, Taken, Wish};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::server::Server;

/// What this client leaves to others: it has no block that ends a hold, no stream of events, and the server judges subjects.
const NOT_HERE: [&str; 3] = ["hold_block", "events", "invalid_argument"];

/// Most behaviours wait most of the time; of all at once some would be late for each other.
const AT_ONCE: usize = 8;

type Saved = BTreeMap<String, Value>;

/// The proxy, which ends when its standard input does.
struct Proxy {
    child: Child,
    control: Client,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Proxy {
    /// `None` where Python is missing and may be.
    fn start(upstream: &str) -> Option<Self> {
        let script = clients().join("conformance/proxy.py");
        let mut command = Command::new("python3");
        command.arg(script).args(["--upstream", upstream, "--stop-with-stdin"]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = spawned else {
            firstcome_testbed::missing("python3", "install the Debian package `python3`");
            return None;
        };
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let control = Client::new(first.trim()).unwrap();
        Some(Self { child, control })
    }

    async fn session(&self, proxy: &Value) -> (u64, String) {
        let mut ask = Ask::change("POST", "/-conformance/sessions");
        ask.body = Some(proxy.clone());
        let made = sent(&self.control, ask).await;
        (made["session"].as_u64().unwrap(), made["url"].as_str().unwrap().to_owned())
    }

    async fn end(&self, session: u64) -> Value {
        let path = format!("/-conformance/sessions/{session}");
        sent(&self.control, Ask::change("DELETE", path)).await["requests"].clone()
    }
}

fn clients() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients")
}

/// Sends a request that has to succeed; gives the document.
async fn sent(client: &Client, ask: Ask) -> Value {
    let bytes = client.ask_raw(ask).await.unwrap().unwrap_or_else(|problem| panic!("{problem}"));
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

/// Puts saved values in the place of their names.
fn filled(value: &Value, saved: &Saved) -> Value {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            if let Some(value) = whole.and_then(|name| saved.get(name)) {
                return value.clone();
            }
            let put = |text: String, (name, value): (&String, &Value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.replace(&format!("{{{name}}}"), &value)
            };
            Value::String(saved.iter().fold(text.clone(), put))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, saved)).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (name.clone(), filled(value, saved));
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Says whether an expected value is found in an actual one.
fn found(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(fields), actual) => fields
            .iter()
            .all(|(name, value)| actual.get(name).is_some_and(|actual| found(value, actual))),
        (Value::Array(expected), Value::Array(actual)) => {
            let same = expected.len() == actual.len();
            same && expected.iter().zip(actual).all(|(expected, actual)| found(expected, actual))
        }
        (expected, actual) => expected == actual,
    }
}

fn within(bounds: &Value, number: u64) -> bool {
    match bounds.as_u64() {
        Some(exact) => exact == number,
        None => {
            bounds["min"].as_u64().is_none_or(|min| min <= number)
                && bounds["max"].as_u64().is_none_or(|max| number <= max)
        }
    }
}

/// Stops at a field that this runner does not understand.
fn only(value: &Value, known: &[&str]) {
    for name in value.as_object().into_iter().flat_map(Map::keys) {
        assert!(known.contains(&name.as_str()), "{name} is not understood");
    }
}

/// A request of the runner itself, straight to the server.
async fn step(server: &Client, step: &Value, saved: &mut Saved) {
    only(step, &["method", "path", "body", "status", "save"]);
    let step = filled(step, saved);
    let method = ["GET", "PUT", "POST", "DELETE"].into_iter().find(|name| step["method"] == *name);
    let mut ask = Ask::change(method.unwrap(), step["path"].as_str().unwrap());
    let reads = ask.method == "GET";
    ask.body = Some(step["body"].clone()).filter(|body| !reads && !body.is_null());
    let (status, document) = match server.ask_raw(ask).await.unwrap() {
        Ok(bytes) => (None, serde_json::from_slice(&bytes).unwrap_or(Value::Null)),
        Err(problem) => (Some(u64::from(problem.status)), Value::Null),
    };
    match status {
        Some(status) => assert_eq!(step["status"], status, "{step}"),
        None => assert!(step["status"].as_u64().is_none_or(|wanted| wanted < 300), "{step}"),
    }
    if reads && !step["body"].is_null() {
        assert!(found(&step["body"], &document), "{step}: {document}");
    }
    save(&step["save"], &document, saved);
}

fn save(names: &Value, document: &Value, saved: &mut Saved) {
    for (name, field) in names.as_object().into_iter().flatten() {
        saved.insert(name.clone(), document[field.as_str().unwrap()].clone());
    }
}

/// Makes a call; gives its kind, and the fields of its result.
async fn call(client: &Client, campaign: &str, call: &Value) -> (String, Value) {
    let text = |name: &str| call[name].as_str().unwrap_or_default();
    let (subject, pool) = (text("subject"), call["pool"].as_str());
    let op = text("op");
    let code = |verb: &str| {
        let mut body = json!({"code": call["code"], "reference": call["reference"]});
        if call["ttl_ms"].is_u64() {
            body["ttl_ms"] = call["ttl_ms"].clone();
        }
        Ask::code_step(campaign, verb, body)
    };
    let on_hold = |verb: &str, id: Option<&str>| {
        let mut body = json!({"subject": subject});
        for name in ["ttl_ms", "late"] {
            if !call[name].is_null() {
                body[name] = call[name].clone();
            }
        }
        let ask = Ask::hold_step(campaign, text("hold"), verb, body, id);
        if verb == "extend" { ask } else { ask.repeatable() }
    };
    let drawn = format!("step-{:032x}", fastrand::u128(..));
    let ask = match op {
        "claim" => Ask::claim(campaign, subject, pool),
        "cancel" => Ask::cancel(&CancelAsk {
            campaign: campaign.to_owned(),
            subject: subject.to_owned(),
            pool: pool.map(str::to_owned),
            rank: u32::try_from(call["rank"].as_u64().unwrap()).unwrap(),
            by_subject: true,
            reason: None,
        }),
        "hold" => return hold(client, campaign, call).await,
        "extend" => on_hold("extend", Some(&drawn)),
        "confirm" | "release" => on_hold(op, None),
        "join" => Ask::join(campaign, subject, pool, &Wish::default()),
        "place" => Ask::place(campaign, subject, pool),
        "leave" => Ask::leave(campaign, subject, pool),
        "reserve_code" => code("reserve"),
        "redeem_code" => code("redeem"),
        "roll_back_code" => code("roll-back"),
        "release_code" => code("release"),
        "campaign" => Ask::campaign(campaign),
        "results" => return results(client, campaign, call).await,
        _ => panic!("{op} is not understood"),
    };
    let said = client.decide::<Value>(ask).await;
    told(said.map(|answer| answer.map(|document| (kind_of(op, &document), document))))
}

/// Returns the kind of a success: its outcome, or what was read.
fn kind_of(op: &str, document: &Value) -> String {
    let outcome = document["outcome"].as_str().filter(|_| !["campaign", "place"].contains(&op));
    outcome.unwrap_or(op).to_owned()
}

async fn hold(client: &Client, campaign: &str, call: &Value) -> (String, Value) {
    let text = |name: &str| call[name].as_str().unwrap_or_default();
    let picks = &call["picks"][0];
    only(picks, &["quantity"]);
    let quantity = u32::try_from(picks["quantity"].as_u64().unwrap()).unwrap();
    let mut take = TakeHold::new(campaign, text("subject"), Picks::quantity(None, quantity));
    if let Some(id) = call["id"].as_str() {
        take = take.id(id);
    }
    let said = client.take_hold(&take).await;
    told(said.map(|answer| {
        answer.map(|taken| {
            let document = match taken {
                Taken::Held(held) => serde_json::to_value(held).unwrap(),
                Taken::Confirmed(ended) => serde_json::to_value(ended).unwrap(),
                other => panic!("{other:?}"),
            };
            (kind_of("hold", &document), document)
        })
    }))
}

async fn results(client: &Client, campaign: &str, call: &Value) -> (String, Value) {
    let mut pages = client.results(campaign).limit(call["page_size"].as_u64().unwrap());
    let mut items = Vec::new();
    loop {
        match pages.next().await {
            Ok(Some(line)) => items.push(serde_json::to_value(&line).unwrap()),
            Ok(None) => return ("items".to_owned(), json!({"items": items})),
            Err(error) => return told(Err(error)),
        }
    }
}

fn told(said: Result<Answer<(String, Value)>, Error>) -> (String, Value) {
    let shown = format!("{said:?}");
    assert!(!shown.contains("conformance-"), "the key is in {shown}");
    let (kind, fields) = match said {
        Ok(Answer::Yes(yes)) => return yes,
        Ok(Answer::No(_, problem)) => (
            "refused",
            json!({"reason": problem.outcome, "changed": problem.changed,
                "after_lost_attempt": problem.after_lost_attempt}),
        ),
        Err(Error::Unknown(_)) => ("unknown", json!({})),
        Err(Error::Unchanged(unchanged)) => {
            ("unavailable", json!({"outcome": unchanged.problem().map(|it| &it.outcome)}))
        }
        Err(Error::Refused(problem)) => {
            ("rejected", json!({"outcome": problem.outcome, "status": problem.status}))
        }
        Err(other) => panic!("{other}"),
    };
    (kind.to_owned(), fields)
}

fn check_call(expect: &Value, kind: &str, fields: &Value, took: Duration) {
    only(expect, &["kind", "fields", "has", "took_ms"]);
    let one = std::slice::from_ref(&expect["kind"]);
    let kinds = expect["kind"].as_array().map_or(one, Vec::as_slice);
    assert!(kinds.iter().any(|it| it == kind), "{kind}: {fields}, not {expect}");
    assert!(expect["fields"].is_null() || found(&expect["fields"], fields), "{fields}: {expect}");
    for name in expect["has"].as_array().into_iter().flatten() {
        let value = &fields[name.as_str().unwrap()];
        assert!(!value.is_null() && *value != json!(""), "{fields} has no {name}");
    }
    let took = u64::try_from(took.as_millis()).unwrap();
    assert!(within(&expect["took_ms"], took), "{took} ms: {expect}");
}

/// Returns a part of a request that the proxy saw.
fn part(request: &Value, name: &str) -> Value {
    name.split('.').fold(request.clone(), |value, name| value[name].clone())
}

fn check_requests(expect: &Value, seen: &Value) {
    let known = ["match", "count", "same", "same_and_there", "gaps_ms", "headers", "last_event_id"];
    only(expect, &known);
    assert!(expect["last_event_id"].is_null(), "events are not read here");
    let wanted = &expect["match"];
    only(wanted, &["method", "path_ends", "path_contains"]);
    let matches = |request: &&Value| {
        let path = request["path"].as_str().unwrap();
        let route = path.split('?').next().unwrap();
        (wanted["method"].is_null() || wanted["method"] == request["method"])
            && wanted["path_ends"].as_str().is_none_or(|end| route.ends_with(end))
            && wanted["path_contains"].as_str().is_none_or(|part| path.contains(part))
    };
    let seen: Vec<&Value> = seen.as_array().unwrap().iter().filter(matches).collect();
    let count = u64::try_from(seen.len()).unwrap();
    assert!(expect["count"].is_null() || within(&expect["count"], count), "{seen:?}: {expect}");
    for (field, there) in [("same", false), ("same_and_there", true)] {
        for name in expect[field].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let parts: Vec<Value> = seen.iter().map(|request| part(request, name)).collect();
            assert!(parts.windows(2).all(|two| two[0] == two[1]), "{name} differs: {parts:?}");
            assert!(!there || parts.iter().all(|part| !part.is_null()), "{name} lacks: {parts:?}");
        }
    }
    let at = |request: &Value| request["at_ms"].as_f64().unwrap();
    for (n, bounds) in expect["gaps_ms"].as_array().into_iter().flatten().enumerate() {
        let gap = at(seen[n + 1]) - at(seen[n]);
        assert!(within(bounds, gap.max(0.0) as u64), "{gap} ms: {bounds}");
    }
    for (name, wanted) in expect["headers"].as_object().into_iter().flatten() {
        only(wanted, &["begins"]);
        let begins = wanted["begins"].as_str().unwrap();
        let has = |request: &&Value| {
            request["headers"][name].as_str().is_some_and(|value| value.starts_with(begins))
        };
        assert!(seen.iter().all(has), "{name}: {seen:?}");
    }
}

/// What all behaviours share.
struct Stage {
    server: Client,
    proxy: Proxy,
    keys: Value,
    defaults: Value,
}

async fn behave(stage: &Stage, behaviour: &Value, number: usize) {
    only(behaviour, &["name", "why", "setup", "client", "proxy", "calls", "requests", "after"]);
    let campaign = format!("c-{:04x}-{number}", fastrand::u16(..));
    let setting = |name: &str| {
        let given = behaviour["client"].get(name);
        given.unwrap_or(&stage.defaults["client"][name]).clone()
    };
    let key = stage.keys[setting("key").as_str().unwrap()].clone();
    let mut saved = Saved::new();
    saved.insert("campaign".to_owned(), campaign.as_str().into());
    saved.insert("key".to_owned(), key.clone());
    for it in behaviour["setup"].as_array().into_iter().flatten() {
        step(&stage.server, it, &mut saved).await;
    }
    let faults = behaviour.get("proxy").map_or_else(|| json!({}), |faults| filled(faults, &saved));
    let (session, url) = stage.proxy.session(&faults).await;
    let ms = |name: &str| Duration::from_millis(setting(name).as_u64().unwrap());
    let client = Client::builder(&url).key(key.as_str().unwrap());
    let client = client.deadline(ms("deadline_ms")).attempt(ms("attempt_ms")).build().unwrap();
    assert!(!format!("{client:?}").contains("conformance-"), "{client:?}");
    for one in behaviour["calls"].as_array().unwrap() {
        let one = filled(one, &saved);
        let client = match one["min_position"].as_str() {
            Some(position) => client.past(position),
            None => client.clone(),
        };
        let begun = Instant::now();
        let (kind, fields) = call(&client, &campaign, &one).await;
        check_call(&one["expect"], &kind, &fields, begun.elapsed());
        save(&one["save"], &fields, &mut saved);
    }
    let seen = stage.proxy.end(session).await;
    let expected = filled(&behaviour["requests"], &saved);
    let one = std::slice::from_ref(&expected);
    for expected in expected.as_array().map_or(one, Vec::as_slice) {
        if !expected.is_null() {
            check_requests(expected, &seen);
        }
    }
    for it in behaviour["after"].as_array().into_iter().flatten() {
        step(&stage.server, it, &mut saved).await;
    }
}

/// Says whether a behaviour is about something that this client leaves to others.
fn is_left_out(behaviour: &Value) -> bool {
    let calls = behaviour["calls"].as_array().into_iter().flatten();
    calls.into_iter().any(|call| {
        NOT_HERE.iter().any(|name| call["op"] == *name || call["expect"]["kind"] == *name)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_every_client_does() {
    let text = std::fs::read(clients().join("conformance.json")).unwrap();
    let list: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(list["format"], 1);
    let config = clients().join("conformance/server.toml").display().to_string();
    let admin = list["keys"]["admin"].as_str().unwrap();
    let settings = [("FIRSTCOME_CONFIG", &*config), ("FIRSTCOME_ADMIN_KEY", admin)];
    let server = Server::start_with(&settings);
    let Some(proxy) = Proxy::start(&server.url()) else { return };
    let client = Client::builder(&server.url()).key(admin).build().unwrap();
    let (keys, defaults) = (list["keys"].clone(), list["defaults"].clone());
    let stage = Arc::new(Stage { server: client, proxy, keys, defaults });
    let behaviours = list["behaviours"].as_array().unwrap().clone();
    let all = behaviours.len();
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = Vec::new();
    for (number, behaviour) in behaviours.into_iter().enumerate() {
        if is_left_out(&behaviour) {
            continue;
        }
        let (stage, name) = (stage.clone(), behaviour["name"].as_str().unwrap().to_owned());
        let turns = Arc::clone(&turns);
        let task = tokio::spawn(async move {
            let _turn = turns.acquire().await.unwrap();
            behave(&stage, &behaviour, number).await;
        });
        running.push((name, task));
    }
    let run = running.len();
    assert!(run * 5 >= all * 4, "only {run} of {all} are run");
    let mut failed = Vec::new();
    for (name, task) in running {
        if let Err(why) = task.await {
            failed.push(format!("{name}: {why}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
