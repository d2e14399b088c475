//! Codes in a file: CSV with a column `code`, NDJSON, or a code on each line. Every wrong line is reported.

use firstcome_api::line_numbers::LineNumbers;
use firstcome_node::codes::lines;
use firstcome_node::codes::spelling::is_space;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::terminal::given;

/// The codes of a file in order, each with its line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CodeFile {
    pub(super) codes: Vec<String>,
    /// The line of each, counted from 1.
    pub(super) lines: Vec<u64>,
    /// Codes that stand on an earlier line already: this line, and that one.
    pub(super) repeated: Vec<(u64, u64)>,
}

/// What is wrong with a line. The code itself is not repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongLine {
    pub(super) line: u64,
    pub(super) why: String,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Shape {
    /// With a header that has a column `code`; other columns are not sent.
    Csv,
    /// On each line an object with `code`, or a string.
    Ndjson,
    /// On each line a code.
    Lines,
}

impl Shape {
    /// By the end of the file's name.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "txt" => Some(Self::Lines),
            _ => None,
        }
    }
}

type Lines = Vec<(u64, Result<String, String>)>;

/// Reads a file's codes, or every line that is wrong. If they are `exact`, each is as it is spelled.
pub(super) fn read(bytes: &[u8], shape: Shape, exact: bool) -> Result<CodeFile, Vec<WrongLine>> {
    let lines = match shape {
        Shape::Csv => csv(bytes),
        Shape::Ndjson => plain(bytes).map(|(line, text)| (line, text.and_then(document))).collect(),
        Shape::Lines => plain(bytes).map(|(line, text)| (line, text.map(str::to_owned))).collect(),
    };
    let (mut file, mut wrong) = (CodeFile::default(), Vec::new());
    for (line, code) in lines {
        match code {
            Ok(code) => {
                file.codes.push(code.trim_matches(is_space).to_owned());
                file.lines.push(line);
            }
            Err(why) => wrong.push(WrongLine { line, why }),
        }
    }
    let codes = file.lines.iter().copied().zip(file.codes.iter().map(|code| &**code));
    let checked = lines::check(codes, exact);
    let not = checked.wrong.into_iter().map(|(line, why)| WrongLine { line, why: why.to_string() });
    wrong.extend(not);
    file.repeated = checked.repeated;
    if wrong.is_empty() {
        return Ok(file);
    }
    let repeated = file.repeated.into_iter();
    wrong.extend(repeated.map(|(line, why)| WrongLine { line, why: repeats(why) }));
    wrong.sort_by_key(|wrong| wrong.line);
    Err(wrong)
}

/// Says that a code stands on an earlier line.
pub(super) fn repeats(first: u64) -> String {
    format!("this code is on line {first} already")
}

/// Returns the lines that are not empty.
fn plain(bytes: &[u8]) -> impl Iterator<Item = (u64, Result<&str, String>)> {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let full = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    full.map(|(number, line)| {
        let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned());
        (number, text.map(str::trim))
    })
}

/// Reads a line of NDJSON.
fn document(text: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Text(String),
        Object { code: String },
    }
    if let Ok(Line::Text(code) | Line::Object { code }) = serde_json::from_str(text) {
        return Ok(code);
    }
    // The message has a position, and nothing of the text.
    let json = serde_json::from_str::<Value>(text).map_err(|why| format!("it is no JSON: {why}"));
    json.and(Err("it has no text in `code`, or two".to_owned()))
}

fn csv(bytes: &[u8]) -> Lines {
    let mut reader = csv::ReaderBuilder::new();
    reader.trim(csv::Trim::All).delimiter(given::delimiter(bytes));
    let mut reader = reader.from_reader(bytes);
    let Ok(header) = reader.headers() else {
        return vec![(1, Err("the header is no CSV".to_owned()))];
    };
    let is_code = |name: &str| name.eq_ignore_ascii_case("code");
    let mut columns = header.iter().enumerate().filter(|(_, name)| is_code(name));
    let column = match (columns.next(), columns.next()) {
        (Some((column, _)), None) => column,
        (None, _) => return vec![(1, Err("there is no column `code`".to_owned()))],
        (Some(_), Some(_)) => {
            return vec![(1, Err("there are two columns `code`".to_owned()))];
        }
    };
    let mut numbers = LineNumbers::new(bytes);
    let mut line = |at: Option<&csv::Position>| {
        at.map_or(0, |at| numbers.of(usize::try_from(at.byte()).unwrap_or(usize::MAX)) as u64)
    };
    let records = reader.records().map(|record| match record {
        Err(why) => (line(why.position()), Err(csv_fault(&why))),
        Ok(record) => {
            (line(record.position()), Ok(record.get(column).unwrap_or_default().to_owned()))
        }
    });
    records.collect()
}

/// What is wrong with a record, without its text.
fn csv_fault(why: &csv::Error) -> String {
    match why.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} cells, and the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "the line is not UTF-8".to_owned(),
        csv::ErrorKind::Seek
        | csv::ErrorKind::Serialize(_)
        | csv::ErrorKind::Deserialize { .. }
        | _ => "it is no CSV".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(read: Result<CodeFile, Vec<WrongLine>>) -> Vec<(u64, String)> {
        let file = read.expect("every line is right");
        file.lines.into_iter().zip(file.codes).collect()
    }

    fn wrong(read: Result<CodeFile, Vec<WrongLine>>) -> Vec<(u64, String)> {
        read.expect_err("it is wrong").into_iter().map(|wrong| (wrong.line, wrong.why)).collect()
    }

    #[test]
    fn the_three_shapes_give_the_same_codes() {
        let read = |bytes: &[u8], shape| read(bytes, shape, false);
        let expected = [(1, "SPRING-1".to_owned()), (3, "spring-2".to_owned())];
        assert_eq!(codes(read(b"SPRING-1\r\n\r\n spring-2 \n", Shape::Lines)), expected);
        let ndjson = b"{\"code\": \" SPRING-1 \", \"worth\": 5}\n\n\"spring-2\"\n";
        assert_eq!(codes(read(ndjson, Shape::Ndjson)), expected);
        let csv = "worth;Code\r\n5;SPRING-1\r\n\r\n6;spring-2\r\n";
        let read = codes(read(csv.as_bytes(), Shape::Csv));
        assert_eq!(read.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4]);
        assert_eq!((&*read[0].1, &*read[1].1), ("SPRING-1", "spring-2"));
    }

    #[test]
    fn every_wrong_line_is_told_of_and_none_repeats_a_code() {
        let read = |bytes: &[u8], shape| read(bytes, shape, false);
        let long = "X".repeat(65);
        let file = format!("GOOD\n{long}\na\u{7}b\nGOOD\ngood\n");
        let told = wrong(read(file.as_bytes(), Shape::Lines));
        assert_eq!(
            told,
            [
                (2, "the code has 65 bytes, and 64 is the most".to_owned()),
                (3, "the code has a control character".to_owned()),
                (4, "this code is on line 1 already".to_owned()),
                (5, "this is the code of line 1, spelled otherwise".to_owned()),
            ]
        );
        let told = wrong(read(b"{\"code\": 5}\nSECRET\n{\"cod\": \"SECRET\"}\n", Shape::Ndjson));
        assert_eq!(told.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(told.iter().all(|(_, why)| !why.contains("SECRET")), "{told:?}");
        let told = wrong(read(b"code,worth\nA,1\n,2\nB\n", Shape::Csv));
        assert_eq!(
            told,
            [
                (3, "the code is empty".to_owned()),
                (4, "it has 1 cells, and the header has 2".to_owned())
            ]
        );
        assert_eq!(wrong(read(b"voucher\nA\n", Shape::Csv))[0].1, "there is no column `code`");
        let twice = wrong(read(b"code,worth,Code\nA,1,B\n", Shape::Csv));
        assert_eq!(twice, [(1, "there are two columns `code`".to_owned())]);
        let twice = wrong(read(b"{\"code\": \"SECRET\", \"code\": \"B\"}", Shape::Ndjson));
        assert_eq!(twice, [(1, "it has no text in `code`, or two".to_owned())]);
        assert_eq!(
            wrong(read(b"A\n\xff\n", Shape::Lines)),
            [(2, "the line is not UTF-8".to_owned())]
        );
    }

    #[test]
    fn a_code_that_is_there_twice_is_noted_with_both_lines() {
        let file = read(b"A\nB\n A\nB\n", Shape::Lines, false).unwrap();
        assert_eq!((file.codes.len(), file.repeated), (4, vec![(3, 1), (4, 2)]));
        let file = read(b"A\nB\na\nB\n", Shape::Lines, true).unwrap();
        assert_eq!((file.codes.len(), file.repeated), (4, vec![(4, 2)]));
    }

    #[test]
    fn a_spreadsheet_that_lost_its_codes_is_named() {
        let told = wrong(read(b"name;code\nann;1,23457E+12\nbob;1-Mar\n", Shape::Csv, false));
        let number = "the code is a number with an exponent, as spreadsheets write it: keep the column as text";
        assert_eq!(told[0], (2, number.to_owned()));
        assert_eq!(told[1].0, 3);
    }

    proptest::proptest! {
        /// Whatever bytes come, every line is read or named, and nothing of a code is said.
        #[test]
        fn no_file_makes_the_reader_panic(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            lines in "([a-cA-C,;\"\r\n {}:\u{410}\u{ff21}\u{feff}#]|code|SECRET|1E\\+5){0,60}",
            exact in proptest::prelude::any::<bool>(),
        ) {
            for shape in [Shape::Csv, Shape::Ndjson, Shape::Lines] {
                for file in [&bytes, &lines.clone().into_bytes(), &format!("a,code\n{lines}").into_bytes()] {
                    let Ok(file) = given::utf8(file.clone()) else { continue };
                    match read(&file, shape, exact) {
                        Ok(file) => proptest::prop_assert_eq!(file.codes.len(), file.lines.len()),
                        Err(wrong) => {
                            proptest::prop_assert!(!wrong.is_empty());
                            proptest::prop_assert!(wrong.iter().all(|wrong| !wrong.why.contains("SECRET")));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_end_of_its_name_says_how_a_file_is_written() {
        assert_eq!(Shape::of("codes.CSV"), Some(Shape::Csv));
        assert_eq!(Shape::of("a.b/codes.jsonl"), Some(Shape::Ndjson));
        assert_eq!(Shape::of("codes.txt"), Some(Shape::Lines));
        assert_eq!(Shape::of("codes"), None);
    }
}
