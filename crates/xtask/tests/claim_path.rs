//! The path of a claim in `docs/ARCHITECTURE.md` is that of the code, and stays short.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that a claim goes through, at most.
const FILES: usize = 35;
/// Forms that it has on its way, at most.
const FORMS: usize = 14;

#[derive(Debug)]
struct Step {
    number: usize,
    file: String,
    function: String,
    form: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Returns what stands between backticks.
fn code(cell: &str) -> Option<String> {
    Some(cell.trim().strip_prefix('`')?.strip_suffix('`')?.to_owned())
}

/// Returns the rows of the table, in order.
fn steps() -> Vec<Step> {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the page is there");
    let (_, table) = page.split_once("| Step | File | Function |").expect("the table is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let step = |row: &str| {
        let cells: Vec<_> = row.trim_matches('|').split('|').collect();
        let [number, file, function, _, form] = cells[..] else { panic!("five cells: {row}") };
        Step {
            number: number.trim().parse().unwrap_or_else(|_| panic!("a number: {row}")),
            file: code(file).unwrap_or_else(|| panic!("a file: {row}")),
            function: code(function).unwrap_or_else(|| panic!("a function: {row}")),
            form: code(form),
        }
    };
    rows.map(step).collect()
}

#[test]
fn each_step_of_a_claim_is_a_function_of_its_file() {
    let steps = steps();
    for (row, step) in steps.iter().enumerate() {
        let Step { number, file, function, .. } = step;
        assert_eq!(*number, row + 1, "steps are numbered in order");
        let (name, path) = file.split_once('/').expect("a file is in a crate");
        let path = root().join(format!("crates/firstcome-{name}/src/{path}"));
        let source = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path:?}: {why}"));
        let defines = ["fn ", "struct "].iter().any(|kind| {
            let begins = |rest: &str| rest.starts_with(['(', '<', ' ']);
            let named = format!("{kind}{function}");
            source.match_indices(&named).any(|(at, _)| begins(&source[at + named.len()..]))
        });
        assert!(defines, "step {number}: {file} defines no {function}");
    }
}

#[test]
fn a_claim_goes_through_few_files_and_has_few_forms() {
    let steps = steps();
    let files: BTreeSet<_> = steps.iter().map(|step| &step.file).collect();
    assert!(files.len() <= FILES, "{} files, at most {FILES}", files.len());
    let forms: Vec<_> = steps.iter().filter_map(|step| step.form.as_ref()).collect();
    assert!(forms.len() <= FORMS, "{} forms, at most {FORMS}: {forms:?}", forms.len());
}
