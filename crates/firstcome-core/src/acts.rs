//! What operators did to one campaign: its last acts, in the order of the journal.

use crate::limits::ACTS;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Acts whose numbers are neighbours, kept and written together: with the longest texts they fit one piece.
const TOGETHER: u32 = 64;

macro_rules! deeds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// What an operator asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Deed {
            $($(#[$doc])* $name = $code,)*
        }

        impl Deed {
            /// Every deed once.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the stable string.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

deeds! {
    /// To create the campaign or to change its settings.
    Put = 1, "put";
    /// To pause it.
    Pause = 2, "pause";
    /// To resume it.
    Resume = 3, "resume";
    /// To close it.
    Close = 4, "close";
    /// To archive it. Done, it leaves memory with its acts: only a refused one is listed.
    Archive = 5, "archive";
    /// To delete it. Done, its acts are gone: only a refused one is listed.
    Delete = 6, "delete";
    /// To add seats and areas.
    AddSeats = 7, "add_seats";
    /// To change seats.
    ChangeSeats = 8, "change_seats";
    /// To take units out of sale.
    Block = 9, "block";
    /// To put units back on sale.
    Unblock = 10, "unblock";
    /// To exchange a seat for another.
    Move = 11, "move";
    /// To bar a subject.
    Bar = 12, "bar";
    /// To take a bar back.
    Unbar = 13, "unbar";
    /// To cancel a claim on the operator's word.
    Cancel = 14, "cancel";
    /// To revoke codes.
    RevokeCodes = 15, "revoke_codes";
    /// To suspend codes.
    SuspendCodes = 16, "suspend_codes";
    /// To restore suspended codes.
    RestoreCodes = 17, "restore_codes";
    /// To revoke all codes of an import.
    RevokeImport = 18, "revoke_import";
    /// To replace the code of a claim.
    ReplaceCode = 19, "replace_code";
    /// To put the codes of an import into stock.
    CommitImport = 20, "commit_import";
    /// To give an import up.
    DiscardImport = 21, "discard_import";
}

impl Deed {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|deed| u64::from(deed.code()) == code)
    }
}

/// An operator's command that the journal decided, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// When.
    pub at: Timestamp,
    /// The name of the key it was given with; may be empty.
    pub who: Box<str>,
    /// What was asked for.
    pub deed: Deed,
    /// What it was about, in names and numbers: seats, a subject, settings that changed; may be empty.
    pub about: Box<str>,
    /// Why, as the operator gave it; may be empty.
    pub reason: Box<str>,
    /// The outcome's stable string.
    pub outcome: Box<str>,
}

impl Act {
    fn memory(&self) -> usize {
        let texts = self.who.len() + self.about.len() + self.reason.len() + self.outcome.len();
        size_of::<Self>() + 48 + texts
    }
}

pub(crate) type NeighbourActs = Vec<Act>;

/// The last acts on a campaign. Numbers go up from 1 in the order of the journal.
#[derive(Debug, Default)]
pub(crate) struct Acts {
    /// By number / 64: a few more than are given, so that a chunk goes as a whole.
    pub(crate) chunks: BTreeMap<u32, Arc<NeighbourActs>>,
    pub(crate) last: u32,
    bytes: usize,
}

impl Acts {
    /// Returns the number of the first act of a chunk.
    pub(crate) fn first_of(chunk: u32) -> u32 {
        (chunk * TOGETHER).max(1)
    }

    /// Adds an act behind the last one; the oldest go.
    pub(crate) fn push(&mut self, act: Act) {
        // After four thousand million acts the list stays as it is.
        let Some(number) = self.last.checked_add(1) else { return };
        self.put(number, act);
        let Some(oldest) = number.checked_sub(ACTS) else { return };
        while let Some(entry) = self.chunks.first_entry()
            && (entry.key() + 1) * TOGETHER <= oldest + 1
        {
            let gone = entry.remove();
            self.bytes -= gone.iter().map(Act::memory).sum::<usize>();
        }
    }

    /// Adds an act, new or from a snapshot, whose number follows the last one's.
    pub(crate) fn put(&mut self, number: u32, act: Act) {
        self.last = number;
        self.bytes += act.memory();
        // A snapshot under way may hold the chunk: then this copies it.
        Arc::make_mut(self.chunks.entry(number / TOGETHER).or_default()).push(act);
    }

    /// Says whether the act of this number can be the next one of a snapshot.
    pub(crate) fn follows(&self, number: u32) -> bool {
        let first = self.chunks.is_empty() && number == Self::first_of(number / TOGETHER);
        let kept: usize = self.chunks.values().map(|chunk| chunk.len()).sum();
        (first && number > 0)
            || (self.last > 0
                && number == self.last.wrapping_add(1)
                && kept < (ACTS + TOGETHER) as usize)
    }

    /// Returns the last [`ACTS`] acts with their numbers, the newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = (u32, &Act)> {
        let acts = self.chunks.iter().rev().flat_map(|(chunk, acts)| {
            let first = Self::first_of(*chunk);
            (first..).zip(acts.iter()).collect::<Vec<_>>().into_iter().rev()
        });
        acts.take(ACTS as usize)
    }

    /// Returns about how many bytes they take. They are counted as they change.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    /// Returns [`Self::memory`] by looking at every act.
    pub(crate) fn walked_memory(&self) -> usize {
        self.chunks.values().flat_map(|chunk| chunk.iter()).map(Act::memory).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(number: u32) -> Act {
        let (at, deed) = (Timestamp::from_micros(i64::from(number)), Deed::Pause);
        let who = number.to_string().into();
        Act { at, who, deed, about: "".into(), reason: "".into(), outcome: "changed".into() }
    }

    #[test]
    fn the_last_thousand_are_given_and_few_more_are_kept() {
        let mut acts = Acts::default();
        for number in 1..=3_000 {
            acts.push(act(number));
            let given: Vec<_> = acts.newest_first().collect();
            assert_eq!(given.len(), number.min(ACTS) as usize);
            assert!(given.iter().all(|(number, act)| *act.who == *number.to_string()));
            assert_eq!(given.first().map(|(number, _)| *number), Some(number));
            let kept: usize = acts.chunks.values().map(|chunk| chunk.len()).sum();
            assert!(kept < (ACTS + TOGETHER) as usize, "{kept} are kept");
            assert_eq!(acts.memory(), acts.walked_memory());
        }
    }

    #[test]
    fn a_deed_is_known_by_its_number_and_its_string() {
        let mut strings: Vec<_> = Deed::ALL.iter().map(|deed| deed.as_str()).collect();
        strings.dedup();
        assert_eq!(strings.len(), Deed::ALL.len());
        assert!(Deed::ALL.iter().all(|deed| Deed::of(u64::from(deed.code())) == Some(*deed)));
        assert_eq!(Deed::of(0), None);
    }
}
