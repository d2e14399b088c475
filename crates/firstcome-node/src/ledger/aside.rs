//! Putting a ledger out of the way, so that another can be written in its place. Nothing is deleted.

use super::LedgerError;
use crate::ledger::choice::LedgerChoice;
use firstcome_journal::folder::DataFolder;
use std::path::Path;

/// Renames the ledger that is named; gives the name it has now, or nothing if there is none.
///
/// The file `ledger.sqlite` becomes `set-aside-1-ledger.sqlite`, the schema or the database `firstcome_SPACE`
/// becomes `set_aside_1_firstcome_SPACE`; the number goes up where that is taken. `name` is the space's.
///
/// # Errors
///
/// It cannot be renamed.
pub async fn set_aside(
    kind: &LedgerChoice,
    folder: Option<&DataFolder>,
    name: &str,
) -> Result<Option<String>, LedgerError> {
    match kind {
        LedgerChoice::None => Ok(None),
        LedgerChoice::Sqlite => match folder {
            Some(folder) => set_file_aside(&folder.ledger()),
            None => {
                Err(LedgerError::ReadOnly("no data folder is named that it could be in".into()))
            }
        },
        LedgerChoice::SqliteFile(file) => set_file_aside(file),
        LedgerChoice::Postgres(url) => super::postgres::set_aside(url.reveal(), name).await,
        LedgerChoice::MySql(url) => super::mysql::set_aside(url.reveal(), name).await,
    }
}

fn set_file_aside(file: &Path) -> Result<Option<String>, LedgerError> {
    if !file.exists() {
        return Ok(None);
    }
    let old = file.file_name().unwrap_or_default().to_string_lossy();
    let name = |number: u32| file.with_file_name(format!("set-aside-{number}-{old}"));
    let aside = (1..).map(name).find(|aside| !aside.exists()).unwrap_or_else(|| name(0));
    // The log first: a ledger without its end is worse than a log without a ledger.
    for suffix in ["-wal", "-shm", ""] {
        let with = |path: &Path| {
            let mut path = path.as_os_str().to_owned();
            path.push(suffix);
            std::path::PathBuf::from(path)
        };
        if with(file).exists() {
            std::fs::rename(with(file), with(&aside)).map_err(|why| {
                LedgerError::ReadOnly(format!("cannot rename {}: {why}", with(file).display()))
            })?;
        }
    }
    Ok(Some(aside.display().to_string()))
}
