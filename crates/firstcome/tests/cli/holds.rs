//! Holds by their ids, as an operator types them.

use crate::scene::{Scene, Server};

const HALL: &str = "name,section,row,number,grade\nA1,L,1,1,R\nA2,L,1,2,R\nA3,L,1,3,R\n";

/// A row of five: two of its seats leave one between them and its end.
const FIVE: &str = "name,section,row,number\nA1,L,1,1\nA2,L,1,2\nA3,L,1,3\nA4,L,1,4\nA5,L,1,5\n";

fn hall(scene: &Scene, server: &Server, campaigns: &[&str]) {
    std::fs::write(scene.path().join("hall.csv"), HALL).unwrap();
    for name in campaigns {
        server
            .ask(scene, &["campaign", "create", name, "--seated", "main", "--opens", "now"])
            .ends(0);
        server.ask(scene, &["seats", "import", name, "main", "hall.csv"]).ends(0);
    }
}

#[test]
fn the_id_of_a_hold_is_enough() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    hall(&scene, &server, &["gala", "gig"]);
    ask("hold take gala ann A1 A2 A3 --id h1").ends(0);
    assert!(ask("hold show h1").ends(0).starts_with("hold h1 of ann: live, until 2"));
    assert!(ask("hold extend h1 --for 9m").ends(0).starts_with("hold h1 of ann lasts until "));
    assert!(ask("hold release gala h1 A3").ends(0).starts_with("ann gave A3 back"));
    assert!(ask("hold add gala h1 A3").ends(0).starts_with("ann holds A1, A2, A3 "));
    assert_eq!(ask("hold confirm h1").ends(0), "ann has A1 (rank 1), A2 (rank 2), A3 (rank 3)\n");
    // A confirm that is sent again is answered as before.
    assert_eq!(ask("hold confirm h1").ends(0), "ann has A1 (rank 1), A2 (rank 2), A3 (rank 3)\n");

    let said = ask("hold show h9");
    assert!(said.code == 1 && said.talk.contains("no campaign has a hold h9"), "{said:?}");
    ask("hold take gig bob A1 A2 A3 --id h1").ends(0);
    let said = ask("hold release h1");
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.talk.contains("2 campaigns have a hold h1: gala, gig"), "{said:?}");
    assert!(ask("hold release gig h1").ends(0).starts_with("bob gave A1, A2, A3 back"));
}

#[test]
fn the_subject_may_stand_where_it_stood_before_and_another_one_is_refused() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    hall(&scene, &server, &["gala"]);
    ask("hold take gala ann A1 A2 A3 --id h1").ends(0);
    for verb in ["show", "extend", "confirm", "release"] {
        let said = ask(&format!("hold {verb} gala h1 --subject bob"));
        assert!(said.code == 1 && said.talk.contains("not_yours"), "{verb}: {said:?}");
    }
    let said = ask("hold extend gala h1 bob");
    assert!(said.code == 1 && said.talk.contains("not_yours"), "{said:?}");
    // What is neither the subject nor a seat of the hold makes nothing happen.
    let said = ask("hold confirm gala h1 bob");
    assert!(said.code == 1 && said.talk.contains("bob"), "{said:?}");
    ask("hold extend gala h1 ann").ends(0);
    assert!(ask("hold release gala h1 ann A3").ends(0).starts_with("ann gave A3 back"));
    assert!(ask("hold confirm gala h1 ann").ends(0).starts_with("ann has A1 (rank 1), A2"));
}

#[test]
fn an_extension_that_is_cut_says_so() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    hall(&scene, &server, &["gala"]);
    ask("hold take gala ann A1 A2 A3 --id h1").ends(0);
    let said = ask("hold extend h1 --for 10m");
    assert!(said.code == 0 && !said.talk.contains("note:"), "{said:?}");
    let said = ask("hold extend h1 --for 1h");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.talk.contains("in gala a hold lasts at most 30m in all"), "{said:?}");
    let said = ask("hold extend h1 --for 2d");
    assert!(said.code == 2 && said.talk.contains("must be 1ms to 1d"), "{said:?}");
}

#[test]
fn a_refusal_names_the_seats() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |line: &str| server.ask(&scene, &line.split(' ').collect::<Vec<_>>());
    ask("campaign create gala --seated main --opens now").ends(0);
    std::fs::write(scene.path().join("hall.csv"), FIVE).unwrap();
    ask("seats import gala main hall.csv").ends(0);
    let refused = |line: &str, sentence: &str| {
        let said = ask(line);
        assert!(said.code == 1 && said.talk.contains(sentence), "{line}: {said:?}");
    };
    refused("hold take gala ann A1 A9", "no_such_unit: there is no seat, area or group called A9");
    refused("hold take gala ann A2 A3", "orphan_left: a single free seat would be left: A1");
    ask("hold take gala ann A1 A2").ends(0);
    refused("hold take gala bob A1 A2", "unit_taken: somebody has A1, A2");
}
