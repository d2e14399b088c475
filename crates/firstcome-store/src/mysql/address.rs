use std::path::PathBuf;

use super::Address;
use crate::Failure;
use crate::host::{decode, read_host};

/// What an address looks like.
const FORM: &str = "write mysql://user[:password]@host[:port]/database[?sslmode=disable|require|verify-full]\
    [&sslrootcert=FILE], with % escapes for special characters";

impl Address {
    pub(super) fn read(url: &str) -> Result<Self, Failure> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        if !["mysql", "mariadb"].contains(&scheme) {
            return Err(wrong(format!("nothing is known of the scheme {scheme:?}")));
        }
        if rest.contains('#') {
            return Err(wrong("it may have no #; write %23"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let host = read_host(host, 3306).map_err(wrong)?;
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
                    return Err(wrong(format!(
                        "{name:?} is no parameter of it: there are sslmode and sslrootcert"
                    )));
                }
            }
        }
        Ok(Self { host, user, password, database, tls, authorities })
    }
}

fn wrong(reason: impl Into<String>) -> Failure {
    Failure::Address { reason: reason.into(), form: FORM }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place() {
        let address = Address::read("mysql://ann:p%40ss@[::2]:7000/led%2Fger").unwrap();
        assert_eq!((address.host.name.as_str(), address.host.port), ("::2", 7000));
        assert_eq!((address.user.as_str(), address.password.as_deref()), ("ann", Some("p@ss")));
        assert_eq!((address.database.as_str(), address.tls), ("led/ger", true));
        let address = Address::read("mariadb://ann@127.0.0.1/x").unwrap();
        assert_eq!((address.host.port, address.tls, address.password), (3306, false, None));
    }

    #[test]
    fn every_mistake_is_named_and_no_password_is_shown() {
        for (url, named) in [
            ("localhost", "scheme"),
            ("postgres://a@localhost/x", "postgres"),
            ("mysql://a@/x", "no host"),
            ("mysql://a@b", "no database"),
            ("mysql://b/x", "no user"),
            ("mysql://a:%zz@b/x", "%"),
            ("mysql://a@b/x?sslmode=prefer", "sslmode"),
            ("mysql://a@b/x?pool_max=3", "pool_max"),
            ("mysql://a:x#y@b/x", "%23"),
            ("mysql://a:hunter2@b:x/y", "port"),
        ] {
            let Err(failure) = Address::read(url) else { panic!("{url} is refused") };
            assert!(failure.to_string().contains(named), "{url}: {failure}");
            assert!(!failure.to_string().contains("hunter2"));
        }
    }
}
