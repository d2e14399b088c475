//! A body: encoded commands one after the other, with the names of campaigns and pools given once.

use super::Command;
use super::content::{AGAIN_OF, CHECKSUM, DURABLE, LEVEL_FIELD, NODE, NUMBER, TARGET};
use super::encoded::Encoded;
use super::read::{BadBody, Body};
use crate::limits::{BATCH_BYTES, BATCH_COMMANDS};
use crate::names::{Name, NodeId};
use crate::wire::{LEVEL, Write, varint_bytes};
use xxhash_rust::xxh3::xxh3_64;

/// Targets looked through for one that is given already.
const TARGETS_SEEN: usize = 64;

/// Bytes that a body leaves free for the name of its batch and for a longer number, which it has when it is written again.
const ROOM_FOR_AGAIN: usize = 64;

/// Collects the commands of one batch into a body.
#[derive(Debug)]
pub struct BodyWriter {
    bytes: Vec<u8>,
    targets: Vec<(Box<str>, Option<Box<str>>)>,
    commands: usize,
    level: u32,
    /// Bytes it may have before its checksum.
    most: usize,
}

impl BodyWriter {
    /// Begins a body of the newest level.
    pub fn new(node: NodeId, number: u64, durable: u64) -> Self {
        Self::at_level(LEVEL, node, number, durable)
    }

    /// Begins a body of a level: that of the space it is written into.
    pub fn at_level(level: u32, node: NodeId, number: u64, durable: u64) -> Self {
        let mut bytes = Vec::with_capacity(4096);
        bytes.number(LEVEL_FIELD, u64::from(level));
        bytes.bytes(NODE, &node.0);
        bytes.number(NUMBER, number);
        bytes.number(DURABLE, durable);
        let most = BATCH_BYTES - CHECKSUM - ROOM_FOR_AGAIN;
        Self { bytes, targets: Vec::new(), commands: 0, level, most }
    }

    /// Says that the body, which has no command yet, brings a batch again that was written first under this name.
    #[must_use]
    pub fn again_of(mut self, batch: Name) -> Self {
        self.bytes.bytes(AGAIN_OF, &batch.to_bytes());
        self.most = BATCH_BYTES - CHECKSUM;
        self
    }

    /// Writes a body once more, under another name: the batch stays the same.
    ///
    /// # Errors
    ///
    /// Those of [`Body::open`].
    pub fn again(body: &[u8], name: Name) -> Result<Vec<u8>, BadBody> {
        let body = Body::open(body)?;
        let head = body.head;
        let mut again =
            Self::at_level(head.level, name.node, name.number, head.durable).again_of(head.batch());
        again.bytes.extend_from_slice(body.rest());
        Ok(again.finish())
    }

    /// Returns the level of the body.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Has the body be of a higher level, for the command that raises the space to it.
    ///
    /// # Panics
    ///
    /// The level is above 127, which takes a second byte.
    pub fn raise(&mut self, level: u32) {
        assert!(self.level.max(level) < 128, "a level is one byte");
        self.level = self.level.max(level);
        // The first field of a body, behind its key.
        self.bytes[1] = self.level as u8;
    }

    /// Adds a command and says so, or that it does not fit: a batch has at most 4,096 commands and 1 MiB.
    pub fn push(&mut self, command: &Command<'_>) -> bool {
        self.push_encoded(&Encoded::unchecked(command))
    }

    /// As [`BodyWriter::push`]. A command that was checked always fits a body without commands. It is no higher than the
    /// body's level, or no replica reads the body.
    pub fn push_encoded(&mut self, command: &Encoded) -> bool {
        let before = self.bytes.len();
        let targets = self.targets.len();
        self.write(command);
        let fits = self.commands < BATCH_COMMANDS && self.bytes.len() <= self.most;
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
        let seen = self.targets.iter().enumerate().rev().take(TARGETS_SEEN).find(known);
        if let Some((index, _)) = seen {
            return index as u64;
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

    fn write(&mut self, command: &Encoded) {
        let target = command.target().map(|(campaign, pool)| self.target(campaign, pool));
        let content = command.content();
        self.bytes.varint(u64::from(command.field()) << 3 | 2);
        let Some(target) = target else {
            self.bytes.varint(content.len() as u64);
            self.bytes.extend_from_slice(content);
            return;
        };
        // The content has the number 0, one byte, in the place of this one.
        let (before, after) = content.split_at(command.target_at());
        self.bytes.varint((content.len() - 1 + varint_bytes(target)) as u64);
        self.bytes.extend_from_slice(before);
        self.bytes.varint(target);
        self.bytes.extend_from_slice(&after[1..]);
    }
}

fn same_pool(one: &Option<Box<str>>, other: Option<&str>) -> bool {
    one.as_deref() == other
}
