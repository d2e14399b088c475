//! Commands into the bytes of a body.

use super::{Command, Expect, Mark, Order, Steer};
use crate::limits::{BATCH_BYTES, BATCH_COMMANDS};
use crate::names::NodeId;
use crate::settings::Settings;
use crate::wire::{LEVEL, Write, varint_bytes};
use xxhash_rust::xxh3::xxh3_64;

pub(super) const LEVEL_FIELD: u32 = 1;
pub(super) const NODE: u32 = 2;
pub(super) const NUMBER: u32 = 3;
pub(super) const DURABLE: u32 = 4;
pub(super) const TARGET: u32 = 5;
pub(super) const CLAIM: u32 = 8;
pub(super) const CANCEL: u32 = 9;
pub(super) const PUT: u32 = 10;
pub(super) const STEER: u32 = 11;
pub(super) const TICK: u32 = 12;
pub(super) const SETTLED: u32 = 13;
pub(super) const CLAIM_WITHIN: u32 = 22;
/// Targets looked through for one that is given already.
const TARGETS_SEEN: usize = 64;
/// Bytes of the checksum that ends a body.
pub(super) const CHECKSUM: usize = 8;

/// Collects the commands of one batch into a body.
#[derive(Debug)]
pub struct BodyWriter {
    pub(super) bytes: Vec<u8>,
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

    pub(super) fn target(&mut self, campaign: &str, pool: Option<&str>) -> u64 {
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
            Command::Claim { campaign, pool, subject, limit: Some(limit) } => {
                let target = self.target(campaign, *pool);
                self.bytes.nested(CLAIM_WITHIN, |out| {
                    out.number(1, target);
                    out.text(2, subject);
                    out.number(3, u64::from(*limit));
                });
            }
            Command::Claim { campaign, pool, subject, limit: None } => {
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
            Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. }
            | Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. } => self.write_holds(command),
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

pub(super) fn put_fields(
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

pub(super) fn steer_fields(out: &mut Vec<u8>, campaign: &str, steer: Steer, order: Order<'_>) {
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

pub(super) fn order_fields(out: &mut Vec<u8>, order: Order<'_>) {
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
