//! Seats in a file: CSV with a header, a JSON array, or a JSON object a line. Every wrong line is reported.

use super::columns;
use crate::cli::terminal::given;
use firstcome_api::line_numbers::LineNumbers;
use firstcome_node::codes::spelling::alike;
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
    for (line, read) in lines {
        let mut why = read.wrong;
        if let Some(seat) = &read.seat {
            why.extend(columns::faults(seat));
            let text = |of| seat.get(of).and_then(Value::as_str).filter(|text| !text.is_empty());
            for (name, is_group) in [(text("name"), false), (text("group"), true)] {
                let Some(name) = name else { continue };
                let (known, first) =
                    names.entry(alike(name)).or_insert_with(|| (name.to_owned(), line)).clone();
                if known != name {
                    why.push(format!("{name} is {known} of line {first}, spelled otherwise"));
                } else if first != line && !is_group {
                    why.push(format!("{name} is on line {first} already"));
                }
            }
        }
        match read.seat {
            Some(seat) if why.is_empty() => {
                seats.push(SeatLine { line, seat: Value::Object(seat) });
            }
            Some(_) | None => wrong.push(WrongLine { line, why: why.join("; ") }),
        }
    }
    if wrong.is_empty() { Ok(seats) } else { Err(wrong) }
}

/// A line as far as it could be read.
#[derive(Debug, Default)]
struct Read {
    seat: Option<Map<String, Value>>,
    wrong: Vec<String>,
}

impl Read {
    fn wrong(why: impl ToString) -> Self {
        Self { seat: None, wrong: vec![why.to_string()] }
    }
}

type Lines = Vec<(u64, Read)>;

fn csv(bytes: &[u8]) -> Lines {
    let mut reader = csv::ReaderBuilder::new();
    reader.trim(csv::Trim::All).delimiter(given::delimiter(bytes));
    let mut reader = reader.from_reader(bytes);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(why) => return vec![(1, Read::wrong(why))],
    };
    let mut strange: Vec<String> = header.iter().filter_map(columns::unknown).collect();
    strange.extend(given::twice(&header).map(|name| format!("there are two columns {name}")));
    let mut lines = Vec::new();
    if !strange.is_empty() {
        lines.push((1, Read::wrong(strange.join("; "))));
    }
    let mut numbers = LineNumbers::new(bytes);
    let mut line = |at: Option<&csv::Position>| {
        at.map_or(0, |at| numbers.of(usize::try_from(at.byte()).unwrap_or(usize::MAX)) as u64)
    };
    let records = reader.records().map(|record| match record {
        Err(why) => (line(why.position()), Read::wrong(why)),
        Ok(record) => (line(record.position()), cells(&header, &record)),
    });
    lines.extend(records);
    lines
}

/// Reads a line of a table; empty cells are left out, and unknown columns were reported.
fn cells(header: &csv::StringRecord, record: &csv::StringRecord) -> Read {
    let (mut seat, mut wrong) = (Map::new(), Vec::new());
    for (name, cell) in header.iter().zip(record).filter(|(_, cell)| !cell.is_empty()) {
        if columns::unknown(name).is_some() {
            continue;
        }
        match columns::value(name, cell) {
            Ok(value) => drop(seat.insert(name.to_owned(), value)),
            Err(why) => {
                wrong.push(why);
                // That it is there is known.
                seat.insert(name.to_owned(), Value::Null);
            }
        }
    }
    Read { seat: Some(seat), wrong }
}

fn array(bytes: &[u8]) -> Lines {
    match serde_json::from_slice::<Vec<Value>>(bytes) {
        Ok(seats) => (1..).zip(seats.into_iter().map(object)).collect(),
        Err(why) => {
            vec![(why.line() as u64, Read::wrong(format!("it is no JSON array: {why}")))]
        }
    }
}

fn ndjson(bytes: &[u8]) -> Lines {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let full = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = full.map(|(number, line)| match serde_json::from_slice::<Value>(line) {
        Ok(value) => (number, object(value)),
        Err(why) => (number, Read::wrong(why)),
    });
    read.collect()
}

fn object(value: Value) -> Read {
    match value {
        Value::Object(seat) => Read { seat: Some(seat), wrong: Vec::new() },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Read::wrong("it is no JSON object")
        }
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
        let file = "name,row,price_minor,currency,accessible,capacity\nA1,1,9000,EUR,yes,\n\"Lawn, left\",,,,,200\n";
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
        assert_eq!(lines, [2, 3, 4, 5, 7, 8], "{told:?}");
        assert_eq!(told[0].1, "x \"left\" is not a whole number");
        assert_eq!(told[4].1, "A3 is on line 6 already");
        let told = wrong(read(b"name,colour\nA1,red\n", Shape::Csv));
        assert_eq!(told, [(1, "there is no column colour".to_owned())]);
        let told = wrong(read("name,group\nA1,T\nＡ1,t\na 1,\n".as_bytes(), Shape::Csv));
        let both = "Ａ1 is A1 of line 2, spelled otherwise; t is T of line 2, spelled otherwise";
        assert_eq!(told, [(3, both.to_owned())]);
        let told = wrong(read(b"name,row,name\nA1,1,A2\n", Shape::Csv));
        assert_eq!(told[0], (1, "there are two columns name".to_owned()));
        // The header and the lines in one round.
        let told = wrong(read(b"name,price,Row\nA1,9,1\nA1,9,1\n", Shape::Csv));
        let header = "there is no column price: did you mean price_minor?; there is no column Row: did you mean row?";
        assert_eq!(told[0], (1, header.to_owned()));
        assert_eq!(told[1], (3, "A1 is on line 2 already".to_owned()));
    }

    #[test]
    fn files_of_spreadsheets_are_read() {
        let file =
            "name;row;price_minor;currency;accessible\r\nA1;1;9000;EUR;TRUE\r\n\"A;2\";1;;;\r\n";
        let seats = read(file.as_bytes(), Shape::Csv).unwrap();
        assert_eq!(seats[0].seat["price_minor"], 9000);
        assert_eq!(
            (&seats[0].seat["accessible"], &seats[1].seat["name"]),
            (&json!(true), &json!("A;2"))
        );
        let told =
            wrong(read(b"name;price_minor;currency\nA1;90,00;EUR\nA2;90.5;EUR\n", Shape::Csv));
        assert_eq!(
            told[0].1,
            "price_minor \"90,00\" has a decimal comma, but must be a whole number: a price is in the smallest unit of \
             its currency, such as 9000"
        );
        assert!(told[1].1.contains("has a decimal point"), "{told:?}");
        let seats = read(b"name\tgrade\nA1\tR, S\n", Shape::Csv).unwrap();
        assert_eq!(seats[0].seat["grade"], "R, S");
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        let of = |file: &str| wrong(read(file.as_bytes(), Shape::Csv))[0].0;
        assert_eq!(of("name,x\r\nA1,1\r\nA2,left\r\n"), 3);
        assert_eq!(of("name,x\r\n\r\nA1,1\r\n\r\n\r\nA2,left\r\n"), 6);
        assert_eq!(of("\n\nname,x\n\nA1,1\n\n\nA2,left\n"), 8);
        assert_eq!(of("name,x\n\"A\n1\",1\nA2,left\n"), 4);
        assert_eq!(of("name,x\r\nA1,1\r\nA2\r\n"), 3);
    }

    #[test]
    fn prices_and_currencies_are_looked_at_when_they_are_read() {
        let file =
            "name,price_minor,currency\nA1,-5,EUR\nA2,5,euro\nA3,5,EUX\nA4,5,\nA5,,EUR\nA6,-5,e\n";
        let told = wrong(read(file.as_bytes(), Shape::Csv));
        let why: Vec<&str> = told.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(
            why,
            [
                "price_minor -5 is below 0",
                "currency \"euro\" is not three capital letters, such as EUR",
                "currency \"EUX\" is not in ISO 4217",
                "a price needs its currency, such as EUR",
                "a currency needs its price_minor",
                "price_minor -5 is below 0; currency \"e\" is not three capital letters, such as EUR",
            ]
        );
        let told = wrong(read(
            br#"[{"name": "A1", "price_minor": -1, "currency": "EUR", "x": "1"}]"#,
            Shape::Json,
        ));
        assert!(
            told[0].1.contains("price_minor -1 is below 0") && told[0].1.contains("x cannot be")
        );
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
