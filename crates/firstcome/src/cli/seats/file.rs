//! Seats in a file: CSV with a header, a JSON array, or a JSON object a line. Every wrong line is told of.

use serde_json::{Map, Value};

/// A seat or an area as it travels, and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeatLine {
    /// Counted from 1; in a JSON array the place of the seat in it.
    pub(super) line: u64,
    pub(super) seat: Value,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongLine {
    pub(super) line: u64,
    pub(super) why: String,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Shape {
    /// With a header that names the columns.
    Csv,
    /// An array of objects.
    Json,
    /// An object a line.
    Ndjson,
}

impl Shape {
    /// By the end of the file's name.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }
}

/// What a column holds.
enum Column {
    Text,
    Number,
    Flag,
}

/// The columns there are.
fn column(name: &str) -> Option<Column> {
    Some(match name {
        "name" | "section" | "row" | "number" | "grade" | "currency" | "channel" | "group"
        | "extra" => Column::Text,
        "x" | "y" | "quality" | "price_minor" | "capacity" => Column::Number,
        "accessible" | "companion" | "for_sale" => Column::Flag,
        _ => return None,
    })
}

/// Reads a file's seats, or every line that is wrong.
pub(super) fn read(bytes: &[u8], shape: Shape) -> Result<Vec<SeatLine>, Vec<WrongLine>> {
    let lines = match shape {
        Shape::Csv => csv(bytes),
        Shape::Json => array(bytes),
        Shape::Ndjson => ndjson(bytes),
    };
    let mut wrong: Vec<WrongLine> = Vec::new();
    let mut seats: Vec<SeatLine> = Vec::new();
    let mut names = std::collections::BTreeMap::new();
    for (line, seat) in lines {
        let checked = seat.and_then(|seat| match seat["name"].as_str() {
            None | Some("") => Err("it has no name".to_owned()),
            Some(name) => match names.insert(name.to_owned(), line) {
                Some(first) => Err(format!("{name} stands on line {first} already")),
                None => Ok(seat),
            },
        });
        match checked {
            Ok(seat) => seats.push(SeatLine { line, seat }),
            Err(why) => wrong.push(WrongLine { line, why }),
        }
    }
    if wrong.is_empty() { Ok(seats) } else { Err(wrong) }
}

type Lines = Vec<(u64, Result<Value, String>)>;

fn csv(bytes: &[u8]) -> Lines {
    // Spreadsheets begin their files with a mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(why) => return vec![(1, Err(why.to_string()))],
    };
    let strange: Vec<&str> = header.iter().filter(|name| column(name).is_none()).collect();
    if !strange.is_empty() {
        return vec![(1, Err(format!("there is no column {}", strange.join(", "))))];
    }
    let records = reader.records().map(|record| match record {
        Err(why) => (why.position().map_or(0, csv::Position::line), Err(why.to_string())),
        Ok(record) => {
            let line = record.position().map_or(0, csv::Position::line);
            let mut seat = Map::new();
            let cells = header.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
            let read = cells.map(|(name, cell)| {
                seat.insert(name.to_owned(), value(name, cell)?);
                Ok(())
            });
            let read: Result<(), String> = read.collect();
            (line, read.map(|()| Value::Object(seat)))
        }
    });
    records.collect()
}

fn value(name: &str, cell: &str) -> Result<Value, String> {
    match column(name) {
        Some(Column::Text) | None => Ok(cell.into()),
        Some(Column::Number) => {
            let number = cell.parse::<i64>();
            number.map(Into::into).map_err(|_| format!("{name} {cell:?} is not a whole number"))
        }
        Some(Column::Flag) => match cell {
            "true" | "yes" | "1" => Ok(true.into()),
            "false" | "no" | "0" => Ok(false.into()),
            _ => Err(format!("{name} {cell:?} is neither true nor false")),
        },
    }
}

fn array(bytes: &[u8]) -> Lines {
    match serde_json::from_slice::<Vec<Value>>(bytes) {
        Ok(seats) => (1..).zip(seats.into_iter().map(object)).collect(),
        Err(why) => vec![(why.line() as u64, Err(format!("it is no JSON array: {why}")))],
    }
}

fn ndjson(bytes: &[u8]) -> Lines {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let full = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = full.map(|(number, line)| {
        let read = serde_json::from_slice::<Value>(line).map_err(|why| why.to_string());
        (number, read.and_then(object))
    });
    read.collect()
}

fn object(value: Value) -> Result<Value, String> {
    let Value::Object(fields) = &value else { return Err("it is no JSON object".to_owned()) };
    match fields.keys().find(|name| column(name).is_none()) {
        Some(strange) => Err(format!("there is no field {strange:?}")),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(read: Result<Vec<SeatLine>, Vec<WrongLine>>) -> Vec<(u64, String)> {
        read.expect_err("it is wrong").into_iter().map(|wrong| (wrong.line, wrong.why)).collect()
    }

    #[test]
    fn a_csv_file_gives_typed_fields_and_leaves_empty_ones_out() {
        let file = "\u{feff}name,row,price_minor,currency,accessible,capacity\nA1,1,9000,EUR,yes,\n\"Lawn, left\",,,,,200\n";
        let read = read(file.as_bytes(), Shape::Csv).unwrap();
        let a1 = json!({"name": "A1", "row": "1", "price_minor": 9000, "currency": "EUR", "accessible": true});
        assert_eq!(read[0], SeatLine { line: 2, seat: a1 });
        assert_eq!(
            read[1],
            SeatLine { line: 3, seat: json!({"name": "Lawn, left", "capacity": 200}) }
        );
    }

    #[test]
    fn every_wrong_line_is_told_of() {
        let file =
            "name,x,for_sale\nA1,left,yes\nA2,1,perhaps\n,2,\nA2,3,no\nA3,1,no\nA3,1,no\nA4,1\n";
        let told = wrong(read(file.as_bytes(), Shape::Csv));
        let lines: Vec<u64> = told.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 3, 4, 7, 8], "{told:?}");
        assert_eq!(told[0].1, "x \"left\" is not a whole number");
        assert_eq!(told[3].1, "A3 stands on line 6 already");
        let told = wrong(read(b"name,colour\nA1,red\n", Shape::Csv));
        assert_eq!(told, [(1, "there is no column colour".to_owned())]);
    }

    #[test]
    fn json_comes_as_an_array_or_line_by_line() {
        let seats = read(br#"[{"name": "A1"}, {"name": "A2"}]"#, Shape::Json).unwrap();
        assert_eq!(seats.iter().map(|seat| seat.line).collect::<Vec<_>>(), [1, 2]);
        let seats = read(b"{\"name\": \"A1\"}\n\n{\"name\": \"A2\"}\n", Shape::Ndjson).unwrap();
        assert_eq!(seats.iter().map(|seat| seat.line).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(wrong(read(b"{}", Shape::Json)).len(), 1);
        assert_eq!(wrong(read(b"{\"name\": \"A1\"}\n7\n{\"nam\": 1}", Shape::Ndjson)).len(), 2);
    }

    #[test]
    fn the_end_of_its_name_says_how_a_file_is_written() {
        assert_eq!(Shape::of("hall.CSV"), Some(Shape::Csv));
        assert_eq!(Shape::of("a.b/hall.jsonl"), Some(Shape::Ndjson));
        assert_eq!(Shape::of("hall"), None);
    }
}
