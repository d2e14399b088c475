//! Settings of the checks before the rules: rate limits, and trusted sources of client addresses.

use super::eligibility::EligibilitySetting;
use super::entries::Entries;
use super::{ConfigError, Layers, size};
use firstcome_http::guard::cors::Origin;
use firstcome_http::guard::peer::{Header, Network};
use firstcome_http::guard::rate::Rate;
use firstcome_http::guard::token::{TokenKey, TokenKeys};
use firstcome_http::limits::SUBJECT_RATE_WITH_TOKENS;
use std::fmt::Display;
use std::str::FromStr;

/// What stands before the rules, as it is configured.
#[derive(Debug, Clone)]
pub struct GuardSettings {
    /// Whether only subjects are taken that look like no other.
    pub strict_subjects: bool,
    /// How often a subject may ask.
    pub rate_subject: Option<Rate>,
    /// How often a key may ask that has no rate of its own.
    pub rate_key: Option<Rate>,
    /// How often an address may ask.
    pub rate_address: Option<Rate>,
    /// How many subjects, and how many addresses, are remembered.
    pub rate_entries: usize,
    /// Proxies whose word on where a request came from is believed.
    pub trusted_proxies: Vec<Network>,
    /// The header they write it in.
    pub proxy_header: Header,
    /// Networks to which webhooks are sent although they are not public.
    pub webhook_allow: Vec<Network>,
    /// Which pages a browser may call from.
    pub cors_origins: Vec<Origin>,
    /// The secret that subject tokens are signed with, and checked.
    pub token_secret: Option<TokenKeySetting>,
    /// Further keys to check them with, from the configuration file only.
    pub token_keys: Vec<TokenKeySetting>,
    /// Whom to ask before a claim or a hold, from the configuration file only.
    pub eligibility: Vec<EligibilitySetting>,
}

pub(super) fn settings_from(layers: &mut Layers<'_>) -> Result<GuardSettings, ConfigError> {
    let token_secret = layers.take("token_secret", || None, token_secret)?;
    let token_keys = std::mem::take(&mut layers.contents.token_keys.entries);
    let has_tokens = token_secret.is_some() || !token_keys.is_empty();
    Ok(GuardSettings {
        strict_subjects: layers.take("subjects", || false, strict)?,
        rate_subject: layers.take(
            "rate_subject",
            || has_tokens.then_some(SUBJECT_RATE_WITH_TOKENS),
            rate,
        )?,
        rate_key: layers.take("rate_key", || None, rate)?,
        rate_address: layers.take("rate_address", || None, rate)?,
        rate_entries: layers.take(
            "rate_entries",
            || 65_536,
            |text| size(text, 1_024, 16_777_216),
        )?,
        trusted_proxies: layers.take("trusted_proxies", Vec::new, list)?,
        proxy_header: layers.take("proxy_header", Header::default, str::parse)?,
        webhook_allow: layers.take("webhook_allow", Vec::new, list)?,
        cors_origins: layers.take("cors_origins", Vec::new, list)?,
        token_secret,
        token_keys,
        eligibility: std::mem::take(&mut layers.contents.eligibility.entries),
    })
}

/// Reads a rate, or `none`.
pub(super) fn rate(text: &str) -> Result<Option<Rate>, String> {
    match text {
        "none" => Ok(None),
        _ => text.parse().map(Some).map_err(|reason| format!("{reason}; or `none`")),
    }
}

/// Reads which subjects are taken.
fn strict(text: &str) -> Result<bool, String> {
    match text {
        "any" => Ok(false),
        "strict" => Ok(true),
        _ => Err(format!("must be any or strict, not `{text}`")),
    }
}

/// Reads what commas part; an empty text has nothing in it.
fn list<T: FromStr<Err = String>>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
}

impl GuardSettings {
    /// Returns the keys of tokens; the secret of this server signs, else the first of the others that can.
    pub fn token_keys(&self) -> TokenKeys {
        let mut keys = TokenKeys::default();
        for setting in self.token_secret.iter().chain(&self.token_keys) {
            if let Some(key) = &setting.key {
                keys.add(&setting.id, key.clone());
            }
        }
        keys
    }

    /// The text of a setting here, as the configuration file has it.
    pub(super) fn shown(&self, key: &str) -> Option<String> {
        let rate = |rate: &Option<Rate>| rate.map_or("none".to_owned(), |rate| rate.to_string());
        Some(match key {
            "rate_subject" => rate(&self.rate_subject),
            "subjects" => if self.strict_subjects { "strict" } else { "any" }.to_owned(),
            "rate_key" => rate(&self.rate_key),
            "rate_address" => rate(&self.rate_address),
            "trusted_proxies" => joined(&self.trusted_proxies),
            "webhook_allow" => joined(&self.webhook_allow),
            "cors_origins" => joined(&self.cors_origins),
            "proxy_header" => self.proxy_header.as_str().to_owned(),
            _ => return None,
        })
    }
}

fn joined(list: &[impl Display]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// One key to check subject tokens with.
#[derive(Debug, Clone)]
pub struct TokenKeySetting {
    /// The id by which tokens name it (`kid`).
    pub id: String,
    /// The key; none only while the entry is read.
    pub key: Option<TokenKey>,
}

fn token_secret(text: &str) -> Result<Option<TokenKeySetting>, String> {
    let key = TokenKey::secret(text.trim())?;
    Ok(Some(TokenKeySetting { id: TokenKeys::id_of(text.trim()), key: Some(key) }))
}

/// How `[[token_keys]]` entries are read.
pub(super) const TOKEN_KEYS: Entries<TokenKeySetting> = Entries {
    setting: "token_keys",
    fields: &["id", "secret", "public"],
    required: &[],
    begin: || TokenKeySetting { id: String::new(), key: None },
    read: |entry, field, text| {
        let one = |entry: &TokenKeySetting| match &entry.key {
            Some(_) => {
                Err("stands beside `secret` or `public`: an entry has one of them".to_owned())
            }
            None => Ok(()),
        };
        match field {
            "id" => {
                let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                if text.is_empty() || text.len() > 32 || !text.bytes().all(known) {
                    return Err("must be 1 to 32 letters, digits, `.`, `_` and `-`".to_owned());
                }
                text.clone_into(&mut entry.id);
            }
            "secret" => {
                one(entry)?;
                entry.key = Some(TokenKey::secret(text)?);
                if entry.id.is_empty() {
                    entry.id = TokenKeys::id_of(text);
                }
            }
            _ => {
                one(entry)?;
                entry.key = Some(TokenKey::public(text)?);
            }
        }
        Ok(())
    },
    whole: |entry| match (&entry.key, entry.id.is_empty()) {
        (None, _) => Err("has an entry without `secret` or `public`".to_owned()),
        (Some(_), true) => Err("has an entry without `id`".to_owned()),
        (Some(_), false) => Ok(()),
    },
    name: |entry| &entry.id,
};
