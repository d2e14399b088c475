//! Every answer that is not a yes is given somewhere in this suite.

use firstcome_core::Refusal;
use firstcome_http::answer::Code;
use std::collections::BTreeSet;
use std::path::Path;

/// Answers nobody can bring about from outside, and why.
const NEVER_FROM_OUTSIDE: [(&str, &str); 2] = [
    ("beyond_results", "only a node's own settle mark is answered so"),
    ("too_many_bars", "it takes 100,000 of them: the rules have a test of it"),
];

/// Says whether this is a refusal about codes or waitlists: the rules have them, and no route asks for them yet.
pub(crate) fn has_no_route(code: &Code) -> bool {
    let Code::Refused(refusal) = code else { return false };
    let of_lists =
        [Refusal::NoWaitlist, Refusal::WaitlistFull, Refusal::TooManyWishes, Refusal::IsOffer];
    matches!(refusal, Refusal::Code(_)) || of_lists.contains(refusal)
}

#[test]
fn every_refusal_and_failure_is_brought_about_by_some_story() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![tests.join("server"), tests.join("hostile")];
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
    };
    let never: BTreeSet<_> = NEVER_FROM_OUTSIDE.into_iter().map(|(outcome, _)| outcome).collect();
    let missing: Vec<_> = Code::all()
        .filter(|code| !has_no_route(code))
        .map(|code| code.row().outcome)
        .filter(|outcome| !never.contains(outcome) && !expected(outcome))
        .collect();
    assert_eq!(missing, [""; 0], "no story brings these about");
}
