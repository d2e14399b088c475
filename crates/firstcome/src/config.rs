//! The settings of a server: default, then file, then environment, then flag, each remembering where it came from.
//!
//! [`Overrides`] is what was typed; [`Resolved`] is what applies. Nothing else in the program reads the environment for a setting.

mod code_keys;
mod eligibility;
mod entries;
mod file;
mod guards;
mod keys;
mod logs;
mod memory;
mod origin;
mod printed;
mod span;
mod store;
mod table;

use firstcome_api::key::Secret;
use firstcome_core::SpaceId;
use firstcome_http::BasePath;
use firstcome_http::TlsFiles;
use firstcome_journal::WhenLessDurable;
use firstcome_node::OnEmptied;
use firstcome_node::ledger::choice::LedgerChoice;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use code_keys::CodeKeySetting;
pub(crate) use code_keys::secret as secret_of_codes;
pub use eligibility::EligibilitySetting;
use entries::fingerprint;
pub(crate) use file::nearest;
pub use guards::{GuardSettings, TokenKeySetting};
pub use keys::KeySetting;
pub use logs::{LogFormat, LogLevel};
pub use origin::SettingOrigin;
pub use printed::{print, print_json};
pub use span::duration_from_text;
pub(crate) use span::text_from_duration;
pub use store::{Durability, StoreKind, StoreOptions, StoreUrl};
pub use table::{SETTINGS, Setting};

/// Everything a server runs with, after all layers have spoken.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of the embedded store, the ledger, the archive and the generated admin key.
    pub data: PathBuf,
    /// Whether the folder was named by anybody.
    pub has_data: bool,
    /// The store that several servers share; the embedded one, if none.
    pub store: Option<StoreUrl>,
    /// A file with the authorities a TLS store is trusted by.
    pub store_ca: Option<PathBuf>,
    /// What an answer from a shared store must have survived.
    pub durability: Durability,
    /// What becomes of commands while the store promises less.
    pub when_less_durable: WhenLessDurable,
    /// What becomes of a shared store that has nothing of the space any more.
    pub on_emptied: OnEmptied,
    /// The monitoring addresses of NATS servers, to prove that they sync each write.
    pub nats_monitor: Vec<String>,
    /// How often they are asked.
    pub nats_monitor_every: Duration,
    /// How long nobody leads after the leader was killed, at most.
    pub leader_lease: Duration,
    /// Where the other servers find this one.
    pub advertise: Option<String>,
    /// The namespace of this deployment in its store.
    pub space: String,
    /// The identity that the space in a shared store must have.
    pub space_id: Option<SpaceId>,
    /// Whether a space is made at once where a shared store has none, without looking for a while.
    pub new_space: bool,
    /// The address to listen on; port 0 picks a free one.
    pub listen: String,
    /// Where operations are answered, without a key; at `listen` if none, with a key for `/metrics`.
    pub ops_listen: Option<String>,
    /// What connections to both are secured with.
    pub tls: Option<TlsFiles>,
    /// For how many seconds browsers are told to come with TLS only.
    pub hsts_s: Option<u64>,
    /// The path under which a proxy shows the server.
    pub base_path: BasePath,
    /// Where results are settled.
    pub ledger: LedgerChoice,
    /// The first admin key, where one was given.
    pub admin_key: Option<Secret>,
    /// Further keys, from the configuration file only.
    pub keys: Vec<KeySetting>,
    /// The keys of coupon codes, the first of which makes those of new pools; from the configuration file only.
    pub code_keys: Vec<CodeKeySetting>,
    /// The most commands that may wait for the journal.
    pub queue: usize,
    /// How long a command may wait for its answer.
    pub command_wait: Duration,
    /// The most connections at one time.
    pub connections: usize,
    /// The largest request body, in bytes.
    pub body_bytes: usize,
    /// How long a client may take to send a request's header.
    pub header_wait: Duration,
    /// How long a connection may stay open without a request, and an answer without being read.
    pub idle: Duration,
    /// How long a stream of events may last.
    pub stream_max: Duration,
    /// How long a hold may wait for taken seats.
    pub hold_wait: Duration,
    /// How long a stopping server still answers, and says that it is not ready.
    pub leave: Duration,
    /// How long a stopping server finishes what it accepted.
    pub drain: Duration,
    /// The pause between two rounds of settling results.
    pub settle_interval: Duration,
    /// The time that results wait for the ledger while new ones keep coming, at most.
    pub settle_delay: Duration,
    /// The number of results that wait for the ledger while new ones keep coming, at most.
    pub settle_delay_results: u64,
    /// How long a closed and settled campaign stays in memory; `None` keeps it until it is archived by hand.
    pub keep_for: Option<Duration>,
    /// The journal length after which a snapshot is due, in MiB.
    pub snapshot_mib: u64,
    /// The time after which a snapshot is due.
    pub snapshot_every: Duration,
    /// Whether trimmed journal entries go to the archive folder.
    pub archive: bool,
    /// The memory campaigns may take, in MiB.
    pub memory_limit_mib: u64,
    /// The most results that may wait for the ledger.
    pub outbox_max: u64,
    /// The form of the log; as standard error has it, if none.
    pub log_format: Option<LogFormat>,
    /// The least important lines of the log.
    pub log_level: LogLevel,
    /// Whether there are pages for people.
    pub pages: bool,
    /// The folder of the team's own files of these pages.
    pub pages_dir: Option<PathBuf>,
    /// Where people log in and pay.
    pub pages_shop: Option<String>,
    /// What stands before the rules.
    pub guards: GuardSettings,
}

impl Config {
    /// Returns how an address of this server begins.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// A configuration together with the origin of each value.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// What applies.
    pub config: Config,
    /// Where each setting came from, by the name it has in the file.
    pub origins: BTreeMap<&'static str, SettingOrigin>,
    /// A hash of the text of each setting that was given, by which a change is noticed, also of a secret.
    pub fingerprints: BTreeMap<&'static str, u64>,
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
}

/// What was typed: flag values by setting name, and the file to read.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    /// The configuration file, where one was named.
    pub file: Option<PathBuf>,
    /// Values given as flags, by the name they have in the file.
    pub flags: BTreeMap<&'static str, String>,
}

/// Why a configuration was refused: where, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}:{line}: not valid TOML: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser said.
        reason: String,
    },
    /// The file has a key no setting has.
    #[error("{}:{line}: unknown setting `{key}`", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key as written.
        key: String,
        /// The setting that was probably meant.
        meant: Option<&'static str>,
    },
    /// A value is not one this setting can have.
    #[error("{origin}: `{key}` {reason}")]
    BadValue {
        /// Where the value stands.
        origin: SettingOrigin,
        /// The setting.
        key: String,
        /// What it must be.
        reason: String,
    },
}

impl ConfigError {
    /// The advice that goes with this error.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "name an existing TOML file with --config FILE".to_owned(),
            Self::Syntax { .. } => {
                "settings are lines like `listen = \"127.0.0.1:8080\"`".to_owned()
            }
            Self::UnknownKey { meant: Some(meant), .. } => format!("did you mean `{meant}`?"),
            Self::UnknownKey { meant: None, .. } | Self::BadValue { .. } => {
                "`firstcome serve --print-config` shows every setting".to_owned()
            }
        }
    }
}

/// Resolves the layers into what applies.
///
/// `environment` answers for one variable; the program passes the process's own, tests pass a map.
///
/// # Errors
///
/// The first setting that cannot be used, with the place it stands in.
pub fn resolve(
    overrides: &Overrides,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Resolved, ConfigError> {
    let named = overrides.file.clone();
    let path = named.or_else(|| environment("FIRSTCOME_CONFIG").map(PathBuf::from));
    let contents = match &path {
        Some(path) => file::read(path)?,
        None => file::Contents::default(),
    };
    let (origins, fingerprints) = (BTreeMap::new(), BTreeMap::new());
    let mut layers =
        Layers { contents, overrides, environment: &environment, origins, fingerprints };
    let config = table::config_from(&mut layers)?;
    let Layers { origins, fingerprints, .. } = layers;
    Ok(Resolved { config, origins, fingerprints, file: path })
}

/// Resolves with the environment of this process.
///
/// # Errors
///
/// As [`resolve`].
pub fn resolve_here(overrides: &Overrides) -> Result<Resolved, ConfigError> {
    resolve(overrides, |name| std::env::var(name).ok())
}

/// The folder used when none is named.
pub fn default_data() -> &'static Path {
    Path::new("./firstcome-data")
}

struct Layers<'a> {
    contents: file::Contents,
    overrides: &'a Overrides,
    environment: &'a dyn Fn(&str) -> Option<String>,
    origins: BTreeMap<&'static str, SettingOrigin>,
    fingerprints: BTreeMap<&'static str, u64>,
}

impl Layers<'_> {
    /// Takes the strongest layer's text for a setting and reads it; `otherwise` is the default.
    fn take<T>(
        &mut self,
        key: &'static str,
        otherwise: impl FnOnce() -> T,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        let setting = table::setting(key);
        let found = self.strongest(setting);
        let Some((origin, text)) = found else {
            self.origins.insert(key, SettingOrigin::Default);
            return Ok(otherwise());
        };
        let value = read(&text).map_err(|reason| ConfigError::BadValue {
            origin: origin.clone(),
            key: key.to_owned(),
            reason,
        })?;
        self.origins.insert(key, origin);
        self.fingerprints.insert(key, fingerprint(&text));
        Ok(value)
    }

    /// Takes note of where the `[[entries]]` of each setting are, and of what they say.
    fn note_entries(&mut self) {
        let file::Contents { keys, token_keys, code_keys, eligibility, .. } = &self.contents;
        for (key, (origin, fingerprint)) in [
            ("keys", keys.noted()),
            ("token_keys", token_keys.noted()),
            ("code_keys", code_keys.noted()),
            ("eligibility", eligibility.noted()),
        ] {
            self.origins.insert(key, origin);
            self.fingerprints.insert(key, fingerprint);
        }
    }

    /// Says whether any layer gives a setting.
    fn is_given(&self, key: &'static str) -> bool {
        !matches!(self.origins.get(key), None | Some(SettingOrigin::Default))
    }

    fn strongest(&mut self, setting: &Setting) -> Option<(SettingOrigin, String)> {
        if let Some(text) = self.overrides.flags.get(setting.key) {
            return Some((SettingOrigin::Flag(setting.flag()), text.clone()));
        }
        if !setting.file_only
            && let Some(text) = (self.environment)(&setting.variable())
        {
            return Some((SettingOrigin::Environment(setting.variable()), text));
        }
        self.contents.scalars.remove(setting.key)
    }
}

/// Reads a whole number between two.
fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.trim().replace('_', "").parse::<u64>().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("must be a whole number from {least} to {most}, not `{text}`"))
}

/// Reads the same as a count of things in memory.
fn size(text: &str, least: u64, most: u64) -> Result<usize, String> {
    whole(text, least, most).and_then(|number| {
        usize::try_from(number).map_err(|_| format!("`{text}` is too large for this machine"))
    })
}

#[cfg(test)]
mod tests;
