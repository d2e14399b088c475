//! Every answer that is not a yes is given somewhere in this suite.

use firstcome_api::answer::Code;
use std::collections::BTreeSet;
use std::path::Path;

/// Answers nobody can bring about from outside, and why.
const NEVER_FROM_OUTSIDE: [(&str, &str); 3] = [
    ("beyond_results", "only a node's own settle mark is answered so"),
    (
        "level_too_low",
        "no route asks for what only a newer level has; `levels.rs` of firstcome-node tells it",
    ),
    (
        "level_not_read",
        "it takes a server of an older build; `levels.rs` of firstcome-node has one",
    ),
];

#[test]
fn every_refusal_and_failure_is_brought_about_by_some_story() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut stories = String::new();
    let folders = ["server", "hostile"].map(|folder| std::fs::read_dir(tests.join(folder)));
    for entry in folders.into_iter().flat_map(Result::unwrap) {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("outcomes.rs") {
            stories += &std::fs::read_to_string(path).unwrap();
        }
    }
    let expected = |outcome: &str| {
        stories.contains(&format!("refuses(\"{outcome}\""))
            || stories.contains(&format!("\"{outcome}\", \""))
            || stories.contains(&format!(", \"{outcome}\")"))
    };
    let never: BTreeSet<_> = NEVER_FROM_OUTSIDE.into_iter().map(|(outcome, _)| outcome).collect();
    let missing: Vec<_> = Code::all()
        .map(|code| code.row().outcome)
        .filter(|outcome| !never.contains(outcome) && !expected(outcome))
        .collect();
    assert_eq!(missing, [""; 0], "no story brings these about");
}
