//! Rules of revoking, suspending and restoring codes, and of replacing one.

use super::Campaign;
use crate::codes::{CodeKey, CodeMark, CodeVerdict, Codes, Found, InStock, Word};
use crate::command::{CodeCommand, Order};
use crate::context::{ApplyContext, NewResult};
use crate::hold::UnitId;
use crate::limits::{CODE_DUPLICATES_NAMED, REISSUES};
use crate::outcome::{CodeOutcome, CodeRefusal, Outcome, Refusal};
use crate::pool::Pool;
use crate::results::Kind;
use firstcome_inject::{Mistake, inject};

impl Campaign {
    /// Returns the index of a pool that has codes. Refuses with `not_found` (the pool), `not_coded`.
    pub(super) fn coded_pool(&self, pool: &str) -> Result<usize, Refusal> {
        let index = self.pool_named(Some(pool))?;
        if self.pools[index].codes().is_some() {
            Ok(index)
        } else {
            Err(CodeRefusal::NotCoded.into())
        }
    }

    /// Runs an operator's command on codes that are there.
    pub(super) fn operate_codes(
        &mut self,
        context: &mut ApplyContext<'_>,
        command: &CodeCommand<'_>,
    ) -> Result<Outcome, Refusal> {
        match command {
            CodeCommand::Mark { pool, codes, verdict, reason, order, .. } => {
                self.mark_codes(context, (pool, codes), *verdict, (reason, *order))
            }
            CodeCommand::RevokeImport { pool, import, reason, order, .. } => {
                self.revoke_import(context, pool, import, (reason, *order))
            }
            CodeCommand::Reissue { pool, subject, rank, issue, tag, reason, order, .. } => {
                let claim = (*pool, *subject, *rank);
                self.reissue(context, claim, (*issue, *tag), (reason, *order))
            }
            CodeCommand::Reserve { .. }
            | CodeCommand::Redeem { .. }
            | CodeCommand::RollBack { .. }
            | CodeCommand::EndReservation { .. }
            | CodeCommand::Stage { .. }
            | CodeCommand::Commit { .. }
            | CodeCommand::Discard { .. } => unreachable!("it is run elsewhere"),
        }
    }

    /// Revokes, suspends or restores codes. A code that stands so already is left alone; what is revoked stays so; only
    /// what is suspended is restored. A code that was replaced before is revoked already.
    ///
    /// Refuses with `not_found` (the pool), `not_coded`. Costs a step for each code.
    fn mark_codes(
        &mut self,
        context: &mut ApplyContext<'_>,
        (pool, list): (&str, &[CodeKey]),
        verdict: CodeVerdict,
        (reason, order): (&str, Order<'_>),
    ) -> Result<Outcome, Refusal> {
        let index = self.coded_pool(pool)?;
        let pool = &mut self.pools[index];
        let (mut changed, mut unknown) = (0, Vec::new());
        for (nth, code) in list.iter().enumerate() {
            let codes = pool.codes().expect("it was looked");
            match codes.find(*code) {
                Found::No if unknown.len() < CODE_DUPLICATES_NAMED => unknown.push(nth as u32),
                Found::No | Found::Issued { replaced: true, .. } => {}
                Found::InStock { unit } => changed += u32::from(mark_in_stock(pool, unit, verdict)),
                Found::Issued { rank, replaced: false } => {
                    let Some(word) = marked(codes, rank, verdict) else { continue };
                    let live = pool.is_live(rank);
                    let codes = pool.codes_mut().expect("it was looked");
                    if !(verdict == CodeVerdict::Revoke && inject(Mistake::RevokeForgotten)) {
                        if live && verdict == CodeVerdict::Revoke {
                            codes.stands_no_more(rank);
                        }
                        codes.issued.set(rank, word);
                    }
                    codes.mark(CodeMark {
                        rank,
                        verdict: Some(verdict),
                        issue: word.issue(),
                        import: "".into(),
                        at: context.at,
                        reason: reason.into(),
                        who: order.who.into(),
                    });
                    emit_mark(context, index, codes);
                    changed += 1;
                }
            }
        }
        Ok(CodeOutcome::Marked { verdict, changed, unknown }.into())
    }

    /// Revokes all codes of an import, whoever has them.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `not_coded`, `not_imported`,
    /// `no_such_import`. Costs a step for each of its codes that nobody has, of less than 2 ns.
    fn revoke_import(
        &mut self,
        context: &mut ApplyContext<'_>,
        pool: &str,
        id: &str,
        (reason, order): (&str, Order<'_>),
    ) -> Result<Outcome, Refusal> {
        let index = self.coded_pool(pool)?;
        let pool = &mut self.pools[index];
        let codes = pool.codes_mut().expect("it was looked");
        let stock = codes.stock.as_deref_mut().ok_or(CodeRefusal::NotImported)?;
        let found = stock.imports.iter().position(|import| *import.id == *id);
        let nth = found.ok_or(CodeRefusal::NoSuchImport)?;
        let import = &stock.imports[nth];
        let verdict = CodeVerdict::Revoke;
        if import.revoked {
            return Ok(CodeOutcome::Marked { verdict, changed: 0, unknown: Vec::new() }.into());
        }
        let changed = import.added;
        let free = stock.free_among(import.first_unit, import.first_unit + import.added);
        stock.imports[nth].revoked = true;
        codes.mark(CodeMark {
            rank: 0,
            verdict: Some(verdict),
            issue: 0,
            import: id.into(),
            at: context.at,
            reason: reason.into(),
            who: order.who.into(),
        });
        emit_mark(context, index, codes);
        pool.taken += free;
        Ok(CodeOutcome::Marked { verdict, changed, unknown: Vec::new() }.into())
    }

    /// Replaces the code of a claim: a generated one by its unit under the next issue number, an imported one by the
    /// next in stock. What the old one was used for counts for the new one, and its time is not longer.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `not_coded`, `no_such_claim` (also
    /// one that was cancelled), `reissued` as it was the first time, `code_revoked`, `reissued_since`,
    /// `too_many_reissues`, `tag_required`, `sold_out`.
    fn reissue(
        &mut self,
        context: &mut ApplyContext<'_>,
        (pool, subject, rank): (&str, &str, u32),
        (issue, tag): (u16, Option<u64>),
        (reason, order): (&str, Order<'_>),
    ) -> Result<Outcome, Refusal> {
        let index = self.coded_pool(pool)?;
        let pool = &mut self.pools[index];
        if pool.claim(rank).is_none_or(|claim| claim.subject != subject || claim.cancel.is_some()) {
            return Err(Refusal::NoSuchClaim);
        }
        let left = if pool.is_promised() { 0 } else { pool.left() };
        let codes = pool.codes_mut().expect("it was looked");
        let word = codes.issued.get(rank).expect("a claim has its code");
        let imported = codes.stock.is_some();
        if word.issue() == issue && issue > 1 && (imported || tag == Some(word.number())) {
            return Ok(CodeOutcome::Reissued { rank, issue }.into());
        }
        if word.is_revoked() {
            return Err(CodeRefusal::CodeRevoked.into());
        }
        if word.issue().checked_add(1) != Some(issue) {
            return Err(CodeRefusal::ReissuedSince { issue: word.issue() }.into());
        }
        if issue > REISSUES {
            return Err(CodeRefusal::TooManyReissues.into());
        }
        match (codes.stock.as_deref_mut(), tag) {
            (None, None) => return Err(CodeRefusal::TagRequired.into()),
            (None, Some(tag)) => {
                if !inject(Mistake::OldCodeForgotten) {
                    codes.replaced.insert((rank, word.number()));
                }
                codes.issued.set(rank, Word::new(tag, issue));
            }
            (Some(_), _) if left == 0 => return Err(Refusal::SoldOut),
            (Some(stock), _) => {
                let unit = stock.give(rank);
                codes.stands_no_more(rank);
                codes.issued.set(rank, Word::new(u64::from(unit), issue));
                codes.stands(rank);
                pool.taken += 1;
            }
        }
        let codes = pool.codes_mut().expect("it was looked");
        codes.mark(CodeMark {
            rank,
            verdict: None,
            issue,
            import: "".into(),
            at: context.at,
            reason: reason.into(),
            who: order.who.into(),
        });
        emit_mark(context, index, codes);
        Ok(CodeOutcome::Reissued { rank, issue }.into())
    }
}

fn emit_mark(context: &mut ApplyContext<'_>, pool: usize, codes: &Codes) {
    let rank = codes.marks.len() as u32;
    context.emit("", NewResult { kind: Kind::CodeMarked, pool: pool as u16, rank });
}

/// Returns the word of a rank as a verdict leaves it, if it is another.
fn marked(codes: &Codes, rank: u32, verdict: CodeVerdict) -> Option<Word> {
    let word = codes.issued.get(rank)?;
    if word.is_revoked() {
        return None;
    }
    let after = match verdict {
        CodeVerdict::Revoke => word.revoked(),
        CodeVerdict::Suspend => word.suspended(true),
        CodeVerdict::Restore => word.suspended(false),
    };
    (after != word).then_some(after)
}

/// Has a unit that nobody has stand as a verdict leaves it; says whether it stood otherwise.
fn mark_in_stock(pool: &mut Pool, unit: u32, verdict: CodeVerdict) -> bool {
    let codes = pool.codes_mut().expect("it was looked");
    let stock = codes.stock.as_deref_mut().expect("a unit in stock is imported");
    let (before, after) = (
        stock.standing(unit),
        match verdict {
            CodeVerdict::Revoke => InStock::Revoked,
            CodeVerdict::Suspend => InStock::Suspended,
            CodeVerdict::Restore => InStock::Free,
        },
    );
    if before == after || before == InStock::Revoked {
        return false;
    }
    stock.withdraw(unit, after);
    match (before, after) {
        (InStock::Free, _) => pool.taken += 1,
        (_, InStock::Free) => {
            pool.taken -= 1;
            pool.came_free(UnitId::Counted);
        }
        _ => {}
    }
    true
}
