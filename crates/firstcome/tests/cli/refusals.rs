//! What is said when something is wrong: in the words of what was typed, with what to do.

use crate::scene::{KEY, Said, Scene, said};

/// Words of HTTP, which nobody typed.
const WIRE: [&str; 7] = ["Bearer", "Authorization", "PUT", "DELETE", "header", "HTTP", "&reason"];

#[track_caller]
fn complains(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    for word in words {
        assert!(said.talk.contains(word), "{word}: {said:?}");
    }
    for word in WIRE {
        assert!(!said.talk.contains(word), "{word}: {said:?}");
    }
}

#[test]
fn the_key_of_the_server_is_a_key_of_its_verbs() {
    let scene = Scene::new();
    let server = scene.serve();
    let with = |name: &str, key: &str| {
        let mut command = scene.program(&["campaign", "list"]);
        command.env("FIRSTCOME_URL", &server.url).env(name, key);
        said(&command.output().unwrap())
    };
    assert_eq!(with("FIRSTCOME_ADMIN_KEY", KEY).code, 0);
    let wrong = with("FIRSTCOME_ADMIN_KEY", "another-key-than-the-server-has");
    complains(
        &wrong,
        1,
        &["the server does not know this key", "the key is from FIRSTCOME_ADMIN_KEY"],
    );
    let mut both = scene.program(&["campaign", "list"]);
    both.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
    both.env("FIRSTCOME_ADMIN_KEY", "another-key-than-the-server-has");
    assert_eq!(said(&both.output().unwrap()).code, 0, "FIRSTCOME_KEY goes first");
    let none = scene.run(&["campaign", "list"]);
    complains(
        &none,
        1,
        &["none was sent", "set FIRSTCOME_KEY", "there is no ./firstcome-data/admin-key"],
    );
}

#[test]
fn a_time_that_is_none_is_refused_with_the_forms_there_are() {
    let scene = Scene::new();
    let server = scene.serve();
    let create = |opens: &str| {
        server.ask(&scene, &["campaign", "create", "x", "--places", "1", "--opens", opens])
    };
    let forms = "now, +10s (from now), 2027-03-01T10:00:00+09:00 (with an offset, or Z), or \
                 '2027-03-01T10:00:00[Asia/Seoul]'";
    for wrong in ["5s", "tomorrow", "2027-03-01", "2027-03-01T10:00:00", "+5", "+1x", ""] {
        complains(&create(wrong), 2, &["error: --opens: ", forms]);
    }
    complains(
        &create("2040-01-01T00:00:00[Europe/Atlantis]"),
        2,
        &["there is no zone \"Europe/Atlantis\"", forms],
    );
    let closes = ["campaign", "create", "x", "--places", "1", "--closes", "now"];
    complains(&server.ask(&scene, &closes), 2, &["--closes: now is for --opens", "campaign close"]);
    assert_eq!(server.ask(&scene, &["campaign", "show", "x"]).code, 1, "nothing was made");
}

#[test]
fn an_opening_that_is_over_has_to_be_meant() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    let create = "campaign create x --places 1 --opens 2026-01-01T00:00:00Z";
    complains(&ask(create), 2, &["2026-01-01T00:00:00Z is in the past", "--opens now", "--yes"]);
    ask("campaign create x --places 1 --opens 2040-01-01T00:00:00Z").ends(0);
    let change = "campaign change x --opens 2026-01-01T00:00:00Z";
    complains(&ask(change), 2, &["is in the past"]);
    ask(&format!("{change} --yes")).ends(0);
    ask("campaign create y --places 1 --opens 2026-01-01T00:00:00Z --yes").ends(0);
    ask("campaign create z --places 1 --opens now").ends(0);
    // What has opened can be changed otherwise.
    ask("campaign change x --places 2").ends(0);
}

#[test]
fn an_argument_that_cannot_be_used_is_usage() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    for name in ["Summer", "-x", "a/b", "_x"] {
        let said = ask(&format!("campaign create --places 1 -- {name}"));
        complains(&said, 2, &[name, "a-z, 0-9, _ and -", "begins with a letter or a digit"]);
    }
    complains(&ask("campaign create x --pool Main=1"), 2, &["a-z, 0-9, _ and -"]);
    complains(
        &ask("campaign create x --opens now"),
        2,
        &["--places <COUNT>", "--pool <NAME=COUNT>", "--seated <NAME>", "--file <FILE>"],
    );
    ask("campaign create spring --places 1 --opens now").ends(0);
    let long = "x".repeat(256);
    complains(&ask(&format!("claim spring {long}")), 2, &["256 bytes"]);
    complains(&ask("token spring ann --for 32d"), 2, &["must be 1s to 31d"]);
    let long = "x".repeat(65);
    complains(&ask(&format!("campaign pause spring --id {long}")), 2, &["65 bytes", "--id"]);
    let file = r#"{"pools": [{"name": "main", "capacity": 5}], "opened": "now"}"#;
    std::fs::write(scene.path().join("x.json"), file).unwrap();
    complains(&ask("campaign create x --file x.json"), 2, &["x.json", "opened"]);
}

#[test]
fn settings_are_named_as_they_were_typed() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    for (typed, words) in [
        ("--places 3 --limit 0", ["--limit", "0 is not in 1.."]),
        ("--places 0", ["--places", "0 is not in 1..=4294967294"]),
        ("--pool a=0", ["--pool", "0 places are outside 1 to 4294967294"]),
        ("--seated a --hold-ttl 200ms", ["--hold-ttl", "must be 1s to 1d, not `200ms`"]),
    ] {
        complains(&ask(&format!("campaign create x {typed}")), 2, &words);
    }
    let long = format!("campaign create x --places 3 --title {}", "x".repeat(257));
    complains(&ask(&long), 2, &["--title: has 257 bytes"]);
    ask("campaign create x --places 3 --opens now").ends(0);
    let none = ["--limit", "0 would let nobody claim; none lifts the limit"];
    complains(&ask("campaign change x --limit 0"), 2, &none);
    let opens = ask("campaign change x --opens +1h");
    complains(&opens, 1, &["not_changeable: --opens cannot change"]);
    assert!(!opens.talk.contains("opens_at"), "{opens:?}");
    // What comes from a file is named as it is there.
    let file = r#"{"pools": [{"name": "main", "kind": "counted", "capacity": 5}], "limits": {"campaign": 0}}"#;
    std::fs::write(scene.path().join("y.json"), file).unwrap();
    let said = ask("campaign create y --file y.json");
    complains(&said, 2, &["y.json: limits.campaign: 0 would let nobody claim"]);
}

#[test]
fn no_advice_is_given_that_would_not_help() {
    let scene = Scene::new();
    let server = scene.serve();
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "1", "--opens", "now"])
        .ends(0);
    let said = server.ask(&scene, &["token", "spring", "ann"]);
    complains(&said, 1, &["set FIRSTCOME_TOKEN_SECRET"]);
    assert!(!said.talk.contains("hint:"), "{said:?}");
}

#[test]
fn another_program_that_answers_is_no_server() {
    let scene = Scene::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(std::io::Read::read(&mut stream, &mut [0; 4096]));
        let page = "HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello";
        std::io::Write::write_all(&mut stream, page.as_bytes()).unwrap();
    });
    let said = scene.run(&["claim", "spring", "ann", "--url", &url]);
    answers.join().unwrap();
    assert!(said.code == 3 && said.talk.contains("it is not an answer of Firstcome"), "{said:?}");
}

#[test]
fn requests_are_told_when_asked_for_and_no_key_with_them() {
    let scene = Scene::new();
    let server = scene.serve();
    let said = server.ask(&scene, &["campaign", "list", "--verbose"]);
    let told = format!("GET {}/v1/campaigns?after=&limit=1000: 200 after ", server.url);
    assert!(said.code == 0 && said.talk.contains(&told), "{said:?}");
    assert!(!said.talk.contains(KEY) && !said.out.contains("GET"), "{said:?}");
    let said = server.ask(&scene, &["campaign", "list"]);
    assert_eq!(said.talk, "", "{said:?}");
    drop(server);
    let said = scene.run(&["campaign", "list", "-v", "--url", "http://127.0.0.1:1"]);
    let told = "GET http://127.0.0.1:1/v1/campaigns?after=&limit=1000: no answer after ";
    assert!(said.code == 3 && said.talk.contains(told), "{said:?}");
}
