use crate::ledger::{Batch, LedgerError, Row, SettledCancel, SettledClaim, Standing};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

/// Campaign, pool, rank.
pub(super) type ResultKey = (Box<str>, Box<str>, u32);

/// What a ledger has: the tables of `docs/reference/ledger.md`, with their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    settled: Standing,
    /// By number.
    results: BTreeMap<u64, Row>,
    pub(super) claims: BTreeMap<ResultKey, SettledClaim>,
}

impl Tables {
    pub(super) fn standing(&self) -> Standing {
        self.settled
    }

    pub(super) fn mint_term(&mut self) -> Standing {
        self.settled.term += 1;
        self.settled
    }

    /// Writes a batch, all of it or nothing.
    pub(super) fn settle(&mut self, batch: &Batch) -> Result<Standing, LedgerError> {
        let Batch { after, term, rows } = batch;
        let found = self.settled;
        if found.term != *term && !inject(Mistake::TermNotCompared) {
            return Err(LedgerError::OldTerm { ours: *term, theirs: found.term });
        }
        if inject(Mistake::SettleWithoutCompare) {
            return Ok(self.settle_anyway(batch));
        }
        if found.through != *after {
            return Err(LedgerError::Moved { after: *after, through: found.through });
        }
        for (place, row) in rows.iter().enumerate() {
            if let Err(why) = self.insert(row) {
                rows[..place].iter().rev().for_each(|row| self.take_back(row));
                return Err(LedgerError::Differs { number: row.number, why });
            }
        }
        let through = rows.last().map_or(*after, |row| row.number);
        self.settled.through = through;
        Ok(Standing { through, term: *term })
    }

    /// Writes what is not there, wherever the ledger stands: see [`Mistake::SettleWithoutCompare`].
    fn settle_anyway(&mut self, batch: &Batch) -> Standing {
        for row in &batch.rows {
            if self.insert(row).is_err() {
                self.results.entry(row.number).or_insert_with(|| row.clone());
            }
        }
        let through = batch.rows.last().map_or(batch.after, |row| row.number);
        self.settled.through = through;
        Standing { through, term: batch.term }
    }

    /// Writes one row, or says what speaks against it.
    fn insert(&mut self, row: &Row) -> Result<(), String> {
        if self.results.contains_key(&row.number) {
            return Err("there is a result of this number".to_owned());
        }
        if row.rank == 0 {
            // About no claim.
            self.results.insert(row.number, row.clone());
            return Ok(());
        }
        let claim = self.claims.entry(key(row));
        match (row.kind, claim) {
            (Kind::Claim, Entry::Vacant(free)) => {
                free.insert(SettledClaim {
                    pool: row.pool.clone(),
                    rank: row.rank,
                    subject: row.subject.clone(),
                    at: row.at,
                    result: row.number,
                    cancel: None,
                    unit: row.unit.clone(),
                    hold: row.hold.clone(),
                });
            }
            (Kind::Claim, Entry::Occupied(_)) => {
                return Err("there is a claim of this rank".to_owned());
            }
            (Kind::Cancel, Entry::Occupied(mut claim))
                if claim.get().cancel.is_none() && claim.get().subject == row.subject =>
            {
                claim.get_mut().cancel = Some(SettledCancel {
                    at: row.at,
                    by: row.by.unwrap_or(By::Subject),
                    reason: row.reason.clone(),
                    who: row.who.clone(),
                    result: row.number,
                });
            }
            (Kind::Cancel, Entry::Occupied(_) | Entry::Vacant(_)) => {
                return Err("there is no such claim to cancel".to_owned());
            }
            (Kind::Moved, Entry::Occupied(mut claim)) if claim.get().subject == row.subject => {
                claim.get_mut().unit = row.unit.clone();
            }
            (Kind::Redeemed | Kind::RolledBack | Kind::CodeMarked, Entry::Occupied(claim))
                if claim.get().subject == row.subject => {}
            (Kind::Redeemed | Kind::RolledBack | Kind::CodeMarked, _) => {
                return Err("there is no such claim whose code it is about".to_owned());
            }
            (
                Kind::Moved | Kind::RefundDue | Kind::Unserved,
                Entry::Occupied(_) | Entry::Vacant(_),
            ) => {
                return Err("there is no such claim to move".to_owned());
            }
        }
        self.results.insert(row.number, row.clone());
        Ok(())
    }

    /// Undoes what [`Tables::insert`] did.
    fn take_back(&mut self, row: &Row) {
        self.results.remove(&row.number);
        match row.kind {
            Kind::Claim => drop(self.claims.remove(&key(row))),
            Kind::Cancel => {
                if let Some(claim) = self.claims.get_mut(&key(row)) {
                    claim.cancel = None;
                }
            }
            Kind::Moved => {
                if let Some(claim) = self.claims.get_mut(&key(row)) {
                    claim.unit = row.moved_from.clone();
                }
            }
            Kind::RefundDue
            | Kind::Redeemed
            | Kind::RolledBack
            | Kind::CodeMarked
            | Kind::Unserved => {}
        }
    }

    /// Returns the results beyond a number, in order.
    pub(super) fn results_after(&self, after: u64) -> impl Iterator<Item = &Row> {
        self.results.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, row)| row)
    }

    /// Returns the claims of a campaign beyond a pool and rank, in order.
    pub(super) fn claims_after(
        &self,
        campaign: Box<str>,
        pool: Box<str>,
        rank: u32,
    ) -> impl Iterator<Item = &SettledClaim> {
        let from = (campaign.clone(), pool, rank);
        let claims = self.claims.range((Bound::Excluded(from), Bound::Unbounded));
        claims.take_while(move |((of, ..), _)| *of == campaign).map(|(_, claim)| claim)
    }
}

fn key(row: &Row) -> ResultKey {
    (row.campaign.clone(), row.pool.clone(), row.rank)
}
