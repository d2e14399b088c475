//! Who may do what.

use super::problem::Problem;
use crate::answer::Code;
use crate::config::Role;
use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// One key, as far as it is kept: never itself.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name, which operator commands record.
    pub name: Box<str>,
    /// What it lets its bearer do.
    pub role: Role,
    /// The campaigns it is for, by the beginning of their names; all, if none.
    pub campaigns: Option<Box<str>>,
}

/// The keys a server knows, by the SHA-256 of each.
#[derive(Clone, Debug, Default)]
pub struct Keys(BTreeMap<[u8; 32], Key>);

impl Keys {
    /// Adds a key by its SHA-256.
    pub fn add(&mut self, sha256: [u8; 32], key: Key) {
        self.0.insert(sha256, key);
    }

    /// Adds a key by its text.
    pub fn add_text(&mut self, text: &str, key: Key) {
        self.add(Sha256::digest(text).into(), key);
    }

    /// Accepts a request whose key has at least this role and is for this campaign.
    pub(super) fn allow(
        &self,
        headers: &HeaderMap,
        least: Role,
        campaign: &str,
    ) -> Result<&Key, Problem> {
        let key = self.know(headers, least)?;
        match &key.campaigns {
            Some(prefix) if !campaign.starts_with(&**prefix) => {
                let detail =
                    format!("key {:?} is for campaigns that begin with {prefix:?}", key.name);
                Err(Problem::new(Code::Forbidden, detail))
            }
            Some(_) | None => Ok(key),
        }
    }

    /// Accepts a request, about no campaign in particular, whose key has at least this role.
    ///
    /// The hash is looked up, not the key: how long that takes tells nothing about a key.
    pub(super) fn know(&self, headers: &HeaderMap, least: Role) -> Result<&Key, Problem> {
        let Some(key) =
            headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()))
        else {
            let detail = "give a key: Authorization: Bearer KEY";
            return Err(Problem::new(Code::Unauthorized, detail));
        };
        let Some(key) = self.0.get(&<[u8; 32]>::from(Sha256::digest(key))) else {
            return Err(Problem::new(Code::Unauthorized, "this server does not know that key"));
        };
        if key.role < least {
            let detail = format!(
                "key {:?} has the role {}, this needs {}",
                key.name,
                key.role.as_str(),
                least.as_str()
            );
            return Err(Problem::new(Code::Forbidden, detail));
        }
        Ok(key)
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(key.trim_ascii())
}
