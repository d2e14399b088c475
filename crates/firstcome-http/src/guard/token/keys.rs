//! The keys that tokens are checked with, several at a time, so that one can follow another.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use data_encoding::HEXLOWER;
use ring::{hmac, signature};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// What stands before the 32 bytes of an Ed25519 key in a `PUBLIC KEY` of PEM (RFC 8410).
pub(super) const ED25519_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A key for one algorithm.
#[derive(Clone)]
pub enum TokenKey {
    /// HMAC with SHA-256: a key that checks can also sign.
    Hs256(hmac::Key),
    /// Ed25519: the public half, with which nothing can be minted.
    EdDsa([u8; 32]),
}

impl TokenKey {
    /// The fewest bytes of a secret: as many as the hash has (RFC 7518, 3.2).
    pub const SHORTEST_SECRET: usize = 32;

    /// Takes a secret.
    ///
    /// # Errors
    ///
    /// Says what is missing, without repeating it.
    pub fn secret(text: &str) -> Result<Self, String> {
        let least = Self::SHORTEST_SECRET;
        if text.len() < least || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "must have at least {least} visible ASCII characters, as `openssl rand -hex 32` prints"
            ));
        }
        Ok(Self::Hs256(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())))
    }

    /// Takes the public half of an Ed25519 key: PEM, or the base64 of it or of its 32 bytes.
    ///
    /// # Errors
    ///
    /// Says what it must be.
    pub fn public(text: &str) -> Result<Self, String> {
        let base64: String =
            text.lines().filter(|line| !line.starts_with("-----")).flat_map(str::chars).collect();
        let base64 = base64.replace(char::is_whitespace, "");
        let base64 = base64.trim_end_matches('=');
        let bytes = STANDARD_NO_PAD.decode(base64).or_else(|_| URL_SAFE_NO_PAD.decode(base64));
        let bytes = bytes.unwrap_or_default();
        let bare = bytes.strip_prefix(&ED25519_PREFIX).unwrap_or(&bytes);
        bare.try_into().map(Self::EdDsa).map_err(|_| {
            "must be an Ed25519 public key, as `openssl pkey -pubout` prints it".to_owned()
        })
    }

    /// Returns the name of the algorithm, as a token's header has it.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Hs256(_) => "HS256",
            Self::EdDsa(_) => "EdDSA",
        }
    }

    /// Says whether this is the signature of these bytes, in a time that does not depend on either.
    pub(super) fn signed(&self, bytes: &[u8], by: &[u8]) -> bool {
        match self {
            Self::Hs256(key) => hmac::verify(key, bytes, by).is_ok(),
            Self::EdDsa(public) => signature::UnparsedPublicKey::new(&signature::ED25519, public)
                .verify(bytes, by)
                .is_ok(),
        }
    }

    /// Signs bytes; nothing, where this key cannot.
    pub(super) fn sign(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Hs256(key) => Some(hmac::sign(key, bytes).as_ref().to_vec()),
            Self::EdDsa(_) => None,
        }
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm())
    }
}

/// The keys by their ids, and which of them signs.
#[derive(Clone, Debug, Default)]
pub struct TokenKeys {
    keys: BTreeMap<Box<str>, TokenKey>,
    signing: Option<Box<str>>,
}

impl TokenKeys {
    /// Adds a key; the first one that can signs.
    pub fn add(&mut self, id: &str, key: TokenKey) {
        let signs = matches!(key, TokenKey::Hs256(_));
        if signs && self.signing.is_none() {
            self.signing = Some(id.into());
        }
        self.keys.insert(id.into(), key);
    }

    /// Returns the id of a secret that was given none: it follows from the secret, and does not reveal it.
    pub fn id_of(secret: &str) -> String {
        let hash = Sha256::digest(format!("firstcome token key {secret}"));
        HEXLOWER.encode(&hash[..4])
    }

    /// Returns 32 bytes that follow from all keys and a salt, and are others with other keys; nothing without a key.
    ///
    /// They are as secret as the keys: a few bits of them may be shown.
    pub fn proof(&self, salt: &[u8]) -> Option<Vec<u8>> {
        let mut hash = Sha256::new();
        for (id, key) in &self.keys {
            let own = match key {
                TokenKey::Hs256(secret) => hmac::sign(secret, salt).as_ref().to_vec(),
                TokenKey::EdDsa(public) => public.to_vec(),
            };
            hash.update(id.as_bytes());
            hash.update([0]);
            hash.update(own);
        }
        (!self.keys.is_empty()).then(|| hash.finalize().to_vec())
    }

    /// Says whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn get(&self, id: &str) -> Option<&TokenKey> {
        self.keys.get(id)
    }

    pub(super) fn signing(&self) -> Option<(&str, &TokenKey)> {
        let id = self.signing.as_deref()?;
        Some((id, self.keys.get(id)?))
    }
}
