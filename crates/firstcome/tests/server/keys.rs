//! Who may do what.

use crate::inside::{Inside, one_pool};
use crate::process::{KEY, Server, cannot_serve, serve};
use crate::wire::Talk;
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

#[tokio::test(start_paused = true)]
async fn without_the_right_key_nothing_is_done_or_seen() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    let begin = node.position();
    let claim = r#"{"subject": "bob"}"#.to_owned();
    let put = one_pool("now", 5).to_string();
    let routes = [
        ("GET", "/v1/campaigns", "", "read"),
        ("GET", "/v1/campaigns/drop", "", "read"),
        ("GET", "/v1/campaigns/drop/claims/ann", "", "read"),
        ("GET", "/v1/campaigns/drop/results", "", "read"),
        ("GET", "/v1/campaigns/drop/winners", "", "read"),
        ("GET", "/v1/time", "", "read"),
        ("GET", "/v1/nodes", "", "read"),
        ("GET", "/v1/audit", "", "read"),
        ("POST", "/v1/campaigns/drop/claims", &*claim, "backend"),
        ("DELETE", "/v1/campaigns/drop/claims/ann?rank=1&by=subject", "", "backend"),
        ("PUT", "/v1/campaigns/drop", &*put, "operator"),
        ("POST", "/v1/campaigns/drop/pause", "", "operator"),
        ("POST", "/v1/campaigns/drop/resume", "", "operator"),
        ("POST", "/v1/campaigns/drop/close", "", "operator"),
        ("POST", "/v1/campaigns/drop/archive", "{", "operator"),
    ];
    for (method, path, body, least) in routes {
        let ask = |authorization: &'static str| {
            let (node, body) = (&node, body.to_owned());
            async move { node.ask_with(method, path, &[("authorization", authorization)], body).await }
        };
        let answer = ask("").await;
        answer.refuses("unauthorized", "give a key: Authorization: Bearer KEY");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        ask("Bearer of-bad-news").await.refuses("unauthorized", "does not know that key");
        ask("Basic dXNlcjpwYXNz").await.refuses("unauthorized", "give a key");
        if least != "read" {
            let said = format!("this needs {least}");
            ask("Bearer a-reading-key---").await.refuses("forbidden", &said);
        }
        if least == "operator" {
            ask("Bearer a-backend-key---").await.refuses("forbidden", "this needs operator");
        }
        if path.contains("drop") {
            ask("Bearer a-key-for-spring").await.refuses("forbidden", "begin with \"spring\"");
        }
    }
    let by_operator = "/v1/campaigns/drop/claims/ann?rank=1&by=operator&reason=x";
    let backend = [("authorization", "Bearer a-backend-key---")];
    node.ask_with("DELETE", by_operator, &backend, "")
        .await
        .refuses("forbidden", "on the subject's word only");
    assert_eq!(node.position(), begin, "nothing was appended");

    let spring = [("authorization", "Bearer a-key-for-spring")];
    node.ask_with("PUT", "/v1/campaigns/spring-27", &spring, put).await.says(201, "created");
    let seen = node.ask_with("GET", "/v1/campaigns", &spring, "").await.json();
    assert_eq!(seen["campaigns"].as_array().map(Vec::len), Some(1), "{seen}");
    node.ask_with("DELETE", "/v1/campaigns/drop/claims/ann?rank=1", &backend, "")
        .await
        .says(200, "cancelled");
}

#[test]
fn a_generated_key_is_kept_for_its_owner_and_never_leaves_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = serve(folder.path(), &[]);
    command.env_remove("FIRSTCOME_ADMIN_KEY");
    let server = Server::of(command);
    let file = folder.path().join("admin-key");
    let key = std::fs::read_to_string(&file).unwrap();
    let rights = std::fs::metadata(&file).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&rights) & 0o777, 0o600);
    Talk::to(server.address, key.trim()).unwrap().open_campaign("drop", 1);
    Talk::to(server.address, "a-guessed-key---")
        .unwrap()
        .get("/v1/time")
        .refuses("unauthorized", "");
    server.kill();
    // Reachable from elsewhere, with the key it has in the file: not without a key of one's own.
    let mut command = serve(folder.path(), &[("LISTEN", "0.0.0.0:0")]);
    command.env_remove("FIRSTCOME_ADMIN_KEY");
    let why = cannot_serve(command);
    assert!(why.contains("reachable from other machines"), "{why}");
    assert!(why.contains("FIRSTCOME_ADMIN_KEY"), "{why}");
    let mut command = serve(folder.path(), &[("ADMIN_KEY", "too-short")]);
    command.env("FIRSTCOME_LISTEN", "127.0.0.1:0");
    let why = cannot_serve(command);
    assert!(why.contains("at least 16 characters") && !why.contains("too-short"), "{why}");
}

#[test]
fn one_key_with_two_entries_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstcome.toml");
    let refused = |keys: &[(&str, &str, &str)]| {
        let entry = |(name, text, role): &(&str, &str, &str)| {
            let hash: String =
                Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"{role}\"\n")
        };
        std::fs::write(&file, keys.iter().map(entry).collect::<String>()).unwrap();
        // An address of nobody, so that a server that takes the keys ends, too.
        let mut command = serve(folder.path(), &[("LISTEN", "192.0.2.1:1")]);
        command.arg("--config").arg(&file);
        cannot_serve(command)
    };
    let (shop, other) = ("a-key-of-the-shop", "another-key-----");
    let why =
        refused(&[("shop", shop, "backend"), ("x", other, "read"), ("desk", shop, "operator")]);
    assert!(why.contains("key \"desk\" has the sha256 of key \"shop\""), "{why}");
    let why = refused(&[("shop", shop, "backend"), ("desk", KEY, "read")]);
    assert!(why.contains("key \"desk\" has the sha256 of the admin key"), "{why}");
}

/// Asks until it is so, for at most 20 s.
fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "it does not become so");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_running_server_takes_keys_and_log_level_from_its_file_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstcome.toml");
    let key = |name: &str, more: &str| {
        let hash: String = Sha256::digest(format!("a-key-of-{name}"))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"read\"\n{more}\n")
    };
    let past = "expires = \"2020-02-29T10:00:00+09:00\"";
    let write = |text: String| std::fs::write(&file, text).unwrap();
    write(format!("log_level = \"warn\"\nqueue = 100\n{}{}", key("shop", ""), key("old", past)));
    let mut command = serve(folder.path(), &[]);
    command.arg("--config").arg(&file);
    let server = Server::of(command);
    let ask =
        |name: &str| Talk::to(server.address, &format!("a-key-of-{name}")).unwrap().get("/v1/time");
    let trouble = || server.talk().metric("firstcome_configuration_trouble");
    assert_eq!(ask("shop").status, 200);
    ask("old").refuses("unauthorized", "key \"old\" expired at 2020-02-29T01:00:00.000000Z");
    write(format!("log_level = \"debug\"\nqueue = 200\n{}", key("next", "")));
    until(|| ask("next").status == 200);
    ask("shop").refuses("unauthorized", "does not know that key");
    // Nothing of a file that cannot be used is taken; then all of one that can.
    write(format!("log_level = \"loud\"\n{}", key("shop", "")));
    until(|| trouble() == 1);
    assert_eq!(ask("next").status, 200);
    write(format!("log_level = \"warn\"\n{}", key("shop", "")));
    until(|| ask("shop").status == 200 && trouble() == 0);
    ask("next").refuses("unauthorized", "does not know that key");
    server.terminate();
    let (_, log) = server.ended();
    let lines = |event: &str| {
        let event = format!("\"event\":\"{event}\"");
        log.lines().filter(|line| line.contains(&event)).collect::<Vec<_>>()
    };
    let changed = lines("configuration_changed");
    assert!(changed[0].contains("\"next_start\":\"queue\""), "{changed:?}");
    assert_eq!((changed.len(), lines("configuration_unusable").len()), (2, 1), "{log}");
    assert!(lines("configuration_unusable")[0].contains("not `loud`"), "{log}");
    assert!(lines("key_expires")[0].contains("the key \\\"old\\\" expired"), "{log}");
    assert!(!lines("request").is_empty() && lines("starting").is_empty(), "{log}");
}

#[tokio::test(start_paused = true)]
async fn what_is_about_all_campaigns_needs_a_key_for_all_of_them() {
    let node = Inside::new().await;
    for path in ["/v1/forks", "/v1/nodes", "/v1/settling", "/v1/audit"] {
        let ask = async |key: &str| {
            let key = format!("Bearer {key}");
            node.ask_with("GET", path, &[("authorization", &*key)], "").await
        };
        ask("a-key-for-spring").await.refuses("forbidden", "this is about all of them");
        assert_eq!(ask("a-reading-key---").await.status, 200, "{path}");
    }
    let spring = [("authorization", "Bearer a-key-for-spring")];
    assert_eq!(node.ask_with("GET", "/v1/time", &spring, "").await.status, 200);
    let raise = [("authorization", "Bearer an-operator-key-"), ("content-type", "")];
    node.ask_with("POST", "/v1/level", &raise, "").await.refuses("forbidden", "needs admin");
    let raised = node.post("/v1/level").await;
    raised.says(200, "raised");
}
