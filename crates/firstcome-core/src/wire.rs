//! Numbers and byte strings as they are stored.
//!
//! The shapes are those of Protocol Buffers' wire format (<https://protobuf.dev/programming-guides/encoding/>):
//! a field is a key, `number << 3 | kind`, then a variable-length integer (kind 0) or a length and
//! that many bytes (kind 2). Unlike there, a field nobody knows is an error: a rule that is skipped
//! would make two nodes disagree, so new fields come with a new level.

use crate::time::Timestamp;

/// The newest level of stored bytes and rules: the one at which new spaces begin.
pub const LEVEL: u32 = 1;

/// Returns the highest level this build reads: [`LEVEL`], but in tests that invent the next one.
///
/// An entry or a snapshot above it stops a node cleanly; it is never skipped.
pub fn newest_level() -> u32 {
    LEVEL + firstcome_inject::invented_levels()
}

/// The level of a body that [ends its space](crate::command::moved).
///
/// No build applies an entry of it: each stops before it, also one that knows no such entry, and nothing that stands
/// behind it is ever applied.
pub const MOVED_LEVEL: u32 = u32::MAX;

/// Bytes that are not what was stored, or not for this level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct Malformed {
    /// What is wrong.
    pub what: &'static str,
    /// Where, counted in bytes from the start of what was read.
    pub at: usize,
}

/// Writes fields to the end of a byte buffer.
pub trait Write {
    /// Appends a variable-length integer: seven bits a byte, lowest first.
    fn varint(&mut self, value: u64);
    /// Appends a field with a number.
    fn number(&mut self, field: u32, value: u64);
    /// Appends a field with bytes.
    fn bytes(&mut self, field: u32, value: &[u8]);
    /// Appends a field with a signed number, zigzag-coded.
    fn signed(&mut self, field: u32, value: i64) {
        self.number(field, zigzag(value));
    }
    /// Appends a field with a moment.
    fn time(&mut self, field: u32, value: Timestamp) {
        self.signed(field, value.as_micros());
    }
    /// Appends a field with text.
    fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }
    /// Appends a field that holds fields of its own.
    fn nested(&mut self, field: u32, fill: impl FnOnce(&mut Vec<u8>));
}

impl Write for Vec<u8> {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.extend_from_slice(value);
    }

    fn nested(&mut self, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = Vec::new();
        fill(&mut inner);
        self.bytes(field, &inner);
    }
}

/// Returns how many bytes a variable-length integer takes.
pub(crate) fn varint_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Maps a signed number to an unsigned one with small results for small distances from zero.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// One field as read: its number and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads fields from the front of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads from the start of `bytes`, which begin at `at` of a larger whole; errors name the byte.
    fn within(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Says whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns what was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns an error at the present byte.
    pub fn wrong(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    /// Reads a variable-length integer.
    ///
    /// # Errors
    ///
    /// The bytes end inside it, or it does not fit 64 bits.
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        if let [byte, rest @ ..] = self.bytes
            && *byte < 0x80
        {
            self.bytes = rest;
            self.at += 1;
            return Ok(u64::from(*byte));
        }
        let mut value = 0_u64;
        for (i, byte) in self.bytes.iter().enumerate().take(10) {
            if i == 9 && *byte > 1 {
                return Err(self.wrong("a number larger than 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.bytes = &self.bytes[i + 1..];
                self.at += i + 1;
                return Ok(value);
            }
        }
        Err(self.wrong("a number that does not end"))
    }

    /// Reads a variable-length integer that was zigzag-coded.
    ///
    /// # Errors
    ///
    /// As [`Reader::varint`].
    pub fn zigzag(&mut self) -> Result<i64, Malformed> {
        self.varint().map(unzigzag)
    }

    /// Reads a length and that many bytes.
    ///
    /// # Errors
    ///
    /// Fewer bytes are left than announced.
    pub fn take(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        let Some(length) = usize::try_from(length).ok().filter(|n| *n <= self.bytes.len()) else {
            return Err(self.wrong("a length beyond the end"));
        };
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        self.at += length;
        Ok(taken)
    }

    /// Reads so many bytes.
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.bytes.split_first_chunk::<N>() else {
            return Err(self.wrong("bytes that end too early"));
        };
        self.bytes = rest;
        self.at += N;
        Ok(*taken)
    }

    /// Reads the next field, or nothing at the end.
    ///
    /// # Errors
    ///
    /// The bytes end inside it, or it is of a kind this level does not have.
    pub fn field(&mut self) -> Result<Option<(u32, Field<'a>)>, Malformed> {
        if self.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let Ok(number) = u32::try_from(key >> 3) else {
            return Err(self.wrong("a field number beyond 32 bits"));
        };
        match key & 7 {
            0 => Ok(Some((number, Field::Number(self.varint()?)))),
            2 => Ok(Some((number, Field::Bytes(self.take()?)))),
            _ => Err(self.wrong("a field of unknown kind")),
        }
    }

    /// Reads the next field together with where it stands, or nothing at the end.
    ///
    /// # Errors
    ///
    /// As [`Reader::field`].
    pub fn value(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        Ok(self.field()?.map(|(number, field)| (number, Value { field, at: self.at })))
    }

    /// Returns all that is left as text.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let text =
            std::str::from_utf8(self.bytes).map_err(|_| self.wrong("text that is not UTF-8"))?;
        self.at += self.bytes.len();
        self.bytes = &[];
        Ok(text)
    }

    /// Reads every field with `each`, which refuses what it does not know.
    ///
    /// # Errors
    ///
    /// What the bytes or `each` object to.
    pub fn fields(
        mut self,
        mut each: impl FnMut(u32, Value<'a>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        while let Some((number, value)) = self.value()? {
            each(number, value)?;
        }
        Ok(())
    }
}

/// A field's content together with where it stood, so that errors can name the byte.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    field: Field<'a>,
    at: usize,
}

impl<'a> Value<'a> {
    /// Takes bytes for the content of a field.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { field: Field::Bytes(bytes), at: bytes.len() }
    }

    /// Returns an error at this field.
    pub fn wrong(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    /// Returns the number.
    ///
    /// # Errors
    ///
    /// The field holds bytes.
    pub fn number(&self) -> Result<u64, Malformed> {
        match self.field {
            Field::Number(value) => Ok(value),
            Field::Bytes(_) => Err(self.wrong("bytes where a number is expected")),
        }
    }

    /// Returns the number as one of 32 bits.
    ///
    /// # Errors
    ///
    /// The field holds bytes or a larger number.
    pub fn number32(&self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| self.wrong("a number larger than 32 bits"))
    }

    /// Returns the signed number.
    ///
    /// # Errors
    ///
    /// The field holds bytes.
    pub fn signed(&self) -> Result<i64, Malformed> {
        self.number().map(unzigzag)
    }

    /// Returns the moment.
    ///
    /// # Errors
    ///
    /// The field holds bytes.
    pub fn time(&self) -> Result<Timestamp, Malformed> {
        self.signed().map(Timestamp::from_micros)
    }

    /// Returns yes or no, stored as 1 or 0.
    ///
    /// # Errors
    ///
    /// The field holds anything else.
    pub fn flag(&self) -> Result<bool, Malformed> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong("a number where 0 or 1 is expected")),
        }
    }

    /// Returns the bytes.
    ///
    /// # Errors
    ///
    /// The field holds a number.
    pub fn bytes(&self) -> Result<&'a [u8], Malformed> {
        match self.field {
            Field::Bytes(bytes) => Ok(bytes),
            Field::Number(_) => Err(self.wrong("a number where bytes are expected")),
        }
    }

    /// Returns exactly sixteen bytes.
    ///
    /// # Errors
    ///
    /// The field holds anything else.
    pub fn id(&self) -> Result<[u8; 16], Malformed> {
        self.bytes()?.try_into().map_err(|_| self.wrong("an id that is not 16 bytes long"))
    }

    /// Returns the text.
    ///
    /// # Errors
    ///
    /// The field holds a number, or bytes that are not UTF-8.
    pub fn text(&self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| self.wrong("text that is not UTF-8"))
    }

    /// Returns a reader over the fields inside this one.
    ///
    /// # Errors
    ///
    /// The field holds a number.
    pub fn nested(&self) -> Result<Reader<'a>, Malformed> {
        let bytes = self.bytes()?;
        Ok(Reader::within(bytes, self.at - bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(values in proptest::collection::vec(any::<u64>(), 0..20), signed: i64) {
            let mut bytes = Vec::new();
            for value in &values { bytes.number(7, *value); }
            bytes.signed(8, signed);
            let mut seen = Vec::new();
            Reader::new(&bytes).fields(|field, value| {
                match field { 7 => seen.push(value.number()?), _ => assert_eq!(value.signed()?, signed) }
                Ok(())
            }).unwrap();
            prop_assert_eq!(seen, values);
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut reader = Reader::new(&bytes);
            while let Ok(Some((_, field))) = reader.field() {
                let value = Value { field, at: 64 };
                // What a value makes of itself as any of these is its own matter: it must say so.
                let either = value.number().is_ok() != value.bytes().is_ok();
                let rest = (value.number32(), value.text(), value.id(), value.flag());
                prop_assert!(either && value.nested().is_ok() == value.bytes().is_ok(), "{rest:?}");
            }
        }
    }

    #[test]
    fn a_cut_field_is_refused_with_its_place() {
        let mut bytes = Vec::new();
        bytes.text(1, "first");
        assert_eq!(
            Reader::new(&bytes[..4]).field().unwrap_err(),
            Malformed { what: "a length beyond the end", at: 2 }
        );
    }
}
