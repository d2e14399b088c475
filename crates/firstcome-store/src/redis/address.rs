//! Reads the URL of a Redis or Valkey.

use super::pubsub::Mode;
use crate::error::StoreError;
use crate::host::{Host, read_host};
use crate::percent::decode;

/// What an address looks like.
pub(super) const FORM: &str = "write redis://[user:password@]host[:port][/database], rediss:// for TLS, \
    redis+sentinel://host:port,host:port/master[/database], or \
    redis+cluster://host:port,host:port[?pubsub=auto|plain|sharded|both]";

/// A URL, read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) tls: bool,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: i64,
    pub(crate) place: Place,
    /// How messages are published, in a cluster.
    pub(super) pubsub: Mode,
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    At(Host),
    Behind {
        sentinels: Vec<Host>,
        master: String,
    },
    /// In a cluster, of which these are some servers.
    In {
        cluster: Vec<Host>,
    },
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Address {
    pub(crate) fn read(url: &str) -> Result<Self, StoreError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        let (plain, kind) = scheme.split_once('+').unwrap_or((scheme, ""));
        let tls = plain == "rediss";
        if !matches!((plain, kind), ("redis" | "rediss", "" | "sentinel" | "cluster")) {
            return Err(wrong(format!("nothing is known of the scheme {scheme:?}")));
        }
        let (rest, pubsub) = match (kind, rest.split_once("?pubsub=")) {
            ("cluster", Some((rest, value))) => {
                let wrong =
                    || wrong("its parameter pubsub is none of auto, plain, sharded and both");
                (rest, Mode::read(value).ok_or_else(wrong)?)
            }
            _ => (rest, Mode::Auto),
        };
        if rest.contains(['?', '#']) {
            return Err(wrong("it may have no ? and no #; both can be written with % escapes"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            None => (None, None),
            Some((user, password)) => {
                (decode(user).map_err(wrong)?, decode(password).map_err(wrong)?)
            }
        };
        if user.is_some() && password.is_none() {
            return Err(wrong("it names a user without a password"));
        }

        let default_port = if kind == "sentinel" { 26_379 } else { 6379 };
        let mut hosts: Vec<Host> = hosts
            .split(',')
            .map(|host| read_host(host, default_port).map_err(wrong))
            .collect::<Result<_, _>>()?;
        let (place, database) = match kind {
            "sentinel" => {
                let (master, database) = path.split_once('/').unwrap_or((path, ""));
                let master =
                    decode(master).map_err(wrong)?.ok_or_else(|| wrong("it names no master"))?;
                (Place::Behind { sentinels: hosts, master }, database)
            }
            "cluster" if !matches!(path, "" | "0") => {
                return Err(wrong("a cluster has database 0 only"));
            }
            "cluster" => (Place::In { cluster: hosts }, path),
            _ => {
                let host = hosts.pop().filter(|_| hosts.is_empty());
                (Place::At(host.ok_or_else(|| wrong("it names several hosts"))?), path)
            }
        };
        let database = match database {
            "" => 0,
            number => number
                .parse()
                .ok()
                .filter(|number| (0..=1_000_000).contains(number))
                .ok_or_else(|| wrong("the database is not a number of at least 0"))?,
        };
        Ok(Self { tls, user, password, database, place, pubsub })
    }
}

fn wrong(reason: impl Into<String>) -> StoreError {
    StoreError::Address { reason: reason.into(), form: FORM }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::PubSub;

    fn at(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    #[test]
    fn every_part_has_its_place() {
        let address = Address::read("rediss://ann:p%40ss@[::1]:7000/3").unwrap();
        assert!(address.tls);
        assert_eq!(address.user.as_deref(), Some("ann"));
        assert_eq!(address.password.as_deref(), Some("p@ss"));
        assert_eq!(address.database, 3);
        assert_eq!(address.place, Place::At(at("::1", 7000)));

        let plain = Address::read("redis://:secret@cache").unwrap();
        assert_eq!((plain.user, plain.password.as_deref()), (None, Some("secret")));
        assert_eq!(plain.place, Place::At(at("cache", 6379)));

        let sentinel = Address::read("redis+sentinel://a,b:1/main/2").unwrap();
        let sentinels = vec![at("a", 26_379), at("b", 1)];
        assert_eq!(sentinel.place, Place::Behind { sentinels, master: "main".to_owned() });
        assert_eq!(sentinel.database, 2);

        let cluster = Address::read("rediss+cluster://ann:p@a,b:1").unwrap();
        assert_eq!(cluster.place, Place::In { cluster: vec![at("a", 6379), at("b", 1)] });
        assert!(cluster.tls && cluster.database == 0);
        assert_eq!(cluster.pubsub, Mode::Auto);
        for (value, mode) in [
            ("auto", Mode::Auto),
            ("plain", Mode::Of(&[PubSub::Plain])),
            ("sharded", Mode::Of(&[PubSub::Sharded])),
            ("both", Mode::Of(&[PubSub::Plain, PubSub::Sharded])),
        ] {
            let url = format!("redis+cluster://a,b:1?pubsub={value}");
            let address = Address::read(&url).unwrap();
            assert_eq!((address.pubsub, address.place), (mode, cluster.place.clone()));
        }
    }

    #[test]
    fn every_mistake_is_named_and_no_password_is_shown() {
        for (url, named) in [
            ("localhost", "scheme"),
            ("http://localhost", "http"),
            ("redis://", "no host"),
            ("redis://a,b", "several hosts"),
            ("redis://a:70000", "port"),
            ("redis://a/x", "database"),
            ("redis://a/-1", "database"),
            ("redis://ann@a", "without a password"),
            ("redis://:%zz@a", "%"),
            ("redis://[::1", "]"),
            ("redis://a?x=1", "?"),
            ("redis+sentinel://a", "master"),
            ("redis+cluster://a/1", "database 0 only"),
            ("redis+cluster://a?pubsub=x", "auto, plain, sharded and both"),
            ("redis+cluster://a?x=1", "?"),
            ("redis://a?pubsub=both", "?"),
            ("redis+other://a", "redis+other"),
        ] {
            let failure = Address::read(url).unwrap_err();
            assert!(failure.to_string().contains(named), "{url}: {failure}");
            assert!(failure.hint().is_some());
        }
        let secret = Address::read("redis://:hunter2@a:x").unwrap_err();
        assert!(!format!("{secret} {secret:?}").contains("hunter2"));
    }
}
