//! Which space a server enters in a shared store, and when it may make one.
//!
//! A store that was emptied looks like a new one. So a server asks first which space it must be: its setting `space_id`, its
//! data folder, which remembers the space it was used with, and the ledger. Where nobody knows of one, it looks for a while
//! whether a server that runs marks the store as emptied.

use super::shared::Entry;
use crate::config::Config;
use anyhow::{Context, bail};
use firstcome_core::SpaceId;
use firstcome_journal::JournalError;
use firstcome_journal::folder::DataFolder;
use firstcome_node::Looking;
use firstcome_node::ledger::Look;
use firstcome_node::log;

/// What a server knows of the space that it is to enter, and how far its looking came.
pub(super) struct Entering<'a> {
    config: &'a Config,
    folder: Option<&'a DataFolder>,
    looking: Looking,
    has_asked: bool,
    /// How the space is entered now.
    pub(super) entry: Entry,
}

impl<'a> Entering<'a> {
    pub(super) fn new(
        config: &'a Config,
        folder: Option<&'a DataFolder>,
        fresh: SpaceId,
    ) -> anyhow::Result<Self> {
        let remembered = folder.map(|folder| folder.known_space(&config.space)).transpose()?;
        let remembered = remembered.flatten();
        if let (Some(set), Some(known), Some(folder)) = (config.space_id, remembered, folder)
            && set != known
        {
            bail!("space_id is {set}, and {}", because(folder, known));
        }
        let wanted = config.space_id.or(remembered);
        let entry = Entry { fresh, wanted, make: false };
        Ok(Self { config, folder, looking: Looking::begin(), has_asked: false, entry })
    }

    /// Says whether the space may be entered once more after this failure, after a pause: with it, if not.
    pub(super) async fn once_more(&mut self, failure: anyhow::Error) -> anyhow::Result<()> {
        match (failure.downcast_ref::<JournalError>(), self.folder) {
            (Some(JournalError::NoSpace { .. }), _) if !self.entry.make => {}
            (Some(JournalError::Gone(space)), Some(folder)) if self.config.space_id.is_none() => {
                let because = because(folder, *space);
                return Err(failure).context(because);
            }
            (Some(_) | None, _) => return Err(failure),
        }
        if !self.has_asked {
            self.has_asked = true;
            ask_ledger(self.config, self.folder).await?;
            if !self.config.new_space {
                let name = &self.config.space;
                log!(
                    StoreHasNoSpace,
                    "the store has no space {name:?}: looking for 3 s whether a server that runs has one; --new-space makes one \
                     at once"
                );
            }
        }
        self.entry.make = self.config.new_space || self.looking.may_make().await;
        Ok(())
    }
}

/// Says how a data folder knows of a space that the store does not have, or is not to have.
fn because(folder: &DataFolder, space: SpaceId) -> String {
    let file = folder.space_file();
    format!(
        "{} says that this server was in space {space} (remove it if that space is not wanted any more)",
        file.display()
    )
}

/// Refuses to begin a space where the ledger is of one already, or where nobody can say whether it is.
async fn ask_ledger(config: &Config, folder: Option<&DataFolder>) -> anyhow::Result<()> {
    let (choice, name) = (config.ledger.clone(), config.space.clone());
    let data = folder.map(|folder| folder.path().to_owned());
    let looked = tokio::task::spawn_blocking(move || Look::space(&choice, data.as_deref(), &name));
    match looked.await? {
        Ok(None) => Ok(()),
        Ok(Some(space)) => Err(JournalError::Gone(space)).context(format!(
            "the ledger is of space {space} (choose another ledger if that space is not wanted any more)"
        )),
        Err(why) => bail!(
            "the store has no space {:?}, and the ledger cannot be asked whether there was one: {why}",
            config.space
        ),
    }
}
