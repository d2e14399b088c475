//! Seats and areas from JSON, from lines of JSON, and from CSV with a header.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::request;
use axum::body::Bytes;
use firstcome_api::line_numbers::LineNumbers;
use firstcome_api::seat::SeatRow;
use firstcome_core::Refusal;
use firstcome_core::hall::{AreaSettings, Price, SeatSettings};
use serde_json::json;

/// Wrong lines that a problem names at most.
pub(super) const ERRORS: usize = 20;

/// A seat or an area, and the line it was read from; of an array its number, from 1.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) seat: SeatRow,
}

impl Row {
    pub(super) fn price(&self) -> Result<Option<Price>, String> {
        request::price(self.seat.price_minor, self.seat.currency.as_deref())
            .map_err(|why| why.detail().to_owned())
    }

    pub(super) fn seat(&self, price: Option<Price>) -> SeatSettings<'_> {
        SeatSettings {
            name: &self.seat.name,
            section: &self.seat.section,
            row: &self.seat.row,
            number: &self.seat.number,
            x: self.seat.x,
            y: self.seat.y,
            quality: self.seat.quality,
            grade: &self.seat.grade,
            price,
            channel: &self.seat.channel,
            accessible: self.seat.accessible,
            companion: self.seat.companion,
            for_sale: self.seat.for_sale,
            group: &self.seat.group,
            extra: self.seat.extra.as_bytes(),
        }
    }

    pub(super) fn area(&self, capacity: u32, price: Option<Price>) -> AreaSettings<'_> {
        AreaSettings {
            name: &self.seat.name,
            capacity,
            grade: &self.seat.grade,
            price,
            channel: &self.seat.channel,
            for_sale: self.seat.for_sale,
            extra: self.seat.extra.as_bytes(),
        }
    }
}

/// Reads a body of one of the three media types.
pub(super) fn read(kind: &str, bytes: &Bytes) -> Result<Vec<Row>, Problem> {
    if [&b"\xff\xfe"[..], b"\xfe\xff"].iter().any(|mark| bytes.starts_with(mark)) {
        return Err(Problem::invalid("the body is UTF-16: send UTF-8"));
    }
    // Spreadsheets begin their files with a mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let read = match kind {
        "text/csv" => csv(bytes),
        "application/x-ndjson" => lines(bytes),
        _ => array(bytes)?,
    };
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    for row in read {
        match row {
            Ok(row) => rows.push(row),
            Err(wrong) => errors.push(wrong),
        }
    }
    if let Some((line, why)) = errors.first() {
        let problem = Problem::new(Code::Refused(Refusal::BadSeat), format!("line {line}: {why}"));
        let errors = errors.iter().take(ERRORS);
        let errors = errors.map(|(line, why)| json!({"line": line, "why": why}));
        return Err(problem.with("errors", errors.collect()));
    }
    if rows.is_empty() {
        return Err(Problem::invalid("there is no seat in it"));
    }
    Ok(rows)
}

/// Returns the line of a seat or an area, counted from 0 among its kind.
pub(super) fn line(rows: &[Row], index: usize, area: bool) -> usize {
    let mut kind = rows.iter().filter(|row| row.seat.capacity.is_some() == area);
    kind.nth(index).map_or(0, |row| row.line)
}

type Read = Vec<Result<Row, (usize, String)>>;

/// Reads an array; its rows have numbers, from 1, in place of lines.
fn array(bytes: &[u8]) -> Result<Read, Problem> {
    let values: Vec<serde_json::Value> = request::json(bytes)?;
    let read = |(index, value)| match serde_json::from_value::<SeatRow>(value) {
        Ok(seat) => Ok(Row { line: index + 1, seat }),
        Err(why) => Err((index + 1, why.to_string())),
    };
    Ok(values.into_iter().enumerate().map(read).collect())
}

fn lines(bytes: &[u8]) -> Read {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines
        .map(|(index, line)| match serde_json::from_slice::<SeatRow>(line) {
            Ok(seat) => Ok(Row { line: index + 1, seat }),
            Err(why) => Err((index + 1, why.to_string())),
        })
        .collect()
}

/// Reads CSV whose header names the fields; an empty field is one that is left out.
fn csv(bytes: &[u8]) -> Read {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(why) => return vec![Err((1, why.to_string()))],
    };
    if let Some(name) = twice(&header) {
        return vec![Err((1, format!("there are two columns {name}")))];
    }
    let mut numbers = LineNumbers::new(bytes);
    let mut line = |at: Option<&csv::Position>| {
        at.map_or(0, |at| numbers.of(usize::try_from(at.byte()).unwrap_or(usize::MAX)))
    };
    reader
        .records()
        .map(|record| {
            let record = record.map_err(|why| (line(why.position()), why.to_string()))?;
            let line = line(record.position());
            let mut seat = SeatRow { for_sale: true, ..SeatRow::default() };
            for (name, value) in header.iter().zip(&record) {
                if !value.is_empty() {
                    set(&mut seat, name, value).map_err(|why| (line, why))?;
                }
            }
            Ok(Row { line, seat })
        })
        .collect()
}

/// Returns the first column that a header has twice.
fn twice(header: &csv::StringRecord) -> Option<&str> {
    let before = |at: usize, name: &str| header.iter().take(at).any(|known| known == name);
    header.iter().enumerate().find(|(at, name)| before(*at, name)).map(|(_, name)| name)
}

/// Sets one field from its text.
fn set(seat: &mut SeatRow, name: &str, value: &str) -> Result<(), String> {
    fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, String> {
        value.parse().map_err(|_| format!("{name} {value:?} is not a number it can have"))
    }
    let truth = || match value {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(format!("{name} {value:?} is neither true nor false")),
    };
    let text = value.to_owned();
    match name {
        "name" => seat.name = text,
        "section" => seat.section = text,
        "row" => seat.row = text,
        "number" => seat.number = text,
        "x" => seat.x = number(name, value)?,
        "y" => seat.y = number(name, value)?,
        "quality" => seat.quality = number(name, value)?,
        "grade" => seat.grade = text,
        "price_minor" => seat.price_minor = Some(number(name, value)?),
        "currency" => seat.currency = Some(text),
        "channel" => seat.channel = text,
        "accessible" => seat.accessible = truth()?,
        "companion" => seat.companion = truth()?,
        "for_sale" => seat.for_sale = truth()?,
        "group" => seat.group = text,
        "extra" => seat.extra = text,
        "capacity" => seat.capacity = Some(number(name, value)?),
        _ => return Err(format!("there is no field {name:?}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        let of = |file: &str| csv(file.as_bytes()).into_iter().find_map(Result::err).unwrap().0;
        assert_eq!(of("name,x\r\nA1,1\r\nA2,left\r\n"), 3);
        assert_eq!(of("name,x\n\nA1,1\n\n\nA2,left\n"), 6);
        assert_eq!(of("name,x\r\nA1,1\r\nA2\r\n"), 3);
        let seats = csv(b"name\r\nA1\r\n\r\nA2\r\n");
        assert_eq!(seats.into_iter().map(|row| row.unwrap().line).collect::<Vec<_>>(), [2, 4]);
    }
}
