use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::scene::{Scene, said};

const SMALL: [&str; 8] =
    ["--requests", "3000", "--subjects", "800", "--connections", "20", "--seed", "7"];

#[test]
fn a_rush_makes_its_campaign_and_finds_every_promise_kept() {
    let scene = Scene::new();
    let server = scene.serve();
    let mut args =
        vec!["rush", "--create", "50", "--cut", "0.05", "--json", "--campaign", "mine", "--keep"];
    args.extend(SMALL);
    let report = server.ask(&scene, &args);
    assert_eq!(report.code, 0, "{report:?}");
    let report = report.json();
    assert_eq!(
        (report["kept"].as_bool(), report["winners"].as_u64()),
        (Some(true), Some(50)),
        "{report}"
    );
    assert_eq!(report["answered"], 3000);
    assert!(report["sent_again"]["cut"].as_u64() > Some(0), "{report}");

    let said = server.ask(&scene, &["rush", "--campaign", "mine"]);
    assert!(said.code == 1 && said.talk.contains("already has claims of others"), "{said:?}");
    let mut args = vec!["rush", "--campaign", "mine", "--force", "--rate", "5000"];
    args.extend(SMALL);
    let said = server.ask(&scene, &args);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("[ok] nothing acknowledged is missing") && said.out.contains("p99.9"),
        "{said:?}"
    );
}

#[test]
fn the_demo_proves_everything_and_leaves_nothing_behind() {
    let scene = Scene::new();
    let mut args = vec!["demo", "--places", "60", "--json"];
    args.extend(SMALL);
    let shown = scene.run(&args);
    assert_eq!(shown.code, 0, "{shown:?}");
    let shown = shown.json();
    let names: Vec<_> =
        shown["proofs"].as_array().unwrap().iter().map(|proof| proof["name"].clone()).collect();
    assert_eq!(names, ["places", "ranks", "once", "repeats", "kept", "digest", "ledger"]);
    assert!(shown["acknowledged_before_kill"].as_u64() >= Some(30), "{shown}");
    assert_eq!(shown["rush"]["winners"], 60);
    assert_eq!(std::fs::read_dir(scene.path()).unwrap().count(), 0, "the folder must be gone");
}

#[test]
fn ctrl_c_ends_the_demo_with_its_server_and_folder() {
    let scene = Scene::new();
    let mut child =
        scene.program(&["demo"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    let url = line.split([' ', ',']).find(|word| word.starts_with("http://")).unwrap().to_owned();
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // Its talk is read to the end, so that it is not ended by a closed pipe instead.
    while talk.read_line(&mut line).unwrap() > 0 {}
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(scene.path()).unwrap().count(), 0, "the folder must be gone");
    let said = said(&scene.program(&["nodes", "--url", &url]).output().unwrap());
    assert!(
        said.code == 3 && said.talk.contains("cannot connect"),
        "the server must be gone: {said:?}"
    );
}

#[test]
fn a_rush_leaves_no_campaign_open_behind_it() {
    let scene = Scene::new();
    let server = scene.serve();
    let mut args = vec!["rush", "--create", "20"];
    args.extend(SMALL);
    let said = server.ask(&scene, &args);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.talk.contains("closed and archived campaign rush-7-"), "{said:?}");
    let list = server.ask(&scene, &["campaign", "list", "--json"]).json();
    assert_eq!(list["campaigns"].as_array().map(Vec::len), Some(0), "{list}");
    assert_eq!(list["archived"].as_array().map(Vec::len), Some(1), "{list}");
}
