use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::scene::Scene;

#[test]
fn a_house_is_sold_out_and_every_proof_holds() {
    let scene = Scene::new();
    let shown = scene.run(&["demo", "--seats", "60", "--seed", "7", "--json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let shown = shown.json();
    let names: Vec<_> =
        shown["proofs"].as_array().unwrap().iter().map(|proof| proof["name"].clone()).collect();
    assert_eq!(
        names,
        [
            "sold_out", "seats", "ranks", "baskets", "counts", "late", "taken", "repeats",
            "digest", "ledger"
        ]
    );
    assert_eq!(shown["kept"], true, "{shown}");
    let seats = &shown["seats"];
    let count = |name: &str| seats[name].as_u64().unwrap();
    assert_eq!((count("confirmed"), count("blocked"), count("held")), (56, 4, 0), "{shown}");
    assert_eq!(std::fs::read_dir(scene.path()).unwrap().count(), 0, "the folder must be gone");
}

#[test]
fn the_house_is_drawn_a_few_times_where_nobody_watches_a_terminal() {
    let scene = Scene::new();
    let shown = scene.run(&["demo", "--seats", "40", "--seed", "3"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let frames = shown.out.matches("% paid").count();
    assert!((2..=6).contains(&frames), "{frames} frames: {shown:?}");
    assert!(!shown.out.contains('\u{1b}'), "no colours and no cursor: {shown:?}");
    assert!(shown.out.contains("1  ...  ....  ..."), "empty at first: {shown:?}");
    assert!(shown.out.contains("1  ###  ####  ###"), "full at the end: {shown:?}");
    assert!(shown.out.contains("[ok] no half basket"), "{shown:?}");
    // What is longer than a line goes on in the next one.
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80), "{shown:?}");
    let looks = shown.out.lines().filter(|line| line.starts_with("     ")).collect::<Vec<_>>();
    assert!(looks.iter().any(|line| line.contains("refunds due")), "{shown:?}");
}

#[test]
fn ctrl_c_ends_the_house_with_its_folder() {
    let scene = Scene::new();
    let mut child = scene
        .program(&["demo", "--seats"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    assert!(line.starts_with("300 seats, 4 of them kept back"), "{line:?}");
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    while talk.read_line(&mut line).unwrap() > 0 {}
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(scene.path()).unwrap().count(), 0, "the folder must be gone");
}

#[test]
fn a_house_has_bounds() {
    let scene = Scene::new();
    for wrong in [&["demo", "--seats", "39"][..], &["demo", "--seats", "--places", "5"]] {
        assert_eq!(scene.run(wrong).code, 2, "{wrong:?}");
    }
}

const HALL: &str = "name,section,row,number,quality,grade,price_minor,currency,capacity
A1,L,1,1,0,R,9000,EUR,
A2,L,1,2,0,R,9000,EUR,
A3,L,1,3,0,R,9000,EUR,
A4,L,1,4,0,R,9000,EUR,
B1,L,2,1,1,S,6000,EUR,
B2,L,2,2,1,S,6000,EUR,
lawn,,,,,A,3000,EUR,20
";

#[test]
fn seats_are_imported_held_paid_for_and_given_back() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "gala", "--seated", "main", "--opens", "now"]).ends(0);
    std::fs::write(scene.path().join("hall.csv"), HALL).unwrap();
    let said = ask(&["seats", "import", "gala", "main", "hall.csv"]).ends(0);
    assert_eq!(said, "imported 6 seats and 1 area into gala/main: 26 units in all\n");
    let said = ask(&["seats", "import", "gala", "main", "hall.csv", "--json"]);
    let again = said.json();
    assert_eq!((again["seats"].as_u64(), again["there_before"].as_u64()), (Some(0), Some(7)));

    let said = ask(&["hold", "take", "gala", "ann", "A1", "A2", "--id", "h1"]).ends(0);
    assert!(said.starts_with("ann holds A1, A2 until ") && said.ends_with(": hold h1\n"), "{said}");
    let said = ask(&["hold", "take", "gala", "ann", "A1", "A2", "--id", "h1"]).ends(0);
    assert!(said.starts_with("ann already holds A1, A2 "), "{said}");
    let said = ask(&["hold", "take", "gala", "bob", "A2", "--json"]);
    let refused = said.json();
    assert_eq!((said.code, refused["outcome"].as_str()), (1, Some("unit_taken")), "{said:?}");
    assert_eq!(refused["units"][0]["unit"], "A2", "{refused}");

    let said = ask(&["hold", "add", "gala", "h1", "ann", "--area", "lawn", "--quantity", "2"]);
    assert!(said.ends(0).contains("2 of lawn"));
    let said = ask(&["hold", "show", "gala", "h1"]).ends(0);
    assert!(said.contains("hold h1 of ann: live, until ") && said.contains("A1: held"), "{said}");
    assert_eq!(ask(&["hold", "show", "gala", "h1", "--subject", "bob"]).code, 1);
    let said = ask(&["hold", "extend", "gala", "h1", "ann", "--for", "9m"]).ends(0);
    assert!(said.starts_with("hold h1 of ann lasts until "), "{said}");
    let said = ask(&["hold", "confirm", "gala", "h1", "--subject", "bob"]);
    assert!(said.code == 1 && said.talk.contains("not_yours"), "{said:?}");
    let said = ask(&["hold", "confirm", "gala", "h1", "ann", "A1", "A2"]).ends(0);
    assert_eq!(said, "ann has A1 (rank 1), A2 (rank 2); 2 are held still\n");
    let said = ask(&["hold", "release", "gala", "h1", "ann"]).ends(0);
    assert!(said.starts_with("ann gave ") && said.contains("lawn"), "{said}");

    let said = ask(&["hold", "take", "gala", "cyd", "--best", "2", "--price", "6000EUR"]).ends(0);
    assert!(said.starts_with("cyd holds B1, B2 until "), "{said}");
    let said = ask(&["seats", "block", "gala", "main", "A4", "--reason", "broken"]).ends(0);
    assert_eq!(said, "blocked 1 unit of gala/main\n");
    let places = ["--area", "lawn", "--quantity", "5", "--reason", "wet"];
    let block = |verb, more: &[&str]| {
        ask(&[&["seats", verb, "gala", "main"], more, &places].concat()).ends(0)
    };
    assert_eq!(block("block", &[]), "blocked 5 units of gala/main\n");
    let said = block("unblock", &["A4"]);
    assert_eq!(said, "unblocked 6 units of gala/main\n");
    assert_eq!(ask(&["seats", "block", "gala", "main", "--reason", "none"]).code, 2);
    let said = ask(&["seats", "move", "gala", "main", "A2", "A3", "--reason", "asked"]).ends(0);
    assert_eq!(said, "moved rank 2 from A2 to A3 in gala/main\n");
    ask(&["seats", "unblock", "gala", "main", "A4", "--reason", "mended"]).ends(0);
}

#[test]
fn wrong_lines_of_a_file_are_all_told_of_and_nothing_is_sent() {
    let scene = Scene::new();
    // No server: what is wrong with the file is found before one is asked.
    std::fs::write(scene.path().join("hall.csv"), "name,x\nA1,left\nA2,2\nA2,3\n").unwrap();
    let said = scene.run(&["seats", "import", "gala", "main", "hall.csv"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.talk.contains("hall.csv:2: x \"left\" is not a whole number"), "{said:?}");
    assert!(said.talk.contains("hall.csv:4: A2 is on line 3 already"), "{said:?}");
    assert!(said.talk.contains("2 lines are wrong in hall.csv; nothing was sent"), "{said:?}");
    std::fs::write(scene.path().join("hall.txt"), "").unwrap();
    let said = scene.run(&["seats", "import", "gala", "main", "hall.txt"]);
    assert!(said.code == 2 && said.talk.contains("--format"), "{said:?}");
    assert!(said.talk.contains("known endings are .csv, .json, .ndjson and .jsonl"), "{said:?}");
    // For programs, all of them.
    let said = scene.run(&["seats", "import", "gala", "main", "hall.csv", "--json"]);
    let errors = said.json()["errors"].clone();
    assert_eq!(errors.as_array().unwrap().len(), 2, "{said:?}");
    assert_eq!((&errors[1]["line"], said.code), (&serde_json::json!(4), 2));
    assert_eq!(scene.run(&["hold", "take", "gala", "ann"]).code, 2, "nothing is asked for");
}

#[test]
fn what_only_the_server_sees_is_told_by_line_too() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "gala", "--seated", "main"]).ends(0);
    let hall = scene.path().join("hall.ndjson");
    std::fs::write(&hall, "{\"name\": \"A2\"}\n").unwrap();
    ask(&["seats", "import", "gala", "main", "hall.ndjson"]).ends(0);
    std::fs::write(&hall, "{\"name\": \"A1\"}\n\n{\"name\": \"A2\", \"grade\": \"R\"}\n").unwrap();
    let said = ask(&["seats", "import", "gala", "main", "hall.ndjson"]);
    assert_eq!(said.code, 2, "{said:?}");
    // By the line of the file, not by a number in what was sent, and with what changes it.
    assert!(said.talk.contains("hall.ndjson:3: A2: its name is given already\n"), "{said:?}");
    assert!(said.talk.contains("wrong in hall.ndjson; nothing was added\n"), "{said:?}");
    assert!(said.talk.contains("hint: `firstcome seats change` changes"), "{said:?}");
}

#[test]
fn the_hall_is_drawn_as_it_stands() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "gala", "--seated", "main", "--opens", "now"]).ends(0);
    std::fs::write(scene.path().join("hall.csv"), HALL).unwrap();
    ask(&["seats", "import", "gala", "main", "hall.csv"]).ends(0);
    ask(&["hold", "take", "gala", "ann", "A1", "A2", "--id", "h1"]).ends(0);
    ask(&["hold", "confirm", "gala", "h1", "ann"]).ends(0);
    ask(&["hold", "take", "gala", "bob", "B1", "B2"]).ends(0);
    ask(&["seats", "block", "gala", "main", "A4", "--reason", "broken"]).ends(0);
    let shown = ask(&["seats", "show", "gala", "main"]).ends(0);
    assert!(shown.contains("1  ##.x") && shown.contains("2   oo"), "{shown}");
    assert!(shown.contains("lawn") && shown.contains("20 free, 0 held"), "{shown}");
    assert!(shown.contains("1 free, 2 held, 2 paid, 1 blocked"), "{shown}");
    let map = ask(&["seats", "show", "gala", "main", "--json"]).json();
    assert_eq!(map["standing"], "cc.bhh", "{map}");
}

#[test]
fn a_rush_on_seats_finds_every_promise_kept() {
    let scene = Scene::new();
    let server = scene.serve();
    let report = server.ask(
        &scene,
        &[
            "rush",
            "--seats",
            "--create",
            "120",
            "--campaign",
            "mine",
            "--keep",
            "--subjects",
            "150",
            "--rate",
            "100",
            "--connections",
            "20",
            "--late",
            "0.2",
            "--cut",
            "0.05",
            "--seed",
            "7",
            "--json",
        ],
    );
    assert_eq!(report.code, 0, "{report:?}");
    let report = report.json();
    let names: Vec<_> =
        report["promises"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["seats", "baskets", "ranks", "kept", "taken", "limits", "late", "counts"]);
    assert_eq!(report["kept"], true, "{report}");
    assert!(report["answers"]["confirmed"].as_u64() > Some(10), "{report}");
    let said = server.ask(&scene, &["rush", "--seats", "--campaign", "mine"]);
    assert!(
        said.code == 1 && said.talk.contains("already has claims or holds of others"),
        "{said:?}"
    );
}
