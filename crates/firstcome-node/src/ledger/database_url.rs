//! The address of a database, with a password that does not show itself.

use std::fmt;

/// A URL whose password is in no `Debug`, `Display` or printed configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Takes a URL that this build can connect to.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it, without repeating it.
    pub fn new(url: &str) -> Result<Self, String> {
        match url.split("://").next().unwrap_or_default() {
            "postgres" | "postgresql" => postgres(url)?,
            "mysql" | "mariadb" => mysql(url)?,
            scheme => {
                return Err(format!(
                    "names a `{scheme}` database; it is sqlite, none, postgres://… or mysql://…"
                ));
            }
        }
        Ok(Self(url.to_owned()))
    }

    /// Says whether it names a MariaDB, not a PostgreSQL.
    pub fn is_mysql(&self) -> bool {
        self.0.starts_with("mysql:") || self.0.starts_with("mariadb:")
    }

    /// The URL itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Says whether there is a password in it.
    pub fn has_password(&self) -> bool {
        self.login().is_some_and(|login| login.contains(':'))
    }

    /// What stands before the `@`, if anything does.
    fn login(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once("://")?;
        let authority = rest.split(['/', '?']).next()?;
        authority.rsplit_once('@').map(|(login, _)| login)
    }
}

/// Says what is wrong with the URL of a PostgreSQL.
fn postgres(url: &str) -> Result<(), String> {
    use firstcome_store::postgres::{PostgresOptions, PostgresPool};
    PostgresPool::new(PostgresOptions::new(url)).map(drop).map_err(|failure| cannot(&failure))
}

/// Says what is wrong with the URL of a MariaDB.
fn mysql(url: &str) -> Result<(), String> {
    use firstcome_store::mysql::{MySqlOptions, MySqlPool};
    MySqlPool::new(MySqlOptions::new(url)).map(drop).map_err(|failure| cannot(&failure))
}

fn cannot(failure: &firstcome_store::StoreError) -> String {
    match failure.hint() {
        Some(hint) => format!("cannot be used: {failure}; {hint}"),
        None => format!("cannot be used: {failure}"),
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.login().and_then(|login| Some((login, login.split_once(':')?.0))) {
            Some((login, user)) => f.write_str(&self.0.replacen(login, user, 1)),
            None => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}
