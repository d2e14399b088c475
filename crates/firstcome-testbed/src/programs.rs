use std::path::PathBuf;

/// Tells whether a missing program must fail the test instead of skipping it.
#[must_use]
pub fn required() -> bool {
    std::env::var_os("CI").is_some() || std::env::var_os("FIRSTCOME_REQUIRE_SERVERS").is_some()
}

/// Says loudly that `what` is missing and that the test is skipped.
///
/// # Panics
///
/// Panics where skipping is not allowed: `CI` or `FIRSTCOME_REQUIRE_SERVERS` is set.
pub fn missing(what: &str) {
    assert!(!required(), "{what} is missing, and skipping is not allowed here");
    eprintln!("SKIPPED: {what} is missing");
}

/// Finds a program on the search path.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
