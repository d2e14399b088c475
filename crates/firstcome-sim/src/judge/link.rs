//! Finds the predecessor of each entry.

use super::Broken;
use crate::history::{History, StoredEntry};
use firstcome_core::Command;
use firstcome_core::command::Body;
use firstcome_journal::Name;
use std::collections::{BTreeMap, BTreeSet};

/// Reads an entry's commands.
pub(super) fn read(stored: &StoredEntry) -> Result<Vec<Command<'_>>, String> {
    let body = Body::open(&stored.entry.body).map_err(|why| format!("its body {why}"))?;
    let name = body.head.name();
    if name != stored.name {
        return Err(format!("its body is that of {name}"));
    }
    body.commands().map_err(|why| format!("its body {why}"))
}

/// The entries after each entry, and those without a predecessor.
#[derive(Default)]
pub(super) struct Links(BTreeMap<Option<usize>, BTreeSet<usize>>);

impl Links {
    /// Finds them: by their order on servers and in the final journal, else by name.
    pub(super) fn find(history: &History, wrong: &mut Vec<Broken>) -> Self {
        let stored = &history.stored[..];
        let mut links = Self::default();
        let mut linked = vec![false; stored.len()];
        let mut link = |before: Option<usize>, next: Option<usize>| {
            if let Some(next) = next.filter(|next| fits(stored, before, *next)) {
                links.0.entry(before).or_default().insert(next);
                linked[next] = true;
            }
        };
        let mut last: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for change in &history.head_changes {
            let before = last.insert(change.server, change.last).flatten();
            if !change.replaced {
                link(before, change.last);
            }
        }
        let mut before = None;
        for next in history.end.journal.iter().copied().map(Some) {
            link(before, next);
            before = next;
        }
        links.by_name(stored, &linked, wrong);
        links.check_time(stored, wrong);
        links
    }

    /// Returns the entries after one, in the order in which they came to be.
    pub(super) fn after(&self, before: Option<usize>) -> impl Iterator<Item = usize> {
        self.0.get(&before).into_iter().flatten().copied()
    }

    /// Finds what the others name.
    fn by_name(&mut self, stored: &[StoredEntry], linked: &[bool], wrong: &mut Vec<Broken>) {
        let mut named: BTreeMap<(u64, Name), usize> = BTreeMap::new();
        for (index, one) in stored.iter().enumerate() {
            if let Some(other) = named.insert((one.entry.position, one.name), index) {
                let what = format!("{} and {} have one name", stored[other].tell(), one.tell());
                wrong.push(Broken::new("name_of_one_entry", what));
            }
        }
        for next in (0..stored.len()).filter(|next| !linked[*next]) {
            let entry = &stored[next].entry;
            let known = named.get(&(entry.position.wrapping_sub(1), entry.before)).copied();
            let before = known.filter(|before| fits(stored, Some(*before), next));
            if before.is_none() && !fits(stored, None, next) {
                let what =
                    format!("{} names an entry before it that never was", stored[next].tell());
                wrong.push(Broken::new("entries_chained", what));
                continue;
            }
            self.0.entry(before).or_default().insert(next);
        }
    }

    fn check_time(&self, stored: &[StoredEntry], wrong: &mut Vec<Broken>) {
        for (before, after) in &self.0 {
            let Some(before) = before.map(|before| &stored[before]) else { continue };
            for next in after.iter().map(|next| &stored[*next]) {
                let (earlier, later) = (&before.entry, &next.entry);
                if later.at < earlier.at || later.epoch < earlier.epoch {
                    let back = if later.at < earlier.at { "time" } else { "epoch" };
                    let what = format!(
                        "the {back} of {} is before that of {}",
                        next.tell(),
                        before.tell()
                    );
                    wrong.push(Broken::new("time_never_goes_back", what));
                }
            }
        }
    }
}

/// Says whether an entry names another, or nothing, as the one before it.
fn fits(stored: &[StoredEntry], before: Option<usize>, next: usize) -> bool {
    let next = &stored[next].entry;
    let (position, name) = match before.map(|before| &stored[before]) {
        None => (0, Name::default()),
        Some(before) => (before.entry.position, before.name),
    };
    next.position == position + 1 && next.before == name
}
