//! What `--help` gives as examples, run as it stands there.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use firstcome_testbed::Folder;
use rustix::process::Signal;

use crate::scene::{Scene, Shell, program, said};

/// Returns the examples in the help of a verb, for the store of `scene`.
fn examples(scene: &Scene, verb: &str) -> Vec<String> {
    let help = said(&program(&[verb, "--help"]).output().unwrap()).ends(0);
    let (_, examples) = help.split_once("Examples:").unwrap();
    // A line that ends with a backslash goes on in the next one.
    let examples = examples.replace("\\\n", "");
    let lines = examples.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.replace("redis://127.0.0.1:6379", &scene.redis.url())).collect()
}

/// Makes the programs that the examples run; each says its name, its words, and whether it has a fence.
fn folder_of(names: &[&str]) -> Folder {
    let folder = Folder::new("examples");
    for name in names {
        let path = folder.path().join(name);
        std::fs::write(&path, "#!/bin/sh\necho $0 $* ${FIRSTCOME_FENCE:+fenced}\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    folder
}

/// Starts a line in a shell.
fn shell(scene: &Scene, folder: &Path, line: &str) -> Shell {
    let programs = Path::new(env!("CARGO_BIN_EXE_firstcome")).parent().unwrap().display();
    let mut command = Command::new("/bin/sh");
    command.env_clear().env("PATH", format!("{programs}:/usr/bin:/bin"));
    command.env("FIRSTCOME_STORE", scene.redis.url()).current_dir(folder);
    Shell::of(command.args(["-c", line]).stdin(Stdio::null()))
}

#[test]
fn the_examples_of_lock_do_what_they_say() {
    let Some(scene) = Scene::new() else { return };
    let folder = folder_of(&["report.sh", "deploy.sh", "import", "encode.sh"]);
    let [report, deploy, import, encode] = &examples(&scene, "lock")[..] else { panic!("four") };
    let fenced = [(report, "report"), (deploy, "deploy"), (encode, "encode")];
    for (line, says) in fenced.map(|(line, name)| (line, format!("./{name}.sh fenced"))) {
        assert_eq!(shell(&scene, folder.path(), line).end().ends(0), says);
    }
    let said = shell(&scene, folder.path(), import).end().ends(0);
    let fence =
        said.strip_prefix("./import --fence ").and_then(|rest| rest.strip_suffix(" fenced"));
    assert!(fence.is_some_and(|fence| fence.parse::<u64>().is_ok()), "{said}");
    // In two shells at once.
    let mut other = scene.start(&["lock", "deploy", "--", "sh", "-c", "echo in; exec sleep 600"]);
    assert_eq!(other.line(), "in");
    assert_eq!(shell(&scene, folder.path(), deploy).end().ends(0), "somebody else deploys");
}

#[test]
fn the_examples_of_elect_do_what_they_say() {
    let Some(scene) = Scene::new() else { return };
    let folder = folder_of(&["scheduler", "settle-one-batch", "mailer"]);
    let [scheduler, settle, mailer] = &examples(&scene, "elect")[..] else { panic!("three") };
    assert_eq!(shell(&scene, folder.path(), scheduler).end().ends(0), "./scheduler fenced");
    let said = shell(&scene, folder.path(), mailer).end().ends(0);
    let (term, mailer) = said.split_once('\n').unwrap();
    assert!(term.starts_with("term ") && term[5..].parse::<u64>().is_ok(), "{term}");
    assert_eq!(mailer, "./mailer fenced");
    // Again and again in one shell; in another one nothing, until the first has ended.
    let every = format!("exec {settle}");
    let mut first = shell(&scene, folder.path(), &every);
    assert_eq!(first.line(), "./settle-one-batch fenced");
    let mut second = shell(&scene, folder.path(), &every);
    assert_eq!(first.line(), "./settle-one-batch fenced");
    first.tell(Signal::TERM);
    let first = first.end();
    assert!([0, 128 + 15].contains(&first.code), "{first:?}");
    assert_eq!(second.line(), "./settle-one-batch fenced");
    second.tell(Signal::TERM);
    second.end();
}

#[test]
fn an_error_of_this_program_is_a_document_too() {
    let Some(scene) = Scene::new() else { return };
    let mut holder = scene.start(&["lock", "a", "--", "sh", "-c", "echo in; exec sleep 600"]);
    assert_eq!(holder.line(), "in");
    let refused = scene.run(&["lock", "a", "--wait", "0s", "--json", "--", "true"]);
    assert_eq!(refused.json()["changed"], "no", "{refused:?}");
    refused.complains(120, "a is held by ", "locks inspect a");
    assert_eq!(scene.run(&["lock", "b", "--json", "--", "echo", "plain"]).ends(0), "plain");
}
