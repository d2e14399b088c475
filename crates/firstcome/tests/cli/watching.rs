//! `campaign watch` and `results --follow`: what comes while somebody looks; and `campaign check`, before.

use crate::scene::{KEY, Scene, Server};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// A command that goes on, and the lines it prints.
struct Going {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Going {
    fn begin(scene: &Scene, server: &Server, args: &[&str]) -> Self {
        let mut command = scene.program(args);
        command
            .env("FIRSTCOME_URL", &server.url)
            .env("FIRSTCOME_KEY", KEY)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads until a line has this in it, and gives that line.
    fn until(&mut self, wanted: &str) -> String {
        let found = self.lines.by_ref().map(Result::unwrap).find(|line| line.contains(wanted));
        found.unwrap_or_else(|| panic!("it ended without {wanted:?}"))
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_campaign_is_watched_until_it_is_closed() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args).ends(0);
    ask(&["campaign", "create", "spring", "--places", "5", "--opens", "now"]);
    let mut watch = Going::begin(&scene, &server, &["campaign", "watch", "spring"]);
    watch.until("spring [open] 5 left, 0 claims");
    ask(&["claim", "spring", "ann"]);
    watch.until("spring [open] 4 left, 1 claims");
    ask(&["campaign", "pause", "spring"]);
    watch.until("spring [paused]");
    assert_eq!(server.ask(&scene, &["claim", "spring", "bob"]).code, 1);
    let once = ask(&["campaign", "watch", "spring", "--once"]);
    for part in [
        "spring  [paused]",
        "4 of 5 left, 1 claims",
        "1 in all",
        "refused by this server  1: paused 1",
        "99 of 100 within",
    ] {
        assert!(once.contains(part), "{part:?} in {once}");
    }
    let document = server.ask(&scene, &["campaign", "watch", "spring", "--once", "--json"]).json();
    assert_eq!((&document["left"], &document["state"]), (&4.into(), &"paused".into()));
    ask(&["campaign", "close", "spring"]);
    watch.until("spring [closed]");
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
    assert_eq!(server.ask(&scene, &["campaign", "watch", "none", "--once"]).code, 1);
}

#[test]
fn results_are_followed_in_each_shape_that_has_no_end() {
    let scene = Scene::new();
    let server = scene.serve();
    let ask = |args: &[&str]| server.ask(&scene, args).ends(0);
    ask(&["campaign", "create", "spring", "--places", "5", "--opens", "now"]);
    ask(&["claim", "spring", "ann"]);
    let follow = |more: &[&str]| {
        Going::begin(&scene, &server, &[&["results", "spring", "--follow"], more].concat())
    };
    let mut table = follow(&[]);
    let mut csv = follow(&["--format", "csv"]);
    let mut json = follow(&["--json"]);
    table.until("subject");
    for going in [&mut table, &mut csv, &mut json] {
        going.until("ann");
    }
    ask(&["claim", "spring", "bob"]);
    let row = table.until("bob");
    assert!(row.trim_start().starts_with("2  claim"), "{row}");
    assert!(csv.until("bob").starts_with("2,claim,spring,main,2,bob,"));
    let document: serde_json::Value = serde_json::from_str(&json.until("bob")).unwrap();
    assert_eq!((&document["number"], &document["rank"]), (&2.into(), &2.into()));
    ask(&["cancel", "spring", "ann", "--rank", "1", "--by-subject"]);
    assert!(csv.until("cancel").starts_with("3,cancel,"));
    assert_eq!(server.ask(&scene, &["results", "spring", "--follow", "--all"]).code, 2);
}

#[test]
fn who_watches_and_follows_goes_on_when_the_server_was_away() {
    let scene = Scene::new();
    let data = scene.path().join("firstcome-data");
    let data = data.to_str().unwrap();
    // The address stands in the folder: a server that was started again has another one.
    let begin = |args: &[&str], errors: &str| {
        let errors = std::fs::File::create(scene.path().join(errors)).unwrap();
        let mut command = scene.program(&[args, &["--data", data, "--timeout", "10s"]].concat());
        command.env("FIRSTCOME_KEY", KEY).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Going { child, lines }
    };
    let said = |errors: &str| std::fs::read_to_string(scene.path().join(errors)).unwrap();
    let mut server = scene.serve();
    let ask = |server: &Server, args: &[&str]| server.ask(&scene, args).ends(0);
    ask(&server, &["campaign", "create", "spring", "--places", "5", "--opens", "now"]);
    ask(&server, &["claim", "spring", "ann"]);
    let mut watch = begin(&["campaign", "watch", "spring"], "watch");
    let mut follow = begin(&["results", "spring", "--follow", "--format", "csv"], "follow");
    watch.until("spring [open] 4 left, 1 claims");
    follow.until("1,claim,spring,main,1,ann,");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    for errors in ["watch", "follow"] {
        while !said(errors).contains("asking again until there is an answer") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    let server = scene.serve();
    ask(&server, &["claim", "spring", "bob"]);
    watch.until("spring [open] 3 left, 2 claims");
    let next = follow.lines.next().unwrap().unwrap();
    assert!(
        next.starts_with("2,claim,spring,main,2,bob,"),
        "nothing twice, nothing left out: {next}"
    );
    for errors in ["watch", "follow"] {
        let said = said(errors);
        assert_eq!(said.lines().count(), 2, "it is said once: {said}");
        assert!(said.lines().last().unwrap().starts_with("there are answers again"), "{said}");
    }
    ask(&server, &["campaign", "close", "spring"]);
    watch.until("spring [closed]");
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
    // Who never had an answer is told so at once.
    drop(server);
    let said = scene.run(&["campaign", "watch", "spring", "--url", "http://127.0.0.1:1"]);
    assert_eq!(said.code, 3, "{said:?}");
}

#[test]
fn a_file_of_settings_is_checked_before_the_evening() {
    let scene = Scene::new();
    let server = scene.serve();
    let file = |text: &str| std::fs::write(scene.path().join("gig.json"), text).unwrap();
    let check =
        |more: &[&str]| server.ask(&scene, &[&["campaign", "check", "gig.json"], more].concat());
    file(
        r#"{"opens_at": "2040-03-01T10:00:00[Asia/Seoul]", "closes_at": "2040-03-02T10:00:00Z", "pools": [{"name": "main", "capacity": 500}]}"#,
    );
    let said = check(&[]).ends(0);
    for part in [
        "[ok] the settings are valid: main (counted, 500)",
        "each server may use",
        "2040-03-01 10:00:00 +09:00  Asia/Seoul",
        "2040-03-01 01:00:00 +00:00  UTC",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    let document = check(&["--json"]).json();
    assert_eq!((&document["ok"], &document["wrong"]), (&true.into(), &serde_json::json!([])));
    // Each thing that is wrong has its sentence, and nothing is created.
    for (text, why) in [
        (r#"{"pools": []}"#, "not valid"),
        (r#"{"pools": [{"name": "main", "capacity": 0}]}"#, "not valid"),
        (r#"{"place": 5}"#, "unknown field `place`"),
        (
            r#"{"opens_at": "2027-03-28T02:30:00[Europe/Berlin]", "pools": [{"name": "main", "capacity": 5}]}"#,
            "skipped or comes twice",
        ),
        (
            r#"{"opens_at": "2020-03-01T10:00:00Z", "pools": [{"name": "main", "capacity": 5}]}"#,
            "opens in the past",
        ),
        (
            r#"{"pools": [{"name": "main", "capacity": 4294967294}]}"#,
            "MiB of memory, and each server may use",
        ),
    ] {
        file(text);
        let said = check(&[]);
        assert!(
            said.code == 1 && said.out.contains("[BROKEN]") && said.out.contains(why),
            "{text}: {said:?}"
        );
    }
    let list = server.ask(&scene, &["campaign", "list", "--json"]).json();
    assert_eq!(list["campaigns"], serde_json::json!([]));
    // A service that nobody runs is found out; the port was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "[[eligibility]]\ncampaign = \"gig\"\nurl = \"http://127.0.0.1:{port}/may\"\nwhen_down = \"refuse\"\n"
    );
    std::fs::write(scene.path().join("server.toml"), config).unwrap();
    file(r#"{"pools": [{"name": "main", "capacity": 5}]}"#);
    let said = check(&["--name", "gig", "--config", "server.toml"]);
    assert!(said.code == 1 && said.out.contains("cannot be reached at 127.0.0.1"), "{said:?}");
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let said = check(&["--name", "gig", "--config", "server.toml"]).ends(0);
    assert!(said.contains("takes connections at 127.0.0.1"), "{said}");
    drop(listener);
    let said = check(&["--name", "other", "--config", "server.toml"]).ends(0);
    assert!(said.contains("no service is asked"), "{said}");
}
