//! What an operator says of seats and areas, and its checks.

use crate::limits::{CHUNK_SEATS, EXTRA_BYTES, UNIT_NAME_BYTES};
use crate::names::{BadName, check_length, check_text};

/// A price in the smallest unit of its currency. The rules only compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price {
    /// The amount in minor units, such as cents.
    pub minor: i64,
    /// Three capital letters, as in ISO 4217.
    pub currency: [u8; 3],
}

/// One seat, as it is imported and as it is given back.
///
/// All texts but the name may be empty. Each has at most [`UNIT_NAME_BYTES`] bytes and no control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatSettings<'a> {
    /// Its name, unique among the seats, areas and groups of its pool: see [`check_unit_name`].
    pub name: &'a str,
    /// The part of the hall it is in.
    pub section: &'a str,
    /// Its row within the section. Seats of one row are next to each other in the order they were
    /// added; a seat without a row has no neighbours. Where an aisle parts a row, name its parts apart.
    pub row: &'a str,
    /// What is written on it.
    pub number: &'a str,
    /// Where to draw it, from the left. The rules do not look at it.
    pub x: u16,
    /// Where to draw it, from the top. The rules do not look at it.
    pub y: u16,
    /// How good it is, 0 best. "Best available" goes by this, then by the order of adding.
    pub quality: u32,
    /// Its grade. Empty is a grade like any other.
    pub grade: &'a str,
    pub price: Option<Price>,
    /// Through which channel it is sold; through any, if empty.
    pub channel: &'a str,
    /// Whether it is for a wheelchair or otherwise kept accessible.
    pub accessible: bool,
    /// Whether it is for a companion of a person in an accessible seat.
    pub companion: bool,
    /// Whether it is sold at all.
    pub for_sale: bool,
    /// The group it is sold with, such as a table; none, if empty.
    pub group: &'a str,
    /// Up to 256 bytes of the caller's own.
    pub extra: &'a [u8],
}

impl<'a> SeatSettings<'a> {
    /// Describes a seat that is for sale and of which nothing else is said.
    pub fn named(name: &'a str) -> Self {
        Self {
            name,
            section: "",
            row: "",
            number: "",
            x: 0,
            y: 0,
            quality: 0,
            grade: "",
            price: None,
            channel: "",
            accessible: false,
            companion: false,
            for_sale: true,
            group: "",
            extra: &[],
        }
    }

    /// Accepts a seat whose texts and sizes are within bounds.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), Unfit> {
        check_unit_name(self.name).map_err(Unfit::Name)?;
        let texts = [
            ("section", self.section),
            ("row", self.row),
            ("number", self.number),
            ("grade", self.grade),
            ("channel", self.channel),
            ("group", self.group),
        ];
        for (what, text) in texts {
            check_unit_text(what, text)?;
        }
        check_rest(self.price, self.extra)
    }
}

/// One area (general admission): many units without names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaSettings<'a> {
    /// Its name, unique among the seats, areas and groups of its pool: see [`check_unit_name`].
    pub name: &'a str,
    /// How many units it has: at least 1.
    pub capacity: u32,
    /// Its grade. Empty is a grade like any other.
    pub grade: &'a str,
    /// The price of a unit.
    pub price: Option<Price>,
    /// Through which channel it is sold; through any, if empty.
    pub channel: &'a str,
    /// Whether it is sold at all.
    pub for_sale: bool,
    /// Up to 256 bytes of the caller's own.
    pub extra: &'a [u8],
}

impl<'a> AreaSettings<'a> {
    /// Describes an area that is for sale and of which nothing else is said.
    pub fn named(name: &'a str, capacity: u32) -> Self {
        Self { name, capacity, grade: "", price: None, channel: "", for_sale: true, extra: &[] }
    }

    /// Accepts an area whose texts and sizes are within bounds.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), Unfit> {
        check_unit_name(self.name).map_err(Unfit::Name)?;
        check_unit_text("grade", self.grade)?;
        check_unit_text("channel", self.channel)?;
        if self.capacity == 0 {
            return Err(Unfit::NoPlaces);
        }
        check_rest(self.price, self.extra)
    }
}

/// Accepts the name of a seat, an area or a group: 1 to 64 bytes of UTF-8 without control characters.
///
/// Names are compared byte by byte and never normalised.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn check_unit_name(name: &str) -> Result<(), BadName> {
    check_length(name, UNIT_NAME_BYTES)?;
    check_text(name)
}

fn check_unit_text(what: &'static str, text: &str) -> Result<(), Unfit> {
    let bytes = text.len();
    if bytes > UNIT_NAME_BYTES {
        return Err(Unfit::Text { what, why: BadName::TooLong { bytes, most: UNIT_NAME_BYTES } });
    }
    check_text(text).map_err(|why| Unfit::Text { what, why })
}

fn check_rest(price: Option<Price>, extra: &[u8]) -> Result<(), Unfit> {
    if let Some(price) = price
        && !price.currency.iter().all(u8::is_ascii_uppercase)
    {
        return Err(Unfit::Currency);
    }
    if extra.len() > EXTRA_BYTES {
        return Err(Unfit::Extra(extra.len()));
    }
    Ok(())
}

/// A seat or an area that cannot be added. Nothing of its chunk was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {} ({name:?}): {why}", if *.area { "area" } else { "seat" }, .at + 1)]
pub struct BadSeat {
    /// Which of the chunk's seats or areas it is, counted from 0.
    pub at: usize,
    /// Whether it is one of the areas.
    pub area: bool,
    /// Its name as given.
    pub name: Box<str>,
    /// What is wrong with it.
    pub why: Unfit,
}

/// Why a seat or an area is not acceptable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// The chunk has too many seats, counted with this one.
    #[error("at most {CHUNK_SEATS} seats are added at once")]
    ChunkFull,
    /// Its name is not acceptable.
    #[error("its name {0}")]
    Name(BadName),
    /// One of its texts is not acceptable.
    #[error("its {what} {why}")]
    Text {
        what: &'static str,
        /// What is wrong.
        why: BadName,
    },
    /// A currency that is not three capital letters.
    #[error("the currency of its price is not three capital letters")]
    Currency,
    /// Too many bytes of the caller's own.
    #[error("its extra bytes are {0}, at most {EXTRA_BYTES} are allowed")]
    Extra(usize),
    /// An area for nobody.
    #[error("a capacity of 0 would let nobody in")]
    NoPlaces,
    /// A seat, an area or a group has its name already.
    #[error("its name is given already")]
    NameTaken,
    /// Its group has the name of a seat or an area.
    #[error("its group has the name of a seat or an area")]
    GroupNameTaken,
    /// Its group is sold as a whole, and it is taken.
    #[error("its group is not free, so it cannot get another seat")]
    GroupNotFree,
    /// One more than there may be of what is named.
    #[error("the pool would have more than {most} {what}")]
    TooMany {
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
}
