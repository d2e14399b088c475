//! Tests the judge on histories made by hand: an honest one passes, and a broken promise is named.
#![expect(clippy::unwrap_used, reason = "tests and what they share fail loudly")]

mod breaks;
mod codes;
mod excuses;
mod holds;
mod honest;
mod large;
mod memory;
mod operators;
mod story;

/// The table of promises, and the histories that break them.
const TABLE: &str = include_str!("../../src/judge.rs");
const BREAKING: [&str; 7] = [
    include_str!("breaks.rs"),
    include_str!("codes.rs"),
    include_str!("excuses.rs"),
    include_str!("memory.rs"),
    include_str!("operators.rs"),
    include_str!("holds.rs"),
    include_str!("../../src/judge/events.rs"),
];

#[test]
fn every_promise_of_the_table_is_broken_by_some_history() {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
    let promises: Vec<&str> = rows.collect();
    assert!(promises.len() > 20, "{promises:?}");
    for promise in promises {
        // As what is expected, which is the first thing in its place; or in a list of cases.
        let expected = [
            format!("breaks(\"{promise}\""),
            format!("(\"{promise}\", vec!"),
            format!(", \"{promise}\")"),
            format!("\"{promise}\",\n"),
        ];
        let broken = |text: &&str| expected.iter().any(|expected| text.contains(expected));
        assert!(BREAKING.iter().any(broken), "no history breaks {promise}");
    }
}
