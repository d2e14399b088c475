//! What can be asked, and how it is stored.
//!
//! A *body* is what a node writes into one entry of the journal: who it is, which of its batches
//! this is, and the commands in order. Its bytes are documented in `docs/reference/journal-format.md`.

use crate::limits::{BATCH_BYTES, BATCH_COMMANDS, REASON_BYTES, WHO_BYTES};
use crate::names::{NodeId, check_command_id, check_name, check_subject, check_text};
use crate::outcome::By;
use crate::wire::{Malformed, Reader, Value, Write, varint_bytes};
use crate::{LEVEL, Settings};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

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
}

/// What a node knew when it wrote this: its digest at a position.
///
/// Replicas compare it with their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The position.
    pub position: u64,
    /// The digest after applying the entry at that position.
    pub digest: u64,
}

/// Something asked of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Gives a subject a unit for good.
    Claim {
        /// The campaign.
        campaign: &'a str,
        /// The pool; may be left out where there is one.
        pool: Option<&'a str>,
        /// Who competes.
        subject: &'a str,
    },
    /// Undoes a claim.
    Cancel {
        /// The campaign.
        campaign: &'a str,
        /// The pool.
        pool: &'a str,
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
        /// The campaign.
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
        /// The campaign.
        campaign: &'a str,
        /// How.
        steer: Steer,
        /// Who gave it.
        order: Order<'a>,
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

const LEVEL_FIELD: u32 = 1;
const NODE: u32 = 2;
const NUMBER: u32 = 3;
const DURABLE: u32 = 4;
const TARGET: u32 = 5;
const CLAIM: u32 = 8;
const CANCEL: u32 = 9;
const PUT: u32 = 10;
const STEER: u32 = 11;
const TICK: u32 = 12;
const SETTLED: u32 = 13;
/// Targets looked through for one that is given already.
const TARGETS_SEEN: usize = 64;
/// Bytes of the checksum that ends a body.
const CHECKSUM: usize = 8;

impl<'a> Command<'a> {
    /// Gives the name of the campaign this is about, if it is about one.
    pub fn campaign(&self) -> Option<&'a str> {
        match self {
            Self::Claim { campaign, .. }
            | Self::Cancel { campaign, .. }
            | Self::Put { campaign, .. }
            | Self::Steer { campaign, .. } => Some(campaign),
            Self::Tick { .. } | Self::Settled { .. } => None,
        }
    }

    /// Gives a number that two operator commands share if they ask the same, whatever their ids.
    pub fn content(&self) -> u64 {
        let mut bytes = Vec::new();
        match self {
            Self::Put { campaign, settings, expect, .. } => {
                put_fields(&mut bytes, campaign, settings, *expect, Order::default());
                xxh3_64_with_seed(&bytes, u64::from(PUT))
            }
            Self::Steer { campaign, steer, .. } => {
                steer_fields(&mut bytes, campaign, *steer, Order::default());
                xxh3_64_with_seed(&bytes, u64::from(STEER))
            }
            Self::Claim { .. } | Self::Cancel { .. } | Self::Tick { .. } | Self::Settled { .. } => {
                0
            }
        }
    }
}

/// The part of a body before its commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The level the body was written at.
    pub level: u32,
    /// Who wrote it.
    pub node: NodeId,
    /// Which of its batches this is, from 1.
    pub number: u64,
    /// Up to where the writer knew the journal to be durable.
    pub durable: u64,
}

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    /// It was written by a newer build.
    #[error("is of level {0}, this build reads up to level {LEVEL}")]
    TooNew(u32),
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

/// Collects the commands of one batch into a body.
#[derive(Debug)]
pub struct BodyWriter {
    bytes: Vec<u8>,
    targets: Vec<(Box<str>, Option<Box<str>>)>,
    commands: usize,
}

impl BodyWriter {
    /// Begins a body of this build's level.
    pub fn new(node: NodeId, number: u64, durable: u64) -> Self {
        Self::at_level(LEVEL, node, number, durable)
    }

    /// Begins a body of another level, to see what a node does with it.
    pub fn at_level(level: u32, node: NodeId, number: u64, durable: u64) -> Self {
        let mut bytes = Vec::with_capacity(4096);
        bytes.number(LEVEL_FIELD, u64::from(level));
        bytes.bytes(NODE, &node.0);
        bytes.number(NUMBER, number);
        bytes.number(DURABLE, durable);
        Self { bytes, targets: Vec::new(), commands: 0 }
    }

    /// Adds a command, or gives it back as not fitting: a batch has at most 4,096 commands and 1 MiB.
    pub fn push(&mut self, command: &Command<'_>) -> bool {
        let before = self.bytes.len();
        let targets = self.targets.len();
        self.write(command);
        let fits = self.commands < BATCH_COMMANDS && self.bytes.len() + CHECKSUM <= BATCH_BYTES;
        if fits {
            self.commands += 1;
        } else {
            self.bytes.truncate(before);
            self.targets.truncate(targets);
        }
        fits
    }

    /// Says how many commands were added.
    pub fn commands(&self) -> usize {
        self.commands
    }

    /// Ends the body with its checksum.
    pub fn finish(mut self) -> Vec<u8> {
        let checksum = xxh3_64(&self.bytes);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        self.bytes
    }

    fn target(&mut self, campaign: &str, pool: Option<&str>) -> u64 {
        let known = |(_, (c, p)): &(usize, &(Box<str>, _))| **c == *campaign && same_pool(p, pool);
        // A batch full of made-up names must not be compared name by name: an older one is given again.
        if let Some((at, _)) = self.targets.iter().enumerate().rev().take(TARGETS_SEEN).find(known)
        {
            return at as u64;
        }
        self.bytes.nested(TARGET, |out| {
            out.text(1, campaign);
            if let Some(pool) = pool {
                out.text(2, pool);
            }
        });
        self.targets.push((campaign.into(), pool.map(Into::into)));
        self.targets.len() as u64 - 1
    }

    fn write(&mut self, command: &Command<'_>) {
        match command {
            Command::Claim { campaign, pool, subject } => {
                let target = self.target(campaign, *pool);
                self.bytes.varint(u64::from(CLAIM) << 3 | 2);
                self.bytes.varint((varint_bytes(target) + subject.len()) as u64);
                self.bytes.varint(target);
                self.bytes.extend_from_slice(subject.as_bytes());
            }
            Command::Cancel { campaign, pool, subject, rank, by, reason, who } => {
                let target = self.target(campaign, Some(pool));
                self.bytes.nested(CANCEL, |out| {
                    out.number(1, target);
                    out.text(2, subject);
                    out.number(3, u64::from(*rank));
                    out.number(4, u64::from(by.code()));
                    if !reason.is_empty() {
                        out.text(5, reason);
                    }
                    out.text(6, who);
                });
            }
            Command::Put { campaign, settings, expect, order } => {
                self.bytes.nested(PUT, |out| put_fields(out, campaign, settings, *expect, *order));
            }
            Command::Steer { campaign, steer, order } => {
                self.bytes.nested(STEER, |out| steer_fields(out, campaign, *steer, *order));
            }
            Command::Tick { mark } => self.bytes.nested(TICK, |out| mark_fields(out, *mark)),
            Command::Settled { through, term, mark } => self.bytes.nested(SETTLED, |out| {
                mark_fields(out, *mark);
                out.number(3, *through);
                out.number(4, *term);
            }),
        }
    }
}

fn same_pool(one: &Option<Box<str>>, other: Option<&str>) -> bool {
    one.as_deref() == other
}

fn put_fields(
    out: &mut Vec<u8>,
    name: &str,
    settings: &Settings,
    expect: Expect,
    order: Order<'_>,
) {
    out.text(1, name);
    out.nested(2, |out| settings.encode(out));
    match expect {
        Expect::Anything => {}
        Expect::Absent => out.number(3, 1),
        Expect::Version(version) => out.number(4, u64::from(version)),
    }
    order_fields(out, order);
}

fn steer_fields(out: &mut Vec<u8>, campaign: &str, steer: Steer, order: Order<'_>) {
    out.text(1, campaign);
    let code = match steer {
        Steer::Pause => 1,
        Steer::Resume => 2,
        Steer::Close => 3,
        Steer::Archive { drop_unsettled: false } => 4,
        Steer::Archive { drop_unsettled: true } => 5,
    };
    out.number(2, code);
    order_fields(out, order);
}

fn order_fields(out: &mut Vec<u8>, order: Order<'_>) {
    if let Some(id) = order.id {
        out.text(6, id);
    }
    if !order.who.is_empty() {
        out.text(7, order.who);
    }
}

fn mark_fields(out: &mut Vec<u8>, mark: Mark) {
    out.number(1, mark.position);
    out.number(2, mark.digest);
}

/// A body whose checksum and level were found good.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// The part before the commands.
    pub head: Head,
    rest: Reader<'a>,
}

impl<'a> Body<'a> {
    /// Reads the head of a body after looking at its checksum.
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
            newer if newer > LEVEL => return Err(BadBody::TooNew(newer)),
            _ => {}
        }
        head.node = NodeId(numbered(&mut rest, NODE)?.id()?);
        head.number = numbered(&mut rest, NUMBER)?.number()?;
        head.durable = numbered(&mut rest, DURABLE)?.number()?;
        Ok(Self { head, rest })
    }

    /// Reads the commands in order.
    ///
    /// # Errors
    ///
    /// Bytes of another form, or names and texts outside their bounds.
    pub fn commands(&self) -> Result<Vec<Command<'a>>, Malformed> {
        let mut commands = Vec::new();
        let mut targets = Vec::new();
        self.rest.fields(|field, value| {
            let command = match field {
                TARGET => {
                    targets.push(target(value)?);
                    return Ok(());
                }
                CLAIM => claim(value, &targets)?,
                CANCEL => cancel(value, &targets)?,
                PUT => put(value)?,
                STEER => steer(value)?,
                TICK => {
                    let mut mark = Mark::default();
                    value.nested()?.fields(|field, value| mark_field(&mut mark, field, value))?;
                    Command::Tick { mark }
                }
                SETTLED => settled(value)?,
                _ => return Err(value.wrong("an unknown command")),
            };
            commands.push(command);
            Ok(())
        })?;
        Ok(commands)
    }
}

/// Reads the next field, which must have this number.
fn numbered<'a>(reader: &mut Reader<'a>, expected: u32) -> Result<Value<'a>, Malformed> {
    match reader.value()? {
        Some((field, value)) if field == expected => Ok(value),
        Some(_) | None => Err(reader.wrong("a body whose head is not in order")),
    }
}

type Target<'a> = (&'a str, Option<&'a str>);

fn name<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_name(text).map_err(|_| value.wrong("a name outside its bounds"))?;
    Ok(text)
}

fn bounded<'a>(value: Value<'a>, most: usize) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    if text.len() > most || check_text(text).is_err() {
        return Err(value.wrong("a text outside its bounds"));
    }
    Ok(text)
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
    Ok(Command::Claim { campaign, pool, subject })
}

fn cancel<'a>(value: Value<'a>, targets: &[Target<'a>]) -> Result<Command<'a>, Malformed> {
    let (mut place, mut subject, mut rank) = (None, "", 0);
    let (mut by, mut reason, mut who) = (By::Subject, "", "");
    value.nested()?.fields(|field, value| {
        match field {
            1 => place = usize::try_from(value.number()?).ok().and_then(|n| targets.get(n)),
            2 => subject = value.text()?,
            3 => rank = value.number32()?,
            4 => by = By::of(value.number()?).ok_or_else(|| value.wrong("an unknown canceller"))?,
            5 => reason = bounded(value, REASON_BYTES)?,
            6 => who = bounded(value, WHO_BYTES)?,
            _ => return Err(value.wrong("an unknown field of a cancel")),
        }
        Ok(())
    })?;
    let Some((campaign, Some(pool))) = place.copied() else {
        return Err(value.wrong("a target that was not given"));
    };
    check_subject(subject).map_err(|_| value.wrong("a subject outside its bounds"))?;
    Ok(Command::Cancel { campaign, pool, subject, rank, by, reason, who })
}

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
