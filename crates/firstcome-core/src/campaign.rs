//! One campaign: its settings, and the rules of changing, pausing, resuming and closing it.
//!
//! | File | Subject |
//! |---|---|
//! | `claim` | claiming and cancelling |
//! | `hold`, `confirm` | rules of holds |
//! | `select`, `choose`, `limits` | which units a command means, which it gets, and how many a subject may have |
//! | `operate` | adding, blocking and moving seats |
//! | `waiting`, `offers` | the waitlist of a pool: who waits, and what they are offered |
//! | `bar` | barring a subject |
//! | `codes` | the life of a code, and importing codes |
//! | `look` | reading |

mod bar;
mod choose;
mod claim;
mod codes;
mod confirm;
mod hold;
mod limits;
mod look;
mod offers;
mod operate;
mod select;
mod waiting;

pub(crate) use waiting::JoinRequest;
pub use waiting::OnList;

pub use codes::{CodeStatus, CodeView};
pub use look::{ResultRow, Winner};

use crate::acts::Acts;
use crate::bars::Bars;
use crate::codes::Codes;
use crate::command::{Pick, Steer};
use crate::hold::UnitId;
use crate::holds::Holds;
use crate::outcome::{Clamped, Fixed, Outcome, Refusal};
use crate::pool::Pool;
use crate::settings::{HoldSettings, Opens, PoolSettings, Settings, Sizes};
use crate::time::Timestamp;
use crate::waitlist::UnservedLog;
use firstcome_inject::{Mistake, inject};

/// Where a campaign stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No opening time is decided.
    Draft,
    /// It will open.
    Scheduled,
    /// Claims are accepted while units are left.
    Open,
    /// The operator has paused it.
    Paused,
    /// It is over, by time or on the operator's word.
    Closed,
}

impl Phase {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Closed => "closed",
        }
    }
}

/// A unit that was paid for too late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refunded {
    pub(crate) unit: UnitId,
    pub(crate) subject: Box<str>,
    pub(crate) hold: Box<str>,
    pub(crate) at: Timestamp,
}

/// A seat that was exchanged for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub(crate) pool: u16,
    pub(crate) from: UnitId,
    pub(crate) to: UnitId,
    pub(crate) rank: u32,
    pub(crate) subject: Box<str>,
    pub(crate) hold: Box<str>,
    /// When.
    pub at: Timestamp,
    /// Why, as the operator gave it.
    pub reason: Box<str>,
    /// The name of the key it was given with.
    pub who: Box<str>,
}

/// One run of something people compete for.
#[derive(Debug)]
pub struct Campaign {
    pub(crate) number: u32,
    pub(crate) name: Box<str>,
    pub(crate) version: u32,
    pub(crate) created_at: Timestamp,
    pub(crate) title: Box<str>,
    pub(crate) opens_at: Option<Timestamp>,
    pub(crate) closes_at: Option<Timestamp>,
    pub(crate) limit: Option<u32>,
    pub(crate) claim_again: bool,
    pub(crate) units_return: bool,
    /// Whether everybody may see its counts and map.
    pub(crate) public: bool,
    pub(crate) paused: bool,
    /// When the operator closed it.
    pub(crate) closed_at: Option<Timestamp>,
    /// How many results it has made.
    pub(crate) results: u32,
    /// Those of them that are not settled.
    pub(crate) unsettled: u64,
    pub(crate) pools: Vec<Pool>,
    /// Subjects that the operator barred.
    pub(crate) bars: Bars,
    pub(crate) acts: Acts,
    pub(crate) holding: HoldSettings,
    pub(crate) holds: Holds,
    /// Refunds that became due, in order: results point at them by their number, from 1.
    pub(crate) refunds: Vec<Refunded>,
    /// Seats that were exchanged, in order: results point at them by their number, from 1.
    pub(crate) moves: Vec<Moved>,
    /// Who left a waitlist without a unit, in order: results point at them by their number, from 1.
    pub(crate) unserved: UnservedLog,
    /// How many of them have a result: all of them between entries.
    pub(crate) told: u32,
    /// What the state counts for it.
    pub(crate) counted: Counted,
}

/// What a state counts of each of its campaigns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Bytes of memory.
    pub(crate) memory: usize,
    /// How large it may become, as its settings have it.
    pub(crate) sizes: Sizes,
    /// Ranks given, and how many of them by the last entry.
    pub(crate) given: (u64, u64),
}

/// What a command to hold asks.
pub(crate) struct HoldRequest<'a> {
    pub(crate) id: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) picks: &'a [Pick<'a>],
    pub(crate) limit: Option<u32>,
    /// See [`Command::content`](crate::Command::content).
    pub(crate) content: u64,
}

impl Campaign {
    /// Creates a campaign.
    ///
    /// Refuses with `closes_too_early`.
    pub(crate) fn create(
        number: u32,
        name: &str,
        at: Timestamp,
        wanted: &Settings,
    ) -> Result<Self, Refusal> {
        let opens_at = match wanted.opens {
            Opens::Now => Some(at),
            Opens::Undecided | Opens::At(_) => wanted.opens.at(),
        };
        check_times(at, opens_at, wanted.closes_at)?;
        Ok(Self {
            number,
            name: name.into(),
            version: 1,
            created_at: at,
            title: wanted.title.clone(),
            opens_at,
            closes_at: wanted.closes_at,
            limit: wanted.limit,
            claim_again: wanted.claim_again,
            units_return: wanted.units_return,
            public: wanted.public,
            paused: false,
            closed_at: None,
            results: 0,
            unsettled: 0,
            pools: wanted.pools.iter().map(Pool::new).collect(),
            bars: Bars::new(),
            acts: Acts::default(),
            holding: wanted.holding.clone(),
            holds: Holds::new(),
            refunds: Vec::new(),
            moves: Vec::new(),
            unserved: UnservedLog::default(),
            told: 0,
            counted: Counted::default(),
        })
    }

    /// Returns the campaign's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the campaign's number, in order of creation from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Says whether everybody may read its counts, its map and its events.
    pub fn is_public(&self) -> bool {
        self.public
    }

    /// Returns the version: 1 at first, one more with every change by an operator.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the moment it was created.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Returns the settings as they stand.
    pub fn settings(&self) -> Settings {
        Settings {
            title: self.title.clone(),
            opens: self.opens_at.map_or(Opens::Undecided, Opens::At),
            closes_at: self.closes_at,
            limit: self.limit,
            claim_again: self.claim_again,
            units_return: self.units_return,
            public: self.public,
            pools: self.pools.iter().map(Pool::settings).collect(),
            holding: self.holding.clone(),
        }
    }

    /// Returns the pools in order.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// Returns the pool of a name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|p| *p.name == *name)
    }

    /// Says where the campaign stands at a moment.
    pub fn phase(&self, at: Timestamp) -> Phase {
        if self.closed_since(at).is_some() {
            return Phase::Closed;
        }
        match self.opens_at {
            _ if self.paused => Phase::Paused,
            None => Phase::Draft,
            Some(opens_at) if at < opens_at => Phase::Scheduled,
            Some(_) => Phase::Open,
        }
    }

    /// Returns the moment the campaign closed, if it is closed at `at`.
    pub fn closed_since(&self, at: Timestamp) -> Option<Timestamp> {
        self.closed_at.or(self.closes_at.filter(|closes_at| *closes_at <= at))
    }

    /// Returns the opening or closing that lies next after `at`.
    pub fn next_deadline(&self, at: Timestamp) -> Option<Timestamp> {
        if self.closed_at.is_some() {
            return None;
        }
        [self.opens_at, self.closes_at].into_iter().flatten().filter(|t| *t > at).min()
    }

    /// Returns how many results of this campaign are not settled.
    pub fn unsettled(&self) -> u64 {
        self.unsettled
    }

    /// Says whether a subject may claim again after cancelling.
    pub fn lets_claim_again(&self) -> bool {
        self.claim_again
    }

    /// Returns how large it may become, as its settings have it; of imported codes, those that are there.
    pub fn sizes(&self) -> Sizes {
        let of = |pool: &Pool| {
            let codes = pool.codes().map(Codes::settings);
            Sizes::of(pool.capacity, pool.waitlist, codes)
        };
        self.pools.iter().map(of).fold(Sizes::default(), Sizes::plus)
    }

    /// Returns about how many bytes of memory the campaign takes: a sum over its pools.
    pub fn memory(&self) -> usize {
        let pools: usize = self.pools.iter().map(Pool::memory).sum();
        self.own_memory()
            + pools
            + self.holds.memory()
            + self.bars.memory()
            + self.acts.memory()
            + self.unserved.memory()
    }

    /// Returns [`Campaign::memory`] by looking at everything.
    pub(crate) fn walked_memory(&self) -> usize {
        let pools: usize = self.pools.iter().map(Pool::walked_memory).sum();
        let unserved = self.unserved.walked_memory();
        self.own_memory()
            + pools
            + self.holds.walked_memory()
            + self.bars.walked_memory()
            + self.acts.walked_memory()
            + unserved
    }

    /// Counts the bytes of its seats once more.
    pub(crate) fn count_seats(&mut self) {
        self.pools.iter_mut().for_each(Pool::count_seats);
    }

    fn own_memory(&self) -> usize {
        let refunds = self.refunds.len() * (size_of::<Refunded>() + 64);
        512 + refunds + self.moves.len() * (size_of::<Moved>() + 128)
    }

    fn has_opened(&self, at: Timestamp) -> bool {
        self.opens_at.is_some_and(|opens_at| opens_at <= at)
    }

    /// Says whether something of it left the system, or somebody on a waitlist will hear of it: then its name is never
    /// used again.
    pub fn has_results(&self) -> bool {
        // An import may have been revoked before anybody was given one of its codes.
        let marked = |pool: &Pool| pool.codes().is_some_and(|codes| !codes.marks.is_empty());
        let given = self.pools.iter().any(|pool| pool.last_rank() > 0 || marked(pool));
        let left = self.unserved.len() > 0 || self.has_lists();
        given || !self.refunds.is_empty() || !self.moves.is_empty() || left
    }

    /// Changes the campaign to what is wanted.
    ///
    /// The first refusal that applies is given, in this order: `closed` (then only the title and `public` may change),
    /// `not_changeable` (after opening: the opening time, `claim_again`, `units_return`, a pool that
    /// would go), `closes_too_early`. A capacity below what was given goes down to what was given.
    pub(crate) fn put(&mut self, at: Timestamp, wanted: &Settings) -> Outcome {
        let mut now = self.settings();
        let opens_at = match wanted.opens {
            Opens::Now if self.has_opened(at) => self.opens_at,
            Opens::Now => Some(at),
            Opens::Undecided | Opens::At(_) => wanted.opens.at(),
        };
        let wanted =
            Settings { opens: opens_at.map_or(Opens::Undecided, Opens::At), ..wanted.clone() };
        if wanted == now {
            return Outcome::Unchanged { version: self.version };
        }
        if self.closed_since(at).is_some() {
            now.title = wanted.title.clone();
            now.public = wanted.public;
            if now != wanted {
                return Refusal::Closed.into();
            }
        }
        let opened = if self.has_opened(at) { self.fixed_in(&wanted) } else { None };
        if let Some(fixed) = opened.or_else(|| self.withdrawn_in(&wanted)) {
            return Refusal::NotChangeable(fixed).into();
        }
        if (opens_at, wanted.closes_at) != (self.opens_at, self.closes_at)
            && let Err(refusal) = check_times(at, opens_at, wanted.closes_at)
        {
            return refusal.into();
        }
        self.title = wanted.title;
        self.opens_at = opens_at;
        self.closes_at = wanted.closes_at;
        self.limit = wanted.limit;
        self.claim_again = wanted.claim_again;
        self.units_return = wanted.units_return;
        self.public = if inject(Mistake::PublicForgotten) { self.public } else { wanted.public };
        self.holding = wanted.holding;
        let clamped = self.put_pools(&wanted.pools);
        self.changed(clamped)
    }

    /// Returns what the opened campaign has that these settings would change and may not.
    fn fixed_in(&self, wanted: &Settings) -> Option<Fixed> {
        if wanted.opens.at() != self.opens_at {
            return Some(Fixed::OpensAt);
        }
        if wanted.claim_again != self.claim_again {
            return Some(Fixed::ClaimAgain);
        }
        if wanted.units_return != self.units_return {
            return Some(Fixed::UnitsReturn);
        }
        // Pools are known by their index in stored results, so new ones come after the old ones.
        let kept = self.pools.iter().zip(&wanted.pools).all(|(old, new)| is_same(old, new));
        (!kept || wanted.pools.len() < self.pools.len()).then_some(Fixed::Pools)
    }

    /// Says whether a pool would go whose codes an operator withdrew: that is in the results.
    fn withdrawn_in(&self, wanted: &Settings) -> Option<Fixed> {
        let mut gone = self.pools[self.kept_of(&wanted.pools)..].iter();
        let withdrawn = |pool: &Pool| pool.codes().is_some_and(|codes| !codes.marks().is_empty());
        gone.any(|pool| pool.taken() > 0 || withdrawn(pool)).then_some(Fixed::Pools)
    }

    /// Returns how many of the pools stay with these settings.
    fn kept_of(&self, wanted: &[PoolSettings]) -> usize {
        self.pools.iter().zip(wanted).take_while(|(old, new)| is_same(old, new)).count()
    }

    fn put_pools(&mut self, wanted: &[PoolSettings]) -> Vec<Clamped> {
        let kept = self.kept_of(wanted);
        assert!(
            self.pools[kept..].iter().all(|p| p.last_rank() == 0 && p.taken() == 0),
            "a pool that gave something stays"
        );
        self.pools.truncate(kept);
        let mut clamped = Vec::new();
        for (pool, new) in self.pools.iter_mut().zip(wanted) {
            pool.limit = new.limit;
            pool.waitlist = new.waitlist;
            if let (Some(codes), Some(new)) = (pool.codes_mut(), &new.codes) {
                codes.settings = (**new).clone();
            }
            if pool.hall().is_some() || pool.has_stock() {
                continue;
            }
            pool.capacity = new.capacity.max(pool.taken);
            pool.came_free(UnitId::Counted);
            if pool.capacity != new.capacity {
                clamped.push(Clamped { pool: (*pool.name).into(), capacity: pool.capacity });
            }
        }
        self.pools.extend(wanted[kept..].iter().map(Pool::new));
        clamped
    }

    /// Pauses, resumes or closes the campaign.
    ///
    /// Refuses with `closed` what a closed campaign cannot do; closing it again changes nothing.
    pub(crate) fn steer(&mut self, at: Timestamp, steer: Steer) -> Outcome {
        let closed = self.closed_since(at).is_some();
        match steer {
            Steer::Pause | Steer::Resume if closed => Refusal::Closed.into(),
            Steer::Pause if self.paused => Outcome::Unchanged { version: self.version },
            Steer::Resume if !self.paused => Outcome::Unchanged { version: self.version },
            Steer::Close if closed => Outcome::Unchanged { version: self.version },
            Steer::Pause | Steer::Resume => {
                self.paused = steer == Steer::Pause;
                self.changed(Vec::new())
            }
            Steer::Close => {
                self.closed_at = Some(at);
                self.changed(Vec::new())
            }
            Steer::Archive { .. } | Steer::Delete => {
                unreachable!("the state's to do: the campaign leaves it")
            }
        }
    }

    fn changed(&mut self, clamped: Vec<Clamped>) -> Outcome {
        // It stays at the last number there is rather than end every node that applies one change more.
        self.version = self.version.saturating_add(1);
        Outcome::Changed { version: self.version, clamped }
    }
}

fn check_times(
    at: Timestamp,
    opens_at: Option<Timestamp>,
    closes_at: Option<Timestamp>,
) -> Result<(), Refusal> {
    match closes_at {
        Some(closes_at) if closes_at <= at.max(opens_at.unwrap_or(at)) => {
            Err(Refusal::ClosesTooEarly)
        }
        Some(_) | None => Ok(()),
    }
}

/// Says whether a pool is the one these settings describe.
fn is_same(pool: &Pool, wanted: &PoolSettings) -> bool {
    let codes = match (pool.codes(), &wanted.codes) {
        (Some(codes), Some(wanted)) => codes.settings().keeps_codes(wanted),
        (codes, wanted) => codes.is_none() && wanted.is_none(),
    };
    *pool.name == *wanted.name && pool.kind() == wanted.kind && codes
}
