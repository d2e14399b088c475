//! The keys of codes: made for an embedded store, named in the configuration, and missing.

use crate::inside::{Inside, Setup};
use crate::process::{Server, cannot_serve, serve, verb};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn coded(key: Option<&str>) -> serde_json::Value {
    let mut codes = json!({});
    if let Some(key) = key {
        codes["key"] = json!(key);
    }
    json!({"opens_at": "now", "pools": [{"name": "main", "kind": "coded", "capacity": 9, "codes": codes}]})
}

#[tokio::test(start_paused = true)]
async fn without_a_key_no_coded_pool_is_made_and_the_first_key_is_that_of_new_pools() {
    let node = Inside::with(Setup { code_keys: &[], ..Setup::default() }).await;
    node.put("sale", &coded(None)).await.refuses("no_code_key", "no key for codes");
    node.put("sale", &coded(Some("k1"))).await.refuses("no_code_key", "\"k1\"");
    node.open("plain", 5).await.says(201, "created");

    let code_keys = &[("new", [2; 32]), ("old", [1; 32])];
    let node = Inside::with(Setup { code_keys, ..Setup::default() }).await;
    node.put("sale", &coded(None)).await.says(201, "created");
    assert_eq!(node.show("sale").await["pools"][0]["codes"]["key"], json!("new"));
    // The same again, with the key or without, changes nothing.
    node.put("sale", &coded(None)).await.says(200, "unchanged");
    node.put("sale", &coded(Some("new"))).await.says(200, "unchanged");
    node.put("sale", &coded(Some("old"))).await.refuses("not_changeable", "");
    node.put("past", &coded(Some("old"))).await.says(201, "created");
    assert_eq!(node.show("past").await["pools"][0]["codes"]["key"], json!("old"));
    for (codes, why) in [
        (json!({"uses": 0}), "uses"),
        (json!({"uses": 100_001}), "uses"),
        (json!({"key": ""}), "key"),
        (json!({"valid_for_ms": 999}), "valid_for"),
        (json!({"valid_until": "tomorrow"}), "valid_until"),
        (json!({"uses_per_subject": 0}), "uses_per_subject"),
    ] {
        let mut settings = coded(None);
        settings["pools"][0]["codes"] = codes;
        node.put("bad", &settings).await.refuses("invalid_settings", why);
    }
    let mut imported = coded(None);
    imported["pools"][0]["codes"] = json!({"source": "imported"});
    node.put("bad", &imported).await.refuses("invalid_settings", "as many imported codes");
    let counted =
        json!({"opens_at": "now", "pools": [{"name": "main", "capacity": 5, "codes": {}}]});
    node.put("bad", &counted).await.refuses("invalid_settings", "only a coded pool");
}

/// Starts a server with a configuration file.
fn with_file(folder: &Path, text: &str) -> std::process::Command {
    let file = folder.join("firstcome.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = serve(&folder.join("data"), &[]);
    command.env("FIRSTCOME_CONFIG", file);
    command
}

#[test]
fn a_server_that_lacks_the_key_of_a_campaign_is_not_ready_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::on(&data);
    let key = data.join("code-key");
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = std::fs::read_to_string(&key).unwrap();
    let mut talk = server.talk();
    talk.put("/v1/campaigns/sale", &coded(None)).says(201, "created");
    assert_eq!(talk.get("/v1/campaigns/sale").json()["pools"][0]["codes"]["key"], json!("local"));
    let won = talk.claim("sale", "ann").says(201, "won");
    let redeem = |reference: &str| json!({"code": won["code"], "reference": reference});
    server.kill();

    std::fs::remove_file(&key).unwrap();
    let other = format!("[[code_keys]]\nid = \"other\"\nsecret = \"{}\"\n", "a1".repeat(32));
    let server = Server::of(with_file(folder.path(), &other));
    assert!(!key.exists(), "no key is made beside those of the configuration");
    let mut talk = server.talk();
    let steps = "/v1/campaigns/sale/codes/redeem";
    let lacks = "lacks the key \"local\"";
    let ready = talk.get("/readyz");
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(ready.text().contains("local") && ready.text().contains("sale"), "{ready:?}");
    for subject in ["ann", "bob"] {
        talk.claim("sale", subject).refuses("unavailable", lacks);
        let waits = json!({"subject": subject, "wait": true});
        talk.post("/v1/campaigns/sale/claims", &waits).refuses("unavailable", lacks);
    }
    talk.post(steps, &redeem("o1")).refuses("unavailable", lacks);
    talk.get("/v1/campaigns/sale/claims/ann").refuses("unavailable", lacks);
    talk.open_campaign("plain", 5);
    talk.claim("plain", "ann").says(201, "won");
    server.terminate();
    let (_, log) = server.ended();
    assert!(log.contains("\"code_key_missing\"") && !log.contains(secret.trim()), "{log}");

    // The key comes back, beside the new one.
    std::fs::write(&key, &secret).unwrap();
    let server = Server::of(with_file(folder.path(), &other));
    let mut talk = server.talk();
    assert_eq!(talk.get("/readyz").status, 200);
    assert_eq!(talk.claim("sale", "ann").says(200, "already_won")["code"], won["code"]);
    talk.post(steps, &redeem("o1")).says(200, "redeemed");
    server.kill();
    std::fs::write(&key, "not a key").unwrap();
    let why = cannot_serve(serve(&data, &[]));
    assert!(why.contains("code-key") && why.contains("holds no key of codes"), "{why}");
}

#[test]
fn secrets_of_codes_are_never_printed() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "a1".repeat(32);
    let text = format!("[[code_keys]]\nid = \"2027-03\"\nsecret = \"{secret}\"\n");
    let file = folder.path().join("firstcome.toml");
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    for more in [&["--print-config"][..], &["--print-config", "--json"]] {
        let args = [&["serve", "--config", config], more].concat();
        let (code, said, why) = verb(folder.path(), &[], &args);
        assert_eq!(code, 0, "{why}");
        assert!(said.contains("2027-03") && !said.contains(&secret), "{said}");
    }
    std::fs::write(&file, "[[code_keys]]\nid = \"k\"\nsecret = \"too-short-a-secret\"\n").unwrap();
    let (code, said, why) = verb(folder.path(), &[], &["serve", "--config", config]);
    assert_eq!((code, &*said), (2, ""));
    assert!(why.contains("code_keys.secret") && !why.contains("too-short"), "{why}");
}
