//! Lengths of time as people write them: `200ms`, `5m`, `1h30m`, `30d`.
//!
//! The form is that of `jiff`, which calls it friendly. A day has 24 hours; a month and a year have no length.

use jiff::fmt::friendly::{Spacing, SpanParser, SpanPrinter};
use jiff::{Error, SignedDuration, Span, SpanRelativeTo, SpanRound, Unit};
use std::time::Duration;

/// The longest: a hundred years. Beyond it a time stamp would overflow somewhere later, far from this line.
const LONGEST: Duration = Duration::from_secs(36_525 * 86_400);

/// Reads a length of time such as `90s`, `1.2s`, `5m`, `1h30m` or `30d`, in whole milliseconds.
///
/// # Errors
///
/// Says what a length of time looks like.
pub fn duration_from_text(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let shape = || {
        format!(
            "must be a number with a unit (ms, s, m, h or d), or several, like `90s`, `1h30m` or `30d`, \
             not `{text}`"
        )
    };
    let too_long = || format!("`{text}` is too long: at most 36525d");
    let read = match part_of_days(text) {
        Some(part) => part,
        None => read(text),
    };
    let length = match read {
        Ok(length) => Duration::try_from(length).map_err(|_| shape())?,
        Err(why) if why.is_range() => return Err(too_long()),
        Err(_) => return Err(shape()),
    };
    if !length.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(format!("`{text}` is no whole number of milliseconds"));
    }
    if length > LONGEST { Err(too_long()) } else { Ok(length) }
}

/// Reads the time between two rounds of something, at least a second.
pub(super) fn every(text: &str, most: Duration) -> Result<Duration, String> {
    let length = duration_from_text(text).ok();
    length.filter(|length| (Duration::from_secs(1)..=most).contains(length)).ok_or_else(|| {
        format!("must be a time from 1s to {}, like `5m`, not `{text}`", text_from_duration(most))
    })
}

/// Reads how long something is kept; `None` where it always is.
pub(super) fn keep_for(text: &str) -> Result<Option<Duration>, String> {
    if text == "never" {
        return Ok(None);
    }
    duration_from_text(text).map(Some).map_err(|reason| format!("{reason}; or `never`"))
}

fn read(text: &str) -> Result<SignedDuration, Error> {
    let span = SpanParser::new().parse_span(text)?;
    span.to_duration(SpanRelativeTo::days_are_24_hours())
}

/// Reads `1.5d`, which `jiff` refuses, since a day need not have 24 hours there: as hours, of which a day has 24.
fn part_of_days(text: &str) -> Option<Result<SignedDuration, Error>> {
    let number = text.strip_suffix('d').filter(|number| number.contains('.'))?;
    let hours = read(&format!("{number}h"));
    Some(hours.and_then(|hours| {
        let days = hours.checked_mul(24);
        days.ok_or_else(|| Error::from_args(format_args!("it is too long")))
    }))
}

/// Writes a length of time, to the millisecond, in a form that [`duration_from_text`] reads: `90s` as `1m30s`.
pub(crate) fn text_from_duration(length: Duration) -> String {
    let milliseconds = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    let by_day = SpanRound::new().largest(Unit::Day).days_are_24_hours();
    let span = Span::new().try_milliseconds(milliseconds).and_then(|span| span.round(by_day));
    match span {
        Ok(span) => {
            let printer = SpanPrinter::new().spacing(Spacing::None).zero_unit(Unit::Millisecond);
            printer.span_to_string(&span)
        }
        // Longer than all that is read.
        Err(_) => format!("{milliseconds}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000;
    const HOUR: u64 = 3_600 * SECOND;
    const DAY: u64 = 24 * HOUR;

    #[test]
    fn one_number_with_a_unit_or_several_are_a_length() {
        for (text, ms) in [
            ("200ms", 200),
            ("90s", 90 * SECOND),
            (" 5m ", 300 * SECOND),
            ("12h", 12 * HOUR),
            ("30d", 30 * DAY),
            ("0s", 0),
            ("0009s", 9 * SECOND),
            ("1h30m", HOUR + 1800 * SECOND),
            ("1d 12h", 36 * HOUR),
            ("1 hour, 30 minutes", HOUR + 1800 * SECOND),
            ("30 days", 30 * DAY),
            ("2w", 14 * DAY),
            ("36525d", 36_525 * DAY),
        ] {
            assert_eq!(duration_from_text(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn parts_of_a_unit_are_whole_milliseconds() {
        for (text, ms) in [
            ("1.2s", 1200),
            ("0.5m", 30_000),
            ("1.0s", 1000),
            ("1.001s", 1001),
            ("1.5h", 90 * 60 * SECOND),
            ("0.5d", 12 * HOUR),
            ("1.25d", 30 * HOUR),
        ] {
            assert_eq!(duration_from_text(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "1.2345s",
            "0.5ms",
            "1.s",
            ".5s",
            "1.2.3s",
            "1.12345678901234567890123s",
            "1.d",
            ".5d",
            "0.000000001d",
        ] {
            assert!(duration_from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_hears_what_one_looks_like() {
        for text in
            ["", "5", "s", "1 fortnight", "-5s", "5s ago", "1mo", "1y", "P1D", "1h30", "1m1h"]
        {
            let why = duration_from_text(text).unwrap_err();
            assert!(why.contains("(ms, s, m, h or d)") && why.contains("`1h30m`"), "{text}: {why}");
        }
        for text in ["36525d1ms", "36526d", "99999999999d", "99999999.5d"] {
            let why = duration_from_text(text).unwrap_err();
            assert!(why.ends_with("is too long: at most 36525d"), "{text}: {why}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (ms, text) in [
            (0, "0ms"),
            (1, "1ms"),
            (90 * SECOND, "1m30s"),
            (1_500, "1s500ms"),
            (300 * SECOND, "5m"),
            (36 * HOUR, "1d12h"),
            (30 * DAY, "30d"),
            (36_525 * DAY, "36525d"),
        ] {
            let length = Duration::from_millis(ms);
            assert_eq!(text_from_duration(length), text);
            assert_eq!(duration_from_text(text), Ok(length));
        }
        assert!(text_from_duration(Duration::MAX).ends_with("ms"));
    }
}
