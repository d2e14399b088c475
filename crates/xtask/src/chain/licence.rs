//! Licence expressions (SPDX): `MIT OR (Apache-2.0 AND ISC)`.

/// Says whether a licence may be had by these names.
///
/// `A WITH B` is a name of its own. The old form `MIT/Apache-2.0` counts as `OR`.
pub(super) fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    let spaced = licence.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let answer = any(&mut words, allowed);
    answer && words.is_empty()
}

/// Reads alternatives, from the end of the words.
fn any(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut answer = all(words, allowed);
    while words.last() == Some(&"OR") {
        words.pop();
        answer |= all(words, allowed);
    }
    answer
}

fn all(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut answer = one(words, allowed);
    while words.last() == Some(&"AND") {
        words.pop();
        answer &= one(words, allowed);
    }
    answer
}

fn one(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    match words.pop() {
        Some("(") => {
            let answer = any(words, allowed);
            words.pop() == Some(")") && answer
        }
        Some(name) if words.last() == Some(&"WITH") => {
            words.pop();
            let name = format!("{name} WITH {}", words.pop().unwrap_or_default());
            allowed.contains(&name)
        }
        Some(name) => allowed.iter().any(|known| known == name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn one_of_several_is_enough_and_of_two_that_both_count_both_are_needed() {
        let allowed = ["MIT", "Apache-2.0", "ISC"].map(str::to_owned);
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "MIT AND ISC",
            "(GPL-3.0 OR MIT) AND ISC",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in
            ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "Apache-2.0 WITH LLVM-exception", "MIT ISC"]
        {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }
}
