//! Webhooks: a real receiver is sent each result, in order, whatever it answers.

pub(crate) mod receiver;

use crate::bulk_clients::{self, Bulk};
use crate::process::{KEY, Server, verb};
use crate::settling::settled;
use crate::wire::Talk;
use receiver::{Receiver, Reply};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// This machine may be sent to.
const ALLOW: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8")];

/// A receiver that takes everything.
fn taking() -> Receiver {
    Receiver::start(|_, _| Reply::Status(200))
}

fn add(talk: &mut Talk, url: &str, more: &Value) -> Value {
    let mut body = json!({ "url": url });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = talk.post("/v1/webhooks", &body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

fn path(webhook: &Value, step: &str) -> String {
    format!("/v1/webhooks/{}{step}", webhook["webhook"].as_str().unwrap())
}

fn claims(talk: &mut Talk, campaign: &str, subjects: std::ops::Range<u32>) {
    for subject in subjects {
        talk.claim(campaign, &format!("s{subject}")).says(201, "won");
    }
}

#[test]
fn each_result_is_sent_once_in_order_with_a_signature_and_the_same_again_where_it_failed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), ALLOW);
    let mut talk = server.talk();
    // The second one fails at first.
    let receiver = Receiver::start(|count, _| match count {
        1 => Reply::Status(500),
        _ => Reply::Status(204),
    });
    let webhook = add(&mut talk, &receiver.url(), &json!({"note": "mail"}));
    let secret = webhook["secret"].as_str().unwrap();
    talk.open_campaign("drop", 9);
    claims(&mut talk, "drop", 1..4);
    let cancel =
        talk.try_ask("DELETE", "/v1/campaigns/drop/claims/s2?rank=2&reason=paid+twice", None);
    cancel.unwrap().says(200, "cancelled");
    let sent = receiver.received(5);
    let numbers: Vec<u64> = sent.iter().map(|event| event.number()).collect();
    assert_eq!(numbers, [1, 2, 2, 3, 4]);
    assert_eq!((&sent[1].id, &sent[1].body), (&sent[2].id, &sent[2].body));
    assert!(sent[1].signed_at <= sent[2].signed_at);
    let kinds: Vec<String> = sent.iter().map(|event| event.json()["type"].to_string()).collect();
    assert_eq!(kinds[4], "\"claim.cancelled\"");
    for event in &sent {
        assert!(event.is_signed_with(&[secret]), "{event:?}");
        assert!(
            !event.id.contains('.') && event.id.ends_with(&format!("_1_{:06}", event.number()))
        );
        let text = event.json()["timestamp"].as_str().unwrap().to_owned();
        assert!(text.ends_with('Z') && event.body.len() < 20_000, "{text}");
    }
    let data = &sent[4].json()["data"];
    let wanted = json!({"number": 4, "in_campaign": 4, "campaign": "drop", "pool": "main", "rank": 2,
        "subject": "s2", "by": "operator", "reason": "paid twice", "who": "admin"});
    assert_eq!(*data, wanted);

    // What is shown has no secret.
    receiver.until_through(&mut talk, &webhook, 4);
    let shown = talk.get(&path(&webhook, "")).json();
    assert_eq!(
        (&shown["state"], &shown["note"], &shown["secret"]),
        (&json!("on"), &json!("mail"), &Value::Null)
    );
    let statuses: Vec<&Value> =
        shown["deliveries"].as_array().unwrap().iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, [204, 500, 204, 204, 204]);
    assert!(!talk.get("/v1/webhooks").text().contains("whsec_"));
    assert_eq!(talk.metric("firstcome_webhook_deliveries_total{result=\"taken\"}"), 4);
    assert_eq!(talk.metric("firstcome_webhook_deliveries_total{result=\"failed\"}"), 1);

    // A replaced secret counts beside the new one.
    let rotated = talk.post(&path(&webhook, "/rotate"), &json!({})).json();
    let fresh = rotated["secret"].as_str().unwrap();
    claims(&mut talk, "drop", 4..5);
    assert!(receiver.received(6)[5].is_signed_with(&[fresh, secret]));
}

#[test]
fn nobody_waits_for_an_endpoint_that_is_dead_and_filters_say_who_is_sent_what() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), ALLOW);
    let mut talk = server.talk();
    let (dead, all, some) = (Receiver::start(|_, _| Reply::Nothing), taking(), taking());
    let cut = Receiver::start(|count, _| if count == 0 { Reply::Cut } else { Reply::Status(200) });
    let dead_one = add(&mut talk, &dead.url(), &json!({}));
    add(&mut talk, &all.url(), &json!({}));
    add(&mut talk, &some.url(), &json!({"campaigns": ["au*", "nobody"], "types": ["claim.won"]}));
    add(&mut talk, &cut.url(), &json!({"ordered": false}));
    talk.open_campaign("spring", 500);
    talk.open_campaign("autumn", 500);
    claims(&mut talk, "spring", 1..201);
    claims(&mut talk, "autumn", 1..101);
    let sent = all.received(300);
    assert!(sent.iter().map(|event| event.number()).eq(1..=300));
    let sent = some.received(100);
    assert!(sent.iter().map(|event| event.number()).eq(201..=300));
    // Out of order, each all the same: the one that was cut comes again after seconds.
    let mut numbers: Vec<u64> = cut.received(301).iter().map(|event| event.number()).collect();
    assert_ne!(numbers[1], 1, "others go on meanwhile");
    numbers.sort_unstable();
    numbers.dedup();
    assert!(numbers.into_iter().eq(1..=300));
    let shown = talk.get(&path(&dead_one, "")).json();
    assert!(shown["through"].as_u64().unwrap() <= 1 && dead.count() <= 2, "{shown}");
}

/// Who is dead keeps nobody waiting however many results there are, and what is sent stays nowhere.
#[test]
#[ignore = "takes half a minute: `cargo xtask nightly webhooks` runs it"]
fn of_many_results_all_who_live_have_each_one_and_the_servers_memory_stays() {
    const MANY: u32 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), ALLOW);
    let mut talk = server.talk();
    talk.open_campaign("drop", MANY);
    let mut bulk = Bulk::open(server.address, KEY);
    for first in (0..MANY).step_by(500) {
        bulk.send(&bulk_clients::claims(first..first + 500));
        (0..500).for_each(|_| assert_eq!(bulk.next().unwrap()["outcome"], "won"));
    }
    bulk.finish();
    assert_eq!(settled(&mut talk), u64::from(MANY));
    let dead = Receiver::start(|_, _| Reply::Nothing);
    let refusing = Receiver::start(|_, _| Reply::Status(503));
    let living = [taking(), taking(), taking()];
    let (before, begun) = (server.memory(), Instant::now());
    for receiver in [&dead, &refusing, &living[0], &living[1]] {
        add(&mut talk, &receiver.url(), &json!({"after": 0}));
    }
    add(&mut talk, &living[2].url(), &json!({"after": 0, "ordered": false}));
    let mut most = before;
    while living.iter().any(|receiver| receiver.count() < MANY as usize) {
        let counts = living.each_ref().map(Receiver::count);
        assert!(begun.elapsed() < Duration::from_secs(600), "{counts:?}");
        most = most.max(server.memory());
        std::thread::sleep(Duration::from_millis(20));
    }
    let rate = f64::from(MANY) / begun.elapsed().as_secs_f64();
    let grown = (most - before) >> 20;
    println!(
        "{rate:.0} events a second to each of three, {grown} MiB more, {} and {} tries of two that take nothing",
        dead.count(),
        refusing.count()
    );
    for receiver in &living {
        let sent = receiver.received(MANY as usize);
        assert!(sent.iter().map(|event| event.number()).eq(1..=u64::from(MANY)));
    }
    assert!(grown < 24, "{grown} MiB for {MANY} events");
    assert!(dead.count() < 20 && refusing.count() < 20, "tried again after growing pauses");
}

#[test]
fn what_answers_410_is_sent_nothing_until_it_is_enabled_and_what_is_named_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), ALLOW);
    let mut talk = server.talk();
    let receiver = Receiver::start(|count, _| Reply::Status(if count == 2 { 410 } else { 200 }));
    let webhook = add(&mut talk, &receiver.url(), &json!({}));
    talk.open_campaign("drop", 9);
    claims(&mut talk, "drop", 1..5);
    assert_eq!(settled(&mut talk), 4);
    receiver.received(3);
    let shown = receiver.until(&mut talk, &webhook, |shown| shown["state"] == "off");
    assert_eq!(shown["off_reason"], "it answered 410");
    // A test and what is asked for by hand come all the same.
    let tested = talk.post(&path(&webhook, "/test"), &json!({})).json();
    assert_eq!((&tested["taken"], &tested["status"]), (&json!(true), &json!(200)));
    assert_eq!(receiver.received(4)[3].json()["type"], "webhook.test");
    let resent = talk.post(&path(&webhook, "/resend"), &json!({"numbers": [2, 1, 2]})).json();
    assert_eq!(resent, json!({"count": 2}));
    let sent = receiver.received(6);
    assert_eq!([sent[4].number(), sent[5].number()], [1, 2]);
    assert_eq!((&sent[4].id, &sent[4].body), (&sent[0].id, &sent[0].body));
    talk.post(&path(&webhook, "/resend"), &json!({"numbers": [4]}))
        .refuses("invalid_request", "4 is not between");

    assert_eq!(talk.post(&path(&webhook, "/enable"), &json!({})).json()["state"], "on");
    let sent = receiver.received(8);
    assert_eq!([sent[6].number(), sent[7].number()], [3, 4]);
    let off = talk.post(&path(&webhook, "/disable"), &json!({})).json();
    assert_eq!(
        (&off["state"], &off["off_reason"]),
        (&json!("off"), &json!("it was disabled with the key \"admin\""))
    );
    let removed = talk.try_ask("DELETE", &path(&webhook, ""), None).unwrap();
    assert_eq!(removed.json(), json!({"webhook": webhook["webhook"]}));
    talk.get(&path(&webhook, "")).refuses("no_such_webhook", "there is no such webhook");
}

#[test]
fn after_a_kill_nothing_is_missing_and_after_the_ledger_was_made_anew_nothing_comes_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (receiver, mut claimed) = (taking(), 0);
    let webhook = {
        let server = Server::with(folder.path(), ALLOW);
        let mut talk = server.talk();
        let webhook = add(&mut talk, &receiver.url(), &json!({}));
        talk.open_campaign("drop", 5_000);
        webhook
    };
    for _ in 0..3 {
        let server = Server::with(folder.path(), ALLOW);
        let mut talk = server.talk();
        claims(&mut talk, "drop", claimed + 1..claimed + 301);
        claimed += 300;
        server.kill();
    }
    let server = Server::with(folder.path(), ALLOW);
    let mut talk = server.talk();
    let all = settled(&mut talk);
    assert_eq!(all, 900);
    receiver.until_through(&mut talk, &webhook, all);
    let sent = receiver.received(900);
    let (mut seen, mut last) = (std::collections::BTreeSet::new(), 0);
    for event in &sent {
        let number = event.number();
        assert!(number <= last + 1, "{number} after {last}: one between is missing");
        last = number;
        seen.insert((number, event.id.clone()));
    }
    assert_eq!(seen.len(), 900, "each has one id");
    let before = receiver.count();
    server.terminate();
    server.ended();
    set_aside(folder.path());
    let server = Server::with(folder.path(), ALLOW);
    let mut talk = server.talk();
    claims(&mut talk, "drop", 901..902);
    let sent = receiver.received(before + 1);
    assert_eq!(sent[before].number(), 901, "what both ledgers have is not sent again");
    let short = |id: &str| id.split('_').next().unwrap().to_owned();
    assert_ne!(short(&sent[before].id), short(&sent[0].id), "ids of another ledger");
}

fn set_aside(folder: &Path) {
    let (code, said, why) = verb(folder, &[], &["settle", "set-aside"]);
    assert_eq!(code, 0, "{said}{why}");
    let (code, said, why) = verb(folder, &[], &["settle", "rebuild"]);
    assert!(code == 0 && said.contains("900 were written"), "{said}{why}");
}

#[test]
fn where_nobody_may_be_sent_to_is_refused_when_it_is_added_or_when_it_is_connected_to() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    for (url, why) in [
        ("http://127.0.0.1:1/", "127.0.0.1 is not public"),
        ("https://169.254.169.254/latest", "is not public"),
        ("https://[::ffff:10.0.0.1]/", "is not public"),
        ("https://0x7f.1/", "is not public"),
        ("http://1.1.1.1/", "without https"),
        ("https://ann:pass@shop.example/", "a user or a password"),
        ("shop.example", "it is no URL"),
    ] {
        let refused = talk.post("/v1/webhooks", &json!({ "url": url }));
        let document = refused.refuses("invalid_request", why);
        assert!(!document.to_string().contains("pass@"));
    }
    let wrong = json!({"url": "https://shop.example/", "types": ["claim.lost"]});
    talk.post("/v1/webhooks", &wrong).refuses("invalid_request", "claim.lost");
    let wrong = json!({"url": "https://shop.example/", "campaigns": ["no name"]});
    talk.post("/v1/webhooks", &wrong).refuses("invalid_request", "");
    // A name is looked up when it is sent to: this one leads here.
    let webhook = add(&mut talk, "https://localhost:9/hook", &json!({}));
    let tested = talk.post(&path(&webhook, "/test"), &json!({})).json();
    assert_eq!(tested["taken"], false);
    assert!(tested["said"].as_str().unwrap().contains("is not public"), "{tested}");
    // A request whose answer was lost is sent once more: it adds no second one.
    let mut ask = |note: &str| {
        let body = json!({"url": "https://shop.example/", "note": note}).to_string();
        let headers = [("idempotency-key", "add-1")];
        let request = talk.request("POST", "/v1/webhooks", &headers, Some(&body));
        talk.send(request).unwrap();
        talk.hear().unwrap()
    };
    let (first, again) = (ask("mail").json(), ask("mail").json());
    assert!(first["secret"].is_string() && first == again, "{first} {again}");
    ask("stock").refuses("id_reused", "a webhook with other settings");
    for number in 2..97 {
        add(&mut talk, &format!("https://shop.example/{number}"), &json!({}));
    }
    // Of some that come at one moment as many are added as there is room for, at most.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let mut talk = server.talk();
            scope.spawn(move || {
                for _ in 0..2 {
                    talk.post("/v1/webhooks", &json!({"url": "https://shop.example/"}));
                }
            });
        }
    });
    let there = talk.get("/v1/webhooks").json()["webhooks"].as_array().unwrap().len();
    assert!((97..=100).contains(&there), "{there} webhooks");
    for number in there..100 {
        add(&mut talk, &format!("https://shop.example/last-{number}"), &json!({}));
    }
    let more = talk.post("/v1/webhooks", &json!({"url": "https://shop.example/"}));
    more.refuses("too_many_webhooks", "at most 100");

    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("LEDGER", "none")]);
    server.talk().get("/v1/webhooks").refuses("no_ledger", "this server has none");
}

#[test]
fn the_command_line_adds_shows_and_removes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), ALLOW);
    let receiver = taking();
    let url = format!("http://{}", server.address);
    let run = |args: &[&str]| {
        let all: Vec<&str> =
            ["webhooks"].iter().chain(args).copied().chain(["--url", &url]).collect();
        let (code, said, why) = verb(folder.path(), &[], &all);
        (code, if code == 0 { said } else { said + &why })
    };
    let (code, said) =
        run(&["add", &receiver.url(), "--campaign", "drop", "--unordered", "--json"]);
    let added: Value = serde_json::from_str(&said).unwrap();
    let id = added["id"].as_str().unwrap();
    assert!(code == 0 && added["secret"].as_str().unwrap().starts_with("whsec_"), "{said}");
    let (code, said) = run(&["test", id]);
    assert!(code == 0 && said.starts_with("taken: status 200"), "{said}");
    let mut talk = server.talk();
    talk.open_campaign("drop", 3);
    claims(&mut talk, "drop", 1..3);
    receiver.received(3);
    receiver.until_through(&mut talk, &json!({ "webhook": id }), 2);
    let (_, said) = run(&["show", id]);
    assert!(said.contains("in order   no") && said.contains("result 2  200 after"), "{said}");
    let (_, said) = run(&["list"]);
    assert!(said.contains(id) && said.contains("on"), "{said}");
    let (_, said) = run(&["parked", id]);
    assert_eq!(said, "no result is parked\n");
    let (_, said) = run(&["resend", id, "1"]);
    assert_eq!(said, "1 results are sent again\n");
    assert_eq!(receiver.received(4)[3].number(), 1);
    for (step, shown) in [("disable", "off"), ("enable", "on"), ("rotate", "whsec_")] {
        let (code, said) = run(&[step, id]);
        assert!(code == 0 && said.contains(shown), "{step}: {said}");
    }
    let (code, said) = run(&["remove", id]);
    assert!(code == 0 && said == format!("{id} is removed\n"), "{said}");
    let (code, said) = run(&["show", id]);
    assert!(code == 1 && said.contains("no such webhook"), "{said}");
}
