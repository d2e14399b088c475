//! What `--help` says: it fits 80 columns, each example is of its own verb, and shells and manuals have the same.

use crate::scene::Scene;

/// The help of one verb.
pub(crate) struct Page {
    /// The words of the verb, such as `hold take`; none for the program itself.
    pub(crate) verb: String,
    text: String,
}

impl Page {
    /// The verbs under this one.
    fn verbs(&self) -> Vec<String> {
        let Some((_, list)) = self.text.split_once("\nCommands:\n") else { return Vec::new() };
        let lines = list.lines().take_while(|line| !line.is_empty());
        let named = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        named.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
    }

    /// Its examples as they are typed: a backslash at the end of a line goes with it.
    pub(crate) fn examples(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if line == "Examples:" || line == "Example:" {
                let block: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
                let block = block.join("\n");
                // Lines that go on are indented more.
                for line in block.replace("\\\n", "\\\u{0}").lines() {
                    all.push(line.trim().replace('\u{0}', "\n"));
                }
            }
        }
        all
    }
}

/// The help of the program, and of every verb that it names.
pub(crate) fn pages(scene: &Scene) -> Vec<Page> {
    let (mut found, mut left) = (Vec::new(), vec![String::new()]);
    while let Some(verb) = left.pop() {
        let args: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
        let text = scene.run(&args).ends(0);
        let page = Page { verb, text };
        left.extend(page.verbs().iter().map(|name| format!("{} {name}", page.verb)));
        found.push(page);
    }
    assert!(found.len() > 40, "{} pages", found.len());
    found
}

#[test]
fn every_help_fits_80_columns_whatever_the_terminal_has() {
    let scene = Scene::new();
    for page in pages(&scene) {
        for line in page.text.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", page.verb);
        }
        let args: Vec<&str> = page.verb.split_whitespace().chain(["--help"]).collect();
        let mut narrow = scene.program(&args);
        let narrow = crate::scene::said(&narrow.env("COLUMNS", "40").output().unwrap()).ends(0);
        assert_eq!(narrow, page.text, "an example that is broken cannot be pasted");
    }
}

#[test]
fn every_verb_has_examples_of_its_own() {
    let scene = Scene::new();
    for page in pages(&scene).iter().filter(|page| page.verbs().is_empty()) {
        let examples = page.examples();
        assert!(!examples.is_empty(), "{} has no example", page.verb);
        for example in examples {
            let own = format!("firstcome{} ", page.verb);
            assert!(format!("{example} ").contains(&own), "{}: {example}", page.verb);
        }
    }
}

#[test]
fn the_options_of_serve_stand_in_groups_and_keys_say_their_variable() {
    let scene = Scene::new();
    let help = scene.run(&["serve", "--help"]).ends(0);
    for group in
        ["Data and store:", "Addresses:", "Ledger and journal:", "Limits:", "Times:", "Log:"]
    {
        assert_eq!(help.matches(&format!("\n{group}\n")).count(), 1, "{group}");
    }
    let ungrouped = help.split_once("\nOptions:\n").unwrap().1.split("\n\n").next().unwrap();
    let options = ungrouped.lines().filter(|line| line.trim_start().starts_with('-')).count();
    assert_eq!(options, 5, "--config, --print-config, --verbose, --json, --help: {ungrouped}");
    let help = scene.run(&["claim", "--help"]).ends(0);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[env: FIRSTCOME_KEY]"), "{help}");
}

#[test]
fn shells_and_manuals_know_every_verb() {
    let scene = Scene::new();
    let pages = pages(&scene);
    scene.run(&["man", "--out", "manual/man1"]).ends(0);
    for page in &pages {
        let name = format!("firstcome{}", page.verb.replace(' ', "-"));
        let path = scene.path().join(format!("manual/man1/{name}.1"));
        let manual = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(manual.contains(".SH NAME"), "{name}: {manual}");
    }
    let hidden = scene.path().join("manual/man1/firstcome-stand-beside.1");
    assert!(!hidden.exists(), "a verb that nobody types has no page");
    for shell in ["bash", "zsh", "fish"] {
        let script = scene.run(&["completions", shell]).ends(0);
        for word in ["campaign", "raise-level", "drop-unsettled"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(scene.run(&["completions", "tcsh"]).code, 2);
    std::fs::write(scene.path().join("file"), "").unwrap();
    let said = scene.run(&["man", "--out", "file/man1"]);
    assert!(said.code == 3 && said.talk.contains("cannot write man pages"), "{said:?}");
}

#[test]
fn bash_takes_the_completions() {
    let scene = Scene::new();
    let script = scene.run(&["completions", "bash"]).ends(0);
    std::fs::write(scene.path().join("firstcome.bash"), script).unwrap();
    let ask = "source ./firstcome.bash; COMP_WORDS=(firstcome camp); COMP_CWORD=1; \
               _firstcome firstcome camp firstcome; echo ${COMPREPLY[*]}";
    let mut bash = std::process::Command::new("bash");
    let said = bash.args(["-c", ask]).current_dir(scene.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "campaign\n", "{said:?}");
}
