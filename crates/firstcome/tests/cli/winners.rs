//! `winners` and `results`: who has what now, and what happened; and what becomes of output that cannot be written.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Stdio;

use crate::scene::{KEY, Scene, Server, said};

/// A campaign of two pools in which one of three claims was cancelled.
fn played(scene: &Scene, server: &Server) {
    let ask = |args: &[&str]| server.ask(scene, args).ends(0);
    let pools = ["--pool", "stalls=9", "--pool", "balcony=9"];
    ask(&[&["campaign", "create", "gig", "--opens", "now"], &pools[..]].concat());
    ask(&["claim", "gig", "ann", "--pool", "stalls"]);
    ask(&["claim", "gig", "=bob", "--pool", "stalls"]);
    ask(&["claim", "gig", "cem", "--pool", "balcony"]);
    ask(&["cancel", "gig", "ann", "--pool", "stalls", "--rank", "1", "--reason", "asked"]);
}

#[test]
fn winners_are_who_has_what_now_over_all_pools() {
    let scene = Scene::new();
    let server = scene.serve();
    played(&scene, &server);
    let ask = |args: &[&str]| server.ask(&scene, args);
    let csv = ask(&["winners", "gig", "--all", "--format", "csv"]).ends(0);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "campaign,pool,rank,subject,unit,at,hold");
    assert!(lines[1].starts_with("gig,stalls,2,'=bob,,20"), "{csv}");
    assert!(lines[2].starts_with("gig,balcony,1,cem,,20"), "{csv}");
    assert_eq!(lines.len(), 3, "who cancelled is no winner: {csv}");
    let lines = ask(&["winners", "gig", "--format", "ndjson", "--pool", "balcony"]).ends(0);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let table = ask(&["winners", "gig"]).ends(0);
    assert!(table.contains("=bob") && !table.contains("ann"), "{table}");
    let page = ask(&["winners", "gig", "--limit", "1", "--json"]);
    assert_eq!(page.json()["winners"][0]["subject"], "=bob", "{page:?}");
    assert!(page.talk.contains("there are more: --pool balcony --after 0, or --all"), "{page:?}");
    let said = ask(&["winners", "gig", "--after", "1"]);
    assert!(said.code == 2 && said.talk.contains("use --after together with --pool"), "{said:?}");
    let said = ask(&["winners", "none"]);
    assert!(said.code == 1 && said.talk.contains("not_found") && said.out.is_empty(), "{said:?}");
    ask(&["campaign", "close", "gig"]).ends(0);
    ask(&["campaign", "archive", "gig", "--drop-unsettled"]).ends(0);
    let said = ask(&["winners", "gig"]);
    assert!(said.code == 1 && said.talk.contains("ask the ledger"), "{said:?}");
}

#[test]
fn help_says_which_of_the_two_is_which() {
    let scene = Scene::new();
    // Its lines end where the terminal does.
    let in_one = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let results = in_one(scene.run(&["results", "--help"]).ends(0));
    assert!(
        results.contains("Results are all events, in order")
            && results.contains("firstcome winners")
    );
    let winners = in_one(scene.run(&["winners", "--help"]).ends(0));
    assert!(
        winners.contains("Winners are the current claims") && winners.contains("firstcome results")
    );
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let scene = Scene::new();
    let server = scene.serve();
    played(&scene, &server);
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ask = |args: &[&str], code: i32| {
        let mut command = scene.program(args);
        command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY).stdout(full());
        let said = said(&command.output().unwrap());
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        said.talk
    };
    let looks: [&[&str]; 10] = [
        &["results", "gig", "--format", "csv", "--all"],
        &["results", "gig"],
        &["winners", "gig", "--format", "csv", "--all"],
        &["winners", "gig", "--json"],
        &["campaign", "list"],
        &["campaign", "show", "gig"],
        &["nodes"],
        &["settle", "status"],
        &["journal", "show"],
        &["journal", "show", "--all"],
    ];
    for args in looks {
        let talk = ask(args, 3);
        assert!(talk.contains("cannot write the result: No space left"), "{args:?}: {talk}");
    }
    // It was done all the same, and nobody may take it for not done.
    let talk = ask(&["claim", "gig", "dan", "--pool", "stalls"], 4);
    assert!(talk.contains("cannot write the result"), "{talk}");
    let talk = ask(&["campaign", "pause", "gig"], 4);
    assert!(talk.contains("cannot write the result"), "{talk}");
    // A refusal stays one.
    let talk = ask(&["claim", "none", "dan", "--json"], 1);
    assert!(talk.contains("not_found"), "{talk}");
}

#[test]
fn a_reader_who_has_enough_ends_the_program_quietly() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args).ends(0);
    ask(&["campaign", "create", "gig", "--places", "3", "--opens", "now"]);
    ask(&["claim", "gig", "ann"]);
    let mut command = scene.program(&["winners", "gig", "--format", "csv"]);
    command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut talk = String::new();
    child.stderr.take().unwrap().read_to_string(&mut talk).unwrap();
    assert_eq!((child.wait().unwrap().code(), talk.as_str()), (Some(0), ""));
}
