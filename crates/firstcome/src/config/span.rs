//! Lengths of time as people write them: `200ms`, `5m`, `30d`.

use std::time::Duration;

/// Reads a length of time such as `90s`, `1.2s`, `5m`, `12h` or `30d`, in whole milliseconds.
///
/// # Errors
///
/// Says what a length of time looks like.
pub fn duration_from_text(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits(text));
    let (part, unit) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("0", rest),
    };
    let shape = || {
        format!(
            "must be a number with a unit (ms, s, m, h or d), like `90s` or `30d`, not `{text}`"
        )
    };
    let number: u64 = number.parse().map_err(|_| shape())?;
    let unit: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(shape()),
    };
    // Nine digits times a day fit, and are more than anybody means.
    let scale = u32::try_from(part.len()).ok().filter(|digits| *digits <= 9).map(|d| 10_u64.pow(d));
    let (part, scale) = part.parse::<u64>().ok().zip(scale).ok_or_else(shape)?;
    if !(part * unit).is_multiple_of(scale) {
        return Err(format!("`{text}` is no whole number of milliseconds"));
    }
    let milliseconds =
        number.checked_mul(unit).and_then(|whole| whole.checked_add(part * unit / scale));
    // A hundred years: beyond it a time stamp would overflow somewhere later, far from this line.
    let milliseconds = milliseconds.filter(|&ms| ms <= 36_525 * 86_400_000);
    milliseconds
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{text}` is too long: at most 36525d"))
}

/// Writes a length of time with the largest unit that divides it.
pub(crate) fn text_from_duration(length: Duration) -> String {
    let milliseconds = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let fits = units.iter().find(|(size, _)| milliseconds > 0 && milliseconds % size == 0);
    match fits {
        Some((size, unit)) => format!("{}{unit}", milliseconds / size),
        None => format!("{milliseconds}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_unit_are_whole_milliseconds() {
        for (text, ms) in [("1.2s", 1200), ("0.5m", 30_000), ("1.0s", 1000), ("1.001s", 1001)] {
            assert_eq!(duration_from_text(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["1.2345s", "0.5ms", "1.s", ".5s", "1.2.3s", "1.12345678901234567890123s"] {
            assert!(duration_from_text(text).is_err(), "{text}");
        }
    }
}
