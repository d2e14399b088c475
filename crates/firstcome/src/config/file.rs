//! The configuration file, read with the line of every key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::code_keys::{CODE_KEYS, CodeKeySetting};
use super::eligibility::{ELIGIBILITY, EligibilitySetting};
use super::entries::{Entries, Section, fingerprint};
use super::guards::{TOKEN_KEYS, TokenKeySetting};
use super::keys::{KEYS, KeySetting};
use super::origin::SettingOrigin;
use super::{ConfigError, table};

/// What a file says: plain values by setting, and its keys.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) scalars: BTreeMap<String, (SettingOrigin, String)>,
    pub(super) keys: Section<KeySetting>,
    pub(super) token_keys: Section<TokenKeySetting>,
    pub(super) code_keys: Section<CodeKeySetting>,
    pub(super) eligibility: Section<EligibilitySetting>,
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
        if name == KEYS.setting {
            contents.keys = page.entries(&KEYS, value, line)?;
        } else if name == TOKEN_KEYS.setting {
            contents.token_keys = page.entries(&TOKEN_KEYS, value, line)?;
        } else if name == CODE_KEYS.setting {
            contents.code_keys = page.entries(&CODE_KEYS, value, line)?;
        } else if name == ELIGIBILITY.setting {
            contents.eligibility = page.entries(&ELIGIBILITY, value, line)?;
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

    fn origin(&self, line: usize) -> SettingOrigin {
        SettingOrigin::File { path: self.path.clone(), line }
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

    /// Reads the `[[entries]]` of a setting, none of them twice.
    fn entries<E>(
        &self,
        form: &Entries<E>,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<Section<E>, ConfigError> {
        let wrong = |line| {
            let reason = format!("must be written as `[[{}]]` entries", form.setting);
            self.bad(form.setting, line, reason)
        };
        let (mut entries, mut texts) = (Vec::<E>::new(), Vec::new());
        for entry in value.get_ref().as_array().ok_or_else(|| wrong(line))?.iter() {
            let line = self.line(entry.span().start);
            let fields = entry.get_ref().as_table().ok_or_else(|| wrong(line))?;
            let entry = self.entry(form, fields, line, &mut texts)?;
            let name = (form.name)(&entry);
            if entries.iter().any(|other| (form.name)(other) == name) {
                let reason = format!("has two entries named `{name}`");
                return Err(self.bad(form.setting, line, reason));
            }
            entries.push(entry);
        }
        let fingerprint = fingerprint(&texts);
        Ok(Section { entries, origin: self.origin(line), fingerprint })
    }

    /// Reads one of them, and puts what stands there behind `texts`.
    fn entry<E>(
        &self,
        form: &Entries<E>,
        fields: &DeTable<'_>,
        line: usize,
        texts: &mut Vec<(String, String)>,
    ) -> Result<E, ConfigError> {
        let mut entry = (form.begin)();
        for (field, value) in fields {
            let name = field.get_ref().as_ref();
            let line = self.line(field.span().start);
            if !form.fields.contains(&name) {
                return Err(self.unknown(name, line, form.fields.iter().copied()));
            }
            let full = format!("{}.{name}", form.setting);
            let text = self.scalar(&full, value, line)?;
            (form.read)(&mut entry, name, &text).map_err(|reason| self.bad(&full, line, reason))?;
            texts.push((name.to_owned(), text));
        }
        let given = |field: &str| fields.iter().any(|(given, _)| given.get_ref().as_ref() == field);
        if let Some(field) = form.required.iter().find(|field| !given(field)) {
            let reason = format!("has an entry without `{field}`");
            return Err(self.bad(form.setting, line, reason));
        }
        (form.whole)(&entry).map_err(|reason| self.bad(form.setting, line, reason))?;
        Ok(entry)
    }
}

/// The known word that shares most with the one written, if they share enough to be a slip.
pub(crate) fn nearest(
    written: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
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
