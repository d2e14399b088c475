//! Parses durations in the attribute.

use std::time::Duration;

use syn::LitStr;

/// A hundred years: the longest lease and the longest wait.
const LONGEST_MS: u64 = 3_155_760_000_000;

/// Reads a number with a unit; a mistake is pointed at.
pub(crate) fn read(text: &LitStr) -> syn::Result<Duration> {
    let value = text.value();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => 0,
    };
    if number.is_empty() || factor == 0 {
        let message = format!(
            "`{value}` is no length of time: write a number with a unit (ms, s, m, h or d), like \"90s\" or \"8m\""
        );
        return Err(syn::Error::new(text.span(), message));
    }
    let milliseconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    match milliseconds {
        Some(milliseconds) if milliseconds <= LONGEST_MS => Ok(Duration::from_millis(milliseconds)),
        Some(_) | None => {
            Err(syn::Error::new(text.span(), format!("`{value}` is longer than a hundred years")))
        }
    }
}
