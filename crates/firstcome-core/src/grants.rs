//! For each rank, the unit it was given and the hold it came from.

use crate::hold::UnitId;
use crate::names::PieceName;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Ranks kept, and written, together: with the longest ids they fit one piece.
pub(crate) const TOGETHER: usize = 2_048;

/// What a claim that came from a hold has beyond its subject and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant<'a> {
    /// The unit it was given for. It may have been moved since.
    pub(crate) unit: UnitId,
    /// The hold's id.
    pub(crate) hold: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    rank: u32,
    unit: UnitId,
    /// Which of the run's ids.
    id: u32,
}

/// Neighbouring ranks, each id once where it is the one of the row before.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrantRun {
    rows: Vec<Row>,
    ends: Vec<u32>,
    ids: String,
    /// The piece a full run was stored as.
    pub(crate) stored: OnceLock<PieceName>,
}

impl GrantRun {
    fn id(&self, id: u32) -> &str {
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.ids[start as usize..self.ends[id as usize] as usize]
    }

    fn push(&mut self, rank: u32, unit: UnitId, hold: &str) {
        let same = self.ends.len().checked_sub(1).filter(|last| self.id(*last as u32) == hold);
        let id = same.unwrap_or_else(|| {
            self.ids.push_str(hold);
            self.ends.push(self.ids.len() as u32);
            self.ends.len() - 1
        });
        self.rows.push(Row { rank, unit, id: id as u32 });
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Row>() + self.ends.capacity() * 4 + self.ids.capacity()
    }

    /// Says whether it never changes again.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() == TOGETHER
    }

    /// Returns the rows in the order of their ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Grant<'_>)> {
        let grant = |row: &Row| (row.rank, Grant { unit: row.unit, hold: self.id(row.id) });
        self.rows.iter().map(grant)
    }
}

/// The grants of one pool, by rank. Claims that came without a hold have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    pub(crate) runs: Vec<Arc<GrantRun>>,
    /// Where a claim's unit is now, if it was moved.
    pub(crate) moved: BTreeMap<u32, UnitId>,
    /// Bytes of all runs but the last.
    full: usize,
}

impl Grants {
    /// Adds a grant of a rank above all before.
    pub(crate) fn push(&mut self, rank: u32, unit: UnitId, hold: &str) {
        if self.runs.last().is_none_or(|run| run.is_full()) {
            self.full += self.runs.last().map_or(0, |run| run.memory());
            self.runs.push(Arc::default());
        }
        let last = self.runs.last_mut().expect("there is one");
        // A snapshot under way may hold the run: then this copies it.
        Arc::make_mut(last).push(rank, unit, hold);
    }

    /// Returns the last rank that has a grant.
    pub(crate) fn last_rank(&self) -> u32 {
        self.runs.last().and_then(|run| run.rows.last()).map_or(0, |row| row.rank)
    }

    pub(crate) fn of(&self, rank: u32) -> Option<Grant<'_>> {
        let after = self.runs.partition_point(|run| run.rows[0].rank <= rank);
        let run = &self.runs[after.checked_sub(1)?];
        let row = run.rows.binary_search_by_key(&rank, |row| row.rank).ok()?;
        let row = &run.rows[row];
        Some(Grant { unit: row.unit, hold: run.id(row.id) })
    }

    /// Returns the unit a claim has now, if it came from a hold.
    pub(crate) fn unit(&self, rank: u32) -> Option<UnitId> {
        self.moved.get(&rank).copied().or_else(|| self.of(rank).map(|grant| grant.unit))
    }

    /// Returns the bytes they take. They are counted as they come: see [`State::memory`](crate::State::memory).
    pub(crate) fn memory(&self) -> usize {
        self.full + self.runs.last().map_or(0, |run| run.memory()) + self.moved.len() * 32
    }

    /// Returns [`Self::memory`] by looking at every run.
    pub(crate) fn walked_memory(&self) -> usize {
        self.runs.iter().map(|run| run.memory()).sum::<usize>() + self.moved.len() * 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_that_was_granted_is_found_and_no_other() {
        let mut grants = Grants::default();
        for rank in (1..=20_000_u32).filter(|rank| rank % 3 != 0) {
            grants.push(rank, UnitId::Seat(rank * 2), &format!("h{}", rank / 4));
        }
        for rank in 0..=20_001_u32 {
            let hold = format!("h{}", rank / 4);
            let expected = (1..=20_000).contains(&rank) && rank % 3 != 0;
            let expected = expected.then_some(Grant { unit: UnitId::Seat(rank * 2), hold: &hold });
            assert_eq!(grants.of(rank), expected);
        }
        grants.moved.insert(4, UnitId::Seat(1));
        assert_eq!(grants.memory(), grants.walked_memory());
        assert_eq!(
            (grants.unit(4), grants.unit(5)),
            (Some(UnitId::Seat(1)), Some(UnitId::Seat(10)))
        );
        assert_eq!(grants.of(4).map(|grant| grant.unit), Some(UnitId::Seat(8)));
    }
}
