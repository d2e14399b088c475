//! Writes and reads the seats of a pool in a snapshot.
//!
//! A hall comes in parts, each one field. A part that is [sealed](HallPart::is_sealed) never changes again: its bytes are
//! the same in every snapshot, so it stands alone in its piece and is written once in its life. Whoever
//! packs the parts puts before each what says whose hall it is.

use super::bytes::Chunk;
use super::change::NeighbourNames;
use super::run::SeatRun;
use super::standing::{Run, Standing};
use super::{AreaSettings, Hall, Kind, changed};
use crate::names::PieceName;
use crate::wire::{Malformed, Reader, Value, Write};
use std::sync::Arc;

/// The fields of a part.
mod field {
    pub(super) const SEATS: u32 = 1;
    pub(super) const AREA: u32 = 2;
    pub(super) const STANDINGS: u32 = 3;
    pub(super) const CHANGES: u32 = 4;
}

/// A part of a hall that is still to be written, which may be done after the hall has changed.
#[derive(Clone, Debug)]
pub struct HallPart(Part);

#[derive(Clone, Debug)]
enum Part {
    /// Seats as they were added.
    Seats { run: Arc<SeatRun>, sealed: bool },
    /// An area and how its units stand, as fields.
    Area(Vec<u8>),
    /// How neighbouring seats stand.
    Standings { first: u32, run: Arc<Run> },
    /// Grades and prices that changes brought, or what they made of neighbouring seats, as fields.
    Changes(Vec<u8>),
    /// New names of neighbouring seats.
    Names(Arc<NeighbourNames>),
}

impl HallPart {
    /// Says whether it never changes again, and so has a piece of its own.
    pub fn is_sealed(&self) -> bool {
        matches!(self.0, Part::Seats { sealed: true, .. })
    }

    /// Returns the piece a store has it in, if it is sealed and was written.
    pub fn stored(&self) -> Option<PieceName> {
        match &self.0 {
            Part::Seats { run, sealed: true } => run.stored.get().copied(),
            Part::Seats { .. }
            | Part::Area(_)
            | Part::Standings { .. }
            | Part::Changes(_)
            | Part::Names(_) => None,
        }
    }

    /// Notes that a store has it in this piece, if it is sealed.
    pub fn set_stored(&self, piece: PieceName) {
        if let Part::Seats { run, sealed: true } = &self.0 {
            run.stored.get_or_init(|| piece);
        }
    }

    /// Writes the part as one field, of at most 64 bytes less than a piece may have.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Part::Seats { run, .. } => out.bytes(field::SEATS, run.as_bytes()),
            Part::Area(fields) => out.bytes(field::AREA, fields),
            Part::Standings { first, run } => out.nested(field::STANDINGS, |out| {
                out.number(1, u64::from(*first));
                out.nested(2, |rows| rows_of(rows, run));
            }),
            Part::Changes(fields) => out.bytes(field::CHANGES, fields),
            Part::Names(names) => out.nested(field::CHANGES, |out| changed::names(out, names)),
        }
    }
}

impl Hall {
    /// Returns the hall in parts, to be restored in this order. Nothing large is copied.
    pub fn freeze(&self) -> impl Iterator<Item = HallPart> {
        let last = self.runs.len().wrapping_sub(1);
        let seats = self.runs.iter().enumerate();
        let seats =
            seats.map(move |(i, run)| Part::Seats { run: Arc::clone(run), sealed: i != last });
        let areas = (0..self.areas()).map(|area| Part::Area(self.area_fields(area)));
        let standings = self.standings.runs.iter().enumerate().map(|(i, run)| Part::Standings {
            first: (i * super::standing::RUN) as u32,
            run: Arc::clone(run),
        });
        let changes = self.changed_fields().into_iter().map(Part::Changes);
        let names = self.changes.names.values().map(|names| Part::Names(Arc::clone(names)));
        seats.chain(areas).chain(standings).chain(changes).chain(names).map(HallPart)
    }

    fn area_fields(&self, area: u16) -> Vec<u8> {
        let (settings, counts) = (self.area(area), self.area_counts(area));
        let mut out = Vec::new();
        out.nested(1, |out| Chunk { seats: Vec::new(), areas: vec![settings] }.encode(out));
        out.number(2, u64::from(counts.held));
        out.number(3, u64::from(counts.confirmed));
        out.number(4, u64::from(counts.blocked));
        out
    }

    /// Takes in one part that was in this piece, as [`HallPart::encode`] writes it.
    ///
    /// # Errors
    ///
    /// Bytes of another form, or a part that does not fit those before it.
    pub fn restore(
        &mut self,
        field: u32,
        value: Value<'_>,
        piece: PieceName,
    ) -> Result<(), Malformed> {
        match field {
            field::SEATS => self.restore_seats(value, piece),
            field::AREA => self.restore_area(value),
            field::STANDINGS => self.restore_standings(value),
            field::CHANGES => self.restore_changes(value),
            _ => Err(value.wrong("an unknown part of a hall")),
        }
    }

    fn restore_seats(&mut self, value: Value<'_>, piece: PieceName) -> Result<(), Malformed> {
        let chunk = Chunk::decode(value.nested()?)?;
        if chunk.seats.is_empty() || !chunk.areas.is_empty() {
            return Err(value.wrong("a part of a hall without seats"));
        }
        // A run ends where it ended before, so that it gives the same piece again.
        let runs = self.runs.len() + 1;
        self.begin_run(self.seats());
        self.add(&chunk.seats, &[]).map_err(|_| value.wrong("seats that do not fit the hall"))?;
        if self.runs.len() != runs {
            return Err(value.wrong("more seats than a run has"));
        }
        // If another follows, the one before was sealed and stood alone in its piece.
        if let Some(before) = self.last_piece.replace(piece) {
            self.runs[runs - 2].stored.get_or_init(|| before);
        }
        Ok(())
    }

    fn restore_area(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut chunk, mut held, mut confirmed, mut blocked) = (Chunk::default(), 0, 0, 0);
        value.nested()?.fields(|field, value| {
            match field {
                1 => chunk = Chunk::decode(value.nested()?)?,
                2 => held = value.number32()?,
                3 => confirmed = value.number32()?,
                4 => blocked = value.number32()?,
                _ => return Err(value.wrong("an unknown field of an area")),
            }
            Ok(())
        })?;
        let ([], [area]) = (&*chunk.seats, &*chunk.areas) else {
            return Err(value.wrong("a part of a hall that is not one area"));
        };
        let area: AreaSettings<'_> = *area;
        self.add(&[], &[area]).map_err(|_| value.wrong("an area that does not fit the hall"))?;
        let number = self.areas() - 1;
        for (count, to) in
            [(held, Kind::Held), (confirmed, Kind::Confirmed), (blocked, Kind::Blocked)]
        {
            if !self.shift(number, count, Kind::Free, to) {
                return Err(value.wrong("an area with more places taken than it has"));
            }
        }
        Ok(())
    }

    fn restore_standings(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut next, mut rows) = (0, Reader::new(&[]));
        value.nested()?.fields(|field, value| {
            match field {
                1 => next = value.number32()?,
                2 => rows = value.nested()?,
                _ => return Err(value.wrong("an unknown field of standings")),
            }
            Ok(())
        })?;
        while !rows.is_empty() {
            let step = rows.varint()?;
            let kind = match step & 3 {
                1 => Kind::Held,
                2 => Kind::Confirmed,
                3 => Kind::Blocked,
                _ => return Err(rows.wrong("a standing that is none")),
            };
            let seat = u64::from(next).checked_add(step >> 2);
            let seat = seat.filter(|seat| *seat < u64::from(self.seats()));
            let Some(seat) = seat.and_then(|seat| u32::try_from(seat).ok()) else {
                return Err(rows.wrong("the standing of an unknown seat"));
            };
            let number = match kind {
                Kind::Held | Kind::Confirmed => rows.varint()?,
                Kind::Free | Kind::Blocked => 0,
            };
            let number =
                u32::try_from(number).map_err(|_| rows.wrong("a number larger than 32 bits"))?;
            self.set(seat, Standing::of(kind, number));
            next = seat + 1;
        }
        Ok(())
    }
}

/// Writes the seats that are not free: how many free ones come before, with the kind, and the number if it has one.
fn rows_of(rows: &mut Vec<u8>, run: &Run) {
    let mut free = 0_u64;
    for standing in run.iter() {
        let (kind, number) = match standing {
            Standing::Free => {
                free += 1;
                continue;
            }
            Standing::Held(number) => (1, Some(number)),
            Standing::Confirmed(number) => (2, Some(number)),
            Standing::Blocked => (3, None),
        };
        rows.varint(free << 2 | kind);
        if let Some(number) = number {
            rows.varint(u64::from(number));
        }
        free = 0;
    }
}
