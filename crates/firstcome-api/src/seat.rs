//! Seats and areas of a seated pool: imported, changed, blocked, moved.

use crate::hold::PickRequest;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A seat; with a `capacity`, an area of general admission. Left out, every text is empty and every number 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SeatRow {
    /// Its name, unique among the seats, areas and groups of its pool: 1 to 64 bytes.
    pub name: String,
    /// Its section.
    #[serde(default)]
    pub section: String,
    /// Its row. Seats of one row are next to each other in the order they are added.
    #[serde(default)]
    pub row: String,
    /// The number on the seat.
    #[serde(default)]
    pub number: String,
    /// Where to draw it, from the left.
    #[serde(default)]
    pub x: u16,
    /// Where to draw it, from the top.
    #[serde(default)]
    pub y: u16,
    /// How good it is, 0 best: the best seats are found by this.
    #[serde(default)]
    pub quality: u32,
    /// Its price category, for limits and for picks of `best`.
    #[serde(default)]
    pub grade: String,
    /// In the smallest unit of `currency`.
    #[serde(default)]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default)]
    pub currency: Option<String>,
    /// The channel that sells it; any channel if empty.
    #[serde(default)]
    pub channel: String,
    /// Whether it is accessible, for example a place for a wheelchair.
    #[serde(default)]
    pub accessible: bool,
    /// Whether it is for a companion of a person in an accessible seat.
    #[serde(default)]
    pub companion: bool,
    /// Whether it is for sale; yes if left out.
    #[serde(default = "yes")]
    pub for_sale: bool,
    /// The group it is sold with, such as a table.
    #[serde(default)]
    pub group: String,
    /// Up to 256 bytes of the caller's own data.
    #[serde(default)]
    pub extra: String,
    /// How many places an area has. A seat has none.
    #[serde(default)]
    pub capacity: Option<u32>,
}

fn yes() -> bool {
    true
}

impl SeatRow {
    /// A seat that is for sale; everything else is left out.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), for_sale: true, ..Self::default() }
    }

    /// An area for sale with so many places.
    pub fn area(name: impl Into<String>, capacity: u32) -> Self {
        Self { capacity: Some(capacity), ..Self::named(name) }
    }
}

/// The seats that one request added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ImportedView))]
pub struct Imported {
    /// `imported`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// Seats that were added. Identical existing seats are not counted.
    pub seats: u32,
    /// Areas that were added.
    pub areas: u32,
    /// All units of the pool now.
    pub capacity: u32,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// Units of one pool, and the reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    /// Names of seats, of groups (all their seats), or of areas (one place each).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// Units in the form of a hold, for example places of an area; their pool is this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
    /// 1 to 256 bytes.
    pub reason: String,
}

/// An exchange of seats, and the reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// The seat that becomes free.
    pub from: String,
    /// The free seat that replaces it.
    pub to: String,
    /// 1 to 256 bytes.
    pub reason: String,
}

/// Changes of a seat. Fields that are left out stay.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SeatChangeRequest {
    /// Its current name.
    pub name: String,
    /// Its new name: 1 to 64 bytes. The first name of a seat can never become the name of another seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
    /// Its new price category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// Its new price, in the smallest unit of `currency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// Changed seats.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SeatsChanged {
    /// `seats_changed`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// How many seats changed.
    pub seats: u32,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// How many units changed their status.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = BlockedView))]
pub struct SeatsBlocked {
    /// `blocked` or `unblocked`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// How many units it changed; units that had this status before are not counted.
    pub units: u32,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// A seat that was exchanged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = MovedView))]
pub struct SeatsMoved {
    /// `moved`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The seat that is free now.
    pub from: String,
    /// The seat that replaced it.
    pub to: String,
    /// The rank of its claim; null if it is only held.
    pub rank: Option<u32>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}
