//! Entries that are skipped: applying them breaks a rule, so an operator has everybody go on without their commands.
//!
//! A skip is a record beside the journal, not an entry of it. Every replay that knows it gives the same digest.

use super::State;
use crate::names::NodeId;
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Write};
use firstcome_inject::{Mistake, inject};
use xxhash_rust::xxh3::xxh3_64;

/// An entry that is skipped: its position and time count, its commands never run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    pub position: u64,
    /// Who wrote its body.
    pub node: NodeId,
    /// Which of the writer's batches it is. An entry of another name at this position is not skipped.
    pub number: u64,
    /// When it was decided, by the store's clock.
    pub at: Timestamp,
    /// Why, 1 to 255 bytes.
    pub reason: Box<str>,
    /// Who decided it.
    pub who: Box<str>,
}

/// Why a record of a skip cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSkip {
    /// It is torn or was altered.
    #[error("its checksum does not fit its bytes")]
    Checksum,
    /// Its bytes have another form.
    #[error("it cannot be read: {0}")]
    Malformed(#[from] Malformed),
}

impl Skip {
    /// Writes the record, its checksum last.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.number(1, self.position);
        out.bytes(2, &self.node.0);
        out.number(3, self.number);
        out.time(4, self.at);
        out.text(5, &self.reason);
        out.text(6, &self.who);
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads a record as [`Skip::encode`] writes it.
    ///
    /// # Errors
    ///
    /// A wrong checksum, or bytes of another form.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadSkip> {
        let (content, checksum) = bytes.split_last_chunk::<8>().ok_or(BadSkip::Checksum)?;
        if xxh3_64(content).to_le_bytes() != *checksum {
            return Err(BadSkip::Checksum);
        }
        let mut read = Self {
            position: 0,
            node: NodeId::default(),
            number: 0,
            at: Timestamp::from_micros(0),
            reason: "".into(),
            who: "".into(),
        };
        Reader::new(content).fields(|field, value| {
            match field {
                1 => read.position = value.number()?,
                2 => read.node = NodeId(value.id()?),
                3 => read.number = value.number()?,
                4 => read.at = value.time()?,
                5 => read.reason = value.text()?.into(),
                6 => read.who = value.text()?.into(),
                _ => return Err(value.wrong("an unknown field of a skip")),
            }
            Ok(())
        })?;
        Ok(read)
    }

    fn is_of(&self, position: u64, node: NodeId, number: u64) -> bool {
        (self.position, self.node, self.number) == (position, node, number)
    }
}

/// The skips a state knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skips {
    /// Of entries beyond the last one applied.
    ahead: Vec<Skip>,
    /// Of entries that were skipped, by position.
    pub(crate) done: Vec<Skip>,
}

impl State {
    /// Has entries skipped that are still to come; what is said of others changes nothing.
    pub fn learn_skips(&mut self, skips: impl IntoIterator<Item = Skip>) {
        let position = self.position();
        for skip in skips.into_iter().filter(|skip| skip.position > position) {
            if !self.skips.ahead.contains(&skip) {
                self.skips.ahead.push(skip);
            }
        }
    }

    /// Returns the entries that were skipped to get to this state, by position.
    pub fn skipped(&self) -> &[Skip] {
        &self.skips.done
    }

    /// Says whether the entry that is being applied is to be skipped.
    pub(super) fn is_to_be_skipped(&self) -> bool {
        let (position, node, number) = (self.stamp.position, self.stamp.node, self.stamp.number);
        self.skips.ahead.iter().any(|skip| skip.is_of(position, node, number))
    }

    /// Notes that the entry that is being applied was skipped.
    pub(super) fn note_skipped(&mut self) {
        let (position, node, number) = (self.stamp.position, self.stamp.node, self.stamp.number);
        if inject(Mistake::SkipForgetsNumber) {
            self.batches.last.remove(&node);
        }
        let this = |skip: &mut Skip| skip.is_of(position, node, number);
        self.skips.done.extend(self.skips.ahead.extract_if(.., this).take(1));
        self.skips.ahead.retain(|skip| skip.position > position);
    }
}
