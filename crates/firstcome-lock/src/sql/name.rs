//! How names are written into a column that has an end.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The longest name in bytes that is stored as it is; longer ones are shortened and carry their SHA-256.
const LONGEST_NAME: usize = 190;

/// How much of a longer name is kept for those who read the table.
const KEPT: usize = 160;

/// What parts a shortened name from its hash, and how many digits that has.
const MARK: char = '~';
const DIGITS: usize = 64;

/// Returns the name as it is stored: two names are never stored as the same.
///
/// A name is stored as it is unless it is longer than [`LONGEST_NAME`], has control characters, which not every
/// database stores, ends with a blank, which not every database compares, or looks like one that was shortened.
pub(super) fn stored(name: &str) -> Cow<'_, str> {
    let odd = name.chars().any(char::is_control) || name.ends_with(' ') || looks_hashed(name);
    if name.len() <= LONGEST_NAME && !odd {
        return Cow::Borrowed(name);
    }
    let mut stored = String::with_capacity(KEPT + 1 + DIGITS);
    for kept in name.chars() {
        let kept = if kept.is_control() { '?' } else { kept };
        if stored.len() + kept.len_utf8() > KEPT {
            break;
        }
        stored.push(kept);
    }
    stored.push(MARK);
    for byte in Sha256::digest(name.as_bytes()) {
        // Writing to a string cannot fail.
        write!(stored, "{byte:02x}").ok();
    }
    Cow::Owned(stored)
}

fn looks_hashed(name: &str) -> bool {
    name.rsplit_once(MARK).is_some_and(|(_, hash)| {
        hash.len() == DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_stored_as_they_are() {
        for name in ["a", "nightly report", "Straße", "x~y", &"x".repeat(LONGEST_NAME)] {
            assert_eq!(stored(name), name);
        }
    }

    #[test]
    fn long_and_odd_names_stay_apart_and_fit() {
        let long = "ä".repeat(2000);
        let shortened = stored(&long).into_owned();
        let mut names = vec![
            shortened.clone(),
            long.clone(),
            format!("{long}x"),
            "a\0".to_owned(),
            "a\n".to_owned(),
            "a?".to_owned(),
            "a".to_owned(),
            "a ".to_owned(),
        ];
        names.push(stored("a\0").into_owned());
        let mut seen: Vec<String> = names.iter().map(|name| stored(name).into_owned()).collect();
        assert!(seen.iter().all(|name| name.len() <= 255 && !name.contains('\0')));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), names.len(), "{seen:#?}");
    }
}
