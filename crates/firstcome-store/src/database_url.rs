//! Reads the URL of a PostgreSQL or a MariaDB.

use std::path::PathBuf;

use crate::error::StoreError;
use crate::host::{Host, read_host};
use crate::percent::decode;

/// What is different about the URLs of one kind of database.
pub(crate) struct UrlKind {
    pub(crate) schemes: [&'static str; 2],
    pub(crate) port: u16,
    /// What such a URL looks like.
    pub(crate) form: &'static str,
}

/// A URL, read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl {
    pub(crate) host: Host,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    pub(crate) tls: bool,
    /// A file of authorities to trust instead of the usual ones.
    pub(crate) authorities: Option<PathBuf>,
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("DatabaseUrl");
        shown.field("host", &self.host).field("database", &self.database).finish_non_exhaustive()
    }
}

impl UrlKind {
    pub(crate) fn read(&self, url: &str) -> Result<DatabaseUrl, StoreError> {
        let wrong = |reason: &str| self.wrong(reason);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        if !self.schemes.contains(&scheme) {
            return Err(self.wrong(format!("nothing is known of the scheme {scheme:?}")));
        }
        if rest.contains('#') {
            return Err(wrong("it may have no #; write %23"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (login, host),
            None => ("", authority),
        };
        if host.contains(',') {
            return Err(wrong("it names several hosts"));
        }
        let host = read_host(host, self.port).map_err(wrong)?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (user, password) = (decode(user).map_err(wrong)?, decode(password).map_err(wrong)?);
        let database = decode(database).map_err(wrong)?;
        let database = database.ok_or_else(|| wrong("it names no database"))?;
        let user = user.ok_or_else(|| wrong("it names no user"))?;
        // Beyond this machine a password would be there for everybody to read.
        let mut tls = !["localhost", "127.0.0.1", "::1"].contains(&host.name.as_str());
        let mut authorities = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("sslmode", "disable") => tls = false,
                ("sslmode", "require" | "verify-full") => tls = true,
                ("sslmode", _) => {
                    return Err(wrong("sslmode is not one of disable, require, verify-full"));
                }
                ("sslrootcert", file) => {
                    authorities = decode(file).map_err(wrong)?.map(PathBuf::from);
                }
                (name, _) => {
                    return Err(self.wrong(format!(
                        "{name:?} is no parameter of it: there are sslmode and sslrootcert"
                    )));
                }
            }
        }
        Ok(DatabaseUrl { host, user, password, database, tls, authorities })
    }

    /// Says what is wrong with a URL.
    pub(crate) fn wrong(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Address { reason: reason.into(), form: self.form }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSTGRES: UrlKind =
        UrlKind { schemes: ["postgres", "postgresql"], port: 5432, form: "write postgres://…" };
    const MYSQL: UrlKind =
        UrlKind { schemes: ["mysql", "mariadb"], port: 3306, form: "write mysql://…" };

    #[test]
    fn every_part_has_its_place() {
        let url = "postgres://ann:p%40ss@[::2]:7000/led%2Fger?sslmode=disable";
        let address = POSTGRES.read(url).unwrap();
        assert_eq!(address.host, Host { name: "::2".to_owned(), port: 7000 });
        assert_eq!((address.user.as_str(), address.password.as_deref()), ("ann", Some("p@ss")));
        assert_eq!((address.database.as_str(), address.tls), ("led/ger", false));
        let address = MYSQL.read("mariadb://ann@127.0.0.1/x").unwrap();
        assert_eq!((address.host.port, address.tls, address.password), (3306, false, None));
    }

    #[test]
    fn tls_is_left_out_on_this_machine_only_or_where_it_is_said() {
        let tls = |rest: &str| POSTGRES.read(&format!("postgres://a:b@{rest}")).unwrap().tls;
        assert!(!tls("localhost/x") && !tls("127.0.0.1/x") && !tls("[::1]:1/x"));
        assert!(tls("db/x") && tls("localhost/x?sslmode=require"));
        assert!(!tls("db/x?sslmode=disable"));
        let url = "postgresql://a@db/x?sslmode=verify-full&sslrootcert=/etc/ca%20.pem";
        let address = POSTGRES.read(url).unwrap();
        assert_eq!(address.authorities, Some(PathBuf::from("/etc/ca .pem")));
    }

    #[test]
    fn every_mistake_is_named_and_no_password_is_shown() {
        for (url, named) in [
            ("localhost", "scheme"),
            ("mysql://a@localhost/x", "mysql"),
            ("postgres://a@/x", "no host"),
            ("postgres://a@b,c/x", "several hosts"),
            ("postgres://a@b:70000/x", "port"),
            ("postgres://a@b", "no database"),
            ("postgres://b/x", "no user"),
            ("postgres://a:%zz@b/x", "%"),
            ("postgres://a@b/x?sslmode=prefer", "sslmode"),
            ("postgres://a@b/x?options=-c", "options"),
            ("postgres://a:x#y@b/x", "%23"),
        ] {
            let failure = POSTGRES.read(url).unwrap_err();
            assert!(failure.to_string().contains(named), "{url}: {failure}");
            assert!(failure.hint().is_some_and(|hint| hint.contains("postgres://")));
        }
        let secret = POSTGRES.read("postgres://a:hunter2@b:x/y").unwrap_err();
        assert!(!format!("{secret} {secret:?}").contains("hunter2"));
        let address = POSTGRES.read("postgres://a:hunter2@b/y").unwrap();
        assert!(!format!("{address:?}").contains("hunter2"));
    }
}
