//! Whole numbers as settings have them.

/// Reads a whole number between two.
pub(super) fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.trim().replace('_', "").parse::<u64>().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("must be a whole number from {least} to {most}, not `{text}`"))
}

/// Reads the same as a count of things in memory.
pub(super) fn size(text: &str, least: u64, most: u64) -> Result<usize, String> {
    whole(text, least, most).and_then(|number| {
        usize::try_from(number).map_err(|_| format!("`{text}` is too large for this machine"))
    })
}
