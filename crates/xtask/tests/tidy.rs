//! The habits of the tree, checked by reading it.

use firstcome_core::Outcome;
use firstcome_http::answer::Code;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines a function may have, from `fn` to its last brace: it is what somebody reads at one time.
const FUNCTION: usize = 80;

/// Functions that are longer, and how long each may be. The list may only become shorter.
const LONG_FUNCTIONS: &str = include_str!("long_functions.txt");

/// Lines a source file may have; past it there is a second subject in it.
const FILE: usize = 1_000;

/// Files that may stand in one folder of a crate's source: beyond that, folders by subject.
const SIDE_BY_SIDE: usize = 25;

/// Names that say too little for a type or a function anywhere.
const VAGUE: &[&str] = &["Misc", "Stuff"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Returns the project's own text files, with their paths from the root.
fn files(endings: &[&str]) -> Vec<(String, String)> {
    fn walk(folder: &Path, root: &Path, endings: &[&str], found: &mut Vec<(String, String)>) {
        let entries = fs::read_dir(folder).expect("a folder that can be read");
        for entry in entries.map(|entry| entry.expect("an entry that can be read")) {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
            if path.is_dir() {
                let skipped = ["target", ".git", "node_modules", "firstcome-data", "golden"];
                if !skipped.contains(&name.as_str()) {
                    walk(&path, root, endings, found);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = path.strip_prefix(root).expect("below the root");
                let text = fs::read_to_string(&path).expect("UTF-8");
                found.push((relative.to_string_lossy().into_owned(), text));
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    walk(&root, &root, endings, &mut found);
    assert!(!found.is_empty(), "nothing found below {}", root.display());
    found
}

/// Returns the name and the lines of every function of a file in the form of `rustfmt`: it ends with a brace that stands as
/// far to the right as it began.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let (lines, mut found) = (text.lines().collect::<Vec<_>>(), Vec::new());
    for (first, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let mut words = bare.split(' ').skip_while(|word| {
            ["const", "async", "unsafe", "pub"].contains(word) || word.starts_with("pub(")
        });
        let Some(name) = words.next().filter(|word| *word == "fn").and_then(|_| words.next())
        else {
            continue;
        };
        let indent = &line[..line.len() - bare.len()];
        let ends = |line: &str| {
            let rest = line.strip_prefix(indent).filter(|rest| !rest.starts_with(' '));
            rest.is_some_and(|rest| rest == "}" || rest.ends_with(';'))
        };
        if bare.ends_with('}') || bare.ends_with(';') {
            continue;
        }
        let last = lines[first..].iter().position(|line| ends(line)).unwrap_or_default();
        found.push((name.split(['(', '<']).next().unwrap_or_default(), last + 1));
    }
    found
}

#[test]
fn functions_can_be_read_at_one_time() {
    let mut allowed: Vec<(&str, &str, usize)> = Vec::new();
    for line in LONG_FUNCTIONS.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [path, name, lines] = words[..] else { panic!("{line:?} is no path, name and number") };
        allowed.push((path, name, lines.parse().expect("a number")));
    }
    let (mut wrong, mut needed) = (Vec::new(), Vec::new());
    for (path, text) in files(&[".rs"]) {
        for (name, lines) in functions(&text).into_iter().filter(|(_, lines)| *lines > FUNCTION) {
            let known = allowed.iter().find(|known| (known.0, known.1) == (path.as_str(), name));
            needed.extend(known.copied());
            let most = known.map_or(FUNCTION, |known| known.2);
            if lines > most {
                wrong.push(format!("{path}: {name} has {lines} lines, {most} are allowed"));
            }
        }
    }
    let over = allowed.iter().filter(|known| !needed.contains(known));
    wrong.extend(over.map(|(path, name, _)| {
        format!("{path}: {name} is short enough or gone: take it out of long_functions.txt")
    }));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn functions_are_counted_by_how_far_to_the_right_they_stand() {
    let text = "impl A {
    pub(crate) const fn one(&self) -> u8 {
        if self.0 {
        }
        1
    }

    fn two(
        &self,
    ) -> u8;

    async fn three<T>() {}
}

fn four(
    a: u8,
) {
}
";
    assert_eq!(functions(text), [("one", 5), ("two", 3), ("four", 4)]);
}

#[test]
fn source_files_have_one_subject() {
    let lines = |text: &str| text.lines().count();
    let all = files(&[".rs"]).into_iter().map(|(path, text)| (path, lines(&text)));
    let wrong: Vec<_> = all.filter(|(_, lines)| *lines > FILE).collect();
    assert!(wrong.is_empty(), "more than {FILE} lines: {wrong:#?}");
}

#[test]
fn what_stands_side_by_side_can_be_seen_at_a_glance() {
    let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (path, _) in files(&[".rs"]).into_iter().filter(|(path, _)| path.contains("/src/")) {
        *folders.entry(Path::new(&path).parent().unwrap_or(Path::new("")).into()).or_default() += 1;
    }
    let wrong: Vec<_> = folders.iter().filter(|(_, files)| **files > SIDE_BY_SIDE).collect();
    assert!(wrong.is_empty(), "more than {SIDE_BY_SIDE} files in one folder: {wrong:#?}");
}

#[test]
fn names_say_what_a_thing_is() {
    let shapes = ["util", "utils", "helper", "helpers", "common", "types", "misc", "manager"];
    let words = ["Manager", "Helper", "Util", "Service"];
    let mut wrong = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let stem = Path::new(&path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if shapes.contains(&stem.as_str()) || stem == "mod" {
            wrong.push(format!("{path}: named for a shape, not for its subject"));
        }
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let line = line.strip_prefix("pub").map_or(line, |rest| {
                rest.strip_prefix('(').map_or(rest, |rest| rest.split(") ").nth(1).unwrap_or(""))
            });
            let defines =
                ["struct ", "enum ", "trait ", "type ", "fn "].iter().find_map(|keyword| {
                    let name = line.trim_start().strip_prefix(keyword)?;
                    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
                });
            let bad =
                |name: &&str| VAGUE.contains(name) || words.iter().any(|word| name.ends_with(word));
            if let Some(name) = defines.filter(bad) {
                wrong.push(format!("{path}:{}: {name}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_is_left_over() {
    // Put together here so that this file does not find itself.
    let marks = [["FIX", "ME"].concat(), ["TO", "DO:"].concat(), ["XX", "X"].concat()];
    let places = ["work", "root", "home"].map(|place| format!("/{place}/"));
    let mut wrong = Vec::new();
    for (path, text) in files(&[".rs", ".md", ".toml", ".sql", ".lua", ".sh", ".yml"]) {
        for (number, line) in text.lines().enumerate() {
            for mark in marks.iter().filter(|mark| line.contains(mark.as_str())) {
                wrong.push(format!("{path}:{}: {mark}", number + 1));
            }
            // A path of somebody's machine; one inside an address is none.
            for place in &places {
                let found = line.match_indices(place.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    let after = line[at + place.len()..].chars().next();
                    !before
                        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '}' | '/' | '-'))
                        && after.is_some_and(|c| c.is_ascii_lowercase())
                });
                if found {
                    wrong.push(format!("{path}:{}: a path of a machine", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_outcome_is_documented() {
    let page = fs::read_to_string(root().join("docs/reference/http.md")).expect("the HTTP page");
    // Ticks and settle marks are the nodes' own, and no request is answered with them.
    let yes = Outcome::YES.into_iter().filter(|outcome| !["ticked", "settled"].contains(outcome));
    let outcomes: Vec<&str> = yes.chain(Code::all().map(|code| code.row().outcome)).collect();
    let missing = outcomes.iter().filter(|outcome| !page.contains(&format!("`{outcome}`")));
    let missing: Vec<&&str> = missing.collect();
    assert!(missing.is_empty(), "not in docs/reference/http.md: {missing:?}");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for (path, text) in files(&[".md"]) {
        let folder = root().join(&path).parent().expect("a folder").to_path_buf();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            if !folder.join(target).exists() {
                wrong.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A page that tells where something is tested is only as good as its names.
#[test]
fn scenarios_are_told_in_tests_that_exist() {
    let (sources, pages) = (files(&[".rs"]), files(&["SCENARIOS.md", "THREATS.md"]));
    assert_eq!(pages.len(), 2, "one page has the scenarios, one the threats");
    let is_name = |word: &&str| {
        word.matches('_').count() >= 3
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let words = pages.iter().flat_map(|(_, page)| page.split('`').skip(1).step_by(2));
    let named: Vec<&str> = words.filter(is_name).collect();
    assert!(named.len() > 70, "{named:?}");
    let missing: Vec<&str> = named
        .into_iter()
        .filter(|name| !sources.iter().any(|(_, text)| text.contains(&format!("fn {name}("))))
        .collect();
    assert!(missing.is_empty(), "no test is called {missing:#?}");
}
