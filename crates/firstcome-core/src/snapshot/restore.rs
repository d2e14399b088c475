//! Reads a snapshot: puts the state together from pieces.

use super::finish::{finish, lists_fit, results_fit, units_fit};
use super::{BadSnapshot, Manifest, counted, field, service_time};
use crate::acts::Acts;
use crate::bars::Bars;
use crate::campaign::{Campaign, Counted};
use crate::dedup::{Answered, LastBatch};
use crate::holds::Holds;
use crate::names::{NodeId, PieceName};
use crate::outcome::{By, Outcome};
use crate::pool::{Cancel, Note, Pool};
use crate::results::{Kind, Record};
use crate::segment::Segment;
use crate::settings::{Opens, Settings};
use crate::state::{Archived, Named, State};
use crate::time::Timestamp;
use crate::waitlist::UnservedLog;
use crate::wire::{Malformed, Reader, Value};
use std::collections::BTreeMap;

/// A state being put together from pieces.
///
/// The store the pieces come from has them: a later snapshot brings the bytes of sealed segments
/// again only if it is frozen `whole`, as it must be for any other store.
pub struct Restore {
    pub(super) state: State,
    pieces: std::vec::IntoIter<PieceName>,
    /// For each pool of each campaign, the last rank it must reach.
    last_ranks: Vec<(u32, usize, u32)>,
    /// The number among its campaign's that the last result had, for each campaign.
    in_campaign: BTreeMap<u32, u32>,
    /// The piece being taken in.
    pub(super) piece: PieceName,
    /// The segment before, and the piece it came in. If another follows, it was sealed and stood alone.
    before: Option<(u32, u32, PieceName)>,
}

impl Restore {
    /// Begins with a manifest.
    pub fn new(manifest: Manifest) -> Self {
        let mut state = State::new(manifest.space);
        state.stamp = manifest.stamp;
        state.service = manifest.service;
        state.digest.0 = manifest.digest;
        state.digests.push_back(manifest.digest);
        state.results.settled = manifest.settled;
        state.results.term = manifest.term;
        state.results.fingerprint = manifest.fingerprint;
        state.last_campaign = manifest.last_campaign;
        state.batches.sweep_at = manifest.sweep_at;
        state.list_turn = manifest.list_turn;
        state.skips.done = manifest.skipped;
        Self {
            state,
            pieces: manifest.pieces.into_iter(),
            last_ranks: Vec::new(),
            in_campaign: BTreeMap::new(),
            piece: PieceName([0; 16]),
            before: None,
        }
    }

    /// Returns the name of the next piece wanted, or nothing when all were given.
    pub fn wanted(&self) -> Option<PieceName> {
        self.pieces.as_slice().first().copied()
    }

    /// Takes in the piece that is wanted next.
    ///
    /// # Errors
    ///
    /// Other bytes than the name says, or bytes that cannot be read or do not fit what came before.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), BadSnapshot> {
        let Some(name) = self.pieces.next() else {
            return Err(BadSnapshot::Unfit("more pieces than the manifest names"));
        };
        if PieceName::of(bytes) != name {
            return Err(BadSnapshot::Altered(name));
        }
        self.piece = name;
        Reader::new(bytes)
            .fields(|field, value| self.part(field, value))
            .map_err(|why| BadSnapshot::Piece { name, why })
    }

    /// Returns the state after every piece was taken in.
    ///
    /// # Errors
    ///
    /// Pieces are missing, or a pool did not get all its claims.
    pub fn finish(self) -> Result<State, BadSnapshot> {
        if self.wanted().is_some() {
            return Err(BadSnapshot::Unfit("pieces are missing"));
        }
        for (campaign, index, last_rank) in &self.last_ranks {
            let pool = &self.state.campaigns[campaign].pools[*index];
            if pool.last_rank() != *last_rank {
                return Err(BadSnapshot::Unfit("a pool without all its claims"));
            }
        }
        let mut state = self.state;
        for campaign in state.campaigns.values_mut() {
            finish(campaign, state.service).map_err(BadSnapshot::Unfit)?;
            lists_fit(campaign).map_err(BadSnapshot::Unfit)?;
            let live = campaign.holds.iter().filter(|hold| hold.is_live());
            let due = live.map(|hold| (hold.deadline, campaign.number, hold.number));
            state.deadlines.extend(due);
        }
        if !units_fit(&state) {
            return Err(BadSnapshot::Unfit("a result about a unit that is none"));
        }
        if !results_fit(&state) {
            return Err(BadSnapshot::Unfit("a campaign with other results than are kept"));
        }
        state.count_all();
        Ok(state)
    }

    fn part(&mut self, field: u32, value: Value<'_>) -> Result<(), Malformed> {
        match field {
            field::CAMPAIGN => self.campaign(value),
            field::SEGMENT => self.segment(value),
            field::NOTE => self.note(value),
            field::BATCH => self.batch(value),
            field::ORDER => self.order(value),
            field::RESULTS => self.results(value),
            field::ARCHIVED => self.archived(value),
            field::HALL => self.hall(value),
            field::GRANTS => self.grants(value),
            field::HOLDER => self.holder(value),
            field::HOLD => self.hold(value),
            field::REFUND => self.refund(value),
            field::MOVED => self.moved(value),
            field::WAITERS => self.waiters(value),
            field::UNSERVED => self.unserved(value),
            field::FREED => self.freed(value),
            field::WISH => self.wish(value),
            field::BAR => self.bar(value),
            field::ACT => self.act(value),
            field::CODES => self.codes(value),
            _ => Err(value.wrong("an unknown part of a state")),
        }
    }

    fn campaign(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut number, mut name, mut version, mut created_at) = (0, "", 0, Timestamp::default());
        let (mut settings, mut paused, mut closed_at) = (None, false, None);
        let (mut results, mut unsettled) = (0, 0);
        let (mut pools, mut last_hold, mut last_holder, mut last_bar) = (Vec::new(), 0, 0, 0);
        value.nested()?.fields(|field, value| {
            match field {
                1 => number = value.number32()?,
                2 => name = value.text()?,
                3 => version = value.number32()?,
                4 => created_at = value.time()?,
                5 => settings = Some(Settings::decode(value.nested()?)?),
                6 => paused = value.flag()?,
                7 => closed_at = Some(value.time()?),
                8 => unsettled = value.number()?,
                9 => pools.push(pool_figures(value)?),
                10 => last_hold = value.number32()?,
                11 => last_holder = value.number32()?,
                12 => last_bar = value.number32()?,
                13 => results = value.number32()?,
                _ => return Err(value.wrong("an unknown field of a campaign")),
            }
            Ok(())
        })?;
        let settled = u32::try_from(unsettled).ok().and_then(|left| results.checked_sub(left));
        let settled = settled.filter(|_| results < u32::MAX / 2);
        let settled = settled.ok_or_else(|| value.wrong("a campaign that made other results"))?;
        self.in_campaign.insert(number, settled);
        let settings: Settings =
            settings.ok_or_else(|| value.wrong("a campaign without settings"))?;
        let opens_at = match settings.opens {
            Opens::At(at) => Some(at),
            Opens::Undecided => None,
            Opens::Now => return Err(value.wrong("an opening time that is not a moment")),
        };
        if settings.pools.len() != pools.len() {
            return Err(value.wrong("a campaign whose pools do not match its settings"));
        }
        let mut campaign = Campaign {
            number,
            name: name.into(),
            version,
            created_at,
            title: settings.title,
            opens_at,
            closes_at: settings.closes_at,
            limit: settings.limit,
            claim_again: settings.claim_again,
            units_return: settings.units_return,
            public: settings.public,
            paused,
            closed_at,
            results,
            unsettled,
            pools: Vec::new(),
            bars: Bars::new(),
            acts: Acts::default(),
            holding: settings.holding,
            holds: Holds::new(),
            refunds: Vec::new(),
            moves: Vec::new(),
            unserved: UnservedLog::default(),
            told: 0,
            counted: Counted::default(),
        };
        (campaign.holds.last, campaign.holds.last_holder) = (last_hold, last_holder);
        campaign.bars.last = last_bar;
        for (index, (wanted, (taken, last_rank, held, list))) in
            settings.pools.iter().zip(pools).enumerate()
        {
            let mut pool = Pool::new(wanted);
            (pool.taken, pool.held) = (taken, held);
            if let Some(last) = list {
                pool.list_mut().last = last;
            }
            campaign.pools.push(pool);
            self.last_ranks.push((number, index, last_rank));
        }
        let named = self.state.names.insert(name.into(), Named::Live(number));
        if named.is_some() || self.state.campaigns.insert(number, campaign).is_some() {
            return Err(value.wrong("a campaign that is there already"));
        }
        Ok(())
    }

    pub(super) fn pool(&mut self, campaign: u32, pool: u32) -> Option<&mut Pool> {
        self.state.campaigns.get_mut(&campaign)?.pools.get_mut(pool as usize)
    }

    fn segment(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut pool, mut first_rank, mut rows) = (0, 0, 0, None);
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => pool = value.number32()?,
                3 => first_rank = value.number32()?,
                4 => rows = Some(value.nested()?),
                _ => return Err(value.wrong("an unknown field of a segment")),
            }
            Ok(())
        })?;
        let rows = rows.ok_or_else(|| value.wrong("a segment without rows"))?;
        let segment = Segment::decode(first_rank, rows)?;
        let index = pool;
        let pool = self
            .pool(campaign, index)
            .ok_or_else(|| value.wrong("a segment of an unknown pool"))?;
        let sealed = pool.segments.last().cloned();
        if !pool.restore_segment(segment) {
            return Err(value.wrong("a segment that does not follow the one before it"));
        }
        if let (Some(sealed), Some((c, p, piece))) = (sealed, self.before)
            && (c, p) == (campaign, index)
        {
            sealed.stored.get_or_init(|| piece);
        }
        self.before = Some((campaign, index, self.piece));
        Ok(())
    }

    fn note(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut number, mut index, mut rank, mut earlier) = (0, 0, 0, None);
        let (mut at, mut by, mut reason, mut who) = (None, By::Subject, "", "");
        value.nested()?.fields(|field, value| {
            match field {
                1 => number = value.number32()?,
                2 => index = value.number32()?,
                3 => rank = value.number32()?,
                4 => earlier = Some(value.number32()?),
                5 => at = Some(value.time()?),
                6 => {
                    by = By::of(value.number()?)
                        .ok_or_else(|| value.wrong("an unknown canceller"))?;
                }
                7 => reason = value.text()?,
                8 => who = value.text()?,
                _ => return Err(value.wrong("an unknown field of a note")),
            }
            Ok(())
        })?;
        let cancel = at.map(|at| Cancel { at, by, reason: reason.into(), who: who.into() });
        let pool =
            self.pool(number, index).ok_or_else(|| value.wrong("a note of an unknown pool"))?;
        pool.claim(rank).ok_or_else(|| value.wrong("a note of an unknown claim"))?;
        // Whoever follows the ranks from the latest to the earliest must come to an end.
        if earlier.is_some_and(|earlier| earlier >= rank) {
            return Err(value.wrong("an earlier claim that is not earlier"));
        }
        if !pool.restore_note(rank, Note { cancel, earlier, before: 0 }) {
            return Err(value.wrong("a second note of one claim, or one out of order"));
        }
        Ok(())
    }

    fn batch(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut node, mut number, mut used) = (NodeId::default(), 0, 0);
        value.nested()?.fields(|field, value| {
            match field {
                1 => node = NodeId(value.id()?),
                2 => number = counted(value)?,
                3 => used = service_time(value)?,
                _ => return Err(value.wrong("an unknown field of a batch number")),
            }
            Ok(())
        })?;
        self.state.batches.last.insert(node, LastBatch { number, used });
        Ok(())
    }

    fn order(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut id, mut content, mut outcome, mut service) = ("", 0, None, 0);
        let mut who = "";
        value.nested()?.fields(|field, value| {
            match field {
                1 => id = value.text()?,
                2 => content = value.number()?,
                3 => outcome = Some(Outcome::decode_kept(value.nested()?)?),
                4 => service = service_time(value)?,
                5 => who = value.text()?,
                _ => return Err(value.wrong("an unknown field of an operator command's id")),
            }
            Ok(())
        })?;
        let outcome = outcome.ok_or_else(|| value.wrong("an id without an answer"))?;
        let orders = self.state.orders.by_key.entry(who.into()).or_default();
        orders.oldest_first.push_back(id.into());
        orders.by_id.insert(id.into(), Answered { content, outcome, service });
        Ok(())
    }

    fn results(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let mut rows = value.nested()?;
        while !rows.is_empty() {
            let mut number = || rows.varint();
            let (campaign, pool, kind, rank) = (number()?, number()?, number()?, number()?);
            let record = (u32::try_from(campaign), u16::try_from(pool), u32::try_from(rank));
            let ((Ok(campaign), Ok(pool), Ok(rank)), Some(kind)) = (record, Kind::of(kind)) else {
                return Err(value.wrong("a result outside its bounds"));
            };
            // Of a campaign that left memory nobody asks for it.
            let in_campaign = self.in_campaign.entry(campaign).or_default();
            *in_campaign = in_campaign.saturating_add(1);
            self.state.results.push(Record { campaign, rank, pool, kind }, *in_campaign);
        }
        Ok(())
    }

    fn archived(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut name, mut at, mut title) = ("", Timestamp::default(), "");
        value.nested()?.fields(|field, value| {
            match field {
                1 => name = value.text()?,
                2 => at = value.time()?,
                3 => title = value.text()?,
                _ => return Err(value.wrong("an unknown field of an archived campaign")),
            }
            Ok(())
        })?;
        self.state.names.insert(name.into(), Named::Archived(Archived { at, title: title.into() }));
        Ok(())
    }
}

/// Reads what is counted of a pool: units taken, the last rank, units held, and the last ticket of its waitlist if it has one.
fn pool_figures(value: Value<'_>) -> Result<(u32, u32, u32, Option<u32>), Malformed> {
    let (mut taken, mut last_rank, mut held, mut list) = (0, 0, 0, None);
    value.nested()?.fields(|field, value| {
        match field {
            1 => taken = value.number32()?,
            2 => last_rank = value.number32()?,
            3 => held = value.number32()?,
            28 => list = Some(value.number32()?),
            _ => return Err(value.wrong("an unknown field of a pool")),
        }
        Ok(())
    })?;
    Ok((taken, last_rank, held, list))
}
