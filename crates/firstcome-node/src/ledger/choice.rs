//! Which ledger a configuration names.

use super::database_url::DatabaseUrl;
use std::fmt;
use std::path::PathBuf;

/// Where results are made durable for the user's own queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerChoice {
    /// A second SQLite file in the data folder.
    Sqlite,
    /// A SQLite file of its own, which servers on one machine may share.
    SqliteFile(PathBuf),
    /// A PostgreSQL database, in a schema named after the space.
    Postgres(DatabaseUrl),
    /// A MariaDB, in a database named after the space.
    MySql(DatabaseUrl),
    /// Nowhere: results stay in memory until their campaign leaves it.
    None,
}

impl fmt::Display for LedgerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite => f.write_str("sqlite"),
            Self::SqliteFile(file) => write!(f, "sqlite:{}", file.display()),
            Self::Postgres(url) | Self::MySql(url) => url.fmt(f),
            Self::None => f.write_str("none"),
        }
    }
}

/// What a ledger may be.
const FORM: &str = "must be sqlite, sqlite:FILE, none, postgres://… or mysql://…";

impl std::str::FromStr for LedgerChoice {
    type Err = String;

    /// Reads `sqlite`, `sqlite:FILE`, `none` or a URL; what is wrong with it is said without repeating a password.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sqlite" => Ok(Self::Sqlite),
            "none" => Ok(Self::None),
            "sqlite:" => Err("must name a file behind `sqlite:`".to_owned()),
            file if file.starts_with("sqlite:") && !file.contains("://") => {
                Ok(Self::SqliteFile(file["sqlite:".len()..].into()))
            }
            url if url.contains("://") => {
                let url = DatabaseUrl::new(url)?;
                Ok(if url.is_mysql() { Self::MySql(url) } else { Self::Postgres(url) })
            }
            word if word.chars().all(char::is_alphanumeric) => Err(format!("{FORM}, not `{word}`")),
            // There may be a password in it.
            _ => Err(FORM.to_owned()),
        }
    }
}
