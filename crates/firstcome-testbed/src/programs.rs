use std::path::PathBuf;

/// Names what may be missing, as a list with commas; `1` stands for everything.
const SWITCH: &str = "FIRSTCOME_SKIP_MISSING";

/// Fails the test for want of `what`, unless `FIRSTCOME_SKIP_MISSING` names it: then it says loudly that the test is
/// skipped. `remedy` says how to get it, such as ``install the Debian package `redis-server` ``.
///
/// # Panics
///
/// Panics where `FIRSTCOME_SKIP_MISSING` does not name it.
#[track_caller]
pub fn missing(what: &str, remedy: &str) {
    let skipped = std::env::var(SWITCH).is_ok_and(|list| names(&list, what));
    assert!(
        skipped,
        "{what} is missing: {remedy}, or set {SWITCH}={what} to skip the tests that need it ({SWITCH}=1 skips \
         everything that needs something missing)"
    );
    eprintln!("SKIPPED: {what} is missing: {remedy}");
}

fn names(list: &str, what: &str) -> bool {
    list.split(',').any(|name| ["1", what].contains(&name.trim()))
}

/// As [`missing`], for a program of a Debian package.
#[track_caller]
pub(crate) fn not_installed(program: &str, package: &str) {
    missing(program, &format!("install the Debian package `{package}`"));
}

/// Finds a program on the search path.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn the_switch_names_each_program_or_everything() {
        assert!(names("1", "redis-server"));
        assert!(names("java,mvn", "java") && names("java, mvn", "mvn"));
        assert!(!names("java,mvn", "redis-server") && !names("", "java") && !names("0", "java"));
    }
}
