//! The configuration file, read with the line of every key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{KEY_FIELDS, KeySetting, Role, read_field};
use super::origin::Origin;
use super::{ConfigError, table};

/// What a file says: plain values by setting, and its keys.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) scalars: BTreeMap<String, (Origin, String)>,
    pub(super) keys: Vec<KeySetting>,
    pub(super) keys_origin: Option<Origin>,
}

/// Reads a file and refuses what no setting knows, so that a slip of the pen is not silently a default.
pub(super) fn read(path: &Path) -> Result<Contents, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    let page = Page { path: path.to_owned(), text: &text };
    let document = DeTable::parse(&text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        line: page.line(error.span().map_or(0, |span| span.start)),
        reason: error.message().replace('\n', ", "),
    })?;
    let mut contents = Contents::default();
    for (key, value) in document.get_ref() {
        let name = key.get_ref().as_ref();
        let line = page.line(key.span().start);
        if name == "keys" {
            contents.keys = page.keys(value, line)?;
            contents.keys_origin = Some(page.origin(line));
        } else if table::SETTINGS.iter().any(|setting| setting.key == name) {
            let text = page.scalar(name, value, line)?;
            contents.scalars.insert(name.to_owned(), (page.origin(line), text));
        } else {
            return Err(page.unknown(
                name,
                line,
                table::SETTINGS.iter().map(|setting| setting.key),
            ));
        }
    }
    Ok(contents)
}

struct Page<'a> {
    path: PathBuf,
    text: &'a str,
}

impl Page<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
    }

    fn origin(&self, line: usize) -> Origin {
        Origin::File { path: self.path.clone(), line }
    }

    fn bad(&self, key: &str, line: usize, reason: impl Into<String>) -> ConfigError {
        ConfigError::BadValue {
            origin: self.origin(line),
            key: key.to_owned(),
            reason: reason.into(),
        }
    }

    fn unknown(
        &self,
        key: &str,
        line: usize,
        known: impl Iterator<Item = &'static str>,
    ) -> ConfigError {
        ConfigError::UnknownKey {
            path: self.path.clone(),
            line,
            key: key.to_owned(),
            meant: nearest(key, known),
        }
    }

    fn scalar(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<String, ConfigError> {
        let value = value.get_ref();
        if let Some(text) = value.as_str() {
            return Ok(text.to_owned());
        }
        if let Some(number) = value.as_integer().filter(|number| number.radix() == 10) {
            return Ok(number.as_str().to_owned());
        }
        if let Some(yes) = value.as_bool() {
            return Ok(yes.to_string());
        }
        let reason = "must be a string, a decimal whole number or a truth value";
        Err(self.bad(key, line, format!("{reason}, not a {}", value.type_str())))
    }

    fn keys(
        &self,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<Vec<KeySetting>, ConfigError> {
        let Some(entries) = value.get_ref().as_array() else {
            return Err(self.bad("keys", line, "must be written as `[[keys]]` entries"));
        };
        let mut keys: Vec<KeySetting> = Vec::new();
        for entry in entries.iter() {
            let line = self.line(entry.span().start);
            let Some(fields) = entry.get_ref().as_table() else {
                return Err(self.bad("keys", line, "must be written as `[[keys]]` entries"));
            };
            let key = self.key(fields, line)?;
            if keys.iter().any(|other| other.name == key.name) {
                let reason = format!("has two entries named `{}`", key.name);
                return Err(self.bad("keys", line, reason));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn key(&self, fields: &DeTable<'_>, line: usize) -> Result<KeySetting, ConfigError> {
        let mut entry = KeySetting {
            name: String::new(),
            sha256: String::new(),
            role: Role::Read,
            campaigns: None,
        };
        for (field, value) in fields {
            let name = field.get_ref().as_ref();
            let line = self.line(field.span().start);
            if !KEY_FIELDS.contains(&name) {
                return Err(self.unknown(name, line, KEY_FIELDS.into_iter()));
            }
            let full = format!("keys.{name}");
            let text = self.scalar(&full, value, line)?;
            read_field(&mut entry, name, &text).map_err(|reason| self.bad(&full, line, reason))?;
        }
        let missing = ["name", "sha256", "role"]
            .into_iter()
            .find(|&field| !fields.iter().any(|(given, _)| given.get_ref().as_ref() == field));
        match missing {
            Some(field) => Err(self.bad("keys", line, format!("has an entry without `{field}`"))),
            None => Ok(entry),
        }
    }
}

/// The known word that shares most with the one written, if they share enough to be a slip.
fn nearest(written: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    known
        .map(|word| (distance(written, word), word))
        .min()
        .filter(|&(distance, word)| distance <= word.len() / 3 + 1)
        .map(|(_, word)| word)
}

/// Counts the letters to insert, drop or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
