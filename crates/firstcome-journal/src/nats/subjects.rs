//! The stream of a journal, and the subjects in it.

use crate::cell::Kind;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::names::PieceName;
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_64;

/// The names of a journal's stream and subjects.
#[derive(Clone, Debug)]
pub(super) struct Subjects {
    space: String,
    shard: u32,
}

impl Subjects {
    pub(super) fn of(space: &str, shard: u32) -> Result<Self, Failure> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if space.is_empty() || !space.chars().all(fits) {
            return Err(Failure::Unfit {
                why: "the name of a space in NATS has only letters, digits, - and _".to_owned(),
                fix: "choose another --space".to_owned(),
            });
        }
        Ok(Self { space: space.to_owned(), shard })
    }

    pub(super) fn stream(&self) -> String {
        format!("fc_journal_{}_{}", self.space, self.shard)
    }

    /// Where news of an entry are told; they are not stored.
    pub(super) fn news(&self) -> String {
        format!("fc-news.{}.{}", self.space, self.shard)
    }

    fn under(&self, rest: impl std::fmt::Display) -> String {
        format!("fc.{}.{}.{rest}", self.space, self.shard)
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

    /// All entries, without the parts of those that are in several messages.
    pub(super) fn entries(&self) -> String {
        self.under("entry.*.*")
    }

    /// All entries and their parts.
    pub(super) fn all_of_entries(&self) -> String {
        self.under("entry.>")
    }

    /// The rest of an entry that does not fit into one message, by the subject of its front.
    pub(super) fn rest(entry: &str) -> String {
        format!("{entry}.rest")
    }

    /// The entry at a position, whatever its name is.
    pub(super) fn at(&self, position: u64) -> String {
        self.under(format_args!("entry.{position}.*"))
    }

    /// The entry at a position under a name: whoever names it names which one is meant.
    pub(super) fn entry(&self, position: u64, name: Name) -> String {
        self.under(format_args!("entry.{position}.{:016x}", xxh3_64(&name.to_bytes())))
    }

    /// The position in the subject of an entry.
    pub(super) fn position(&self, subject: &str) -> Option<u64> {
        subject.strip_prefix(&self.under("entry."))?.split('.').next()?.parse().ok()
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
        let subjects = Subjects::of("main", 0).unwrap();
        assert_eq!(subjects.stream(), "fc_journal_main_0");
        let entry = subjects.entry(12, Name::default());
        assert!(entry.starts_with("fc.main.0.entry.12."), "{entry}");
        assert_eq!(subjects.position(&entry), Some(12));
        assert_eq!(subjects.position(&subjects.head()), None);
        let part = subjects.part(Kind::Report, b"\x00key", 3);
        assert_eq!(Subjects::key_and_part(&part), Some((b"\x00key".to_vec(), 3)));
        for bad in ["", "a.b", "a b", "*", ">", "ä"] {
            assert!(Subjects::of(bad, 0).is_err(), "{bad}");
        }
    }
}
