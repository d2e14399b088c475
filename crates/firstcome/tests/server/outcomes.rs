//! Every answer that is not a yes is given somewhere in this suite.

use firstcome_http::answer::Code;
use std::collections::BTreeSet;
use std::path::Path;

/// Answers nobody can bring about from outside, and why.
const NEVER_FROM_OUTSIDE: [(&str, &str); 7] = [
    ("level_too_low", "no command needs a second level yet: the node has a test of it"),
    ("beyond_results", "only a node's own settle mark is answered so"),
    ("tag_required", "a server that hears it asks once more, and knows the pool by then"),
    ("too_many_codes", "it takes 1,000,000 of them: the rules have a test of it"),
    ("too_many_imports", "it takes 1,000 of them: the rules have a test of it"),
    ("too_many_reissues", "it takes 1,000 of them: the rules have a test of it"),
    ("too_many_bars", "it takes 100,000 of them: the rules have a test of it"),
];

#[test]
fn every_refusal_and_failure_is_brought_about_by_some_story() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![tests.join("server"), tests.join("hostile"), tests.join("nodes")];
    let mut stories = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("outcomes.rs") {
                stories += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let expected = |outcome: &str| {
        stories.contains(&format!("refuses(\"{outcome}\""))
            || stories.contains(&format!("\"{outcome}\", \""))
            || stories.contains(&format!(", \"{outcome}\")"))
            || stories.contains(&format!(", Some(\"{outcome}\")"))
    };
    let never: BTreeSet<_> = NEVER_FROM_OUTSIDE.into_iter().map(|(outcome, _)| outcome).collect();
    let missing: Vec<_> = Code::all()
        .map(|code| code.row().outcome)
        .filter(|outcome| !never.contains(outcome) && !expected(outcome))
        .collect();
    assert_eq!(missing, [""; 0], "no story brings these about");
}
