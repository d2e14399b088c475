//! How many issued codes count: their claims are live and nobody revoked them.

use super::{Codes, Stock};

/// How many issued codes were not revoked one by one and belong to a live claim, for each import; generated codes are
/// one import. A revoked import keeps its number: its codes do not count, whatever it is.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    by_import: Vec<u32>,
}

impl Standing {
    fn add(&mut self, import: usize) {
        if self.by_import.len() <= import {
            self.by_import.resize(import + 1, 0);
        }
        self.by_import[import] += 1;
    }

    fn take(&mut self, import: usize) {
        let known = self.by_import.get_mut(import).filter(|count| **count > 0);
        *known.expect("a code that stood was counted") -= 1;
    }

    pub(super) fn memory(&self) -> usize {
        self.by_import.len() * size_of::<u32>()
    }
}

/// Returns the number of the import that a unit came with.
fn import_of(stock: &Stock, unit: u32) -> usize {
    let after = stock.imports.partition_point(|import| import.first_unit <= unit);
    // Imports that added nothing begin where the one after them does.
    let found = stock.imports[..after].iter().rposition(|import| import.added > 0);
    found.expect("an issued unit came with an import")
}

impl Codes {
    fn import_of_rank(&self, rank: u32) -> usize {
        let Some(stock) = &self.stock else { return 0 };
        let word = self.issued.get(rank).expect("an issued code has its word");
        import_of(stock, word.number() as u32)
    }

    /// Counts the code that a live claim has now. It is not revoked by itself.
    pub(crate) fn stands(&mut self, rank: u32) {
        let import = self.import_of_rank(rank);
        self.standing.add(import);
    }

    /// Takes the code of a live claim out of the count, before it is revoked or replaced, or its claim is cancelled.
    /// One that was revoked is not counted any more.
    pub(crate) fn stands_no_more(&mut self, rank: u32) {
        if self.issued.get(rank).is_some_and(|word| !word.is_revoked()) {
            let import = self.import_of_rank(rank);
            self.standing.take(import);
        }
    }

    /// Says whether an issued code counts. Costs a step for each import.
    pub(crate) fn any_stands(&self) -> bool {
        let withdrawn = |nth: usize| self.imports().get(nth).is_some_and(|import| import.revoked);
        let mut counts = self.standing.by_import.iter().enumerate();
        counts.any(|(import, count)| *count > 0 && !withdrawn(import))
    }
}
