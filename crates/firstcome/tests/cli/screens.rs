//! What is printed fits the screen: tables, pictures and lines that move, on 80 columns and on fewer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use crate::scene::{KEY, Said, Scene, Server, said};

/// No line takes more columns than that; the texts of these tests have one column for each character.
#[track_caller]
fn fits(text: &str, most: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= most, "{} columns: {line}\n{text}", line.chars().count());
    }
}

/// A campaign with everything in it that makes a row long.
fn long_rows(scene: &Scene, server: &Server) -> String {
    let ask = |args: &[&str]| server.ask(scene, args).ends(0);
    let name = "spring-of-the-year-two-thousand-and-twenty-seven-in-seoul-korea";
    let title = "Everything that is long stands in one row of a table, and it must not wrap";
    ask(&["campaign", "create", name, "--places", "90", "--opens", "now", "--title", title]);
    let subject = format!("{}-end-of-subject", "subject-".repeat(20));
    ask(&["claim", name, &subject]);
    ask(&["cancel", name, &subject, "--reason", &"because it was asked for ".repeat(8)]);
    ask(&["campaign", "create", "gala", "--seated", "main", "--opens", "now"]);
    let seats: String =
        (1..=120).map(|n| format!("A{n},A long name of a section,1,{n}\n")).collect();
    std::fs::write(scene.path().join("hall.csv"), format!("name,section,row,number\n{seats}"))
        .unwrap();
    ask(&["seats", "import", "gala", "main", "hall.csv"]);
    subject
}

#[test]
fn every_table_fits_80_columns_and_wide_shows_all_of_it() {
    let scene = Scene::new();
    let server = scene.serve();
    let subject = long_rows(&scene, &server);
    let name = "spring-of-the-year-two-thousand-and-twenty-seven-in-seoul-korea";
    let ask = |args: &[&str]| server.ask(&scene, args);
    for verb in
        [&["results", name][..], &["campaign", "list"], &["campaign", "show", "gala"], &["nodes"]]
    {
        let said = ask(verb);
        fits(&said.out, 80);
        assert!(said.code == 0 && !said.out.contains(['│', '|', '+']), "no frames: {said:?}");
    }
    // Moments are to the second, ids short; the whole of both is there with --wide.
    let nodes = ask(&["nodes", "--json"]).json();
    let node = nodes["nodes"][0]["node"].as_str().unwrap().to_owned();
    let short = ask(&["nodes"]).ends(0);
    assert!(short.contains(&node[..8]) && !short.contains(&node), "{short}");
    assert!(ask(&["nodes", "--wide"]).ends(0).contains(&node));
    let said = ask(&["nodes"]);
    assert!(said.talk.contains("no room for ") && said.talk.contains("--wide"), "{said:?}");
    let results = ask(&["results", name]).ends(0);
    assert!(results.contains("~ ") && !results.contains(&subject), "{results}");
    let wide = ask(&["results", name, "--wide"]);
    assert!(wide.out.contains(&subject) && wide.out.contains("because it was"), "{wide:?}");
    assert_eq!(wide.talk, "", "{wide:?}");
    // Programs get everything, whatever the screen has.
    assert!(ask(&["results", name, "--format", "csv"]).ends(0).contains(&subject));
}

#[test]
fn a_screen_that_is_said_to_be_smaller_is_not_overrun() {
    let scene = Scene::new();
    let server = scene.serve();
    long_rows(&scene, &server);
    for columns in ["30", "50", "132"] {
        for verb in [&["campaign", "list"][..], &["nodes"]] {
            let mut command = scene.program(verb);
            command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
            let said = said(&command.env("COLUMNS", columns).output().unwrap());
            let table = said.out.split("\nleader ").next().unwrap().to_owned();
            fits(&table, columns.parse().unwrap());
        }
    }
}

#[test]
fn the_list_of_locks_fits_80_columns() {
    let scene = Scene::new();
    let url = format!("sqlite://{}/locks.db", scene.path().display());
    let name = "a-lock-with-a-name-that-is-as-long-as-the-names-of-locks-are-in-many-programs";
    let mut command = scene.program(&["lock", name, "--store", &url, "--", "sh", "-c"]);
    command
        .arg("firstcome locks list --store $0; firstcome locks list --wide --store $0")
        .arg(&url);
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_firstcome")).parent().unwrap();
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    let said = said(&command.output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 4, "{said:?}");
    fits(&lines[..2].join("\n"), 80);
    assert!(!lines[1].contains(name) && lines[3].contains(name), "{said:?}");
}

#[test]
fn a_look_at_locks_makes_no_file() {
    let scene = Scene::new();
    for verb in ["list", "inspect", "release"] {
        let name = if verb == "list" { &[][..] } else { &["a"] };
        let said = scene.run(&[&["locks", verb, "--store", "sqlite://nofile.db"], name].concat());
        assert!(said.code == 2 && said.talk.contains("there is no file nofile.db"), "{said:?}");
    }
    assert_eq!(std::fs::read_dir(scene.path()).unwrap().count(), 0);
}

/// Runs a line at a terminal of so many columns and lines, made by `script`; `None` where that is skipped.
fn at_a_terminal(scene: &Scene, columns: usize, lines: usize, line: &str) -> Option<Said> {
    typing(scene, (columns, lines), line, "")
}

/// The same, and what is typed goes to it.
fn typing(
    scene: &Scene,
    (columns, lines): (usize, usize),
    line: &str,
    typed: &str,
) -> Option<Said> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("script").is_file()) {
        firstcome_testbed::missing("script", "install the Debian package `bsdutils`");
        return None;
    }
    let program = env!("CARGO_BIN_EXE_firstcome");
    let line = format!("stty cols {columns} rows {lines}; exec {program} {line}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.env_clear().env("PATH", path).env("SHELL", "/bin/sh").env("TERM", "xterm");
    command.env("LANG", "C").env("TMPDIR", scene.path()).env("FIRSTCOME_KEY", KEY);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    keys.write_all(typed.as_bytes()).unwrap();
    // Kept open to the end: a terminal whose keys are gone says so.
    let ended = child.wait_with_output().unwrap();
    drop(keys);
    Some(said(&ended))
}

/// A text as a terminal shows it: colours and movements take no columns.
fn without_escapes(text: &str) -> String {
    let (mut shown, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(|letter| letter.is_ascii_alphabetic());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[test]
fn the_venue_is_drawn_in_place_on_small_terminals() {
    for (columns, lines) in [(80, 24), (46, 10)] {
        let scene = Scene::new();
        let Some(said) = at_a_terminal(&scene, columns, lines, "demo --seats 120 --seed 3") else {
            return;
        };
        assert_eq!(said.code, 0, "{said:?}");
        let (pictures, _) = said.out.split_once("sold out after").unwrap();
        // What is said between two pictures may wrap: the next one is drawn beneath it.
        for line in pictures.split("\r\n").filter(|line| line.ends_with("\u{1b}[K")) {
            let shown = without_escapes(line);
            assert!(shown.chars().count() <= columns, "{columns}: {line:?}");
        }
        // Each picture goes up by as many lines as the one before it has.
        let mut moves = 0;
        for pair in pictures.split("% paid\u{1b}[K\r\n").collect::<Vec<_>>().windows(2) {
            let [before, next] = pair else { unreachable!("windows of two") };
            let Some((_, up)) = next.split_once("\u{1b}[").filter(|(text, _)| text.is_empty())
            else {
                continue;
            };
            let up: usize = up.split('A').next().unwrap().parse().unwrap();
            let drawn = before.matches("\u{1b}[K\r\n").count() + 1;
            assert_eq!(up, drawn, "{columns}: {before:?} {next:?}");
            assert!(up < lines, "{up} lines do not fit {lines}");
            moves += 1;
        }
        assert!(moves > 10, "{moves} pictures were drawn in place: {pictures:?}");
        assert!(without_escapes(pictures).contains("100 % paid"), "{pictures:?}");
    }
}

#[test]
fn an_opening_that_is_over_is_asked_about_at_a_terminal() {
    let scene = Scene::new();
    let server = scene.serve();
    let create = |name: &str, typed: &str| {
        let line = format!("--places 1 --opens 2026-01-01T00:00:00Z --url {}", server.url);
        typing(&scene, (80, 24), &format!("campaign create {name} {line}"), typed)
    };
    let Some(said) = create("no", "no\n") else { return };
    assert!(said.code == 1 && said.out.contains("is in the past"), "{said:?}");
    assert!(
        said.out.contains("Type yes to continue: ") && said.out.contains("nothing was changed")
    );
    let Some(said) = create("meant", "yes\n") else { return };
    assert!(said.code == 0 && said.out.contains("created campaign meant"), "{said:?}");
    let list = server.ask(&scene, &["campaign", "list"]).ends(0);
    assert!(list.contains("meant  ") && !list.contains("no  "), "{list}");
}

#[test]
fn the_progress_of_a_rush_stays_in_one_line() {
    let scene = Scene::new();
    let server = scene.serve();
    for rush in [
        "--create 50 --requests 3000 --rate 1500 --connections 10",
        "--seats --create 60 --subjects 60 --rate 40 --connections 10 --late 0",
    ] {
        let line = format!("rush --url {} {rush}", server.url);
        let Some(said) = at_a_terminal(&scene, 60, 24, &line) else { return };
        assert_eq!(said.code, 0, "{said:?}");
        for line in without_escapes(&said.out).split(['\r', '\n']) {
            let status = line.contains("answered,") || line.contains("people gone");
            assert!(!status || line.chars().count() <= 60, "{line:?}");
        }
    }
}

#[test]
fn ctrl_c_in_a_rush_prints_what_was_measured() {
    for rush in [
        &["--create", "500", "--requests", "100000000", "--rate", "200"][..],
        &["--seats", "--create", "60", "--subjects", "1000000", "--rate", "20", "--late", "0"],
    ] {
        let scene = Scene::new();
        let server = scene.serve();
        let mut command = scene.program(&[&["rush", "--connections", "10"], rush].concat());
        command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
        // The first status line: it runs.
        talk.find(|line| line.as_ref().unwrap().contains(" s  ")).unwrap().unwrap();
        let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let rest: Vec<String> = talk.map(Result::unwrap).collect();
        let ended = said(&child.wait_with_output().unwrap());
        assert_eq!(ended.code, 130, "{ended:?} {rest:?}");
        assert!(rest.iter().any(|line| line.starts_with("stopping: ")), "{rest:?}");
        for words in ["requests answered in ", "time from when a request was due", "p99", "[ok] "] {
            assert!(ended.out.contains(words), "{words}: {ended:?}");
        }
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_a_server_that_is_away() {
    let scene = Scene::new();
    let server = scene.serve();
    let mut command = scene.program(&["rush", "--create", "500", "--requests", "100000000"]);
    command.args(["--rate", "200", "--connections", "10", "--patience", "10m"]);
    command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut hear = |wanted: &str| {
        talk.find(|line| line.as_ref().unwrap().contains(wanted)).expect(wanted).unwrap();
    };
    hear(" s  ");
    drop(server);
    hear("server away for ");
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    let interrupt = || rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    interrupt();
    hear("stopping: ");
    interrupt();
    hear("nothing was checked");
    let ended = said(&child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(ended.out.contains("requests answered in "), "{ended:?}");
}

#[test]
fn the_lines_of_a_server_that_starts_are_json_where_that_is_asked_for() {
    let scene = Scene::new();
    let mut command = scene.program(&["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let read = |line: std::io::Result<String>| {
        serde_json::from_str::<serde_json::Value>(&line.unwrap()).expect("a line is an object")
    };
    let mut names = Vec::new();
    for line in lines {
        let line = read(line);
        let (name, value) = line.as_object().unwrap().iter().next().unwrap();
        assert!(value.as_str().is_some_and(|value| !value.is_empty()), "{line}");
        names.push(name.clone());
        if name == "admin_key_in" {
            break;
        }
    }
    drop(child.kill());
    drop(child.wait());
    assert_eq!(
        names,
        [
            "listening_on",
            "data_folder",
            "page",
            "metrics",
            "space",
            "durability",
            "ledger",
            "admin_key_in"
        ]
    );
}
