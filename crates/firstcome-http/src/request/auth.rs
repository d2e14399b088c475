//! Keys: what each lets its bearer do.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::clock_text;
use crate::guard::rate::RequestPace;
use crate::guard::token;
use axum::http::{HeaderMap, header};
use firstcome_api::key::Role;
use firstcome_core::Timestamp;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// A key without its secret.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name, which operator commands record.
    pub name: Box<str>,
    /// What it lets its bearer do.
    pub role: Role,
    /// The campaigns it is for, by the beginning of their names; all, if none.
    pub campaigns: Option<Box<str>>,
    /// When it stops being one, by the clock of this machine; never, if none.
    pub expires: Option<Timestamp>,
}

impl Key {
    /// Makes a key that never expires.
    pub fn new(name: &str, role: Role, campaigns: Option<Box<str>>) -> Self {
        Self { name: name.into(), role, campaigns, expires: None }
    }

    /// Accepts a key that may do what this role may.
    pub(crate) fn at_least(&self, least: Role) -> Result<(), Problem> {
        if self.role >= least {
            return Ok(());
        }
        let (role, least) = (self.role.as_str(), least.as_str());
        let detail = format!("key {:?} has the role {role}, this needs {least}", self.name);
        Err(Problem::new(Code::Forbidden, detail))
    }

    /// Accepts a key that has not expired.
    fn is_current(&self) -> Result<(), Problem> {
        match self.expires {
            Some(expires) if clock_text::now() >= expires => {
                let expired = clock_text::rfc3339(expires);
                let detail = format!("key {:?} expired at {expired}", self.name);
                Err(Problem::new(Code::Unauthorized, detail))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Accepts campaigns whose names begin so.
    pub(crate) fn covers(&self, campaign: &str) -> Result<(), Problem> {
        match &self.campaigns {
            Some(prefix) if !campaign.starts_with(&**prefix) => {
                let detail =
                    format!("key {:?} is for campaigns that begin with {prefix:?}", self.name);
                Err(Problem::new(Code::Forbidden, detail))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The keys a server knows, by the SHA-256 of each.
#[derive(Debug, Default)]
pub struct Keys(RwLock<KeyTable>);

/// All of them at one time.
#[derive(Debug, Default)]
pub struct KeyTable(BTreeMap<[u8; 32], Known>);

#[derive(Clone, Debug)]
struct Known {
    key: Arc<Key>,
    /// How often it may ask.
    pace: Option<Arc<RequestPace>>,
}

impl KeyTable {
    /// Adds a key by its SHA-256.
    pub fn add(&mut self, sha256: [u8; 32], key: Key) {
        self.0.insert(sha256, Known { key: Arc::new(key), pace: None });
    }

    /// Limits how often a key that is known by its SHA-256 may ask.
    pub fn pace(&mut self, sha256: [u8; 32], pace: RequestPace) {
        if let Some(known) = self.0.get_mut(&sha256) {
            known.pace = Some(Arc::new(pace));
        }
    }

    /// Adds a key by its text.
    pub fn add_text(&mut self, text: &str, key: Key) {
        self.add(Sha256::digest(text).into(), key);
    }
}

impl From<KeyTable> for Keys {
    fn from(table: KeyTable) -> Self {
        Self(RwLock::new(table))
    }
}

impl Keys {
    /// Takes these keys in place of those it had. A key with the same rate as before has asked as often as it has.
    pub fn replace(&self, mut table: KeyTable) {
        let mut before = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (sha256, known) in &mut table.0 {
            let (Some(new), Some(Known { pace: Some(old), .. })) =
                (&mut known.pace, before.0.get(sha256))
            else {
                continue;
            };
            if new.rate() == old.rate() {
                *new = Arc::clone(old);
            }
        }
        *before = table;
    }

    fn table(&self) -> RwLockReadGuard<'_, KeyTable> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a request whose key has at least this role and is for this campaign.
    pub(crate) fn allow(
        &self,
        headers: &HeaderMap,
        least: Role,
        campaign: &str,
    ) -> Result<Arc<Key>, Problem> {
        let key = self.know(headers, least)?;
        key.covers(campaign)?;
        Ok(key)
    }

    /// Returns the subject token that a request brings in place of a key.
    pub(crate) fn token<'a>(&self, headers: &'a HeaderMap) -> Option<&'a [u8]> {
        let token = bearer(headers.get(header::AUTHORIZATION)?.as_bytes())?;
        let known = |token| self.table().0.contains_key(&<[u8; 32]>::from(Sha256::digest(token)));
        (token::looks_like_one(token) && !known(token)).then_some(token)
    }

    /// Accepts a request, about no campaign in particular, whose key has at least this role.
    ///
    /// The hash is looked up, not the key: the time of the look-up shows nothing about a key.
    pub(crate) fn know(&self, headers: &HeaderMap, least: Role) -> Result<Arc<Key>, Problem> {
        Ok(self.know_for_many(headers, least)?.0)
    }

    /// As [`Keys::know`], for a request of many commands: gives how often the key may ask, too, for each of them.
    pub(crate) fn know_for_many(
        &self,
        headers: &HeaderMap,
        least: Role,
    ) -> Result<(Arc<Key>, Option<Arc<RequestPace>>), Problem> {
        let Known { key, pace } = self.find(headers, least)?;
        if let Some(pace) = &pace
            && let Err(wait) = pace.check()
        {
            let who = format_args!("key {:?}", key.name);
            return Err(Problem::too_many(who, "key", pace.rate(), wait));
        }
        Ok((key, pace))
    }

    /// Accepts a request about the server or the whole space, whose key has at least this role and is for all campaigns.
    pub(crate) fn know_for_all(
        &self,
        headers: &HeaderMap,
        least: Role,
    ) -> Result<Arc<Key>, Problem> {
        let key = self.know(headers, least)?;
        match &key.campaigns {
            None => Ok(key),
            Some(prefix) => {
                let detail = format!(
                    "key {:?} is for campaigns that begin with {prefix:?}, this is about all of them",
                    key.name
                );
                Err(Problem::new(Code::Forbidden, detail))
            }
        }
    }

    /// Says whether a request has a key that may read, without counting it as asked with that key.
    pub(crate) fn reads(&self, headers: &HeaderMap) -> bool {
        self.find(headers, Role::Read).is_ok()
    }

    fn find(&self, headers: &HeaderMap, least: Role) -> Result<Known, Problem> {
        let Some(key) =
            headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()))
        else {
            let detail = "give a key: Authorization: Bearer KEY";
            return Err(Problem::new(Code::Unauthorized, detail));
        };
        let sha256 = <[u8; 32]>::from(Sha256::digest(key));
        let Some(known) = self.table().0.get(&sha256).cloned() else {
            if token::looks_like_one(key) {
                let detail = "a subject token claims, holds, cancels and looks up for its subject, and nothing else";
                return Err(Problem::new(Code::Forbidden, detail));
            }
            return Err(Problem::new(Code::Unauthorized, "this server does not know that key"));
        };
        known.key.is_current()?;
        known.key.at_least(least)?;
        Ok(known)
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(key.trim_ascii())
}
