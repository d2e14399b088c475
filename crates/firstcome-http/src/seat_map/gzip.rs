//! Gzip from parts that were compressed apart: what seldom changes is compressed once.
//!
//! A part ends at a byte and refers to nothing before its own beginning, so that parts can stand behind each other in
//! one gzip member (RFC 1951, 1952).

use axum::body::Bytes;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::Write;

/// The header of a member without name and time.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// An empty last block.
const END: [u8; 2] = [3, 0];

/// A text, compressed so that others can stand before and behind it.
#[derive(Debug, Default)]
pub(super) struct Deflated {
    bytes: Vec<u8>,
    crc: Crc,
}

impl Deflated {
    pub(super) fn of(text: &[u8]) -> Self {
        let room = Vec::with_capacity(text.len() / 8 + 64);
        let mut encoder = DeflateEncoder::new(room, Compression::default());
        encoder.write_all(text).expect("writing to memory does not fail");
        // It ends at a byte.
        encoder.flush().expect("writing to memory does not fail");
        let bytes = std::mem::take(encoder.get_mut());
        let mut crc = Crc::new();
        crc.update(text);
        Self { bytes, crc }
    }
}

/// Makes one file of parts.
pub(super) fn gzip(parts: &[&Deflated]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.bytes.len()).sum();
    let mut file = Vec::with_capacity(length + 20);
    file.extend_from_slice(&HEADER);
    let mut crc = Crc::new();
    for part in parts {
        file.extend_from_slice(&part.bytes);
        crc.combine(&part.crc);
    }
    file.extend_from_slice(&END);
    file.extend_from_slice(&crc.sum().to_le_bytes());
    file.extend_from_slice(&crc.amount().to_le_bytes());
    file.into()
}

#[cfg(test)]
mod tests {
    use super::{Deflated, gzip};
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn parts_are_read_as_one_text() {
        let texts = ["{", &"one seat and another ".repeat(9_000), "", "and so on", "}"];
        let parts = texts.map(|text| Deflated::of(text.as_bytes()));
        let file = gzip(&parts.each_ref());
        let mut text = String::new();
        GzDecoder::new(&*file).read_to_string(&mut text).unwrap();
        assert_eq!(text, texts.concat());
    }
}
