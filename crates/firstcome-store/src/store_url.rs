//! Which store a URL names.

use crate::error::StoreError;
use crate::store_errors::Store;

/// What the URLs look like.
const FORM: &str = "write redis://[user:password@]host[:port][/database], rediss:// for TLS, redis+sentinel://…, redis+cluster://…, \
    postgres://…, mysql:// or mariadb://…, nats:// or tls:// for NATS, or sqlite://FILE";

impl Store {
    /// Tells which store a URL names, by its scheme.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`]: there is no scheme, or nothing is known of it.
    pub fn of_url(url: &str) -> Result<Self, StoreError> {
        let wrong = |reason: String| StoreError::Address { reason, form: FORM };
        match url.split_once("://").map(|(scheme, _)| scheme) {
            Some(
                "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster"
                | "rediss+cluster",
            ) => Ok(Self::Redis),
            Some("postgres" | "postgresql") => Ok(Self::PostgreSql),
            Some("mysql" | "mariadb") => Ok(Self::MySql),
            Some("nats" | "tls") => Ok(Self::Nats),
            Some("sqlite") => Ok(Self::Sqlite),
            Some(other) => Err(wrong(format!("nothing is known of the scheme {other:?}"))),
            None => Err(wrong("it has no scheme".to_owned())),
        }
    }

    /// Says that a library was built without this store.
    #[must_use]
    pub fn not_built(self) -> StoreError {
        let (what, feature) = match self {
            Self::Redis => ("a Redis or Valkey", "redis"),
            Self::PostgreSql => ("a PostgreSQL", "postgres"),
            Self::MySql => ("a MariaDB", "mysql"),
            Self::Nats => ("a NATS server", "nats"),
            Self::Sqlite => ("a SQLite file", "sqlite"),
        };
        StoreError::NotBuilt { what, feature }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_says_which_store_it_is() {
        for (url, store) in [
            ("redis://localhost", Store::Redis),
            ("rediss+sentinel://a,b/main", Store::Redis),
            ("rediss+cluster://a,b", Store::Redis),
            ("postgresql://localhost/x", Store::PostgreSql),
            ("mariadb://localhost/x", Store::MySql),
            ("nats://a,b", Store::Nats),
            ("sqlite://x.db", Store::Sqlite),
        ] {
            assert_eq!(Store::of_url(url).unwrap(), store, "{url}");
        }
        for (url, named) in [("localhost", "no scheme"), ("http://localhost", "http")] {
            let refused = Store::of_url(url).unwrap_err();
            assert!(refused.to_string().contains(named), "{refused}");
            assert!(refused.hint().is_some_and(|hint| hint.contains("postgres://")));
        }
    }

    #[test]
    fn a_store_that_was_not_built_in_is_refused_with_the_name_of_its_feature() {
        let refused = Store::PostgreSql.not_built();
        let text =
            "a PostgreSQL needs the feature `postgres`, which this program was built without";
        assert_eq!(refused.to_string(), text);
        assert!(refused.hint().is_some());
    }
}
