//! The codes of a file, compared with one another: what people could not tell apart, and what a spreadsheet left of them.

use super::spelling::{self, NotACode, folded};
use std::collections::HashMap;

/// Why a line of a file cannot be imported beside the others. No code is repeated in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongCode {
    /// It is no code.
    #[error(transparent)]
    NotACode(#[from] NotACode),
    /// A spreadsheet wrote something else in its place.
    #[error("the code is {0}, as spreadsheets write it: keep the column as text")]
    Damaged(&'static str),
    /// A letter of another alphabet stands beside Latin ones and looks like one of them.
    #[error("the code has U+{:04X}, which looks like {like}, beside Latin letters", u32::from(*.letter))]
    Mixed {
        letter: char,
        /// What it looks like.
        like: char,
    },
    /// It is spelled otherwise on an earlier line.
    #[error("this is the code of line {0}, spelled otherwise")]
    Alike(u64),
    /// Letters of another alphabet make it look like the code of an earlier line.
    #[error("this code looks like that of line {0}, in letters of another alphabet")]
    Lookalike(u64),
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedLines {
    /// Lines that cannot be imported, each with its number.
    pub wrong: Vec<(u64, WrongCode)>,
    /// Lines that stand on an earlier line just so: this number, and that one.
    pub repeated: Vec<(u64, u64)>,
}

/// Looks at the codes of a file, each with the number of its line.
///
/// If the file says that its codes are `exact`, they are taken as they are: any two that differ are two codes.
pub fn check<'a>(codes: impl Iterator<Item = (u64, &'a str)> + Clone, exact: bool) -> CheckedLines {
    let mut found = CheckedLines::default();
    let mut known: HashMap<String, (u64, &str)> = HashMap::new();
    let looks = !exact && codes.clone().any(|(_, code)| !code.is_ascii());
    let mut shapes = Shapes::new();
    for (line, code) in codes {
        let compared = match one(code, exact) {
            Ok(text) if exact => text.to_owned(),
            Ok(text) => folded(text).unwrap_or_default(),
            Err(why) => {
                found.wrong.push((line, why));
                continue;
            }
        };
        let text = code.trim_matches(spelling::is_space);
        if looks && let Some(first) = lookalike(&mut shapes, &compared, line) {
            found.wrong.push((line, WrongCode::Lookalike(first)));
            continue;
        }
        match known.get(&compared) {
            None => drop(known.insert(compared, (line, text))),
            Some((first, known)) if *known == text => found.repeated.push((line, *first)),
            Some((first, _)) => found.wrong.push((line, WrongCode::Alike(*first))),
        }
    }
    found
}

/// Accepts one code by itself.
fn one(code: &str, exact: bool) -> Result<&str, WrongCode> {
    let text = spelling::code(code)?;
    if exact {
        return Ok(text);
    }
    if let Some(what) = damage(text) {
        return Err(WrongCode::Damaged(what));
    }
    match mixed(text) {
        Some((letter, like)) => Err(WrongCode::Mixed { letter, like }),
        None => Ok(text),
    }
}

/// Returns a letter of another alphabet that looks like a Latin one, in a code that has Latin ones. In a word of its own it does
/// not count beside letters that nobody takes for Latin: `VIP-СКИДКА`.
fn mixed(text: &str) -> Option<(char, char)> {
    if text.is_ascii() || !text.contains(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    text.split(|letter: char| !letter.is_alphanumeric()).find_map(|word| {
        let letters = || word.chars().filter(|letter| letter.is_alphabetic());
        let found = letters().find_map(|letter| Some((letter, latin(letter)?)))?;
        let latin_too = letters().any(|letter| letter.is_ascii());
        let others = letters().any(|letter| !letter.is_ascii() && latin(letter).is_none());
        (latin_too || !others).then_some(found)
    })
}

/// Returns what a spreadsheet made of a code.
fn damage(text: &str) -> Option<&'static str> {
    const ERRORS: [&str; 8] =
        ["#NAME?", "#REF!", "#VALUE!", "#N/A", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((number, power)) = text.split_once(['E', 'e'])
        && power.strip_prefix(['+', '-']).is_some_and(digits)
        && number.splitn(2, ['.', ',']).all(digits)
    {
        return Some("a number with an exponent");
    }
    if let Some((first, second)) = text.split_once('-')
        && [(first, second), (second, first)]
            .iter()
            .any(|(day, month)| day.len() <= 2 && digits(day) && MONTHS.contains(month))
    {
        return Some("a date");
    }
    if ERRORS.contains(&text) {
        return Some("an error");
    }
    if text.len() > 2 && text.bytes().all(|byte| byte == b'#') {
        return Some("a column that is too narrow");
    }
    if text.starts_with("=\"") {
        return Some("a formula");
    }
    text.contains('\u{fffd}').then_some("text whose characters were lost")
}

/// Returns the Latin letter that a letter of another alphabet looks like, as a capital or as a small one.
fn latin(letter: char) -> Option<char> {
    if letter.is_ascii() || !letter.is_alphabetic() {
        return None;
    }
    // Full-width letters are folded, and then they are Latin.
    let small = folded(letter.encode_utf8(&mut [0; 4])).ok().filter(|small| !small.is_ascii())?;
    let capital = small.to_uppercase();
    [letter.to_string(), small, capital].iter().find_map(|text| {
        let mut shape = unicode_security::skeleton(text);
        shape.next().filter(|first| first.is_ascii_alphabetic() && shape.next().is_none())
    })
}

/// What the codes of a file look like: by the shape the first line that has it, and its characters beyond ASCII.
type Shapes = HashMap<String, (u64, String)>;

/// Returns the line of a code that has the same shape and other letters. O and 0 are told apart by who chose them.
fn lookalike(shapes: &mut Shapes, folded: &str, line: u64) -> Option<u64> {
    let shape = unicode_security::skeleton(&folded.to_uppercase()).collect();
    let others: String = folded.chars().filter(|letter| !letter.is_ascii()).collect();
    let (first, known) = shapes.entry(shape).or_insert_with(|| (line, others.clone()));
    (*known != others).then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checked(codes: &[&str]) -> CheckedLines {
        check((1..).zip(codes.iter().copied()), false)
    }

    #[test]
    fn codes_that_become_the_same_are_named_with_both_lines() {
        let codes = ["Summer-10", "B", "summer\u{2013}10", "Summer-10", " B ", "Ｂ"];
        let found = checked(&codes);
        assert_eq!(found.wrong, [(3, WrongCode::Alike(1)), (6, WrongCode::Alike(2))]);
        assert_eq!(found.repeated, [(4, 1), (5, 2)]);
        let found = check((1..).zip(codes), true);
        assert_eq!((found.wrong, found.repeated), (vec![], vec![(4, 1), (5, 2)]));
    }

    #[test]
    fn letters_of_another_alphabet_that_look_like_latin_ones_are_named() {
        let found = checked(&[
            "SPRING-\u{410}1",
            "\u{421}\u{41e}\u{420}1",
            "COP1",
            "봄-SPRING",
            "Été",
            "СКИДКА",
            "VIP-СКИДКА",
            "VIPСКИДКА",
        ]);
        assert_eq!(
            found.wrong,
            [
                (1, WrongCode::Mixed { letter: '\u{410}', like: 'A' }),
                (3, WrongCode::Lookalike(2)),
                (8, WrongCode::Mixed { letter: '\u{421}', like: 'C' }),
            ]
        );
        assert_eq!(
            checked(&["COP1", "C0P1", "\u{421}\u{41e}\u{420}1"]).wrong,
            [(3, WrongCode::Lookalike(1))],
            "an O for a 0 is no other alphabet"
        );
        let why = found.wrong[0].1.to_string();
        assert_eq!(why, "the code has U+0410, which looks like A, beside Latin letters");
        assert!(check([(1, "A\u{410}")].into_iter(), true).wrong.is_empty());
    }

    #[test]
    fn what_spreadsheets_leave_is_named() {
        for damaged in [
            "1.23457E+12",
            "1,23457E+12",
            "1E+15",
            "4.2e-07",
            "1-Mar",
            "Sep-02",
            "#NAME?",
            "####",
            "=\"0012\"",
            "GR\u{fffd}N",
        ] {
            let found = checked(&[damaged]).wrong;
            assert!(matches!(found[..], [(1, WrongCode::Damaged(_))]), "{damaged}: {found:?}");
            assert!(check([(1, damaged)].into_iter(), true).wrong.is_empty());
        }
        let codes =
            ["1E12", "E+12", "12E", "1.2.3E+4", "MAR-01", "100-Mar", "#1", "2E-A", "20E", "-5"];
        assert_eq!(checked(&codes), CheckedLines::default());
    }

    proptest! {
        /// Whatever is not refused is found again as itself and as nothing else.
        #[test]
        fn no_two_accepted_codes_are_alike(codes in proptest::collection::vec("[aAｂBβ1 -]{0,3}", 0..12)) {
            let found = check((1..).zip(codes.iter().map(|code| &**code)), false);
            let left_out: Vec<u64> =
                found.wrong.iter().map(|(line, _)| *line).chain(found.repeated.iter().map(|(line, _)| *line)).collect();
            let taken = (1..).zip(&codes).filter(|(line, _)| !left_out.contains(line));
            let folds: Vec<_> = taken.map(|(_, code)| folded(code).expect("it was accepted")).collect();
            let different: std::collections::BTreeSet<_> = folds.iter().collect();
            prop_assert_eq!(different.len(), folds.len());
        }
    }
}
