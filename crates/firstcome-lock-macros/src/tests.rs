//! Tests of what is refused: the message, and the span it points to.

use proc_macro2::TokenStream;

use crate::expand::try_locked;

const GOOD: &str =
    "async fn pay(locks: &Locks, order: &Order) -> Result<(), LockedError> { Ok(()) }";

/// Expands, and gives the message of the mistake and the words it points at.
#[track_caller]
fn mistake(options: &str, function: &str) -> (String, String) {
    let read = |text: &str| text.parse::<TokenStream>().expect("tokens");
    let error = try_locked(read(options), read(function)).expect_err("a mistake");
    (error.to_string(), error.span().source_text().unwrap_or_default())
}

#[track_caller]
fn points_at(options: &str, function: &str, words: &str, message: &str) {
    let (said, at) = mistake(options, function);
    assert_eq!(at, words, "{said}");
    assert!(said.contains(message), "{said:?} has no {message:?}");
}

#[test]
fn an_unknown_argument_is_pointed_at_and_the_known_ones_are_named() {
    let key = r#""order:{oder.id}""#;
    points_at(&format!("key = {key}"), GOOD, key, "no argument `oder`");
    points_at(&format!("key = {key}"), GOOD, key, "there are `locks`, `order`");
    let alone = "async fn pay() -> Result<(), LockedError> { Ok(()) }";
    points_at(r#"key = "{self.name}", locks = LOCKS"#, alone, r#""{self.name}""#, "none at all");
}

#[test]
fn a_key_that_cannot_be_read_is_pointed_at() {
    for (key, message) in [
        (r#""order:{order""#, "without its `}`"),
        (r#""order:order}""#, "without its `{`"),
        (r#""order:{}""#, "write its name"),
        (r#""order:{order.id + 1}""#, "write its name"),
        (r#""order:{order:>8}""#, "write its name"),
        (r#""""#, "is empty"),
    ] {
        points_at(&format!("key = {key}"), GOOD, key, message);
    }
    let (said, _) = mistake("lease = \"8m\"", GOOD);
    assert!(said.contains("needs a name"), "{said}");
}

#[test]
fn a_bad_duration_is_pointed_at() {
    for (lease, message) in [
        (r#""8 minutes""#, "number with a unit"),
        (r#""8""#, "number with a unit"),
        (r#""m""#, "number with a unit"),
        (r#""-3s""#, "number with a unit"),
        (r#""49ms""#, "at least 50ms"),
        (r#""36526d""#, "a hundred years"),
        (r#""99999999999999999999d""#, "a hundred years"),
    ] {
        points_at(&format!(r#"key = "a", lease = {lease}"#), GOOD, lease, message);
    }
    points_at(r#"key = "a", wait = "soon""#, GOOD, r#""soon""#, "number with a unit");
}

#[test]
fn a_function_that_cannot_wait_or_cannot_fail_is_pointed_at() {
    let options = r#"key = "a""#;
    let plain = "pub fn pay(locks: &Locks) -> Result<(), LockedError> { Ok(()) }";
    points_at(options, plain, "fn", "async fn");
    points_at(options, "async fn pay(locks: &Locks) {}", "pay", "return a Result");
    points_at(options, "async fn pay(locks: &Locks) -> u64 { 1 }", "u64", "return a Result");
    points_at(options, "struct Pay;", "struct", "async functions and methods");
    points_at(options, "async fn pay();", "async", "with a body");
}

#[test]
fn an_unknown_option_is_pointed_at() {
    points_at(r#"name = "a""#, GOOD, "name", "only `key`, `lease`");
    points_at(r#"key = "a", on_loss = halt"#, GOOD, "halt", "`stop` or `finish`");
    points_at(r#"key = "a", key = "b""#, GOOD, "key", "given twice");
    points_at("key = 8", GOOD, "8", "expected string literal");
}

#[test]
fn what_cannot_be_together_is_pointed_at() {
    let both = r#"key = "a", lease = "8m", renewed"#;
    points_at(both, GOOD, "lease", "not renewed: leave it out");
    let both = r#"key = "a", renewed = "30s", lease = "8m""#;
    points_at(both, GOOD, "lease", "not renewed: leave it out");
    let alone = r#"key = "a", hold_at_most = "1h""#;
    points_at(alone, GOOD, "hold_at_most", "add `renewed`");
    points_at(r#"key = "a", renewed = "49ms""#, GOOD, r#""49ms""#, "at least 50ms");
    points_at(r#"key = "a", renewed = yes"#, GOOD, "yes", "expected string literal");
    points_at(r#"key = "a", renewed, renewed"#, GOOD, "renewed", "given twice");
    points_at(r#"key = "a", renewed, hold_at_most = "0s""#, GOOD, r#""0s""#, "at least 50ms");
}

#[test]
fn nobody_knows_where_the_locks_come_from() {
    let function = "async fn pay(order: u64) -> Result<(), LockedError> { Ok(()) }";
    points_at(r#"key = "{order}""#, function, "pay", "where do the locks come from");
}

#[test]
fn an_argument_that_would_hide_the_lease_is_pointed_at() {
    let function = "async fn pay(locks: &Locks, lease: u64) -> Result<(), LockedError> { Ok(()) }";
    points_at(r#"key = "a""#, function, "lease", "something else");
}

#[test]
fn a_mistake_causes_no_second_error() {
    let function: TokenStream = GOOD.parse().expect("tokens");
    let expanded = crate::expand::locked(TokenStream::new(), function).to_string();
    assert!(expanded.contains("compile_error") && expanded.contains("let lease"), "{expanded}");
}
