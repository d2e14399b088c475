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
    /// The part of the hall it is in.
    #[serde(default)]
    pub section: String,
    /// Its row. Seats of one row are next to each other in the order they are added.
    #[serde(default)]
    pub row: String,
    /// What is written on it.
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
    /// Its grade, which limits and picks of the best can name.
    #[serde(default)]
    pub grade: String,
    /// In the smallest unit of `currency`.
    #[serde(default)]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default)]
    pub currency: Option<String>,
    /// Through which channel it is sold; through any, if empty.
    #[serde(default)]
    pub channel: String,
    /// Whether it is a place for a wheelchair or otherwise kept accessible.
    #[serde(default)]
    pub accessible: bool,
    /// Whether it is for who comes along with somebody in an accessible seat.
    #[serde(default)]
    pub companion: bool,
    /// Whether it is sold at all; yes, if left out.
    #[serde(default = "yes")]
    pub for_sale: bool,
    /// The group it is sold with, such as a table.
    #[serde(default)]
    pub group: String,
    /// Up to 256 bytes of the caller's own.
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

/// What one request added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ImportedView))]
pub struct Imported {
    /// `imported`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// Seats that were added. Those that were there just so are not counted.
    pub seats: u32,
    /// Areas that were added.
    pub areas: u32,
    /// All units of the pool now.
    pub capacity: u32,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'static, str>,
}

/// Units of one pool, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    /// Names of seats, of groups as a whole, of areas for one place each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// Units in the form a hold takes, places of an area for example; their pool is this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
    /// 1 to 256 bytes.
    pub reason: String,
}

/// One seat for another, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// The seat that becomes free.
    pub from: String,
    /// The seat in its place, free until then.
    pub to: String,
    /// 1 to 256 bytes.
    pub reason: String,
}

/// What is to be changed of a seat. What is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SeatChangeRequest {
    /// Its name, as it is.
    pub name: String,
    /// Its new name: 1 to 64 bytes. A name that a seat was added with is never another seat's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
    /// Its new grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// Its new price, in the smallest unit of `currency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// Seats that are as they were wanted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SeatsChanged {
    /// `seats_changed`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// How many seats are other than they were.
    pub seats: u32,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'static, str>,
}

/// How many units stand otherwise now.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = BlockedView))]
pub struct SeatsBlocked {
    /// `blocked` or `unblocked`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// How many units it changed; those that stood so before are not counted.
    pub units: u32,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
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
    /// The seat in its place.
    pub to: String,
    /// The rank of its claim; null while it is held only.
    pub rank: Option<u32>,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'static, str>,
}
