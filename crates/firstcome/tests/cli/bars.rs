use crate::scene::Scene;

#[test]
fn a_subject_is_barred_and_let_in_again() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "spring", "--places", "3", "--opens", "now"]).ends(0);
    assert_eq!(ask(&["bars", "spring"]).ends(0), "no subject is barred from spring\n");
    let said = ask(&["bar", "spring", "ann", "--reason", "sold on"]).ends(0);
    assert!(said.starts_with("ann is barred from spring since 20"), "{said}");
    assert!(said.ends_with("Z\n") && !said.contains('.'), "to the second: {said}");
    assert_eq!(ask(&["bar", "spring", "bob"]).code, 2, "a reason is needed");
    let said = ask(&["claim", "spring", "ann"]);
    assert!(said.code == 1 && said.talk.contains("was barred") && said.talk.contains("sold on"));
    assert!(said.talk.contains("hint: `firstcome unbar`"), "{said:?}");
    let list = ask(&["bars", "spring"]).ends(0);
    assert!(list.contains("ann") && list.contains("sold on") && list.contains("admin"), "{list}");
    assert_eq!(ask(&["bars", "spring", "--json"]).json()["bars"][0]["subject"], "ann");
    assert_eq!(
        ask(&["unbar", "spring", "ann"]).ends(0),
        "ann is not barred any more from spring\n"
    );
    assert_eq!(ask(&["unbar", "spring", "ann"]).ends(0), "ann was not barred from spring\n");
    ask(&["claim", "spring", "ann"]).ends(0);
}

#[test]
fn a_campaign_without_results_is_deleted_and_seats_are_changed() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args);
    ask(&["campaign", "create", "sprnig", "--places", "3", "--opens", "now"]).ends(0);
    assert_eq!(ask(&["campaign", "delete", "sprnig"]).ends(0), "deleted campaign sprnig\n");
    ask(&["campaign", "create", "sprnig", "--places", "3", "--opens", "now"]).ends(0);
    ask(&["claim", "sprnig", "ann"]).ends(0);
    let said = ask(&["campaign", "delete", "sprnig"]);
    assert!(said.code == 1 && said.talk.contains("has_results"), "{said:?}");
    assert!(said.talk.contains("hint: `firstcome campaign close`"), "{said:?}");
    ask(&["campaign", "close", "sprnig"]).ends(0);
    ask(&["campaign", "archive", "sprnig", "--drop-unsettled"]).ends(0);
    let said = ask(&["campaign", "create", "sprnig", "--places", "3", "--opens", "now"]);
    assert!(said.code == 1 && said.talk.contains("\"sprnig-2\" is free"), "{said:?}");

    ask(&["campaign", "create", "gala", "--seated", "main", "--opens", "now"]).ends(0);
    std::fs::write(scene.path().join("hall.csv"), "name;row\r\nA1;1\r\nA2;1\r\n").unwrap();
    ask(&["seats", "import", "gala", "main", "hall.csv"]).ends(0);
    let change = ["seats", "change", "gala", "main"];
    let said = ask(&[&change[..], &["A1", "A2", "--grade", "R", "--price", "9000EUR"]].concat());
    assert_eq!(said.ends(0), "changed 2 seats of gala/main\n");
    let said = ask(&[&change[..], &["A1", "--rename", "A01"]].concat()).ends(0);
    assert_eq!(said, "changed 1 seat of gala/main\n");
    ask(&["hold", "take", "gala", "ann", "A01"]).ends(0);
    let said = ask(&[&change[..], &["A01", "--grade", "S"]].concat());
    assert!(said.code == 1 && said.talk.contains("unit_taken"), "{said:?}");
    assert_eq!(ask(&change).code, 2);
    assert_eq!(ask(&[&change[..], &["A2"]].concat()).code, 2, "nothing to change");
    assert_eq!(ask(&[&change[..], &["A01", "A2", "--rename", "B"]].concat()).code, 2);
}
