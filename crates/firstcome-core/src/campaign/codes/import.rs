//! Rules of importing codes: lines are staged in order, and one commit puts them all into stock.

use super::Campaign;
use crate::codes::OpenImport;
use crate::command::CodeCommand;
use crate::context::ApplyContext;
use crate::hold::UnitId;
use crate::limits::{CODES_IMPORTED, IMPORT_US, IMPORTS};
use crate::outcome::{CodeOutcome, CodeRefusal, Outcome, Refusal};
use firstcome_inject::{Mistake, inject};

impl Campaign {
    /// Runs a command on an import. One import of a pool is under way at a time, and it is gone an hour after it began.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `not_coded`, `not_imported`,
    /// `codes_imported` as it was the first time (an import of this id was committed); then
    ///
    /// - to stage: `import_open` (another one is under way, or one that was given up is still being cleared away),
    ///   `too_many_imports`, `chunk_missing`, `too_many_codes`;
    /// - to commit: `no_such_import`, `import_incomplete`;
    /// - to discard: `no_such_import`.
    ///
    /// Staging costs a step for each line, and up to 8,000 more to clear an abandoned import away.
    pub(super) fn import_codes(
        &mut self,
        context: &ApplyContext<'_>,
        command: &CodeCommand<'_>,
    ) -> Result<Outcome, Refusal> {
        let (service, at) = (context.service, context.at);
        let (pool, id) = match command {
            CodeCommand::Stage { pool, import, .. }
            | CodeCommand::Commit { pool, import, .. }
            | CodeCommand::Discard { pool, import, .. } => (*pool, *import),
            CodeCommand::Reserve { .. }
            | CodeCommand::Redeem { .. }
            | CodeCommand::RollBack { .. }
            | CodeCommand::EndReservation { .. }
            | CodeCommand::Mark { .. }
            | CodeCommand::RevokeImport { .. }
            | CodeCommand::Reissue { .. } => unreachable!("it is run elsewhere"),
        };
        let index = self.coded_pool(pool)?;
        let pool = &mut self.pools[index];
        let codes = pool.codes_mut().expect("it was looked");
        let stock = codes.stock.as_deref_mut().ok_or(CodeRefusal::NotImported)?;
        if let Some(known) = stock.imports.iter().find(|import| *import.id == *id) {
            let duplicates = known.duplicates.clone();
            let (lines, added) = (known.lines, known.added);
            return Ok(CodeOutcome::Committed { lines, added, duplicates }.into());
        }
        if stock.open.as_ref().is_some_and(|open| open.began + IMPORT_US <= service) {
            stock.open = None;
        }
        let is_open = stock.open.as_ref().is_some_and(|open| *open.id == *id);
        match command {
            CodeCommand::Stage { first, codes, .. } => {
                if !is_open {
                    if stock.open.is_some() || !stock.clear() {
                        return Err(CodeRefusal::ImportOpen.into());
                    }
                    if stock.imports.len() >= IMPORTS {
                        return Err(CodeRefusal::TooManyImports.into());
                    }
                    if *first > 0 {
                        return Err(CodeRefusal::ChunkMissing { next: 0 }.into());
                    }
                }
                let next = stock.open.as_ref().map_or(0, |open| open.lines);
                if *first > next {
                    return Err(CodeRefusal::ChunkMissing { next }.into());
                }
                // Lines that were taken before are not taken again.
                let known = (next - first) as usize;
                let new = codes.get(known..).unwrap_or_default();
                let full = stock.len() as usize + new.len() > CODES_IMPORTED as usize;
                if full || next as usize + new.len() > 2 * CODES_IMPORTED as usize {
                    return Err(CodeRefusal::TooManyCodes.into());
                }
                if !is_open {
                    stock.open = Some(OpenImport {
                        id: id.into(),
                        began: service,
                        lines: 0,
                        duplicates: Vec::new(),
                        digest: 0,
                    });
                }
                let new = if inject(Mistake::ChunkTakenTwice) { codes } else { new };
                stock.stage(new.iter().map(|code| (code.hash, code.sealed)));
                let next = stock.open.as_ref().map_or(0, |open| open.lines);
                Ok(CodeOutcome::Staged { next }.into())
            }
            CodeCommand::Commit { lines, order, .. } => {
                let open = stock.open.as_ref().filter(|_| is_open);
                let has = open.ok_or(CodeRefusal::NoSuchImport)?.lines;
                if has != *lines {
                    return Err(CodeRefusal::ImportIncomplete { lines: has }.into());
                }
                let import = stock.commit(at, order.who);
                let (lines, added) = (import.lines, import.added);
                let duplicates = import.duplicates.clone();
                pool.capacity += added;
                pool.came_free(UnitId::Counted);
                Ok(CodeOutcome::Committed { lines, added, duplicates }.into())
            }
            CodeCommand::Discard { .. } if is_open => {
                stock.open = None;
                stock.clear();
                Ok(CodeOutcome::Discarded.into())
            }
            CodeCommand::Discard { .. } => Err(CodeRefusal::NoSuchImport.into()),
            CodeCommand::Reserve { .. }
            | CodeCommand::Redeem { .. }
            | CodeCommand::RollBack { .. }
            | CodeCommand::EndReservation { .. }
            | CodeCommand::Mark { .. }
            | CodeCommand::RevokeImport { .. }
            | CodeCommand::Reissue { .. } => unreachable!("it is run elsewhere"),
        }
    }
}
