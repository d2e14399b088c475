//! Invisible characters: two texts that differ only in them look the same.

use std::borrow::Cow;

/// The format characters of Unicode 16 (general category Cf): zero-width characters, joiners, marks of direction, tags.
const FORMAT: [(u32, u32); 21] = [
    (0x00AD, 0x00AD),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x1_10BD, 0x1_10BD),
    (0x1_10CD, 0x1_10CD),
    (0x1_3430, 0x1_343F),
    (0x1_BCA0, 0x1_BCA3),
    (0x1_D173, 0x1_D17A),
    (0xE_0001, 0xE_0001),
    (0xE_0020, 0xE_007F),
];

/// Says whether a character is a format character.
pub fn is_format(letter: char) -> bool {
    let code = u32::from(letter);
    FORMAT.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Returns a text for people to read: format characters as `\u{200b}`.
pub fn seen(text: &str) -> Cow<'_, str> {
    if !text.contains(is_format) {
        return text.into();
    }
    let mut seen = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_format(letter) {
            seen.extend(letter.escape_unicode());
        } else {
            seen.push(letter);
        }
    }
    seen.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_written_out() {
        for (text, shown) in [
            ("ann", "ann"),
            ("a\u{200b}nn", "a\\u{200b}nn"),
            ("\u{feff}ann\u{ad}", "\\u{feff}ann\\u{ad}"),
            ("\u{202e}nna\u{e0041}", "\\u{202e}nna\\u{e0041}"),
            ("caf\u{e9} 김 😀", "caf\u{e9} 김 😀"),
        ] {
            assert_eq!(seen(text), shown);
        }
    }
}
