//! The written form of generated codes: 75 bits in 15 letters of Crockford's alphabet, one check letter, groups of four.
//!
//! The check letter is that of a Damm scheme of order 32 over GF(32), `x ∗ y = 2x + y`: it finds every wrong letter and
//! every swap of two neighbours, the check letter included. So a typing error is known for one without a key or a state.

/// Crockford's alphabet: no I, L, O and U.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Letters that carry bits.
pub(super) const DIGITS: usize = 15;

/// Doubles an element of GF(32) with the polynomial x⁵ + x² + 1.
fn double(element: u8) -> u8 {
    let doubled = element << 1;
    if doubled & 0x20 == 0 { doubled } else { doubled ^ 0x25 }
}

fn check(digits: &[u8; DIGITS]) -> u8 {
    double(digits.iter().fold(0, |interim, digit| double(interim) ^ digit))
}

/// Returns the digits of 75 bits, the highest first.
pub(super) fn digits(bits: u128) -> [u8; DIGITS] {
    std::array::from_fn(|at| (bits >> (5 * (DIGITS - 1 - at))) as u8 & 31)
}

/// Returns the bits of digits.
pub(super) fn bits(digits: &[u8; DIGITS]) -> u128 {
    digits.iter().fold(0, |bits, digit| bits << 5 | u128::from(*digit))
}

/// Writes 15 digits of five bits: with the check letter four groups of four.
pub(super) fn write(digits: &[u8; DIGITS]) -> String {
    let mut text = String::with_capacity(19);
    for (at, digit) in digits.iter().copied().chain([check(digits)]).enumerate() {
        if at > 0 && at % 4 == 0 {
            text.push('-');
        }
        text.push(char::from(LETTERS[usize::from(digit & 31)]));
    }
    text
}

fn digit(letter: char) -> Option<u8> {
    let letter = match letter.to_ascii_uppercase() {
        'I' | 'L' => '1',
        'O' => '0',
        letter => letter,
    };
    let letter = u8::try_from(letter).ok()?;
    LETTERS.iter().position(|known| *known == letter).map(|digit| digit as u8)
}

/// Reads a folded code: I and L are 1, O is 0, and there may be spaces and hyphens anywhere. None of what cannot be one.
pub(super) fn read(text: &str) -> Option<[u8; DIGITS]> {
    let mut digits = [0; DIGITS + 1];
    let mut count = 0;
    for letter in text.chars().filter(|letter| !matches!(letter, ' ' | '-')) {
        *digits.get_mut(count)? = digit(letter)?;
        count += 1;
    }
    let (last, digits) = digits.split_last()?;
    let digits: [u8; DIGITS] = digits.try_into().ok()?;
    (count == DIGITS + 1 && check(&digits) == *last).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(digits: &[u8; DIGITS]) -> [u8; DIGITS + 1] {
        let mut all = [0; DIGITS + 1];
        all[..DIGITS].copy_from_slice(digits);
        all[DIGITS] = check(digits);
        all
    }

    fn holds(all: &[u8; DIGITS + 1]) -> bool {
        let digits: [u8; DIGITS] = all[..DIGITS].try_into().expect("15 digits");
        check(&digits) == all[DIGITS]
    }

    /// The scheme is linear: what a change does to the check does not depend on the letters around it. So one pair of
    /// letters at each place, over a few backgrounds, is every case there is.
    #[test]
    fn every_wrong_letter_and_every_swap_of_neighbours_is_found() {
        for background in [[0; DIGITS], [31; DIGITS], std::array::from_fn(|n| n as u8 * 2)] {
            for place in 0..=DIGITS {
                for (first, second) in (0..32).flat_map(|a| (0..32).map(move |b| (a, b))) {
                    let mut digits = background;
                    if place < DIGITS {
                        digits[place] = first;
                    }
                    if place + 1 < DIGITS {
                        digits[place + 1] = second;
                    }
                    let right = all(&digits);
                    assert!(holds(&right));
                    let mut wrong = right;
                    wrong[place] = second;
                    assert_eq!(holds(&wrong), wrong == right, "a wrong letter at {place}");
                    if place < DIGITS {
                        let mut swapped = right;
                        swapped.swap(place, place + 1);
                        assert_eq!(holds(&swapped), swapped == right, "a swap at {place}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_however_it_is_typed() {
        let digits = [1, 0, 31, 16, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20];
        let text = write(&digits);
        assert_eq!(text, "10ZG-9ABC-DEFH-JKMR");
        for typed in
            [text.as_str(), "10zg9abcdefhjkmr", " IoZG 9AbC-deFh-jk-mr ", "lOZG-9ABC-DEFH-JKMR"]
        {
            assert_eq!(read(typed), Some(digits), "{typed}");
        }
        for wrong in [
            "",
            "10ZG-9ABC-DEFH-JKM",
            "10ZG-9ABC-DEFH-JKMR3",
            "10ZG-9ABC-DEFH-JKM4",
            "U0ZG-9ABC-DEFH-JKMR",
            "10ZG_9ABC_DEFH_JKMR",
            "10ZG-9ABC-DEFH-JKMé",
            "\u{ff11}0ZG9ABCDEFHJKMR",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
