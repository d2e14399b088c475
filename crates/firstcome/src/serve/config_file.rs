//! The configuration file while a server runs: its keys and the level of its log are taken when it changes. All else in it
//! waits for the next start, and is named.

use super::keys;
use crate::config::{Config, Overrides, Resolved, SETTINGS, resolve_here};
use crate::logging::LogLevels;
use firstcome_core::Timestamp;
use firstcome_http::{App, clock_text};
use firstcome_node::log;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often the file is read. A change is taken when it reads the same twice: an editor may still be writing the first time.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long before a key expires the log says so.
const EXPIRES_SOON_US: i64 = 7 * 24 * 3_600_000_000;

/// The file that a server was started with, and what it read there.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    overrides: Overrides,
    fingerprints: BTreeMap<&'static str, u64>,
}

impl ConfigFile {
    /// Returns the file that these settings came from, if they came from one.
    pub fn of(overrides: Overrides, resolved: &Resolved) -> Option<Self> {
        let (path, fingerprints) = (resolved.file.clone()?, resolved.fingerprints.clone());
        Some(Self { path, overrides, fingerprints })
    }

    /// Takes keys and the level of the log from the file when it changes, until the server drains. A file that cannot be used changes
    /// nothing, and is logged once.
    pub(super) async fn watch(
        self,
        mut config: Config,
        app: Arc<App>,
        admin_key: String,
        levels: LogLevels,
    ) {
        let mut taken = Ok(self.fingerprints.clone());
        let (mut before, mut warned) = (taken.clone(), Timestamp::default());
        loop {
            warned = warn_of_ends(&config, warned, clock_text::now());
            tokio::select! {
                biased;
                () = app.draining.cancelled() => return,
                () = sleep(LOOK_EVERY) => {}
            }
            let found = resolve_here(&self.overrides);
            let look = match &found {
                Ok(resolved) => Ok(resolved.fingerprints.clone()),
                Err(why) => Err(why.to_string()),
            };
            let reads_the_same = look == before;
            before = look;
            if !reads_the_same || before == taken {
                continue;
            }
            taken = before.clone();
            let table = found.map_err(anyhow::Error::from).and_then(|resolved| {
                let new = with_changes(&config, &resolved);
                Ok((keys(&new, &admin_key, &app.metrics)?, new, resolved))
            });
            app.metrics.set("configuration_trouble", u64::from(table.is_err()));
            match table {
                Ok((table, new, resolved)) => {
                    app.keys.replace(table);
                    levels.set(config.log_level.max(new.log_level));
                    self.say(&new, &resolved);
                    levels.set(new.log_level);
                    (config, warned) = (new, Timestamp::default());
                }
                Err(why) => {
                    log!(
                        ConfigurationUnusable,
                        "the configuration file changed, and nothing of it is taken: {why:#}"
                    );
                }
            }
        }
    }

    /// Logs what applies now, and what will at the next start.
    fn say(&self, config: &Config, resolved: &Resolved) {
        let changed = |key: &&str| resolved.fingerprints.get(key) != self.fingerprints.get(key);
        let later = SETTINGS.iter().filter(|setting| !setting.read_again);
        let later: Vec<_> = later.map(|setting| setting.key).filter(changed).collect();
        let file = self.path.display();
        let (keys, log_level) = (config.keys.len(), config.log_level);
        let next_start = (!later.is_empty()).then(|| later.join(", "));
        log!(
            ConfigurationChanged,
            %file,
            keys,
            %log_level,
            next_start,
            "the configuration file changed: its keys and log_level apply from now on, the settings in next_start when \
             the server is started again"
        );
    }
}

/// Returns the settings of a running server with what may change in them.
fn with_changes(config: &Config, resolved: &Resolved) -> Config {
    let Config { keys, log_level, .. } = &resolved.config;
    Config { keys: keys.clone(), log_level: *log_level, ..config.clone() }
}

/// Logs which keys expired, or are about to, since that was looked at last; returns when it was looked at.
fn warn_of_ends(config: &Config, last: Timestamp, now: Timestamp) -> Timestamp {
    for key in &config.keys {
        let Some(expires) = key.expires else { continue };
        let (name, at) = (&*key.name, clock_text::rfc3339(expires));
        let is_new = |moment: Timestamp| last < moment && moment <= now;
        if is_new(expires) {
            log!(
                KeyExpires,
                key = name,
                at,
                "the key {name:?} expired: requests with it are refused"
            );
        } else if expires > now && is_new(expires.plus_micros(-EXPIRES_SOON_US)) {
            log!(KeyExpires, key = name, at, "the key {name:?} expires at {at}");
        }
    }
    now
}
