//! What people give in a file or on stdin, as spreadsheets and editors write it.

use std::io::Read as _;
use std::path::Path;

use crate::cli::complaint::Complaint;

/// Reads a file, or stdin for `-`: its text in UTF-8, without the mark at its beginning.
pub(in crate::cli) fn read(path: &Path) -> Result<Vec<u8>, Complaint> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    read.map_err(|why| Complaint::usage(format!("cannot read {name}: {why}")))?;
    let wrong = |why| Complaint::usage(format!("{name} {why}")).hint("save it as UTF-8");
    utf8(bytes).map_err(wrong)
}

/// Returns a text in UTF-8: one in UTF-16 is known by its mark.
pub(in crate::cli) fn utf8(bytes: Vec<u8>) -> Result<Vec<u8>, &'static str> {
    let units = |of: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks();
        let units: Vec<u16> = pairs.iter().copied().map(of).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty()).ok_or("is broken UTF-16")
    };
    let bytes = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        [0xff, 0xfe, ..] => units(u16::from_le_bytes)?.into_bytes(),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes)?.into_bytes(),
        _ => bytes,
    };
    if bytes.contains(&0) {
        return Err("has zero bytes, as UTF-16 and UTF-32 have");
    }
    Ok(bytes)
}

/// Returns what stands between the cells of a table: what the header has most of. Where a comma is for decimals, spreadsheets
/// write `;`.
pub(in crate::cli) fn delimiter(bytes: &[u8]) -> u8 {
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |mark: u8| header.iter().filter(|byte| **byte == mark).count();
    let most = [b',', b';', b'\t'].into_iter().max_by_key(|mark| (count(*mark), *mark == b','));
    most.unwrap_or(b',')
}

/// Returns the first column that a header has twice.
pub(in crate::cli) fn twice(header: &csv::StringRecord) -> Option<&str> {
    let same = |known: &str, name: &str| known.eq_ignore_ascii_case(name);
    let before = |at: usize, name: &str| header.iter().take(at).any(|known| same(known, name));
    header.iter().enumerate().find(|(at, name)| before(*at, name)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_read_and_what_looks_like_it_is_named() {
        let file = "code\n봄-1\n";
        let as_units = |of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(file.encode_utf16()).flat_map(of).collect()
        };
        let (little, big) = (as_units(u16::to_le_bytes), as_units(u16::to_be_bytes));
        for bytes in [little.clone(), big, format!("\u{feff}{file}").into(), file.into()] {
            assert_eq!(utf8(bytes).as_deref(), Ok(file.as_bytes()));
        }
        assert_eq!(utf8(little[..little.len() - 1].to_vec()), Err("is broken UTF-16"));
        assert_eq!(utf8(b"\xff\xfe\x00\xd8A\x00".to_vec()), Err("is broken UTF-16"));
        let unmarked = little[2..].to_vec();
        assert_eq!(utf8(unmarked), Err("has zero bytes, as UTF-16 and UTF-32 have"));
        assert_eq!(utf8(b"\xff\xfe".to_vec()).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn a_column_is_there_once() {
        let header = |cells: &[&str]| twice(&cells.iter().collect()).map(str::to_owned);
        assert_eq!(header(&["code", "worth", "Code"]), Some("Code".to_owned()));
        assert_eq!(header(&["code", "worth"]), None);
    }
}
