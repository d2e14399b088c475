//! Seats and areas as they are stored, in a command and in a snapshot alike.

use super::settings::{AreaSettings, Price, SeatSettings};
use crate::limits::{AREAS, CHUNK_SEATS};
use crate::wire::{Field, Malformed, Reader, Value, Write};
use std::collections::BTreeMap;

const TEXT: u32 = 1;
const PRICE: u32 = 2;
const SEAT: u32 = 3;
const AREA: u32 = 4;

/// The fields of a seat and, as far as it has them, of an area.
mod field {
    pub(super) const NAME: u32 = 1;
    pub(super) const NUMBER: u32 = 2;
    pub(super) const SECTION: u32 = 3;
    pub(super) const ROW: u32 = 4;
    pub(super) const X: u32 = 5;
    pub(super) const Y: u32 = 6;
    pub(super) const QUALITY: u32 = 7;
    pub(super) const GRADE: u32 = 8;
    pub(super) const PRICE: u32 = 9;
    pub(super) const CHANNEL: u32 = 10;
    pub(super) const MARKS: u32 = 11;
    pub(super) const GROUP: u32 = 12;
    pub(super) const EXTRA: u32 = 13;
    pub(super) const CAPACITY: u32 = 14;
}

const ACCESSIBLE: u64 = 1;
const COMPANION: u64 = 2;
const NOT_FOR_SALE: u64 = 4;

/// What the fields of one seat take at most beyond its texts, with the keys of all it may add to the tables.
const SEAT_FRAME: usize = 112;

/// Writes seats and areas, each repeated text and price once.
#[derive(Clone, Debug, Default)]
pub struct ChunkWriter {
    bytes: Vec<u8>,
    texts: BTreeMap<Box<str>, u64>,
    prices: BTreeMap<Price, u64>,
}

impl ChunkWriter {
    /// Begins with nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what was written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns at most how many bytes one more seat takes.
    pub(super) fn most(seat: &SeatSettings<'_>) -> usize {
        let texts = [seat.name, seat.section, seat.row, seat.number, seat.grade];
        let texts = texts.iter().map(|text| text.len()).sum::<usize>();
        SEAT_FRAME + texts + seat.channel.len() + seat.group.len() + seat.extra.len()
    }

    /// Adds a seat and gives at which byte it begins.
    pub fn seat(&mut self, seat: &SeatSettings<'_>) -> usize {
        let (section, row) = (self.text(seat.section), self.text(seat.row));
        let (grade, price) = (self.text(seat.grade), self.price(seat.price));
        let (channel, group) = (self.text(seat.channel), self.text(seat.group));
        let mut out = Vec::with_capacity(64);
        out.text(field::NAME, seat.name);
        if !seat.number.is_empty() {
            out.text(field::NUMBER, seat.number);
        }
        let mut number = |field, value: u64| {
            if value != 0 {
                out.number(field, value);
            }
        };
        number(field::SECTION, section);
        number(field::ROW, row);
        number(field::X, u64::from(seat.x));
        number(field::Y, u64::from(seat.y));
        number(field::QUALITY, u64::from(seat.quality));
        number(field::GRADE, grade);
        number(field::PRICE, price);
        number(field::CHANNEL, channel);
        let marks = [
            (seat.accessible, ACCESSIBLE),
            (seat.companion, COMPANION),
            (!seat.for_sale, NOT_FOR_SALE),
        ];
        number(field::MARKS, marks.iter().filter(|(yes, _)| *yes).map(|(_, mark)| mark).sum());
        number(field::GROUP, group);
        if !seat.extra.is_empty() {
            out.bytes(field::EXTRA, seat.extra);
        }
        let begins = self.bytes.len();
        self.bytes.bytes(SEAT, &out);
        begins
    }

    /// Adds an area.
    pub fn area(&mut self, area: &AreaSettings<'_>) {
        let (grade, channel) = (self.text(area.grade), self.text(area.channel));
        let price = self.price(area.price);
        self.bytes.nested(AREA, |out| {
            out.text(field::NAME, area.name);
            out.number(field::CAPACITY, u64::from(area.capacity));
            for (field, value) in
                [(field::GRADE, grade), (field::PRICE, price), (field::CHANNEL, channel)]
            {
                if value != 0 {
                    out.number(field, value);
                }
            }
            if !area.for_sale {
                out.number(field::MARKS, NOT_FOR_SALE);
            }
            if !area.extra.is_empty() {
                out.bytes(field::EXTRA, area.extra);
            }
        });
    }

    /// Frees what is only needed to write more.
    pub(super) fn seal(&mut self) {
        self.bytes.shrink_to_fit();
        self.texts = BTreeMap::new();
        self.prices = BTreeMap::new();
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.texts.len() * 64 + self.prices.len() * 32
    }

    /// Returns a text's number in this chunk, from 1; the empty text is 0.
    fn text(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64 + 1;
        self.bytes.text(TEXT, text);
        self.texts.insert(text.into(), number);
        number
    }

    /// Returns a price's number in this chunk, from 1; no price is 0.
    fn price(&mut self, price: Option<Price>) -> u64 {
        let Some(price) = price else { return 0 };
        if let Some(number) = self.prices.get(&price) {
            return *number;
        }
        let number = self.prices.len() as u64 + 1;
        self.bytes.nested(PRICE, |out| {
            out.signed(1, price.minor);
            out.bytes(2, &price.currency);
        });
        self.prices.insert(price, number);
        number
    }
}

/// Seats and areas that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The seats, in order.
    pub seats: Vec<SeatSettings<'a>>,
    /// The areas, in order.
    pub areas: Vec<AreaSettings<'a>>,
}

impl<'a> Chunk<'a> {
    /// Writes seats and areas to the end of `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut chunk = ChunkWriter::new();
        for seat in &self.seats {
            chunk.seat(seat);
        }
        for area in &self.areas {
            chunk.area(area);
        }
        out.extend_from_slice(chunk.as_bytes());
    }

    /// Reads seats and areas as [`ChunkWriter`] writes them.
    ///
    /// # Errors
    ///
    /// Bytes of another form, more than a chunk may have, or a seat or area that is not acceptable.
    pub fn decode(fields: Reader<'a>) -> Result<Self, Malformed> {
        let mut chunk = Self::default();
        let (mut texts, mut prices) = (vec![""], vec![None]);
        fields.fields(|field, value| {
            match field {
                TEXT => texts.push(value.text()?),
                PRICE => prices.push(Some(price(value)?)),
                SEAT => {
                    let seat = seat(value, &texts, &prices)?;
                    seat.check().map_err(|_| value.wrong("a seat outside its bounds"))?;
                    if chunk.seats.len() == CHUNK_SEATS {
                        return Err(value.wrong("more seats than a chunk has"));
                    }
                    chunk.seats.push(seat);
                }
                AREA => {
                    let area = area(value, &texts, &prices)?;
                    area.check().map_err(|_| value.wrong("an area outside its bounds"))?;
                    if chunk.areas.len() == AREAS {
                        return Err(value.wrong("more areas than a chunk has"));
                    }
                    chunk.areas.push(area);
                }
                _ => return Err(value.wrong("an unknown field of a hall")),
            }
            Ok(())
        })?;
        Ok(chunk)
    }
}

/// Reads the fields that only the bytes of the seat have: name, number, x, y and extra, and where it begins.
pub(super) fn own_fields(bytes: &[u8]) -> SeatSettings<'_> {
    let mut seat = SeatSettings::named("");
    Reader::new(own_bytes(bytes))
        .fields(|field, value| {
            match field {
                field::NAME => seat.name = value.text()?,
                field::NUMBER => seat.number = value.text()?,
                field::X => seat.x = small(value)?,
                field::Y => seat.y = small(value)?,
                field::EXTRA => seat.extra = value.bytes()?,
                _ => {}
            }
            Ok(())
        })
        .expect("a seat's bytes were written here");
    seat
}

/// Reads a seat's name, the first of its fields, where the seat begins.
pub(super) fn own_name(bytes: &[u8]) -> &[u8] {
    match Reader::new(own_bytes(bytes)).field() {
        Ok(Some((field::NAME, Field::Bytes(name)))) => name,
        Ok(_) | Err(_) => unreachable!("a seat's bytes were written here, its name first"),
    }
}

fn own_bytes(bytes: &[u8]) -> &[u8] {
    match Reader::new(bytes).field() {
        Ok(Some((SEAT, Field::Bytes(fields)))) => fields,
        Ok(_) | Err(_) => unreachable!("a seat's bytes were written here"),
    }
}

fn price(value: Value<'_>) -> Result<Price, Malformed> {
    let (mut minor, mut currency) = (0, None);
    value.nested()?.fields(|field, value| {
        match field {
            1 => minor = value.signed()?,
            2 => currency = value.bytes()?.try_into().ok(),
            _ => return Err(value.wrong("an unknown field of a price")),
        }
        Ok(())
    })?;
    let currency = currency.ok_or_else(|| value.wrong("a price without a currency"))?;
    Ok(Price { minor, currency })
}

/// Returns what a table has under the number in a field.
fn named<T: Copy>(value: Value<'_>, table: &[T]) -> Result<T, Malformed> {
    let number = usize::try_from(value.number()?).ok();
    let named = number.and_then(|number| table.get(number)).copied();
    named.ok_or_else(|| value.wrong("a text or price that was not given"))
}

fn small(value: Value<'_>) -> Result<u16, Malformed> {
    u16::try_from(value.number()?).map_err(|_| value.wrong("a number larger than 16 bits"))
}

fn marks(value: Value<'_>, allowed: u64) -> Result<u64, Malformed> {
    match value.number()? {
        marks if marks & !allowed == 0 => Ok(marks),
        _ => Err(value.wrong("an unknown mark of a seat or an area")),
    }
}

fn seat<'a>(
    value: Value<'a>,
    texts: &[&'a str],
    prices: &[Option<Price>],
) -> Result<SeatSettings<'a>, Malformed> {
    let mut seat = SeatSettings::named("");
    value.nested()?.fields(|field, value| {
        match field {
            field::NAME => seat.name = value.text()?,
            field::NUMBER => seat.number = value.text()?,
            field::SECTION => seat.section = named(value, texts)?,
            field::ROW => seat.row = named(value, texts)?,
            field::X => seat.x = small(value)?,
            field::Y => seat.y = small(value)?,
            field::QUALITY => seat.quality = value.number32()?,
            field::GRADE => seat.grade = named(value, texts)?,
            field::PRICE => seat.price = named(value, prices)?,
            field::CHANNEL => seat.channel = named(value, texts)?,
            field::MARKS => {
                let marks = marks(value, ACCESSIBLE | COMPANION | NOT_FOR_SALE)?;
                seat.accessible = marks & ACCESSIBLE != 0;
                seat.companion = marks & COMPANION != 0;
                seat.for_sale = marks & NOT_FOR_SALE == 0;
            }
            field::GROUP => seat.group = named(value, texts)?,
            field::EXTRA => seat.extra = value.bytes()?,
            _ => return Err(value.wrong("an unknown field of a seat")),
        }
        Ok(())
    })?;
    Ok(seat)
}

fn area<'a>(
    value: Value<'a>,
    texts: &[&'a str],
    prices: &[Option<Price>],
) -> Result<AreaSettings<'a>, Malformed> {
    let mut area = AreaSettings::named("", 0);
    value.nested()?.fields(|field, value| {
        match field {
            field::NAME => area.name = value.text()?,
            field::CAPACITY => area.capacity = value.number32()?,
            field::GRADE => area.grade = named(value, texts)?,
            field::PRICE => area.price = named(value, prices)?,
            field::CHANNEL => area.channel = named(value, texts)?,
            field::MARKS => area.for_sale = marks(value, NOT_FOR_SALE)? == 0,
            field::EXTRA => area.extra = value.bytes()?,
            _ => return Err(value.wrong("an unknown field of an area")),
        }
        Ok(())
    })?;
    Ok(area)
}
