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
