//! Codes as they are typed: as an argument, or on stdin, where nobody else on the machine sees them.

use std::io::Read as _;

use crate::cli::complaint::Complaint;
use crate::cli::terminal::given;

/// The most bytes of stdin that are read: more than 4,000 codes ever have.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the code of an argument; `-` is the first line of stdin.
pub(super) fn one(argument: &str) -> Result<String, Complaint> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut codes = stdin()?.into_iter();
    match (codes.next(), codes.next()) {
        (Some(code), None) => Ok(code),
        (None, _) => Err(Complaint::usage("there is no code on stdin")),
        (Some(_), Some(_)) => {
            Err(Complaint::usage("there are several lines on stdin, and one code is expected"))
        }
    }
}

/// Returns the codes of arguments; one of them may be `-`, for all lines of stdin.
pub(super) fn several(arguments: &[String]) -> Result<Vec<String>, Complaint> {
    let mut codes = Vec::new();
    let mut from_stdin = false;
    for argument in arguments {
        if argument != "-" {
            codes.push(argument.clone());
        } else if !std::mem::replace(&mut from_stdin, true) {
            codes.extend(stdin()?);
        }
    }
    if from_stdin && codes.is_empty() {
        return Err(Complaint::usage("there is no code on stdin"));
    }
    Ok(codes)
}

fn stdin() -> Result<Vec<String>, Complaint> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Complaint::usage(format!("cannot read stdin: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        let complaint = Complaint::usage("there is more than 1 MiB on stdin");
        return Err(complaint.hint("one command takes up to 4,000 codes"));
    }
    let wrong = |why| Complaint::usage(format!("stdin {why}")).hint("give the codes in UTF-8");
    let text = String::from_utf8(given::utf8(bytes).map_err(wrong)?);
    let text = text.map_err(|_| wrong("is not UTF-8"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}
