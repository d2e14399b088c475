//! Raises the space of a data folder that no server uses.

use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::{NodeId, newest_level};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, ReadOnly, Sqlite};
use firstcome_journal::{Append, Journal, JournalError, Name};
use std::path::Path;

/// What raising came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The level of the space before.
    pub before: u32,
    /// The level of the space now.
    pub level: u32,
}

/// Raises the space of the journal in a data folder to the newest level, with one entry.
///
/// # Errors
///
/// There is no journal, a server has the folder, or the file cannot be read or written: nothing changed then, unless it
/// is [`JournalError::Unknown`].
pub async fn raise(folder: &Path) -> Result<Raised, JournalError> {
    // Opened for writing it would be made where there is none.
    let head = ReadOnly::open(folder)?.head()?;
    if head.level >= newest_level() {
        return Ok(Raised { before: head.level, level: head.level });
    }
    let folder = DataFolder::take(folder)?;
    let journal =
        Sqlite::open(&folder, Options { space: Some(head.space), ..Options::new(head.space) })?;
    let raised = append(&Journal::Sqlite(journal.clone())).await;
    journal.close().await;
    raised
}

async fn append(journal: &Journal) -> Result<Raised, JournalError> {
    let head = journal.head().await?;
    let last = journal.read(head.position.saturating_sub(1)).await;
    if let Ok(read) = last
        && let Some(end) = read.entries.iter().find(|entry| entry.is_end())
    {
        return Err(JournalError::SpaceMoved { position: end.position });
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|why| JournalError::Unavailable(why.to_string()))?;
    let name = Name { node: NodeId(id), number: 1 };
    let level = newest_level();
    let mut body = BodyWriter::at_level(level, name.node, name.number, head.position);
    let fits = body.push(&Command::Raise { level, who: "journal raise-level" });
    assert!(fits, "one short command fits a body");
    let body = body.finish().into();
    let (applied, applied_name) = (head.position, head.name);
    journal.append(Append { body, name, applied, applied_name }).await?;
    Ok(Raised { before: head.level, level })
}
