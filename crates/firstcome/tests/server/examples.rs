//! The examples of the description and of `/docs` are what a real server answers.

use crate::bulk_clients::Bulk;
use crate::documented::{description, operation};
use crate::process::{KEY, Server};
use crate::tokens::SECRET;
use crate::webhooks::receiver::{Receiver, Reply};
use crate::wire::Talk;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// Where the description reads them.
const KEPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../firstcome-http/src/openapi/examples.json");
/// Operations without an example, and why.
const WITHOUT: [(&str, &str); 2] =
    [("metrics", "it has hundreds of lines"), ("openapi", "it is this description")];

/// A server that is asked, and what it answered.
struct Story {
    server: Server,
    talk: Talk,
    recorded: Map<String, Value>,
}

impl Story {
    fn begin(folder: &std::path::Path) -> Self {
        let server =
            Server::with(folder, &[("TOKEN_SECRET", SECRET), ("WEBHOOK_ALLOW", "127.0.0.0/8")]);
        let talk = server.talk();
        Self { server, talk, recorded: Map::new() }
    }

    /// Asks with the admin's key and records; gives the answer as JSON.
    fn ask(
        &mut self,
        (method, template): (&str, &str),
        parameters: &[(&str, &str)],
        body: Option<Value>,
    ) -> Value {
        self.ask_with(KEY, (method, template), parameters, body)
    }

    fn ask_with(
        &mut self,
        key: &str,
        (method, template): (&str, &str),
        parameters: &[(&str, &str)],
        body: Option<Value>,
    ) -> Value {
        let (_, of) = operation(method, template).unwrap();
        let place = |name: &str| {
            let known = of["parameters"].as_array().into_iter().flatten();
            let mut found = known.filter(|parameter| parameter["name"] == name);
            let found = found.next().unwrap_or_else(|| panic!("{method} {template} has no {name}"));
            found["in"].as_str().unwrap().to_owned()
        };
        let (mut path, mut query, mut headers) = (template.to_owned(), Vec::new(), Vec::new());
        let bearer = format!("Bearer {key}");
        headers.push(("authorization", &*bearer));
        for (name, value) in parameters {
            match &*place(name) {
                "path" => path = path.replace(&format!("{{{name}}}"), value),
                "query" => query.push(format!("{name}={}", value.replace(' ', "+"))),
                _ => headers.push((*name, *value)),
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let text = body.as_ref().map(Value::to_string);
        let request = self.talk.request(method, &path, &headers, text.as_deref());
        self.talk.send(request).unwrap();
        let answer = self.talk.hear().unwrap();
        crate::documented::check(method, &path, &answer);
        let kind = answer.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default();
        let given = match kind.ends_with("json") && !kind.ends_with("ndjson") {
            true => answer.json(),
            false => answer.text().into(),
        };
        self.record(of, parameters, body, (answer.status, kind, given.clone()));
        given
    }

    /// Records the first request of each operation, and its first answer with each status.
    fn record(
        &mut self,
        of: &Value,
        parameters: &[(&str, &str)],
        body: Option<Value>,
        (status, kind, answer): (u16, &str, Value),
    ) {
        let id = of["operationId"].as_str().unwrap();
        let known = self.recorded.entry(id).or_insert_with(|| {
            let is_number = |name: &str| {
                let mut known = of["parameters"].as_array().into_iter().flatten();
                known.any(|known| known["name"] == name && known["schema"]["type"] == "integer")
            };
            let example = |name: &str, value: &str| match value.parse::<u64>() {
                Ok(number) if is_number(name) => json!(number),
                Ok(_) | Err(_) => json!(value),
            };
            let parameters = parameters.iter();
            let parameters =
                parameters.map(|(name, value)| ((*name).to_owned(), example(name, value)));
            let mut known = json!({"parameters": parameters.collect::<Map<_, _>>(), "answers": []});
            mask("", &mut known["parameters"]);
            if let Some(mut body) = body {
                mask("", &mut body);
                known["body"] = body;
            }
            known
        });
        let answers = known["answers"].as_array_mut().unwrap();
        if !answers.iter().any(|known| known["status"] == status && known["kind"] == kind) {
            let mut answer = answer;
            mask("", &mut answer);
            answers.push(json!({"status": status, "kind": kind, "body": answer}));
        }
    }

    /// Sends commands, one on each line, and records their answers.
    fn command(&mut self, commands: &[Value]) {
        let mut bulk = Bulk::open(self.server.address, KEY);
        commands.iter().for_each(|command| bulk.send(&format!("{command}\n")));
        bulk.finish();
        let mut answers = String::new();
        while let Some(mut answer) = bulk.next() {
            mask("", &mut answer);
            answers += &format!("{answer}\n");
        }
        let (_, of) = operation("POST", "/v1/commands").unwrap();
        let body: String = commands.iter().map(|command| format!("{command}\n")).collect();
        let kind = "application/x-ndjson";
        self.record(of, &[], Some(body.into()), (200, kind, answers.into()));
    }

    /// Records one second of a campaign's minute: how many there are, and what they say, depends on the clock.
    fn minute(&mut self, campaign: &[(&str, &str)]) {
        let template = "/v1/campaigns/{campaign}/minute";
        let path = template.replace("{campaign}", campaign[0].1);
        let request = self.talk.request("GET", &path, &[], None);
        self.talk.send(request).unwrap();
        let answer = self.talk.hear().unwrap();
        crate::documented::check("GET", &path, &answer);
        let mut document = answer.json();
        let seconds = document["seconds"].as_array().unwrap();
        let sum = |name: &str| -> u64 { seconds.iter().map(|s| s[name].as_u64().unwrap()).sum() };
        assert_eq!((sum("claims"), sum("here_successes")), (2, 4), "{document}");
        for (name, value) in [("now_second", 60), ("from", -839), ("next", 60)] {
            document[name] = (1_803_000_000 + value).into();
        }
        let sold_out = json!({"outcome": "sold_out", "count": 1});
        document["seconds"] = json!([{"second": 1_803_000_059, "claims": 2, "left": 0, "held": 0, "waiting": 0,
            "here_successes": 3, "here_refusals": [sold_out], "here_p50_us": 362, "here_p90_us": 724, "here_p99_us": 724}]);
        let (_, of) = operation("GET", template).unwrap();
        self.record(of, campaign, None, (200, "application/json", document));
    }

    /// Follows events behind a position, holds a seat meanwhile, and records what comes of it.
    fn follow(&mut self, after: &str) {
        let path = format!("/v1/campaigns/hall/events?after={after}");
        let request = self.talk.request("GET", &path, &[], None);
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        assert!(lines.by_ref().any(|line| line.is_empty()), "the head of the answer");
        let hold = json!({"id": "basket-8", "subject": "cem", "picks": [{"units": ["A3"]}]});
        self.ask(("POST", HOLDS), &[("campaign", "hall")], Some(hold));
        let wanted =
            |line: &String| ["id:", "event:", "data:"].iter().any(|begin| line.starts_with(begin));
        let mut event: Vec<String> = lines.filter(wanted).take(3).collect();
        for line in &mut event {
            if let Some(id) = line.strip_prefix("id: ") {
                *line = line.replace(id, POSITION);
            } else if let Some(data) = line.strip_prefix("data: ") {
                let mut data: Value = serde_json::from_str(data).unwrap();
                mask("", &mut data);
                *line = format!("data: {data}");
            }
        }
        let (_, of) = operation("GET", "/v1/campaigns/{campaign}/events").unwrap();
        let text = event.join("\n") + "\n\n";
        self.record(of, &[("campaign", "hall")], None, (200, "text/event-stream", text.into()));
    }
}

const CAMPAIGN: &str = "/v1/campaigns/{campaign}";
const CLAIMS: &str = "/v1/campaigns/{campaign}/claims";
const CLAIMS_OF: &str = "/v1/campaigns/{campaign}/claims/{subject}";
const HOLDS: &str = "/v1/campaigns/{campaign}/holds";
const HOLD: &str = "/v1/campaigns/{campaign}/holds/{hold}";
const SEATS: &str = "/v1/campaigns/{campaign}/pools/{pool}/seats";
const POSITION: &str = "0.42";

/// Replaces every time in a text.
fn without_times(text: &str) -> String {
    let is_time = |text: &&str| text.is_ascii() && text.ends_with('Z') && &text[19..20] == ".";
    let (mut written, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('T') {
        let begin = at.saturating_sub(10);
        let found = rest.get(begin..begin + 27).filter(is_time);
        let (kept, next) = if found.is_some() { (begin, begin + 27) } else { (at + 1, at + 1) };
        written += &rest[..kept];
        written += if found.is_some() { "2027-03-01T01:00:00.000000Z" } else { "" };
        rest = &rest[next..];
    }
    written + rest
}

/// Replaces what is another one each time by something of the same form.
fn mask(name: &str, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mask(name, item)),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| mask(name, member)),
        Value::String(text) => {
            let masked = match name {
                "position" => POSITION,
                "digest" => "6f1d2c3b4a596877",
                "node" => "0b5e1f0c9d3a7e42",
                "webhook" => "wh_0123456789abcdef",
                "secret" => "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "url" => "https://shop.example/hooks/firstcome",
                "event" if text.len() > 16 => "7f3a09c2_1_000001",
                "address" => "127.0.0.1:8080",
                "space" if text.len() == 32 => "0123456789abcdef0123456789abcdef",
                // The id of a ledger; elsewhere its kind.
                "ledger" if text.len() == 32 => "5d0f7a3c9b1e46828f6a2c4d7e9b1035",
                "code" if text.len() == 19 => "4WFN-G6P4-8NVC-XNHK",
                "import" => "5f0a2f6f5a0f4b1c8d3e7a9b6c2d4e1f",
                "token" | "ticket" => "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.…",
                _ => &without_times(text),
            };
            *text = masked.to_owned();
        }
        Value::Number(number) => {
            let masked = match name {
                "position" | "durable" => 42,
                "last_result" | "settled" => 7,
                "lag" | "lag_ms" | "leaderless_ms" | "unsettled" => 0,
                "memory_limit" => 1 << 30,
                "took_ms" => 12,
                "through" => 7,
                "term" | "settle_term" => 1,
                _ => return,
            };
            *number = masked.into();
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn tell(story: &mut Story) {
    let spring = &[("campaign", "spring")][..];
    let drop = json!({"title": "Spring drop", "opens_at": "now", "limits": {"campaign": 1},
        "pools": [{"name": "main", "kind": "counted", "capacity": 2}]});
    story.ask(("PUT", CAMPAIGN), spring, Some(drop.clone()));
    story.ask(("PUT", CAMPAIGN), spring, Some(drop));
    story.ask(("GET", CAMPAIGN), spring, None);
    story.ask(("GET", "/v1/campaigns"), &[], None);
    for subject in ["ann", "ann", "bob", "cem"] {
        story.ask(("POST", CLAIMS), spring, Some(json!({ "subject": subject })));
    }
    story.ask_with("not-a-key-of-this", ("POST", CLAIMS), spring, Some(json!({"subject": "ann"})));
    for subject in ["ann", "cem"] {
        story.ask(("GET", CLAIMS_OF), &[spring[0], ("subject", subject)], None);
    }
    let cancel = [spring[0], ("subject", "bob"), ("rank", "2"), ("reason", "paid twice")];
    story.ask(("DELETE", CLAIMS_OF), &cancel, None);
    for step in ["pause", "resume"] {
        story.ask(("POST", &format!("{CAMPAIGN}/{step}")), spring, None);
    }
    story.ask(("GET", &format!("{CAMPAIGN}/acts")), spring, None);
    story.minute(spring);

    let hall = &[("campaign", "hall")][..];
    let pool = &[hall[0], ("pool", "main")][..];
    let put = json!({"title": "An evening", "opens_at": "now", "hold_ttl_ms": 480_000, "allow_orphans": true,
        "pools": [{"name": "main", "kind": "seated"}]});
    story.ask(("PUT", CAMPAIGN), hall, Some(put));
    let seat = |number: u32| {
        json!({"name": format!("A{number}"), "section": "stalls", "row": "A", "number": number.to_string(),
            "grade": "R", "price_minor": 90_000, "currency": "KRW"})
    };
    let mut seats: Vec<Value> = (1..=6).map(seat).collect();
    seats.push(json!({"name": "floor", "capacity": 200, "grade": "G", "price_minor": 30_000, "currency": "KRW"}));
    story.ask(("POST", SEATS), pool, Some(seats.into()));
    story.ask(("POST", SEATS), pool, Some(json!([{"name": "A1", "row": "B"}])));
    let hold = json!({"id": "basket-7", "subject": "ann", "picks": [{"units": ["A1", "A2"]}]});
    story.ask(("POST", HOLDS), hall, Some(hold.clone()));
    story.ask(("POST", HOLDS), hall, Some(hold));
    let taken = json!({"id": "basket-9", "subject": "bob", "picks": [{"units": ["A2"]}]});
    story.ask(("POST", HOLDS), hall, Some(taken));
    let map = story.ask(("GET", SEATS), pool, None);
    story.follow(map["position"].as_str().unwrap());
    let basket = &[hall[0], ("hold", "basket-7")][..];
    let of = |step: &str| format!("{HOLD}/{step}");
    let units = |units: &[&str]| Some(json!({"subject": "ann", "units": units}));
    story.ask(("GET", HOLD), basket, None);
    story.ask(("GET", HOLD), &[hall[0], ("hold", "basket-0")], None);
    story.ask(("POST", &of("add")), basket, units(&["A4"]));
    story.ask(("POST", &of("drop")), basket, units(&["A4"]));
    story.ask(("POST", &of("extend")), basket, Some(json!({"subject": "ann", "ttl_ms": 600_000})));
    story.ask(("GET", "/v1/subjects/{subject}"), &[("subject", "ann")], None);
    story.ask(("POST", &of("confirm")), basket, Some(json!({"subject": "ann", "late": "retake"})));
    let other = [hall[0], ("hold", "basket-8")];
    story.ask(("POST", &of("release")), &other, Some(json!({"subject": "cem"})));
    let blocked = json!({"units": ["A6"], "reason": "camera"});
    for step in ["block", "unblock"] {
        let path = format!("/v1/campaigns/{{campaign}}/pools/{{pool}}/{step}");
        story.ask(("POST", &path), pool, Some(blocked.clone()));
    }
    let moved = json!({"from": "A2", "to": "A5", "reason": "broken seat"});
    story.ask(("POST", "/v1/campaigns/{campaign}/pools/{pool}/move"), pool, Some(moved));
    for name in ["A6", "A1"] {
        let change =
            json!([{"name": name, "grade": "S", "price_minor": 70_000, "currency": "KRW"}]);
        story.ask(("PATCH", SEATS), pool, Some(change));
    }
    tell_of_codes(story);
    story.ask(("GET", "/v1/campaigns/{campaign}/winners"), hall, None);
    let queue = &[("campaign", "queue")][..];
    let put = json!({"opens_at": "now", "offer_ms": 600_000,
        "pools": [{"name": "main", "capacity": 1, "waitlist": 5_000}]});
    story.ask(("PUT", CAMPAIGN), queue, Some(put));
    story.ask(("POST", CLAIMS), queue, Some(json!({"subject": "ann"})));
    let join = |subject: &str| Some(json!({"subject": subject, "wait": true}));
    story.ask(("POST", CLAIMS), queue, join("bob"));
    story.ask(("POST", CLAIMS), queue, join("cem"));
    let list = "/v1/campaigns/{campaign}/waitlist";
    let place = &format!("{list}/{{subject}}");
    story.ask(("GET", place), &[queue[0], ("subject", "cem")], None);
    story.ask(("GET", place), &[queue[0], ("subject", "ann")], None);
    story.ask(("GET", list), queue, None);
    story.ask(("DELETE", place), &[queue[0], ("subject", "cem")], None);
    let bars = "/v1/campaigns/{campaign}/bars";
    let bar = json!({"subject": "eve", "reason": "sold her tickets on"});
    story.ask(("POST", bars), hall, Some(bar));
    story.ask(("GET", bars), hall, None);
    let eve = [hall[0], ("subject", "eve")];
    story.ask(("DELETE", &format!("{bars}/{{subject}}")), &eve, None);
    let rehearsal = &[("campaign", "rehearsal")][..];
    let put = json!({"pools": [{"name": "main", "capacity": 5}]});
    story.ask(("PUT", CAMPAIGN), rehearsal, Some(put));
    story.ask(("DELETE", CAMPAIGN), rehearsal, None);
    story.ask(("DELETE", CAMPAIGN), hall, None);
    story.command(&[
        json!({"do": "claim", "campaign": "spring", "subject": "ann", "ref": "row 1"}),
        json!({"do": "claim", "campaign": "spring", "subject": "dan", "ref": "row 2"}),
        json!({"do": "cancel", "campaign": "spring", "subject": "ann", "rank": 1, "by": "subject"}),
    ]);

    tell_of_operation(story, spring);
}

/// Results, tokens, webhooks, and what operators ask of a server.
fn tell_of_operation(story: &mut Story, spring: &[(&str, &str)]) {
    let results = ("GET", "/v1/campaigns/{campaign}/results");
    story.ask(results, spring, None);
    let as_table = [spring[0], ("format", "csv")];
    story.ask(results, &as_table, None);
    let ask = json!({"subject": "ann", "campaign": "hall", "expires_in_s": 900});
    let minted = story.ask(("POST", "/v1/tokens"), &[], Some(ask));
    let token = minted["token"].as_str().unwrap();
    story.ask_with(token, ("POST", "/v1/tickets"), &[], None);
    for path in [
        "/v1/key",
        "/v1/time",
        "/v1/nodes",
        "/v1/forks",
        "/v1/audit",
        "/v1/settling",
        "/livez",
        "/readyz",
    ] {
        story.ask(("GET", path), &[], None);
    }
    tell_of_webhooks(story);
    story.ask(("POST", "/v1/reseed"), &[], None);
    story.ask(("POST", "/v1/level"), &[], None);
    story.ask(("POST", &format!("{CAMPAIGN}/close")), spring, None);
    story.ask(("POST", CLAIMS), spring, Some(json!({"subject": "dan"})));
    let give_up = json!({"drop_unsettled": true});
    story.ask(("POST", &format!("{CAMPAIGN}/archive")), spring, Some(give_up));
}

/// An endpoint in the life of which everything happens.
fn tell_of_webhooks(story: &mut Story) {
    let receiver = Receiver::start(|_, _| Reply::Status(200));
    crate::settling::settled(&mut story.talk);
    let all = "/v1/webhooks";
    let add = json!({"url": receiver.url(), "campaigns": ["spring*"], "types": ["claim.won"]});
    let added = story.ask(("POST", all), &[], Some(add));
    let id = added["webhook"].as_str().unwrap();
    let one = [("webhook", id)];
    let of = |step: &str| format!("{all}/{{webhook}}{step}");
    story.ask(("POST", &of("/test")), &one, None);
    story.ask(("POST", &of("/resend")), &one, Some(json!({"numbers": [1]})));
    receiver.received(2);
    receiver.until(&mut story.talk, &added, |shown| shown["deliveries"][0]["number"] == 1);
    story.ask(("GET", all), &[], None);
    story.ask(("GET", &of("")), &one, None);
    story.ask(("GET", &of("/parked")), &one, None);
    for step in ["/rotate", "/disable", "/enable"] {
        story.ask(("POST", &of(step)), &one, None);
    }
    story.ask(("DELETE", &of("")), &one, None);
    story.ask(("GET", &of("")), &one, None);
}

/// A code in the life of which everything happens, and an import.
fn tell_of_codes(story: &mut Story) {
    let coupons = &[("campaign", "coupons")][..];
    let codes = json!({"uses": 1, "valid_for_ms": 2_592_000_000_u64});
    let put = json!({"title": "Coupons", "opens_at": "now",
        "pools": [{"name": "main", "kind": "coded", "capacity": 1000, "codes": codes}]});
    story.ask(("PUT", CAMPAIGN), coupons, Some(put));
    let won = story.ask(("POST", CLAIMS), coupons, Some(json!({"subject": "ann"})));
    let code = won["code"].as_str().unwrap();
    let of = |verb: &str| format!("/v1/campaigns/{{campaign}}/codes/{verb}");
    let step = json!({"code": code, "reference": "order-17", "for": "customer-4711"});
    for verb in ["reserve", "reserve", "release", "redeem", "roll-back"] {
        story.ask(("POST", &of(verb)), coupons, Some(step.clone()));
    }
    story.ask(("POST", &of("look-up")), coupons, Some(json!({ "code": code })));
    let marked = json!({"ranks": [1], "reason": "it was shown on television"});
    for verb in ["suspend", "restore"] {
        story.ask(("POST", &of(verb)), coupons, Some(marked.clone()));
    }
    let again = json!({"subject": "ann", "rank": 1, "issue": 2, "reason": "lost"});
    story.ask(("POST", &of("reissue")), coupons, Some(again));
    story.ask(("POST", &of("revoke")), coupons, Some(marked));

    let partner = &[("campaign", "partner")][..];
    let put = json!({"title": "Codes of a partner", "opens_at": "now",
        "pools": [{"name": "main", "kind": "coded", "codes": {"source": "imported"}}]});
    story.ask(("PUT", CAMPAIGN), partner, Some(put));
    let file = json!({"digest": "9f86d081884c7d659a2feaa0c55ad015", "lines": 2});
    let begun = story.ask(("POST", &of("imports")), partner, Some(file));
    let import = [partner[0], ("import", begun["import"].as_str().unwrap())];
    let lines = json!({"first": 0, "codes": ["SUMMER-1", "SUMMER-2"]});
    story.ask(("POST", &of("imports/{import}/lines")), &import, Some(lines.clone()));
    story.ask(("DELETE", &of("imports/{import}")), &import, None);
    story.ask(("POST", &of("imports/{import}/lines")), &import, Some(lines));
    let whole = Some(json!({"lines": 2}));
    story.ask(("POST", &of("imports/{import}/commit")), &import, whole);
    story.ask(("GET", &of("imports")), partner, None);
}

#[test]
fn the_examples_are_what_a_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut story = Story::begin(folder.path());
    tell(&mut story);
    let recorded = serde_json::to_string_pretty(&story.recorded).unwrap() + "\n";
    if std::env::var_os("FIRSTCOME_BLESS").is_some() {
        std::fs::write(KEPT, &recorded).unwrap();
    }
    let kept = std::fs::read_to_string(KEPT).unwrap();
    assert!(
        kept == recorded,
        "a server answers otherwise than the examples say: if that is meant, run this test with FIRSTCOME_BLESS=1, \
         and the one of openapi.json behind it; now it says\n{recorded}"
    );
}

#[test]
fn every_operation_has_an_example_of_a_yes() {
    let paths = description()["paths"].as_object().unwrap();
    let mut missing = BTreeSet::new();
    for operation in paths.values().flat_map(|item| item.as_object().unwrap().values()) {
        let id = operation["operationId"].as_str().unwrap();
        let mut yes = operation["responses"].as_object().unwrap().iter();
        let has = yes.any(|(status, response)| {
            let mut media = response["content"].as_object().into_iter().flatten();
            status.starts_with('2') && media.any(|(_, media)| media.get("example").is_some())
        });
        let bodies = operation["requestBody"]["content"].as_object();
        let mut bodies = bodies.into_iter().flatten().map(|(_, body)| body);
        if !has || bodies.any(|body| body.get("example").is_none()) {
            missing.insert(id);
        }
    }
    let mut without: BTreeSet<&str> = WITHOUT.into_iter().map(|(id, _)| id).collect();
    // Its yes takes a store that was lost; its refusal is there.
    without.insert("reseed");
    assert_eq!(missing, without);
}
