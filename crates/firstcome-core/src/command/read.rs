//! Reads the commands of a body.

use super::codes::{self, DISCARD, RESERVE};
use super::content::{
    AGAIN_OF, BAR, CANCEL, CHANGE_SEATS, CHECKSUM, CLAIM, CLAIM_WITHIN, DURABLE, HOLD, LEVEL_FIELD,
    MOVE, NODE, NUMBER, PUT, RAISE, SETTLED, STEER, TARGET, TICK, UNBAR,
};
use super::field::{Target, bounded, name};
use super::waiting::{JOIN, LEAVE};
use super::{Command, Expect, Mark, Order, Steer, bars, holds, order_field, waiting};
use crate::limits::{REASON_BYTES, WHO_BYTES};
use crate::names::{Name, NodeId, check_subject};
use crate::outcome::By;
use crate::settings::Settings;
use crate::wire::{LEVEL, MOVED_LEVEL, Malformed, Reader, Value, newest_level};
use xxhash_rust::xxh3::xxh3_64;

/// The part of a body before its commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The level the body was written at.
    pub level: u32,
    /// Who wrote it.
    pub node: NodeId,
    /// Which of its bodies this is, from 1.
    pub number: u64,
    /// The batch that is sent again, under which name it was written first; none where that is this name.
    pub again_of: Option<Name>,
    /// Up to where the writer knew the journal to be durable.
    pub durable: u64,
}

impl Head {
    /// Returns the name of the body's entry.
    pub fn name(&self) -> Name {
        Name { node: self.node, number: self.number }
    }

    /// Returns the name of the batch: that of the first body that was written of it.
    pub fn batch(&self) -> Name {
        self.again_of.unwrap_or(self.name())
    }
}

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    /// It was written by a newer build.
    #[error("is of level {0}, this build reads up to level {newest}", newest = newest_level())]
    TooNew(u32),
    /// It ends the space: see [`moved`](super::moved()).
    #[error("ends the space here, which was moved to another store")]
    Moved,
    /// Its checksum does not fit: it is torn or was altered.
    #[error("is torn or altered: its checksum is {found:016x}, its bytes give {computed:016x}")]
    Checksum {
        /// What stands at its end.
        found: u64,
        /// What its bytes give.
        computed: u64,
    },
    /// Its checksum fits, its content does not.
    #[error("cannot be read: {0}")]
    Malformed(#[from] Malformed),
}

/// Why a command cannot be part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCommand {
    /// It does not fit a body.
    #[error("the command has {bytes} bytes, {} are the most", crate::limits::COMMAND_BYTES)]
    TooLarge {
        /// How many bytes it has.
        bytes: usize,
    },
    /// Something in it is outside its bounds.
    #[error("the command has {0}")]
    Malformed(#[from] Malformed),
}

/// A body whose checksum and level were found good.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// The part before the commands.
    pub head: Head,
    rest: Reader<'a>,
}

/// Returns the level that a body says it is of, without a look at anything else in it; none of one that ends its space.
pub fn level_of(body: &[u8]) -> Option<u32> {
    let level = numbered(&mut Reader::new(body), LEVEL_FIELD).ok()?.number32().ok()?;
    (level != MOVED_LEVEL).then_some(level)
}

impl<'a> Body<'a> {
    /// Reads the head of a body after looking at its checksum. One that [ends its space](super::moved()) has a head, too.
    ///
    /// # Errors
    ///
    /// A wrong checksum, a level above this build's, or bytes of another form.
    pub fn open(bytes: &'a [u8]) -> Result<Self, BadBody> {
        let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM>() else {
            let what = "fewer bytes than a checksum has";
            return Err(Malformed { what, at: bytes.len() }.into());
        };
        let (found, computed) = (u64::from_le_bytes(*checksum), xxh3_64(content));
        if found != computed {
            return Err(BadBody::Checksum { found, computed });
        }
        let mut rest = Reader::new(content);
        let mut head = Head::default();
        let level = numbered(&mut rest, LEVEL_FIELD)?;
        head.level = level.number32()?;
        match head.level {
            0 => return Err(level.wrong("a level that never was").into()),
            newer if newer > newest_level() && newer != MOVED_LEVEL => {
                return Err(BadBody::TooNew(newer));
            }
            _ => {}
        }
        head.node = NodeId(numbered(&mut rest, NODE)?.id()?);
        head.number = numbered(&mut rest, NUMBER)?.number()?;
        head.durable = numbered(&mut rest, DURABLE)?.number()?;
        let mut behind = rest;
        if let Ok(Some((AGAIN_OF, value))) = behind.value() {
            let read = Name::from_bytes(value.bytes()?);
            let batch = read.filter(|batch| *batch != head.name());
            head.again_of = Some(batch.ok_or_else(|| value.wrong("no other name"))?);
            rest = behind;
        }
        Ok(Self { head, rest })
    }

    /// Returns the bytes of the commands.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest.rest()
    }

    /// Reads the commands in order.
    ///
    /// # Errors
    ///
    /// Bytes of another form, or names and texts outside their bounds.
    pub fn commands(&self) -> Result<Vec<Command<'a>>, Malformed> {
        if self.head.level == MOVED_LEVEL {
            return Err(self.rest.wrong("the end of its space in the place of commands"));
        }
        let mut commands = Vec::new();
        let mut targets = Vec::new();
        self.rest.fields(|field, value| {
            if field == TARGET {
                targets.push(target(value)?);
            } else {
                let read = command(field, value, &targets)?;
                if read.level() > self.head.level {
                    return Err(value.wrong("a command of a higher level than its body"));
                }
                commands.push(read);
            }
            Ok(())
        })?;
        Ok(commands)
    }
}

/// Reads the command in a field of a body.
pub(super) fn command<'a>(
    field: u32,
    value: Value<'a>,
    targets: &[Target<'a>],
) -> Result<Command<'a>, Malformed> {
    Ok(match field {
        CLAIM => claim(value, targets)?,
        CLAIM_WITHIN => claim_within(value, targets)?,
        CANCEL => cancel(value, targets)?,
        PUT => put(value)?,
        STEER => steer(value)?,
        TICK => {
            let mut mark = Mark::default();
            value.nested()?.fields(|field, value| mark_field(&mut mark, field, value))?;
            Command::Tick { mark }
        }
        SETTLED => settled(value)?,
        RAISE => raise(value)?,
        CHANGE_SEATS => holds::read(field, value, targets)?,
        JOIN | LEAVE => waiting::read(field, value, targets)?,
        BAR | UNBAR => bars::read(field, value)?,
        RESERVE..=DISCARD => codes::read(field, value, targets)?,
        HOLD..=MOVE => holds::read(field, value, targets)?,
        _ => return Err(value.wrong("an unknown command")),
    })
}

/// Reads the next field, which must have this number.
fn numbered<'a>(reader: &mut Reader<'a>, expected: u32) -> Result<Value<'a>, Malformed> {
    match reader.value()? {
        Some((field, value)) if field == expected => Ok(value),
        Some(_) | None => Err(reader.wrong("a body whose head is not in order")),
    }
}

fn target<'a>(value: Value<'a>) -> Result<Target<'a>, Malformed> {
    let mut read = ("", None);
    value.nested()?.fields(|field, value| {
        match field {
            1 => read.0 = name(value)?,
            2 => read.1 = Some(name(value)?),
            _ => return Err(value.wrong("an unknown field of a target")),
        }
        Ok(())
    })?;
    if read.0.is_empty() {
        return Err(value.wrong("a target without a campaign"));
    }
    Ok(read)
}

fn claim<'a>(value: Value<'a>, targets: &[Target<'a>]) -> Result<Command<'a>, Malformed> {
    let mut inside = value.nested()?;
    let number = inside.varint()?;
    let Some((campaign, pool)) = usize::try_from(number).ok().and_then(|n| targets.get(n)).copied()
    else {
        return Err(value.wrong("a target that was not given"));
    };
    let subject = inside.text()?;
    check_subject(subject).map_err(|_| value.wrong("a subject outside its bounds"))?;
    Ok(Command::Claim { campaign, pool, subject, limit: None, tag: None })
}

fn claim_within<'a>(value: Value<'a>, targets: &[Target<'a>]) -> Result<Command<'a>, Malformed> {
    let (mut target, mut subject, mut limit, mut tag) = (None, "", None, None);
    value.nested()?.fields(|field, value| {
        match field {
            1 => target = usize::try_from(value.number()?).ok().and_then(|n| targets.get(n)),
            2 => subject = value.text()?,
            _ => return codes::limit_or_tag((&mut limit, &mut tag), field, value),
        }
        Ok(())
    })?;
    let (Some((campaign, pool)), true) = (target.copied(), limit.is_some() || tag.is_some()) else {
        return Err(value.wrong("a claim without its target, or without its limit and its tag"));
    };
    check_subject(subject).map_err(|_| value.wrong("a subject outside its bounds"))?;
    Ok(Command::Claim { campaign, pool, subject, limit, tag })
}

fn cancel<'a>(value: Value<'a>, targets: &[Target<'a>]) -> Result<Command<'a>, Malformed> {
    let (mut target, mut subject, mut rank) = (None, "", 0);
    let (mut by, mut reason, mut who) = (By::Subject, "", "");
    value.nested()?.fields(|field, value| {
        match field {
            1 => target = usize::try_from(value.number()?).ok().and_then(|n| targets.get(n)),
            2 => subject = value.text()?,
            3 => rank = value.number32()?,
            4 => by = By::of(value.number()?).ok_or_else(|| value.wrong("an unknown canceller"))?,
            5 => reason = bounded(value, REASON_BYTES)?,
            6 => who = bounded(value, WHO_BYTES)?,
            _ => return Err(value.wrong("an unknown field of a cancel")),
        }
        Ok(())
    })?;
    let Some((campaign, pool)) = target.copied() else {
        return Err(value.wrong("a target that was not given"));
    };
    check_subject(subject).map_err(|_| value.wrong("a subject outside its bounds"))?;
    Ok(Command::Cancel { campaign, pool, subject, rank, by, reason, who })
}

fn put<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut campaign, mut settings) = ("", None);
    let (mut expect, mut order) = (Expect::Anything, Order::default());
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => settings = Some(Settings::decode(value.nested()?)?),
            3 if value.flag()? => expect = Expect::Absent,
            4 => expect = Expect::Version(value.number32()?),
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    match settings {
        Some(settings) if !campaign.is_empty() => {
            Ok(Command::Put { campaign, settings, expect, order })
        }
        _ => Err(value.wrong("a put without a campaign or settings")),
    }
}

fn steer<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut campaign, mut steer, mut order) = ("", None, Order::default());
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => {
                steer = Some(match value.number()? {
                    1 => Steer::Pause,
                    2 => Steer::Resume,
                    3 => Steer::Close,
                    4 => Steer::Archive { drop_unsettled: false },
                    5 => Steer::Archive { drop_unsettled: true },
                    6 => Steer::Delete,
                    _ => return Err(value.wrong("an unknown way to steer")),
                });
            }
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    match steer {
        Some(steer) if !campaign.is_empty() => Ok(Command::Steer { campaign, steer, order }),
        _ => Err(value.wrong("a steer without a campaign or a way")),
    }
}

fn raise<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut level, mut order) = (0, Order::default());
    value.nested()?.fields(|field, value| {
        match field {
            1 => level = value.number32()?,
            7 => return order_field(&mut order, field, value),
            _ => return Err(value.wrong("an unknown field of a raise")),
        }
        Ok(())
    })?;
    if !(LEVEL..=newest_level()).contains(&level) {
        return Err(value.wrong("a level to which nothing is raised"));
    }
    Ok(Command::Raise { level, who: order.who })
}

fn mark_field(mark: &mut Mark, field: u32, value: Value<'_>) -> Result<(), Malformed> {
    match field {
        1 => mark.position = value.number()?,
        2 => mark.digest = value.number()?,
        _ => return Err(value.wrong("an unknown field of a mark")),
    }
    Ok(())
}

fn settled<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut through, mut term, mut mark) = (0, 0, Mark::default());
    value.nested()?.fields(|field, value| {
        match field {
            3 => through = value.number()?,
            4 => term = value.number()?,
            _ => return mark_field(&mut mark, field, value),
        }
        Ok(())
    })?;
    Ok(Command::Settled { through, term, mark })
}
