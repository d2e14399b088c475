//! Lengths of time as people write them: `200ms`, `5m`, `30d`.

use std::time::Duration;

/// Reads a length of time such as `90s`, `5m`, `12h` or `30d`.
///
/// # Errors
///
/// Says what a length of time looks like.
pub fn duration_from_text(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shape = || {
        format!(
            "must be a number with a unit (ms, s, m, h or d), like `90s` or `30d`, not `{text}`"
        )
    };
    let number: u64 = number.parse().map_err(|_| shape())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "d" => number.checked_mul(86_400_000),
        _ => return Err(shape()),
    };
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
