//! README.md and the tutorials, typed from top to bottom: every command as it stands there, in a fresh folder, and what it
//! should print.
//!
//! A block of `sh` is typed; one of `java` is written to the file that its first line names. The block right after is what
//! has to come on stdout: `text`, `json` or `csv` as they stand, with digests and times masked, those to the second apart
//! from exact ones; in a block of `text like` each line has to come in this order, numbers masked, and others may stand
//! between them. What the test changes: ports are free ones, and `cargo` is this build.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;

use crate::scene::{Scene, said};

/// What stands in for cargo: its answers are this build's.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
"run --release -- "*) shift 3; exec firstcome "$@" ;;
"install --path crates/firstcome --locked") ;;
"xtask test") ;;
*) echo "README says cargo $*, which the test does not know" >&2; exit 64 ;;
esac
"#;
const PATIENCE: Duration = Duration::from_secs(60);

struct Block<'t> {
    kind: &'t str,
    text: String,
    /// Whether only blank lines stand between the block before it and this one.
    follows: bool,
}

/// Returns the fenced blocks of a text.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut open, mut follows) = (Vec::new(), None, false);
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(kind), None) => open = Some(Block { kind, text: String::new(), follows }),
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                follows = true;
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => follows &= line.is_empty(),
        }
    }
    blocks
}

/// A server that a block starts; it ends with the test, and its group with it.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        drop(self.0.wait());
    }
}

/// What README's commands are typed in: a folder, a path with this build, and the ports that stand for README's.
struct Shell {
    scene: Scene,
    ports: Vec<(&'static str, String)>,
    serving: Vec<Serving>,
}

impl Shell {
    fn new(redis: u16) -> Self {
        let scene = Scene::new();
        let (bin, cargo) = (scene.path().join("bin"), scene.path().join("bin/cargo"));
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(&cargo, CARGO).unwrap();
        std::fs::set_permissions(cargo, PermissionsExt::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_firstcome"), bin.join("firstcome")).unwrap();
        let free = || format!(":{}", firstcome_testbed::free_port());
        let ports = vec![
            (":8080", free()),
            (":8081", free()),
            (":8082", free()),
            (":6379", format!(":{redis}")),
        ];
        Self { scene, ports, serving: Vec::new() }
    }

    /// Returns a text with this test's ports.
    fn here(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    fn bash(&self, text: &str) -> Command {
        let mut bash = Command::new("bash");
        let others = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{others}", self.scene.path().join("bin").display());
        bash.env_clear().env("PATH", path).env("LANG", "C.UTF-8").env("TMPDIR", self.scene.path());
        bash.env("HOME", self.scene.path()).env("FIRSTCOME_LISTEN", self.here("127.0.0.1:8080"));
        bash.current_dir(self.scene.path()).args(["-c", &self.here(text)]).stdin(Stdio::null());
        bash
    }

    /// Starts a server as a block says, and waits until it says that it listens.
    fn serve(&mut self, text: &str) {
        let out = self.scene.path().join(format!("serving-{}", self.serving.len()));
        let mut bash = self.bash(text);
        bash.stdout(std::fs::File::create(&out).unwrap()).stderr(Stdio::null()).process_group(0);
        self.serving.push(Serving(bash.spawn().unwrap()));
        let began = Instant::now();
        let wanted = text.lines().filter(|line| line.starts_with("firstcome serve")).count();
        while read(&out).matches("listening on").count() < wanted {
            assert!(began.elapsed() < PATIENCE, "{text} has not said that it listens");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    std::fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Puts a word in place of what differs from run to run.
fn masked(text: &str, numbers: bool) -> Vec<String> {
    let mask = |text: &str, what: &str, word: &str| {
        Regex::new(what).unwrap().replace_all(text, word).into_owned()
    };
    let text = mask(text, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME");
    let text = mask(&text, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "EXACT_TIME");
    let text = mask(&text, r"\b[0-9a-f]{16}\b", "DIGEST");
    let text = mask(&text, r"127\.0\.0\.1:\d+", "ADDRESS");
    // Results are settled meanwhile, which is an entry of its own.
    let text = mask(&text, r#""position":"[0-9.]+""#, "POSITION");
    let text = if numbers { mask(&text, r"\d+(\.\d+)?", "N") } else { text };
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Says whether what came is what should.
fn is_like(came: &str, should: &Block<'_>) -> bool {
    if should.kind != "text like" {
        return masked(came, false) == masked(&should.text, false);
    }
    let came = masked(came, true);
    let mut rest = came.iter();
    masked(&should.text, true)
        .iter()
        .filter(|line| !line.is_empty() && *line != "…")
        .all(|line| rest.any(|came| came == line))
}

/// Types a page, and looks that it has at least so many blocks to type.
fn type_page(page: &str, at_least: usize) {
    let Some(redis) = firstcome_testbed::RedisServer::start() else { return };
    let mut shell = Shell::new(redis.port());
    let blocks = blocks(page);
    let mut typed = 0;
    for (at, block) in blocks.iter().enumerate() {
        if let ("java", Some(name)) = (block.kind, block.text.lines().next()) {
            let file = shell.scene.path().join(name.trim_start_matches("// "));
            std::fs::write(file, shell.here(&block.text)).unwrap();
        }
        if block.kind != "sh" {
            continue;
        }
        typed += 1;
        if block.text.lines().any(|line| line.starts_with("firstcome serve")) {
            // A chapter with servers of its own has a folder of its own.
            if !shell.serving.is_empty() {
                shell = Shell::new(redis.port());
            }
            shell.serve(&block.text);
            continue;
        }
        let said = said(&shell.bash(&block.text).output().unwrap());
        let should = blocks.get(at + 1).filter(|next| next.follows && next.kind != "sh");
        if let Some(should) = should {
            assert!(
                is_like(&said.out, should),
                "the page says\n{}\nprints\n{}\nand it prints\n{}\nand says\n{}",
                block.text,
                should.text,
                said.out,
                said.talk
            );
        }
        assert_eq!(said.code, 0, "{} ends with\n{said:?}", block.text);
    }
    assert!(typed >= at_least, "the page has {typed} blocks to type");
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    type_page(include_str!("../../../../README.md"), 11);
}

#[test]
fn the_korean_readme_has_the_same_blocks() {
    let english = include_str!("../../../../README.md");
    let korean = include_str!("../../../../README.ko.md");
    let typed = |page| -> Vec<String> {
        let blocks = blocks(page).into_iter();
        blocks.filter(|block| block.kind == "sh").map(|block| block.text).collect()
    };
    assert_eq!(typed(english), typed(korean));
}

#[test]
fn every_command_of_the_tutorial_of_seats_does_what_it_says() {
    type_page(include_str!("../../../../docs/tutorials/seats-with-payment.md"), 11);
}

#[test]
fn every_command_of_the_tutorial_of_a_redisson_lock_does_what_it_says() {
    if Command::new("java").arg("-version").stderr(Stdio::null()).status().is_err() {
        firstcome_testbed::missing("java", "install the Debian package `openjdk-17-jdk-headless`");
        return;
    }
    type_page(include_str!("../../../firstcome-lock/docs/from-a-redisson-lock.md"), 6);
}
