//! Keys of coupon codes as the configuration names them, and the text of a secret.

use super::entries::Entries;
use data_encoding::{
    BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, Encoding, HEXLOWER_PERMISSIVE,
};
use firstcome_core::limits::CODE_KEY_BYTES;
use firstcome_core::names::check_text;
use std::fmt;

/// One `[[code_keys]]` entry of the configuration file.
#[derive(Clone, PartialEq, Eq)]
pub struct CodeKeySetting {
    /// Its id, which pools name: 1 to 64 bytes.
    pub id: String,
    pub secret: [u8; 32],
}

impl fmt::Debug for CodeKeySetting {
    /// Does not show the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeKeySetting").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How `[[code_keys]]` entries are read.
pub(super) const CODE_KEYS: Entries<CodeKeySetting> = Entries {
    setting: "code_keys",
    fields: &["id", "secret"],
    required: &["id", "secret"],
    begin: || CodeKeySetting { id: String::new(), secret: [0; 32] },
    read: |entry, field, text| {
        if field == "secret" {
            entry.secret = secret(text)?;
            return Ok(());
        }
        if !(1..=CODE_KEY_BYTES).contains(&text.len()) || check_text(text).is_err() {
            return Err("must have 1 to 64 bytes without control characters".to_owned());
        }
        text.clone_into(&mut entry.id);
        Ok(())
    },
    whole: |_| Ok(()),
    name: |key| &key.id,
};

/// Reads 32 bytes, written as 64 hexadecimal digits or in base64; never repeats the text.
pub(crate) fn secret(text: &str) -> Result<[u8; 32], String> {
    let text = text.trim().as_bytes();
    let forms: [&Encoding; 5] =
        [&HEXLOWER_PERMISSIVE, &BASE64, &BASE64_NOPAD, &BASE64URL, &BASE64URL_NOPAD];
    let secret = forms.iter().find_map(|form| <[u8; 32]>::try_from(form.decode(text).ok()?).ok());
    secret.ok_or_else(|| {
        "must be 32 random bytes in base64 or as 64 hexadecimal digits, as `openssl rand -base64 32` prints them"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_in_each_form_and_never_repeated() {
        let bytes: [u8; 32] = std::array::from_fn(|n| 0xF8 | n as u8);
        let standard = BASE64.encode(&bytes);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        assert!(standard.contains(['+', '/']), "{standard}");
        let url = standard.replace('+', "-").replace('/', "_");
        for text in [&standard, standard.trim_end_matches('='), &url, &hex, &format!(" {hex}\n")] {
            assert_eq!(secret(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "secret", &hex[2..], &format!("{hex}00"), &standard[4..]] {
            let why = secret(wrong).unwrap_err();
            assert!(wrong.is_empty() || !why.contains(wrong), "{why}");
        }
        let entry = CodeKeySetting { id: "k".into(), secret: bytes };
        assert_eq!(format!("{entry:?}"), "CodeKeySetting { id: \"k\", .. }");
    }
}
