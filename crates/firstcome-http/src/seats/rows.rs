//! Seats and areas from JSON, from lines of JSON, and from CSV with a header.

use crate::holds::picks;
use crate::problem::Problem;
use axum::body::Bytes;
use firstcome_api::answer::Code;
use firstcome_core::Refusal;
use firstcome_core::hall::{AreaSettings, Price, SeatSettings};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

/// A seat; with a `capacity`, an area of general admission. Left out, every text is empty and every number 0.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeatRow {
    /// Its name, unique among the seats, areas and groups of its pool: 1 to 64 bytes.
    name: String,
    /// The part of the hall it is in.
    #[serde(default)]
    section: String,
    /// Its row. Seats of one row are next to each other in the order they are added.
    #[serde(default)]
    row: String,
    /// What is written on it.
    #[serde(default)]
    number: String,
    /// Where to draw it, from the left.
    #[serde(default)]
    x: u16,
    /// Where to draw it, from the top.
    #[serde(default)]
    y: u16,
    /// How good it is, 0 best: the best seats are found by this.
    #[serde(default)]
    quality: u32,
    #[serde(default)]
    grade: String,
    /// In the smallest unit of `currency`.
    #[serde(default)]
    price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default)]
    currency: Option<String>,
    /// Through which channel it is sold; through any, if empty.
    #[serde(default)]
    channel: String,
    /// Whether it is a place for a wheelchair or otherwise kept accessible.
    #[serde(default)]
    accessible: bool,
    /// Whether it is for who comes along with somebody in an accessible seat.
    #[serde(default)]
    companion: bool,
    /// Whether it is sold at all; yes, if left out.
    #[serde(default = "yes")]
    for_sale: bool,
    /// The group it is sold with, such as a table.
    #[serde(default)]
    group: String,
    /// Up to 256 bytes of the caller's own.
    #[serde(default)]
    extra: String,
    /// How many places an area has. A seat has none.
    #[serde(default)]
    pub(super) capacity: Option<u32>,
    #[serde(skip)]
    pub(super) line: usize,
}

fn yes() -> bool {
    true
}

impl SeatRow {
    pub(super) fn price(&self) -> Result<Option<Price>, String> {
        picks::price(self.price_minor, self.currency.as_deref())
            .map_err(|why| why.detail().to_owned())
    }

    pub(super) fn seat(&self, price: Option<Price>) -> SeatSettings<'_> {
        SeatSettings {
            name: &self.name,
            section: &self.section,
            row: &self.row,
            number: &self.number,
            x: self.x,
            y: self.y,
            quality: self.quality,
            grade: &self.grade,
            price,
            channel: &self.channel,
            accessible: self.accessible,
            companion: self.companion,
            for_sale: self.for_sale,
            group: &self.group,
            extra: self.extra.as_bytes(),
        }
    }

    pub(super) fn area(&self, capacity: u32, price: Option<Price>) -> AreaSettings<'_> {
        AreaSettings {
            name: &self.name,
            capacity,
            grade: &self.grade,
            price,
            channel: &self.channel,
            for_sale: self.for_sale,
            extra: self.extra.as_bytes(),
        }
    }
}

/// What one request brings, with the line of each.
#[derive(Debug)]
pub(super) struct Rows(Vec<SeatRow>);

impl Rows {
    /// Reads a body of one of the three media types.
    pub(super) fn read(kind: &str, bytes: &Bytes) -> Result<Self, Problem> {
        let rows = match kind {
            "text/csv" => csv(bytes),
            "application/x-ndjson" => lines(bytes),
            _ => array(bytes)?,
        };
        let (rows, errors): (Vec<_>, Vec<_>) = rows.into_iter().partition(Result::is_ok);
        let errors: Vec<_> = errors.into_iter().filter_map(Result::err).collect();
        let mut told = errors.iter().map(|(line, why)| json!({"line": line, "why": why}));
        if let Some((line, why)) = errors.first() {
            let detail = format!("line {line}: {why}");
            let problem = Problem::new(Code::Refused(Refusal::BadSeat), detail);
            let told: Vec<_> = told.by_ref().take(super::ERRORS).collect();
            return Err(problem.with("errors", told.into()));
        }
        let rows: Vec<SeatRow> = rows.into_iter().filter_map(Result::ok).collect();
        if rows.is_empty() {
            return Err(Problem::invalid("there is no seat in it"));
        }
        Ok(Self(rows))
    }

    pub(super) fn rows(&self) -> &[SeatRow] {
        &self.0
    }

    /// Gives the line of a seat or an area, counted from 0 among its kind.
    pub(super) fn line(&self, at: usize, area: bool) -> usize {
        let mut kind = self.0.iter().filter(|row| row.capacity.is_some() == area);
        kind.nth(at).map_or(0, |row| row.line)
    }
}

type Read = Vec<Result<SeatRow, (usize, String)>>;

/// Reads an array; its rows have numbers, from 1, in place of lines.
fn array(bytes: &[u8]) -> Result<Read, Problem> {
    let values: Vec<serde_json::Value> = crate::request::json(bytes)?;
    let read = |(at, value)| match serde_json::from_value::<SeatRow>(value) {
        Ok(row) => Ok(SeatRow { line: at + 1, ..row }),
        Err(why) => Err((at + 1, why.to_string())),
    };
    Ok(values.into_iter().enumerate().map(read).collect())
}

fn lines(bytes: &[u8]) -> Read {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines
        .map(|(at, line)| match serde_json::from_slice::<SeatRow>(line) {
            Ok(row) => Ok(SeatRow { line: at + 1, ..row }),
            Err(why) => Err((at + 1, why.to_string())),
        })
        .collect()
}

/// Reads CSV whose header names the fields; an empty field is one that is left out.
fn csv(bytes: &[u8]) -> Read {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(why) => return vec![Err((1, why.to_string()))],
    };
    reader
        .records()
        .map(|record| {
            let record = record.map_err(|why| {
                let line = why.position().map_or(0, csv::Position::line);
                (line as usize, why.to_string())
            })?;
            let line = record.position().map_or(0, csv::Position::line) as usize;
            let mut row = SeatRow { line, for_sale: true, ..SeatRow::default() };
            for (name, value) in header.iter().zip(&record) {
                if !value.is_empty() {
                    row.set(name, value).map_err(|why| (line, why))?;
                }
            }
            Ok(row)
        })
        .collect()
}

impl SeatRow {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
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
            "name" => self.name = text,
            "section" => self.section = text,
            "row" => self.row = text,
            "number" => self.number = text,
            "x" => self.x = number(name, value)?,
            "y" => self.y = number(name, value)?,
            "quality" => self.quality = number(name, value)?,
            "grade" => self.grade = text,
            "price_minor" => self.price_minor = Some(number(name, value)?),
            "currency" => self.currency = Some(text),
            "channel" => self.channel = text,
            "accessible" => self.accessible = truth()?,
            "companion" => self.companion = truth()?,
            "for_sale" => self.for_sale = truth()?,
            "group" => self.group = text,
            "extra" => self.extra = text,
            "capacity" => self.capacity = Some(number(name, value)?),
            _ => return Err(format!("there is no field {name:?}")),
        }
        Ok(())
    }
}
