use crate::ledger::{Batch, LedgerError, Row, Standing, StoredWebhook};
use firstcome_core::results::Kind;
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

/// Campaign, pool, rank.
type ClaimKey = (Box<str>, Box<str>, u32);

/// A claim, as far as later results are compared with it.
#[derive(Clone, Debug)]
struct Claim {
    subject: Box<str>,
    is_cancelled: bool,
}

/// What a ledger has, and what it refuses: as the tables of `docs/reference/ledger.md`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    settled: Standing,
    /// By number.
    results: BTreeMap<u64, Row>,
    claims: BTreeMap<ClaimKey, Claim>,
    pub(super) webhooks: BTreeMap<String, StoredWebhook>,
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
        // One of rank 0 is about no claim.
        if row.rank > 0 {
            match (row.kind, self.claims.entry(key(row))) {
                (Kind::Claim, Entry::Vacant(free)) => {
                    free.insert(Claim { subject: row.subject.clone(), is_cancelled: false });
                }
                (Kind::Claim, Entry::Occupied(_)) => {
                    return Err("there is a claim of this rank".to_owned());
                }
                (Kind::Cancel, Entry::Occupied(claim)) if claim.get().is_cancelled => {
                    return Err("the claim was cancelled before".to_owned());
                }
                (kind, Entry::Occupied(mut claim)) if claim.get().subject == row.subject => {
                    claim.get_mut().is_cancelled |= kind == Kind::Cancel;
                }
                (_, Entry::Occupied(_) | Entry::Vacant(_)) => {
                    return Err("its subject has no such claim".to_owned());
                }
            }
        }
        self.results.insert(row.number, row.clone());
        Ok(())
    }

    /// Undoes what [`Tables::insert`] did.
    fn take_back(&mut self, row: &Row) {
        self.results.remove(&row.number);
        if row.kind == Kind::Claim {
            self.claims.remove(&key(row));
        } else if row.kind == Kind::Cancel
            && let Some(claim) = self.claims.get_mut(&key(row))
        {
            claim.is_cancelled = false;
        }
    }

    /// Returns how many claims of a pool there are, and how many of them are cancelled.
    pub(super) fn claim_counts(&self, campaign: &str, pool: &str) -> (u64, u64) {
        let of = |((of, place, _), _): &(&ClaimKey, &Claim)| (&**of, &**place) == (campaign, pool);
        self.claims.iter().filter(of).fold((0, 0), |(all, cancelled), (_, claim)| {
            (all + 1, cancelled + u64::from(claim.is_cancelled))
        })
    }

    /// Returns the results beyond a number, in order.
    pub(super) fn results_after(&self, after: u64) -> impl Iterator<Item = &Row> {
        self.results.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, row)| row)
    }
}

fn key(row: &Row) -> ClaimKey {
    (row.campaign.clone(), row.pool.clone(), row.rank)
}
