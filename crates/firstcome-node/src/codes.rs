//! Coupon codes: from unit numbers and tags to what people type, and back.
//!
//! The rules know numbers and keyed hashes only ([`firstcome_core::codes`]). Whoever has the keys can make codes of them;
//! so this is the only place that sees both. Nothing here reads a clock or does I/O, and no code is ever logged.
//!
//! | File | Subject |
//! |---|---|
//! | `text` | 75 bits as sixteen letters, and typing errors |
//! | `cipher` | one pool's codes under one key |
//! | `spelling` | what is the same code, however it is typed |
//! | `lines` | the codes of a file, compared with one another |
//! | `pool` | what is needed of a pool to make and read many codes without a look at the state |

mod cipher;
pub mod lines;
mod numerals;
mod pool;
pub mod spelling;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub use cipher::{CannotOpen, PoolCipher};
pub use pool::CodePool;

use cipher::Derived;
use firstcome_core::campaign::Campaign;
use firstcome_core::codes::{CodeKey, CodeUnit};
use firstcome_core::limits::CODE_KEY_BYTES;
use firstcome_core::names::check_text;
use firstcome_core::settings::CodeSource;
use firstcome_core::{Settings, SpaceId};

/// The keys that codes are made and kept with, the newest first.
#[derive(Debug, Default)]
pub struct CodeKeys {
    keys: Vec<(Box<str>, Derived)>,
}

/// Keys that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCodeKeys {
    /// An id that is empty, too long, or not text.
    #[error("code_keys: the id {0:?} is not 1 to 64 bytes without control characters")]
    Id(Box<str>),
    /// Two keys have the same id.
    #[error(
        "code_keys: two keys have the id {0:?}: give each its own, and keep old ones for the codes made with them"
    )]
    Twice(Box<str>),
}

/// A key that this server does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCodeKey {
    /// It has none at all, so that no coded pool can be made.
    #[error("this server has no key for codes: add one to code_keys, the same on every server")]
    None,
    /// It lacks the one of a pool.
    #[error(
        "this server lacks the key {0:?} of code_keys, with which codes of this campaign are made"
    )]
    Lacks(Box<str>),
}

/// Why what was typed is no code of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRead {
    /// It cannot be one: a typing error.
    Malformed,
    /// This state knows no such code: `no_such_code`, once it caught up with the journal.
    Unknown,
    /// The server lacks the key of a pool.
    NoKey(NoCodeKey),
}

/// A code that was found: in which pool, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCode {
    /// The pool's name.
    pub pool: Box<str>,
    /// The code as the rules know it.
    pub code: CodeKey,
}

impl CodeKeys {
    /// Takes keys: each an id and 32 random bytes, the newest first. Old ones stay for the codes that were made with them.
    ///
    /// # Errors
    ///
    /// An id that is not acceptable, or one that is there twice.
    pub fn new(keys: &[(&str, [u8; 32])]) -> Result<Self, BadCodeKeys> {
        let mut taken: Vec<(Box<str>, Derived)> = Vec::new();
        for (id, secret) in keys {
            if !(1..=CODE_KEY_BYTES).contains(&id.len()) || check_text(id).is_err() {
                return Err(BadCodeKeys::Id((*id).into()));
            }
            if taken.iter().any(|(known, _)| **known == **id) {
                return Err(BadCodeKeys::Twice((*id).into()));
            }
            taken.push(((*id).into(), Derived::of(secret)));
        }
        Ok(Self { keys: taken })
    }

    /// Returns the ids, the newest first: what servers compare, and what may be shown.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|(id, _)| &**id)
    }

    fn get(&self, id: &str) -> Result<&Derived, NoCodeKey> {
        let found = self.keys.iter().find(|(known, _)| **known == *id);
        found.map(|(_, keys)| keys).ok_or_else(|| NoCodeKey::Lacks(id.into()))
    }

    /// Gives each coded pool for which no key is named the key that it has, or a new one the newest.
    ///
    /// # Errors
    ///
    /// [`NoCodeKey::None`]: there is a new coded pool and no key. [`NoCodeKey::Lacks`]: the key that is named is not here, and is
    /// not the one the pool has.
    pub fn complete(
        &self,
        settings: &mut Settings,
        present: Option<&Campaign>,
    ) -> Result<(), NoCodeKey> {
        for pool in &mut settings.pools {
            let Some(codes) = pool.codes.as_deref_mut() else { continue };
            let known = present.and_then(|campaign| campaign.pool(&pool.name)?.codes());
            match known {
                Some(known) if codes.key.is_empty() || codes.key == known.settings().key => {
                    codes.key = known.settings().key.clone();
                }
                None if codes.key.is_empty() => {
                    codes.key = self.ids().next().ok_or(NoCodeKey::None)?.into();
                }
                Some(_) | None => {
                    self.get(&codes.key)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the first key that this server lacks of a campaign's: its coded pools answer `unavailable` here.
    pub fn lacks(&self, campaign: &Campaign) -> Option<NoCodeKey> {
        let codes = campaign.pools().iter().filter_map(|pool| pool.codes());
        codes.filter_map(|codes| self.get(&codes.settings().key).err()).next()
    }

    /// Returns what makes and reads the codes of a pool; none of a pool without codes.
    ///
    /// # Errors
    ///
    /// [`NoCodeKey::Lacks`].
    pub fn of(
        &self,
        space: SpaceId,
        campaign: &Campaign,
        index: usize,
    ) -> Result<Option<PoolCipher<'_>>, NoCodeKey> {
        let codes = campaign.pools().get(index).and_then(|pool| pool.codes());
        let Some(codes) = codes else { return Ok(None) };
        let keys = self.get(&codes.settings().key)?;
        Ok(Some(PoolCipher::new(keys, space, campaign.number(), index)))
    }

    /// Returns the tag that a claim of a pool, or the next code of a claim, is written with; none where codes are imported.
    ///
    /// # Errors
    ///
    /// [`NoCodeKey::Lacks`].
    pub fn tag(
        &self,
        space: SpaceId,
        (campaign, pool): (&Campaign, Option<&str>),
        subject: &str,
        issue: u16,
    ) -> Result<Option<u64>, NoCodeKey> {
        let pools = campaign.pools();
        let index = match pool {
            Some(name) => pools.iter().position(|pool| pool.name() == name),
            None => (pools.len() == 1).then_some(0),
        };
        let Some(index) = index else { return Ok(None) };
        if let Some(codes) = pools[index].codes() {
            // Also where no tag is needed: whoever cannot show a code must not give one.
            self.get(&codes.settings().key)?;
        }
        if !campaign.needs_tag(index) {
            return Ok(None);
        }
        let cipher = self.of(space, campaign, index)?;
        Ok(cipher.map(|cipher| cipher.tag(subject, issue)))
    }

    /// Writes an issued code of a pool.
    ///
    /// # Errors
    ///
    /// [`NoCodeKey::Lacks`], also where the key of that id is another one.
    pub fn write(
        &self,
        space: SpaceId,
        (campaign, index): (&Campaign, usize),
        unit: CodeUnit<'_>,
    ) -> Result<String, NoCodeKey> {
        let pool = campaign.pools().get(index).and_then(|pool| pool.codes());
        let lacks = || NoCodeKey::Lacks(pool.map_or("".into(), |pool| pool.settings().key.clone()));
        let cipher = self.of(space, campaign, index)?.ok_or_else(lacks)?;
        cipher.write(unit).map_err(|CannotOpen| lacks())
    }

    /// Reads what somebody typed as a code of a campaign, of one pool or of any.
    ///
    /// Costs a decryption or a hash for each coded pool of the campaign.
    ///
    /// # Errors
    ///
    /// [`NotRead`]; `Malformed` only where no pool has imported codes, which may look like anything.
    pub fn read(
        &self,
        space: SpaceId,
        campaign: &Campaign,
        pool: Option<&str>,
        typed: &str,
    ) -> Result<ReadCode, NotRead> {
        let (mut missing, mut malformed) = (None, true);
        for (index, of) in campaign.pools().iter().enumerate() {
            let Some(codes) = of.codes().filter(|_| pool.is_none_or(|name| name == of.name()))
            else {
                continue;
            };
            let cipher = match self.of(space, campaign, index) {
                Ok(Some(cipher)) => cipher,
                Ok(None) => continue,
                Err(lacks) => {
                    missing = Some(lacks);
                    continue;
                }
            };
            let code = match codes.settings().source {
                CodeSource::Generated => cipher.read(typed),
                CodeSource::Imported => {
                    cipher.hash(typed).ok().map(|hash| CodeKey::Imported { hash })
                }
            };
            let Some(code) = code else { continue };
            malformed = false;
            if let Some(code) = campaign.known_code(index, code) {
                return Ok(ReadCode { pool: of.name().into(), code });
            }
        }
        match missing {
            Some(lacks) => Err(NotRead::NoKey(lacks)),
            None if malformed => Err(NotRead::Malformed),
            None => Err(NotRead::Unknown),
        }
    }
}
