//! What is the same text, however people and their programs write it.
//!
//! Codes are printed in capitals and typed without, copied with spaces, and changed by keyboards: full-width letters, a dash for
//! a hyphen, letters with their marks apart. *Folded* they are alike: NFKC of Unicode, case folding, no white space and nothing
//! invisible, one hyphen for all dashes; over again until nothing changes. Only characters that the tables know are
//! folded: Unicode promises that what NFKC and case folding make of these never changes.
//!
//! Not folded: letters of different alphabets, accents, `ı`, O and 0, I and 1, and whether there is a hyphen at all.
//!
//! These bytes are frozen: what an imported code is found by is a keyed hash of them. A test has a digest of what every
//! character becomes.

use firstcome_core::limits::{CODE_BYTES, TYPED_CODE_BYTES};
use unicase::UniCase;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_public_assigned;

/// Times that a text is folded. No character needs a third one: that nothing changes is looked at in the last.
const PASSES: usize = 4;

/// A text that cannot be an imported code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotACode {
    /// There is nothing in it, or nothing that anybody sees.
    #[error("the code is empty")]
    Empty,
    /// It is longer than a code may be.
    #[error("the code has {0} bytes, and {CODE_BYTES} is the most")]
    TooLong(usize),
    /// It has a control character.
    #[error("the code has a control character")]
    Control,
    /// It has a character that may be anything one day.
    #[error("the code has U+{:04X}, which Unicode {} does not have", u32::from(*.0), unicode_version())]
    Unassigned(char),
    /// What it becomes changes each time it is folded.
    #[error("the code has characters that cannot be compared")]
    Unstable,
}

/// Returns the version of the tables that codes are compared with.
fn unicode_version() -> String {
    let (major, minor, _) = unicode_normalization::UNICODE_VERSION;
    format!("{major}.{minor}")
}

/// Says whether a character is white space, as Unicode has it.
pub fn is_space(letter: char) -> bool {
    matches!(letter, '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Says whether nothing is drawn for a character: Default_Ignorable_Code_Point of Unicode.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
    ) || matches!(letter, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || matches!(letter, '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}')
        || matches!(letter, '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Says whether a character looks like a hyphen: dashes, minus signs, the long vowel sign that keyboards in Japan write.
fn is_dash(letter: char) -> bool {
    matches!(
        letter,
        '\u{58a}' | '\u{5be}' | '\u{1400}' | '\u{1806}' | '\u{2010}'..='\u{2015}' | '\u{2043}'
    ) || matches!(
        letter,
        '\u{2212}' | '\u{2500}' | '\u{2796}' | '\u{2e3a}' | '\u{2e3b}' | '\u{2e40}'
    ) || matches!(letter, '\u{2e5d}' | '\u{30a0}' | '\u{30fc}' | '\u{10ead}' | '\u{2d7}')
}

/// Returns an imported code without the white space around it.
///
/// # Errors
///
/// [`NotACode`], also where it could not be [`folded`].
pub fn code(text: &str) -> Result<&str, NotACode> {
    let text = text.trim_matches(is_space);
    if text.len() > CODE_BYTES {
        return Err(NotACode::TooLong(text.len()));
    }
    if text.contains(char::is_control) {
        return Err(NotACode::Control);
    }
    folded(text).map(|_| text)
}

/// Returns what a text is compared as: two with the same are alike.
///
/// # Errors
///
/// [`NotACode`]; one that is [`NotACode::TooLong`] has more than 512 bytes.
pub fn folded(text: &str) -> Result<String, NotACode> {
    if text.len() > TYPED_CODE_BYTES {
        return Err(NotACode::TooLong(text.len()));
    }
    for letter in text.chars() {
        if letter.is_control() && !is_space(letter) {
            return Err(NotACode::Control);
        }
        if !letter.is_ascii() && !is_public_assigned(letter) {
            return Err(NotACode::Unassigned(letter));
        }
    }
    match stable(text) {
        None => Err(NotACode::Unstable),
        Some(folded) if folded.is_empty() => Err(NotACode::Empty),
        Some(folded) => Ok(folded),
    }
}

/// Returns what a name is compared as, where names are not to look alike: words stay apart, and nothing is refused.
pub fn alike(name: &str) -> String {
    let words = name.split(is_space).filter(|word| !word.is_empty());
    let folded: Vec<_> = words.map(|word| stable(word).unwrap_or_else(|| word.into())).collect();
    folded.join(" ")
}

fn stable(text: &str) -> Option<String> {
    if text.is_ascii() {
        let seen = text.bytes().filter(|byte| !is_space(char::from(*byte)));
        return Some(seen.map(|byte| char::from(byte.to_ascii_lowercase())).collect());
    }
    let mut before = pass(text);
    for _ in 1..PASSES {
        let after = pass(&before);
        if after == before {
            return Some(after);
        }
        before = after;
    }
    None
}

fn pass(text: &str) -> String {
    let composed: String = text.nfkc().collect();
    let folded = UniCase::new(composed).to_folded_case();
    let seen = folded.chars().filter(|letter| !is_space(*letter) && !is_invisible(*letter));
    seen.map(|letter| if is_dash(letter) { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    fn every_character() -> impl Iterator<Item = char> {
        ('\0'..=char::MAX).filter(|letter| is_public_assigned(*letter))
    }

    /// What every character of the tables becomes. Where this changes, codes that were imported are not found any more: it
    /// needs a new level of the journal.
    #[test]
    fn the_tables_are_those_that_codes_were_imported_with() {
        assert_eq!(unicode_normalization::UNICODE_VERSION, (18, 0, 0));
        let (mut digest, mut known) = (Sha256::new(), 0_u32);
        for letter in '\0'..=char::MAX {
            let folded = folded(letter.encode_utf8(&mut [0; 4]));
            known += u32::from(!matches!(folded, Err(NotACode::Unassigned(_))));
            digest.update(u32::from(letter).to_le_bytes());
            digest.update(folded.unwrap_or_else(|why| format!("{why:?}")));
            digest.update([0xff]);
        }
        let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((known, &*hex), GOLDEN);
    }

    const GOLDEN: (u32, &str) =
        (172_873, "83d8cd2b9211741f3992c2582e6df20a68762825e53d82ff2f595f8cbf104354");

    #[test]
    fn what_is_folded_stays_as_it_is() {
        for letter in every_character() {
            let Ok(once) = folded(letter.encode_utf8(&mut [0; 4])) else { continue };
            assert_eq!(folded(&once).as_ref(), Ok(&once), "U+{:04X}", u32::from(letter));
        }
    }

    /// A letter in its other case is alike, but for those that Unicode does not fold.
    #[test]
    fn case_is_folded_in_every_script() {
        let not: Vec<char> = every_character()
            .filter(|letter| {
                let as_it_is = folded(letter.encode_utf8(&mut [0; 4]));
                let other = |text: String| folded(&text) != as_it_is;
                other(letter.to_uppercase().collect()) || other(letter.to_lowercase().collect())
            })
            .collect();
        assert_eq!(not, ['ı']);
    }

    #[test]
    fn a_code_is_alike_however_it_is_typed() {
        for typed in [
            "summer-10",
            " SUMMER-10\n",
            "ＳＵＭＭＥＲ－１０",
            "Summer\u{2013}10",
            "Summer\u{2212}10",
            "Sum mer\u{a0}- 1\u{3000}0",
            "\u{feff}Sum\u{ad}mer\u{200b}-10",
            "𝐒𝐮𝐦𝐦𝐞𝐫ー⑩",
            "ſummer-10",
        ] {
            assert_eq!(folded(typed).as_deref(), Ok("summer-10"), "{typed}");
        }
        assert_eq!(folded("Stra\u{df}e"), folded("STRASSE"));
        assert_eq!(folded("봄-é"), folded("\u{1107}\u{1169}\u{11b7}-E\u{301}"));
        for other in ["summer10", "summer_10", "summer-1O", "summer-l0", "ѕummer-10", "sümmer-10"]
        {
            assert_ne!(folded(other).as_deref(), Ok("summer-10"), "{other}");
        }
        assert_eq!(alike(" Ａ\u{2013}1  b\u{3000}"), "a-1 b");
        assert_ne!(alike("1 11"), alike("11 1"));
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let refused = |text: &str| code(text).expect_err("it is no code");
        assert_eq!(refused(" \u{3000}"), NotACode::Empty);
        assert_eq!(refused("\u{200b}\u{ad}"), NotACode::Empty);
        assert_eq!(refused("a\tb"), NotACode::Control);
        assert_eq!(folded("a\u{7}"), Err(NotACode::Control));
        assert_eq!(refused(&"x".repeat(65)), NotACode::TooLong(65));
        assert_eq!(folded(&"x".repeat(513)), Err(NotACode::TooLong(513)));
        for letter in ['\u{378}', '\u{e000}', '\u{fffe}', '\u{10ffff}'] {
            assert_eq!(refused(&format!("A{letter}")), NotACode::Unassigned(letter));
        }
        let why = NotACode::Unassigned('\u{378}').to_string();
        assert_eq!(why, "the code has U+0378, which Unicode 18.0 does not have");
        assert_eq!(code(" Ａ b\n"), Ok("Ａ b"));
    }

    /// A text, and the same one as other people type it.
    fn typed() -> impl Strategy<Value = (String, String)> {
        let spaces = proptest::sample::select(
            &["", "", "", " ", "\u{a0}", "\u{3000}", "\u{200b}", "\n"][..],
        );
        let dashes = proptest::sample::select(
            &['-', '\u{2010}', '\u{2014}', '\u{2212}', '\u{ff0d}', 'ー'][..],
        );
        let letters = proptest::collection::vec(("[ -~é봄ßΣДｱ]", 0..4_u8, spaces, dashes), 1..20);
        letters.prop_map(|letters| {
            let (mut text, mut typed) = (String::new(), String::new());
            for (letter, way, space, dash) in letters {
                text.push_str(&letter);
                let first = letter.chars().next().unwrap_or_default();
                match (way, first) {
                    (_, '-') => typed.push(dash),
                    (1, '!'..='~') => typed.extend(char::from_u32(u32::from(first) + 0xfee0)),
                    (2, _) => typed.push_str(&letter.to_uppercase()),
                    (3, _) => typed.push_str(&letter.to_lowercase()),
                    _ => typed.push_str(&letter),
                }
                typed.push_str(space);
            }
            (text, typed)
        })
    }

    proptest! {
        #[test]
        fn case_width_dashes_and_spaces_make_no_other_code((text, typed) in typed()) {
            prop_assert_eq!(folded(&text), folded(&typed));
        }

        #[test]
        fn any_text_is_folded_once_or_refused(text in "\\PC{0,40}") {
            if let Ok(once) = folded(&text) {
                prop_assert_eq!(folded(&once), Ok(once));
            }
            let _: String = alike(&text);
        }
    }
}
