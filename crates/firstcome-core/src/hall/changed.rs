//! Changes of seats, written and read: in a command, and what they left in a snapshot.

use super::Hall;
use super::change::{NeighbourNames, SeatChange};
use super::settings::{Price, check_unit_name};
use crate::limits::CHUNK_SEATS;
use crate::wire::{Malformed, Value, Write};

/// Seats whose worth is written together.
const TOGETHER: usize = 1_024;

/// The fields of what changes left in a snapshot.
mod field {
    pub(super) const COUNT: u32 = 1;
    pub(super) const GRADE: u32 = 2;
    pub(super) const PRICE: u32 = 3;
    pub(super) const WORTH: u32 = 4;
    pub(super) const NAME: u32 = 5;
}

fn price_fields(out: &mut Vec<u8>, price: Price) {
    out.signed(1, price.minor);
    out.bytes(2, &price.currency);
}

pub(super) fn price(value: Value<'_>) -> Result<Price, Malformed> {
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

impl<'a> SeatChange<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.text(1, self.name);
        if let Some(name) = self.new_name {
            out.text(2, name);
        }
        if let Some(grade) = self.grade {
            out.text(3, grade);
        }
        if let Some(price) = self.price {
            out.nested(4, |out| price_fields(out, price));
        }
    }

    /// Reads a change and adds it to others.
    pub(crate) fn push(changes: &mut Vec<Self>, value: Value<'a>) -> Result<(), Malformed> {
        let mut read = Self { name: "", new_name: None, grade: None, price: None };
        value.nested()?.fields(|field, value| {
            match field {
                1 => read.name = value.text()?,
                2 => read.new_name = Some(value.text()?),
                3 => read.grade = Some(value.text()?),
                4 => read.price = Some(price(value)?),
                _ => return Err(value.wrong("an unknown field of a changed seat")),
            }
            Ok(())
        })?;
        read.check().map_err(|_| value.wrong("a changed seat outside its bounds"))?;
        if changes.len() == CHUNK_SEATS {
            return Err(value.wrong("more seats than a command changes"));
        }
        changes.push(read);
        Ok(())
    }
}

/// Writes the names of seats that got another one.
pub(super) fn names(out: &mut Vec<u8>, names: &NeighbourNames) {
    for (seat, name) in names {
        out.nested(field::NAME, |out| {
            out.number(1, u64::from(*seat));
            out.text(2, name);
        });
    }
}

impl Hall {
    /// Returns what changes left, but for the names: each part fits a piece.
    pub(super) fn changed_fields(&self) -> Vec<Vec<u8>> {
        let changes = &self.changes;
        if changes.count == 0 {
            return Vec::new();
        }
        let mut tables = Vec::new();
        tables.number(field::COUNT, changes.count);
        changes.grades.iter().for_each(|grade| tables.text(field::GRADE, grade));
        for price in &changes.prices {
            tables.nested(field::PRICE, |out| price_fields(out, *price));
        }
        let mut parts = vec![tables];
        let worth: Vec<u32> = changes.worth.iter().copied().collect();
        for seats in worth.chunks(TOGETHER) {
            let mut part = Vec::new();
            for seat in seats {
                part.nested(field::WORTH, |out| {
                    out.number(1, u64::from(*seat));
                    out.text(2, self.grade_of(*seat));
                    if let Some(price) = self.price_of(*seat) {
                        out.nested(3, |out| price_fields(out, price));
                    }
                });
            }
            parts.push(part);
        }
        parts
    }

    pub(super) fn restore_changes(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        value.nested()?.fields(|field, value| {
            match field {
                field::COUNT => self.changes.count = value.number()?,
                field::GRADE => {
                    let grade = value.text()?;
                    SeatChange { name: "x", new_name: None, grade: Some(grade), price: None }
                        .check()
                        .map_err(|_| value.wrong("a grade outside its bounds"))?;
                    self.changed_grade(grade);
                }
                field::PRICE => {
                    self.changed_price(price(value)?);
                }
                field::WORTH => self.restore_worth(value)?,
                field::NAME => self.restore_name(value)?,
                _ => return Err(value.wrong("an unknown field of changed seats")),
            }
            Ok(())
        })
    }

    fn restore_worth(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut seat, mut grade, mut worth) = (u32::MAX, "", None);
        value.nested()?.fields(|field, value| {
            match field {
                1 => seat = value.number32()?,
                2 => grade = value.text()?,
                3 => worth = Some(price(value)?),
                _ => return Err(value.wrong("an unknown field of a changed seat")),
            }
            Ok(())
        })?;
        let (grade, price) = (self.grades.find(grade), self.prices.find(&worth));
        let (Some(grade), Some(price)) = (grade, price) else {
            return Err(value.wrong("a changed seat of an unknown grade or price"));
        };
        if seat >= self.seats() {
            return Err(value.wrong("a changed seat that is not there"));
        }
        self.set_grade(seat, grade);
        self.seats[seat as usize].price = price as u16;
        self.changes.worth.insert(seat);
        Ok(())
    }

    fn restore_name(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut seat, mut name) = (u32::MAX, "");
        value.nested()?.fields(|field, value| {
            match field {
                1 => seat = value.number32()?,
                2 => name = value.text()?,
                _ => return Err(value.wrong("an unknown field of a seat's name")),
            }
            Ok(())
        })?;
        check_unit_name(name).map_err(|_| value.wrong("a name outside its bounds"))?;
        if seat >= self.seats() || self.is_given(seat, name) {
            return Err(value.wrong("the name of another unit, or of no seat"));
        }
        self.rename(seat, name);
        Ok(())
    }
}
