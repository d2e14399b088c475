//! Settings: what an operator chooses for a campaign.

mod codes;
mod holding;
mod invalid;
pub mod sizes;

pub use codes::{CodeSettings, CodeSource};
pub use holding::{GradeLimit, HoldSettings, HoldsEach};
pub use invalid::BadSettings;
pub use sizes::Sizes;

use crate::limits::{CAPACITY, POOLS, TITLE_BYTES, WAITLIST_MOST};
use crate::names::{BadName, check_name, check_text};
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Write};

/// When a campaign opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Not decided: the campaign is a draft.
    Undecided,
    /// With the entry that carries this. Once applied it stands as [`Opens::At`].
    Now,
    /// At this moment.
    At(Timestamp),
}

impl Opens {
    /// Returns the moment, if it is decided.
    pub fn at(self) -> Option<Timestamp> {
        match self {
            Self::At(at) => Some(at),
            Self::Undecided | Self::Now => None,
        }
    }
}

/// What a pool's units are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolKind {
    /// So many units, each like the other.
    #[default]
    Counted,
    /// Seats with names, areas and groups, added with [`Command::Seats`](crate::Command::Seats).
    Seated,
    /// Codes that can be written down, generated or imported; each can be redeemed.
    Coded,
}

impl PoolKind {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Seated => "seated",
            Self::Coded => "coded",
        }
    }
}

/// A finite supply in a campaign, as the operator describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Its name, unique in the campaign: see [`check_name`].
    pub name: Box<str>,
    /// How many units it has: 1 to [`CAPACITY`]; 0 of a seated pool, whose seats are added one by one, and of one of
    /// imported codes.
    pub capacity: u32,
    /// What its units are.
    pub kind: PoolKind,
    /// How many units of it one subject may have, held and live claims together, if that is limited.
    pub limit: Option<u32>,
    /// How many may wait for its units: 0 to [`WAITLIST_MOST`]; [`WAITLIST`](crate::limits::WAITLIST) where nothing is said.
    pub waitlist: Option<u32>,
    /// What its codes are, of a coded pool and of no other.
    pub codes: Option<Box<CodeSettings>>,
}

impl PoolSettings {
    /// Describes a counted pool without a limit of its own.
    pub fn counted(name: &str, capacity: u32) -> Self {
        let kind = PoolKind::Counted;
        Self { name: name.into(), capacity, kind, limit: None, waitlist: None, codes: None }
    }

    /// Describes a seated pool without a limit of its own.
    pub fn seated(name: &str) -> Self {
        Self { capacity: 0, kind: PoolKind::Seated, ..Self::counted(name, 0) }
    }

    /// Describes a coded pool without a limit of its own. One of imported codes has capacity 0.
    pub fn coded(name: &str, capacity: u32, codes: CodeSettings) -> Self {
        let codes = Some(Box::new(codes));
        Self { kind: PoolKind::Coded, codes, ..Self::counted(name, capacity) }
    }
}

/// Everything an operator chooses for a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A title for people: 0 to 256 bytes without control characters.
    pub title: Box<str>,
    /// When claims are first accepted.
    pub opens: Opens,
    /// When claims are no longer accepted; never, if none.
    pub closes_at: Option<Timestamp>,
    /// How many live claims and held units one subject may have over all pools; if none, one claim in
    /// each pool and any number of held units.
    pub limit: Option<u32>,
    /// Whether a subject that cancelled may claim again, then with a new, higher rank.
    pub claim_again: bool,
    /// Whether a cancelled unit goes back to its pool.
    pub units_return: bool,
    /// Whether the campaign, its map and its counts may be read by everybody. No rule asks it.
    pub public: bool,
    /// The pools: 1 to 256, in the order given.
    pub pools: Vec<PoolSettings>,
    /// How units are held.
    pub holding: HoldSettings,
}

impl Settings {
    /// Accepts settings whose names, sizes and numbers are within bounds.
    ///
    /// Whether the times make sense is decided by the rules, which know what time it is.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), BadSettings> {
        if self.title.len() > TITLE_BYTES {
            let too_long = BadName::TooLong { bytes: self.title.len(), most: TITLE_BYTES };
            return Err(BadSettings::Title(too_long));
        }
        check_text(&self.title).map_err(BadSettings::Title)?;
        if self.limit == Some(0) {
            return Err(BadSettings::ZeroLimit);
        }
        match self.pools.len() {
            0 => return Err(BadSettings::NoPool),
            n if n > POOLS => return Err(BadSettings::TooManyPools(n)),
            _ => {}
        }
        for (i, pool) in self.pools.iter().enumerate() {
            check_name(&pool.name).map_err(|why| BadSettings::PoolName { number: i + 1, why })?;
            if self.pools[..i].iter().any(|earlier| earlier.name == pool.name) {
                return Err(BadSettings::PoolTwice(pool.name.clone()));
            }
            if pool.limit == Some(0) {
                return Err(BadSettings::ZeroPoolLimit(pool.name.clone()));
            }
            if pool.waitlist.is_some_and(|most| most > WAITLIST_MOST) {
                return Err(BadSettings::Waitlist(pool.name.clone()));
            }
            if let Some(codes) = &pool.codes {
                if pool.kind != PoolKind::Coded {
                    let what = "codes: only a coded pool has them";
                    return Err(BadSettings::Codes { pool: pool.name.clone(), what });
                }
                codes.check(&pool.name, pool.capacity)?;
                continue;
            }
            if pool.kind == PoolKind::Coded {
                let what = "codes: a coded pool has a source and a key";
                return Err(BadSettings::Codes { pool: pool.name.clone(), what });
            }
            let capacity = u64::from(pool.capacity);
            if pool.kind == PoolKind::Seated {
                if capacity != 0 {
                    return Err(BadSettings::SeatedCapacity(pool.name.clone()));
                }
                continue;
            }
            if !(1..=CAPACITY).contains(&capacity) {
                return Err(BadSettings::Capacity { pool: pool.name.clone(), capacity });
            }
        }
        self.holding.check()
    }

    /// Writes the settings as fields.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.text(1, &self.title);
        match self.opens {
            Opens::Undecided => {}
            Opens::Now => out.number(2, 1),
            Opens::At(at) => out.time(3, at),
        }
        if let Some(at) = self.closes_at {
            out.time(4, at);
        }
        if let Some(limit) = self.limit {
            out.number(5, u64::from(limit));
        }
        out.number(6, u64::from(self.claim_again));
        out.number(7, u64::from(self.units_return));
        for pool in &self.pools {
            out.nested(8, |out| {
                out.text(1, &pool.name);
                out.number(2, u64::from(pool.capacity));
                if pool.kind == PoolKind::Seated {
                    out.number(3, 1);
                }
                if let Some(limit) = pool.limit {
                    out.number(4, u64::from(limit));
                }
                if let Some(codes) = &pool.codes {
                    out.nested(5, |out| codes.encode(out));
                }
                if let Some(most) = pool.waitlist {
                    out.number(29, u64::from(most));
                }
            });
        }
        if self.public {
            out.number(40, 1);
        }
        self.holding.encode(out);
    }

    /// Reads settings as [`Settings::encode`] writes them.
    ///
    /// # Errors
    ///
    /// Bytes of another form, or settings [`Settings::check`] would not accept.
    pub fn decode(fields: Reader<'_>) -> Result<Self, Malformed> {
        let end = fields;
        let mut read = Self {
            title: "".into(),
            opens: Opens::Undecided,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            pools: Vec::new(),
            holding: HoldSettings::default(),
        };
        fields.fields(|field, value| {
            match field {
                1 => read.title = value.text()?.into(),
                2 if value.flag()? => read.opens = Opens::Now,
                3 => read.opens = Opens::At(value.time()?),
                4 => read.closes_at = Some(value.time()?),
                5 => read.limit = Some(value.number32()?),
                6 => read.claim_again = value.flag()?,
                7 => read.units_return = value.flag()?,
                8 => {
                    let mut pool = PoolSettings::counted("", 0);
                    value.nested()?.fields(|field, value| {
                        match field {
                            1 => pool.name = value.text()?.into(),
                            2 => pool.capacity = value.number32()?,
                            3 if value.flag()? => pool.kind = PoolKind::Seated,
                            4 => pool.limit = Some(value.number32()?),
                            29 => pool.waitlist = Some(value.number32()?),
                            5 => {
                                let codes = CodeSettings::decode(value.nested()?)?;
                                (pool.kind, pool.codes) = (PoolKind::Coded, Some(Box::new(codes)));
                            }
                            _ => return Err(value.wrong("an unknown field of a pool")),
                        }
                        Ok(())
                    })?;
                    read.pools.push(pool);
                }
                40 if value.flag()? => read.public = true,
                _ => read.holding.field(field, value)?,
            }
            Ok(())
        })?;
        read.check().map_err(|_| end.wrong("settings outside their bounds"))?;
        Ok(read)
    }
}
