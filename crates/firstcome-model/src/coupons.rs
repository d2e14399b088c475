//! The model's rules for codes: reserve, redeem, roll back and give back. Everything is a plain list that is looked
//! through each time.
//!
//! What operators do to codes, and imports: `stocking.rs`.

use crate::campaign::ModelCampaign;
use crate::holding::{Made, SaidBy, Turn};
use crate::stocking::{Imported, OpenFile, Shelved, Stands, plain};
use firstcome_core::codes::CodeKey;
use firstcome_core::command::{CodeCommand, CodeStep};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::settings::{CodeSettings, CodeSource, PoolSettings};
use firstcome_core::{CodeOutcome, CodeRefusal, Outcome, Refusal, Timestamp};

/// References that a code knows beyond its uses.
const SPARE: usize = 1_000;
/// How long a reservation can last at most, in microseconds.
const LONGEST: i64 = 24 * 3_600_000_000;

/// The code of a rank.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// The tag of a generated code, or where on the shelf an imported one stands.
    pub(crate) now: u64,
    /// The same of those that were replaced.
    pub(crate) before: Vec<u64>,
    pub(crate) issue: u16,
    pub(crate) revoked: bool,
    pub(crate) suspended: bool,
    /// The entry that issued it, or replaced it last.
    pub(crate) entry: usize,
}

/// What a reference did with a code.
#[derive(Clone, Debug)]
pub(crate) struct Use<'a> {
    rank: u32,
    reference: &'a str,
    /// Who used it, where somebody was named; else its holder.
    user: Option<&'a str>,
    at: Timestamp,
    state: UseState,
    entry: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UseState {
    Reserved { deadline: i64 },
    GivenBack,
    Redeemed,
    RolledBack { expired: bool },
}

impl Use<'_> {
    /// Says whether it takes one of the uses, at a service time.
    fn takes_one(&self, service: i64) -> bool {
        self.is_gone()
            || matches!(self.state, UseState::Reserved { deadline } if deadline > service)
    }

    fn is_gone(&self) -> bool {
        matches!(self.state, UseState::Redeemed | UseState::RolledBack { expired: true })
    }
}

/// The codes of a pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coupons<'a> {
    pub(crate) imported: bool,
    /// By rank, from 1.
    pub(crate) cards: Vec<Card>,
    /// Imported codes in the order of their files.
    pub(crate) shelf: Vec<Shelved>,
    pub(crate) file: Option<OpenFile<'a>>,
    pub(crate) imports: Vec<Imported<'a>>,
    uses: Vec<Use<'a>>,
}

/// What is known of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    OnShelf(usize),
    OfRank { rank: u32, replaced: bool },
}

impl<'a> Coupons<'a> {
    pub(crate) fn of(said: &PoolSettings) -> Option<Self> {
        let codes = said.codes.as_deref()?;
        Some(Self { imported: codes.source == CodeSource::Imported, ..Self::default() })
    }

    pub(crate) fn card(&self, rank: u32) -> Option<&Card> {
        self.cards.get((rank as usize).checked_sub(1)?)
    }

    pub(crate) fn find(&self, code: CodeKey) -> Found {
        match code {
            CodeKey::Rank(rank) => match self.card(rank) {
                Some(card) if self.imported => self.on_shelf(card.now as usize),
                Some(_) => Found::OfRank { rank, replaced: false },
                None => Found::Nothing,
            },
            CodeKey::Generated { unit, tag } if !self.imported => match self.card(unit) {
                Some(card) if card.now == tag => Found::OfRank { rank: unit, replaced: false },
                Some(card) if card.before.contains(&tag) => {
                    Found::OfRank { rank: unit, replaced: true }
                }
                Some(_) | None => Found::Nothing,
            },
            CodeKey::Imported { hash } if self.imported => {
                let at = |hash| self.shelf.iter().position(|shelved| shelved.hash == hash);
                let at = at(hash).or_else(|| at(plain(hash)));
                at.map_or(Found::Nothing, |at| self.on_shelf(at))
            }
            CodeKey::Generated { .. } | CodeKey::Imported { .. } => Found::Nothing,
        }
    }

    fn on_shelf(&self, at: usize) -> Found {
        let Stands::Given(mut rank) = self.shelf[at].stands else { return Found::OnShelf(at) };
        let now = |rank| self.card(rank).map(|card| card.now as usize);
        let given = |at: usize| self.shelf.get(at).map(|shelved| shelved.stands);
        // The subject of a code that was replaced may have what replaced it under a later rank.
        while let Some(Stands::Given(later)) = now(rank).and_then(given)
            && later > rank
        {
            rank = later;
        }
        Found::OfRank { rank, replaced: now(rank) != Some(at) }
    }

    /// Returns the code that a rank has now.
    pub(crate) fn key_of(&self, rank: u32) -> Option<CodeKey> {
        let now = self.card(rank)?.now;
        if self.imported {
            let at = usize::try_from(now).ok()?;
            return Some(CodeKey::Imported { hash: self.shelf.get(at)?.hash });
        }
        Some(CodeKey::Generated { unit: rank, tag: now })
    }

    /// Says whether an operator withdrew a code that nobody has, or an import.
    pub(crate) fn is_any_withdrawn(&self) -> bool {
        let withdrawn = |code: &Shelved| matches!(code.stands, Stands::Revoked | Stands::Suspended);
        self.shelf.iter().any(withdrawn) || self.imports.iter().any(|import| import.revoked)
    }

    /// Says whether a code of a rank was revoked, or the import it came with.
    pub(crate) fn is_revoked(&self, rank: u32) -> bool {
        let Some(card) = self.card(rank) else { return false };
        card.revoked || self.imported && self.is_withdrawn(card.now as usize)
    }

    /// Issues the code of the next rank: the one that an earlier rank had, if that comes back, with all that was done with
    /// it.
    pub(crate) fn issue(&mut self, tag: Option<u64>, own: Option<u32>, entry: usize) {
        let rank = self.cards.len() as u32 + 1;
        let now = match own.and_then(|own| self.card(own)).map(|card| card.now) {
            Some(now) => {
                self.shelf[now as usize].stands = Stands::Given(rank);
                let theirs = self.uses.iter_mut().filter(|known| Some(known.rank) == own);
                theirs.for_each(|known| known.rank = rank);
                Some(now)
            }
            None if self.imported => self.take_next(rank),
            None => tag,
        };
        let now = now.unwrap_or(u64::MAX);
        let (revoked, suspended, before) = (false, false, Vec::new());
        self.cards.push(Card { now, before, issue: 1, revoked, suspended, entry });
    }

    fn of_rank(&self, rank: u32) -> impl Iterator<Item = &Use<'a>> {
        self.uses.iter().filter(move |known| known.rank == rank)
    }

    /// Says whether the claim of a rank cannot be undone.
    pub(crate) fn is_in_use(&self, rank: u32, service: i64) -> bool {
        self.of_rank(rank).any(|known| known.takes_one(service))
    }
}

/// A step on a code that was found.
struct Step<'c> {
    pool: usize,
    rank: u32,
    replaced: bool,
    reference: &'c str,
    /// The last use under the reference.
    own: Option<usize>,
}

impl<'a> ModelCampaign<'a> {
    /// Returns the last rank of a subject if the imported code of it comes back: the subject cancelled that claim itself, and
    /// nobody revoked or suspended the code.
    pub(crate) fn own_code(&self, pool: usize, subject: &str) -> Option<u32> {
        let coupons = self.pools[pool].coupons.as_ref().filter(|coupons| coupons.imported)?;
        let (rank, row) = self.pools[pool].latest(subject)?;
        let theirs = row.undone.as_ref().is_some_and(|undone| undone.by == By::Subject);
        let withdrawn = coupons.is_revoked(rank) || coupons.card(rank)?.suspended;
        (theirs && !withdrawn).then_some(rank)
    }

    pub(crate) fn settings_of_codes(&self, pool: usize) -> Option<&CodeSettings> {
        self.settings.pools[pool].codes.as_deref()
    }

    /// Says whether a code can be redeemed still, or one may be reserved. Those that were revoked cannot, nor those of
    /// cancelled claims; how long the others last is what the last claim says.
    pub(crate) fn has_valid_codes(&self, at: Timestamp) -> bool {
        (0..self.pools.len()).any(|pool| {
            let last = self.pools[pool].rows.last();
            let (Some(codes), Some(last)) = (self.settings_of_codes(pool), last) else {
                return false;
            };
            let counts = |rank: u32| {
                self.pools[pool].rows[rank as usize - 1].undone.is_none()
                    && !self.coupons(pool).is_revoked(rank)
            };
            let over = codes.expires_at(last.at);
            let any = (1..=self.pools[pool].rows.len() as u32).any(counts);
            any && over.is_none_or(|over| at.micros_since(over) < LONGEST)
        })
    }

    fn step<'c>(&self, step: &CodeStep<'c>) -> Result<Step<'c>, SaidBy> {
        let pool = self.one_pool(step.pool)?;
        let coupons = self.pools[pool].coupons.as_ref().ok_or(CodeRefusal::NotCoded)?;
        let (rank, replaced) = match coupons.find(step.code) {
            Found::Nothing => return Err(CodeRefusal::NoSuchCode.into()),
            Found::OnShelf(_) => return Err(CodeRefusal::NotIssued.into()),
            Found::OfRank { rank, replaced } => (rank, replaced),
        };
        let is = |known: &Use<'_>| known.rank == rank && known.reference == step.reference;
        let own = coupons.uses.iter().rposition(is);
        Ok(Step { pool, rank, replaced, reference: step.reference, own })
    }

    fn coupons(&self, pool: usize) -> &Coupons<'a> {
        self.pools[pool].coupons.as_ref().expect("it was looked")
    }

    fn own_use(&self, step: &Step<'_>) -> Option<&Use<'a>> {
        Some(&self.coupons(step.pool).uses[step.own?])
    }

    fn holder(&self, pool: usize, rank: u32) -> &'a str {
        self.pools[pool].row(rank).expect("a code has its claim").subject
    }

    /// Refuses who may not use a code.
    fn check_user(&self, step: &Step<'_>, subject: Option<&str>) -> Result<(), Refusal> {
        let holder = self.holder(step.pool, step.rank);
        if self.settings_of_codes(step.pool).is_some_and(|codes| codes.only_by_holder) {
            match subject {
                None => return Err(CodeRefusal::SubjectRequired.into()),
                Some(subject) if subject != holder => return Err(Refusal::NotYours),
                Some(_) => {}
            }
        }
        match (self.own_use(step), subject) {
            (Some(own), Some(subject)) if own.user.unwrap_or(holder) != subject => {
                Err(Refusal::IdReused)
            }
            _ => Ok(()),
        }
    }

    fn check_standing(&self, step: &Step<'_>) -> Result<(), Refusal> {
        let coupons = self.coupons(step.pool);
        let undone = self.pools[step.pool].row(step.rank).is_some_and(|row| row.undone.is_some());
        if step.replaced || undone || coupons.is_revoked(step.rank) {
            return Err(CodeRefusal::CodeRevoked.into());
        }
        if coupons.card(step.rank).is_some_and(|card| card.suspended) {
            return Err(CodeRefusal::CodeSuspended.into());
        }
        Ok(())
    }

    fn is_expired(&self, step: &Step<'_>, at: Timestamp) -> bool {
        let issued = self.pools[step.pool].row(step.rank).map(|row| row.at);
        let codes = self.settings_of_codes(step.pool);
        let over = issued.and_then(|issued| codes?.expires_at(issued));
        over.is_some_and(|over| over <= at)
    }

    fn user(&self, step: &Step<'_>, subject: Option<&'a str>) -> &'a str {
        let own = self.own_use(step).and_then(|own| own.user);
        subject.or(own).unwrap_or_else(|| self.holder(step.pool, step.rank))
    }

    /// Refuses one use more.
    fn check_one_more(&self, turn: &Turn, step: &Step<'_>, user: &str) -> Result<(), Outcome> {
        let no = |refusal: CodeRefusal| Err(Outcome::from(Refusal::Code(refusal)));
        if self.is_expired(step, turn.at) {
            return no(CodeRefusal::CodeExpired);
        }
        self.check_barred(user)?;
        let (coupons, service) = (self.coupons(step.pool), turn.service);
        let said = self.settings_of_codes(step.pool);
        let theirs = |known: &&Use<'a>| {
            known.user.unwrap_or_else(|| self.holder(step.pool, known.rank)) == user
                && known.takes_one(service)
        };
        let has = coupons.uses.iter().filter(theirs).count();
        if said.and_then(|said| said.uses_per_subject).is_some_and(|most| has >= most as usize) {
            return Err(Refusal::LimitReached.into());
        }
        let uses = said.map_or(1, |said| said.uses as usize);
        let of = || coupons.of_rank(step.rank);
        let state = self.own_use(step).map(|own| own.state);
        if of().filter(|known| known.takes_one(service)).count() >= uses {
            return no(match state {
                Some(UseState::RolledBack { .. }) => CodeRefusal::ReusedSince,
                _ if of().filter(|known| known.is_gone()).count() >= uses => CodeRefusal::CodeUsed,
                _ => CodeRefusal::CodeReserved,
            });
        }
        let is_new = matches!(state, None | Some(UseState::RolledBack { .. }));
        if is_new && of().count() >= uses + SPARE {
            return no(CodeRefusal::TooManyReferences);
        }
        Ok(())
    }

    fn note_use(
        &mut self,
        turn: &Turn,
        step: &Step<'a>,
        subject: Option<&'a str>,
        state: UseState,
    ) {
        let (at, entry, rank) = (turn.at, turn.entry, step.rank);
        let holder = self.holder(step.pool, rank);
        let coupons = self.pools[step.pool].coupons.as_mut().expect("it was looked");
        let goes_on = |known: &Use<'_>| !matches!(known.state, UseState::RolledBack { .. });
        if let Some(own) = step.own.filter(|own| goes_on(&coupons.uses[*own])) {
            let own = &mut coupons.uses[own];
            (own.state, own.at, own.entry) = (state, at, entry);
            return;
        }
        let (user, reference) = (subject.filter(|subject| *subject != holder), step.reference);
        coupons.uses.push(Use { rank, reference, user, at, state, entry });
    }

    /// Runs a step on a code.
    pub(crate) fn on_code(
        &mut self,
        turn: &Turn,
        command: &CodeCommand<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let Some(step) = command.step() else {
            return self.on_stock(turn, command, made);
        };
        let step = self.step(step)?;
        match command {
            CodeCommand::Reserve { subject, ttl_us, .. } => {
                self.reserve(turn, &step, *subject, *ttl_us)
            }
            CodeCommand::Redeem { subject, .. } => self.redeem(turn, &step, *subject, made),
            CodeCommand::RollBack { .. } => self.roll_back(turn, &step, made),
            CodeCommand::EndReservation { .. }
            | CodeCommand::Mark { .. }
            | CodeCommand::RevokeImport { .. }
            | CodeCommand::Reissue { .. }
            | CodeCommand::Stage { .. }
            | CodeCommand::Commit { .. }
            | CodeCommand::Discard { .. } => self.end_reservation(turn, &step),
        }
    }

    fn reserve(
        &mut self,
        turn: &Turn,
        step: &Step<'a>,
        subject: Option<&'a str>,
        ttl: i64,
    ) -> Result<SaidBy, SaidBy> {
        let rank = step.rank;
        self.check_user(step, subject)?;
        match self.own_use(step) {
            Some(Use { state: UseState::Reserved { deadline }, entry, .. })
                if *deadline > turn.service =>
            {
                let expires_at = turn.moment(*deadline);
                return Ok(SaidBy::since(
                    *entry,
                    CodeOutcome::AlreadyReserved { rank, expires_at },
                ));
            }
            Some(Use { state: UseState::Redeemed, .. }) => {
                return Err(CodeRefusal::AlreadyRedeemed.into());
            }
            Some(_) | None => {}
        }
        self.check_standing(step)?;
        let user = self.user(step, subject);
        self.check_one_more(turn, step, user)?;
        let deadline = turn.service.saturating_add(ttl);
        self.note_use(turn, step, subject, UseState::Reserved { deadline });
        let expires_at = turn.moment(deadline);
        Ok(CodeOutcome::Reserved { rank, expires_at }.into())
    }

    fn redeem(
        &mut self,
        turn: &Turn,
        step: &Step<'a>,
        subject: Option<&'a str>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let rank = step.rank;
        self.check_user(step, subject)?;
        let mut live = false;
        match self.own_use(step) {
            Some(Use { state: UseState::Redeemed, at, entry, .. }) => {
                return Ok(SaidBy::since(*entry, CodeOutcome::Redeemed { rank, at: *at }));
            }
            Some(Use { state: UseState::RolledBack { .. }, .. }) => {
                return Err(CodeRefusal::AlreadyRolledBack.into());
            }
            Some(Use { state: UseState::Reserved { deadline }, .. }) => {
                live = *deadline > turn.service;
            }
            Some(Use { state: UseState::GivenBack, .. }) | None => {}
        }
        self.check_standing(step)?;
        let user = self.user(step, subject);
        if !live {
            self.check_one_more(turn, step, user)?;
        }
        self.note_use(turn, step, subject, UseState::Redeemed);
        made.push(self.made_of(Kind::Redeemed, step));
        Ok(CodeOutcome::Redeemed { rank, at: turn.at }.into())
    }

    /// Makes a result; the reference stands where others have their hold.
    fn made_of(&self, kind: Kind, step: &Step<'a>) -> Made<'a> {
        let (pool, rank, subject) = (step.pool, step.rank, self.holder(step.pool, step.rank));
        let hold = Some(step.reference);
        Made { kind, pool, rank, subject, unit: None, hold, from: None }
    }

    fn roll_back(
        &mut self,
        turn: &Turn,
        step: &Step<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let rank = step.rank;
        match self.own_use(step) {
            Some(Use { state: UseState::Redeemed, .. }) => {}
            Some(Use { state: UseState::RolledBack { expired }, at, entry, .. }) => {
                let expired = *expired;
                return Ok(SaidBy::since(
                    *entry,
                    CodeOutcome::RolledBack { rank, at: *at, expired },
                ));
            }
            Some(_) | None => return Err(CodeRefusal::NotRedeemed.into()),
        }
        let expired = self.is_expired(step, turn.at);
        let coupons = self.pools[step.pool].coupons.as_mut().expect("it was looked");
        let own = &mut coupons.uses[step.own.expect("it was just there")];
        own.state = UseState::RolledBack { expired };
        (own.at, own.entry) = (turn.at, turn.entry);
        // The ledger says of the use whether it came back.
        let unit = expired.then_some("expired");
        made.push(Made { unit, ..self.made_of(Kind::RolledBack, step) });
        Ok(CodeOutcome::RolledBack { rank, at: turn.at, expired }.into())
    }

    fn end_reservation(&mut self, turn: &Turn, step: &Step<'a>) -> Result<SaidBy, SaidBy> {
        let ended = CodeOutcome::ReservationEnded { rank: step.rank };
        match self.own_use(step).map(|own| (own.state, own.entry)) {
            None => Err(CodeRefusal::NotReserved.into()),
            Some((UseState::Redeemed, _)) => Err(CodeRefusal::AlreadyRedeemed.into()),
            Some((UseState::RolledBack { .. }, _)) => Err(CodeRefusal::AlreadyRolledBack.into()),
            Some((UseState::GivenBack, entry)) => Ok(SaidBy::since(entry, ended)),
            Some((UseState::Reserved { .. }, _)) => {
                self.note_use(turn, step, None, UseState::GivenBack);
                Ok(SaidBy::from(ended))
            }
        }
    }

    /// Says whether a reference redeemed a code, and whether such a redemption was rolled back; nothing if there is no such
    /// pool. Who was rolled back may reserve it again, and then redeem it again.
    pub fn redeemed(
        &self,
        pool: Option<&str>,
        code: CodeKey,
        reference: &str,
    ) -> Option<(bool, bool)> {
        let coupons = self.pool(pool)?.coupons.as_ref();
        let Some((coupons, Found::OfRank { rank, .. })) =
            coupons.map(|coupons| (coupons, coupons.find(code)))
        else {
            return Some((false, false));
        };
        let theirs = || coupons.of_rank(rank).filter(|known| known.reference == reference);
        let rolled_back = theirs().any(|known| matches!(known.state, UseState::RolledBack { .. }));
        let stands = theirs().any(|known| matches!(known.state, UseState::Redeemed));
        Some((rolled_back || stands, rolled_back))
    }

    /// Says whether a code of a pool can be used, or will be issued.
    pub fn counts_code(&self, pool: &str, code: CodeKey) -> bool {
        let coupons = self.pool(Some(pool)).and_then(|pool| pool.coupons.as_ref());
        !self.archived && coupons.is_some_and(|coupons| coupons.counts(code))
    }
}
