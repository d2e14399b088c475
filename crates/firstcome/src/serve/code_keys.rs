//! The keys of coupon codes: those of the configuration, and with an embedded store the one that is made for it.

use super::random_bytes;
use crate::config::Config;
use crate::config::secret_of_codes;
use anyhow::{Context, bail};
use data_encoding::BASE64;
use firstcome_journal::folder::DataFolder;
use firstcome_node::codes::CodeKeys;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// The file a generated key of codes is kept in: without it the codes of its pools are lost.
const CODE_KEY_FILE: &str = "code-key";
/// The id of that key.
const LOCAL: &str = "local";

/// Returns the keys, the first of which makes the codes of new pools.
///
/// The key of the data folder is made where the store is embedded and the configuration names none; once it is there it is used
/// on, behind those of the configuration.
///
/// # Errors
///
/// The file cannot be read or written, or holds no key; or an id is there twice.
pub(super) fn code_keys(config: &Config, folder: Option<&DataFolder>) -> anyhow::Result<CodeKeys> {
    let mut keys: Vec<_> =
        config.code_keys.iter().map(|key| (key.id.as_str(), key.secret)).collect();
    if let Some(folder) = folder {
        let file = folder.path().join(CODE_KEY_FILE);
        let local = match read(&file)? {
            None if config.store.is_none() && keys.is_empty() => Some(make(&file)?),
            known => known,
        };
        if let Some(secret) = local {
            let ours = keys.iter().find(|(id, _)| *id == LOCAL);
            match ours {
                None => keys.push((LOCAL, secret)),
                Some((_, named)) if *named == secret => {}
                Some(_) => bail!(
                    "code_keys has another key with the id {LOCAL:?} than {}: give it another id, and keep the file for the codes \
                     made with it",
                    file.display()
                ),
            }
        }
    }
    Ok(CodeKeys::new(&keys)?)
}

fn read(file: &Path) -> anyhow::Result<Option<[u8; 32]>> {
    match std::fs::read_to_string(file) {
        Ok(text) => match secret_of_codes(&text) {
            Ok(secret) => Ok(Some(secret)),
            Err(_) => bail!(
                "{} holds no key of codes (32 bytes in base64): put it back from a backup; without it no code that was made \
                 with it can be read",
                file.display()
            ),
        },
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Makes a key that only its owner can read.
fn make(file: &Path) -> anyhow::Result<[u8; 32]> {
    use std::os::unix::fs::OpenOptionsExt;
    let secret: [u8; 32] = random_bytes()?;
    let part = file.with_extension("part");
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)
        .and_then(|mut file| {
            writeln!(file, "{}", BASE64.encode(&secret))?;
            file.sync_all()
        })
        // Whole or not at all: codes made with a key that a crash cut could never be read again.
        .and_then(|()| std::fs::rename(&part, file))
        .and_then(|()| match file.parent() {
            Some(folder) => std::fs::File::open(folder)?.sync_all(),
            None => Ok(()),
        })
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(secret)
}
