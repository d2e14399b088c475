//! Reads codes: how one stands, whose it is, and what happened to it.

use super::Campaign;
use crate::codes::{CodeKey, CodeMark, CodeUnit, Codes, Found, IssuedCode, Stock, Use};
use crate::outcome::{CodeRefusal, Refusal};
use crate::time::Timestamp;

/// How an issued code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeStatus {
    /// It can be reserved and redeemed.
    Issued,
    /// What is left of it is reserved.
    Reserved,
    /// Every use is redeemed.
    Redeemed,
    /// It is not valid any more.
    Expired,
    /// It does not count until somebody decides.
    Suspended,
    /// It does not count any more: revoked, replaced, or its claim was cancelled.
    Revoked,
}

impl CodeStatus {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Reserved => "reserved",
            Self::Redeemed => "redeemed",
            Self::Expired => "expired",
            Self::Suspended => "suspended",
            Self::Revoked => "revoked",
        }
    }
}

/// An issued code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeView<'a> {
    pub pool: &'a str,
    /// The rank of its claim.
    pub rank: u32,
    /// Whose it is.
    pub subject: &'a str,
    /// Its issue number: 1, and one more each time it was replaced.
    pub issue: u16,
    /// What the code that counts now is made from.
    pub unit: CodeUnit<'a>,
    /// When it was first issued.
    pub issued_at: Timestamp,
    /// The moment from which on it cannot be redeemed, if there is one.
    pub expires_at: Option<Timestamp>,
    /// How it stands.
    pub status: CodeStatus,
    /// How many times it can be redeemed.
    pub uses: u32,
    /// How many of them are gone.
    pub used: u32,
    /// How many of them are reserved.
    pub reserved: u32,
}

impl Campaign {
    /// Returns the code that a key is of, as of a moment and a service time. A code that was replaced stands as revoked.
    ///
    /// # Errors
    ///
    /// `not_found` (the pool), `pool_required`, `not_coded`, `no_such_code`, `not_issued`, in this order.
    pub fn code(
        &self,
        pool: Option<&str>,
        code: CodeKey,
        now: (Timestamp, i64),
    ) -> Result<CodeView<'_>, Refusal> {
        let index = self.pool_named(pool)?;
        let codes = self.pools[index].codes().ok_or(CodeRefusal::NotCoded)?;
        match codes.find(code) {
            Found::No => Err(CodeRefusal::NoSuchCode.into()),
            Found::InStock { .. } => Err(CodeRefusal::NotIssued.into()),
            Found::Issued { rank, replaced } => {
                let view = self.code_at(index, rank, now).ok_or(CodeRefusal::NoSuchCode)?;
                let status = if replaced { CodeStatus::Revoked } else { view.status };
                Ok(CodeView { status, ..view })
            }
        }
    }

    /// Returns a code as a pool, by its index, knows it: issued, replaced, or in stock.
    pub fn known_code(&self, index: usize, code: CodeKey) -> Option<CodeKey> {
        let codes = self.pools.get(index)?.codes()?;
        match (code, codes.stock.as_deref()) {
            (CodeKey::Imported { hash }, Some(stock)) => {
                Some(CodeKey::Imported { hash: stock.hash(stock.find(&hash)?) })
            }
            _ => (codes.find(code) != Found::No).then_some(code),
        }
    }

    /// Returns the codes that a subject has or had, pool by pool, the latest of each first; one that came back is that of its
    /// latest rank.
    pub fn codes_of<'a>(
        &'a self,
        subject: &'a str,
        now: (Timestamp, i64),
    ) -> impl Iterator<Item = CodeView<'a>> {
        let pools = self.pools.iter().enumerate().filter(|(_, pool)| pool.codes().is_some());
        pools.flat_map(move |(index, pool)| {
            let ranks = pool.claims_of(subject).map(|claim| claim.rank);
            let has = move |rank: &u32| self.code_of_rank(index, *rank).is_some();
            ranks.filter(has).filter_map(move |rank| self.code_at(index, rank, now))
        })
    }

    /// Returns the code of a rank of a coded pool, by the pool's index.
    pub fn code_at(
        &self,
        index: usize,
        rank: u32,
        (at, service): (Timestamp, i64),
    ) -> Option<CodeView<'_>> {
        let pool = self.pools.get(index)?;
        let (codes, claim) = (pool.codes()?, pool.claim(rank)?);
        let word = codes.issued.get(rank)?;
        let first = codes.first_rank(rank);
        let (uses, used) = (codes.settings.uses, codes.uses.tally(first).used);
        let reserved = codes.uses.live(first, service) as u32;
        let expires_at = codes.settings.expires_at(claim.at);
        let status = if codes.is_revoked(rank) || claim.cancel.is_some() {
            CodeStatus::Revoked
        } else if word.is_suspended() {
            CodeStatus::Suspended
        } else if used >= uses {
            CodeStatus::Redeemed
        } else if expires_at.is_some_and(|expires_at| expires_at <= at) {
            CodeStatus::Expired
        } else if used.saturating_add(reserved) >= uses {
            CodeStatus::Reserved
        } else {
            CodeStatus::Issued
        };
        Some(CodeView {
            pool: pool.name(),
            rank,
            subject: claim.subject,
            issue: word.issue(),
            unit: codes.unit(codes.of_rank(rank)?)?,
            issued_at: claim.at,
            expires_at,
            status,
            uses,
            used,
            reserved,
        })
    }

    /// Returns the imported codes of a pool that were ever issued, each with the rank of its claim: those of cancelled claims,
    /// and those that were replaced since, too. Costs a step for each imported code of the pool.
    pub fn issued_imported_codes(&self, pool: &str) -> impl Iterator<Item = (CodeKey, u32)> {
        let codes = self.pool(pool).and_then(|pool| pool.codes());
        let stock = codes.and_then(|codes| codes.stock.as_deref());
        let issued = stock.into_iter().flat_map(Stock::issued);
        issued.map(|(hash, rank)| (CodeKey::Imported { hash }, rank))
    }

    /// Returns the code that a rank of a coded pool, by the pool's index, has now; none if it came back under a later rank.
    pub fn code_of_rank(&self, index: usize, rank: u32) -> Option<CodeKey> {
        let codes = self.pools.get(index)?.codes()?;
        if codes.find(CodeKey::Rank(rank)) != (Found::Issued { rank, replaced: false }) {
            return None;
        }
        let number = codes.issued.get(rank)?.number();
        Some(match codes.stock.as_deref() {
            None => CodeKey::Generated { unit: rank, tag: number },
            Some(stock) => CodeKey::Imported { hash: stock.hash(number as u32) },
        })
    }

    /// Returns what a code is made from that came with a claim of a subject, by the pool's index; the claim may have another code
    /// by now. None where it was not issued to the subject as of this state: after a failover that may be so.
    pub fn unit_issued_to(
        &self,
        index: usize,
        subject: &str,
        code: IssuedCode,
    ) -> Option<CodeUnit<'_>> {
        let pool = self.pools.get(index)?;
        let codes = pool.codes()?;
        let claim = pool.claim(codes.rank_issued(code)?)?;
        (claim.subject == subject).then(|| codes.unit(code)).flatten()
    }

    /// Returns whose claim a code of a pool was issued to, if it was; the claim may be cancelled, and have another code now.
    pub fn who_was_issued(&self, pool: &str, code: CodeKey) -> Option<&str> {
        let pool = self.pool(pool)?;
        match pool.codes()?.find(code) {
            Found::Issued { rank, .. } => Some(pool.claim(rank)?.subject),
            Found::InStock { .. } | Found::No => None,
        }
    }

    /// Returns what references did with the code of a rank, the last first, each with its number in the pool.
    pub fn uses_of(&self, index: usize, rank: u32) -> impl Iterator<Item = (u32, &Use)> {
        let codes = self.pools.get(index).and_then(|pool| pool.codes());
        codes.into_iter().flat_map(move |codes| codes.uses.of(codes.first_rank(rank)))
    }

    /// Returns a use by its number in the pool.
    pub fn use_numbered(&self, index: usize, number: u32) -> Option<&Use> {
        self.pools.get(index)?.codes()?.uses.get(number)
    }

    /// Returns what operators did to the code of a rank, in order. Costs a step for each mark of the pool.
    pub fn marks_of(&self, index: usize, rank: u32) -> impl Iterator<Item = &CodeMark> {
        let marks =
            self.pools.get(index).and_then(|pool| pool.codes()).map_or(&[][..], Codes::marks);
        marks.iter().filter(move |mark| mark.rank == rank)
    }
}
