//! `journal forget`: removes the mark of an emptied store, so that a server begins a new space there.

use clap::Args;
use firstcome_core::SpaceId;
use firstcome_journal::JournalError;
use firstcome_rush::terminal;
use serde_json::json;

use super::super::complaint::{Complaint, Exit};
use super::super::source::{Presence, SpaceArgs, StoreArgs, Wanted};
use super::super::terminal::out;

/// Options of `journal forget`.
#[derive(Debug, Args)]
#[command(after_help = "\
For a store that was emptied on purpose. A server that ran meanwhile has marked it: servers that start there end, so that \
nobody begins anew by accident. Stop the servers that have the old space first: what is in their memory is lost then; \
to have it back instead, run `firstcome nodes reseed`. A server with a data folder remembers the space as well: it says \
which file to remove.

Example:
  firstcome journal forget 0123456789abcdef0123456789abcdef \\
    --store redis://10.0.0.5:6379")]
pub(in crate::cli) struct ForgetArgs {
    /// The identity of the space that is not wanted any more, as the server says it.
    #[arg(value_name = "SPACE")]
    id: SpaceId,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    space: SpaceArgs,
}

pub(super) async fn run(args: &ForgetArgs, json: bool) -> Result<Exit, Complaint> {
    let url = args.store.url()?;
    let wanted = |presence| Wanted { name: &args.space.space, space: args.id, presence };
    // A store without a mark is left as it is: one that is vacant would get what a space is stored in.
    match args.store.try_to_write(&url, &wanted(Presence::There)).await? {
        Err(JournalError::Marked { space, .. }) if space == args.id => {}
        Err(JournalError::Marked { .. } | JournalError::Gone(_)) => {
            return Err(Complaint::about_store(&url, &JournalError::NotMarked(args.id)));
        }
        Err(JournalError::OtherSpace { found, .. }) => {
            return Err(Complaint::about_store(&url, &JournalError::HasSpace(found)));
        }
        Err(failure) => return Err(Complaint::about_store(&url, &failure)),
        Ok(journal) => {
            let found = journal.head().await;
            journal.close().await;
            let failure = found.map_or_else(|why| why, |head| JournalError::HasSpace(head.space));
            return Err(Complaint::about_store(&url, &failure));
        }
    }
    let journal = args.store.open_to_write(&url, &wanted(Presence::Vacant)).await?;
    let forgotten = journal.forget_emptied(args.id).await;
    journal.close().await;
    let mark = forgotten.map_err(|failure| Complaint::about_store(&url, &failure))?;
    if json {
        out::json(
            &json!({ "space": mark.space.to_string(), "position": mark.position, "server": mark.who }),
        );
    } else {
        let (space, position) = (mark.space, mark.position);
        out::line(format!(
            "{} the store has no mark of space {space} any more, which ended at entry {position}: the next server begins a new one",
            terminal::mark(true)
        ));
    }
    Ok(Exit::Yes)
}
