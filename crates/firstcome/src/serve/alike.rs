//! The settings that every server of a space should have alike, as they are announced to the others.
//!
//! Whoever reads the store reads them, and may try likely keys at leisure. So a secret is there as 8 bits of a hash that
//! is salted with the identity of the space: a difference shows in 255 of 256 cases, and one in 256 of all keys has the
//! same bits, so a guess that fits proves nothing. They save an attacker 255 of 256 guesses, no more.

use crate::config::Config;
use data_encoding::HEXLOWER;
use firstcome_core::SpaceId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Bytes of the hash of something that is no secret.
const OPEN_BYTES: usize = 4;
/// Bytes of the hash of a secret.
const SECRET_BYTES: usize = 1;

/// Returns the settings, each as a short text without a blank.
pub(super) fn settings(
    config: &Config,
    admin_key: &str,
    space: SpaceId,
) -> BTreeMap<String, String> {
    let mut checks: Vec<String> =
        config.guards.eligibility.iter().map(|check| check.shown()).collect();
    checks.sort();
    let tokens = config.guards.token_keys().proof(&space.0);
    let eligibility = hashed(space, "eligibility", checks.join("\n").as_bytes(), OPEN_BYTES);
    let none = || "none".to_owned();
    BTreeMap::from([
        ("admin_key".to_owned(), hashed(space, "admin_key", admin_key.as_bytes(), SECRET_BYTES)),
        (
            "tokens".to_owned(),
            tokens.map_or_else(none, |proof| hashed(space, "tokens", &proof, SECRET_BYTES)),
        ),
        ("code_keys".to_owned(), code_keys(config, space).unwrap_or_else(none)),
        ("on_emptied".to_owned(), config.on_emptied.to_string()),
        ("eligibility".to_owned(), if checks.is_empty() { none() } else { eligibility }),
    ])
}

/// Returns what is announced of the keys of codes, in any order; none without one.
fn code_keys(config: &Config, space: SpaceId) -> Option<String> {
    let mut keys: Vec<_> = config.code_keys.iter().map(|key| (&*key.id, &key.secret)).collect();
    keys.sort();
    let text: Vec<u8> =
        keys.iter().flat_map(|(id, secret)| [id.as_bytes(), b"\0", &secret[..]].concat()).collect();
    (!keys.is_empty()).then(|| hashed(space, "code_keys", &text, SECRET_BYTES))
}

/// Returns the first bytes of a salted hash, in hexadecimal digits.
fn hashed(space: SpaceId, setting: &str, value: &[u8], bytes: usize) -> String {
    let hash = Sha256::new().chain_update(space.0).chain_update(setting).chain_update([0]);
    let hash = hash.chain_update(value).finalize();
    HEXLOWER.encode(&hash[..bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, resolve};

    const SPACE: SpaceId = SpaceId([7; 16]);

    fn of(key: &str, text: &str) -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, text).unwrap();
        let overrides = Overrides { file: Some(file), ..Overrides::default() };
        settings(&resolve(&overrides, |_| None).unwrap().config, key, SPACE)
    }

    const CHECK: &str = "[[eligibility]]\ncampaign = \"*\"\nurl = \"http://shop/eligible\"\nwhen_down = \"refuse\"\n";

    #[test]
    fn each_setting_shows_when_it_differs_and_no_secret_has_more_than_eight_bits() {
        let plain = of("a-key-of-the-shop", "");
        assert_eq!((&*plain["tokens"], &*plain["eligibility"]), ("none", "none"));
        assert_eq!(plain, of("a-key-of-the-shop", ""), "the same on every server");
        let keys = ["another-key-of-it", "a-third-key-of-it", "a-fourth-key-there"];
        assert!(keys.iter().any(|key| of(key, "")["admin_key"] != plain["admin_key"]));
        let secret =
            |secret: &str| of("k", &format!("token_secret = \"{secret}\""))["tokens"].clone();
        let long = |n: u8| format!("{n}").repeat(40);
        assert!((2..5).any(|n| secret(&long(n)) != secret(&long(1))));
        let checked = of("a-key-of-the-shop", CHECK);
        assert_ne!(checked["eligibility"], "none");
        let other = of("a-key-of-the-shop", &CHECK.replace("refuse", "admit"));
        assert_ne!(checked["eligibility"], other["eligibility"]);
        let waits = of("a-key-of-the-shop", &format!("{CHECK}timeout_ms = 50\n"));
        assert_eq!(checked["eligibility"], waits["eligibility"], "how long it waits is its own");
        let reseeds = of("a-key-of-the-shop", "on_emptied = \"reseed\"\n");
        assert_eq!((&*plain["on_emptied"], &*reseeds["on_emptied"]), ("wait", "reseed"));
        for (setting, bytes) in [("admin_key", 1), ("eligibility", 4)] {
            assert_eq!(checked[setting].len(), 2 * bytes, "{setting}");
        }
        assert_eq!(secret(&long(1)).len(), 2);
        let elsewhere = hashed(SpaceId([8; 16]), "admin_key", b"k", 8);
        assert_ne!(hashed(SPACE, "admin_key", b"k", 8), elsewhere, "another space, another salt");
    }
}
