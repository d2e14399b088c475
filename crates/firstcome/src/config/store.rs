//! The store that several servers share, and what an answer from it must have survived.

use firstcome_store::RedisOptions;
use firstcome_store::mysql::MySqlOptions;
use firstcome_store::nats::NatsOptions;
use firstcome_store::postgres::PostgresOptions;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The URL of a shared store. It may hold a password, which is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(Box<str>);

/// Which kind of store a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// Redis or Valkey.
    Redis,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MySql,
    /// NATS JetStream.
    Nats,
}

/// How a store is connected to.
pub enum StoreOptions {
    /// Redis or Valkey.
    Redis(RedisOptions),
    /// PostgreSQL.
    Postgres(PostgresOptions),
    /// MariaDB.
    MySql(MySqlOptions),
    /// NATS JetStream.
    Nats(NatsOptions),
}

const KNOWN: [(&str, StoreKind); 12] = [
    ("redis", StoreKind::Redis),
    ("rediss", StoreKind::Redis),
    ("redis+sentinel", StoreKind::Redis),
    ("rediss+sentinel", StoreKind::Redis),
    ("redis+cluster", StoreKind::Redis),
    ("rediss+cluster", StoreKind::Redis),
    ("postgres", StoreKind::Postgres),
    ("postgresql", StoreKind::Postgres),
    ("mysql", StoreKind::MySql),
    ("mariadb", StoreKind::MySql),
    ("nats", StoreKind::Nats),
    ("tls", StoreKind::Nats),
];

/// The parameters of a URL that hold no secret. Others are refused, but not before the URL was named somewhere.
const SHOWN: [&str; 3] = ["pubsub", "sslmode", "sslrootcert"];

impl StoreUrl {
    /// Returns the URL, password and all.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns which kind of store it names.
    pub fn kind(&self) -> StoreKind {
        let scheme = self.0.split_once("://").map_or("", |(scheme, _)| scheme);
        let known = KNOWN.iter().find(|(known, _)| *known == scheme);
        known.map(|(_, kind)| *kind).expect("it was looked at when it was read")
    }

    /// Returns how the store is connected to, with a file of authorities to trust.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn options(&self, authorities: Option<&Path>) -> Result<StoreOptions, String> {
        Ok(match self.kind() {
            StoreKind::Redis => {
                let options = RedisOptions::new(self.reveal());
                StoreOptions::Redis(match authorities {
                    None => options,
                    Some(file) => options.trust(std::fs::read_to_string(file).map_err(|why| {
                        format!("cannot read the authorities in {}: {why}", file.display())
                    })?),
                })
            }
            StoreKind::Postgres => {
                StoreOptions::Postgres(PostgresOptions::new(self.with_authorities(authorities)))
            }
            StoreKind::MySql => {
                StoreOptions::MySql(MySqlOptions::new(self.with_authorities(authorities)))
            }
            StoreKind::Nats => {
                StoreOptions::Nats(NatsOptions::new(self.with_authorities(authorities)))
            }
        })
    }

    /// Returns the URL of a database, password and all, with a file of authorities to trust.
    fn with_authorities(&self, file: Option<&Path>) -> Cow<'_, str> {
        let Some(file) = file else { return Cow::Borrowed(&self.0) };
        let mut escaped = String::new();
        for byte in file.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                    escaped.push(char::from(*byte));
                }
                other => escaped.push_str(&format!("%{other:02x}")),
            }
        }
        let and = if self.0.contains('?') { '&' } else { '?' };
        Cow::Owned(format!("{}{and}sslrootcert={escaped}", self.0))
    }

    /// Says whether it holds what is never printed: a password, or what may be one.
    pub fn has_secret(&self) -> bool {
        self.to_string() != *self.0
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some((scheme, rest))
                if KNOWN.iter().any(|(known, _)| *known == scheme) && !rest.is_empty() =>
            {
                Ok(Self(text.into()))
            }
            Some((scheme, _)) => Err(format!(
                "names a `{scheme}` store: this build knows redis://, rediss://, redis+sentinel://, rediss+sentinel://, \
                 redis+cluster://, rediss+cluster://, postgres://, mysql:// and nats:// (or tls://)"
            )),
            None => Err("must be a URL such as redis://127.0.0.1:6379".to_owned()),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.0.split_once("://") else { return f.write_str("…") };
        // Which of the two it is cannot be told: either may be part of a password.
        if rest.rsplit_once('@').is_some_and(|(before, _)| before.contains('?')) {
            return write!(f, "{scheme}://…");
        }
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(l, p)| (Some(l), p));
        write!(f, "{scheme}://")?;
        match login.map(|login| login.split_once(':').ok_or(login)) {
            Some(Ok((user, _))) => write!(f, "{user}:…@")?,
            // Alone it is a password of Sentinels or a cluster, or a token of NATS.
            Some(Err(_)) if self.kind() == StoreKind::Nats || scheme.contains('+') => {
                f.write_str("…@")?;
            }
            Some(Err(user)) => write!(f, "{user}@")?,
            None => {}
        }
        let Some((place, query)) = place.split_once('?') else { return f.write_str(place) };
        f.write_str(place)?;
        for (at, parameter) in query.split('&').enumerate() {
            f.write_str(if at == 0 { "?" } else { "&" })?;
            match parameter.split_once('=') {
                Some((name, _)) if SHOWN.contains(&name) => f.write_str(parameter)?,
                Some((name, _)) => write!(f, "{name}=…")?,
                None => f.write_str("…")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What an answer from a shared store must have survived before it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// On Redis, one copy where a replica is connected when the server starts, else memory; in a database, fsync; in NATS,
    /// fsync where it is proven that the servers sync each write, else quorum memory.
    #[default]
    Auto,
    /// Nothing: it is in the memory of the store's primary.
    Memory,
    /// It is in the memory of most of the servers that have the stream.
    QuorumMemory,
    /// It is in the memory of this many replicas, too.
    Copies(u32),
    /// It is on the primary's disk.
    Fsync,
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let copies = |text: &str| text.strip_prefix("copies=")?.parse::<u32>().ok();
        match text {
            "auto" => Ok(Self::Auto),
            "memory" => Ok(Self::Memory),
            "quorum-memory" => Ok(Self::QuorumMemory),
            "fsync" => Ok(Self::Fsync),
            _ => match copies(text) {
                Some(copies @ 1..=16) => Ok(Self::Copies(copies)),
                Some(_) | None => Err(format!(
                    "must be auto, memory, quorum-memory, copies=N with N from 1 to 16, or fsync, not `{text}`"
                )),
            },
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Memory => f.write_str("memory"),
            Self::QuorumMemory => f.write_str("quorum-memory"),
            Self::Copies(copies) => write!(f, "copies={copies}"),
            Self::Fsync => f.write_str("fsync"),
        }
    }
}

/// Reads monitoring addresses with commas between.
pub(super) fn monitors(text: &str) -> Result<Vec<String>, String> {
    let read = |monitor: &str| {
        let monitor = monitor.trim().trim_end_matches('/');
        let place = monitor.strip_prefix("http://").unwrap_or_default();
        let (host, port) = place.rsplit_once(':').unwrap_or_default();
        let fits = !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok();
        // There may be a password before an @.
        let shown = monitor.rsplit_once('@').map_or(monitor, |_| "one with a login");
        let wrong =
            format!("must be http://HOST:PORT, or several with commas between, not `{shown}`");
        fits.then(|| monitor.to_owned()).ok_or(wrong)
    };
    text.split(',').map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        for (text, printed) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("redis://ann:se@cret@host:1/2", "redis://ann:…@host:1/2"),
            ("rediss+sentinel://:secret@a,b/main", "rediss+sentinel://:…@a,b/main"),
            ("redis+sentinel://secret@a,b/main", "redis+sentinel://…@a,b/main"),
            ("redis+cluster://ann:secret@a,b", "redis+cluster://ann:…@a,b"),
            ("nats://token@a:4222", "nats://…@a:4222"),
            ("nats://a?token=secret&sslrootcert=f&secret", "nats://a?token=…&sslrootcert=f&…"),
            ("postgres://host/db?password=se@cret", "postgres://…"),
            ("postgres://ann:se?cret@host/db", "postgres://…"),
            ("postgres://ann@host/db", "postgres://ann@host/db"),
            (
                "postgres://host/db?sslmode=require&password=secret",
                "postgres://host/db?sslmode=require&password=…",
            ),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.reveal()), (printed, text));
            assert_eq!(format!("{url:?}"), printed);
            assert_eq!(url.has_secret(), text != printed);
        }
        let url: StoreUrl = "postgres://ann:secret@host/db?sslmode=require".parse().unwrap();
        assert_eq!(url.to_string(), "postgres://ann:…@host/db?sslmode=require");
        assert_eq!(url.kind(), StoreKind::Postgres);
        let trusting = url.with_authorities(Some(Path::new("/etc/our ca.pem")));
        assert!(trusting.ends_with("/db?sslmode=require&sslrootcert=/etc/our%20ca.pem"));
        let maria: StoreUrl = "mysql://ann:secret@host/db".parse().unwrap();
        assert_eq!(
            (maria.to_string().as_str(), maria.kind()),
            ("mysql://ann:…@host/db", StoreKind::MySql)
        );
        let nats: StoreUrl = "nats://ann:secret@a:4222,b".parse().unwrap();
        assert_eq!(
            (nats.to_string().as_str(), nats.kind()),
            ("nats://ann:…@a:4222,b", StoreKind::Nats)
        );
        for bad in ["", "redis", "redis://", "http://host/db", "sqlite://file"] {
            assert!(bad.parse::<StoreUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn monitoring_addresses_have_a_host_and_a_port() {
        let read = monitors("http://a:8222, http://127.0.0.1:1/").unwrap();
        assert_eq!(read, ["http://a:8222", "http://127.0.0.1:1"]);
        for bad in ["", "a:8222", "http://a", "http://a:x", "https://a:1", "http://a:1/varz"] {
            assert!(monitors(bad).unwrap_err().contains("http://HOST:PORT"), "{bad}");
        }
    }

    #[test]
    fn durability_reads_back_as_it_is_printed() {
        for text in ["auto", "memory", "quorum-memory", "copies=1", "copies=16", "fsync"] {
            assert_eq!(text.parse::<Durability>().unwrap().to_string(), text);
        }
        for bad in ["", "copies", "copies=0", "copies=17", "copies=-1", "disk"] {
            assert!(bad.parse::<Durability>().unwrap_err().contains("copies=N"), "{bad}");
        }
    }
}
