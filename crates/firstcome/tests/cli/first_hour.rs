//! What a newcomer types in the first hour, and what comes.

use crate::scene::{KEY, Scene, said};

#[test]
fn an_audit_right_after_the_start_finds_an_empty_journal_whole() {
    let scene = Scene::new();
    let server = scene.serve();
    let shown = server.ask(&scene, &["audit"]).ends(0);
    assert!(shown.contains("nothing to recompute: the journal has no entry yet"), "{shown}");
    assert!(
        shown.contains(&format!("the digest of {} is 0000000000000000", server.url)),
        "{shown}"
    );
    let report = server.ask(&scene, &["audit", "--json"]).json();
    assert_eq!(report["digest_live"], "0000000000000000", "{report}");
    assert_eq!((&report["ok"], &report["position"]), (&true.into(), &0.into()), "{report}");
}

#[test]
fn a_journal_is_shown_with_what_became_of_each_command() {
    let scene = Scene::new();
    let server = scene.serve();
    let create = ["campaign", "create", "spring", "--places", "1", "--opens", "now"];
    server.ask(&scene, &create).ends(0);
    server.ask(&scene, &create).ends(1);
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    let shown = scene.run(&["journal", "show"]).ends(0);
    let line = |with: &str| {
        let found = shown.lines().find(|line| line.contains(with));
        found.unwrap_or_else(|| panic!("{with}: {shown}")).to_owned()
    };
    assert!(line("put, ").ends_with(" -> created, version 1"), "{shown}");
    assert!(
        shown.lines().any(|line| line.contains("put, ") && line.contains(" -> version_mismatch")),
        "{shown}"
    );
    assert!(line("subject ann").ends_with(" -> won, rank 1"), "{shown}");
    // The last ones alone have the same outcomes: those before were applied, and not shown. Results may be settled since.
    let last = scene.run(&["journal", "show", "--last", "2", "--json"]).ends(0);
    let won = |line: &str| {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        let answer = &entry["commands"][0]["answer"];
        answer["outcome"] == "won" && answer["rank"] == 1
    };
    assert!(last.lines().any(won), "{last}");
    let stored = scene.run(&["journal", "show", "--stored"]).ends(0);
    assert!(stored.contains("subject ann") && !stored.contains(" -> "), "{stored}");
    let one = scene.run(&["journal", "show", "--limit", "1"]).ends(0);
    assert!(one.contains(" -> created") && !one.contains("subject ann"), "{one}");
}

#[test]
fn a_file_that_cannot_be_read_is_not_called_missing() {
    let scene = Scene::new();
    let data = scene.path().join("firstcome-data");
    std::fs::create_dir(&data).unwrap();
    let said = scene.run(&["journal", "verify"]);
    assert!(said.code == 3 && said.talk.contains("journal.sqlite is not there"), "{said:?}");
    let file = data.join("journal.sqlite");
    // The administrator may read everything, so the file is one that nobody can open.
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let said = scene.run(&["journal", "verify"]);
    assert!(said.code == 3 && said.talk.contains("symbolic links"), "{said:?}");
    assert!(!said.talk.contains("not there") && !said.talk.contains("did not take"), "{said:?}");
}

#[test]
fn a_folder_whose_server_is_gone_is_named_and_nobody_else_is_asked() {
    let scene = Scene::new();
    let server = scene.serve();
    drop(server);
    let said = scene.run(&["claim", "spring", "bob"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.talk.contains("the server of ./firstcome-data is not running"), "{said:?}");
    assert!(said.talk.contains("hint: start it with `firstcome serve --data"), "{said:?}");
}

#[test]
fn a_server_without_a_shared_store_is_not_asked_to_write_one_anew() {
    let scene = Scene::new();
    let server = scene.serve();
    for args in [&["nodes", "reseed"][..], &["nodes", "reseed", "--yes"]] {
        let said = server.ask(&scene, args);
        assert!(said.code == 1 && said.talk.contains("has no shared store"), "{said:?}");
        assert!(!said.talk.contains("Kept:") && !said.talk.contains("Type yes"), "{said:?}");
    }
}

#[test]
fn an_audit_of_a_shared_store_asks_the_server_that_is_named_for_every_verb() {
    let Some(redis) = firstcome_testbed::RedisServer::start() else { return };
    let scene = Scene::new();
    let url = redis.url();
    let server = scene.serve_with(&["--store", &url]);
    let audit = |more: &[&str]| {
        let mut command = scene.program(&[&["audit"], more].concat());
        command.env("FIRSTCOME_STORE", &url).env("FIRSTCOME_KEY", KEY);
        said(&command.env("FIRSTCOME_URL", &server.url).output().unwrap())
    };
    let shown = audit(&[]).ends(0);
    assert!(
        shown.contains(&format!("the digest of {} is 0000000000000000", server.url)),
        "{shown}"
    );
    assert!(!shown.contains("no server was asked"), "{shown}");
}

#[test]
fn a_folder_that_cannot_be_looked_into_names_no_other_server() {
    let scene = Scene::new();
    let data = scene.path().join("firstcome-data");
    std::fs::create_dir(&data).unwrap();
    // The administrator may look into every folder, so this lock is one that nobody can open.
    std::os::unix::fs::symlink(data.join("lock"), data.join("lock")).unwrap();
    let said = scene.run(&["campaign", "list"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.talk.contains("cannot see whether ./firstcome-data has a server"), "{said:?}");
    assert!(said.talk.contains("hint: run this as the user of the server"), "{said:?}");
    assert!(!said.talk.contains("8080"), "{said:?}");
}

#[test]
fn verbs_that_read_a_journal_or_press_a_server_say_what_they_do_when_asked() {
    let scene = Scene::new();
    let server = scene.serve();
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "1", "--opens", "now"])
        .ends(0);
    let journal = "journal of ./firstcome-data: entries 1 to ";
    for (args, words) in [
        (&["audit", "-v"][..], &[journal, "ledger sqlite\n", "/v1/audit?position="][..]),
        (&["journal", "show", "-v"], &[journal, "outcomes are computed from entry 1 on\n"]),
        (&["journal", "verify", "--verbose"], &[journal]),
        (&["journal", "show", "--all", "--stored", "-v"], &[journal]),
    ] {
        let said = server.ask(&scene, args);
        assert_eq!(said.code, 0, "{said:?}");
        for word in words {
            assert!(said.talk.contains(word) && !said.out.contains(word), "{word}: {said:?}");
        }
        assert!(!said.talk.contains(KEY), "{said:?}");
        let quiet = server.ask(&scene, &args[..args.len() - 1]);
        assert_eq!((quiet.code, quiet.talk.as_str()), (0, ""), "{quiet:?}");
    }
    let small =
        ["rush", "--create", "5", "--requests", "20", "--subjects", "10", "--campaign", "r"];
    for more in [&[][..], &["--seats", "--late", "0", "--think", "1ms"]] {
        let small = if more.is_empty() {
            &small[..]
        } else {
            &["rush", "--create", "40", "--subjects", "9", "--campaign", "s"]
        };
        let said = server.ask(&scene, &[small, more, &["-v"]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        let campaign = small.last().unwrap();
        for (method, rest) in [("PUT", ": 201 after "), ("POST", "/close: 200 after ")] {
            let told = format!("{method} {}/v1/campaigns/{campaign}{rest}", server.url);
            assert!(said.talk.contains(&told), "{told}: {said:?}");
        }
        assert!(!said.talk.contains("/claims") && !said.talk.contains("/confirm"), "{said:?}");
    }
}
