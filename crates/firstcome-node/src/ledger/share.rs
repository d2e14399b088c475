//! What a batch has of each pool, and whether that goes on from what a ledger has.

use super::{LedgerError, Row};
use firstcome_core::results::Kind;
use std::collections::BTreeMap;

/// What a batch has of each pool, by the number of the campaign and that of the pool in it.
pub(super) type Shares<'a> = BTreeMap<(u32, u16), Share<'a>>;

/// What a batch has of one pool.
#[derive(Debug)]
pub(super) struct Share<'a> {
    pub(super) campaign: &'a str,
    pub(super) pool: &'a str,
    pub(super) first_result: u64,
    pub(super) last_result: u64,
    /// The rank of the last claim; 0 without one.
    pub(super) last_rank: u32,
    pub(super) cancels: u64,
    /// Number and rank of the first claim.
    first_claim: Option<(u64, u32)>,
}

/// Returns what rows have of each pool.
///
/// # Errors
///
/// A rank does not come behind the one before.
pub(super) fn shares(rows: &[Row]) -> Result<Shares<'_>, LedgerError> {
    let mut shares = Shares::new();
    for row in rows {
        let Row { number, campaign, pool, rank, .. } = row;
        let share = shares.entry((row.campaign_number, row.pool_number)).or_insert(Share {
            campaign,
            pool,
            first_result: *number,
            last_result: *number,
            last_rank: 0,
            cancels: 0,
            first_claim: None,
        });
        share.last_result = *number;
        share.cancels += u64::from(row.kind == Kind::Cancel);
        if row.kind == Kind::Claim {
            if *rank <= share.last_rank {
                return Err(claimed_before(*number));
            }
            share.last_rank = *rank;
            share.first_claim.get_or_insert((*number, *rank));
        }
    }
    Ok(shares)
}

impl Share<'_> {
    /// Compares it with what a ledger has of the pool of these numbers: its names, and the last rank.
    pub(super) fn goes_on(
        &self,
        (campaign, pool): (&str, &str),
        last_rank: i64,
    ) -> Result<(), LedgerError> {
        if (campaign, pool) != (self.campaign, self.pool) {
            let why = format!("its pool is called {campaign}/{pool} there");
            return Err(LedgerError::Differs { number: self.first_result, why });
        }
        match self.first_claim {
            Some((number, rank)) if i64::from(rank) <= last_rank => Err(claimed_before(number)),
            Some(_) | None => Ok(()),
        }
    }
}

fn claimed_before(number: u64) -> LedgerError {
    LedgerError::Differs { number, why: "its rank was claimed before".to_owned() }
}

/// Says whether some of the rows are about claims that must be there: what is looked up once they are written.
pub(super) fn are_about_claims(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.kind != Kind::Claim && row.rank > 0)
}

/// Says that there is no claim that a result could be about.
pub(super) fn misfit(number: u64) -> LedgerError {
    let why = "its subject has no such claim, or it was cancelled before".to_owned();
    LedgerError::Differs { number, why }
}
