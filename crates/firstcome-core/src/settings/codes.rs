//! Settings of coded pools.

use super::invalid::BadSettings;
use crate::limits::{
    CODE_KEY_BYTES, CODE_USES, CODE_VALID_LEAST_US, CODE_VALID_MOST_US, CODES_GENERATED,
};
use crate::names::check_text;
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Write};

/// Where the codes of a pool come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeSource {
    /// They are computed from a key: none is stored.
    #[default]
    Generated,
    /// The operator brings them, with [`CodeCommand::Stage`](crate::command::CodeCommand::Stage).
    Imported,
}

impl CodeSource {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::Imported => "imported",
        }
    }
}

/// What an operator chooses for the codes of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSettings {
    /// Where they come from. Fixed once the campaign has opened.
    pub source: CodeSource,
    /// The id of the key they are made or kept with: 1 to [`CODE_KEY_BYTES`] bytes. Fixed once the campaign has opened.
    pub key: Box<str>,
    /// How many times each can be redeemed: 1 to [`CODE_USES`].
    pub uses: u32,
    /// How many uses of the pool's codes one subject may have, reserved and redeemed together, if that is limited.
    /// Whether it is limited is fixed once the campaign has opened.
    pub uses_per_subject: Option<u32>,
    /// The moment from which on none can be redeemed, if there is one.
    pub valid_until: Option<Timestamp>,
    /// How long after it was issued each can be redeemed, in microseconds of journal time, if that is limited.
    pub valid_for_us: Option<i64>,
    /// Whether nobody but its holder may redeem it; otherwise whoever has it may.
    pub only_by_holder: bool,
}

impl CodeSettings {
    /// Describes codes of a source and a key that can be redeemed once, by anybody and at any time.
    pub fn new(source: CodeSource, key: &str) -> Self {
        Self {
            source,
            key: key.into(),
            uses: 1,
            uses_per_subject: None,
            valid_until: None,
            valid_for_us: None,
            only_by_holder: false,
        }
    }

    /// Returns the moment from which on a code issued at `issued_at` cannot be redeemed, if there is one.
    pub fn expires_at(&self, issued_at: Timestamp) -> Option<Timestamp> {
        let after = self.valid_for_us.map(|valid_for| issued_at.plus_micros(valid_for));
        self.valid_until.into_iter().chain(after).min()
    }

    pub(super) fn check(&self, pool: &str, capacity: u32) -> Result<(), BadSettings> {
        let bad = |what| Err(BadSettings::Codes { pool: pool.into(), what });
        match (self.source, u64::from(capacity)) {
            (CodeSource::Generated, 1..=CODES_GENERATED) | (CodeSource::Imported, 0) => {}
            (CodeSource::Generated, _) => return bad("capacity: 1 to 10,000,000 generated codes"),
            (CodeSource::Imported, _) => {
                return bad("capacity: a pool has as many imported codes as are imported");
            }
        }
        if !(1..=CODE_KEY_BYTES).contains(&self.key.len()) || check_text(&self.key).is_err() {
            return bad("key: 1 to 64 bytes without control characters");
        }
        if !(1..=CODE_USES).contains(&self.uses) {
            return bad("uses: 1 to 100,000");
        }
        if self.uses_per_subject == Some(0) {
            return bad("uses_per_subject: 0 would let nobody redeem a code");
        }
        let valid = CODE_VALID_LEAST_US..=CODE_VALID_MOST_US;
        if self.valid_for_us.is_some_and(|valid_for| !valid.contains(&valid_for)) {
            return bad("valid_for: 1 s to 3,650 days");
        }
        Ok(())
    }

    /// Says whether the codes of a pool that has these are still the same codes with others.
    pub(crate) fn keeps_codes(&self, wanted: &Self) -> bool {
        let limited = |codes: &Self| codes.uses_per_subject.is_some();
        (self.source, &self.key, limited(self)) == (wanted.source, &wanted.key, limited(wanted))
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        if self.source == CodeSource::Imported {
            out.number(1, 1);
        }
        out.text(2, &self.key);
        out.number(3, u64::from(self.uses));
        if let Some(limit) = self.uses_per_subject {
            out.number(4, u64::from(limit));
        }
        if let Some(until) = self.valid_until {
            out.time(5, until);
        }
        if let Some(valid_for) = self.valid_for_us {
            out.signed(6, valid_for);
        }
        if self.only_by_holder {
            out.number(7, 1);
        }
    }

    pub(super) fn decode(fields: Reader<'_>) -> Result<Self, Malformed> {
        let mut read = Self::new(CodeSource::Generated, "");
        fields.fields(|field, value| {
            match field {
                1 if value.flag()? => read.source = CodeSource::Imported,
                2 => read.key = value.text()?.into(),
                3 => read.uses = value.number32()?,
                4 => read.uses_per_subject = Some(value.number32()?),
                5 => read.valid_until = Some(value.time()?),
                6 => read.valid_for_us = Some(value.signed()?),
                7 if value.flag()? => read.only_by_holder = true,
                _ => return Err(value.wrong("an unknown field of the codes of a pool")),
            }
            Ok(())
        })?;
        Ok(read)
    }
}
