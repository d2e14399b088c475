//! Every example of every `--help`, typed word for word in a shell, in a fresh folder with a fresh server.
//!
//! Only what names another machine or a folder of this one is replaced, see [`Stage::as_here`]. `lock` and `elect` are
//! typed by the tests of locks.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use firstcome_testbed::RedisServer;

use crate::help::pages;
use crate::scene::{KEY, Said, Scene, Server, said};

/// What is there before the first example of a verb is typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An empty folder.
    Nothing,
    /// A server on `./firstcome-data`.
    Empty,
    /// The same, with the campaigns `spring`, `gig` with two pools, and `gala` with seats.
    Campaigns,
    /// A server with the coded campaigns `vouchers`, of which ann and bob have codes, and `bring`.
    Codes,
    /// The campaigns, with `spring` closed.
    Closed,
    /// The campaigns, two claims in `spring`, and a hold of ann's in `gala`.
    Server,
    /// The campaigns, and two servers on a Redis, one with a data folder of its own, that have them, too.
    Unclaimed,
    /// The same with claims and holds.
    Store,
    /// The same, and the server on `./firstcome-data` has ended.
    Stopped,
    /// A Redis.
    Redis,
    /// A lock that is held in a Redis.
    Lock,
}

/// An exit code, and words that stdout, or stderr after a refusal, has.
type Ends = (i32, &'static str);

/// Every verb with examples: what it needs, and how each example ends.
const VERBS: &[(&str, Before, &[Ends])] = &[
    ("demo", Before::Nothing, &[PROVED, PROVED, PROVED, OPENS, OPENS, (0, "\"kept\":true")]),
    ("serve", Before::Redis, &[SERVES, SERVES, SERVES, (0, "queue = 512")]),
    ("dev", Before::Nothing, &[SERVES, SERVES, SERVES]),
    // Servers of tests have any port.
    ("health", Before::Store, &[(2, "has port 0"), (2, "has port 0"), (0, "\"ready\"")]),
    (
        "campaign create",
        Before::Empty,
        &[
            (0, "created campaign spring"),
            (0, "created campaign gig"),
            (0, "created campaign gala"),
            (0, "created campaign queue"),
            (0, "created campaign vouchers"),
            (0, "created campaign bring"),
            (0, "created campaign summer"),
        ],
    ),
    ("campaign list", Before::Server, &[(0, "spring    open"), (0, "spring    open")]),
    ("campaign check", Before::Server, &[(0, "the settings are valid: "), (0, "\"ok\":true")]),
    (
        "campaign watch",
        Before::Server,
        &[WATCHES, (0, "498 of 500 left, 2 claims"), (0, "\"left\":498")],
    ),
    ("campaign show", Before::Server, &[(0, "498 of 500 left, last rank 2")]),
    (
        "campaign change",
        Before::Server,
        &[(0, "changed campaign spring"), (0, "version 3"), (0, "changed campaign gig")],
    ),
    ("campaign pause", Before::Server, &[(0, "paused campaign spring")]),
    ("campaign resume", Before::Server, &[(0, "campaign spring was resumed already")]),
    ("campaign close", Before::Server, &[(0, "closed campaign spring")]),
    ("campaign archive", Before::Closed, &[(0, "archived campaign spring")]),
    // Nothing has the mistyped name here.
    ("campaign delete", Before::Server, &[(1, "not_found")]),
    (
        "claim",
        Before::Server,
        &[
            (0, "ann already has rank 1"),
            (0, "\"pool\":\"balcony\""),
            (0, "eve is offered "),
            (0, "2,,dan,main,won,3,"),
        ],
    ),
    (
        "cancel",
        Before::Server,
        // The seat is only held.
        &[(0, "cancelled rank 1 of ann"), (0, "cancelled rank 2 of bob"), (1, "no_such_claim")],
    ),
    // Nobody waits: there are seats.
    ("waitlist show", Before::Server, &[(1, "not_on_waitlist"), (1, "not_on_waitlist")]),
    ("waitlist list", Before::Server, &[(0, "nobody waits in gala"), (0, "\"waiting\":[]")]),
    ("waitlist leave", Before::Server, &[(0, "ira was not waiting in gala")]),
    ("bar", Before::Server, &[(0, "ann is barred from spring since ")]),
    ("unbar", Before::Server, &[(0, "ann was not barred from spring")]),
    ("bars", Before::Server, &[(0, "\"bars\":[]")]),
    ("token", Before::Server, &[(0, "ey"), (0, "ey")]),
    (
        "hold take",
        Before::Campaigns,
        &[(0, "ann holds A1, A2 until "), (0, "bob holds A"), (0, "\"outcome\":\"held\"")],
    ),
    ("hold show", Before::Server, &[(0, "hold order-4711 of ann: live"), (0, "\"order-4711\"")]),
    ("hold add", Before::Server, &[(0, "ann holds A1, A2, A3 until "), (0, "A1, A2, A3, A")]),
    ("hold drop", Before::Server, &[(0, "ann holds A1 until ")]),
    (
        "hold extend",
        Before::Server,
        &[(0, "hold order-4711 of ann lasts until "), (0, "hold order-4711 of ann lasts until ")],
    ),
    (
        "hold confirm",
        Before::Server,
        &[(0, "ann has A1 (rank 1), A2 (rank 2)"), (0, "A1 (rank 1)"), (0, "A1 (rank 1)")],
    ),
    ("hold release", Before::Server, &[(0, "ann gave A1 back"), (0, "ann gave A1, A2 back")]),
    ("seats import", Before::Server, &[(0, "21 were there before"), (0, "imported 1 seat ")]),
    ("seats show", Before::Server, &[(0, "18 free, 2 held")]),
    (
        "seats block",
        Before::Campaigns,
        &[(0, "blocked 2 units of gala/main"), (0, "blocked 20 units of gala/main")],
    ),
    (
        "seats unblock",
        Before::Campaigns,
        &[(0, "units of gala/main, the others had this status already")],
    ),
    ("seats move", Before::Server, &[(0, "moved a hold from A1 to A4 in gala/main")]),
    (
        "seats change",
        Before::Campaigns,
        &[(0, "changed 3 seats of gala/main"), (0, "changed 1 seat of gala/main")],
    ),
    ("codes import", Before::Codes, &[(0, "imported 3 codes into bring/main"), (0, "\"added\":1")]),
    ("codes imports", Before::Codes, &[(0, "added")]),
    // Nothing was begun.
    ("codes discard", Before::Codes, &[(1, "no_such_import")]),
    (
        "codes reserve",
        Before::Codes,
        &[(0, "is reserved for order-4711 until"), (0, "\"outcome\":\"already_reserved\"")],
    ),
    ("codes redeem", Before::Codes, &[(0, "was redeemed for order-4711 at")]),
    // Neither redeemed nor reserved.
    ("codes roll-back", Before::Codes, &[(1, "not_redeemed")]),
    ("codes release", Before::Codes, &[(1, "not_reserved")]),
    ("codes look-up", Before::Codes, &[(0, "rank 1 of ann in vouchers/main"), (0, "\"codes\":[{")]),
    (
        "codes revoke",
        Before::Codes,
        &[(0, "revoked 1 code of vouchers/main"), (0, "revoked 1 code of vouchers/main")],
    ),
    ("codes suspend", Before::Codes, &[(0, "suspended 2 codes of vouchers/main")]),
    ("codes restore", Before::Codes, &[(0, "restored 0 codes of vouchers/main")]),
    ("codes reissue", Before::Codes, &[(0, "for rank 1 in vouchers/main")]),
    ("codes export", Before::Codes, &[(0, "ann"), (0, "")]),
    ("winners", Before::Server, &[(0, "subject"), (0, ""), (0, "\"winners\":[]")]),
    ("results", Before::Server, &[(0, "subject"), (0, ""), (0, "\"results\":[]"), FOLLOWS]),
    ("webhooks add", Before::Server, &[(0, "secret   whsec_"), (0, "\"secret\":\"whsec_")]),
    ("webhooks list", Before::Server, &[(0, "there are no webhooks")]),
    // Those that the examples name were never added.
    ("webhooks show", Before::Server, &[(1, "no such webhook")]),
    ("webhooks test", Before::Server, &[(1, "no such webhook")]),
    ("webhooks parked", Before::Server, &[(1, "no such webhook")]),
    ("webhooks resend", Before::Server, &[(1, "no such webhook"), (1, "no such webhook")]),
    ("webhooks rotate", Before::Server, &[(1, "no such webhook")]),
    ("webhooks disable", Before::Server, &[(1, "no such webhook")]),
    ("webhooks enable", Before::Server, &[(1, "no such webhook")]),
    ("webhooks remove", Before::Server, &[(1, "no such webhook")]),
    (
        "rehearse",
        Before::Redis,
        &[
            (0, "[ok] every promise was kept"),
            (0, "[ok] every promise was kept"),
            (0, "\"kept\":true"),
            (0, "[ok] every promise was kept"),
        ],
    ),
    (
        "audit",
        Before::Store,
        &[(0, "[ok]"), (0, "\"ok\":true"), (1, "cannot be used"), (0, "[ok]")],
    ),
    ("backup", Before::Stopped, &[(0, "has the space"), (3, "ledger")]),
    ("restore", Before::Nothing, &[(1, "cannot be used"), (1, "cannot be used")]),
    ("rush", Before::Unclaimed, &[KEPT, KEPT, KEPT, KEPT, KEPT]),
    ("journal show", Before::Store, &[(0, "claim, "), (0, "\"position\":"), (0, ""), (0, "gala")]),
    ("journal verify", Before::Store, &[(0, "are whole"), (0, "are whole")]),
    ("journal export", Before::Stopped, &[(0, "has the space"), (0, "has the space")]),
    ("journal import", Before::Nothing, &[(1, "cannot be used"), (1, "cannot be used")]),
    ("journal forget", Before::Redis, &[(3, "no mark of space")]),
    // The entry can be applied, so it is not skipped.
    ("journal skip", Before::Stopped, &[(1, "entry 4"), (1, "entry 4")]),
    ("journal raise-level", Before::Stopped, &[(0, "the space is at level 1 already")]),
    ("settle status", Before::Server, &[(0, "settled  ")]),
    ("settle rebuild", Before::Stopped, &[(0, "the ledger had results up to "), (0, " written")]),
    ("settle set-aside", Before::Stopped, &[(0, "the ledger is now called ")]),
    ("nodes", Before::Store, &[(0, "leader"), (0, "\"nodes\":[")]),
    ("nodes forks", Before::Server, &[(0, "there is no report of a fork")]),
    // Nobody is there to type yes.
    ("nodes raise-level", Before::Store, &[(2, "use --yes")]),
    ("nodes reseed", Before::Store, &[(2, "use --yes"), (0, "nothing was changed")]),
    ("locks list", Before::Lock, &[(0, "nightly-report"), (0, "\"nightly-report\"")]),
    ("locks inspect", Before::Lock, &[(0, "nightly-report is held by "), (1, "\"held\":false")]),
    ("locks release", Before::Lock, &[(0, "nightly-report was held and is free")]),
    ("locks ddl", Before::Nothing, &[(0, "psql shop"), (0, "mariadb shop")]),
    ("completions", Before::Nothing, &[(0, ""), (0, ""), (0, "")]),
    ("man", Before::Nothing, &[(0, "")]),
];

const PROVED: Ends = (0, "\nthe proofs\n[ok] ");
const KEPT: Ends = (0, "\n[ok] ");
const SERVES: Ends = (0, "listening on http://127.0.0.1:");
/// A page, which stays until it is stopped.
const OPENS: Ends = (0, "http://127.0.0.1:");
/// What goes on until it is stopped, too.
const WATCHES: Ends = (0, "spring [open] 498 left, 2 claims");
const FOLLOWS: Ends = (0, "number,kind,campaign");

const ELSEWHERE: [&str; 2] = ["lock", "elect"];

const HALL: &str = "name,section,row,number,quality,grade,price_minor,currency,capacity\n";

/// A folder, and what runs beside it.
struct Stage {
    scene: Scene,
    _redis: Option<RedisServer>,
    servers: Vec<Server>,
    store: String,
    /// Ends with the child it waits for.
    holder: Option<(std::process::Child, JoinHandle<()>)>,
}

impl Stage {
    /// `None` where a program that it needs is skipped.
    fn new(before: Before) -> Option<Self> {
        let scene = Scene::new();
        let programs = [
            ("psql", "cat > /dev/null; echo psql $*"),
            ("mariadb", "cat > /dev/null; echo mariadb $*"),
            ("make-seats", "echo '{\"name\": \"Z1\"}'"),
            ("make-codes", "echo AUTUMN-1"),
        ];
        for (name, does) in programs {
            program(scene.path(), name, does);
        }
        std::fs::write(scene.path().join("firstcome.toml"), "queue = 512\n").unwrap();
        let summer = r#"{"opens_at": "now", "pools": [{"name": "main", "capacity": 5}]}"#;
        std::fs::write(scene.path().join("summer.json"), summer).unwrap();
        std::fs::write(scene.path().join("subjects.csv"), "subject\ndan\n").unwrap();
        let codes = "code,worth\nSPRING-1,5\nSPRING-2,5\nSPRING-3,10\n";
        std::fs::write(scene.path().join("codes.csv"), codes).unwrap();
        let seats: String = (1..=20).map(|n| format!("A{n},L,1,{n},0,R,9000,EUR,\n")).collect();
        let hall = format!("{HALL}{seats}lawn,,,,,S,3000,EUR,40\n");
        std::fs::write(scene.path().join("hall.csv"), hall).unwrap();
        let has_servers = [Before::Unclaimed, Before::Store, Before::Stopped].contains(&before);
        let needs_redis = has_servers || [Before::Redis, Before::Lock].contains(&before);
        let redis = if needs_redis { Some(RedisServer::start()?) } else { None };
        let store = redis.as_ref().map_or_else(String::new, RedisServer::url);
        let mut stage = Self { scene, _redis: redis, servers: Vec::new(), store, holder: None };
        if ![Before::Nothing, Before::Redis, Before::Lock].contains(&before) {
            stage.serve(&["--data", "firstcome-data"]);
        }
        if has_servers {
            let store = stage.store.clone();
            stage.serve(&["--store", &store, "--data", "of-store"]);
            stage.serve(&["--store", &store]);
            std::fs::create_dir_all(stage.scene.path().join("of-store/archive")).unwrap();
            stage.fill(1, before);
        }
        if !stage.servers.is_empty() {
            stage.fill(0, before);
        }
        if before == Before::Lock {
            stage.hold_a_lock();
        }
        if before == Before::Stopped {
            // Killed and waited for, so that its folder is free.
            drop(stage.servers.remove(0));
        }
        Some(stage)
    }

    fn serve(&mut self, args: &[&str]) {
        let secret = [("FIRSTCOME_TOKEN_SECRET", "a-secret-for-tokens-of-these-tests-1234")];
        self.servers.push(self.scene.serve_in(args, &secret));
    }

    /// Makes what the examples are about.
    fn fill(&self, server: usize, before: Before) {
        if before == Before::Codes {
            return self.fill_codes(server);
        }
        let ask = |lines: &[&str]| {
            for line in lines {
                let args: Vec<&str> = line.split(' ').collect();
                self.servers[server].ask(&self.scene, &args).ends(0);
            }
        };
        if before == Before::Empty {
            return;
        }
        ask(&[
            "campaign create spring --places 500 --opens now",
            "campaign create gig --pool stalls=300 --pool balcony=120 --opens now",
            "campaign create gala --seated main --opens now",
            "seats import gala main hall.csv",
        ]);
        match before {
            Before::Server | Before::Store | Before::Stopped => ask(&[
                "claim spring ann",
                "claim spring bob",
                "hold take gala ann A1 A2 --id order-4711",
            ]),
            Before::Closed => ask(&["campaign close spring"]),
            Before::Nothing
            | Before::Codes
            | Before::Empty
            | Before::Campaigns
            | Before::Unclaimed
            | Before::Redis
            | Before::Lock => {}
        }
    }

    /// Makes campaigns of codes; the code of ann is in `code.txt`, that of bob in `leaked.txt`.
    fn fill_codes(&self, server: usize) {
        let ask = |line: &str| {
            let args: Vec<&str> = line.split(' ').collect();
            self.servers[server].ask(&self.scene, &args)
        };
        ask("campaign create vouchers --coded 100 --opens now").ends(0);
        ask("campaign create bring --coded-import --opens now").ends(0);
        for (subject, file) in [("ann", "code.txt"), ("bob", "leaked.txt")] {
            let won = ask(&format!("claim vouchers {subject} --json")).json();
            let code = won["code"].as_str().expect("a code is issued");
            std::fs::write(self.scene.path().join(file), format!("{code}\n")).unwrap();
        }
    }

    fn hold_a_lock(&mut self) {
        let mut command = self.scene.program(&["lock", "nightly-report", "--", "sh", "-c"]);
        command.arg("echo in; exec sleep 600").env("FIRSTCOME_STORE", &self.store);
        command.env("PATH", "/usr/bin:/bin").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        assert_eq!(first, "in\n");
        let reader =
            std::thread::spawn(move || drop(std::io::copy(&mut lines, &mut std::io::sink())));
        self.holder = Some((child, reader));
    }

    /// What stands for another machine, or for a place of this one, is replaced by what is there in a test.
    fn as_here(&self, line: &str) -> String {
        // Those of the Redis are the last two.
        let server = |from_end: usize| {
            let at = self.servers.len().checked_sub(from_end);
            at.map_or_else(String::new, |at| self.servers[at].url.clone())
        };
        line.replace("redis://10.0.0.5:6379", &self.store)
            .replace("redis://127.0.0.1:6379", &self.store)
            .replace("http://10.0.0.7:8080", &server(2))
            .replace("http://10.0.0.8:8080", &server(1))
            .replace("0.0.0.0:8080", "127.0.0.1:0")
            .replace("/var/lib/firstcome/archive", "./of-store/archive")
            .replace("/var/lib/firstcome/ledger.sqlite", "./of-store.sqlite")
            .replace("/var/lib/firstcome", "./firstcome-data")
    }

    /// A shell in the folder, where `firstcome` is found.
    fn shell(&self, line: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_firstcome")).parent().unwrap().display();
        let mut command = Command::new("/bin/sh");
        let here = self.scene.path().display();
        command.args(["-c", &self.as_here(line)]).current_dir(self.scene.path());
        command
            .env_clear()
            .env("PATH", format!("{programs}:{here}:/usr/bin:/bin"))
            .env("LANG", "C");
        command.env("TMPDIR", self.scene.path()).env("FIRSTCOME_ADMIN_KEY", KEY);
        // A server of a test listens where there is room.
        command.env("FIRSTCOME_LISTEN", "127.0.0.1:0").stdin(Stdio::null());
        if self.holder.is_some() {
            command.env("FIRSTCOME_STORE", &self.store);
        }
        command
    }

    fn type_in(&self, line: &str) -> Said {
        said(&self.shell(line).output().unwrap())
    }

    /// Starts a server and waits for its first line.
    fn starts(&self, line: &str) -> String {
        // The shell becomes the server, so that it is the server that ends.
        let line = line.replacen("firstcome ", "exec firstcome ", 1);
        let mut command = self.shell(&line);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        drop(child.kill());
        drop(child.wait());
        first
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((mut child, reader)) = self.holder.take() {
            drop(child.kill());
            drop(child.wait());
            drop(reader.join());
        }
    }
}

fn program(folder: &Path, name: &str, does: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{does}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Types the examples of the verbs that begin so.
fn type_all(first: &[&str]) {
    type_some(first, usize::MAX);
}

/// Types so many examples of each of these verbs.
fn type_some(first: &[&str], most: usize) {
    let scene = Scene::new();
    let pages = pages(&scene);
    for (verb, before, ends) in VERBS {
        if !first.contains(&verb.split(' ').next().unwrap()) {
            continue;
        }
        let page = pages.iter().find(|page| page.verb.trim() == *verb).expect(verb);
        let examples = page.examples();
        assert_eq!(examples.len(), ends.len(), "{verb}: {examples:?}");
        let Some(stage) = Stage::new(*before) else { return };
        for (example, ends) in examples.iter().zip(*ends).take(most) {
            if [SERVES, OPENS, WATCHES, FOLLOWS].contains(ends) {
                let first = stage.starts(example);
                assert!(first.starts_with(ends.1), "{example}: {first:?}");
                continue;
            }
            let said = stage.type_in(example);
            let words = if ends.0 == 0 { &said.out } else { &format!("{}{}", said.out, said.talk) };
            assert!(said.code == ends.0 && words.contains(ends.1), "{example}: {said:?}");
        }
    }
}

#[test]
fn every_verb_is_typed_somewhere() {
    let known: BTreeMap<_, _> = VERBS.iter().map(|(verb, ..)| (*verb, ())).collect();
    for page in pages(&Scene::new()) {
        let verb = page.verb.trim();
        let typed = known.contains_key(verb) || ELSEWHERE.contains(&verb);
        assert_eq!(typed, !page.examples().is_empty(), "{verb}");
    }
}

/// Verbs whose examples are loads of up to a minute.
const LOADS: [&str; 3] = ["demo", "rush", "rehearse"];

#[test]
fn the_first_examples_of_loads_do_what_they_say() {
    type_some(&LOADS, 1);
}

#[test]
#[ignore = "minutes of load: `cargo xtask nightly examples`"]
fn all_examples_of_loads_do_what_they_say() {
    type_all(&LOADS);
}

#[test]
fn the_examples_of_serve_do_what_they_say() {
    type_all(&["serve"]);
}

#[test]
fn the_examples_of_campaigns_and_claims_do_what_they_say() {
    type_all(&[
        "campaign", "claim", "cancel", "bar", "unbar", "bars", "token", "winners", "results",
    ]);
}

#[test]
fn the_examples_of_holds_and_seats_do_what_they_say() {
    type_all(&["hold", "seats"]);
}

#[test]
fn the_examples_of_codes_do_what_they_say() {
    type_all(&["codes"]);
}

#[test]
fn the_examples_of_journals_and_ledgers_do_what_they_say() {
    type_all(&["audit", "backup", "restore", "journal", "settle"]);
}

#[test]
fn the_examples_of_servers_locks_and_manuals_do_what_they_say() {
    type_all(&["health", "nodes", "webhooks", "locks", "completions", "man"]);
}
