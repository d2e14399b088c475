//! Commands on holds and seats, owning their words.

use super::Ordered;
use firstcome_core::Command;
use firstcome_core::command::{BestPick, Late, Pick, Step, Wanted};
use firstcome_core::hall::{Chunk, Price};
use firstcome_core::wire::{Malformed, Reader};

/// See [`Wanted`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnWanted {
    /// See [`Wanted::Units`].
    Units(Vec<Box<str>>),
    /// See [`Wanted::Quantity`].
    Quantity {
        /// How many.
        count: u32,
        /// The area; none in a counted pool.
        area: Option<Box<str>>,
    },
    /// See [`BestPick`].
    Best {
        /// How many.
        count: u32,
        /// Only of this grade.
        grade: Option<Box<str>>,
        /// Only at this price.
        price: Option<Price>,
        /// All next to each other.
        adjacent: bool,
        /// Accessible seats.
        accessible: bool,
    },
}

/// See [`Pick`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPick {
    /// The pool; may be left out where there is one.
    pub pool: Option<Box<str>>,
    /// Which of its units.
    pub wanted: OwnWanted,
    /// For whom the seller acts.
    pub channel: Option<Box<str>>,
}

impl OwnPick {
    /// Gives the pick as a command has it.
    pub fn pick(&self) -> Pick<'_> {
        let wanted = match &self.wanted {
            OwnWanted::Units(names) => Wanted::Units(names.iter().map(|name| &**name).collect()),
            OwnWanted::Quantity { count, area } => {
                Wanted::Quantity { count: *count, area: area.as_deref() }
            }
            OwnWanted::Best { count, grade, price, adjacent, accessible } => {
                Wanted::Best(BestPick {
                    count: *count,
                    grade: grade.as_deref(),
                    price: *price,
                    adjacent: *adjacent,
                    accessible: *accessible,
                })
            }
        };
        Pick { pool: self.pool.as_deref(), wanted, channel: self.channel.as_deref() }
    }
}

/// See [`Step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnStep {
    /// The campaign.
    pub campaign: Box<str>,
    /// The hold's id.
    pub hold: Box<str>,
    /// Whose hold it is.
    pub subject: Box<str>,
    /// The step's own id, if it has one.
    pub id: Option<Box<str>>,
}

impl OwnStep {
    fn step(&self) -> Step<'_> {
        let Self { campaign, hold, subject, id } = self;
        Step { campaign, hold, subject, id: id.as_deref() }
    }
}

/// Seats and areas in the bytes a command has of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnChunk(Box<[u8]>);

impl OwnChunk {
    /// Takes seats and areas in, if they fit one command.
    ///
    /// # Errors
    ///
    /// More of them than a command may have, or one outside its bounds.
    pub fn new(chunk: &Chunk<'_>) -> Result<Self, Malformed> {
        let mut bytes = Vec::new();
        chunk.encode(&mut bytes);
        if bytes.len() > firstcome_core::limits::CHUNK_BYTES {
            let what = "more bytes of seats than a command may have";
            return Err(Malformed { what, at: bytes.len() });
        }
        Chunk::decode(Reader::new(&bytes))?;
        Ok(Self(bytes.into()))
    }

    fn chunk(&self) -> Chunk<'_> {
        Chunk::decode(Reader::new(&self.0)).expect("it was read when it was taken in")
    }
}

/// A command on a hold or on seats.
#[derive(Clone, Debug)]
pub enum HoldAsk {
    /// See [`Command::Hold`].
    Hold {
        /// The campaign.
        campaign: Box<str>,
        /// The hold's id.
        id: Box<str>,
        /// Who competes.
        subject: Box<str>,
        /// Which units.
        picks: Vec<OwnPick>,
        /// As of a claim.
        limit: Option<u32>,
    },
    /// See [`Command::Change`].
    Change {
        /// The hold.
        step: OwnStep,
        /// What is to be held as well.
        add: Vec<OwnPick>,
        /// What is not to be held any more.
        drop: Vec<OwnPick>,
        /// As of a claim.
        limit: Option<u32>,
    },
    /// See [`Command::Extend`].
    Extend {
        /// The hold.
        step: OwnStep,
        /// How long from now, in microseconds.
        by_us: Option<i64>,
    },
    /// See [`Command::Release`].
    Release {
        /// The hold.
        step: OwnStep,
        /// Which units; none named means all.
        units: Vec<OwnPick>,
    },
    /// See [`Command::Confirm`].
    Confirm {
        /// The hold.
        step: OwnStep,
        /// Which units; none named means all.
        units: Vec<OwnPick>,
        /// What becomes of it if the hold expired.
        late: Late,
    },
    /// See [`Command::Seats`].
    Seats {
        /// The campaign.
        campaign: Box<str>,
        /// The pool.
        pool: Box<str>,
        /// The seats and areas.
        chunk: OwnChunk,
        /// Who gave it.
        ordered: Ordered,
    },
    /// See [`Command::Block`].
    Block {
        /// The campaign.
        campaign: Box<str>,
        /// Which units.
        units: Vec<OwnPick>,
        /// Whether they are to be blocked or free again.
        blocked: bool,
        /// Why.
        reason: Box<str>,
        /// Who gave it.
        ordered: Ordered,
    },
    /// See [`Command::Move`].
    Move {
        /// The campaign.
        campaign: Box<str>,
        /// The pool.
        pool: Box<str>,
        /// The seat that becomes free.
        from: Box<str>,
        /// The seat in its place.
        to: Box<str>,
        /// Why.
        reason: Box<str>,
        /// Who gave it.
        ordered: Ordered,
    },
}

impl HoldAsk {
    /// Gives the same with the limit that the team's own service gave since.
    pub fn within(mut self, said: Option<u32>) -> Self {
        if let Self::Hold { limit, .. } | Self::Change { limit, .. } = &mut self {
            *limit = said;
        }
        self
    }

    /// Says whether a yes to it makes results.
    pub(crate) fn makes_results(&self) -> bool {
        matches!(self, Self::Confirm { .. } | Self::Move { .. })
    }

    /// Gives the command as it is written into a body.
    pub fn command(&self) -> Command<'_> {
        match self {
            Self::Hold { campaign, id, subject, picks: wanted, limit } => {
                Command::Hold { campaign, id, subject, picks: all(wanted), limit: *limit }
            }
            Self::Change { step, add, drop, limit } => {
                let (step, limit) = (step.step(), *limit);
                Command::Change { step, add: all(add), drop: all(drop), limit }
            }
            Self::Extend { step, by_us } => Command::Extend { step: step.step(), by_us: *by_us },
            Self::Release { step, units } => {
                Command::Release { step: step.step(), units: all(units) }
            }
            Self::Confirm { step, units, late } => {
                Command::Confirm { step: step.step(), units: all(units), late: *late }
            }
            Self::Seats { campaign, pool, chunk, ordered } => {
                let (chunk, order) = (chunk.chunk(), ordered.order());
                Command::Seats { campaign, pool, chunk, order }
            }
            Self::Block { campaign, units, blocked, reason, ordered } => {
                let (units, order) = (all(units), ordered.order());
                Command::Block { campaign, units, blocked: *blocked, reason, order }
            }
            Self::Move { campaign, pool, from, to, reason, ordered } => {
                let order = ordered.order();
                Command::Move { campaign, pool, from, to, reason, order }
            }
        }
    }
}

fn all(picks: &[OwnPick]) -> Vec<Pick<'_>> {
    picks.iter().map(OwnPick::pick).collect()
}
