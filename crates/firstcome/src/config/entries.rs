//! What the `[[entries]]` of a setting are, and how each kind of them is read.

use super::origin::SettingOrigin;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The `[[entries]]` of a setting, and where they begin.
#[derive(Debug)]
pub(super) struct Section<E> {
    pub(super) entries: Vec<E>,
    pub(super) origin: SettingOrigin,
    /// A hash of all that stands there.
    pub(super) fingerprint: u64,
}

impl<E> Default for Section<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), origin: SettingOrigin::Default, fingerprint: 0 }
    }
}

impl<E> Section<E> {
    /// Returns where the entries begin, and their hash.
    pub(super) fn noted(&self) -> (SettingOrigin, u64) {
        (self.origin.clone(), self.fingerprint)
    }
}

/// How the `[[entries]]` of a setting are read.
pub(super) struct Entries<E> {
    pub(super) setting: &'static str,
    /// The fields an entry may have, in the order they are documented.
    pub(super) fields: &'static [&'static str],
    /// Those it must have.
    pub(super) required: &'static [&'static str],
    /// Returns an entry in which nothing is said yet.
    pub(super) begin: fn() -> E,
    /// Reads one field into an entry, or says what the field must be.
    pub(super) read: fn(&mut E, &str, &str) -> Result<(), String>,
    /// Says what is wrong with an entry as a whole.
    pub(super) whole: fn(&E) -> Result<(), String>,
    /// Returns what no two entries may share.
    pub(super) name: fn(&E) -> &str,
}

/// Returns a hash by which a change is noticed while this process runs.
pub(super) fn fingerprint(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
