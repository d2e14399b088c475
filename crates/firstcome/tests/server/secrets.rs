//! What a configuration keeps secret is used and shown to nobody: all that a server, its verbs and its stores say is searched, also
//! where the stores refuse it.

use crate::code_secrets::Written;
use crate::process::{KEY, Server, serve, verb};
use crate::wire::Talk;
use data_encoding::HEXLOWER;
use firstcome_testbed::{Postgres, RedisServer};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::{Duration, Instant};

const STORE: &str = "planted-password-of-the-store";
const SHOP: &str = "planted-key-of-the-shop";
const TOKENS: &str = "planted-secret-that-signs-the-tokens";
const OLD_TOKENS: &str = "planted-secret-that-signed-the-tokens";
const CODES: &str = "planted-key-of-the-codes-32bytes";
const CHECK: &str = "planted-words-for-the-check";
/// What is wrong about an attempt.
const GUESS: &str = "planted-key-that-nobody-has";

/// Writes a configuration with a secret wherever there may be one.
fn configuration(folder: &Path, store: &str, ledger: &str) -> String {
    let shop = HEXLOWER.encode(&Sha256::digest(SHOP));
    let text = format!(
        r#"
store = "{store}"
ledger = "{ledger}"
log_level = "debug"
log_format = "json"
settle_interval_ms = 50
token_secret = "{TOKENS}"
webhook_allow = "127.0.0.0/8"

[[keys]]
name = "shop"
sha256 = "{shop}"
role = "backend"

[[token_keys]]
secret = "{OLD_TOKENS}"

[[code_keys]]
id = "k1"
secret = "{}"

[[eligibility]]
campaign = "checked"
url = "http://127.0.0.1:9/eligible"
when_down = "refuse"
authorization = "Bearer {CHECK}"
"#,
        HEXLOWER.encode(CODES.as_bytes())
    );
    let file = folder.join("firstcome.toml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Asks until the server says what is awaited.
fn until(talk: &mut Talk, written: &mut Written, what: &str, there: impl Fn(&str) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let ready = talk.get("/readyz");
        written.add(&format!("readyz, {what}"), ready.body.clone());
        if there(&ready.text()) {
            return;
        }
        assert!(Instant::now() < end, "{what}: {}", ready.text());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Has the server need its secrets, with right and wrong requests; returns those that it made.
fn use_all(server: &Server, talk: &mut Talk, written: &mut Written) -> Vec<String> {
    let mut shop = Talk::to(server.address, SHOP).unwrap();
    talk.open_campaign("drop", 50);
    talk.open_campaign("checked", 5);
    let pools = json!([{"name": "main", "kind": "coded", "codes": {}, "capacity": 5}]);
    talk.put("/v1/campaigns/coded", &json!({"opens_at": "now", "pools": pools}))
        .says(201, "created");
    shop.claim("drop", "ann").says(201, "won");
    shop.claim("coded", "ann").says(201, "won");
    written.add("answer of the check", shop.claim("checked", "ann").body);
    let minted = shop.post("/v1/tokens", &json!({"subject": "bob", "campaign": "drop"}));
    let token = minted.says(201, "minted")["token"].as_str().unwrap().to_owned();
    let mut bob = Talk::to(server.address, &token).unwrap();
    bob.claim("drop", "bob").says(201, "won");
    // Somebody else's subject, with the same token; and one that was cut.
    written.add("answer to bob", bob.claim("drop", "ann").body);
    for wrong in [GUESS, &token[..token.len() - 3]] {
        let mut guesser = Talk::to(server.address, wrong).unwrap();
        written.add("answer to a guess", guesser.claim("drop", "eve").body);
        written.add("readyz of a guess", guesser.get("/readyz").body);
    }
    // A key where it does not belong.
    for path in [format!("/v1/campaigns/{KEY}"), format!("/v1/time?key={KEY}")] {
        talk.get(&path);
    }
    let hook = talk.post("/v1/webhooks", &json!({"url": "http://127.0.0.1:9/hook"}));
    assert_eq!(hook.status, 201, "{}", hook.text());
    let hook = hook.json();
    let path = format!("/v1/webhooks/{}", hook["webhook"].as_str().unwrap());
    let rotated = talk.post(&format!("{path}/rotate"), &json!({})).json();
    let secret = |of: &serde_json::Value| of["secret"].as_str().unwrap().to_owned();
    for path in [
        &*path,
        "/v1/webhooks",
        "/v1/campaigns/drop/acts",
        "/v1/key",
        "/v1/settling",
        "/v1/nodes",
        "/v1/audit",
        "/metrics",
    ] {
        written.add(path, talk.get(path).body);
    }
    vec![token, secret(&hook), secret(&rotated)]
}

/// Takes in all keys that a store has.
fn dump(redis: &RedisServer, written: &mut Written) {
    let mut stored = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
    // Long texts would be compressed.
    redis::cmd("CONFIG").arg("SET").arg("rdbcompression").arg("no").exec(&mut stored).unwrap();
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut stored).unwrap();
    for key in keys {
        let dump: Vec<u8> = redis::cmd("DUMP").arg(&key).query(&mut stored).unwrap();
        written.add("the store", dump);
    }
}

#[test]
fn a_secret_is_in_no_log_count_store_answer_or_word_of_a_verb() {
    let (Some(redis), Some(mut postgres)) = (RedisServer::start(), Postgres::start()) else {
        return;
    };
    let let_in = |password: &str| {
        drop(redis.ask(&format!("ACL SETUSER app on resetpass >{password} ~* &* +@all")));
        drop(redis.ask("CLIENT KILL USER app"));
    };
    let_in(STORE);
    let store = format!("redis://app:{STORE}@127.0.0.1:{}", redis.port());
    let ledger = postgres.url();
    let of_ledger = ledger.split([':', '@']).nth(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path(), &store, &ledger);
    let settings = [("CONFIG", &*config)];
    let mut command = serve(&folder.path().join("data"), &settings);
    command.arg("--new-space");
    let server = Server::of(command);
    let (mut talk, mut written) = (server.talk(), Written::default());
    written.add("standard output", server.said.clone());
    let mut secrets = use_all(&server, &mut talk, &mut written);

    // The stores turn it away, and are gone.
    let_in("another");
    until(&mut talk, &mut written, "refused by the store", |ready| !ready.contains("\"ready\""));
    written.add("claim meanwhile", talk.claim("drop", "cid").body);
    let verbs =
        [&["journal", "show"][..], &["audit"], &["locks", "list"], &["lock", "a", "--", "true"]];
    for args in verbs {
        let (code, said, why) = verb(folder.path(), &[("STORE", &store)], args);
        assert_ne!(code, 0, "{args:?}: {said}");
        written.add(&format!("{args:?} refused"), said + &why);
    }
    let_in(STORE);
    until(&mut talk, &mut written, "let in again", |ready| ready.contains("\"ready\""));
    postgres.kill();
    talk.claim("drop", "dan").says(201, "won");
    let settles = |ready: &str| ready.contains("\"settle_trouble\":null");
    until(&mut talk, &mut written, "ledger gone", |ready| !settles(ready));
    postgres.restart();
    until(&mut talk, &mut written, "ledger back", settles);
    for args in [
        &["serve", "--print-config"][..],
        &["serve", "--print-config", "--json"],
        &["journal", "show", "--all", "--stored"],
        &["locks", "list"],
    ] {
        let (_, said, why) = verb(folder.path(), &[("CONFIG", &config), ("STORE", &store)], args);
        written.add(&args.join(" "), said + &why);
    }
    written.add("metrics", talk.get("/metrics").body);
    server.terminate();
    let (ended, log) = server.ended();
    assert!(ended.success(), "{log}");
    written.add("log", log);
    written.files(&folder.path().join("data"));
    dump(&redis, &mut written);

    let planted = [STORE, SHOP, TOKENS, OLD_TOKENS, CODES, CHECK, GUESS, of_ledger, KEY];
    secrets.extend(planted.map(str::to_owned));
    secrets.push(HEXLOWER.encode(CODES.as_bytes()));
    for secret in &secrets {
        // Among them the key that stood in paths.
        assert_eq!(written.places(secret), [""; 0], "{secret}");
        let inside = secret.strip_prefix("whsec_").unwrap_or(secret);
        assert_eq!(written.places(inside), [""; 0], "{inside}");
    }
    assert_all_was_searched(&written);
}

/// The search finds what is no secret, where each secret might have been.
fn assert_all_was_searched(written: &Written) {
    for (open, place) in
        [("ann", "the store"), ("leader_elected", "log"), ("app:…@", "serve --print-config")]
    {
        assert!(written.places(open).contains(&place), "{open}: {:?}", written.places(open));
    }
}
