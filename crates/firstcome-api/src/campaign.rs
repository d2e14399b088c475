//! Campaigns: the settings that an operator sends, and the documents that show them.

use crate::code::{CodeSource, CodesRequest, PoolCodes};
use crate::seat::SeatRow;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The settings of a campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CampaignRequest {
    /// A title for people: up to 256 bytes.
    #[serde(default)]
    pub title: String,
    /// RFC 3339 with an offset, a local time with its zone, or `now`; left out or null for a draft.
    #[serde(default)]
    pub opens_at: Option<String>,
    /// RFC 3339 with an offset, or a local time with its zone; left out or null for never.
    #[serde(default)]
    pub closes_at: Option<String>,
    /// The limits of one subject.
    #[serde(default)]
    pub limits: LimitsRequest,
    /// Whether a subject that cancelled may claim again.
    #[serde(default)]
    pub claim_again: bool,
    /// Whether a cancelled unit goes back to its pool.
    #[serde(default = "yes")]
    pub units_return: bool,
    /// Whether everybody may read the campaign, its map and its events, without a key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub public: bool,
    /// How long a hold lasts, 1,000 to `hold_max_ms`; 480,000 (8 minutes), or `hold_max_ms` if that is less, if left out.
    #[serde(default)]
    pub hold_ttl_ms: Option<i64>,
    /// The longest time of a hold with extensions, from its start, up to 86,400,000; 1,800,000 (30 minutes) if left out.
    #[serde(default)]
    pub hold_max_ms: Option<i64>,
    /// How many live holds one subject may have.
    #[serde(default)]
    pub holds: HoldsRequest,
    /// How many holds one subject may start in an hour, 1 to 1,000; 60 if left out.
    #[serde(default)]
    pub holds_per_hour: Option<u32>,
    /// Whether a hold may leave a single free seat between taken ones.
    #[serde(default)]
    pub allow_orphans: bool,
    /// How long an offer to somebody on a waitlist lasts, 1,000 to 86,400,000; 600,000 (10 minutes) if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_ms: Option<i64>,
    /// The pools, at least one.
    pub pools: Vec<PoolRequest>,
}

fn yes() -> bool {
    true
}

// Servers from before there was such a member refuse it.
fn is_false(public: &bool) -> bool {
    !public
}

impl Default for CampaignRequest {
    /// Returns what a request says that leaves out all but `pools`, of which there is none yet.
    fn default() -> Self {
        Self {
            title: String::new(),
            opens_at: None,
            closes_at: None,
            limits: LimitsRequest::default(),
            claim_again: false,
            units_return: true,
            public: false,
            hold_ttl_ms: None,
            hold_max_ms: None,
            holds: HoldsRequest::default(),
            holds_per_hour: None,
            allow_orphans: false,
            offer_ms: None,
            pools: Vec::new(),
        }
    }
}

impl CampaignRequest {
    /// Returns a counted pool this capacity if it has less; adds the pool where there is none of that name.
    pub fn raise(&mut self, pool: &str, capacity: u32) {
        match self.pools.iter_mut().find(|known| known.name == pool) {
            Some(known) => {
                let now = known.capacity.as_ref().and_then(serde_json::Number::as_u64).unwrap_or(0);
                known.capacity = Some(now.max(capacity.into()).into());
            }
            None => self.pools.push(PoolRequest::counted(pool, capacity)),
        }
    }
}

/// The limits of one subject.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LimitsRequest {
    /// Units over all pools of the campaign, held and live claims together; if left out, only the other limits count.
    #[serde(default)]
    pub campaign: Option<u32>,
    /// Units of a price category, held and live claims together, over all pools.
    #[serde(default)]
    pub grades: BTreeMap<String, u32>,
}

/// How many live holds one subject may have.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HoldsRequest {
    /// One at a time.
    #[default]
    One,
    /// Any number.
    Many,
}

/// A pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PoolRequest {
    /// Its name.
    pub name: String,
    /// Its kind.
    #[serde(default)]
    pub kind: PoolKind,
    /// The number of units: 1 to 4294967294; of generated codes 1 to 10000000. Not for a seated pool, whose capacity is the number of
    /// added seats and places; 0 or left out for imported codes, whose capacity is the number of codes that were imported.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>))]
    pub capacity: Option<serde_json::Number>,
    /// How many units of it one subject may have, held and live claims together; no limit if left out.
    #[serde(default)]
    pub limit: Option<u32>,
    /// How many may wait for its units at most: 0 to 1,000,000, where 0 is no waitlist; 100,000 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waitlist: Option<u32>,
    /// The first seats and areas of a seated pool: up to 4,000. Import the others.
    #[serde(default)]
    pub seats: Vec<SeatRow>,
    /// The codes of a coded pool; generated ones that can be redeemed once, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<CodesRequest>,
}

impl PoolRequest {
    /// A pool of units that are alike: 1 to 4,294,967,294.
    pub fn counted(name: impl Into<String>, capacity: u32) -> Self {
        let (name, kind, capacity) = (name.into(), PoolKind::Counted, Some(capacity.into()));
        Self { name, kind, capacity, limit: None, waitlist: None, seats: Vec::new(), codes: None }
    }

    /// A pool of seats and areas, which are added later.
    pub fn seated(name: impl Into<String>) -> Self {
        let (kind, seats) = (PoolKind::Seated, Vec::new());
        Self {
            name: name.into(),
            kind,
            capacity: None,
            limit: None,
            waitlist: None,
            seats,
            codes: None,
        }
    }

    /// A pool of codes: 1 to 10,000,000 generated ones, or imported ones, which have no capacity of their own.
    pub fn coded(name: impl Into<String>, capacity: Option<u32>, codes: CodesRequest) -> Self {
        let (kind, seats) = (PoolKind::Coded, Vec::new());
        let (capacity, codes) = (capacity.map(Into::into), Some(codes));
        Self { name: name.into(), kind, capacity, limit: None, waitlist: None, seats, codes }
    }
}

/// The kind of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// Places without names.
    #[default]
    Counted,
    /// Seats with names, and areas.
    Seated,
    /// Coupon codes.
    Coded,
}

/// Options for archiving.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ArchiveRequest {
    /// Whether to drop results that are not in the ledger.
    #[serde(default)]
    pub drop_unsettled: bool,
}

/// The result of a command on a campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Put))]
pub struct OperatorDone {
    /// `created`, `changed` or `unchanged`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// Its version now.
    pub version: u32,
    /// Pools whose capacity could not be lowered to the requested number, with the number that was set.
    pub clamped: Vec<Clamped>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// A deleted campaign; its name is free.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Deleted {
    /// `deleted`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// A pool whose capacity could not be lowered to the requested number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ClampedView))]
pub struct Clamped {
    /// The pool.
    pub pool: String,
    /// Its capacity now.
    pub capacity: u32,
}

/// The current state of a pool. `held`, `blocked`, `last_rank`, `cancelled` and `offered` are only in answers to keys, not
/// to subject tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = PoolView))]
pub struct CampaignPool {
    /// Its name.
    pub name: String,
    /// `counted`, `seated` or `coded`.
    pub kind: Cow<'static, str>,
    /// All its units; of a seated pool, those that were added.
    pub capacity: u32,
    /// Units that are free and for sale.
    pub left: u32,
    /// Units that are not free.
    pub taken: u32,
    /// Units that are reserved until a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u32>,
    /// Units that are blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<u32>,
    /// How many units of it one subject may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The last rank given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_rank: Option<u32>,
    /// Claims that were cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<u32>,
    /// The codes of a coded pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<PoolCodes>,
    /// How many may wait for its units at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waitlist: Option<u32>,
    /// How many wait for its units.
    #[serde(default)]
    pub waiting: u64,
    /// How many have an offer of its units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<u64>,
}

/// The limits of one subject.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = LimitsView))]
pub struct Limits {
    /// Units over all pools, held and claimed together.
    pub campaign: Option<u32>,
    /// By price category, if there are such limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grades: BTreeMap<String, u32>,
}

/// The current state of a campaign, for a page. `live_holds` and `unsettled` are only in answers to keys, not to subject
/// tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CampaignView))]
pub struct Campaign {
    /// Its name.
    pub campaign: String,
    /// The title for people.
    pub title: String,
    /// `draft`, `scheduled`, `open`, `paused` or `closed`.
    pub state: Cow<'static, str>,
    /// Increases with every change; send it in `If-Match`.
    pub version: u32,
    /// When it was created.
    pub created_at: String,
    /// When it opens; null for a draft.
    pub opens_at: Option<String>,
    /// When it closes; null for never.
    pub closes_at: Option<String>,
    /// When it was closed.
    pub closed_at: Option<String>,
    /// Milliseconds until it opens: 0 after that, null for a draft.
    pub opens_in_ms: Option<i64>,
    /// Milliseconds until it closes: 0 after that, null if it never closes.
    pub closes_in_ms: Option<i64>,
    /// The server's time.
    pub now: String,
    /// The limits of one subject.
    pub limits: Limits,
    /// Whether a subject that cancelled may claim again.
    pub claim_again: bool,
    /// Whether a cancelled unit goes back to its pool.
    pub units_return: bool,
    /// Whether everybody may read it, its map and its events, without a key.
    #[serde(default)]
    pub public: bool,
    /// How long a hold lasts.
    pub hold_ttl_ms: i64,
    /// The longest time of a hold with extensions, from its start.
    pub hold_max_ms: i64,
    /// How many live holds one subject may have: `one` or `many`.
    pub holds: Cow<'static, str>,
    /// How many holds one subject may start in an hour.
    pub holds_per_hour: u32,
    /// Whether a hold may leave a single free seat between taken ones.
    pub allow_orphans: bool,
    /// How long an offer to somebody on a waitlist lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_ms: Option<i64>,
    /// The number of live holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_holds: Option<u64>,
    /// Its pools.
    pub pools: Vec<CampaignPool>,
    /// Units that are free in all pools.
    pub left: u64,
    /// A page should ask again after this time, in milliseconds.
    pub ask_again_ms: i64,
    /// Results of this campaign that the ledger does not have yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<u64>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}

impl Campaign {
    /// Returns the settings with which it would be as it is, to be changed and sent back with its `version`.
    pub fn settings(&self) -> CampaignRequest {
        let many = self.holds == "many";
        CampaignRequest {
            title: self.title.clone(),
            opens_at: self.opens_at.clone(),
            closes_at: self.closes_at.clone(),
            limits: LimitsRequest {
                campaign: self.limits.campaign,
                grades: self.limits.grades.clone(),
            },
            claim_again: self.claim_again,
            units_return: self.units_return,
            public: self.public,
            hold_ttl_ms: Some(self.hold_ttl_ms),
            hold_max_ms: Some(self.hold_max_ms),
            holds: if many { HoldsRequest::Many } else { HoldsRequest::One },
            holds_per_hour: Some(self.holds_per_hour),
            allow_orphans: self.allow_orphans,
            offer_ms: self.offer_ms,
            pools: self.pools.iter().map(CampaignPool::settings).collect(),
        }
    }
}

impl CampaignPool {
    /// Returns the settings with which it would be as it is. The seats of a seated pool stay and are not repeated.
    pub fn settings(&self) -> PoolRequest {
        let name = self.name.clone();
        let pool = match &*self.kind {
            "seated" => PoolRequest::seated(name),
            "coded" => {
                let codes = self.codes.as_ref().map(PoolCodes::settings).unwrap_or_default();
                let generated = codes.source == CodeSource::Generated;
                PoolRequest::coded(name, generated.then_some(self.capacity), codes)
            }
            _ => PoolRequest::counted(name, self.capacity),
        };
        PoolRequest { limit: self.limit, waitlist: self.waitlist, ..pool }
    }
}

/// A campaign that has left memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ArchivedView))]
pub struct Archived {
    /// Its name.
    pub campaign: String,
    /// The title for people.
    pub title: String,
    /// When it left memory.
    pub archived_at: String,
}

/// All campaigns this node knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CampaignsView))]
pub struct CampaignList {
    /// Campaigns in memory.
    pub campaigns: Vec<Campaign>,
    /// Archived campaigns.
    pub archived: Vec<Archived>,
    /// The `after` of the next page; null if this is the last.
    pub next: Option<String>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable.
    pub durable: bool,
}
