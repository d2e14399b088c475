//! `cancel` does what it was asked for, or nothing.

use crate::scene::{Scene, said};

const BACKEND: &str = "a-key-of-the-back-end";

#[test]
fn a_cancel_names_which_claim_it_is_about() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "gala", "--seated", "main", "--opens", "now"]).ends(0);
    std::fs::write(scene.path().join("hall.csv"), "name\nA1\nA2\nA3\nA4\n").unwrap();
    ask(&["seats", "import", "gala", "main", "hall.csv"]).ends(0);
    for (hold, seats) in [("h1", ["A1", "A2"]), ("h2", ["A3", "A4"])] {
        ask(&["hold", "take", "gala", "ann", seats[0], seats[1], "--id", hold]).ends(0);
        ask(&["hold", "confirm", "gala", hold, "ann"]).ends(0);
    }
    let said = ask(&["cancel", "gala", "ann"]);
    assert!(said.code == 2 && said.talk.contains("--reason TEXT"), "{said:?}");
    assert!(said.talk.contains("--by-subject") && !said.talk.contains('&'), "{said:?}");
    for pool in [&[][..], &["--pool", "main"]] {
        let said = ask(&[&["cancel", "gala", "ann", "--by-subject"], pool].concat());
        assert_eq!(said.code, 2, "{said:?}");
        let ranks = "ann has 4 claims in gala: ranks 1 (A1), 2 (A2), 3 (A3), 4 (A4)";
        assert!(
            said.talk.contains(ranks) && said.talk.contains("name one with --rank"),
            "{said:?}"
        );
    }
    let said = ask(&["cancel", "gala", "ann", "--unit", "A2", "--reason", "asked"]).ends(0);
    assert_eq!(said, "cancelled rank 2 of ann in gala/main, by the operator\n");
    let said = ask(&["cancel", "gala", "ann", "--hold", "h2", "--by-subject"]).ends(0);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert_eq!(ask(&["cancel", "gala", "ann", "--unit", "A9", "--by-subject"]).code, 1);
    assert_eq!(
        ask(&["cancel", "gala", "ann", "--unit", "A1", "--rank", "1", "--by-subject"]).code,
        2
    );
    // One is left, and that one is meant; sent again it is answered as at first.
    for _ in 0..2 {
        let said = ask(&["cancel", "gala", "ann", "--rank", "1", "--by-subject"]).ends(0);
        assert_eq!(said, "cancelled rank 1 of ann in gala/main, by the subject\n");
    }
}

#[test]
fn a_cancel_does_not_say_that_it_bars() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "spring", "--places", "3", "--opens", "now"]).ends(0);
    ask(&["claim", "spring", "ann"]).ends(0);
    ask(&["bar", "spring", "ann", "--reason", "sold on"]).ends(0);
    let said = ask(&["cancel", "spring", "ann", "--reason", "sold on"]).ends(0);
    // It is the bar that keeps ann out.
    assert_eq!(
        said,
        "cancelled rank 1 of ann in spring/main, by the operator; the subject is barred from this campaign\n"
    );
    ask(&["unbar", "spring", "ann"]).ends(0);
    let said = ask(&["claim", "spring", "ann"]);
    let title = "already_cancelled: The subject's claim was cancelled, and nobody may claim again";
    assert!(said.code == 1 && said.talk.contains(title), "she did not cancel: {said:?}");
}

#[test]
fn a_key_that_may_cancel_by_the_subject_only_does_nothing_else() {
    let scene = Scene::new();
    use sha2::{Digest, Sha256};
    let hash: String = Sha256::digest(BACKEND).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = format!("[[keys]]\nname = \"shop\"\nrole = \"backend\"\nsha256 = \"{hash}\"\n");
    std::fs::write(scene.path().join("firstcome.toml"), file).unwrap();
    let server = scene.serve_with(&["--config", "firstcome.toml"]);
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "3", "--opens", "now"])
        .ends(0);
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    let ask = |args: &[&str]| {
        let mut command = scene.program(args);
        command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", BACKEND);
        said(&command.output().unwrap())
    };
    let refused = ask(&["cancel", "spring", "ann", "--reason", "x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.talk.contains("hint: this key may cancel only for the subject"));
    let winners = ask(&["winners", "spring", "--format", "ndjson"]).ends(0);
    assert_eq!(winners.lines().count(), 1, "nothing was cancelled");
    ask(&["cancel", "spring", "ann", "--reason", "x", "--by-subject"]).ends(0);
    assert_eq!(ask(&["winners", "spring", "--format", "ndjson"]).ends(0), "");
}
