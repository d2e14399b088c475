use crate::scene::{Scene, said};

#[test]
fn every_value_tells_where_it_came_from() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("mine.toml"), "queue = 5\nidle_ms = 6\nspace = \"east\"\n")
        .unwrap();
    let mut command =
        scene.program(&["serve", "--config", "mine.toml", "--print-config", "--queue", "9"]);
    command.env("FIRSTCOME_IDLE_MS", "8").env("FIRSTCOME_ADMIN_KEY", "a-secret-of-mine-1234");
    let page = said(&command.output().unwrap()).ends(0);
    let line = |key: &str| {
        let line = page
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_else(|| panic!("{key}: {page}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("queue"), "queue = 9 # flag --queue");
    assert_eq!(line("idle_ms"), "idle_ms = 8 # environment FIRSTCOME_IDLE_MS");
    assert_eq!(line("space"), "space = \"east\" # mine.toml:3");
    assert_eq!(line("listen"), "listen = \"127.0.0.1:8080\" # default");
    assert_eq!(
        line("# admin_key"),
        "# admin_key: given, not shown # environment FIRSTCOME_ADMIN_KEY"
    );
    assert!(!page.contains("a-secret-of-mine"));
    assert!(!scene.path().join("firstcome-data").exists(), "printing must not make anything");
}

#[test]
fn a_slip_in_the_file_is_named_with_its_line() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("mine.toml"), "queue = 5\nlissen = \"x\"\n").unwrap();
    let said = scene.run(&["serve", "--config", "mine.toml"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(
        said.talk,
        "error: mine.toml:2: unknown setting `lissen`\nhint: did you mean `listen`?\n"
    );
    let said = scene.run(&["serve", "--store", "mongodb://db"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.talk.contains("names a `mongodb` store: this build knows redis://"), "{said:?}");
}

#[test]
fn the_command_line_explains_itself() {
    let scene = Scene::new();
    let help = scene.run(&["--help"]).ends(0);
    for verb in [
        "demo", "serve", "campaign", "claim", "cancel", "results", "audit", "rush", "journal",
        "nodes",
    ] {
        assert!(help.contains(&format!("  {verb} ")), "{verb}: {help}");
    }
    for code in [
        "  0    success",
        "  1    refused",
        "  2    the command line",
        "  3    no answer, and nothing",
    ] {
        assert!(help.contains(code), "{code}: {help}");
    }
    assert!(
        scene
            .run(&["rush", "--help"])
            .ends(0)
            .contains("If a promise is broken, the exit code is 1")
    );
    assert_eq!(scene.run(&["clam", "spring", "ann"]).code, 2);
    assert_eq!(
        scene.run(&["campaign", "create", "spring"]).code,
        2,
        "places, a pool or a file is needed"
    );
}
