//! Subjects in a file: CSV with a header, or a subject on each line. Every wrong line is reported.

use crate::cli::terminal::given;
use firstcome_api::line_numbers::LineNumbers;
use firstcome_core::names::{check_name, check_subject};
use firstcome_http::limits::REF_BYTES;

/// A claim as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubjectLine {
    /// Counted from 1.
    pub(super) line: u64,
    pub(super) subject: String,
    pub(super) pool: Option<String>,
    pub(super) reference: Option<String>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongSubject {
    pub(super) line: u64,
    pub(super) why: String,
}

impl WrongSubject {
    fn new(line: u64, why: impl ToString) -> Self {
        Self { line, why: why.to_string() }
    }
}

/// Reads the claims of a file, or every line that is wrong.
///
/// A first line that begins with the column `subject` is a header; else each line is a subject, whatever is in it.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<SubjectLine>, Vec<WrongSubject>> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let delimiter = first.get(b"subject".len()).copied();
    let lines = match delimiter {
        None if first == b"subject" => table(bytes, b','),
        Some(mark @ (b',' | b';' | b'\t')) if first.starts_with(b"subject") => table(bytes, mark),
        Some(_) | None => plain(bytes),
    };
    let mut wrong = Vec::new();
    let mut subjects = Vec::with_capacity(lines.len());
    for line in lines {
        match line.and_then(checked) {
            Ok(subject) => subjects.push(subject),
            Err(why) => wrong.push(why),
        }
    }
    if wrong.is_empty() { Ok(subjects) } else { Err(wrong) }
}

type Lines = Vec<Result<SubjectLine, WrongSubject>>;

fn plain(bytes: &[u8]) -> Lines {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let lines = lines.map(|(line, text)| (line, text.strip_suffix(b"\r").unwrap_or(text)));
    let full = lines.filter(|(_, text)| !text.trim_ascii().is_empty());
    let read = full.map(|(line, text)| match std::str::from_utf8(text) {
        Ok(subject) => {
            Ok(SubjectLine { line, subject: subject.to_owned(), pool: None, reference: None })
        }
        Err(_) => Err(WrongSubject::new(line, "it is not UTF-8")),
    });
    read.collect()
}

fn table(bytes: &[u8], delimiter: u8) -> Lines {
    let mut reader = csv::ReaderBuilder::new();
    reader.trim(csv::Trim::Headers).delimiter(delimiter);
    let mut reader = reader.from_reader(bytes);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(why) => return vec![Err(WrongSubject::new(1, why))],
    };
    let known = ["subject", "pool", "ref"];
    if let Some(strange) = header.iter().find(|name| !known.contains(name)) {
        let why = format!("there is no column {strange}: there are {}", known.join(", "));
        return vec![Err(WrongSubject::new(1, why))];
    }
    if let Some(name) = given::twice(&header) {
        return vec![Err(WrongSubject::new(1, format!("there are two columns {name}")))];
    }
    let mut numbers = LineNumbers::new(bytes);
    let mut line = |at: Option<&csv::Position>| {
        at.map_or(0, |at| numbers.of(usize::try_from(at.byte()).unwrap_or(usize::MAX)) as u64)
    };
    let records = reader.records().map(|record| match record {
        Err(why) => Err(WrongSubject::new(line(why.position()), why)),
        Ok(record) => {
            let cell = |wanted: &str| {
                let at = header.iter().position(|name| name == wanted)?;
                record.get(at).filter(|cell| !cell.is_empty()).map(str::to_owned)
            };
            let (subject, pool) = (cell("subject").unwrap_or_default(), cell("pool"));
            let line = line(record.position());
            Ok(SubjectLine { line, subject, pool, reference: cell("ref") })
        }
    });
    records.collect()
}

/// Refuses what no server takes.
fn checked(line: SubjectLine) -> Result<SubjectLine, WrongSubject> {
    let wrong = |why: String| WrongSubject::new(line.line, why);
    check_subject(&line.subject)
        .map_err(|why| wrong(format!("the subject {:?} {why}", line.subject)))?;
    if let Some(pool) = &line.pool {
        check_name(pool).map_err(|why| wrong(format!("the pool {pool:?} {why}")))?;
    }
    if line.reference.as_ref().is_some_and(|text| text.len() > REF_BYTES) {
        return Err(wrong(format!("the ref has more than {REF_BYTES} bytes")));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> Vec<String> {
        let shown = |read: SubjectLine| {
            let SubjectLine { line, subject, pool, reference } = read;
            let none = || "-".to_owned();
            let (pool, reference) = (pool.unwrap_or_else(none), reference.unwrap_or_else(none));
            format!("{line} {subject} {pool} {reference}")
        };
        match read(bytes) {
            Ok(lines) => lines.into_iter().map(shown).collect(),
            Err(wrong) => wrong
                .into_iter()
                .map(|WrongSubject { line, why }| format!("{line}: {why}"))
                .collect(),
        }
    }

    #[test]
    fn a_table_has_a_header_and_a_list_has_none() {
        assert_eq!(
            shown(b"subject,pool,ref\nann,vip,7\r\n\"b,ob\",,\n"),
            ["2 ann vip 7", "3 b,ob - -"]
        );
        assert_eq!(shown(b"subject;ref\nann;7\n"), ["2 ann - 7"]);
        assert_eq!(shown(b"subject\nann\n"), ["2 ann - -"]);
        assert_eq!(
            shown(b"ann\n\nb,ob\r\n subjects \n"),
            ["1 ann - -", "3 b,ob - -", "4  subjects  - -"]
        );
        assert_eq!(shown(b""), [""; 0]);
    }

    #[test]
    fn every_wrong_line_is_told_of() {
        let long = "x".repeat(256);
        assert_eq!(
            shown(format!("ann\n{long}\n\u{7}\n").as_bytes()).len(),
            2,
            "{:?}",
            shown(format!("ann\n{long}\n\u{7}\n").as_bytes())
        );
        assert_eq!(shown(b"ann\n\xff\n"), ["2: it is not UTF-8"]);
        let told = shown(b"subject,row\nann,1\n");
        assert_eq!(told, ["1: there is no column row: there are subject, pool, ref"]);
        assert_eq!(
            shown(b"subject,ref,subject\nann,1,bob\n"),
            ["1: there are two columns subject"]
        );
        let told = shown(b"subject,pool\n,vip\nann,a/b\nann,vip,1\n");
        let lines: Vec<&str> = told.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(lines, ["2", "3", "4"], "{told:?}");
    }
}
