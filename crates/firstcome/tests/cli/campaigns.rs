use crate::scene::Scene;

#[test]
fn an_operator_runs_a_campaign_from_its_creation_to_its_archive() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);

    let said = ask(&[
        "campaign", "create", "spring", "--places", "3", "--opens", "now", "--title", "Spring",
    ]);
    assert_eq!(said.ends(0), "created campaign spring, version 1\n");
    let said = ask(&["campaign", "create", "spring", "--places", "9", "--opens", "now"]);
    assert_eq!(said.code, 1, "creating must not change what is there: {said:?}");

    assert!(
        ask(&["claim", "spring", "ann"])
            .ends(0)
            .starts_with("ann has rank 1 in spring/main since ")
    );
    assert!(ask(&["claim", "spring", "ann"]).ends(0).starts_with("ann already has rank 1 "));
    let said = ask(&["claim", "spring", "가나다 🎫/..", "--json"]);
    assert_eq!((said.code, said.json()["rank"].as_u64()), (0, Some(2)), "{said:?}");
    assert!(ask(&["claim", "spring", "cem"]).ends(0).contains("rank 3"));
    let said = ask(&["claim", "spring", "dan"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.talk.starts_with("error: sold_out: "), "{said:?}");

    let shown = ask(&["campaign", "show", "spring"]).ends(0);
    assert!(
        shown.contains("spring: Spring") && shown.contains("0 of 3 left, last rank 3"),
        "{shown}"
    );
    let said = ask(&["campaign", "change", "spring", "--places", "1"]);
    assert!(said.talk.contains("pool main went down to 3 only"), "{said:?}");
    assert!(
        ask(&["campaign", "change", "spring", "--places", "4"])
            .ends(0)
            .starts_with("changed campaign spring")
    );
    let shown = ask(&["campaign", "show", "spring"]).ends(0);
    assert!(
        shown.contains("spring: Spring") && shown.contains("1 of 4 left"),
        "nothing else may change: {shown}"
    );

    let said = ask(&["cancel", "spring", "가나다 🎫/..", "--reason", "asked, \"nicely\""]);
    assert!(said.ends(0).contains("cancelled rank 2 of "));
    let said = ask(&["cancel", "spring", "nobody", "--reason", "x"]);
    assert_eq!(said.code, 1, "{said:?}");

    let csv = ask(&["results", "spring", "--all", "--format", "csv"]).ends(0);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "number,kind,campaign,pool,rank,subject,at,by,reason,unit,hold,moved_from,\
         reference,used_by,verdict,issue,import,quantity"
    );
    assert_eq!(lines.len(), 5, "{csv}");
    assert!(
        lines[4].contains("cancel,spring,main,2,가나다 🎫/..")
            && lines[4].ends_with("\"asked, \"\"nicely\"\"\",,,,,,,,,"),
        "{csv}"
    );
    let page = ask(&["results", "spring", "--limit", "2", "--json"]);
    assert_eq!(page.json()["results"].as_array().unwrap().len(), 2);
    assert!(page.talk.contains("there are more: --after"), "{page:?}");
    assert_eq!(ask(&["results", "spring", "--format", "ndjson"]).ends(0).lines().count(), 4);

    assert_eq!(ask(&["campaign", "pause", "spring"]).ends(0), "paused campaign spring\n");
    assert_eq!(
        ask(&["campaign", "pause", "spring"]).ends(0),
        "campaign spring was paused already\n"
    );
    assert_eq!(ask(&["claim", "spring", "eve"]).code, 1);
    assert_eq!(ask(&["campaign", "resume", "spring"]).ends(0), "resumed campaign spring\n");
    assert_eq!(ask(&["campaign", "archive", "spring"]).code, 1, "an open one cannot be archived");
    assert_eq!(ask(&["campaign", "close", "spring"]).ends(0), "closed campaign spring\n");
    let said = ask(&["campaign", "archive", "spring", "--drop-unsettled"]);
    assert_eq!(said.ends(0), "archived campaign spring\n");
    let said = ask(&["claim", "spring", "ann"]);
    assert!(said.code == 1 && said.talk.starts_with("error: archived: "), "{said:?}");
    assert!(ask(&["campaign", "list"]).ends(0).contains("spring    archived  "));
}

#[test]
fn a_campaign_comes_from_a_file_and_opens_at_a_time() {
    let scene = Scene::new();
    let server = scene.serve();
    let file = r#"{"title": "Gig", "opens_at": "2999-03-01T10:00:00[Asia/Seoul]", "pools": [{"name": "stalls", "capacity": 2}, {"name": "balcony", "capacity": 1}]}"#;
    std::fs::write(scene.path().join("gig.json"), file).unwrap();
    let ask = |args: &[&str]| server.ask(&scene, args);
    assert!(
        ask(&["campaign", "create", "gig", "--file", "gig.json"]).ends(0).starts_with("created")
    );
    assert!(ask(&["campaign", "show", "gig"]).ends(0).contains("opens in "));
    let said = ask(&["claim", "gig", "ann", "--pool", "stalls"]);
    assert!(said.code == 1 && said.talk.contains("not_open"), "{said:?}");
    let said = ask(&["claim", "gig", "ann"]);
    assert!(said.code == 1 && said.talk.contains("hint: name the pool with --pool"), "{said:?}");
    let said = ask(&["campaign", "change", "gig", "--places", "5"]);
    assert!(said.code == 2 && said.talk.contains("2 pools"), "{said:?}");
    let said = ask(&[
        "campaign",
        "change",
        "gig",
        "--opens",
        "now",
        "--pool",
        "balcony=2",
        "--limit",
        "1",
    ]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(ask(&["claim", "gig", "ann", "--pool", "balcony"]).code, 0);
    let said = ask(&["claim", "gig", "ann", "--pool", "stalls"]);
    assert!(said.code == 1 && said.talk.contains("limit_reached"), "{said:?}");
    let said = ask(&["campaign", "create", "late", "--places", "1", "--opens", "+1h"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn the_key_and_the_address_are_found_in_the_data_folder() {
    let scene = Scene::new();
    let server = scene.serve();
    let said = scene.run(&["campaign", "list"]);
    assert!(
        said.code == 1 && said.talk.contains("unauthorized"),
        "found, but without a key: {said:?}"
    );
    std::fs::write(scene.path().join("firstcome-data/admin-key"), crate::scene::KEY).unwrap();
    assert_eq!(scene.run(&["campaign", "list"]).code, 0);
    assert_eq!(scene.run(&["nodes", "--json"]).json()["nodes"][0]["leader"], true);
    drop(server);
}

#[test]
fn a_subject_that_is_a_formula_is_text_in_a_table() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "spring", "--places", "3", "--opens", "now"]).ends(0);
    ask(&["claim", "spring", "=1+1"]).ends(0);
    let csv = ask(&["results", "spring", "--format", "csv"]).ends(0);
    assert!(csv.contains("1,claim,spring,main,1,'=1+1,"), "{csv}");
    let csv = ask(&["results", "spring", "--format", "csv", "--raw"]).ends(0);
    assert!(csv.contains("1,claim,spring,main,1,=1+1,"), "{csv}");
    let document = ask(&["results", "spring", "--json"]).json();
    assert_eq!(document["results"][0]["subject"], "=1+1");
}

#[test]
fn the_journal_can_be_read_beside_the_server_and_without_one() {
    let scene = Scene::new();
    let server = scene.serve();
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "3", "--opens", "now"])
        .ends(0);
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    for file in ["one", "two"] {
        let shown = scene.run(&["journal", "show"]).ends(0);
        assert!(shown.contains("claim, ") && shown.contains("subject ann"), "{shown}");
        let verified = scene.run(&["journal", "verify", "--json"]).json();
        assert_eq!(verified["ok"], true, "{verified}");
        let all = scene.run(&["journal", "show", "--all", "--stored", "--json"]).ends(0);
        assert!(all.lines().count() as u64 >= verified["entries"].as_u64().unwrap());
        let copy = &["journal", "export", "--copy", "--output", file, "--json"];
        let copied = scene.run(copy).json();
        let checked = scene.run(&["audit", "--file", file, "--json"]).json();
        assert_eq!(checked["digest_recomputed"], copied["digest"], "{checked}");
        let mut audit = scene.program(&["audit", "--json"]);
        let audit =
            crate::scene::said(&audit.env("FIRSTCOME_KEY", crate::scene::KEY).output().unwrap());
        assert_eq!((audit.code, audit.json()["ok"].as_bool()), (0, Some(true)), "{audit:?}");
        // The second round is read from a folder whose server was killed.
        kill(&server);
    }
}

fn kill(server: &crate::scene::Server) {
    let pid = rustix::process::Pid::from_raw(server.child.id().cast_signed()).unwrap();
    // In the second round it is gone already.
    let killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    assert!(matches!(killed, Ok(()) | Err(rustix::io::Errno::SRCH)));
}

#[test]
fn a_change_leaves_everything_that_is_not_named_as_it_is() {
    let scene = Scene::new();
    let server = scene.serve();
    let file = r#"{"title": "Gala", "opens_at": "now", "limits": {"campaign": 9, "grades": {"R": 2}},
        "hold_ttl_ms": 60000, "hold_max_ms": 120000, "holds": "many", "holds_per_hour": 7, "allow_orphans": true,
        "claim_again": true, "units_return": false, "pools": [
        {"name": "floor", "capacity": 5, "limit": 3},
        {"name": "hall", "kind": "seated", "limit": 4, "seats": [{"name": "A1", "grade": "R"}]}]}"#;
    std::fs::write(scene.path().join("gala.json"), file).unwrap();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "gala", "--file", "gala.json"]).ends(0);
    let shown = || {
        let mut shown = ask(&["campaign", "show", "gala", "--json"]).json();
        for name in ["version", "now", "position", "opens_in_ms", "closes_in_ms"] {
            shown.as_object_mut().unwrap().remove(name);
        }
        shown
    };
    let before = shown();
    ask(&["campaign", "change", "gala", "--title", "Gala night"]).ends(0);
    let mut after = shown();
    assert_eq!(after["title"], "Gala night");
    after["title"] = "Gala".into();
    assert_eq!(after, before);
    // The only pool of places is meant, and a hall has as many as it has seats.
    ask(&["campaign", "change", "gala", "--places", "6"]).ends(0);
    assert_eq!(shown()["pools"][0]["capacity"], 6);
    let said = ask(&["campaign", "change", "gala", "--pool", "hall=9"]);
    assert!(said.code == 2 && said.talk.contains("seats import"), "{said:?}");
}

#[test]
fn characters_that_nobody_sees_are_shown_to_people() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "spring", "--places", "3", "--opens", "now"]).ends(0);
    let said = ask(&["claim", "spring", "a\u{200b}nn"]).ends(0);
    assert!(said.starts_with("a\\u{200b}nn has rank 1"), "{said}");
    let table = ask(&["results", "spring"]).ends(0);
    assert!(table.contains("a\\u{200b}nn") && !table.contains('\u{200b}'), "{table}");
    // A program gets what is there.
    let csv = ask(&["results", "spring", "--format", "csv"]).ends(0);
    assert!(csv.contains("1,claim,spring,main,1,a\u{200b}nn,"), "{csv}");
    let document = ask(&["results", "spring", "--json"]).json();
    assert_eq!(document["results"][0]["subject"], "a\u{200b}nn");
}

/// The first page spoke for all of them.
#[test]
fn a_list_of_several_pages_is_as_durable_and_as_new_as_they_all_are() {
    let scene = Scene::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        for (next, at, durable) in [("\"c\"", 7, true), ("\"d\"", 8, false), ("null", 9, true)] {
            let (mut stream, _) = listener.accept().unwrap();
            drop(std::io::Read::read(&mut stream, &mut [0; 4096]));
            let state = format!(r#""next":{next},"position":"0.{at}","durable":{durable}"#);
            let page = format!(r#"{{"campaigns":[],"archived":[],{state}}}"#);
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close", page.len());
            let answer = format!("{head}\r\n\r\n{page}");
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
    });
    let said = scene.run(&["campaign", "list", "--json", "--url", &url]);
    answers.join().unwrap();
    assert_eq!(said.code, 0, "{said:?}");
    let list = said.json();
    let state = (list["position"].as_str(), list["durable"].as_bool(), list["next"].is_null());
    assert_eq!(state, (Some("0.9"), Some(false), true), "{said:?}");
}
