//! Sentences about what is missing, each with what shows that it is still missing.

use std::fs;
use std::path::{Path, PathBuf};

/// What is missing: the page, the words, and a file with a text that goes when it is there.
const MISSING: &[(&str, &str, &str, &str)] = &[
    (
        "docs/how-to/install.md",
        "There are no finished downloads yet",
        "CHANGELOG.md",
        "Nothing is released yet",
    ),
    ("SECURITY.md", "There is no release yet", "CHANGELOG.md", "Nothing is released yet"),
];

/// Words of such a sentence, and those that make one together with "yet".
const SAYS_SO: [&str; 3] = ["not in this build", "not built yet", "아직 없는"];
const WITH_YET: [&str; 3] = ["there is no ", "there are no ", "does not support "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn pages(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, into);
        } else if path.extension().is_some_and(|end| end == "md") {
            into.push(path);
        }
    }
}

/// Whether a sentence says that something is missing for now.
fn is_about_something_missing(sentence: &str) -> bool {
    let sentence = sentence.to_lowercase();
    SAYS_SO.iter().any(|words| sentence.contains(words))
        || sentence.contains(" yet") && WITH_YET.iter().any(|words| sentence.contains(words))
}

#[test]
fn what_documents_say_is_missing_is_missing() {
    let root = root();
    let mut all = ["README.md", "README.ko.md", "SECURITY.md"].map(|page| root.join(page)).to_vec();
    for folder in ["docs", "crates/firstcome-lock/docs", "crates/firstcome-shedlock/docs"] {
        pages(&root.join(folder), &mut all);
    }
    let mut wrong = Vec::new();
    for path in &all {
        let page = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a page");
        let sentences =
            text.split(['.', '|', '\n']).filter(|part| is_about_something_missing(part));
        for sentence in sentences {
            let known = |row: &&(&str, &str, &str, &str)| row.0 == page && sentence.contains(row.1);
            if !MISSING.iter().any(|row| known(&row)) {
                wrong.push(format!("{page}: {}", sentence.trim()));
            }
        }
    }
    for (page, words, file, proof) in MISSING {
        let there = |path: &str, text: &str| {
            fs::read_to_string(root.join(path)).unwrap_or_default().contains(text)
        };
        if !there(page, words) {
            wrong.push(format!("{page} does not say {words:?} any more"));
        }
        if !there(file, proof) {
            wrong.push(format!("{page} says {words:?}, and {file} has no {proof:?} any more"));
        }
    }
    assert!(wrong.is_empty(), "said to be missing, and not on the list of this test:\n{wrong:#?}");
}
