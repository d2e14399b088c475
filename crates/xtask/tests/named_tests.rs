//! The tests that pages name are there: a page that says what shows something must not outlive it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Collects the names of all functions and modules below a folder.
fn functions(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            functions(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            // A macro makes a test of each story for each store, in a module of the store's name.
            for before in ["fn ", "mod "] {
                let after = text.split(before).skip(1);
                let name = |rest: &str| rest.split(['(', '<', ' ', ';']).next().map(str::to_owned);
                into.extend(after.filter_map(name));
            }
        }
    }
}

fn all_functions() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    functions(&root().join("crates"), &mut all);
    all
}

/// Returns what stands in the last cells of a page's tables, with the first cell of each row.
fn last_cells(page: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| | "));
    let cells = rows.map(|row| row.trim_matches('|').split(" | ").collect::<Vec<_>>());
    let ends = cells.map(|cells| (cells[0].trim().to_owned(), cells[cells.len() - 1].to_owned()));
    ends.collect()
}

/// Returns the names in backticks that can only be those of tests: several words, joined by underscores.
fn names(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    quoted.filter(|word| word.contains('_') && word.chars().all(part)).collect()
}

#[test]
fn each_row_of_what_happens_to_a_lock_names_tests_that_are_there() {
    let all = all_functions();
    let mut missing = Vec::new();
    let rows = last_cells("crates/firstcome-lock/docs/what-happens-to-a-lock.md");
    assert!(rows.len() > 25, "the rows of the page are found");
    for (row, tests) in rows {
        let named = names(&tests);
        assert!(!named.is_empty() || tests.contains("none: "), "{row} names no test");
        missing.extend(named.into_iter().filter(|name| !all.contains(*name)).map(str::to_owned));
    }
    assert_eq!(missing, Vec::<String>::new(), "the page names tests that are not there");
}

/// Only what is as long as the name of a test can be: other words in backticks are the names of rules, files and settings.
#[test]
fn the_tests_that_the_list_of_bugs_names_are_there() {
    let all = all_functions();
    let long = |name: &&str| name.matches('_').count() >= 4;
    let rows = last_cells("docs/FOUND.md");
    let mut missing = Vec::new();
    for (_, tests) in &rows {
        let named = names(tests).into_iter().filter(long);
        missing.extend(named.filter(|name| !all.contains(*name)).map(str::to_owned));
    }
    assert!(rows.len() > 50, "the rows of the page are found");
    assert_eq!(missing, Vec::<String>::new(), "the list names tests that are not there");
}
