//! Every setting on one page: its name, unit, range and default, and how its text is read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::span::{every, keep_for};
use super::store::monitors;
use super::{
    Config, ConfigError, Durability, Layers, LogLevel, StoreKind, StoreUrl, default_data, memory,
    size, whole,
};
use firstcome_api::key::Secret;
use firstcome_core::SpaceId;
use firstcome_http::BasePath;
use firstcome_http::TlsFiles;
use firstcome_journal::WhenLessDurable;
use firstcome_node::OnEmptied;
use firstcome_node::ledger::choice::LedgerChoice;
use http::Uri;

/// One setting as people see it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name in the file. The flag and the environment variable follow from it.
    pub key: &'static str,
    /// What it does, with unit and range, in a few words.
    pub about: &'static str,
    /// What applies when nobody says anything.
    pub default: &'static str,
    /// Whether only the file can set it.
    pub file_only: bool,
    /// Whether it has no flag, because a command line is visible to everybody on the machine.
    pub secret: bool,
    /// Whether a running server takes it when its file changes.
    pub read_again: bool,
}

impl Setting {
    const fn new(key: &'static str, default: &'static str, about: &'static str) -> Self {
        Self { key, about, default, file_only: false, secret: false, read_again: false }
    }

    /// The flag of this setting.
    pub fn flag(&self) -> String {
        format!("--{}", self.key.replace('_', "-"))
    }

    /// The environment variable of this setting.
    pub fn variable(&self) -> String {
        format!("FIRSTCOME_{}", self.key.to_ascii_uppercase())
    }
}

/// Characters of a space's name that fit, behind `firstcome_`, into the name of a schema.
const LONGEST_WITH_POSTGRES: usize = 53;
/// The same of a database in MariaDB.
const LONGEST_WITH_MARIADB: usize = 54;
/// Characters that the name of a space may have where its journal is in PostgreSQL.
const LONGEST_IN_POSTGRES: usize = 50;
/// Characters that the name of a space may have where its journal is in MariaDB.
const LONGEST_IN_MARIADB: usize = 41;

/// All settings, in the order they are documented and printed.
pub const SETTINGS: [Setting; 59] = [
    Setting::new(
        "data",
        "./firstcome-data",
        "folder of journal, ledger, archive and generated admin key",
    ),
    Setting::new(
        "store",
        "none",
        "URL of the Redis, Valkey, PostgreSQL, MariaDB or NATS that several servers share, instead of the embedded store",
    ),
    Setting::new(
        "store_ca",
        "the system's",
        "PEM file with the authorities that a rediss://, postgres://, mysql:// or tls:// store is trusted by",
    ),
    Setting::new(
        "durability",
        "auto",
        "what an answer from a shared store has survived: memory, copies=N (Redis), quorum-memory (NATS), fsync; auto: copies=1 on a Redis with a replica, fsync in a database, in NATS fsync where it is proven (nats_monitor)",
    ),
    Setting::new(
        "when_less_durable",
        "refuse",
        "commands while the settings of a Redis, PostgreSQL or MariaDB promise less than durability: refuse, or warn and go on",
    ),
    Setting::new(
        "on_emptied",
        "wait",
        "a shared store that was emptied: wait for an operator, or reseed: the server that has the space furthest puts it back after 5 s",
    ),
    Setting::new(
        "nats_monitor",
        "none",
        "monitoring addresses of the NATS servers of a store, http://HOST:PORT with commas between, to prove fsync",
    ),
    Setting::new(
        "nats_monitor_every",
        "1m",
        "time after which these addresses are asked again, 1s to 1h",
    ),
    Setting::new(
        "leader_lease_ms",
        "3000",
        "milliseconds after which another server leads when the leader is killed, 500 to 600000",
    ),
    Setting::new("advertise", "the address it listens on", "URL of this server, for the others"),
    Setting::new("space", "main", "name of this deployment in its store, [a-z0-9][a-z0-9_-]{0,63}"),
    Setting::new(
        "space_id",
        "whichever is there",
        "identity that the space in a shared store must have, 32 hexadecimal digits: none other is entered or made",
    ),
    Setting::new("listen", "127.0.0.1:8080", "address and port; port 0 picks a free one"),
    Setting::new(
        "ops_listen",
        "none",
        "address and port of /livez, /readyz and /metrics, which are then only there, without a key",
    ),
    Setting::new(
        "base_path",
        "none",
        "path under which a proxy shows the server, such as /queue; it may remove it or not",
    ),
    Setting::new(
        "tls_cert",
        "none",
        "PEM file with the certificate, and those that lead to its authority, for TLS at both addresses; read again when it changes",
    ),
    Setting::new("tls_key", "none", "PEM file with the private key of tls_cert"),
    Setting::new(
        "tls_client_ca",
        "none",
        "PEM file with authorities: clients must show a certificate of one of them",
    ),
    Setting::new(
        "hsts_s",
        "none",
        "seconds for which browsers are told to come with TLS only, 1 to 63072000 (two years)",
    ),
    Setting::new(
        "ledger",
        "sqlite; none with a store",
        "where results are settled: sqlite, sqlite:FILE, none, or the URL of a PostgreSQL or a MariaDB",
    ),
    Setting {
        secret: true,
        ..Setting::new(
            "admin_key",
            "generated into DATA/admin-key",
            "first admin key, at least 16 characters",
        )
    },
    Setting {
        file_only: true,
        read_again: true,
        ..Setting::new(
            "keys",
            "none",
            "further keys, as [[keys]] entries of the file; read again when it changes",
        )
    },
    Setting::new("queue", "16384", "commands that may wait for the journal, 1 to 1000000"),
    Setting::new(
        "command_wait_ms",
        "5000",
        "milliseconds a command may wait for its answer, 1 to 600000",
    ),
    Setting::new("connections", "10000", "connections at one time, 1 to 1000000"),
    Setting::new("body_bytes", "65536", "largest request body in bytes, 1024 to 16777216"),
    Setting::new("header_ms", "10000", "milliseconds to send a request's header, 1 to 600000"),
    Setting::new(
        "idle_ms",
        "75000",
        "milliseconds a connection may be idle, and an answer unread, 1 to 3600000",
    ),
    Setting::new(
        "stream_max_ms",
        "600000",
        "milliseconds a stream of events may last, 1000 to 86400000",
    ),
    Setting::new(
        "hold_wait_ms",
        "3000",
        "milliseconds a hold may wait at most for seats that somebody has, 0 to 60000",
    ),
    Setting::new(
        "leave_ms",
        "5000",
        "milliseconds a server answers still after SIGTERM, with 503 from /readyz, 0 to 600000",
    ),
    Setting::new(
        "drain_ms",
        "10000",
        "milliseconds a stopping server finishes its work, 0 to 600000",
    ),
    Setting::new(
        "settle_interval_ms",
        "200",
        "milliseconds between two rounds of settling, 1 to 60000",
    ),
    Setting::new(
        "settle_delay_ms",
        "2000",
        "milliseconds that results wait for the ledger while new ones keep coming, 0 to 60000",
    ),
    Setting::new(
        "settle_delay_results",
        "100000",
        "results that wait for the ledger while new ones keep coming, 1 to 10000000",
    ),
    Setting::new(
        "keep_for",
        "30d",
        "time a closed and settled campaign stays in memory, or never to keep it",
    ),
    Setting::new("snapshot_mib", "64", "MiB of journal after which a snapshot is due, 1 to 65536"),
    Setting::new("snapshot_every", "5m", "time after which a snapshot is due, 1s to 1d"),
    Setting::new("archive", "true", "whether trimmed journal entries go to DATA/archive"),
    Setting::new(
        "memory_limit_mib",
        "half of the memory of the machine or its container",
        "MiB that campaigns may take, at least 16",
    ),
    Setting::new("outbox_max", "10000000", "results that may wait for the ledger, 1 to 1000000000"),
    Setting::new(
        "log_format",
        "text on a terminal, else json",
        "form of the log on standard error: text or json",
    ),
    Setting {
        read_again: true,
        ..Setting::new(
            "log_level",
            "info",
            "least important lines of the log: error, warn, info or debug; read again when the file changes",
        )
    },
    Setting::new(
        "rate_subject",
        "none; 20/s burst 40 with subject tokens",
        "how often a subject may ask, such as 5/s or 300/m burst 20, or none",
    ),
    Setting::new("rate_key", "none", "how often a key without a rate of its own may ask, or none"),
    Setting::new("rate_address", "none", "how often an address may ask, or none"),
    Setting::new(
        "rate_entries",
        "65536",
        "subjects, and addresses, whose asking is remembered, 1024 to 16777216",
    ),
    Setting::new(
        "subjects",
        "any",
        "which subjects are taken: any, or strict: no white space at an end, no unseen characters",
    ),
    Setting::new(
        "trusted_proxies",
        "none",
        "proxies whose word on where a request came from is believed, such as 10.0.0.0/8, by commas",
    ),
    Setting::new(
        "proxy_header",
        "x-forwarded-for",
        "the header they write it in: x-forwarded-for or forwarded",
    ),
    Setting::new(
        "webhook_allow",
        "none",
        "networks to which webhooks are sent although they are not public, such as 10.0.0.0/8, by commas",
    ),
    Setting::new(
        "cors_origins",
        "none",
        "pages a browser may call from, such as https://shop.example, by commas, or *",
    ),
    Setting::new("pages", "on", "pages for people, /c/CAMPAIGN: on or off"),
    Setting::new("pages_dir", "none", "folder whose files come before those that the pages have"),
    Setting::new(
        "pages_shop",
        "none",
        "URL where people log in and pay; the pages add ?campaign= and &hold= to it",
    ),
    Setting {
        secret: true,
        ..Setting::new("token_secret", "none", "signs subject tokens, at least 32 characters")
    },
    Setting {
        file_only: true,
        ..Setting::new(
            "token_keys",
            "none",
            "further keys to check subject tokens with, as [[token_keys]] entries of the file",
        )
    },
    Setting {
        file_only: true,
        ..Setting::new(
            "code_keys",
            "generated into DATA/code-key; none with a store",
            "keys that coupon codes are made with, as [[code_keys]] entries of the file",
        )
    },
    Setting {
        file_only: true,
        ..Setting::new(
            "eligibility",
            "none",
            "services to ask whether a subject may claim, as [[eligibility]] entries of the file",
        )
    },
];

/// The setting of that name; names are written in this program only, so a missing one is a bug.
pub(super) fn setting(key: &str) -> &'static Setting {
    SETTINGS
        .iter()
        .find(|setting| setting.key == key)
        .expect("every setting taken stands in the table")
}

pub(super) fn config_from(layers: &mut Layers<'_>) -> Result<Config, ConfigError> {
    let store = layers.take("store", || None, store)?;
    let shared = store.is_some();
    let refuse = WhenLessDurable::default;
    let config = Config {
        data: layers.take("data", || default_data().to_owned(), folder)?,
        has_data: layers.is_given("data"),
        store,
        store_ca: layers.take("store_ca", || None, |text| folder(text).map(Some))?,
        durability: layers.take("durability", || Durability::Auto, str::parse)?,
        when_less_durable: layers.take("when_less_durable", refuse, str::parse)?,
        on_emptied: layers.take("on_emptied", OnEmptied::default, str::parse)?,
        nats_monitor: layers.take("nats_monitor", Vec::new, monitors)?,
        nats_monitor_every: layers.take(
            "nats_monitor_every",
            || ms(60_000),
            |text| every(text, ms(3_600_000)),
        )?,
        leader_lease: layers.take("leader_lease_ms", || ms(3_000), |t| wait(t, 500, 600_000))?,
        advertise: layers.take("advertise", || None, advertised)?,
        space: layers.take("space", || "main".to_owned(), space)?,
        space_id: layers.take("space_id", || None, space_id)?,
        new_space: false,
        listen: layers.take("listen", || "127.0.0.1:8080".to_owned(), address)?,
        ops_listen: layers.take("ops_listen", || None, |text| address(text).map(Some))?,
        tls: tls(layers)?,
        hsts_s: layers.take("hsts_s", || None, |t| whole(t, 1, 63_072_000).map(Some))?,
        base_path: layers.take("base_path", BasePath::default, str::parse)?,
        ledger: layers.take(
            "ledger",
            || if shared { LedgerChoice::None } else { LedgerChoice::Sqlite },
            str::parse,
        )?,
        admin_key: layers.take("admin_key", || None, |text| Secret::new(text).map(Some))?,
        keys: std::mem::take(&mut layers.contents.keys.entries),
        code_keys: std::mem::take(&mut layers.contents.code_keys.entries),
        queue: layers.take("queue", || 16_384, |text| size(text, 1, 1_000_000))?,
        command_wait: layers.take("command_wait_ms", || ms(5_000), |t| wait(t, 1, 600_000))?,
        connections: layers.take("connections", || 10_000, |text| size(text, 1, 1_000_000))?,
        body_bytes: layers.take("body_bytes", || 65_536, |text| size(text, 1_024, 16_777_216))?,
        header_wait: layers.take("header_ms", || ms(10_000), |text| wait(text, 1, 600_000))?,
        idle: layers.take("idle_ms", || ms(75_000), |text| wait(text, 1, 3_600_000))?,
        stream_max: layers.take("stream_max_ms", || ms(600_000), |t| wait(t, 1_000, 86_400_000))?,
        hold_wait: layers.take("hold_wait_ms", || ms(3_000), |text| wait(text, 0, 60_000))?,
        leave: layers.take("leave_ms", || ms(5_000), |text| wait(text, 0, 600_000))?,
        drain: layers.take("drain_ms", || ms(10_000), |text| wait(text, 0, 600_000))?,
        settle_interval: layers.take("settle_interval_ms", || ms(200), |t| wait(t, 1, 60_000))?,
        settle_delay: layers.take("settle_delay_ms", || ms(2_000), |t| wait(t, 0, 60_000))?,
        settle_delay_results: layers.take(
            "settle_delay_results",
            || 100_000,
            |t| whole(t, 1, 10_000_000),
        )?,
        keep_for: layers.take("keep_for", || Some(ms(30 * 86_400_000)), keep_for)?,
        snapshot_mib: layers.take("snapshot_mib", || 64, |text| whole(text, 1, 65_536))?,
        snapshot_every: layers.take(
            "snapshot_every",
            || ms(300_000),
            |text| every(text, ms(86_400_000)),
        )?,
        archive: layers.take("archive", || true, truth)?,
        memory_limit_mib: layers
            .take("memory_limit_mib", half_of_memory_mib, |text| whole(text, 16, 1 << 30))?,
        outbox_max: layers.take("outbox_max", || 10_000_000, |t| whole(t, 1, 1_000_000_000))?,
        log_format: layers.take("log_format", || None, |text| text.parse().map(Some))?,
        log_level: layers.take("log_level", || LogLevel::Info, str::parse)?,
        pages: layers.take("pages", || true, on_or_off)?,
        pages_dir: layers.take("pages_dir", || None, |text| folder(text).map(Some))?,
        pages_shop: layers.take("pages_shop", || None, shop)?,
        guards: super::guards::settings_from(layers)?,
    };
    layers.note_entries();
    check_database(layers, &config)?;
    Ok(config)
}

/// Takes the files of TLS: certificate and key together, or none.
fn tls(layers: &mut Layers<'_>) -> Result<Option<TlsFiles>, ConfigError> {
    let mut file = |key| layers.take(key, || None, |text| file(text).map(Some));
    let (cert, key) = (file("tls_cert")?, file("tls_key")?);
    let client_ca = file("tls_client_ca")?;
    let (given, missing) = match (cert, key, &client_ca) {
        (Some(cert), Some(key), _) => return Ok(Some(TlsFiles { cert, key, client_ca })),
        (None, None, None) => return Ok(None),
        (Some(_), None, _) => ("tls_cert", "tls_key"),
        (None, Some(_), _) => ("tls_key", "tls_cert"),
        (None, None, Some(_)) => ("tls_client_ca", "tls_cert and tls_key"),
    };
    let origin = layers.origins.get(given).cloned().unwrap_or(super::SettingOrigin::Default);
    let reason = format!("needs {missing}, too");
    Err(ConfigError::BadValue { origin, key: given.to_owned(), reason })
}

fn file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("must name a file".to_owned()) } else { Ok(PathBuf::from(text)) }
}

/// Refuses a ledger that servers on one store cannot share, and what a journal or a ledger in a database cannot be given.
fn check_database(layers: &Layers<'_>, config: &Config) -> Result<(), ConfigError> {
    let refuse = |key: &str, reason: String| {
        let origin = layers.origins.get(key).cloned().unwrap_or(super::SettingOrigin::Default);
        Err(ConfigError::BadValue { origin, key: key.to_owned(), reason })
    };
    if config.store.is_some() && config.ledger == LedgerChoice::Sqlite {
        let why = "may not be `sqlite` with a shared store: that is a file in this server's own data folder, and whichever \
            server leads must find the same ledger; name postgres://… or mysql://…, or sqlite:FILE where all servers are on one \
            machine, or none";
        return refuse("ledger", why.to_owned());
    }
    let (longest, place) = match &config.ledger {
        LedgerChoice::Postgres(_) => {
            (LONGEST_WITH_POSTGRES, "PostgreSQL: its tables are in the schema `firstcome_SPACE`")
        }
        LedgerChoice::MySql(_) => {
            (LONGEST_WITH_MARIADB, "MariaDB: its tables are in the database `firstcome_SPACE`")
        }
        LedgerChoice::Sqlite | LedgerChoice::SqliteFile(_) | LedgerChoice::None => (usize::MAX, ""),
    };
    if config.space.len() > longest {
        let reason = format!("may have {longest} characters where the ledger is in {place}");
        return refuse("space", reason);
    }
    let (waits, longest, place) = match config.store.as_ref().map(StoreUrl::kind) {
        Some(StoreKind::Postgres) => (
            "in PostgreSQL, which itself waits for the standbys that its synchronous_standby_names names",
            LONGEST_IN_POSTGRES,
            "PostgreSQL: its tables are in the schema `fc_journal_SPACE`",
        ),
        Some(StoreKind::MySql) => (
            "in MariaDB, which itself waits for a replica where semi-synchronous replication is on",
            LONGEST_IN_MARIADB,
            "MariaDB: the names of its tables begin with `fc_journal_SPACE_`",
        ),
        Some(StoreKind::Nats) => {
            if let Durability::Copies(_) | Durability::Memory = config.durability {
                let reason = "may not be `memory` or `copies=N` in NATS, which has most of the servers of a stream take \
                     each entry; choose fsync or quorum-memory";
                return refuse("durability", reason.to_owned());
            }
            return Ok(());
        }
        Some(StoreKind::Redis) | None => {
            if config.durability == Durability::QuorumMemory {
                return refuse("durability", "may be `quorum-memory` in NATS only".to_owned());
            }
            return Ok(());
        }
    };
    if config.durability == Durability::QuorumMemory {
        return refuse("durability", "may be `quorum-memory` in NATS only".to_owned());
    }
    if let Durability::Copies(_) = config.durability {
        let reason = format!("may not be `copies=N` {waits}; choose fsync or memory");
        return refuse("durability", reason);
    }
    if config.space.len() > longest {
        let reason = format!("may have {longest} characters where the store is {place}");
        return refuse("space", reason);
    }
    Ok(())
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn wait(text: &str, least: u64, most: u64) -> Result<Duration, String> {
    whole(text, least, most).map(Duration::from_millis)
}

fn truth(text: &str) -> Result<bool, String> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("must be true or false, not `{text}`")),
    }
}

fn folder(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("must name a folder".to_owned()) } else { Ok(PathBuf::from(text)) }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text.trim() {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("must be on or off, not `{text}`")),
    }
}

fn shop(text: &str) -> Result<Option<String>, String> {
    match advertised(text) {
        Ok(url) if !text.contains(['?', '#']) => Ok(url),
        Ok(_) | Err(_) => Err(format!(
            "must be a URL such as https://shop.example/pay, without `?` and `#`, not `{text}`"
        )),
    }
}

fn store(text: &str) -> Result<Option<StoreUrl>, String> {
    text.parse().map(Some)
}

fn advertised(text: &str) -> Result<Option<String>, String> {
    let is_web = |url: &Uri| {
        matches!(url.scheme_str(), Some("http" | "https"))
            && url.host().is_some_and(|host| !host.is_empty())
    };
    if text.len() <= 255 && text.parse::<Uri>().is_ok_and(|url| is_web(&url)) {
        return Ok(Some(text.to_owned()));
    }
    Err(format!("must be a URL such as http://10.0.0.7:8080, not `{text}`"))
}

fn space(text: &str) -> Result<String, String> {
    let mut letters = text.bytes();
    let first = letters.next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let rest = letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_-".contains(&c));
    if first && rest && text.len() <= 64 {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be 1 to 64 of a-z, 0-9, `_` and `-`, starting with a letter or digit, not `{text}`"
        ))
    }
}

fn space_id(text: &str) -> Result<Option<SpaceId>, String> {
    text.parse().map(Some).map_err(|why| format!("{why}, not `{text}`"))
}

fn address(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => Ok(text.to_owned()),
        Some(Err(_)) | None => Err(format!(
            "must be an address with a port, like `127.0.0.1:8080` or `[::1]:0`, not `{text}`"
        )),
    }
}

/// Half of the memory there is; 1 GiB where the system does not say.
fn half_of_memory_mib() -> u64 {
    let there_is = memory::bytes(Path::new("/proc"), Path::new("/sys/fs/cgroup"));
    there_is.map_or(1_024, |bytes| ((bytes >> 20) / 2).max(16))
}
