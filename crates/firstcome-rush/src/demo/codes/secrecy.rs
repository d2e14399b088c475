//! Looks for codes where none may be: in the journal, the snapshots, the ledger and the log of a server.

use std::collections::HashSet;
use std::path::Path;

/// What was looked through, and what was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Traces {
    pub(super) bytes: u64,
    pub(super) files: u64,
    /// The names of files that have a code.
    pub(super) found_in: Vec<String>,
}

/// How many letters a code has.
const LETTERS: usize = 16;

/// Looks through all files of a folder for the codes, with or without the hyphens in them.
pub(super) fn search(folder: &Path, codes: &[String]) -> std::io::Result<Traces> {
    let codes: HashSet<Vec<u8>> = codes.iter().map(|code| letters(code.as_bytes())).collect();
    let mut traces = Traces::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            }
            if !kind.is_file() {
                continue;
            }
            let bytes = match std::fs::read(entry.path()) {
                Ok(bytes) => bytes,
                // The server removes files of its own while it runs.
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => continue,
                Err(why) => return Err(why),
            };
            traces.files += 1;
            traces.bytes += bytes.len() as u64;
            if has_one(&bytes, &codes) {
                traces.found_in.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    Ok(traces)
}

/// The letters of a code, without hyphens and in capitals.
fn letters(text: &[u8]) -> Vec<u8> {
    let letters = text.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters.map(u8::to_ascii_uppercase).collect()
}

fn has_one(bytes: &[u8], codes: &HashSet<Vec<u8>>) -> bool {
    let words = bytes.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    words.filter(|word| word.len() >= LETTERS).any(|word| {
        let word = letters(word);
        word.windows(LETTERS).any(|window| codes.contains(window))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_wherever_it_stands() {
        let codes = HashSet::from([letters(b"4F2K-9ABC-7XYZ-TT01")]);
        let found = |bytes: &[u8]| has_one(bytes, &codes);
        assert!(found(b"{\"code\":\"4F2K-9ABC-7XYZ-TT01\"}"));
        assert!(found(b"\x00\xff4f2k9abc7xyztt01\x00"));
        assert!(found(b"ids: x4F2K9ABC7XYZTT01y"));
        assert!(!found(b"4F2K-9ABC-7XYZ"), "a part of it is no code");
        assert!(!found(b"4F2K-9ABC-7XYZ-TT02") && !found(b""));
    }
}
