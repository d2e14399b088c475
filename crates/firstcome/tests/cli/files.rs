//! `claim --file`: a line for each line, whatever happens to the server meanwhile.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::Stdio;

use crate::scene::{KEY, Said, Scene, Server, said};

fn opened(places: &str) -> (Scene, Server) {
    let scene = Scene::new();
    let server = scene.serve();
    let create = ["campaign", "create", "spring", "--places", places, "--opens", "now"];
    server.ask(&scene, &create).ends(0);
    (scene, server)
}

fn written(scene: &Scene, text: &str) {
    std::fs::write(scene.path().join("subjects.csv"), text).unwrap();
}

fn claim(scene: &Scene, server: &Server, more: &[&str]) -> Said {
    server.ask(scene, &[&["claim", "spring", "--file", "subjects.csv"], more].concat())
}

/// Returns the rows without their times.
fn rows(out: &str) -> Vec<String> {
    out.lines().map(|row| row.rsplit_once(',').unwrap().0.to_owned()).collect()
}

#[test]
fn a_file_is_claimed_in_its_order_and_a_second_run_changes_nothing() {
    let (scene, server) = opened("3");
    written(&scene, "subject,ref\nann,7\n\"b,ob\",\n+47123,\"8 \"\"x\"\"\"\n");
    let first = claim(&scene, &server, &[]);
    assert!(first.talk.contains("3 lines in ") && first.talk.contains("won 3"), "{}", first.talk);
    let expected = [
        "line,ref,subject,pool,outcome,rank",
        "2,7,ann,main,won,1",
        "3,,\"b,ob\",main,won,2",
        "4,\"8 \"\"x\"\"\",+47123,main,won,3",
    ];
    assert_eq!(rows(&first.ends(0)), expected);
    let again = claim(&scene, &server, &["--pool", "main"]);
    assert!(again.talk.contains("already_won 3"), "{}", again.talk);
    assert_eq!(rows(&again.ends(0)), expected.map(|row| row.replace(",won,", ",already_won,")));
    // A list; and one too many.
    written(&scene, "ann\n\ncem\n");
    let json = claim(&scene, &server, &["--json"]);
    let lines: Vec<serde_json::Value> =
        json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["line"], &lines[0]["rank"]), (&1.into(), &1.into()));
    assert_eq!((&lines[1]["line"], &lines[1]["outcome"]), (&3.into(), &"sold_out".into()));
    assert!(lines[1]["type"].is_string() && lines.len() == 2, "{json:?}");
    json.ends(1);
}

#[test]
fn a_wrong_line_is_named_before_anything_is_sent() {
    let (scene, server) = opened("9");
    let long = "x".repeat(300);
    written(&scene, &format!("subject,pool\nann,main\n{long},main\nbob,Main\n"));
    let refused = claim(&scene, &server, &[]);
    assert!(refused.talk.contains("subjects.csv line 3: the subject"), "{}", refused.talk);
    assert!(refused.talk.contains("subjects.csv line 4: the pool"), "{}", refused.talk);
    assert!(refused.talk.contains("2 lines are wrong; nothing was sent"), "{}", refused.talk);
    assert_eq!(refused.ends(2), "");
    written(&scene, "");
    claim(&scene, &server, &[]).ends(2);
    std::fs::remove_file(scene.path().join("subjects.csv")).unwrap();
    let missing = claim(&scene, &server, &[]);
    assert!(missing.talk.contains("cannot read subjects.csv"), "{}", missing.talk);
    missing.ends(2);
    assert_eq!(
        server.ask(&scene, &["winners", "spring", "--format", "csv"]).ends(0).lines().count(),
        1
    );
    server.ask(&scene, &["claim", "spring"]).ends(2);
    server.ask(&scene, &["claim", "spring", "ann", "--file", "x"]).ends(2);
}

#[test]
fn a_file_comes_from_standard_input_and_a_key_that_may_not_is_told() {
    let (scene, server) = opened("9");
    let piped = |key: &str| {
        let mut command = scene.program(&["claim", "spring", "--file", "-"]);
        command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", key);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"ann\nbob\n").unwrap();
        said(&child.wait_with_output().unwrap())
    };
    assert_eq!(piped(KEY).ends(0).lines().count(), 3);
    let refused = piped("a-key-that-nobody-knows");
    assert!(refused.talk.contains("unauthorized"), "{}", refused.talk);
    refused.ends(1);
}

#[test]
fn what_has_no_answer_is_sent_again_when_the_server_is_back() {
    let (scene, mut server) = opened("30000");
    let subjects: String = (1..=20_000).map(|n| format!("s{n}\n")).collect();
    written(&scene, &subjects);
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut command = scene.program(&["claim", "spring", "--file", "subjects.csv"]);
    command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..500 {
        std::io::BufRead::read_line(&mut out, &mut text).unwrap();
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let mut again = scene.program(&["serve", "--listen", &address]);
    again.env("FIRSTCOME_ADMIN_KEY", KEY).stdout(Stdio::null()).stderr(Stdio::null());
    let mut again = again.spawn().unwrap();
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    let ended = said(&child.wait_with_output().unwrap());
    again.kill().unwrap();
    again.wait().unwrap();
    assert_eq!(ended.code, 0, "{}", ended.talk);
    assert!(ended.talk.contains("lines have no answer"), "{}", ended.talk);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let ranks: BTreeSet<u32> = rows.iter().map(|row| row[5].parse().unwrap()).collect();
    let lines: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!((rows.len(), lines.len(), ranks.len()), (20_000, 20_000, 20_000));
    assert_eq!(ranks.last(), Some(&20_000), "nobody has two");
}

#[test]
fn without_a_server_nothing_changed_and_that_is_said() {
    let scene = Scene::new();
    written(&scene, "ann\nbob\n");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = scene.program(&["claim", "spring", "--file", "subjects.csv"]);
    command.env("FIRSTCOME_URL", format!("http://{nobody}")).env("FIRSTCOME_KEY", KEY);
    let said = said(&command.output().unwrap());
    assert!(said.talk.contains("0 of 2 lines were answered"), "{}", said.talk);
    assert!(said.talk.contains("run the same command again"), "{}", said.talk);
    said.ends(3);
}
