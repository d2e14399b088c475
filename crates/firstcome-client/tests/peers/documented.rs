//! The page about Rust shows code of the examples, which are compiled.

use std::fs;
use std::path::Path;

/// Returns lines without what they are indented by, empty ones left out.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_page_about_rust_shows_code_of_the_examples() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join("docs/from-rust.md")).unwrap();
    let example = |name: &str| fs::read_to_string(here.join("examples").join(name)).unwrap();
    let examples = [example("claim.rs"), example("pay.rs"), example("many.rs"), example("wait.rs")];
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 5, "{}", blocks.len());
    for block in blocks {
        let wanted = lines(block);
        let is_there = |text: &String| lines(text).windows(wanted.len()).any(|w| w == wanted);
        assert!(examples.iter().any(is_there), "in no example: {block}");
    }
}
