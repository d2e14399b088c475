//! Pictures for a terminal: bars, histograms and seat maps, in ASCII where the locale is not UTF-8.

mod seat_map;

use std::time::Duration;

pub use seat_map::{RowOfSeats, Style, legend, seat_map};

use crate::latency::Latency;

/// Whether the terminal's locale says UTF-8; the first variable that is set decides, as POSIX has it.
pub fn speaks_unicode() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// A check mark or a cross.
pub fn mark(kept: bool) -> &'static str {
    match (speaks_unicode(), kept) {
        (true, true) => "✔",
        (true, false) => "✘",
        (false, true) => "[ok]",
        (false, false) => "[BROKEN]",
    }
}

/// A bar filled to this share, in brackets where it is made of plain letters.
pub fn bar(share: f64, width: usize) -> String {
    let share = share.clamp(0.0, 1.0);
    if !speaks_unicode() {
        let full = (share * width as f64).round() as usize;
        return format!("[{}{}]", "#".repeat(full), ".".repeat(width - full));
    }
    let (filled, empty) = unicode_bar(share, width);
    format!("{filled}{}", "░".repeat(empty))
}

/// The filled part to an eighth of a character, and how many characters stay empty.
fn unicode_bar(share: f64, width: usize) -> (String, usize) {
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let mut drawn = "█".repeat(eighths / 8);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    drawn.push_str(rest);
    let used = eighths / 8 + usize::from(!rest.is_empty());
    (drawn, width.saturating_sub(used))
}

/// The upper edges of the histogram's rows, in microseconds.
const EDGES: [u64; 15] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000,
];

/// Draws how long answers took: a row for each span of time, its share as a bar, and the percentiles.
pub fn latency(latency: &Latency) -> Vec<String> {
    let total = latency.count();
    if total == 0 {
        return vec!["no answers".to_owned()];
    }
    let mut rows = Vec::new();
    let mut below = 0;
    for edge in EDGES.into_iter().chain([u64::MAX]) {
        let (over, up_to) = (Duration::from_micros(below), Duration::from_micros(edge));
        rows.push((below, edge, latency.between(over, up_to)));
        below = edge;
    }
    let first = rows.iter().position(|row| row.2 > 0).unwrap_or(0);
    let last = rows.iter().rposition(|row| row.2 > 0).unwrap_or(0);
    let most = rows.iter().map(|row| row.2).max().unwrap_or(1);
    let mut lines: Vec<String> = rows[first..=last]
        .iter()
        .map(|&(below, edge, count)| {
            let label = if edge == u64::MAX {
                format!("over {}", short(Duration::from_micros(below)))
            } else {
                format!("up to {}", short(Duration::from_micros(edge)))
            };
            let drawn = histogram_bar(count as f64 / most as f64, 44);
            let share = count as f64 * 100.0 / total as f64;
            format!("{label:>14} {drawn} {count:>8} {share:>6.2} %")
        })
        .collect();
    let at = |share| short(latency.quantile(share));
    lines.push(format!(
        "{:>14} p50 {}  p90 {}  p99 {}  p99.9 {}  max {}",
        "",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        short(latency.max())
    ));
    lines
}

fn histogram_bar(share: f64, width: usize) -> String {
    let least = if share > 0.0 { share.max(1.0 / (8.0 * width as f64)) } else { 0.0 };
    if speaks_unicode() {
        let (drawn, empty) = unicode_bar(least, width);
        return format!("{drawn}{}", " ".repeat(empty));
    }
    let full = (least * width as f64).ceil() as usize;
    format!("{}{}", "#".repeat(full), " ".repeat(width - full))
}

/// A length of time in three digits or so.
pub fn short(length: Duration) -> String {
    let micros = length.as_micros();
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..10_000 => format!("{:.1} ms", length.as_secs_f64() * 1e3).replace(".0 ", " "),
        10_000..1_000_000 => format!("{:.0} ms", length.as_secs_f64() * 1e3),
        _ => format!("{:.1} s", length.as_secs_f64()).replace(".0 ", " "),
    }
}

/// A number with its thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_to_an_eighth_and_never_beyond() {
        assert_eq!(unicode_bar(1.0, 4), ("████".to_owned(), 0));
        assert_eq!(unicode_bar(0.0, 4), (String::new(), 4));
        assert_eq!(unicode_bar(0.53, 4), ("██▏".to_owned(), 1));
        assert_eq!(unicode_bar(0.999, 4), ("████".to_owned(), 0));
    }

    #[test]
    fn lengths_and_numbers_are_short() {
        assert_eq!(short(Duration::from_micros(340)), "340 us");
        assert_eq!(short(Duration::from_micros(1_000)), "1 ms");
        assert_eq!(short(Duration::from_micros(1_240)), "1.2 ms");
        assert_eq!(short(Duration::from_millis(50)), "50 ms");
        assert_eq!(short(Duration::from_millis(1_210)), "1.2 s");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(12), "12");
    }
}
