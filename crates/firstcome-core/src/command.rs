//! What can be asked, and how it is stored.
//!
//! A *body* is what a node writes into one entry of the journal: who it is, which of its batches
//! this is, and the commands in order. Its bytes are documented in `docs/reference/journal-format.md`.

mod act;
mod bars;
mod codes;
mod content;
mod encoded;
mod field;
mod holds;
mod pick;
mod properties;
mod read;
mod waiting;
mod write;

pub use codes::{CodeCommand, CodeStep, StagedCode};
pub use encoded::Encoded;
pub use pick::{BestPick, Pick, Wanted};
pub use read::{BadBody, BadCommand, Body, Head, level_of};
pub use waiting::Wish;
pub(crate) use waiting::{wish_field, wish_fields};
pub use write::BodyWriter;

use self::field::bounded;
use crate::hall::{Chunk, SeatChange};
use crate::limits::WHO_BYTES;
use crate::names::{NodeId, check_command_id};
use crate::outcome::By;
use crate::settings::Settings;
use crate::wire::{MOVED_LEVEL, Malformed, Value};

/// Who gave an operator command, and under which id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order<'a> {
    /// The id that makes the command the same when it comes again: 1 to 64 bytes.
    pub id: Option<&'a str>,
    /// The name of the key it was given with: 1 to 64 bytes.
    pub who: &'a str,
}

/// What a put demands of the campaign as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: create it or change it.
    #[default]
    Anything,
    /// That there is none yet.
    Absent,
    /// That it is at this version.
    Version(u32),
}

/// How a campaign is steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Accept no claims until resumed.
    Pause,
    /// Accept claims again.
    Resume,
    /// Accept no claims any more.
    Close,
    /// Leave memory. With `drop_unsettled`, also when results have not been settled.
    Archive {
        /// Whether results that no ledger has may go.
        drop_unsettled: bool,
    },
    /// Be gone, and its name free again: one without a result.
    Delete,
}

/// What a node knew when it wrote this: its digest at a position.
///
/// Replicas compare it with their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    pub position: u64,
    /// The digest after applying the entry at that position.
    pub digest: u64,
}

/// What becomes of a confirm that comes after its hold expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is refused.
    #[default]
    Refuse,
    /// The same units are taken again if all of them are free; otherwise a refund is due.
    Retake,
}

/// A step on a hold: which, whose, and what makes the step the same when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    pub campaign: &'a str,
    /// The hold's id.
    pub hold: &'a str,
    /// Whose hold it is.
    pub subject: &'a str,
    /// The step's own id, if it has one: 1 to 64 bytes. Steps that name no quantity need none: asked
    /// again they change nothing.
    pub id: Option<&'a str>,
}

/// Something asked of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Gives a subject a unit for good.
    Claim {
        campaign: &'a str,
        /// The pool; may be left out where there is one.
        pool: Option<&'a str>,
        /// Who competes.
        subject: &'a str,
        /// How many units of the campaign the subject may have, if the eligibility check said so: at least 1.
        limit: Option<u32>,
        /// The tag of the code, where the pool's codes are generated: see [`crate::codes`].
        tag: Option<u64>,
    },
    /// Undoes a claim.
    Cancel {
        campaign: &'a str,
        /// The pool; may be left out where there is one.
        pool: Option<&'a str>,
        /// Whose claim.
        subject: &'a str,
        /// Which of their claims.
        rank: u32,
        /// On whose word.
        by: By,
        /// Why: 0 to 256 bytes; an operator gives one.
        reason: &'a str,
        /// The name of the key it was given with.
        who: &'a str,
    },
    /// Creates a campaign or changes it to these settings.
    Put {
        campaign: &'a str,
        /// What is wanted.
        settings: Settings,
        /// What is demanded of the campaign as it stands.
        expect: Expect,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Pauses, resumes, closes or archives a campaign.
    Steer {
        campaign: &'a str,
        /// How.
        steer: Steer,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Sets units aside for a subject until a deadline.
    Hold {
        campaign: &'a str,
        /// The id that makes the hold the same when it is asked for again: 1 to 64 bytes.
        id: &'a str,
        /// Who competes.
        subject: &'a str,
        /// Which units: all of them or none.
        picks: Vec<Pick<'a>>,
        /// As of a claim. No part of what makes a hold the same.
        limit: Option<u32>,
    },
    /// Adds units to a hold and drops others from it, all or nothing.
    Change {
        /// The hold.
        step: Step<'a>,
        /// What is to be held as well.
        add: Vec<Pick<'a>>,
        /// What is not to be held any more, before anything is added.
        drop: Vec<Pick<'a>>,
        /// As of a hold.
        limit: Option<u32>,
    },
    /// Moves a hold's deadline on.
    Extend {
        /// The hold.
        step: Step<'a>,
        /// How long from now, in microseconds: at least 1; the campaign's time for a hold, if none.
        by_us: Option<i64>,
    },
    /// Gives units of a hold back.
    Release {
        /// The hold.
        step: Step<'a>,
        /// Which units; none named means all.
        units: Vec<Pick<'a>>,
    },
    /// Makes units of a hold the subject's for good.
    Confirm {
        /// The hold.
        step: Step<'a>,
        /// Which units; none named means all.
        units: Vec<Pick<'a>>,
        /// What becomes of it if the hold expired.
        late: Late,
    },
    /// Adds seats and areas to a seated pool: all of them or none.
    Seats {
        campaign: &'a str,
        pool: &'a str,
        /// The seats and areas.
        chunk: Chunk<'a>,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Takes units out of sale or puts them back: all of them or none.
    Block {
        campaign: &'a str,
        units: Vec<Pick<'a>>,
        /// Whether they are to be blocked or free again.
        blocked: bool,
        /// Why: 0 to 256 bytes.
        reason: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Exchanges a seat that is held or confirmed for a free one.
    Move {
        campaign: &'a str,
        pool: &'a str,
        /// The seat that becomes free.
        from: &'a str,
        /// The seat in its place.
        to: &'a str,
        /// Why: 0 to 256 bytes.
        reason: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Changes seats of a seated pool that nobody has had: all of them or none.
    ChangeSeats {
        campaign: &'a str,
        pool: &'a str,
        /// What is to be changed of each: 1 to 4,000 seats.
        seats: Vec<SeatChange<'a>>,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Keeps a subject from having anything more of a campaign.
    Bar {
        campaign: &'a str,
        /// Who is kept out.
        subject: &'a str,
        /// Why: 0 to 256 bytes.
        reason: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Takes a bar back.
    Unbar {
        campaign: &'a str,
        /// Who is let in again.
        subject: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Gives a subject what it wants, or a place on the waitlist of a pool.
    Join {
        campaign: &'a str,
        /// The pool; may be left out where there is one.
        pool: Option<&'a str>,
        /// Who competes.
        subject: &'a str,
        /// What for.
        wish: Wish<'a>,
        /// As of a claim.
        limit: Option<u32>,
    },
    /// Takes a subject off the waitlist of a pool.
    Leave {
        campaign: &'a str,
        /// The pool; may be left out where there is one.
        pool: Option<&'a str>,
        /// Who leaves.
        subject: &'a str,
    },
    /// Does something about codes.
    Code(CodeCommand<'a>),
    /// Raises the space to a level, which stands in the body as well.
    Raise {
        /// The level: at most [`newest_level`](crate::newest_level).
        level: u32,
        /// The name of the key it was given with: 0 to 64 bytes.
        who: &'a str,
    },
    /// Lets time pass.
    Tick {
        /// What the sender knew.
        mark: Mark,
    },
    /// Says that a ledger has the results up to a number.
    Settled {
        /// The last number the ledger has.
        through: u64,
        /// The term under which it was written.
        term: u64,
        /// What the sender knew.
        mark: Mark,
    },
}

impl<'a> Command<'a> {
    /// Returns a claim that nobody set a limit for.
    pub fn claim(campaign: &'a str, pool: Option<&'a str>, subject: &'a str) -> Self {
        Self::Claim { campaign, pool, subject, limit: None, tag: None }
    }

    /// Returns the name of the campaign this is about, if it is about one.
    pub fn campaign(&self) -> Option<&'a str> {
        match self {
            Self::Claim { campaign, .. }
            | Self::Cancel { campaign, .. }
            | Self::Put { campaign, .. }
            | Self::Steer { campaign, .. }
            | Self::Hold { campaign, .. }
            | Self::Seats { campaign, .. }
            | Self::Block { campaign, .. }
            | Self::ChangeSeats { campaign, .. }
            | Self::Bar { campaign, .. }
            | Self::Unbar { campaign, .. }
            | Self::Join { campaign, .. }
            | Self::Leave { campaign, .. }
            | Self::Move { campaign, .. } => Some(campaign),
            Self::Change { step, .. }
            | Self::Extend { step, .. }
            | Self::Release { step, .. }
            | Self::Confirm { step, .. } => Some(step.campaign),
            Self::Code(code) => Some(code.target().0),
            Self::Raise { .. } | Self::Tick { .. } | Self::Settled { .. } => None,
        }
    }
}

/// Writes the body that ends a space: it is of [`MOVED_LEVEL`] and has no commands.
pub fn moved(node: NodeId, number: u64, durable: u64) -> Vec<u8> {
    BodyWriter::at_level(MOVED_LEVEL, node, number, durable).finish()
}

/// Reads a field that every operator command has.
fn order_field<'a>(order: &mut Order<'a>, field: u32, value: Value<'a>) -> Result<(), Malformed> {
    match field {
        6 => {
            let id = value.text()?;
            check_command_id(id).map_err(|_| value.wrong("an id outside its bounds"))?;
            order.id = Some(id);
        }
        7 => order.who = bounded(value, WHO_BYTES)?,
        _ => return Err(value.wrong("an unknown field of an operator command")),
    }
    Ok(())
}
