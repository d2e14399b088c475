//! One coded pool, taken out of the state: thousands of its codes are read and sealed without holding up an entry.

use super::{CodeKeys, NoCodeKey, PoolCipher};
use firstcome_core::codes::CodeKey;
use firstcome_core::outcome::Missing;
use firstcome_core::settings::CodeSource;
use firstcome_core::{CodeRefusal, Refusal, SpaceId, State};

/// What is needed of a coded pool to make and read its codes.
#[derive(Clone, Debug)]
pub struct CodePool {
    pub name: Box<str>,
    /// Where its codes come from.
    pub source: CodeSource,
    key: Box<str>,
    space: SpaceId,
    campaign: u32,
    index: usize,
}

impl CodePool {
    /// Finds a coded pool; the only pool of a campaign needs no name.
    ///
    /// # Errors
    ///
    /// `not_found` (campaign, then pool), `archived`, `pool_required`, `not_coded`.
    pub fn find(state: &State, campaign: &str, pool: Option<&str>) -> Result<Self, Refusal> {
        let found = state.campaign(campaign)?;
        let index = match (pool, found.pools()) {
            (Some(name), pools) => pools.iter().position(|pool| pool.name() == name),
            (None, [_]) => Some(0),
            (None, []) => None,
            (None, _) => return Err(Refusal::PoolRequired),
        };
        let index = index.ok_or(Refusal::NotFound(Missing::Pool))?;
        let pool = &found.pools()[index];
        let codes = pool.codes().ok_or(CodeRefusal::NotCoded)?;
        Ok(Self {
            name: pool.name().into(),
            source: codes.settings().source,
            key: codes.settings().key.clone(),
            space: state.space(),
            campaign: found.number(),
            index,
        })
    }

    /// Returns what makes and reads its codes.
    ///
    /// # Errors
    ///
    /// [`NoCodeKey::Lacks`].
    pub fn cipher<'a>(&self, keys: &'a CodeKeys) -> Result<PoolCipher<'a>, NoCodeKey> {
        let keys = keys.get(&self.key)?;
        Ok(PoolCipher::new(keys, self.space, self.campaign, self.index))
    }

    /// Reads what somebody typed as a code of this pool; none of what cannot be one.
    pub fn read(&self, cipher: &PoolCipher<'_>, typed: &str) -> Option<CodeKey> {
        match self.source {
            CodeSource::Generated => cipher.read(typed),
            CodeSource::Imported => cipher.hash(typed).ok().map(|hash| CodeKey::Imported { hash }),
        }
    }
}
