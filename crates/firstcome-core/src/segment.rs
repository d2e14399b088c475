//! Claims in the order of their ranks, in segments that never change once full.

use crate::limits::PIECE_BYTES;
use crate::names::PieceName;
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Write};
use std::sync::OnceLock;

/// What the fields around the rows of a stored segment take at most.
const FRAME_BYTES: usize = 64;
/// What a row takes at most beyond its subject: two bytes of length and the time since the row before.
const ROW_BYTES: usize = 12;
/// Rows in a segment at most.
const ROWS: usize = 8_192;

/// A run of claims with neighbouring ranks.
///
/// Once the next one has begun it never changes again.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) first_rank: u32,
    times: Vec<i64>,
    ends: Vec<u32>,
    subjects: Vec<u8>,
    /// Under which name a store has it, once it is sealed and was written.
    pub(crate) stored: OnceLock<PieceName>,
}

impl Segment {
    pub(crate) fn new(first_rank: u32) -> Self {
        Self {
            first_rank,
            times: Vec::new(),
            ends: Vec::new(),
            subjects: Vec::new(),
            stored: OnceLock::new(),
        }
    }

    /// Begins the segment after this full one, with the same capacity.
    pub(crate) fn next(&self) -> Self {
        let mut next = Self::new(self.first_rank + self.len() as u32);
        next.times.reserve(self.times.len());
        next.ends.reserve(self.ends.len());
        next.subjects.reserve(self.subjects.len());
        next
    }

    /// Says whether one more claim of this subject keeps it within the size of a piece.
    pub(crate) fn has_room(&self, subject: &str) -> bool {
        let rows = self.times.len() + 1;
        let bytes = FRAME_BYTES + self.subjects.len() + subject.len() + rows * ROW_BYTES;
        rows <= ROWS && bytes <= PIECE_BYTES
    }

    pub(crate) fn push(&mut self, subject: &str, at: Timestamp) {
        self.subjects.extend_from_slice(subject.as_bytes());
        self.times.push(at.as_micros());
        self.ends.push(self.subjects.len() as u32);
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns the subject of a claim as bytes. The rank must lie in this segment.
    pub(crate) fn subject(&self, rank: u32) -> &[u8] {
        let row = (rank - self.first_rank) as usize;
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.subjects[start..self.ends[row] as usize]
    }

    /// Returns the time of a claim. The rank must lie in this segment.
    pub(crate) fn at(&self, rank: u32) -> Timestamp {
        Timestamp::from_micros(self.times[(rank - self.first_rank) as usize])
    }

    pub(crate) fn memory(&self) -> usize {
        self.times.capacity() * 8 + self.ends.capacity() * 4 + self.subjects.capacity()
    }

    /// Frees what was kept ready for more rows.
    pub(crate) fn seal(&mut self) {
        self.times.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.subjects.shrink_to_fit();
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.number(3, u64::from(self.first_rank));
        out.nested(4, |rows| {
            let mut before = 0;
            for (row, at) in self.times.iter().enumerate() {
                let subject = self.subject(self.first_rank + row as u32);
                rows.varint(crate::wire::zigzag(at - before));
                rows.varint(subject.len() as u64);
                rows.extend_from_slice(subject);
                before = *at;
            }
        });
    }

    /// Reads the rows as [`Segment::encode`] writes them.
    pub(crate) fn decode(first_rank: u32, mut rows: Reader<'_>) -> Result<Self, Malformed> {
        let mut segment = Self::new(first_rank);
        let mut before = 0_i64;
        while !rows.is_empty() {
            before = before.wrapping_add(rows.zigzag()?);
            let subject = rows.take()?;
            let subject = std::str::from_utf8(subject)
                .map_err(|_| rows.wrong("a subject that is not UTF-8"))?;
            if !segment.has_room(subject) {
                return Err(rows.wrong("more rows than a segment has"));
            }
            segment.push(subject, Timestamp::from_micros(before));
        }
        if segment.len() == 0 {
            return Err(rows.wrong("a segment without rows"));
        }
        Ok(segment)
    }
}
