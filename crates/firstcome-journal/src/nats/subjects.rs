//! The streams of a journal, and the subjects in them.

use crate::error::JournalError;
use crate::transaction::cell::Kind;
use firstcome_core::names::PieceName;
use std::fmt::Write as _;

/// The names of a journal's streams and subjects.
#[derive(Clone, Debug)]
pub(super) struct Subjects {
    space: String,
}

impl Subjects {
    pub(super) fn of(space: &str) -> Result<Self, JournalError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if space.is_empty() || !space.chars().all(fits) {
            return Err(JournalError::Unfit {
                why: "the name of a space in NATS has only letters, digits, - and _".to_owned(),
                fix: "choose another --space".to_owned(),
            });
        }
        Ok(Self { space: space.to_owned() })
    }

    /// The name of the stream that is a table.
    pub(super) fn table(&self) -> String {
        format!("fc_journal_{}", self.space)
    }

    /// The name of the stream with the log.
    pub(super) fn log(&self) -> String {
        format!("fc_log_{}", self.space)
    }

    /// All messages of the log.
    pub(super) fn all_of_log(&self) -> String {
        self.in_log("*")
    }

    /// Entries, and parts of entries.
    pub(super) fn entries(&self) -> String {
        self.in_log("entry")
    }

    /// Where the journal goes on after a state.
    pub(super) fn restarts(&self) -> String {
        self.in_log("restart")
    }

    fn in_log(&self, rest: &str) -> String {
        format!("fc-log.{}.{rest}", self.space)
    }

    fn under(&self, rest: impl std::fmt::Display) -> String {
        format!("fc.{}.{rest}", self.space)
    }

    pub(super) fn all(&self) -> String {
        self.under(">")
    }

    pub(super) fn head(&self) -> String {
        self.under("head")
    }

    pub(super) fn index(&self) -> String {
        self.under("index")
    }

    pub(super) fn piece(&self, name: PieceName) -> String {
        self.under(format_args!("piece.{}", hex(&name.0)))
    }

    pub(super) fn cells(&self, kind: Kind) -> String {
        self.under(format_args!("cell.{}.>", word(kind)))
    }

    /// All parts of a cell.
    pub(super) fn cell(&self, kind: Kind, key: &[u8]) -> String {
        self.under(format_args!("cell.{}.{}.*", word(kind), hex(key)))
    }

    pub(super) fn part(&self, kind: Kind, key: &[u8], part: usize) -> String {
        self.under(format_args!("cell.{}.{}.{part}", word(kind), hex(key)))
    }

    /// The key and the part in the subject of a cell's part.
    pub(super) fn key_and_part(subject: &str) -> Option<(Vec<u8>, usize)> {
        let mut ends = subject.rsplit('.');
        let part = ends.next()?.parse().ok()?;
        Some((unhex(ends.next()?)?, part))
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Skip => "skip",
        Kind::Node => "node",
        Kind::Report => "report",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_can_be_read_back() {
        let subjects = Subjects::of("main").unwrap();
        assert_eq!(subjects.table(), "fc_journal_main");
        assert_eq!(subjects.log(), "fc_log_main");
        let part = subjects.part(Kind::Report, b"\x00key", 3);
        assert_eq!(Subjects::key_and_part(&part), Some((b"\x00key".to_vec(), 3)));
        for bad in ["", "a.b", "a b", "*", ">", "ä"] {
            assert!(Subjects::of(bad).is_err(), "{bad}");
        }
    }
}
