//! The commands that pages show: each is one that there is, and one that a test runs.

mod pages;
mod program;

use pages::{Command, Page};
use program::Program;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The test that types whole pages, and the ones that type the examples of `--help`.
const TYPED: &str = "crates/firstcome/tests/cli/typed.rs";
const EXAMPLES: &str = "crates/firstcome/tests/cli/examples.rs";
const LOCK_EXAMPLES: &str = "crates/firstcome/tests/locks/examples.rs";

/// Commands in blocks of `sh` that no test of these runs, by their first words, and why not.
const NOT_RUN: &[(&str, &str)] = &[
    ("./check.sh", "`cargo xtask around` runs the checks of the clients"),
    (".ci/run", "it runs this test"),
    ("cargo build", "it was done before this test runs"),
    ("cargo test", "it was done before this test runs"),
    ("cargo xtask dist", "takes ten minutes: `cargo xtask nightly` runs it"),
    ("cargo xtask needs", "says what is installed on the machine"),
    ("cargo xtask sim", "takes minutes: `cargo xtask test` runs worlds and mistakes"),
    ("examples/spring-shop/check.sh", "`cargo xtask around` runs it"),
    ("examples/spring-shop/run.sh", "`cargo xtask around` runs it"),
    ("firstcome --version", "clap's own"),
    ("firstcome webhooks", "a receiver of its own is needed: the server's tests have one"),
    ("journalctl", "needs systemd"),
    ("mvn", "`cargo xtask around` builds the shop"),
    ("podman", "builds from nothing; `cargo xtask container --check` builds the image and runs it"),
    ("mariadb", "a client of the database; the queries of the page are run by the ledger's tests"),
    ("python3 conformance/proxy.py", "the tests of the clients start it"),
    ("psql", "a client of the database; the queries of the page are run by the ledger's tests"),
    ("sqlite3", "a client of the database; the queries of the page are run by the ledger's tests"),
    ("sudo", "needs root; `cargo xtask dist --check` installs and runs the package"),
    ("systemctl", "needs systemd"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Returns the pages that a test types from top to bottom.
fn typed_pages() -> Vec<String> {
    let text = read(TYPED);
    let named = text.split("type_page(include_str!(\"").skip(1);
    let named = named.filter_map(|rest| rest.split('"').next());
    let folder = root().join(TYPED).parent().expect("a folder").to_path_buf();
    let pages = named.map(|name| folder.join(name).canonicalize().expect("the page is there"));
    let inside = |page: PathBuf| page.strip_prefix(root()).map(|page| page.display().to_string());
    // A test compares the blocks of this one with those of README.md.
    let korean = ["README.ko.md".to_owned()];
    pages.map(|page| inside(page).expect("below the root")).chain(korean).collect()
}

/// Returns the verbs of which a test types each example that `--help` has.
fn verbs_with_typed_examples() -> BTreeSet<String> {
    let (text, locks) = (read(EXAMPLES), read(LOCK_EXAMPLES));
    let (_, table) = text.split_once("const VERBS").expect("the table of verbs");
    // The last text before the first column is the name of the verb.
    let rows: Vec<&str> = table.split("Before::").collect();
    let before = rows[..rows.len() - 1].iter();
    let names = before.filter_map(|row| row.trim_end().strip_suffix("\",")?.rsplit('"').next());
    let lock = locks.split("examples(&scene, \"").skip(1).filter_map(|rest| rest.split('"').next());
    let found: BTreeSet<String> = names.chain(lock).map(str::to_owned).collect();
    assert!(found.len() > 50, "{found:?}");
    assert!(found.contains("codes roll-back") && found.contains("elect"), "{found:?}");
    found
}

/// What is wrong with a command of the program or with a task, if anything.
fn wrong_with(command: &Command, program: &Program, tasks: &BTreeSet<String>) -> Option<String> {
    match &command.words[..] {
        [name, rest @ ..] if name == "firstcome" => program.wrong_with(rest),
        [cargo, xtask, task, ..] if cargo == "cargo" && xtask == "xtask" => {
            let name = task.starts_with(|first: char| first.is_ascii_lowercase());
            (name && !tasks.contains(task)).then(|| format!("there is no task {task}"))
        }
        _ => None,
    }
}

/// Returns the tasks that `cargo xtask` lists.
fn tasks() -> BTreeSet<String> {
    let text = read("crates/xtask/src/lib.rs");
    let (_, usage) = text.split_once("usage: cargo xtask TASK").expect("the list of tasks");
    let (usage, _) = usage.split_once("\n\";").expect("the end of the list");
    let lines = usage.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| !line.starts_with(' ')).filter_map(|l| l.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn every_verb_flag_and_task_that_a_page_shows_is_there() {
    let (program, tasks) = (Program::read(&root()), tasks());
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in Page::all(&root()) {
        for command in page.shown() {
            seen += usize::from(command.words[0] == "firstcome");
            if let Some(why) = wrong_with(&command, &program, &tasks) {
                wrong.push(format!("{}: {}: {why}", page.path, command.words.join(" ")));
            }
        }
    }
    assert!(seen > 150, "{seen} commands of the program are found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_not_there_is_noticed() {
    let program = Program::read(&root());
    let wrong = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        program.wrong_with(&words)
    };
    for right in ["codes roll-back vouchers - order-1", "nodes --url=http://a", "lock a -- b --c"] {
        assert_eq!(wrong(right), None, "{right}");
    }
    for line in
        ["claims", "claim a b --place 1", "campaign create a --wide", "codes import --from a"]
    {
        assert!(wrong(line).is_some(), "{line}");
    }
    assert_eq!(program.verb_of(&["nodes".into(), "reseed".into(), "--yes".into()]), "nodes reseed");
}

#[test]
fn every_flag_of_the_page_of_the_command_line_is_there() {
    let program = Program::read(&root());
    let page = read("docs/reference/cli.md");
    let named = page.split("--").skip(1).map(|rest| {
        rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default()
    });
    // The lines of tables are no flags.
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let named: BTreeSet<&str> = named.filter(is_name).collect();
    assert!(named.len() > 80, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !program.has_flag(name)).collect();
    assert!(missing.is_empty(), "docs/reference/cli.md has flags that no verb has: {missing:?}");
}

#[test]
fn every_command_in_a_block_of_sh_is_run_by_a_test_or_listed() {
    let (program, typed) = (Program::read(&root()), typed_pages());
    let (verbs, pages) = (verbs_with_typed_examples(), Page::all(&root()));
    assert!(typed.len() > 3, "{typed:?}");
    let of_typed = pages.iter().filter(|page| typed.contains(&page.path));
    let run: BTreeSet<String> = of_typed.flat_map(Page::typed).map(|c| c.words.join(" ")).collect();
    let (mut left, mut used) = (Vec::new(), BTreeSet::new());
    for page in pages.iter().filter(|page| !typed.contains(&page.path)) {
        for command in page.typed() {
            let line = command.words.join(" ");
            let of_help = command.words[0] == "firstcome"
                && verbs.contains(&program.verb_of(&command.words[1..]));
            let listed = NOT_RUN.iter().find(|(start, _)| line.starts_with(start));
            if let Some((start, _)) = listed {
                used.insert(*start);
            } else if !of_help && !run.contains(&line) {
                left.push(format!("{}: {line}", page.path));
            }
        }
    }
    assert!(left.is_empty(), "no test runs these, and the list does not say why: {left:#?}");
    let stale: Vec<_> = NOT_RUN.iter().filter(|(start, _)| !used.contains(start)).collect();
    assert!(stale.is_empty(), "no page shows these any more: {stale:?}");
}
