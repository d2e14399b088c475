//! Seats in the bytes of a snapshot, in runs that never change once full.

use super::bytes::{ChunkWriter, own_fields, own_name};
use super::settings::SeatSettings;
use crate::limits::{CHUNK_SEATS, PIECE_BYTES};
use crate::names::PieceName;
use std::sync::OnceLock;

/// What stands around the seats of a run in a piece, at most.
const FRAME_BYTES: usize = 64;

/// Neighbouring seats as they were imported, in the bytes that a snapshot has of them.
#[derive(Clone, Debug)]
pub(crate) struct SeatRun {
    pub(crate) first: u32,
    begins: Vec<u32>,
    chunk: ChunkWriter,
    /// Under which name a store has it, once it is sealed and was written.
    pub(crate) stored: OnceLock<PieceName>,
}

impl SeatRun {
    pub(super) fn new(first: u32) -> Self {
        Self { first, begins: Vec::new(), chunk: ChunkWriter::new(), stored: OnceLock::new() }
    }

    /// Says whether one more seat keeps it within the size of a piece.
    pub(super) fn has_room(&self, seat: &SeatSettings<'_>) -> bool {
        let bytes = FRAME_BYTES + self.chunk.as_bytes().len() + ChunkWriter::most(seat);
        self.begins.len() < CHUNK_SEATS && bytes <= PIECE_BYTES
    }

    pub(super) fn push(&mut self, seat: &SeatSettings<'_>) {
        let begins = self.chunk.seat(seat);
        self.begins.push(begins as u32);
    }

    /// Returns a seat's name. The seat must lie in this run.
    pub(super) fn name(&self, seat: u32) -> &[u8] {
        own_name(self.of(seat))
    }

    /// Returns what only the run knows of a seat. The seat must lie in this run.
    pub(super) fn own(&self, seat: u32) -> SeatSettings<'_> {
        own_fields(self.of(seat))
    }

    fn of(&self, seat: u32) -> &[u8] {
        &self.chunk.as_bytes()[self.begins[(seat - self.first) as usize] as usize..]
    }

    /// Frees what was kept ready for more seats.
    pub(super) fn seal(&mut self) {
        self.begins.shrink_to_fit();
        self.chunk.seal();
    }

    /// Returns the seats as a snapshot has them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.chunk.as_bytes()
    }

    pub(super) fn memory(&self) -> usize {
        self.begins.capacity() * 4 + self.chunk.memory() + 160
    }
}
