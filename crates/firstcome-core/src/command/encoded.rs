//! One command in its stored bytes, on its way to a body.

use super::content::{self, CLAIM};
use super::read::command;
use super::{BadCommand, Command};
use crate::limits::COMMAND_BYTES;
use crate::names::check_name;
use crate::wire::Value;
use firstcome_inject::{Mistake, inject};
use std::fmt;

/// A command in the bytes that a body has of it, owned, and known to be readable.
///
/// A body names campaign and pool once and gives them a number; commands then say that number. It is the body's own, so
/// that it is written by [`BodyWriter::push`](super::BodyWriter::push); here it is 0.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The number of the field.
    field: u32,
    /// Bytes in the campaign's name; 0 where the command says no number.
    campaign: u8,
    /// Bytes in the pool's name; 0 where the target has no pool.
    pool: u8,
    level: u32,
    /// The campaign's name, the pool's name, and the content of the field.
    bytes: Box<[u8]>,
}

impl Encoded {
    /// Encodes a command, and reads it back: what no replica could read must not get into a journal.
    ///
    /// # Errors
    ///
    /// It has more than [`COMMAND_BYTES`] bytes, or something in it is outside its bounds.
    pub fn new(command: &Command<'_>) -> Result<Self, BadCommand> {
        let encoded = Self::unchecked(command);
        if encoded.bytes.len() > COMMAND_BYTES && !inject(Mistake::CommandNotMeasured) {
            return Err(BadCommand::TooLarge { bytes: encoded.bytes.len() });
        }
        if encoded.target() != content::target_of(command) {
            // An empty name of a pool would be read back as no pool at all.
            return Err(Value::of(encoded.content()).wrong("a name outside its bounds").into());
        }
        encoded.read()?;
        Ok(encoded)
    }

    /// Encodes a command of which nothing is known.
    pub(super) fn unchecked(command: &Command<'_>) -> Self {
        let mut bytes = Vec::with_capacity(64);
        let (mut campaign, mut pool) = (0, 0);
        if let Some((of_campaign, of_pool)) = content::target_of(command) {
            let of_pool = of_pool.unwrap_or_default();
            bytes.extend_from_slice(of_campaign.as_bytes());
            bytes.extend_from_slice(of_pool.as_bytes());
            // A name beyond these numbers is not read back, which is noticed.
            campaign = u8::try_from(of_campaign.len()).unwrap_or(u8::MAX);
            pool = u8::try_from(of_pool.len()).unwrap_or(u8::MAX);
        }
        let field = content::content(command, &mut bytes);
        Self { field, campaign, pool, level: command.level(), bytes: bytes.into() }
    }

    /// Returns the command.
    pub fn command(&self) -> Command<'_> {
        self.read().expect("it was read when it was encoded")
    }

    /// Returns the lowest level of a body that can have it.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Returns how many bytes it takes, about: a body adds at most 16.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    fn read(&self) -> Result<Command<'_>, BadCommand> {
        let content = Value::of(self.content());
        let Some(target @ (campaign, pool)) = self.target() else {
            return Ok(command(self.field, content, &[])?);
        };
        for name in [campaign].into_iter().chain(pool) {
            check_name(name).map_err(|_| content.wrong("a name outside its bounds"))?;
        }
        Ok(command(self.field, content, &[target])?)
    }

    /// Returns the campaign and the pool that the body names for it.
    pub(super) fn target(&self) -> Option<(&str, Option<&str>)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        let (campaign, rest) = self.bytes.split_at_checked(usize::from(self.campaign))?;
        let (pool, _) = rest.split_at_checked(usize::from(self.pool))?;
        let pool = (self.pool > 0).then(|| text(pool));
        (self.campaign > 0).then(|| (text(campaign), pool))
    }

    /// Returns the number of the field.
    pub(super) fn field(&self) -> u32 {
        self.field
    }

    /// Returns the content of the field, in which the target is number 0.
    pub(super) fn content(&self) -> &[u8] {
        let names = usize::from(self.campaign) + usize::from(self.pool);
        self.bytes.get(names..).unwrap_or_default()
    }

    /// Returns where in the content the number of the target stands.
    pub(super) fn target_at(&self) -> usize {
        // A claim begins with it; in the others it is the first field, behind its key.
        usize::from(self.field != CLAIM)
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}
