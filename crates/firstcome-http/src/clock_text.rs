//! Times as text: RFC 3339, or a local time with its zone. Short texts, as they are, need no allocation.

use firstcome_core::Timestamp;
use jiff::civil;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::{DateTimeParser, DateTimePrinter};
use jiff::tz::{Disambiguation, OffsetConflict, TimeZone};
use std::fmt;
use std::ops::Deref;

static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
static PARSER: DateTimeParser = DateTimeParser::new()
    .disambiguation(Disambiguation::Reject)
    .offset_conflict(OffsetConflict::Reject);

/// Returns what the clock of this machine shows.
pub fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
}

/// Writes a moment as RFC 3339 in UTC, to the microsecond.
pub fn rfc3339(at: Timestamp) -> String {
    str::to_owned(&short(at))
}

/// The same, without an allocation.
pub(crate) fn short(at: Timestamp) -> Text<27> {
    Text::of(&Rfc3339(at))
}

struct Rfc3339(Timestamp);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0.as_micros()) {
            Ok(at) => PRINTER.print_timestamp(&at, StdFmtWrite(f)).map_err(|_| fmt::Error),
            Err(_) => f.write_str("out of range"),
        }
    }
}

/// Reads a moment: RFC 3339 with an offset, or a local time with its zone, `2027-03-01T10:00:00[Asia/Seoul]`.
///
/// # Errors
///
/// A sentence that names what is wrong: no offset and no zone, a local time that the zone skips or
/// has twice, or no moment at all.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let moment = if text.contains('[') {
        PARSER.parse_zoned(text).map(|zoned| zoned.timestamp()).map_err(|why| match zone(text) {
            Some(zone) if TimeZone::get(zone).is_err() => {
                format!("{text:?} is not a time: there is no zone {zone:?}")
            }
            Some(zone) if is_twice_or_never(text, zone) => format!(
                "{text:?} is not one moment: in {zone} that local time is skipped or comes twice; \
                 give the offset as well"
            ),
            Some(_) | None => format!("{text:?} is not one moment: {why}"),
        })?
    } else {
        text.parse::<jiff::Timestamp>().map_err(|_| match text.parse::<civil::DateTime>() {
            Ok(_) => format!(
                "{text:?} has no offset: end it with Z or an offset such as +09:00, \
                 or with a zone such as [Asia/Seoul]"
            ),
            Err(_) => match text.parse::<civil::Date>() {
                Ok(date) => format!("{text:?} has no time of day: write {date}T10:00:00+09:00"),
                Err(_) => format!("{text:?} is not a time such as 2027-03-01T10:00:00+09:00"),
            },
        })?
    };
    Ok(Timestamp::from_micros(moment.as_microsecond()))
}

/// The name of the zone in `[…]`, where it is one and not an offset.
fn zone(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    let (zone, _) = rest.split_once(']')?;
    let zone = zone.strip_prefix('!').unwrap_or(zone);
    (!zone.starts_with(['+', '-'])).then_some(zone)
}

/// Says whether a local time without an offset is one that its zone skips or has twice.
fn is_twice_or_never(text: &str, zone: &str) -> bool {
    let local = text.split_once('[').and_then(|(local, _)| local.parse::<civil::DateTime>().ok());
    let zone = TimeZone::get(zone).ok();
    local.zip(zone).is_some_and(|(local, zone)| zone.to_ambiguous_zoned(local).is_ambiguous())
}

/// A text of at most `N` bytes, on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// Writes what a value looks like, as much of it as there is room for.
    pub(crate) fn of(value: &impl fmt::Display) -> Self {
        let mut text = Self::default();
        // It fails where there is no room left, and then the rest is left out.
        fmt::Write::write_fmt(&mut text, format_args!("{value}")).ok();
        text
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = self.len + more.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(more.as_bytes());
        self.len = end;
        Ok(())
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        // Whole strings were written, so it is UTF-8.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_back_as_it_was_written() {
        for (text, utc) in [
            ("2027-03-01T10:00:00+09:00", "2027-03-01T01:00:00.000000Z"),
            ("2027-03-01T10:00:00.5Z", "2027-03-01T10:00:00.500000Z"),
            ("2027-03-01T10:00:00[Asia/Seoul]", "2027-03-01T01:00:00.000000Z"),
            ("2027-10-31T02:30:00+01:00[Europe/Berlin]", "2027-10-31T01:30:00.000000Z"),
        ] {
            let at = parse(text).unwrap();
            assert_eq!(rfc3339(at), utc);
            assert_eq!(parse(utc), Ok(at));
        }
    }

    #[test]
    fn what_is_not_one_moment_is_refused_with_the_reason() {
        for (text, reason) in [
            ("2027-03-01T10:00:00", "no offset"),
            ("2027-03-28T02:30:00[Europe/Berlin]", "in Europe/Berlin that local time is skipped"),
            ("2027-10-31T02:30:00[Europe/Berlin]", "give the offset as well"),
            ("2027-03-01T10:00:00[Mars/Olympus]", "there is no zone \"Mars/Olympus\""),
            ("2027-03-01T10:00:00+05:00[Asia/Seoul]", "not one moment"),
            ("tomorrow", "not a time such as 2027-"),
            ("2027-03-01", "no offset"),
            ("2027-02-30T10:00:00Z", "not a time"),
            ("2027-03-01T10:00:00[", "not one moment"),
            ("", "not a time"),
            ("99999-01-01T00:00:00Z", "not a time"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(reason), "{text}: {why}");
        }
    }

    #[test]
    fn what_has_room_is_written_whole_and_what_has_none_is_left_out() {
        assert_eq!(&*Text::<4>::of(&1234), "1234");
        assert_eq!(&*Text::<4>::of(&"é1"), "é1");
        assert_eq!(&*Text::<4>::of(&12345), "");
        assert_eq!(&*Text::<4>::of(&""), "");
    }
}
