//! Keys as the configuration names them: the hash of the key, its role, and the campaigns it is for.

use super::entries::Entries;
use data_encoding::HEXLOWER_PERMISSIVE;
use firstcome_api::key::Role;
use firstcome_core::Timestamp;
use firstcome_http::clock_text;
use firstcome_http::guard::rate::Rate;

/// One `[[keys]]` entry of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySetting {
    /// The name operator commands are recorded under.
    pub name: String,
    /// SHA-256 of the key.
    pub sha256: [u8; 32],
    /// What the key may do.
    pub role: Role,
    /// The campaigns it is for, by the beginning of their names; `None` is all of them.
    pub campaigns: Option<String>,
    /// How often it may ask, in place of what holds for all keys; `Some(None)` is as often as it likes.
    pub rate: Option<Option<Rate>>,
    /// When it stops being one; never, if none.
    pub expires: Option<Timestamp>,
}

/// How `[[keys]]` entries are read.
pub(super) const KEYS: Entries<KeySetting> = Entries {
    setting: "keys",
    fields: &["name", "sha256", "role", "campaigns", "rate", "expires"],
    required: &["name", "sha256", "role"],
    begin: || KeySetting {
        name: String::new(),
        sha256: [0; 32],
        role: Role::Read,
        campaigns: None,
        rate: None,
        expires: None,
    },
    read: read_field,
    whole: |_| Ok(()),
    name: |key| &key.name,
};

/// Reads one field into an entry under construction.
///
/// # Errors
///
/// Says what the field must be.
fn read_field(entry: &mut KeySetting, field: &str, text: &str) -> Result<(), String> {
    match field {
        "name" if text.is_empty() || text.len() > 64 || text.chars().any(char::is_control) => {
            Err("must have 1 to 64 characters".to_owned())
        }
        "name" => {
            text.clone_into(&mut entry.name);
            Ok(())
        }
        "sha256" => {
            let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
            let hash = bytes.and_then(|bytes| bytes.try_into().ok());
            entry.sha256 = hash.ok_or(
                "must be the 64 hexadecimal digits of a SHA-256, as `printf %s KEY | sha256sum` prints it",
            )?;
            Ok(())
        }
        "role" => {
            entry.role = Role::from_text(text).ok_or_else(|| {
                format!("must be admin, operator, backend, redeem or read, not `{text}`")
            })?;
            Ok(())
        }
        "rate" => {
            entry.rate = Some(super::guards::rate(text)?);
            Ok(())
        }
        "expires" => {
            entry.expires = Some(clock_text::parse(text)?);
            Ok(())
        }
        _ if text.is_empty() => {
            Err("must be the beginning of the names of campaigns; leave it out for all of them"
                .to_owned())
        }
        _ => {
            entry.campaigns = Some(text.to_owned());
            Ok(())
        }
    }
}
