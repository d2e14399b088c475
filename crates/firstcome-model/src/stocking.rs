//! The model's rules for what operators do to codes: revoke, suspend, restore, replace, import.

use crate::campaign::ModelCampaign;
use crate::coupons::{Card, Coupons, Found};
use crate::hall::Unit;
use crate::holding::{Made, SaidBy, Turn};
use firstcome_core::codes::{CodeKey, CodeVerdict};
use firstcome_core::command::{CodeCommand, StagedCode};
use firstcome_core::outcome::Missing;
use firstcome_core::results::Kind;
use firstcome_core::{CodeOutcome, CodeRefusal, Outcome, Refusal};

/// How long an import may take, in microseconds of service.
const OPEN_FOR: i64 = 3_600_000_000;
/// How many duplicates, and how many unknown codes, are named.
const NAMED: usize = 100;
/// Imports of a pool, and codes that one claim may have one after the other.
const IMPORTS: usize = 1_000;
const ISSUES: u16 = 1_000;

/// Bytes of a hash that say what a code looks like: the other six are 0 unless its spelling counts.
const LOOKS: usize = 10;
/// Codes of a pool that look like one.
const ALIKE: usize = 100;

/// Returns the hash of the code that looks the same and may be spelled in any way.
pub(crate) fn plain(hash: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|at| if at < LOOKS { hash[at] } else { 0 })
}

/// How an imported code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    Free,
    Suspended,
    Revoked,
    Given(u32),
}

/// An imported code.
#[derive(Clone, Debug)]
pub(crate) struct Shelved {
    pub(crate) hash: [u8; 16],
    pub(crate) stands: Stands,
    /// Which import it came with.
    import: usize,
}

/// An import under way.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile<'a> {
    id: &'a str,
    began: i64,
    lines: u32,
    new: Vec<[u8; 16]>,
    duplicates: Vec<u32>,
}

/// An import that is done.
#[derive(Clone, Debug)]
pub(crate) struct Imported<'a> {
    id: &'a str,
    lines: u32,
    added: u32,
    duplicates: Vec<u32>,
    pub(crate) revoked: bool,
    entry: usize,
}

impl Coupons<'_> {
    /// Says whether a code on the shelf was revoked with its import.
    pub(crate) fn is_withdrawn(&self, at: usize) -> bool {
        let import = self.shelf.get(at).and_then(|shelved| self.imports.get(shelved.import));
        import.is_some_and(|import| import.revoked)
    }

    fn is_free(&self, at: usize) -> bool {
        self.shelf[at].stands == Stands::Free && !self.is_withdrawn(at)
    }

    /// Returns how many imported codes can be issued.
    pub(crate) fn free(&self) -> u32 {
        (0..self.shelf.len()).filter(|at| self.is_free(*at)).count() as u32
    }

    /// Returns the next free code to a rank.
    pub(crate) fn take_next(&mut self, rank: u32) -> Option<u64> {
        let at = (0..self.shelf.len()).find(|at| self.is_free(*at))?;
        self.shelf[at].stands = Stands::Given(rank);
        Some(at as u64)
    }

    /// Says whether a code of a file is left out: some text could mean it and another one, or too many look like it.
    fn leaves_out(&self, file: &OpenFile<'_>, hash: [u8; 16]) -> bool {
        let known = self.shelf.iter().map(|shelved| shelved.hash).chain(file.new.iter().copied());
        let alike: Vec<_> = known.filter(|known| known[..LOOKS] == hash[..LOOKS]).collect();
        let any = plain(hash);
        alike.len() >= ALIKE
            || hash == any && !alike.is_empty()
            || alike.iter().any(|known| *known == hash || *known == any)
    }

    /// Says whether a code can be used, or will be issued.
    pub(crate) fn counts(&self, code: CodeKey) -> bool {
        match self.find(code) {
            Found::Nothing => false,
            Found::OnShelf(at) => self.is_free(at),
            Found::OfRank { rank, replaced } => {
                let suspended = self.card(rank).is_some_and(|card| card.suspended);
                !replaced && !suspended && !self.is_revoked(rank)
            }
        }
    }
}

impl<'a> ModelCampaign<'a> {
    fn coded(&self, pool: &str) -> Result<usize, SaidBy> {
        let index = self.pool_index(pool);
        let index = index.ok_or(Refusal::NotFound(Missing::Pool))?;
        if self.pools[index].coupons.is_none() {
            return Err(CodeRefusal::NotCoded.into());
        }
        Ok(index)
    }

    fn stock(&mut self, pool: usize) -> &mut Coupons<'a> {
        self.pools[pool].coupons.as_mut().expect("it was looked")
    }

    /// Runs an operator's command on codes.
    pub(crate) fn on_stock(
        &mut self,
        turn: &Turn,
        command: &CodeCommand<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let (_, pool) = command.target();
        let pool = self.coded(pool.unwrap_or_default())?;
        if let CodeCommand::Mark { codes, verdict, .. } = command {
            return Ok(self.mark((pool, codes), *verdict, made));
        }
        if let CodeCommand::Reissue { subject, rank, issue, tag, .. } = command {
            return self.reissue(turn, (pool, subject, *rank), (*issue, *tag), made);
        }
        if !self.stock(pool).imported {
            return Err(CodeRefusal::NotImported.into());
        }
        if let CodeCommand::RevokeImport { import, .. } = command {
            return self.revoke_import(pool, import, made);
        }
        self.import(turn, pool, command)
    }

    fn mark(
        &mut self,
        (pool, list): (usize, &[CodeKey]),
        verdict: CodeVerdict,
        made: &mut Vec<Made<'a>>,
    ) -> SaidBy {
        let (mut changed, mut unknown) = (0, Vec::new());
        for (nth, code) in list.iter().enumerate() {
            let coupons = self.stock(pool);
            match coupons.find(*code) {
                Found::Nothing => unknown.push(nth as u32),
                Found::OfRank { replaced: true, .. } => {}
                Found::OnShelf(at) => {
                    let stands = match verdict {
                        CodeVerdict::Revoke => Stands::Revoked,
                        CodeVerdict::Suspend => Stands::Suspended,
                        CodeVerdict::Restore => Stands::Free,
                    };
                    let shelved = &coupons.shelf[at];
                    let over = shelved.stands == Stands::Revoked || coupons.is_withdrawn(at);
                    if !over && coupons.shelf[at].stands != stands {
                        coupons.shelf[at].stands = stands;
                        changed += 1;
                        if stands == Stands::Free {
                            self.came_free(pool, None);
                        }
                    }
                }
                Found::OfRank { rank, replaced: false } => {
                    let card = &mut coupons.cards[rank as usize - 1];
                    if mark_card(card, verdict) {
                        changed += 1;
                        made.push(self.marked(pool, rank, verdict.as_str(), None));
                    }
                }
            }
        }
        unknown.truncate(NAMED);
        SaidBy::from(CodeOutcome::Marked { verdict, changed, unknown })
    }

    /// Makes a result; what was decided stands where others have their unit, the import where they have the old one.
    fn marked(
        &self,
        pool: usize,
        rank: u32,
        what: &'static str,
        from: Option<&'a str>,
    ) -> Made<'a> {
        let subject = self.pools[pool].row(rank).map_or("", |row| row.subject);
        let kind = Kind::CodeMarked;
        Made { kind, pool, rank, subject, unit: Some(what), hold: None, from }
    }

    fn revoke_import(
        &mut self,
        pool: usize,
        id: &'a str,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let imports = &mut self.stock(pool).imports;
        let Some(import) = imports.iter_mut().find(|import| import.id == id) else {
            return Err(CodeRefusal::NoSuchImport.into());
        };
        let (verdict, unknown) = (CodeVerdict::Revoke, Vec::new());
        let changed = if import.revoked { 0 } else { import.added };
        if !std::mem::replace(&mut import.revoked, true) {
            made.push(self.marked(pool, 0, verdict.as_str(), Some(id)));
        }
        Ok(CodeOutcome::Marked { verdict, changed, unknown }.into())
    }

    fn reissue(
        &mut self,
        turn: &Turn,
        (pool, subject, rank): (usize, &str, u32),
        (issue, tag): (u16, Option<u64>),
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let row = self.pools[pool].row(rank);
        if row.is_none_or(|row| row.subject != subject || row.undone.is_some()) {
            return Err(Refusal::NoSuchClaim.into());
        }
        let left = if self.has_somebody_first(pool, Unit::Counted) { 0 } else { self.left(pool) };
        let coupons = self.stock(pool);
        let card = &coupons.cards[rank as usize - 1];
        let same = coupons.imported || tag == Some(card.now);
        if card.issue == issue && issue > 1 && same {
            return Ok(SaidBy::since(card.entry, CodeOutcome::Reissued { rank, issue }));
        }
        if card.revoked {
            return Err(CodeRefusal::CodeRevoked.into());
        }
        if u32::from(card.issue) + 1 != u32::from(issue) {
            return Err(CodeRefusal::ReissuedSince { issue: card.issue }.into());
        }
        if issue > ISSUES {
            return Err(CodeRefusal::TooManyReissues.into());
        }
        let new = match (coupons.imported, tag) {
            (false, None) => return Err(CodeRefusal::TagRequired.into()),
            (false, Some(tag)) => tag,
            (true, _) if left == 0 => return Err(Refusal::SoldOut.into()),
            (true, _) => coupons.take_next(rank).unwrap_or(u64::MAX),
        };
        let card = &mut coupons.cards[rank as usize - 1];
        card.before.push(card.now);
        (card.now, card.issue, card.suspended, card.entry) = (new, issue, false, turn.entry);
        made.push(self.marked(pool, rank, "reissue", None));
        Ok(CodeOutcome::Reissued { rank, issue }.into())
    }

    fn import(
        &mut self,
        turn: &Turn,
        pool: usize,
        command: &CodeCommand<'a>,
    ) -> Result<SaidBy, SaidBy> {
        let coupons = self.stock(pool);
        let (CodeCommand::Stage { import: id, .. }
        | CodeCommand::Commit { import: id, .. }
        | CodeCommand::Discard { import: id, .. }) = command
        else {
            unreachable!("it is about an import");
        };
        if let Some(known) = coupons.imports.iter().find(|import| import.id == *id) {
            return Ok(SaidBy::since(known.entry, known.told()));
        }
        if coupons.file.as_ref().is_some_and(|file| file.began + OPEN_FOR <= turn.service) {
            coupons.file = None;
        }
        let is_open = coupons.file.as_ref().is_some_and(|file| file.id == *id);
        if let CodeCommand::Stage { first, codes, .. } = command {
            if coupons.file.is_some() && !is_open {
                return Err(CodeRefusal::ImportOpen.into());
            }
            if !is_open && coupons.imports.len() >= IMPORTS {
                return Err(CodeRefusal::TooManyImports.into());
            }
            let next = coupons.file.as_ref().map_or(0, |file| file.lines);
            if *first > next {
                return Err(CodeRefusal::ChunkMissing { next }.into());
            }
            return Ok(coupons.stage(turn, id, (*first, codes)).into());
        }
        let Some(file) = coupons.file.take_if(|_| is_open) else {
            return Err(CodeRefusal::NoSuchImport.into());
        };
        let CodeCommand::Commit { lines, .. } = command else {
            return Ok(CodeOutcome::Discarded.into());
        };
        if file.lines != *lines {
            let lines = file.lines;
            coupons.file = Some(file);
            return Err(CodeRefusal::ImportIncomplete { lines }.into());
        }
        let done = coupons.commit(turn, file);
        self.came_free(pool, None);
        Ok(SaidBy::from(done))
    }
}

fn mark_card(card: &mut Card, verdict: CodeVerdict) -> bool {
    if card.revoked {
        return false;
    }
    let before = (card.revoked, card.suspended);
    match verdict {
        CodeVerdict::Revoke => (card.revoked, card.suspended) = (true, false),
        CodeVerdict::Suspend => card.suspended = true,
        CodeVerdict::Restore => card.suspended = false,
    }
    before != (card.revoked, card.suspended)
}

impl Imported<'_> {
    fn told(&self) -> Outcome {
        let (lines, added, duplicates) = (self.lines, self.added, self.duplicates.clone());
        CodeOutcome::Committed { lines, added, duplicates }.into()
    }
}

impl<'a> Coupons<'a> {
    /// Takes in the lines of a file that were not taken before.
    fn stage(
        &mut self,
        turn: &Turn,
        id: &'a str,
        (first, codes): (u32, &[StagedCode<'_>]),
    ) -> CodeOutcome {
        let mut file = self.file.take().unwrap_or_else(|| OpenFile {
            id,
            began: turn.service,
            lines: 0,
            new: Vec::new(),
            duplicates: Vec::new(),
        });
        for (line, code) in (first..).zip(codes) {
            if line < file.lines {
                continue;
            }
            if self.leaves_out(&file, code.hash) {
                file.duplicates.push(line);
            } else {
                file.new.push(code.hash);
            }
            file.lines += 1;
        }
        let next = file.lines;
        self.file = Some(file);
        CodeOutcome::Staged { next }
    }

    fn commit(&mut self, turn: &Turn, file: OpenFile<'a>) -> Outcome {
        let OpenFile { id, lines, new, mut duplicates, .. } = file;
        duplicates.truncate(NAMED);
        let (added, import, entry) = (new.len() as u32, self.imports.len(), turn.entry);
        let shelved = |hash| Shelved { hash, stands: Stands::Free, import };
        self.shelf.extend(new.into_iter().map(shelved));
        let done = Imported { id, lines, added, duplicates, revoked: false, entry };
        let told = done.told();
        self.imports.push(done);
        told
    }
}
